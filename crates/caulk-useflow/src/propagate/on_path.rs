//! A call on one way of the object, for the question whether what the callee does under a guard happens there.

use caulk_ir::{Inst, InstId, Type};
use caulk_memory::{AccessPath, Relation};
use caulk_rules::Rule;
use caulk_summary::{Answer, Caller};

use super::names;
use crate::alternative::Alternative;
use crate::facts::{Fact, Key};
use crate::function::{Resolved, View};

pub(super) struct OnPath<'w, 'v> {
    pub view: &'w mut View<'v>,
    pub inst: InstId,
    pub current: &'w Alternative,
}

impl Caller for OnPath<'_, '_> {
    type Condition = Fact;

    fn gives_pointer(&self) -> bool {
        self.view.body.insts[self.inst].result_type() == Type::Ptr
    }

    fn uses_result(&self) -> bool {
        self.view.is_used(self.inst)
    }

    fn is_loosely_told(&mut self) -> bool {
        self.view.calls[self.inst].as_ref().is_some_and(|e| e.summary.loosely_told)
    }

    fn trusts_unasked_release(&self) -> bool {
        self.view.config.rules.applies(Rule::UnaskedRelease, true)
    }

    fn trusts_count(&mut self, path: &AccessPath) -> bool {
        // Of its own argument a function says the same to its callers.
        let is_found = match self.view.resolve(self.inst, path) {
            Some(Resolved::Operand(operand)) => {
                operand.value().is_some_and(|value| !matches!(self.view.body.insts[value], Inst::Param { .. }))
            }
            _ => false,
        };
        self.view.config.rules.applies(Rule::CountedReleases, is_found)
    }

    fn ask_result(&mut self, relation: Relation, otherwise: Option<Relation>) -> Answer<Fact> {
        let key = self.view.keys.of_operand(self.view.body, &self.view.values, self.inst.into());
        let Some(key) = key else { return Answer::Fails };
        let otherwise = otherwise.or(relation.negate());
        Answer::Open((key, relation), otherwise.map(|other| (key, other)))
    }

    fn ask(&mut self, path: &AccessPath, relation: Relation) -> Answer<Fact> {
        let mut relation = relation;
        let key = match self.view.resolve(self.inst, path) {
            Some(Resolved::Operand(operand)) => {
                // A pointer to the object itself is not null.
                let is_object = names(self.current, operand);
                match self.view.evident(operand).or(is_object.then_some(Relation::NONZERO)) {
                    Some(known) if known.contradicts(relation) => return Answer::Fails,
                    Some(known) if known.implies(relation) => return Answer::Holds,
                    _ => match self.view.keys.of_truth(self.view.body, &self.view.values, operand, relation) {
                        Some(fact) => {
                            relation = fact.1;
                            Some(fact.0)
                        }
                        None => self.view.keys.of_operand(self.view.body, &self.view.values, operand),
                    },
                }
            }
            Some(Resolved::Cell(cell)) => Some(self.view.keys.of_cell(cell)),
            None => None,
        };
        let Some(key) = key else { return Answer::Unseen };
        let known = || self.current.facts.iter().filter(|f| f.0 == key).map(|f| f.1);
        if known().any(|r| r.contradicts(relation)) {
            return Answer::Fails;
        }
        if known().any(|r| r.implies(relation)) {
            return Answer::Holds;
        }
        // Others may have written there.
        if known().next().is_none() && matches!(self.view.keys.get(key), Key::Loaded(_)) {
            return Answer::Unseen;
        }
        Answer::Open((key, relation), relation.negate().map(|other| (key, other)))
    }
}
