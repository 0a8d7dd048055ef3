//! Undoes the joins that clang makes for scopes.
//!
//! `return`, `break` and `continue` out of a scope store a number into a hidden slot, jump to the scope's clean-up block,
//! and a switch on the slot there leads them apart again. Left alone, every early return would meet the normal path in
//! between, and an analysis that does not follow paths one by one would take each for the other. Each edge into such a
//! block gets a copy of its own, in which the switch is decided.

use caulk_ir::{BlockId, Constant, Inst, InstId, Operand};

use super::draft::Draft;

/// Copies may make a function this many times as large before the rest stays joined: functions of a thousand early
/// returns in deep scopes would otherwise grow without bound.
const MAX_GROWTH: usize = 2;
/// Small functions may always grow by this many instructions.
const MIN_GROWTH: usize = 2_000;
/// How far back to look for the store that decides the switch.
const MAX_LOOK_BACK: usize = 16;

pub fn run(draft: &mut Draft) {
    let switches = find_switches(draft);
    if switches.is_empty() {
        return;
    }
    let mut budget = (draft.insts.len() * (MAX_GROWTH - 1)).max(MIN_GROWTH);
    let escapes = draft.escaping_values();
    // In reverse post-order inner clean-ups come first, and outer ones then see the inner copies as predecessors.
    for (block, slot) in switches {
        let copyable = draft.blocks[block].iter().all(|&i| {
            !escapes[i] && !matches!(draft.insts[i], Inst::Phi { .. } | Inst::LandingPad { .. } | Inst::Local { .. })
        });
        if copyable {
            thread_edges(draft, block, slot, &mut budget);
        }
    }
    draft.prune_phis();
}

/// Blocks that end in a switch (or branch) on a slot loaded in the same block and only ever given constants.
fn find_switches(draft: &Draft) -> Vec<(BlockId, InstId)> {
    let mut constant_only = vec![true; draft.insts.len()];
    for block in draft.blocks.values() {
        for &id in block {
            match &draft.insts[id] {
                Inst::Store { value: Operand::Const(_), address: Operand::Value(_), .. }
                | Inst::ScopeStart { .. }
                | Inst::ScopeEnd { .. }
                | Inst::Load { .. } => {}
                other => other.for_each_operand(|o| {
                    if let Operand::Value(v) = *o {
                        constant_only[v.0 as usize] = false;
                    }
                }),
            }
        }
    }
    let mut found = Vec::new();
    for block in draft.reverse_post_order() {
        let Inst::Switch { value: Operand::Value(value), .. } = draft.insts[draft.terminator(block)] else { continue };
        let Inst::Load { address: Operand::Value(slot), .. } = draft.insts[value] else { continue };
        let is_slot = matches!(draft.insts[slot], Inst::Local { count: None, var: None, .. });
        let stores_here = draft.blocks[block].iter().any(|&i| stored_constant(draft, i, slot).is_some());
        if is_slot && constant_only[slot.0 as usize] && draft.blocks[block].contains(&value) && !stores_here {
            found.push((block, slot));
        }
    }
    found
}

fn stored_constant(draft: &Draft, inst: InstId, slot: InstId) -> Option<u64> {
    match draft.insts[inst] {
        Inst::Store { value: Operand::Const(c), address: Operand::Value(a), .. } if a == slot => {
            match draft.consts[c] {
                Constant::Int { value, .. } => Some(value),
                _ => None,
            }
        }
        _ => None,
    }
}

fn thread_edges(draft: &mut Draft, block: BlockId, slot: InstId, budget: &mut usize) {
    let preds = draft.predecessors();
    for &from in &preds[block] {
        let cost = draft.blocks[block].len();
        if cost > *budget {
            return;
        }
        let Some(value) = slot_value_at_end(draft, &preds, from, slot) else { continue };
        *budget -= cost;
        let copy = draft.copy_block_for_edge(from, block);
        decide_switch(draft, copy, value);
        move_to_leaving_statement(draft, from, copy);
    }
}

/// The constant the slot holds when `block` is left, looking back while there is one way.
fn slot_value_at_end(
    draft: &Draft,
    preds: &caulk_ir::EntityVec<BlockId, Vec<BlockId>>,
    mut block: BlockId,
    slot: InstId,
) -> Option<u64> {
    for _ in 0..MAX_LOOK_BACK {
        if let Some(value) = draft.blocks[block].iter().rev().find_map(|&i| stored_constant(draft, i, slot)) {
            return Some(value);
        }
        match preds.get(block).map(Vec::as_slice) {
            Some([only]) if *only != block => block = *only,
            _ => return None,
        }
    }
    None
}

fn decide_switch(draft: &mut Draft, block: BlockId, value: u64) {
    let id = draft.terminator(block);
    let Inst::Switch { cases, default, .. } = &draft.insts[id] else { return };
    let target = cases.iter().find(|(case, _)| *case == value).map_or(*default, |(_, to)| *to);
    draft.insts[id] = Inst::Jump { target };
}

/// The scope is left because of the statement that jumped here, so that is where its end is placed.
fn move_to_leaving_statement(draft: &mut Draft, from: BlockId, copy: BlockId) {
    let place = draft.inst_places[draft.terminator(from)];
    if draft.places[place].line == 0 {
        return;
    }
    for index in 0..draft.blocks[copy].len() {
        let id = draft.blocks[copy][index];
        if matches!(draft.insts[id], Inst::ScopeEnd { .. } | Inst::Jump { .. }) {
            draft.inst_places[id] = place;
        }
    }
}
