//! What an engine tells of one path, before it is put into words.

use caulk_explore::{Event as Passed, Witness};
use caulk_ir::InstId;
use caulk_program::FuncId;
use caulk_useflow::{Candidate, Event};

use crate::finding::Confidence;

/// Something that happens on a path.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WitnessEvent {
    /// Something that happens to the object, in stage one's words.
    Object(Event),
    /// A branch or switch, with the index of the successor taken.
    Branch(usize),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WitnessStep {
    pub function: FuncId,
    pub inst: InstId,
    pub event: WitnessEvent,
}

/// Why a candidate is believed.
#[derive(Clone, Debug)]
pub struct Evidence {
    pub witness: Vec<WitnessStep>,
    pub confidence: Confidence,
    /// Some other allocation must fail on the path.
    pub needs_alloc_failure: bool,
    /// The program tests that failure on the path.
    pub failure_tested: bool,
}

/// The path that stage one remembers. It is one of those it merged, and nobody asked whether it can be taken.
pub fn trail(candidate: &Candidate) -> Vec<WitnessStep> {
    let step = |(inst, event): &(InstId, Event)| {
        let event = match event {
            Event::BranchTaken => WitnessEvent::Branch(0),
            Event::BranchNotTaken => WitnessEvent::Branch(1),
            other => WitnessEvent::Object(*other),
        };
        WitnessStep { function: candidate.function, inst: *inst, event }
    };
    candidate.trail.iter().map(step).collect()
}

/// The path that stage two confirmed.
pub fn confirmed(candidate: &Candidate, witness: &Witness) -> Evidence {
    let step = |(inst, event): &(InstId, Passed)| {
        let (mut function, mut inst) = (candidate.function, *inst);
        let event = match *event {
            Passed::Inside(callee, branch, successor) => {
                (function, inst) = (callee, branch);
                WitnessEvent::Branch(successor as usize)
            }
            Passed::Took(successor) => WitnessEvent::Branch(successor as usize),
            Passed::Allocated => WitnessEvent::Object(Event::Allocated),
            Passed::NotTaken => WitnessEvent::Object(Event::NotTaken),
            Passed::Stored => WitnessEvent::Object(Event::Stored),
            Passed::Overwritten => WitnessEvent::Object(Event::Overwritten),
            Passed::OutOfScope => WitnessEvent::Object(Event::OutOfScope),
            Passed::FreedWithHolder => WitnessEvent::Object(Event::FreedWithHolder),
        };
        WitnessStep { function, inst, event }
    };
    let steps = witness.steps.iter().map(step).collect();
    Evidence {
        witness: with_not_taken(steps, candidate),
        confidence: if witness.is_doubtful { Confidence::Medium } else { Confidence::High },
        needs_alloc_failure: witness.needs_alloc_failure,
        failure_tested: witness.needs_alloc_failure && witness.failure_tested,
    }
}

/// Adds the calls that could have taken the object, which only stage one notes, if its path is part of this one: it takes
/// every branch of stage one's path the same way.
fn with_not_taken(mut steps: Vec<WitnessStep>, candidate: &Candidate) -> Vec<WitnessStep> {
    let trail = trail(candidate);
    let is_branch = |step: &&WitnessStep| matches!(step.event, WitnessEvent::Branch(_));
    if !trail.iter().filter(is_branch).all(|branch| steps.contains(branch)) {
        return steps;
    }
    let not_taken = WitnessEvent::Object(Event::NotTaken);
    for (at, call) in trail.iter().enumerate().filter(|(_, step)| step.event == not_taken) {
        if steps.contains(call) {
            continue;
        }
        // Before what follows it on stage one's path and is here too; else at the end, before the loss.
        let follows = |step: &WitnessStep| trail[at + 1..].contains(step) || step.inst == candidate.place;
        let place = steps.iter().position(follows).unwrap_or(steps.len());
        steps.insert(place, *call);
    }
    steps
}
