//! Branches on a static variable that was set to a constant just before: `in_log = true; ... if (!in_log) wait_for_events();`.

use caulk_ir::{BlockId, Body, CompareOp, Constant, EntityVec, GlobalId, Inst, InstId, Operand};

use crate::bounds::BOUNDS;
use crate::facts::number_of;

/// The block that a branch always goes to. None: it may go to several.
pub(crate) fn decided(body: &Body, predecessors: &EntityVec<BlockId, Vec<BlockId>>, block: BlockId) -> Option<BlockId> {
    let Inst::Branch { cond, then, other } = body.terminator(block) else { return None };
    let (load, holds_unless_zero) = asked_variable(body, *cond, true)?;
    let Inst::Load { address, .. } = body.insts[load] else { return None };
    let variable = global(body, address)?;
    let value = set_before(body, predecessors, block, load, variable)?;
    Some(if (value != 0) == holds_unless_zero { *then } else { *other })
}

/// The load whose value decides a condition, and whether the condition holds where that is not 0.
fn asked_variable(body: &Body, condition: Operand, holds: bool) -> Option<(InstId, bool)> {
    let value = condition.value()?;
    match &body.insts[value] {
        Inst::Load { .. } => Some((value, holds)),
        Inst::Cast { value, .. } => asked_variable(body, *value, holds),
        Inst::Compare { op: op @ (CompareOp::Eq | CompareOp::Ne), lhs, rhs, .. } => {
            let is_zero = body.constant(*rhs).and_then(number_of) == Some(0);
            is_zero.then(|| asked_variable(body, *lhs, holds == (*op == CompareOp::Ne)))?
        }
        _ => None,
    }
}

/// The constant that a variable was set to before a load, with nothing in between that may write it.
fn set_before(
    body: &Body,
    predecessors: &EntityVec<BlockId, Vec<BlockId>>,
    mut block: BlockId,
    load: InstId,
    variable: (GlobalId, i64),
) -> Option<i64> {
    for _ in 0..BOUNDS.flag_blocks {
        let before: Vec<InstId> = body.blocks[block].insts().take_while(|inst| *inst != load).collect();
        for inst in before.into_iter().rev() {
            match &body.insts[inst] {
                Inst::Store { value, address, .. } => match global(body, *address) {
                    Some(written) if written == variable => return body.constant(*value).and_then(number_of),
                    Some(written) if written.0 != variable.0 => {}
                    _ => return None,
                },
                Inst::Call(_) | Inst::Invoke { .. } | Inst::Copy { .. } | Inst::Fill { .. } => return None,
                _ => {}
            }
        }
        let [only] = predecessors[block].as_slice() else { return None };
        block = *only;
    }
    None
}

fn global(body: &Body, address: Operand) -> Option<(GlobalId, i64)> {
    match body.constant(address) {
        Some(Constant::Global { global, offset }) => Some((global, offset)),
        _ => None,
    }
}
