//! Joins a block with its only successor when that has no other predecessor: threading leaves many such chains, and every
//! later pass pays for each block.

use caulk_ir::entity::Entity;
use caulk_ir::{BlockId, Inst};

use super::draft::Draft;

pub(crate) fn run(draft: &mut Draft) {
    let preds = draft.predecessors();
    // Which block now holds the instructions of a block that was joined.
    let mut holder: Vec<BlockId> = draft.blocks.keys().collect();
    for block in draft.reverse_post_order() {
        let Inst::Jump { target } = draft.insts[draft.terminator(block)] else { continue };
        let begins_with_phi = |b: BlockId| matches!(draft.insts[draft.blocks[b][0]], Inst::Phi { .. });
        if target == block || target == BlockId(0) || preds[target].len() != 1 || begins_with_phi(target) {
            continue;
        }
        holder[target.index()] = block;
    }
    // In reverse post-order a holder is complete before what it holds is appended to it.
    for block in draft.reverse_post_order() {
        let mut end = block;
        while holder[end.index()] != end {
            end = holder[end.index()];
        }
        if end != block {
            holder[block.index()] = end;
            let moved = std::mem::take(&mut draft.blocks[block]);
            draft.blocks[end].pop();
            draft.blocks[end].extend(moved);
        }
    }
    let home = |b: BlockId| holder[b.index()];
    for block in draft.blocks.as_slice() {
        for &id in block {
            if let Inst::Phi { incoming, .. } = &mut draft.insts[id] {
                incoming.iter_mut().for_each(|(from, _)| *from = home(*from));
            }
        }
    }
}
