//! Cases of a switch that do not come to where other cases meet: `case URL:` that returns, where all others go on behind the switch.
//!
//! Behind the switch it is known that the parameter is none of these. Without that a caller that gives such a constant would be
//! told of what only the other cases do.

use caulk_ir::entity::Entity;
use caulk_ir::{BlockId, Body, Inst, Operand, Type};
use caulk_memory::Relation;

use crate::bounds::BOUNDS;
use crate::facts::{KeyId, PARAMETER_KEYS};

/// What can be said of parameters where paths meet: they never change.
#[derive(Debug, Default)]
pub(crate) struct Apart {
    /// Parameters, and constants that they are not wherever other cases of a switch on them meet.
    pub cases: Vec<(KeyId, i64)>,
    /// Keys below this are parameters. What they are on one of two paths lies between two constants of the function, so that no loop
    /// goes on for ever by widening it.
    pub params: u32,
}

impl Apart {
    pub(crate) fn new(body: &Body) -> Self {
        let params = body.insts.values().take_while(|inst| matches!(inst, Inst::Param { .. })).count() as u32;
        Self { cases: cases_apart(body), params: params.min(PARAMETER_KEYS) }
    }

    /// A relation that two paths share.
    pub(crate) fn cover(&self, key: KeyId, one: Relation, other: Relation) -> Option<Relation> {
        match key.0 < self.params {
            true => one.hull(other),
            false => one.cover(other),
        }
    }
}

fn cases_apart(body: &Body) -> Vec<(KeyId, i64)> {
    let mut found = Vec::new();
    for (block, _) in body.blocks.iter() {
        let Inst::Switch { value, cases, default, .. } = body.terminator(block) else { continue };
        let Some((key, bits)) = parameter(body, *value) else { continue };
        let constants = apart(body, block, cases, *default);
        found.extend(constants.into_iter().map(|c| (key, caulk_ir::constant::sign_extend(c, bits))));
    }
    found
}

/// The parameter that is switched on, and how wide it is.
fn parameter(body: &Body, value: Operand) -> Option<(KeyId, u16)> {
    let inst = value.value()?;
    match &body.insts[inst] {
        Inst::Param { ty: Type::Int(bits), .. } if inst.0 < PARAMETER_KEYS => Some((KeyId(inst.0), *bits)),
        _ => None,
    }
}

/// The constants of a switch whose target does not lead to a block that several other targets lead to.
fn apart(body: &Body, switch: BlockId, cases: &[(u64, BlockId)], default: BlockId) -> Vec<u64> {
    let mut targets: Vec<BlockId> = cases.iter().map(|(_, target)| *target).chain([default]).collect();
    targets.sort_unstable();
    targets.dedup();
    let reached: Vec<Vec<bool>> = targets.iter().map(|target| reached_from(body, *target, switch)).collect();
    let is_meeting: Vec<bool> =
        (0..body.blocks.len()).map(|at| reached.iter().filter(|blocks| blocks[at]).count() > 1).collect();
    let is_apart = |target: &BlockId| {
        let own = targets.binary_search(target).ok().map(|at| &reached[at]);
        own.is_some_and(|own| is_meeting.iter().zip(own).any(|(meets, reached)| *meets && !reached))
    };
    let apart = cases.iter().filter(|(_, target)| *target != default && is_apart(target));
    let constants: Vec<u64> = apart.map(|(constant, _)| *constant).collect();
    if constants.len() > BOUNDS.apart { Vec::new() } else { constants }
}

/// Blocks that one leads to, itself included, without going through the switch again.
fn reached_from(body: &Body, from: BlockId, switch: BlockId) -> Vec<bool> {
    let mut reached = vec![false; body.blocks.len()];
    let mut work = vec![from];
    while let Some(block) = work.pop() {
        if block != switch && !std::mem::replace(&mut reached[block.index()], true) {
            work.extend(body.terminator(block).successors());
        }
    }
    reached
}
