//! Marks of the tables that are made of the whole program before anything is followed.

use caulk_ir::Entity;
use caulk_program::reads::Read;
use caulk_program::{FuncId, GlobalVarId, Marks, TypeId, mark};
use rustc_hash::FxHashMap;

use crate::survey::{Releasing, Survey};

#[derive(Debug, Default)]
pub struct TableMarks {
    writes: Vec<u64>,
    counters: u64,
    counted: FxHashMap<TypeId, u64>,
}

impl TableMarks {
    pub(crate) fn new(survey: &Survey, marks: &Marks) -> Self {
        let names = &marks.names;
        let global = |g: &GlobalVarId| names.globals.names[g.index()];
        let releasing = |r: &Releasing| {
            let named: Vec<u64> = r.names.iter().map(global).collect();
            (names.functions.names[r.function.index()], named)
        };
        let counted =
            survey.counted.iter().map(|(ty, all)| (*ty, mark(&all.iter().map(releasing).collect::<Vec<_>>())));
        let set_hook = |(ty, offset): &(TypeId, u64)| mark(&(names.types.names[ty.index()], offset, true));
        let set_hooks = survey.set_hooks.iter().map(set_hook).fold(0, u64::wrapping_add);
        let param = |(f, index): &(FuncId, u32)| mark(&(names.functions.names[f.index()], index, false));
        let others = survey.counted_params.iter().map(param).fold(set_hooks, u64::wrapping_add);
        let counter = |(ty, offset): &(TypeId, u64)| mark(&(names.types.names[ty.index()], offset));
        Self {
            writes: survey.modified.marks(names),
            // Sums do not depend on the order.
            counters: survey.counters.iter().map(counter).fold(others, u64::wrapping_add),
            counted: counted.collect(),
        }
    }

    /// The answer to a question about the program or its tables; None where another part has it.
    pub fn of(&self, marks: &Marks, survey: &Survey, read: Read) -> Option<u64> {
        match read {
            Read::Writes(f) => self.writes.get(f.index()).copied(),
            Read::Counters => Some(self.counters),
            Read::Counted(ty) => Some(self.counted.get(&ty).copied().unwrap_or(0)),
            Read::OwnArena(f) => Some(survey.own_arenas.mark(f)),
            Read::Nonnull(f) => Some(survey.nonnull.mark(f)),
            _ => marks.of(read),
        }
    }
}
