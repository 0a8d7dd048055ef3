//! Undoes the joins that clang makes for scopes.
//!
//! `return`, `break` and `continue` out of a scope store a number into a hidden slot, jump to the scope's clean-up block,
//! and a switch on the slot there leads them apart again. Left alone, every early return would meet the normal path in
//! between, and an analysis that does not follow paths one by one would take each for the other. Each edge into such a
//! block gets a copy of its own, in which the switch is decided.

use caulk_ir::{BlockId, Constant, EntitySet, Inst, InstId, Operand};
use rustc_hash::FxHashMap;

use super::copies::Copies;
use super::draft::Draft;
use crate::bounds::BOUNDS;

pub(crate) fn run(draft: &mut Draft) {
    let switches = find_switches(draft);
    if switches.is_empty() {
        return;
    }
    let at_end = slot_values(draft, &switches);
    let mut threading = Threading { copies: Copies::new(draft), at_end };
    // In reverse post-order inner clean-ups come first, and outer ones then see the inner copies as predecessors.
    for (block, slot) in switches {
        if threading.copies.is_copyable(block) {
            threading.thread_switch(block, slot);
        }
    }
    draft.prune_phis();
    draft.remove_unreachable();
}

/// Blocks that end in a switch (or branch) on a slot loaded in the same block and only ever given constants.
fn find_switches(draft: &Draft) -> Vec<(BlockId, InstId)> {
    let mut holds_others = EntitySet::with_capacity(draft.insts.len());
    for block in draft.blocks.values() {
        for &id in block {
            match &draft.insts[id] {
                Inst::Store { value: Operand::Const(_), address: Operand::Value(_), .. }
                | Inst::ScopeStart { .. }
                | Inst::ScopeEnd { .. }
                | Inst::Load { .. } => {}
                other => other.for_each_operand(|o| {
                    if let Operand::Value(v) = *o {
                        holds_others.insert(v);
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
        let stores_here = draft.blocks[block].iter().any(|&i| is_store_to(draft, i, slot));
        if is_slot && !holds_others.contains(slot) && draft.blocks[block].contains(&value) && !stores_here {
            found.push((block, slot));
        }
    }
    found
}

fn is_store_to(draft: &Draft, inst: InstId, slot: InstId) -> bool {
    matches!(draft.insts[inst], Inst::Store { address: Operand::Value(a), .. } if a == slot)
}

/// What each block leaves in the slots it stores to; `None` for a constant that is no number.
type SlotValues = FxHashMap<(BlockId, InstId), Option<u64>>;

fn slot_values(draft: &Draft, switches: &[(BlockId, InstId)]) -> SlotValues {
    let slots: EntitySet<InstId> = switches.iter().map(|(_, slot)| *slot).collect();
    let mut values = SlotValues::default();
    for (block, insts) in draft.blocks.iter() {
        for &id in insts {
            if let Inst::Store { value: Operand::Const(c), address: Operand::Value(slot), .. } = draft.insts[id]
                && slots.contains(slot)
            {
                let number = match draft.consts[c] {
                    Constant::Int { value, .. } => Some(value),
                    _ => None,
                };
                values.insert((block, slot), number);
            }
        }
    }
    values
}

struct Threading<'a> {
    copies: Copies<'a>,
    at_end: SlotValues,
}

impl Threading<'_> {
    fn thread_switch(&mut self, block: BlockId, slot: InstId) {
        for (copy, value) in self.copies_by_value(block, slot, 0) {
            self.decide_switch(copy, value);
            self.copies.link(copy);
        }
    }

    /// Copies `block` for every edge that brings a known number, and returns the copies with it. Clean-up blocks on the
    /// way that only lead here are copied first, so that what they joined comes apart. All other edges stay.
    fn copies_by_value(&mut self, block: BlockId, slot: InstId, depth: usize) -> Vec<(BlockId, u64)> {
        let mut found = Vec::new();
        for from in std::mem::take(&mut self.copies.preds[block]) {
            let (sources, still_enters) = if let Some(value) = self.value_at_end(from, slot) {
                (vec![(from, value)], false)
            } else if depth < BOUNDS.joints && self.is_joint(from, block, slot) {
                let sources = self.copies_by_value(from, slot, depth + 1);
                (sources, !self.copies.preds[from].is_empty())
            } else {
                (Vec::new(), true)
            };
            if still_enters {
                self.copies.preds[block].push(from);
            }
            for (source, value) in sources {
                match self.copies.copy(source, block) {
                    Some(copy) => {
                        let place = self.copies.terminator_place(source);
                        self.copies.place_scope_ends(copy, place);
                        self.at_end.insert((copy, slot), Some(value));
                        found.push((copy, value));
                    }
                    None => self.copies.preds[block].push(source),
                }
            }
        }
        found
    }

    /// Whether `from` is the clean-up of an inner scope, which does nothing but go on to `block`.
    fn is_joint(&self, from: BlockId, block: BlockId, slot: InstId) -> bool {
        let is_known = self.at_end.contains_key(&(from, slot));
        let copies = &self.copies;
        from != block && !is_known && copies.ends_in_jump(from) && copies.is_cleanup(from) && copies.is_copyable(from)
    }

    /// The number the slot holds when `block` is left, looking back while there is one way.
    fn value_at_end(&self, mut block: BlockId, slot: InstId) -> Option<u64> {
        for _ in 0..BOUNDS.switch_look_back {
            if let Some(value) = self.at_end.get(&(block, slot)) {
                return *value;
            }
            match self.copies.preds[block].as_slice() {
                [only] if *only != block => block = *only,
                _ => return None,
            }
        }
        None
    }

    fn decide_switch(&mut self, block: BlockId, value: u64) {
        let id = self.copies.draft.terminator(block);
        let Inst::Switch { cases, default, .. } = &self.copies.draft.insts[id] else { return };
        let target = cases.iter().find(|(case, _)| *case == value).map_or(*default, |(_, to)| *to);
        self.copies.draft.insts[id] = Inst::Jump { target };
    }
}
