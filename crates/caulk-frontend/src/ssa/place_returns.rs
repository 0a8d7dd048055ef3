//! Places a return at its statement when nothing had to be threaded for it.
//!
//! The last return statement of a function falls into the closing brace, and clang places the return, and the end of
//! every scope, there. What the statement stored into the slot of the result tells where it stands.

use caulk_ir::{BlockId, Inst, InstId, Place};

use super::draft::Draft;
use super::thread_returns::result_slot;

pub(crate) fn run(draft: &mut Draft) {
    for block in draft.blocks.keys().collect::<Vec<_>>() {
        if matches!(draft.insts[draft.terminator(block)], Inst::Return { value: Some(_) }) {
            place_return(draft, block);
        }
    }
}

fn place_return(draft: &mut Draft, block: BlockId) {
    let ret = draft.terminator(block);
    let old = draft.inst_places[ret];
    let stored = result_store(draft, block).map(|store| draft.inst_places[store]);
    let place = stored.filter(|&p| is_after(&draft.places[old], &draft.places[p])).unwrap_or(old);
    draft.inst_places[ret] = place;
    // Scopes that end after the statement end because of it; inner ones ended before.
    for &id in &draft.blocks[block] {
        let is_end = matches!(draft.insts[id], Inst::ScopeEnd { .. });
        if is_end && is_after(&draft.places[draft.inst_places[id]], &draft.places[place]) {
            draft.inst_places[id] = place;
        }
    }
}

/// The store that a return statement begins with.
fn result_store(draft: &Draft, block: BlockId) -> Option<InstId> {
    let slot = result_slot(draft, block)?;
    let stores = |id: &InstId| matches!(draft.insts[*id], Inst::Store { address, .. } if address == slot.into());
    draft.blocks[block].iter().rev().copied().find(stores)
}

/// Later in the same file; what was inlined has no order.
fn is_after(a: &Place, b: &Place) -> bool {
    let plain = a.inlined.is_none() && b.inlined.is_none() && a.file == b.file && b.line != 0;
    plain && (a.line, a.column) > (b.line, b.column)
}
