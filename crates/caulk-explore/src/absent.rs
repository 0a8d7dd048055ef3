//! Arguments that are null on some paths of a callee and taken on others.
//!
//! A path that finds nothing to take leaves what it was given, and so does one that returns early. They are kept separate: merged, they
//! would tell callers of neither, and the early return would look like one that may take the argument.

use caulk_solver::TermId;

use crate::machine::Machine;
use crate::state::{Ownership, State};
use crate::symbols::Origin;

impl Machine<'_> {
    /// Arguments that one of the paths frees or keeps.
    pub(crate) fn arguments_taken<'s>(&self, states: impl IntoIterator<Item = &'s State>) -> Vec<TermId> {
        let is_taken = |(root, ownership): &(TermId, Ownership)| {
            *ownership != Ownership::Live && matches!(self.origin(*root), Origin::Param(_))
        };
        let ownerships = states.into_iter().flat_map(|state| state.ownerships.iter());
        let mut taken: Vec<TermId> = ownerships.filter(is_taken).map(|(root, _)| root).collect();
        taken.sort_unstable();
        taken.dedup();
        taken
    }

    /// Those of the arguments that are null on a path.
    pub(crate) fn absent_arguments(&mut self, state: &State, arguments: &[TermId]) -> Vec<TermId> {
        let mut absent = Vec::new();
        for &argument in arguments {
            let null = self.pool.constant(self.pool.width(argument), 0);
            let is_null = self.pool.eq(argument, null);
            if state.facts.implied(&self.pool, is_null) == Some(true) {
                absent.push(argument);
            }
        }
        absent
    }
}
