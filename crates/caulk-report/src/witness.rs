//! What an engine tells of one path, before it is put into words.

use caulk_explore::{Step, Witness};
use caulk_ir::InstId;
use caulk_program::FuncId;
use caulk_summary::Event;
use caulk_useflow::Candidate;

use crate::finding::Confidence;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WitnessStep {
    pub function: FuncId,
    pub inst: InstId,
    /// Of events inside of callees there are only branches, told as those of the callee.
    pub event: Event,
    /// It follows from the rest of the path, or changes nothing: shown on request only.
    pub is_detail: bool,
}

impl WitnessStep {
    fn is_same(&self, other: &Self) -> bool {
        (self.function, self.inst, self.event) == (other.function, other.inst, other.event)
    }
}

/// Why a candidate is believed.
#[derive(Clone, Debug)]
pub struct Evidence {
    pub witness: Vec<WitnessStep>,
    /// An engine executed it as one path. Else it is made of several, and may have a condition come out both true and false.
    pub is_one_path: bool,
    /// Where the last holder goes on this path, if an engine followed it.
    pub place: Option<InstId>,
    /// The last jump before the function's end.
    pub left_at: Option<InstId>,
    /// A call of the same function that frees the object on another path.
    pub freed_at: Option<InstId>,
    pub confidence: Confidence,
    /// Why that much, in one sentence.
    pub reason: &'static str,
    /// Some other allocation must fail on the path.
    pub needs_alloc_failure: bool,
    /// The program tests that failure on the path.
    pub failure_tested: bool,
}

/// The path that stage one remembers. It is one of those it merged, and it was not asked whether it can be taken.
pub fn trail(candidate: &Candidate) -> Vec<WitnessStep> {
    let step = |(inst, event): &(InstId, Event)| WitnessStep {
        function: candidate.function,
        inst: *inst,
        event: *event,
        is_detail: false,
    };
    candidate.trail.iter().map(step).collect()
}

/// The path that stage two confirmed.
pub fn confirmed(candidate: &Candidate, witness: &Witness) -> Evidence {
    let step = |step: &Step| {
        let (function, inst, event) = match step.event {
            Event::Inside(callee, branch, successor) => (callee, branch, Event::Took(successor)),
            // Which way a callee went shows in what is asked about its result, or is told branch by branch.
            Event::Part(..) => return None,
            event => (candidate.function, step.inst, event),
        };
        Some(WitnessStep { function, inst, event, is_detail: !step.is_essential })
    };
    let steps = witness.steps.iter().filter_map(step).collect();
    let (confidence, reason) = match (witness.is_replayed, witness.is_doubtful) {
        // What one iteration of a loop does to a later one is just what such a path gets wrong.
        (false, _) if witness.is_general => {
            (Confidence::Low, "no single path was found that holds when it is executed alone")
        }
        // Of eight that were read by lot one was real, but five known leaks were among 46 of them.
        (false, _) => (Confidence::Medium, "the budget ran out before the path could be executed alone"),
        (true, _) if witness.is_general => {
            (Confidence::Medium, "the path goes through later iterations of a loop, which are known only in general")
        }
        (true, true) => {
            (Confidence::Medium, "the path holds as far as could be decided, but not all its conditions could")
        }
        (true, false) => (Confidence::High, "the path was executed alone, and its conditions hold together"),
    };
    Evidence {
        witness: with_not_taken(steps, candidate),
        is_one_path: witness.is_replayed,
        place: Some(witness.place),
        left_at: witness.left_at,
        freed_at: witness.freed_at,
        confidence,
        reason,
        needs_alloc_failure: witness.needs_alloc_failure,
        failure_tested: witness.needs_alloc_failure && witness.failure_tested,
    }
}

/// Adds the calls that may take the object and do not, which only stage one notes, if its path is part of this one: it takes
/// every branch of stage one's path as well.
fn with_not_taken(mut steps: Vec<WitnessStep>, candidate: &Candidate) -> Vec<WitnessStep> {
    let trail = trail(candidate);
    let is_branch = |step: &&WitnessStep| step.event.is_way();
    let is_passed = |step: &WitnessStep| steps.iter().any(|passed| passed.is_same(step));
    if !trail.iter().filter(is_branch).all(is_passed) {
        return steps;
    }
    for (at, call) in trail.iter().enumerate().filter(|(_, step)| step.event == Event::NotTaken) {
        if steps.iter().any(|step| step.is_same(call)) {
            continue;
        }
        // Before what follows it on stage one's path and is here too; else at the end, before the loss.
        let follows = |step: &WitnessStep| {
            trail[at + 1..].iter().any(|later| later.is_same(step)) || step.inst == candidate.place
        };
        let place = steps.iter().position(follows).unwrap_or(steps.len());
        steps.insert(place, *call);
    }
    steps
}
