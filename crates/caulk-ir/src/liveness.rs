//! Which values are still used after a block begins: names that are dead say nothing about what holds an object.

use crate::body::Body;
use crate::entity::{BlockId, Entity, EntityVec, InstId};
use crate::inst::{Inst, Operand};

/// Live values at the start of each block, for values used outside of the block that makes them.
#[derive(Debug)]
pub struct Liveness {
    /// The bit of each value that crosses blocks.
    bit: Vec<u32>,
    words: usize,
    live_in: Vec<u64>,
}

const LOCAL: u32 = u32::MAX;

impl Liveness {
    pub(crate) fn new(body: &Body, homes: &EntityVec<InstId, BlockId>, order: &[BlockId]) -> Self {
        let mut bit = vec![LOCAL; body.insts.len()];
        let mut count = 0u32;
        let mut crossing = |value: InstId| {
            let slot = &mut bit[value.index()];
            if *slot == LOCAL {
                *slot = count;
                count += 1;
            }
        };
        for (block, range) in body.blocks.iter() {
            for id in range.insts() {
                let is_phi = matches!(body.insts[id], Inst::Phi { .. });
                body.insts[id].for_each_operand(|operand| {
                    if let Operand::Value(v) = *operand
                        && (is_phi || homes[v] != block || matches!(body.insts[v], Inst::Param { .. }))
                    {
                        crossing(v);
                    }
                });
            }
        }
        let words = (count as usize).div_ceil(64);
        let mut liveness = Self { bit, words, live_in: vec![0; words * body.blocks.len()] };
        liveness.solve(body, homes, order);
        liveness
    }

    fn solve(&mut self, body: &Body, homes: &EntityVec<InstId, BlockId>, order: &[BlockId]) {
        let blocks = body.blocks.len();
        let words = self.words;
        let (mut uses, mut defs) = (vec![0u64; words * blocks], vec![0u64; words * blocks]);
        // Values a phi takes over an edge are live at the end of the block the edge comes from.
        let mut out_uses = vec![0u64; words * blocks];
        let set = |bits: &mut [u64], block: usize, bit: u32| {
            bits[block * words + bit as usize / 64] |= 1 << (bit % 64);
        };
        for (block, range) in body.blocks.iter() {
            for id in range.insts() {
                if let Inst::Phi { incoming, .. } = &body.insts[id] {
                    for (from, value) in incoming {
                        if let Operand::Value(v) = value {
                            set(&mut out_uses, from.index(), self.bit[v.index()]);
                        }
                    }
                } else {
                    body.insts[id].for_each_operand(|operand| {
                        if let Operand::Value(v) = *operand
                            && self.bit[v.index()] != LOCAL
                            && homes[v] != block
                        {
                            set(&mut uses, block.index(), self.bit[v.index()]);
                        }
                    });
                }
                if self.bit[id.index()] != LOCAL {
                    set(&mut defs, block.index(), self.bit[id.index()]);
                }
            }
        }
        loop {
            let mut changed = false;
            for &block in order.iter().rev() {
                let at = block.index() * words;
                for word in 0..words {
                    let mut out = out_uses[at + word];
                    for next in body.terminator(block).successors() {
                        out |= self.live_in[next.index() * words + word];
                    }
                    let new = uses[at + word] | (out & !defs[at + word]);
                    if new != self.live_in[at + word] {
                        self.live_in[at + word] = new;
                        changed = true;
                    }
                }
            }
            if !changed {
                return;
            }
        }
    }

    /// Whether a value is used outside of the block that makes it.
    pub fn crosses_blocks(&self, value: InstId) -> bool {
        self.bit[value.index()] != LOCAL
    }

    /// Whether a value is used in `block` or after it.
    pub fn is_live_in(&self, block: BlockId, value: InstId) -> bool {
        let bit = self.bit[value.index()];
        bit != LOCAL && self.live_in[block.index() * self.words + bit as usize / 64] & (1 << (bit % 64)) != 0
    }
}
