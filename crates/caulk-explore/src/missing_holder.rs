//! A callee that does not take an object because the caller has no place for it: `if (!list) return;` at the start of `list_add()`.
//!
//! Such a test is a precaution. Who gives an object to be put into a list has a list, unless something says that there is none.

use caulk_memory::Relation;
use caulk_solver::TermId;

use crate::call::Site;
use crate::machine::Machine;
use crate::state::{Fate, State};
use crate::symbols::Origin;

impl Machine<'_> {
    /// Whether a way of a callee leaves an object only because an argument is null that nothing says is, where another way takes it.
    /// `left` and `taken` are states after the call.
    pub(crate) fn rests_on_missing_holder(
        &mut self,
        before: &State,
        site: &Site<'_>,
        left: &State,
        taken: &State,
    ) -> bool {
        let objects = self.given_objects(before, site);
        let is_taken = |machine: &Self, after: &State, object: TermId| machine.has_taken(before, after, object);
        let is_difference = |object: &TermId| is_taken(self, taken, *object) && !is_taken(self, left, *object);
        objects.iter().any(is_difference)
            && site.args.iter().any(|argument| {
                let is_holder = self.root(*argument).is_some_and(|root| !objects.contains(&root));
                is_holder && self.is_found_null(before, left, *argument) && self.is_found_full(taken, *argument)
            })
    }

    /// The blocks that a call is given by themselves: the object that is followed, or all.
    fn given_objects(&self, before: &State, site: &Site<'_>) -> Vec<TermId> {
        let roots = site.args.iter().filter_map(|argument| self.root(*argument));
        let is_object = |root: &TermId| match before.tracked {
            Some(object) => object == *root && self.is_live(before),
            None => matches!(self.origin(*root), Origin::Block(_)) && before.fate(*root) == Some(Fate::Live),
        };
        roots.filter(is_object).collect()
    }

    /// Whether an object was freed or kept by a call, or put somewhere.
    fn has_taken(&self, before: &State, after: &State, object: TermId) -> bool {
        let cells = |state: &State| state.memory.iter().filter(|(_, c)| self.cell_points_to(c, object)).count();
        after.fate(object) != before.fate(object) || cells(after) > cells(before)
    }

    fn is_found_null(&mut self, before: &State, after: &State, argument: TermId) -> bool {
        let is_null = self.relation(argument, Relation::ZERO);
        before.facts.implied(&self.pool, is_null).is_none() && after.facts.implied(&self.pool, is_null) == Some(true)
    }

    fn is_found_full(&mut self, after: &State, argument: TermId) -> bool {
        let is_null = self.relation(argument, Relation::ZERO);
        after.facts.implied(&self.pool, is_null) == Some(false)
    }
}
