//! Gives single edges a copy of their own of the block they lead to, within a budget.

use caulk_ir::{BlockId, EntityVec, Inst, InstId, PlaceId};

use super::draft::Draft;
use crate::bounds::BOUNDS;

pub(crate) struct Copies<'a> {
    pub draft: &'a mut Draft,
    /// Kept true while edges move. Entering a copy into the lists of its successors is up to who made it, since it may
    /// get other successors first.
    pub preds: EntityVec<BlockId, Vec<BlockId>>,
    escapes: EntityVec<InstId, bool>,
    budget: usize,
}

impl<'a> Copies<'a> {
    pub(crate) fn new(draft: &'a mut Draft) -> Self {
        let budget = (draft.insts.len() * (BOUNDS.growth - 1)).max(BOUNDS.small_growth);
        Self { preds: draft.predecessors(), escapes: draft.escaping_values(), budget, draft }
    }

    /// Whether a block defines nothing that is used elsewhere, nor anything there must be one of.
    pub(crate) fn is_copyable(&self, block: BlockId) -> bool {
        self.draft.blocks[block].iter().all(|&i| {
            // What is newer than the table is itself a copy, of something that does not escape.
            let escapes = self.escapes.get(i).copied().unwrap_or(false);
            !escapes && !matches!(self.draft.insts[i], Inst::Phi { .. } | Inst::LandingPad { .. } | Inst::Local { .. })
        })
    }

    /// A copy of `block` for the edge from `from` alone; none when the budget is spent.
    pub(crate) fn copy(&mut self, from: BlockId, block: BlockId) -> Option<BlockId> {
        self.budget = self.budget.checked_sub(self.draft.blocks[block].len())?;
        let copy = self.draft.copy_block_for_edge(from, block);
        let known = self.preds.push(vec![from]);
        debug_assert_eq!(copy, known);
        Some(copy)
    }

    /// Enters `block` as a predecessor of its successors.
    pub(crate) fn link(&mut self, block: BlockId) {
        for next in self.draft.successors(block) {
            if self.preds[next].last() != Some(&block) {
                self.preds[next].push(block);
            }
        }
    }

    /// A scope is left because of the statement that jumped to its clean-up, so that is where its end is placed.
    pub(crate) fn place_scope_ends(&mut self, block: BlockId, place: PlaceId) {
        if self.draft.places[place].line == 0 {
            return;
        }
        for &id in &self.draft.blocks[block] {
            let inst = &self.draft.insts[id];
            if matches!(inst, Inst::ScopeEnd { .. }) || inst.is_terminator() {
                self.draft.inst_places[id] = place;
            }
        }
    }

    /// Whether a block only ends scopes and goes on: scope ends, and calls of destructors, which clang places where the
    /// scope ends.
    pub(crate) fn is_cleanup(&self, block: BlockId) -> bool {
        let insts = &self.draft.blocks[block];
        let is_end = |i: &&InstId| matches!(self.draft.insts[**i], Inst::ScopeEnd { .. });
        let end = insts.iter().rev().find(is_end).map_or_else(|| self.terminator_place(block), |&i| self.place(i));
        insts.len() <= BOUNDS.cleanup_insts
            && insts.iter().all(|&i| match &self.draft.insts[i] {
                Inst::ScopeEnd { .. } | Inst::Load { .. } | Inst::Cast { .. } | Inst::Address { .. } => true,
                Inst::Call(_) => self.place(i) == end,
                other => other.is_terminator(),
            })
    }

    pub(crate) fn ends_in_jump(&self, block: BlockId) -> bool {
        matches!(self.draft.insts[self.draft.terminator(block)], Inst::Jump { .. })
    }

    pub(crate) fn place(&self, inst: InstId) -> PlaceId {
        self.draft.inst_places[inst]
    }

    pub(crate) fn terminator_place(&self, block: BlockId) -> PlaceId {
        self.place(self.draft.terminator(block))
    }
}
