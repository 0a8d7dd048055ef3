//! Verdicts on functions and on lines.

use caulk_program::FuncId;
use rayon::prelude::*;

use crate::bounds::BOUNDS;
use crate::engine::{Answer, follow_within};
use crate::fact::Fact;
use crate::outcome::{Outcome, Reason};
use crate::outside::Outside;
use crate::probe::{Probe, probes};
use crate::prover::World;
use crate::shape::{Holding, Shape};

/// All that was asked of one function.
#[derive(Clone, Debug)]
pub struct Judged {
    pub function: FuncId,
    /// Why proofs do not hold for it.
    pub outside: Option<Outside>,
    pub probes: Vec<(Probe, Answer)>,
    /// A bound on the function itself was reached: it has probes that are not among these.
    pub cut: Option<Reason>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Judgement {
    /// No probe can lose the last reference to a cell, whatever the function is given.
    Proved,
    MayLeak,
    Abandoned,
    /// The function leaves the language for which proofs hold.
    Outside,
}

impl Judged {
    pub fn verdict(&self) -> Judgement {
        let is = |wanted: fn(&Outcome) -> bool| self.probes.iter().any(|(_, a)| wanted(&a.outcome));
        if self.outside.is_some() {
            Judgement::Outside
        } else if is(|o| matches!(o, Outcome::MayLeak { .. })) {
            Judgement::MayLeak
        } else if self.cut.is_some() || is(|o| matches!(o, Outcome::Abandoned(_))) {
            Judgement::Abandoned
        } else {
            Judgement::Proved
        }
    }

    /// Probes that were not proved.
    fn open(&self) -> usize {
        self.count(|o| *o != Outcome::Proved) + usize::from(self.cut.is_some())
    }

    pub fn count(&self, wanted: fn(&Outcome) -> bool) -> usize {
        self.probes.iter().filter(|(_, a)| wanted(&a.outcome)).count()
    }
}

/// Asks all probes of a function that `wanted` lets through; None for a function without a body. Of the two notions of
/// holding the one is taken that leaves fewer questions open.
pub fn judge(world: &World<'_>, function: FuncId, wanted: impl Fn(&Probe) -> bool + Sync) -> Option<Judged> {
    let shape = world.shape(function)?;
    if shape.is_too_large {
        let cut = Some(Reason::Size { function });
        return Some(Judged { function, outside: shape.outside, probes: Vec::new(), cut });
    }
    let by_use = judge_under(world, &shape, Holding::ByUse, &wanted);
    if by_use.open() == 0 || !shape.knows(Holding::ByScope) {
        return Some(by_use);
    }
    let by_scope = judge_under(world, &shape, Holding::ByScope, &wanted);
    Some(if by_scope.open() <= by_use.open() { by_scope } else { by_use })
}

fn judge_under(world: &World<'_>, shape: &Shape, holding: Holding, wanted: &dyn Fn(&Probe) -> bool) -> Judged {
    let (asked, are_too_many) = probes(world, shape, holding, wanted);
    // An equal share for each, so that the answers depend neither on their order nor on threads.
    let share = world.config.max_function_work / asked.len().max(1);
    let max_work = share.min(world.config.max_work);
    let answer = |mut probe: Probe| {
        let answer = follow_within(world, &probe, false, max_work);
        // There may be many, and no one asks for it again.
        probe.fact = Fact::new();
        (probe, answer)
    };
    let probes = asked.into_par_iter().map(answer).collect();
    let cut = are_too_many.then_some(Reason::Probes);
    Judged { function: shape.id, outside: shape.outside, probes, cut }
}

/// Judges functions in parallel. The answers are given to `tell` in the order of the questions, each as soon as it and all before it
/// are there; when `tell` fails, no further question is asked.
pub fn judge_each<E: Send>(
    world: &World<'_>,
    functions: &[FuncId],
    mut tell: impl FnMut(Judged) -> Result<(), E> + Send,
) -> Result<(), E> {
    // Enough for all threads to be busy, and little enough for answers to come soon.
    let at_once = rayon::current_num_threads() * BOUNDS.functions_at_once;
    for some in functions.chunks(at_once.max(1)) {
        let judged: Vec<Option<Judged>> = some.par_iter().map(|function| judge(world, *function, |_| true)).collect();
        judged.into_iter().flatten().try_for_each(&mut tell)?;
    }
    Ok(())
}

/// Judges functions in parallel; the answers come in the order of the questions.
pub fn judge_all(world: &World<'_>, functions: &[FuncId]) -> Vec<Judged> {
    let mut all = Vec::with_capacity(functions.len());
    let kept = judge_each(world, functions, |judged| {
        all.push(judged);
        Ok::<(), std::convert::Infallible>(())
    });
    match kept {
        Ok(()) => all,
    }
}
