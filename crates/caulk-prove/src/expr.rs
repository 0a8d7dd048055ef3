//! Expressions that may point to the error cell.
//!
//! The paper builds them from dereferences, fields and constants. In SSA form an expression is a value followed by
//! offsets and loads, so a flat path does.

use caulk_ir::InstId;
use caulk_program::GlobalVarId;
use smallvec::SmallVec;

use crate::target::Region;

/// Where an expression starts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Root {
    /// A value of the function at hand, parameters included.
    Value(InstId),
    /// A value as it was before the phis of the block that is entered, one of which may have its name.
    Leaving(InstId),
    /// What the function at hand returns.
    Return,
    /// A value of some caller, by its place in a list that the call keeps.
    Ghost(u32),
    /// The address of a global variable.
    Static(GlobalVarId),
    /// The address of a local variable.
    Local(InstId),
    /// A number, null, or the address of a function: nothing of these is a heap cell.
    Number(u64),
    Code,
    /// A value that was never set.
    Undefined,
}

/// A step from one value to the next.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Hop {
    Add(i64),
    Index { index: InstId, stride: u64 },
    Load(Region),
}

#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Expr {
    pub root: Root,
    pub hops: SmallVec<[Hop; 4]>,
}

impl Expr {
    pub const NULL: Root = Root::Number(0);

    pub fn root(root: Root) -> Self {
        Self { root, hops: SmallVec::new() }
    }

    pub fn value(value: InstId) -> Self {
        Self::root(Root::Value(value))
    }

    /// One hop further; offsets in a row become one.
    pub fn then(mut self, hop: Hop) -> Self {
        match (self.hops.last_mut(), hop) {
            (_, Hop::Add(0)) => {}
            (Some(Hop::Add(before)), Hop::Add(more)) => {
                *before = before.wrapping_add(more);
                if *before == 0 {
                    self.hops.pop();
                }
            }
            _ => self.hops.push(hop),
        }
        self
    }

    pub fn load(self, target: Region) -> Self {
        self.then(Hop::Load(target))
    }

    /// Without offsets at the end: a pointer into a cell is a reference to it, wherever it points.
    pub fn stripped(mut self) -> Self {
        while matches!(self.hops.last(), Some(Hop::Add(_) | Hop::Index { .. })) {
            self.hops.pop();
        }
        self
    }

    pub fn loads(&self) -> impl Iterator<Item = Region> + '_ {
        self.hops.iter().filter_map(|hop| match hop {
            Hop::Load(target) => Some(*target),
            _ => None,
        })
    }

    pub fn last_load(&self) -> Option<Region> {
        match self.hops.last() {
            Some(Hop::Load(target)) => Some(*target),
            _ => None,
        }
    }

    /// The address that the last load reads, if a load is what comes last.
    pub fn address(&self) -> Option<Expr> {
        self.last_load()?;
        let mut address = self.clone();
        address.hops.pop();
        Some(address)
    }

    pub fn is_value(&self) -> bool {
        self.hops.is_empty() && matches!(self.root, Root::Value(_) | Root::Leaving(_) | Root::Return | Root::Ghost(_))
    }

    /// Whether a value occurs in it.
    pub fn mentions(&self, value: InstId) -> bool {
        self.root == Root::Value(value)
            || self.hops.iter().any(|hop| matches!(hop, Hop::Index { index, .. } if *index == value))
    }

    /// The rest of the path behind `prefix`.
    pub fn after(&self, prefix: &Expr) -> Option<&[Hop]> {
        if self.root != prefix.root {
            return None;
        }
        self.hops.strip_prefix(prefix.hops.as_slice())
    }

    /// The path `rest`, taken from here.
    pub fn extended(&self, rest: &[Hop]) -> Expr {
        rest.iter().fold(self.clone(), |expr, hop| expr.then(*hop))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn offsets_in_a_row_are_one_and_cancel() {
        let base = Expr::value(InstId(1));
        let there = base.clone().then(Hop::Add(8)).then(Hop::Add(4));
        assert_eq!(there.hops.as_slice(), [Hop::Add(12)]);
        assert_eq!(there.clone().then(Hop::Add(-12)), base);
        assert_eq!(there.stripped(), base);
    }
}
