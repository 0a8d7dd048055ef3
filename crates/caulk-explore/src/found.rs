//! Paths on which a candidate's object is lost: when one is found, and what speaks for it.

use caulk_ir::{InstId, Type};
use caulk_rules::Rule;
use caulk_solver::Answer;
use caulk_summary::Event;
use caulk_useflow::Loss;

use crate::inputs::Inputs;
use crate::machine::Machine;
use crate::search::{Goal, Search};
use crate::state::State;
use crate::thrown::{is_named, thrown_by};

/// A path on which a candidate's object is lost.
#[derive(Clone, Debug)]
pub(crate) struct Found {
    pub steps: Vec<(InstId, Event)>,
    /// Which branches and which parts of callees it takes, for the replay.
    pub script: Vec<(InstId, Event)>,
    /// Where the last holder went, if the path does not go by the place that the candidate names.
    pub place: Option<InstId>,
    pub is_merged: bool,
    /// It goes through an iteration of a loop that is known only in general.
    pub is_general: bool,
    /// Some allocation had to fail.
    pub needs_failure: bool,
    /// The function asks whether it did.
    pub failure_tested: bool,
    /// The solver gave up: nothing speaks against the path.
    pub is_unproved: bool,
    /// It was executed alone, merged with no other path, and holds.
    pub is_replayed: bool,
    /// What the path needs of the function's inputs, where that is wanted.
    pub inputs: Inputs,
}

impl Found {
    /// How much speaks for looking on for a plainer path.
    pub(crate) fn doubts(&self) -> u8 {
        match (self.needs_failure, self.failure_tested) {
            (false, _) => 0,
            (true, true) => 1,
            (true, false) => 2,
        }
    }
}

impl Search<'_, '_> {
    /// The allocation is executed again: does nothing hold the older object when it is done?
    pub(crate) fn is_left_in_loop(&self, state: &State, inst: InstId) -> bool {
        let Some(object) = state.tracked else { return false };
        let live = self.machine.values_after(state, inst);
        !self.machine.is_held(state, object, &live, true)
    }

    pub(crate) fn lost(&mut self, state: &State, exit: InstId) {
        let Goal::Leaks { candidates, .. } = self.goal else { return };
        for (index, candidate) in candidates.iter().enumerate() {
            if self.replaying.as_ref().is_some_and(|replaying| replaying.index != index) {
                continue;
            }
            let passed = index < 64 && state.passed & (1 << index) != 0;
            let is_thrown = candidate.loss == Loss::Thrown;
            let is_same_end = match is_thrown {
                true => candidate.exit == exit && is_named(state, index, candidate),
                false => candidate.exit == exit || (passed && candidate.place != candidate.exit),
            };
            let known = self.found[index].as_ref().map_or(u8::MAX, Found::doubts);
            // The solver is not asked about a path that needs as much to go wrong as the one that is known.
            if is_same_end
                && known > u8::from(!self.failed(state).is_empty())
                && let Some(mut found) = self.confirm(state)
                && found.doubts() < known
            {
                if is_thrown && candidate.place != candidate.exit {
                    found.place = thrown_by(self.machine.frame, &found.steps).filter(|by| *by != candidate.place);
                } else if index < 64 && !passed && candidate.place != candidate.exit {
                    found.place = last_holder_gone(&found.steps);
                }
                self.found[index] = Some(found);
            }
        }
    }

    /// The calls whose allocations have failed on a path.
    fn failed(&mut self, state: &State) -> Vec<InstId> {
        let machine = &mut self.machine;
        let mut failed: Vec<InstId> = state.failures.to_vec();
        for (call, result) in &state.allocations {
            let zero = machine.pool.constant(64, 0);
            if machine.pool.width(*result) == 64 && Some(*result) != state.tracked {
                let is_null = machine.pool.eq(*result, zero);
                if state.facts.implied(&machine.pool, is_null) == Some(true) && !machine.may_refuse(*call) {
                    failed.push(*call);
                }
            }
        }
        failed
    }

    fn confirm(&mut self, state: &State) -> Option<Found> {
        let machine = &mut self.machine;
        let mut facts = state.facts.clone();
        let answer = facts.check(&mut machine.pool, &mut machine.solver);
        if answer == Answer::Unsat {
            self.refuted_by_solver += 1;
            return None;
        }
        let inputs = if machine.world.config.wants_inputs { machine.inputs(state, &facts) } else { Inputs::default() };
        let failed = self.failed(state);
        let machine = &mut self.machine;
        let mut is_tested = |call: &InstId| {
            (machine.frame.is_tested[*call] && !machine.is_used_at_once(*call)) || tells_failure(machine, *call)
        };
        let failure_tested = failed.iter().all(&mut is_tested);
        Some(Found {
            inputs,
            steps: state.steps(),
            place: None,
            script: state.trail.decisions(0),
            is_merged: state.is_merged,
            is_general: state.is_general,
            needs_failure: !failed.is_empty(),
            failure_tested,
            is_unproved: answer == Answer::Unknown,
            is_replayed: self.replaying.is_some(),
        })
    }
}

/// Where a path last takes a holder of the object away.
fn last_holder_gone(steps: &[(InstId, Event)]) -> Option<InstId> {
    let is_gone = |event: &Event| matches!(event, Event::Overwritten | Event::OutOfScope | Event::FreedWithHolder);
    steps.iter().rev().take_while(|(_, event)| *event != Event::Allocated).find(|(_, e)| is_gone(e)).map(|(i, _)| *i)
}

/// Whether a callee tells its caller by a status that something failed inside: who does not ask forgets what was not taken.
fn tells_failure(machine: &Machine<'_>, call: InstId) -> bool {
    let result = machine.frame.body.insts[call].call().map(|data| data.ret);
    machine.world.config.rules.applies(Rule::UnaskedStatus, matches!(result, Some(Type::Int(_))))
}
