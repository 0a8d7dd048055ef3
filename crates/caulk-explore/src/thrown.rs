//! Exceptions that leave a function: what only the function held is lost then.

use caulk_ir::{Inst, InstId, Operand};
use caulk_program::is_constructor;
use caulk_solver::TermId;
use caulk_summary::{Event, Throws};
use caulk_useflow::{Candidate, Loss};

use crate::frame::Frame;
use crate::search::{Goal, Search};
use crate::state::{Ownership, State};
use crate::symbols::Origin;

/// Whether the exception that is on its way is one that code names. Lack of memory is none.
pub(crate) fn is_named(state: &State, index: usize, candidate: &Candidate) -> bool {
    candidate.place == candidate.exit || index >= 64 || state.passed & (1 << index) != 0
}

/// The call whose exception a path went on with last.
pub(crate) fn thrown_by(frame: &Frame<'_>, steps: &[(InstId, Event)]) -> Option<InstId> {
    let is_unwound = |(inst, event): &&(InstId, Event)| {
        *event == Event::Took(1) && matches!(frame.body.insts[*inst], Inst::Invoke { .. })
    };
    steps.iter().rev().find(is_unwound).map(|(inst, _)| *inst)
}

impl Search<'_, '_> {
    fn throws(&self, call: InstId) -> Throws {
        let throwing = &self.machine.world.analysis.reports[self.machine.frame.id].throwing;
        throwing.binary_search_by_key(&call, |(inst, _)| *inst).map_or(Throws::No, |index| throwing[index].1)
    }

    /// Whether paths go on where a call is left by an exception. One that no code names is no reason for a finding of normal rank.
    pub(crate) fn follows_throw(&self, call: InstId) -> bool {
        match self.goal {
            Goal::Leaks { candidates, .. } if candidates.iter().all(|c| !c.hidden) => {
                self.throws(call) == Throws::Named
            }
            _ => self.throws(call) > Throws::No,
        }
    }

    /// A call is left by an exception: notes whether it counts for the candidates that are about one.
    pub(crate) fn note_thrown(&self, state: &mut State, inst: InstId) {
        let Goal::Leaks { candidates, wanted } = self.goal else { return };
        let data = self.machine.frame.body.insts[inst].call();
        // What the callee did with the object before it threw is not known.
        let is_given = data.is_some_and(|data| data.args.contains(&Operand::Value(wanted.call)));
        let throws = if is_given { Throws::No } else { self.throws(inst) };
        let is_enough = |c: &Candidate| throws == Throws::Named || (c.hidden && throws >= Throws::Check);
        for (index, candidate) in candidates.iter().enumerate().take(64).filter(|(_, c)| c.loss == Loss::Thrown) {
            match is_enough(candidate) || candidate.place == inst {
                true => state.passed |= 1 << index,
                false => state.passed &= !(1 << index),
            }
        }
    }

    /// An exception leaves the function here, if a candidate says so: is the object held by anything but the function?
    pub(crate) fn check_lost_by_throw(&mut self, state: &State, exit: InstId) {
        let Goal::Leaks { candidates, .. } = self.goal else { return };
        let is_end =
            |(index, c): (usize, &&Candidate)| c.loss == Loss::Thrown && c.exit == exit && is_named(state, index, c);
        let Some(object) = state.tracked.filter(|_| candidates.iter().enumerate().any(is_end)) else { return };
        if !self.machine.is_live(state) {
            return;
        }
        self.reached_end = true;
        let mut after = state.clone();
        if is_constructor(self.machine.frame.program.function(self.machine.frame.id).symbol) {
            // The object under construction never comes to be.
            let holders: Vec<TermId> = state.memory.iter().filter_map(|(_, content)| content.holder).collect();
            for this in holders.into_iter().filter(|h| self.machine.origin(*h) == Origin::Param(0)) {
                after.ownerships.set(this, Ownership::Freed);
            }
        }
        if !self.machine.is_held(&after, object, &[], false) {
            self.lost(state, exit);
        }
    }
}
