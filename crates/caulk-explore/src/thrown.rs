//! Exceptions that leave a function: what only the function held is lost then.

use caulk_ir::InstId;
use caulk_program::is_constructor;
use caulk_solver::TermId;
use caulk_useflow::{Candidate, Loss};

use crate::search::{Goal, Search};
use crate::state::{Fate, State};
use crate::symbols::Origin;

impl Search<'_, '_> {
    /// An exception leaves the function here, if a candidate says so: is the object held by anything but the function?
    pub(crate) fn check_lost_by_throw(&mut self, state: &State, exit: InstId) {
        let Goal::Leaks { candidates, .. } = self.goal else { return };
        let is_end = |c: &&Candidate| c.loss == Loss::Thrown && c.exit == exit;
        let Some(object) = state.tracked.filter(|_| candidates.iter().any(is_end)) else { return };
        if !self.machine.is_live(state) {
            return;
        }
        self.reached_end = true;
        let mut after = state.clone();
        if is_constructor(self.machine.frame.program.function(self.machine.frame.id).symbol) {
            // The object under construction never comes to be.
            let holders: Vec<TermId> = state.memory.iter().filter_map(|(_, content)| content.holder).collect();
            for this in holders.into_iter().filter(|h| self.machine.origin(*h) == Origin::Param(0)) {
                after.fates.set(this, Fate::Freed);
            }
        }
        if !self.machine.is_held(&after, object, &[], false) {
            self.lost(state, exit);
        }
    }
}
