//! Throws that stand where an allocation was found to have failed: `if (!p) throw Error(OutOfMemory);`. They say what `bad_alloc`
//! says, by another name.

use caulk_ir::{AddressStep, BlockId, Body, CompareOp, Inst, InstId, Operand};
use caulk_program::{FuncId, Program};
use caulk_summary::Summary;

use crate::bounds::BOUNDS;

/// Whether a throw is reached only where the result of an allocation is null.
pub(crate) fn is_for_memory<'a>(
    program: &Program,
    function: FuncId,
    body: &Body,
    summary_of: &dyn Fn(FuncId) -> Option<&'a Summary>,
    throw: InstId,
) -> bool {
    let is_made = |value: Operand| {
        let site = value.value().and_then(|inst| program.call_site(function, inst));
        let targets = site.map(|site| program.targets(site)).unwrap_or_default();
        !targets.is_empty() && targets.iter().all(|target| summary_of(*target).is_some_and(Summary::returns_fresh))
    };
    let predecessors = body.predecessors();
    let Some(mut block) = body.blocks.keys().find(|b| body.blocks[*b].insts().any(|inst| inst == throw)) else {
        return false;
    };
    for _ in 0..BOUNDS.throw_branches {
        let [from] = predecessors[block].as_slice() else { return false };
        if null_on_edge(body, *from, block)
            .is_some_and(|value| is_made(value) || is_kept_in_field(body, value, &is_made))
        {
            return true;
        }
        block = *from;
    }
    false
}

/// The value that is null where control goes from one block to another.
pub(crate) fn null_on_edge(body: &Body, from: BlockId, to: BlockId) -> Option<Operand> {
    let Inst::Branch { cond, then, other } = body.terminator(from) else { return None };
    let Inst::Compare { op, lhs, rhs, .. } = &body.insts[cond.value()?] else { return None };
    let is_null = |operand: Operand| body.constant(operand).is_some_and(|constant| constant.is_zero());
    let taken_when = match op {
        CompareOp::Eq => *then,
        CompareOp::Ne => *other,
        _ => return None,
    };
    (then != other && taken_when == to && is_null(*rhs)).then_some(*lhs)
}

/// Whether a value was read from a field that the function fills with an allocation.
fn is_kept_in_field(body: &Body, value: Operand, is_made: &dyn Fn(Operand) -> bool) -> bool {
    let Some(Inst::Load { address, .. }) = value.value().map(|inst| &body.insts[inst]) else { return false };
    let Some(field) = field_of(body, *address) else { return false };
    body.insts.values().any(|inst| match inst {
        Inst::Store { value, address, .. } => field_of(body, *address) == Some(field) && is_made(*value),
        _ => false,
    })
}

fn field_of(body: &Body, address: Operand) -> Option<AddressStep> {
    match &body.insts[address.value()?] {
        Inst::Address { steps, .. } => steps.last().copied().filter(|step| matches!(step, AddressStep::Field { .. })),
        _ => None,
    }
}
