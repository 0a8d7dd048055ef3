//! Which values are still used after a block begins: names that are dead say nothing about what holds an object.

use crate::body::Body;
use crate::entity;
use crate::entity::{BlockId, EntityVec, InstId};
use crate::inst::{Inst, Operand};
use crate::sets::EntitySets;

entity!(
    /// A value that is used outside of the block that makes it.
    Crossing, "crossing");

/// Live values at the start of each block, for values used outside of the block that makes them.
#[derive(Debug)]
pub struct Liveness {
    crossing: EntityVec<InstId, Option<Crossing>>,
    live_in: EntitySets<BlockId, Crossing>,
}

impl Liveness {
    pub(crate) fn new(body: &Body, homes: &EntityVec<InstId, BlockId>, order: &[BlockId]) -> Self {
        let (crossing, count) = crossing_values(body, homes);
        let live_in = EntitySets::new(body.blocks.len(), count);
        let mut liveness = Self { crossing, live_in };
        liveness.solve(body, homes, order, count);
        liveness
    }

    fn solve(&mut self, body: &Body, homes: &EntityVec<InstId, BlockId>, order: &[BlockId], count: usize) {
        let none = || EntitySets::<BlockId, Crossing>::new(body.blocks.len(), count);
        // Values a phi takes over an edge are live at the end of the block the edge comes from.
        let (mut uses, mut defs, mut out_uses) = (none(), none(), none());
        for (block, range) in body.blocks.iter() {
            for id in range.insts() {
                if let Inst::Phi { incoming, .. } = &body.insts[id] {
                    for (from, value) in incoming {
                        if let Some(value) = value.value().and_then(|v| self.crossing[v]) {
                            out_uses.insert(*from, value);
                        }
                    }
                } else {
                    body.insts[id].for_each_operand(|operand| {
                        let other = operand.value().filter(|v| homes[*v] != block);
                        if let Some(value) = other.and_then(|v| self.crossing[v]) {
                            uses.insert(block, value);
                        }
                    });
                }
                if let Some(value) = self.crossing[id] {
                    defs.insert(block, value);
                }
            }
        }
        let mut live: Vec<u64> = Vec::new();
        loop {
            let mut changed = false;
            for &block in order.iter().rev() {
                live.clear();
                live.extend_from_slice(out_uses.row(block));
                for next in body.terminator(block).successors() {
                    live.iter_mut().zip(self.live_in.row(next)).for_each(|(word, more)| *word |= more);
                }
                let own = uses.row(block).iter().zip(defs.row(block));
                live.iter_mut().zip(own).for_each(|(word, (used, made))| *word = used | (*word & !made));
                if live != self.live_in.row(block) {
                    self.live_in.row_mut(block).copy_from_slice(&live);
                    changed = true;
                }
            }
            if !changed {
                return;
            }
        }
    }

    /// Whether a value is used outside of the block that makes it.
    pub fn crosses_blocks(&self, value: InstId) -> bool {
        self.crossing[value].is_some()
    }

    /// Whether a value is used in `block` or after it.
    pub fn is_live_in(&self, block: BlockId, value: InstId) -> bool {
        self.crossing[value].is_some_and(|value| self.live_in.contains(block, value))
    }
}

/// Numbers the values that are used outside of the block that makes them, in the order of their first such use.
fn crossing_values(body: &Body, homes: &EntityVec<InstId, BlockId>) -> (EntityVec<InstId, Option<Crossing>>, usize) {
    let mut crossing: EntityVec<InstId, Option<Crossing>> = vec![None; body.insts.len()].into();
    let mut count = 0u32;
    for (block, range) in body.blocks.iter() {
        for id in range.insts() {
            let is_phi = matches!(body.insts[id], Inst::Phi { .. });
            body.insts[id].for_each_operand(|operand| {
                let Operand::Value(value) = *operand else { return };
                let is_crossing = is_phi || homes[value] != block || matches!(body.insts[value], Inst::Param { .. });
                if is_crossing && crossing[value].is_none() {
                    crossing[value] = Some(Crossing(count));
                    count += 1;
                }
            });
        }
    }
    (crossing, count as usize)
}
