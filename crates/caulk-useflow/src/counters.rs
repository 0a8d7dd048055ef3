//! Fields that count: somewhere in the program something is added to what they hold, or it is multiplied (`s->len += n`, `s->room *= 2`).
//!
//! A callee that fills a buffer under unknown conditions and counts beside it has counted something when it has filled it: who
//! finds the count at zero finds no buffer either. The same holds for a number whose address a callee is given beside that of a buffer:
//! `resize(&items, &room, n)`.

use caulk_ir::{AddressStep, BinaryOp, Body, Inst, InstId, Operand};
use caulk_program::{FuncId, Program, TypeId};

/// Fields that a body adds to. Sorted.
pub(crate) fn counted_fields(program: &Program, function: FuncId, body: &Body) -> Vec<(TypeId, u64)> {
    let unit = program.function(function).unit;
    let field = |address: Operand| {
        let Inst::Address { steps, .. } = &body.insts[address.value()?] else { return None };
        match steps.last()? {
            AddressStep::Field { ty, offset } => Some((program.resolve_struct(unit, *ty), *offset)),
            _ => None,
        }
    };
    let loaded = |value: InstId| match body.insts[value] {
        Inst::Load { address, .. } => field(address),
        _ => None,
    };
    let counted = |inst: &Inst| {
        let Inst::Store { value, address, .. } = inst else { return None };
        let place = field(*address)?;
        is_made_larger(body, *value, &|old| loaded(old) == Some(place), MAX_STEPS).then_some(place)
    };
    let mut fields: Vec<(TypeId, u64)> = body.insts.values().filter_map(counted).collect();
    fields.sort_unstable();
    fields.dedup();
    fields
}

/// How many phis, casts and further operations lie between a sum and its store: `(room + 16) * 3 / 2`.
const MAX_STEPS: u32 = 4;

/// Parameters behind which a body leaves a number that it has made larger: `*room = *room ? *room * 2 : 16`. Sorted.
pub(crate) fn counted_params(body: &Body) -> Vec<u32> {
    let counted = |inst: &Inst| {
        let Inst::Store { value, address, .. } = inst else { return None };
        let param = param_of(body, *address)?;
        let loaded = |value: InstId| match body.insts[value] {
            Inst::Load { address, .. } => param_of(body, address),
            _ => None,
        };
        is_made_larger(body, *value, &|old| loaded(old) == Some(param), MAX_STEPS).then_some(param)
    };
    let mut params: Vec<u32> = body.insts.values().filter_map(counted).collect();
    params.sort_unstable();
    params.dedup();
    params
}

fn param_of(body: &Body, address: Operand) -> Option<u32> {
    match body.insts[address.value()?] {
        Inst::Param { index, .. } => Some(index),
        _ => None,
    }
}

/// Whether a value is one that `is_old` tells, with something added to it, or multiplied.
fn is_made_larger(body: &Body, value: Operand, is_old: &dyn Fn(InstId) -> bool, steps: u32) -> bool {
    let Some(value) = value.value().filter(|_| steps > 0) else { return false };
    let is_larger = |operand: &Operand| is_made_larger(body, *operand, is_old, steps - 1);
    match &body.insts[value] {
        Inst::Binary { op: BinaryOp::Add | BinaryOp::Mul | BinaryOp::Shl, lhs, rhs, .. } => {
            [lhs, rhs].into_iter().any(|side| side.value().is_some_and(is_old) || is_larger(side))
        }
        // Half as much again.
        Inst::Binary { op: BinaryOp::UDiv | BinaryOp::SDiv | BinaryOp::LShr, lhs, .. } => is_larger(lhs),
        Inst::Phi { incoming, .. } => incoming.iter().any(|(_, from)| is_larger(from)),
        Inst::Select { then, other, .. } => is_larger(then) || is_larger(other),
        Inst::Cast { value, .. } => is_larger(value),
        _ => false,
    }
}
