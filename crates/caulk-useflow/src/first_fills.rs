//! Stores that fill a place only where it is null: `if (!s->cache) s->cache = make();`. What is there already stays.

use caulk_ir::{BlockId, Body, CompareOp, EntityVec, Inst, InstId, Operand, Type};
use rustc_hash::FxHashSet;

use crate::bounds::BOUNDS;

/// The stores of pointers that are reached only where the place was found null.
pub fn first_fills(body: &Body) -> FxHashSet<InstId> {
    let predecessors = body.predecessors();
    let mut found = FxHashSet::default();
    for (block, range) in body.blocks.iter() {
        for inst in range.insts() {
            let Inst::Store { address, ty: Type::Ptr, .. } = &body.insts[inst] else { continue };
            if is_found_null(body, &predecessors, block, *address) {
                found.insert(inst);
            }
        }
    }
    found
}

/// Whether the only path into a block goes through a test that finds a place null.
fn is_found_null(
    body: &Body,
    predecessors: &EntityVec<BlockId, Vec<BlockId>>,
    mut block: BlockId,
    address: Operand,
) -> bool {
    for _ in 0..BOUNDS.first_fill_blocks {
        let [before] = predecessors[block][..] else { return false };
        if let Inst::Branch { cond, then, other } = body.terminator(before)
            && then != other
            && let Some((place, null_if)) = null_test(body, *cond)
            && is_same_place(body, place, address)
        {
            return block == if null_if { *then } else { *other };
        }
        block = before;
    }
    false
}

/// The place whose content a condition compares with null, and whether it is null where the condition holds.
fn null_test(body: &Body, cond: Operand) -> Option<(Operand, bool)> {
    let Inst::Compare { op, lhs, rhs, ty: Type::Ptr } = &body.insts[cond.value()?] else { return None };
    let null_if = match op {
        CompareOp::Eq => true,
        CompareOp::Ne => false,
        _ => return None,
    };
    let is_null = |operand: Operand| body.constant(operand).is_some_and(|c| c.is_zero());
    let tested = match (is_null(*lhs), is_null(*rhs)) {
        (false, true) => *lhs,
        (true, false) => *rhs,
        _ => return None,
    };
    let Inst::Load { address, .. } = &body.insts[tested.value()?] else { return None };
    Some((*address, null_if))
}

/// The same value, or the same steps from the same base, which may be read twice.
fn is_same_place(body: &Body, one: Operand, other: Operand) -> bool {
    let same_base = |a: Operand, b: Operand| {
        a == b
            || match (a.value().map(|id| &body.insts[id]), b.value().map(|id| &body.insts[id])) {
                (Some(Inst::Load { address: x, .. }), Some(Inst::Load { address: y, .. })) => {
                    is_one_address(body, *x, *y)
                }
                _ => false,
            }
    };
    match (one.value().map(|id| &body.insts[id]), other.value().map(|id| &body.insts[id])) {
        (Some(Inst::Address { base: a, steps: x }), Some(Inst::Address { base: b, steps: y })) => {
            x == y && same_base(*a, *b)
        }
        _ => same_base(one, other),
    }
}

fn is_one_address(body: &Body, one: Operand, other: Operand) -> bool {
    let (Some(a), Some(b)) = (one.value(), other.value()) else { return one == other };
    a == b || matches!(body.insts[a], Inst::Address { .. }) && body.insts[a] == body.insts[b]
}
