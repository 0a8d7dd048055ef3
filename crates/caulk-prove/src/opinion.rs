//! A second opinion on findings of other engines: can what a call made be lost where they say?

use caulk_ir::InstId;
use caulk_program::FuncId;

use crate::engine::follow;
use crate::expr::{Expr, Root};
use crate::fact::{Fact, Tag};
use crate::outcome::{CellOrigin, Outcome};
use crate::probe::{Kind, Probe, Start};
use crate::prover::World;
use crate::shape::{Holding, Shape};
use crate::target::Region;

/// The finding that what a call returned is lost.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Claim {
    pub function: FuncId,
    /// The call whose result is the block.
    pub allocation: InstId,
    /// Where the last holder goes.
    pub loss: InstId,
}

/// Whether a finding cannot be real.
///
/// If it is, then after the loss neither variables nor values that are still to be used refer to the block. So one probe is
/// enough: the call's result names the block, as if it were used for the last time at the loss. Fields of structures may refer to
/// the block all the same: they may be its own, or those of its parts, and then nothing reaches them either.
pub fn contradicts(world: &World<'_>, claim: Claim) -> bool {
    let Some(shape) = world.shape(claim.function) else { return false };
    if !can_be_asked(world, &shape, claim) {
        return false;
    }
    let answer = follow(world, &probe(&shape, claim), true);
    match answer.outcome {
        Outcome::Proved => true,
        Outcome::Abandoned(_) => false,
        Outcome::MayLeak { .. } => !answer.origins.iter().any(|o| matches!(o, CellOrigin::Allocation { .. })),
    }
}

fn can_be_asked(world: &World<'_>, shape: &Shape, claim: Claim) -> bool {
    // What a callee loses is not asked here; and in a loop the name means the newest block, not the one that is lost.
    let is_in_callee = shape.call(claim.loss).is_some();
    let is_named = shape.is_holder(claim.allocation) && !shape.is_in_loop(claim.allocation);
    world.is_followed(shape) && !is_in_callee && is_named
}

fn probe(shape: &Shape, claim: Claim) -> Probe {
    let name = Root::Value(claim.allocation);
    let mut fact = Fact::new();
    fact.may.insert(name);
    fact.hits.insert(Expr::root(name));
    fact.memory.insert(Region::Heap, Tag::Many);
    Probe {
        function: claim.function,
        kind: Kind::Forgotten,
        place: claim.loss,
        start: Start::After(claim.loss),
        fact,
        cell: shape.classes[claim.allocation],
        variable: None,
        region: None,
        holding: Holding::ByUse,
        made_by: Some(claim.allocation),
    }
}
