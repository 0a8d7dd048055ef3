//! Gives every return statement a return of its own.
//!
//! clang sends all return statements of a function to one block, placed at the closing brace. A leak "at the closing
//! brace" helps no reader: each edge that comes from a return statement gets a copy of that block, placed at the statement.
//! Where all paths out of a scope return, they already meet in the clean-up of that scope, which is then copied too.

use caulk_ir::{BlockId, Body, Inst, InstId, Operand, PlaceId, Type};

use super::copies::Copies;
use super::draft::Draft;
use crate::bounds::BOUNDS;

pub(crate) fn run(draft: &mut Draft) {
    let returns: Vec<BlockId> = draft
        .blocks
        .keys()
        .filter(|&b| matches!(draft.insts[draft.terminator(b)], Inst::Return { .. }) && draft.blocks.len() > 1)
        .collect();
    if returns.is_empty() {
        return;
    }
    let mut copies = Copies::new(draft);
    let shared = returns.into_iter().filter(|&b| is_shared_return(&copies, b));
    let mut tails: Vec<(BlockId, Option<InstId>)> = shared.map(|b| (b, result_slot(copies.draft, b))).collect();
    // Clean-ups that lead to a tail are tails themselves.
    let mut next = 0;
    while let Some(&(tail, result)) = tails.get(next) {
        next += 1;
        let joints = copies.preds[tail].iter().filter(|&&b| {
            copies.ends_in_jump(b) && copies.preds[b].len() > 1 && copies.is_cleanup(b) && copies.is_copyable(b)
        });
        tails.extend(joints.map(|&b| (b, result)).collect::<Vec<_>>());
    }
    // Each clean-up leads to one block only, so none is met twice, and those further from the return come later.
    for (tail, result) in tails.into_iter().rev() {
        split(&mut copies, tail, result);
    }
}

/// Whether a block is where return statements meet, and not simply the statement at the end of the function.
fn is_shared_return(copies: &Copies, block: BlockId) -> bool {
    let draft = &*copies.draft;
    if !copies.is_cleanup(block) || !copies.is_copyable(block) {
        return false;
    }
    let Inst::Return { value } = draft.insts[draft.terminator(block)] else { return false };
    let all_jumps = || copies.preds[block].iter().all(|&p| copies.ends_in_jump(p));
    match value {
        Some(value) => match returned_slot(draft, value) {
            // The slot that all return statements fill.
            Some((slot, _)) if is_nameless(draft, slot) => true,
            // A structure that is returned in every return statement may live in that slot under its own name.
            Some((_, Type::Aggregate(_))) => all_jumps(),
            _ => false,
        },
        // Without a result, a block like this may also be the plain end of an `if` that closes the body.
        None => {
            let end = copies.terminator_place(block);
            all_jumps() || copies.preds[block].iter().any(|&p| copies.terminator_place(p) == end)
        }
    }
}

/// The slot that holds the result when a return block is entered.
pub(crate) fn result_slot(draft: &Draft, block: BlockId) -> Option<InstId> {
    let Inst::Return { value: Some(value) } = draft.insts[draft.terminator(block)] else { return None };
    returned_slot(draft, value).map(|(slot, _)| slot).filter(|&slot| is_nameless(draft, slot))
}

fn is_nameless(draft: &Draft, local: InstId) -> bool {
    matches!(draft.insts[local], Inst::Local { var: None, .. })
}

/// The local that a returned value is read from, and the type it is read as.
fn returned_slot(draft: &Draft, value: Operand) -> Option<(InstId, Type)> {
    let mut value = value.value()?;
    if let Inst::Cast { value: Operand::Value(inner), .. } = draft.insts[value] {
        value = inner;
    }
    let Inst::Load { ty, address: Operand::Value(mut slot), .. } = draft.insts[value] else { return None };
    if let Inst::Address { base: Operand::Value(base), .. } = draft.insts[slot] {
        slot = base;
    }
    matches!(draft.insts[slot], Inst::Local { count: None, .. }).then_some((slot, ty))
}

fn split(copies: &mut Copies, block: BlockId, result: Option<InstId>) {
    for from in std::mem::take(&mut copies.preds[block]) {
        if copies.preds[from].is_empty() && from != Body::ENTRY {
            continue; // a clean-up of which only copies are left
        }
        let statement = statement_place(copies, from, result);
        match statement.and_then(|place| copies.copy(from, block).map(|copy| (copy, place))) {
            Some((copy, place)) => {
                copies.place_scope_ends(copy, place);
                copies.link(copy);
            }
            None => copies.preds[block].push(from),
        }
    }
}

/// The place of the return statement that ends `block`, if one does.
fn statement_place(copies: &Copies, block: BlockId, result: Option<InstId>) -> Option<PlaceId> {
    if !copies.ends_in_jump(block) {
        return None;
    }
    let place = copies.terminator_place(block);
    if copies.draft.places[place].line != 0 {
        return leaves_by_statement(copies.draft, block).then_some(place);
    }
    // A return out of a handler ends the handler first, and the jump after that has no place.
    result.and_then(|slot| last_store(copies, block, slot)).map(|store| copies.place(store))
}

/// The last store to `slot` before the end of `block`, looking back while there is one way.
fn last_store(copies: &Copies, mut block: BlockId, slot: InstId) -> Option<InstId> {
    let draft = &*copies.draft;
    let stores = |id: &InstId| matches!(draft.insts[*id], Inst::Store { address, .. } if address == slot.into());
    for _ in 0..BOUNDS.result_look_back {
        if let Some(store) = draft.blocks[block].iter().rev().copied().find(stores) {
            return Some(store);
        }
        match copies.preds[block].as_slice() {
            [only] if *only != block => block = *only,
            _ => return None,
        }
    }
    None
}

/// A jump placed somewhere else than what stands before it is a statement of its own; one at the same place is only the
/// end of that statement.
fn leaves_by_statement(draft: &Draft, block: BlockId) -> bool {
    let insts = &draft.blocks[block];
    let place = draft.inst_places[draft.terminator(block)];
    match insts.len().checked_sub(2).map(|i| insts[i]) {
        None => true,
        Some(before) => {
            let stores = matches!(draft.insts[before], Inst::Store { .. } | Inst::Load { .. } | Inst::ScopeEnd { .. });
            stores || draft.inst_places[before] != place
        }
    }
}
