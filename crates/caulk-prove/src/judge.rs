//! Verdicts on functions and on lines.

use caulk_program::FuncId;
use rayon::prelude::*;

use crate::engine::{Answer, follow};
use crate::outcome::Outcome;
use crate::outside::Outside;
use crate::probe::{Probe, probes};
use crate::prover::World;
use crate::shape::Holding;

/// All that was asked of one function.
#[derive(Clone, Debug)]
pub struct Judged {
    pub function: FuncId,
    /// Why proofs do not hold for it.
    pub outside: Option<Outside>,
    pub probes: Vec<(Probe, Answer)>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Verdict {
    /// No probe can lose the last reference to a cell, whatever the function is given.
    Proved,
    MayLeak,
    Abandoned,
    /// The function leaves the language for which proofs hold.
    Outside,
}

impl Judged {
    pub fn verdict(&self) -> Verdict {
        let is = |wanted: fn(&Outcome) -> bool| self.probes.iter().any(|(_, a)| wanted(&a.outcome));
        if self.outside.is_some() {
            Verdict::Outside
        } else if is(|o| matches!(o, Outcome::MayLeak { .. })) {
            Verdict::MayLeak
        } else if is(|o| matches!(o, Outcome::Abandoned(_))) {
            Verdict::Abandoned
        } else {
            Verdict::Proved
        }
    }

    /// Probes that were not proved.
    fn open(&self) -> usize {
        self.count(|o| *o != Outcome::Proved)
    }

    pub fn count(&self, wanted: fn(&Outcome) -> bool) -> usize {
        self.probes.iter().filter(|(_, a)| wanted(&a.outcome)).count()
    }
}

/// Asks all probes of a function that `wanted` lets through; None for a function without a body. Of the two notions of
/// holding the one is taken that leaves fewer questions open.
pub fn judge(world: &World<'_>, function: FuncId, wanted: impl Fn(&Probe) -> bool + Sync) -> Option<Judged> {
    let by_use = judge_under(world, function, Holding::ByUse, &wanted)?;
    if by_use.open() == 0 {
        return Some(by_use);
    }
    let by_scope = judge_under(world, function, Holding::ByScope, &wanted)?;
    Some(if by_scope.open() <= by_use.open() { by_scope } else { by_use })
}

fn judge_under(
    world: &World<'_>,
    function: FuncId,
    holding: Holding,
    wanted: &(impl Fn(&Probe) -> bool + Sync),
) -> Option<Judged> {
    let shape = world.shape(function)?;
    let asked: Vec<Probe> = probes(world, &shape, holding).into_iter().filter(wanted).collect();
    let answer = |probe: Probe| {
        let answer = follow(world, &probe, false);
        (probe, answer)
    };
    let probes = asked.into_par_iter().map(answer).collect();
    Some(Judged { function, outside: shape.outside, probes })
}

/// Judges functions in parallel; the answers come in the order of the questions.
pub fn judge_all(world: &World<'_>, functions: &[FuncId]) -> Vec<Judged> {
    functions.par_iter().filter_map(|function| judge(world, *function, |_| true)).collect()
}
