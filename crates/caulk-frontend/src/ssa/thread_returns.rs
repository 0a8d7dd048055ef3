//! Gives every return statement a return of its own.
//!
//! clang sends all return statements of a function to one block, placed at the closing brace. A leak "at the closing
//! brace" helps nobody: each edge that comes from a return statement gets a copy of that block, placed at the statement.

use caulk_ir::{BlockId, Inst};

use super::draft::Draft;

/// Blocks with more than this before the `return` do real work and stay shared.
const MAX_RETURN_BLOCK: usize = 24;

pub fn run(draft: &mut Draft) {
    let escapes = draft.escaping_values();
    let preds = draft.predecessors();
    let blocks: Vec<BlockId> = draft.blocks.keys().collect();
    for block in blocks {
        let Inst::Return { value } = &draft.insts[draft.terminator(block)] else { continue };
        let returns_value = value.is_some();
        let light = draft.blocks[block].len() <= MAX_RETURN_BLOCK
            && draft.blocks[block].iter().all(|&i| {
                let light = matches!(
                    draft.insts[i],
                    Inst::Load { .. } | Inst::ScopeEnd { .. } | Inst::Return { .. } | Inst::Cast { .. }
                );
                light && !escapes[i]
            });
        if light && preds[block].len() > 1 {
            split(draft, block, &preds[block], returns_value);
        }
    }
}

fn split(draft: &mut Draft, block: BlockId, preds: &[BlockId], returns_value: bool) {
    let end = draft.inst_places[draft.terminator(block)];
    let all_jumps = preds.iter().all(|&p| is_jump(draft, p));
    let has_fall_through = preds.iter().any(|&p| draft.inst_places[draft.terminator(p)] == end);
    // In a function without a result, a block like this may also be the plain end of an `if` that closes the body.
    let is_return_block = returns_value || has_fall_through || all_jumps;
    for &from in preds {
        if !is_return_block || !is_jump(draft, from) || !leaves_by_statement(draft, from) {
            continue;
        }
        let place = draft.inst_places[draft.terminator(from)];
        let copy = draft.copy_block_for_edge(from, block);
        for index in 0..draft.blocks[copy].len() {
            let id = draft.blocks[copy][index];
            draft.inst_places[id] = place;
        }
    }
}

fn is_jump(draft: &Draft, block: BlockId) -> bool {
    matches!(draft.insts[draft.terminator(block)], Inst::Jump { .. })
}

/// A jump placed somewhere else than what stands before it is a statement of its own; one at the same place is only the
/// end of that statement.
fn leaves_by_statement(draft: &Draft, block: BlockId) -> bool {
    let insts = &draft.blocks[block];
    let place = draft.inst_places[draft.terminator(block)];
    if draft.places[place].line == 0 {
        return false;
    }
    match insts.len().checked_sub(2).map(|i| insts[i]) {
        None => true,
        Some(before) => {
            let stores = matches!(draft.insts[before], Inst::Store { .. } | Inst::Load { .. } | Inst::ScopeEnd { .. });
            stores || draft.inst_places[before] != place
        }
    }
}
