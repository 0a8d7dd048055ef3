//! What a container that holds the object answers when it is asked how much it holds.

use caulk_ir::InstId;
use caulk_summary::Summary;

use super::Propagation;
use crate::alternative::{Alternative, Status};
use crate::fact_list::learn;

impl Propagation<'_, '_> {
    /// A container that holds the object is not empty. False when what is known says otherwise.
    pub(super) fn learn_count(&mut self, call: InstId, summary: &Summary, current: &mut Alternative) -> bool {
        let Some(relation) = summary.holding.filter(|_| current.status == Status::Live) else { return true };
        let container = self.view.argument(call, 0).and_then(|arg| self.view.values.of_operand(arg));
        if !container.is_some_and(|container| current.cells.iter().any(|held| held.base == container.base)) {
            return true;
        }
        let key = self.view.keys.of_operand(self.view.body, &self.view.values, call.into());
        key.is_none_or(|key| learn(&mut current.facts, (key, relation), self.view.config.max_facts))
    }
}
