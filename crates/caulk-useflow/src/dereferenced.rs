//! Pointers that a function reads or writes through on the way to a call: they are not null there.

use caulk_ir::{Inst, InstId, Operand};

use crate::function::View;

/// Whether the memory that an operand points to is accessed on every way to a call, or beside it.
pub(crate) fn is_dereferenced(view: &View<'_>, call: InstId, pointer: Operand) -> bool {
    let Some(pointer) = view.values.of_operand(pointer) else { return false };
    let accesses = |inst: &Inst| match inst {
        Inst::Load { address, .. } | Inst::Store { address, .. } => {
            view.values.of_operand(*address).is_some_and(|cell| cell.base == pointer.base)
        }
        _ => false,
    };
    let accessed = view.body.insts.iter().filter(|(_, inst)| accesses(inst)).map(|(inst, _)| view.homes[inst]);
    let blocks: Vec<_> = accessed.collect();
    let here = view.homes[call];
    if blocks.is_empty() || blocks.contains(&here) {
        return !blocks.is_empty();
    }
    blocks.iter().any(|block| view.dominators().dominates(*block, here))
}
