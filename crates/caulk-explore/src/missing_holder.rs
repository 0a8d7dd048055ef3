//! A callee that does not take an object because the caller has no place for it: `if (!list) return;` at the start of `list_add()`.
//!
//! Such a test is a precaution. Who gives an object to be put into a list has a list, unless something says that there is none.

use caulk_memory::Relation;
use caulk_solver::TermId;

use crate::call::Site;
use crate::machine::Machine;
use crate::state::{Ownership, State};
use crate::symbols::Origin;

impl Machine<'_> {
    /// The arguments that a way of a callee has found null, though nothing said that they are. `left`: the state after the call.
    pub(crate) fn found_null(&mut self, before: &State, site: &Site<'_>, left: &State) -> Vec<TermId> {
        let mut found = Vec::new();
        for &argument in site.args.iter().filter(|argument| self.root(**argument).is_some()).collect::<Vec<_>>() {
            let is_null = self.relation(argument, Relation::ZERO);
            let [known, assumed] = [before, left].map(|state| state.facts.implied(&self.pool, is_null));
            if known.is_none() && assumed == Some(true) {
                found.push(argument);
            }
        }
        found
    }

    /// Whether a way of a callee leaves an object only because it found arguments null, where another way takes it.
    /// `left` and `taken` are states after the call.
    pub(crate) fn rests_on_missing_holder(
        &mut self,
        before: &State,
        site: &Site<'_>,
        null: &[TermId],
        left: &State,
        taken: &State,
    ) -> bool {
        let objects = self.given_objects(before, site);
        let is_holder = |argument: &TermId| !self.root(*argument).is_some_and(|root| objects.contains(&root));
        let holders: Vec<TermId> = null.iter().copied().filter(is_holder).collect();
        holders.into_iter().any(|argument| self.is_found_full(taken, argument))
            && objects.iter().any(|o| self.has_taken(before, taken, *o) && !self.has_taken(before, left, *o))
    }

    /// The blocks that a call is given by themselves, or in a structure: the object that is followed, or all.
    fn given_objects(&self, before: &State, site: &Site<'_>) -> Vec<TermId> {
        let mut roots = site.args.iter().filter_map(|argument| self.root(*argument));
        let Some(object) = before.tracked else {
            let is_block = |root: &TermId| matches!(self.origin(*root), Origin::Block(_));
            return roots.filter(|root| is_block(root) && before.ownership(*root) == Some(Ownership::Live)).collect();
        };
        let holds = |root| before.memory.iter().any(|(_, c)| c.holder == Some(root) && self.cell_points_to(c, object));
        let is_given = self.is_live(before) && roots.any(|root| root == object || holds(root));
        is_given.then_some(object).into_iter().collect()
    }

    /// Whether an object was freed or kept by a call, or put somewhere.
    fn has_taken(&self, before: &State, after: &State, object: TermId) -> bool {
        let cells = |state: &State| state.memory.iter().filter(|(_, c)| self.cell_points_to(c, object)).count();
        after.ownership(object) != before.ownership(object) || cells(after) > cells(before)
    }

    fn is_found_full(&mut self, after: &State, argument: TermId) -> bool {
        let is_null = self.relation(argument, Relation::ZERO);
        after.facts.implied(&self.pool, is_null) == Some(false)
    }
}
