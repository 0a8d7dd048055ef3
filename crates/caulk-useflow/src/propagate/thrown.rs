//! Calls that are left by an exception: what of the object is still in the function's hands.

use caulk_ir::InstId;
use caulk_memory::{AccessPath, PathRoot};
use caulk_program::{FuncId, is_constructor, is_destructor};
use caulk_rules::Rule;
use caulk_summary::{Action, Event, Subject, Throws};

use super::{Propagation, Start, names};
use crate::alternative::{Alternative, Status};
use crate::call_effect::CallEffect;

impl Propagation<'_, '_> {
    /// Where no object is followed: notes what is known at a call that may throw.
    pub(super) fn note_facts_of_throw(&mut self, inst: InstId, current: &Alternative) {
        let is_scout = current.status == Status::Absent && self.avoided.is_none();
        if is_scout && self.view.throwing.contains_key(&inst) {
            self.note_facts(inst, current);
        }
    }

    /// Whether a call may end in an exception that some code names, with the object still in this function's hands: what a callee
    /// did to an argument before it threw is not known.
    pub(super) fn may_be_left_by_throw(&mut self, inst: InstId, current: &Alternative) -> bool {
        let throws = self.view.throwing.get(&inst).copied().unwrap_or_default();
        if self.start == Start::Entry || current.status != Status::Live || throws < Throws::Check {
            return false;
        }
        let is_excluded = self.view.excludes_throw(inst, &current.facts);
        if self.view.config.rules.applies(Rule::GuardedThrows, is_excluded) {
            return false;
        }
        let Some(call) = self.view.body.insts[inst].call() else { return false };
        let given =
            call.args.iter().enumerate().filter(|(_, arg)| names(current, **arg) || self.is_holder(**arg, current));
        given.into_iter().all(|(index, arg)| {
            let is_own = index == 0 && self.is_own_method(inst);
            let is_untouched = !is_own && !self.is_holder(*arg, current) && self.is_left_alone(inst, index as u32);
            is_own || self.view.config.rules.applies(Rule::UntouchedArguments, is_untouched)
        })
    }

    /// What an exception that leaves a callee leaves of the object.
    pub(super) fn after_throw(&mut self, inst: InstId, current: &Alternative) -> Alternative {
        let mut thrown = current.clone();
        let effect = self.view.calls[inst].as_ref();
        let taken = effect.map(|effect| effect.summary.taken_by_throws.clone()).unwrap_or_default();
        let arguments = self.view.body.insts[inst].call().map(|call| call.args.as_slice()).unwrap_or_default();
        let is_taken = |index: &u32| arguments.get(*index as usize).is_some_and(|argument| names(current, *argument));
        if current.status == Status::Live && taken.iter().any(is_taken) {
            let event = self.history.add(thrown.event, inst, Event::Kept);
            thrown.settle(Status::Kept, event);
        }
        thrown
    }

    /// Whether a call of functions that were read does nothing to an argument, neither when it returns nor when it throws.
    fn is_left_alone(&self, inst: InstId, index: u32) -> bool {
        let program = self.view.program;
        let targets = program.call_site(self.view.id, inst).map(|site| program.targets(site)).unwrap_or_default();
        // The object under construction is its constructor's.
        let is_plain = |f: &FuncId| {
            let symbol = program.function(*f).symbol;
            program.has_body(*f) && !is_destructor(symbol) && (index > 0 || !is_constructor(symbol))
        };
        let leaves_it = |effect: &CallEffect<'_>| {
            let is_argument = |path: &AccessPath| path.root == PathRoot::Param(index) && path.steps.is_empty();
            let takes = |a: &Action| matches!(&a.subject, Subject::Value(path) if is_argument(path));
            let summary = &effect.summary;
            !effect.unknown
                && !summary.no_return
                && !summary.cut
                && !summary.taken_by_throws.contains(&index)
                && !summary.actions.iter().any(takes)
        };
        !targets.is_empty()
            && targets.iter().all(is_plain)
            && self.view.calls[inst].as_ref().is_none_or(|effect| leaves_it(effect))
    }

    /// Whether a call is of a method of the object that does nothing to the object itself when it comes back. Such a method does not
    /// delete it before it throws either.
    fn is_own_method(&self, inst: InstId) -> bool {
        let program = self.view.program;
        let targets = program.call_site(self.view.id, inst).map(|site| program.targets(site)).unwrap_or_default();
        let is_method = |f: &FuncId| {
            let symbol = program.function(*f).symbol;
            (symbol.starts_with("_ZN") || symbol.starts_with("_ZThn"))
                && !is_constructor(symbol)
                && !is_destructor(symbol)
        };
        let leaves_it = |effect: &CallEffect<'_>| {
            let is_this = |path: &AccessPath| path.root == PathRoot::Param(0) && path.steps.is_empty();
            let takes = |a: &Action| matches!(&a.subject, Subject::Value(path) if is_this(path)) && !a.gives_back();
            !effect.unknown && !effect.summary.no_return && !effect.summary.actions.iter().any(takes)
        };
        !targets.is_empty()
            && targets.iter().all(is_method)
            && self.view.calls[inst].as_ref().is_none_or(|e| leaves_it(e))
    }
}
