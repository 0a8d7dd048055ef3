//! Whether a function that gives back a block also gives back null for reasons of its own: `if (c->width < needed) return NULL;`.
//!
//! A caller that finds null has not run out of memory then, and what it loses there needs no failed allocation.

use caulk_ir::{BlockId, Constant, Inst, InstId, Operand};
use rustc_hash::FxHashSet;

use crate::function::View;
use crate::memory_throws::null_on_edge;

/// Blocks that are looked back over from one null.
const MAX_BLOCKS: usize = 64;

/// Where a null comes from: the block that gives it, and the one that takes it.
type Edge = (BlockId, Option<BlockId>);

pub(super) fn gives_null_otherwise(view: &View<'_>) -> bool {
    let returns = view.body.insts.iter().filter_map(|(inst, data)| match data {
        Inst::Return { value: Some(value) } => Some((*value, home(view, inst)?)),
        _ => None,
    });
    let mut work: Vec<(Operand, Edge)> = returns.map(|(value, block)| (value, (block, None))).collect();
    let mut seen: FxHashSet<InstId> = FxHashSet::default();
    while let Some((operand, edge)) = work.pop() {
        let Operand::Value(value) = operand else {
            if view.body.constant(operand).is_some_and(Constant::is_zero) && !is_for_memory(view, edge) {
                return true;
            }
            continue;
        };
        if !seen.insert(value) {
            continue;
        }
        match &view.body.insts[value] {
            Inst::Phi { incoming, .. } => {
                let at = home(view, value);
                work.extend(incoming.iter().map(|(from, operand)| (*operand, (*from, at))));
            }
            Inst::Call(_) if view.calls[value].as_ref().is_some_and(|call| call.summary.null_otherwise) => return true,
            _ => {}
        }
    }
    false
}

fn home(view: &View<'_>, inst: InstId) -> Option<BlockId> {
    view.body.blocks.keys().find(|block| view.body.blocks[*block].insts().any(|at| at == inst))
}

/// Whether control comes along an edge only where an allocation has failed. Where that is too far away to tell, it does.
fn is_for_memory(view: &View<'_>, (from, to): Edge) -> bool {
    let mut seen: FxHashSet<BlockId> = FxHashSet::default();
    let mut work: Vec<BlockId> = Vec::new();
    match to {
        Some(to) if fails_on_edge(view, from, to) => return true,
        _ => work.push(from),
    }
    while let Some(block) = work.pop() {
        if !seen.insert(block) {
            continue;
        }
        if seen.len() > MAX_BLOCKS {
            return true;
        }
        let before = &view.outline.predecessors()[block];
        if before.is_empty() {
            return false;
        }
        work.extend(before.iter().filter(|earlier| !fails_on_edge(view, **earlier, block)));
    }
    true
}

/// Whether an edge is taken where the result of an allocation is null, and that for want of memory.
fn fails_on_edge(view: &View<'_>, from: BlockId, to: BlockId) -> bool {
    let tested = null_on_edge(view.body, from, to).and_then(Operand::value);
    let effect = tested.and_then(|value| view.calls[value].as_ref());
    effect.is_some_and(|call| call.summary.returns_fresh() && !call.summary.null_otherwise)
}
