//! Names in place of numbers: what is kept of a program for another run, in which the numbers may be others.

use std::cell::RefCell;
use std::sync::Arc;

use rustc_hash::FxHashMap;
use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::marks::mark;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Table {
    Functions,
    Globals,
    Types,
}

/// The names of a program's functions, variables and types: the same in two programs for what is the same thing. No two of a table are equal.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Names {
    pub functions: Named,
    pub globals: Named,
    pub types: Named,
}

/// Names by number, and numbers by name.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Named {
    pub names: Vec<u64>,
    numbers: FxHashMap<u64, u32>,
}

impl Named {
    /// Equal names are distinguished by their order.
    pub(crate) fn new(mut names: Vec<u64>) -> Self {
        let mut seen: FxHashMap<u64, u32> = FxHashMap::default();
        for name in &mut names {
            let times = seen.entry(*name).or_default();
            *times += 1;
            if *times > 1 {
                *name = mark(&(*name, *times));
            }
        }
        let numbers = (0..).zip(&names).map(|(number, name)| (*name, number)).collect();
        Self { names, numbers }
    }
}

thread_local! {
    static USED: RefCell<Option<Arc<Names>>> = const { RefCell::new(None) };
}

impl Names {
    fn table(&self, table: Table) -> &Named {
        match table {
            Table::Functions => &self.functions,
            Table::Globals => &self.globals,
            Table::Types => &self.types,
        }
    }

    /// Does something with these names in place of numbers.
    fn using<T>(self: &Arc<Self>, work: impl FnOnce() -> T) -> T {
        let before = USED.replace(Some(Arc::clone(self)));
        let result = work();
        USED.set(before);
        result
    }

    /// What is written with names in it.
    pub fn encode(self: &Arc<Self>, value: &impl Serialize) -> Vec<u8> {
        self.using(|| postcard::to_stdvec(value)).expect("what is in memory always encodes")
    }

    /// What [`Names::encode`] wrote, perhaps for another program. None where something in it is not here.
    pub fn decode<T: DeserializeOwned>(self: &Arc<Self>, bytes: &[u8]) -> Option<T> {
        self.using(|| postcard::from_bytes(bytes)).ok()
    }

    /// A hash that is the same for the same thing in another program.
    pub fn mark(self: &Arc<Self>, value: &impl Serialize) -> u64 {
        mark(&self.encode(value))
    }
}

pub(crate) fn are_used() -> bool {
    USED.with_borrow(Option::is_some)
}

/// The name of a number, where names are in use.
pub(crate) fn name(table: Table, number: u32) -> Option<u64> {
    USED.with_borrow(|used| used.as_ref()?.table(table).names.get(number as usize).copied())
}

pub(crate) fn number(table: Table, name: u64) -> Option<u32> {
    USED.with_borrow(|used| used.as_ref()?.table(table).numbers.get(&name).copied())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ids::{FuncId, TypeId};

    fn names(functions: &[u64]) -> Arc<Names> {
        Arc::new(Names { functions: Named::new(functions.to_vec()), types: Named::new(vec![7, 7]), ..Names::default() })
    }

    #[test]
    fn numbers_are_those_of_the_program_they_are_read_in() {
        let (before, after) = (names(&[10, 20, 30]), names(&[10, 15, 20]));
        let bytes = before.encode(&(FuncId(1), TypeId(1)));
        assert_eq!(after.decode::<(FuncId, TypeId)>(&bytes), Some((FuncId(2), TypeId(1))));
        assert_eq!(after.decode::<FuncId>(&before.encode(&FuncId(2))), None);
        assert_eq!(before.mark(&FuncId(1)), after.mark(&FuncId(2)));
    }
}
