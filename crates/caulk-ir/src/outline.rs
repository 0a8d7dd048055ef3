//! What all analyses of a body ask of it: where its instructions are, in which order its blocks come, what is used where.
//!
//! An engine makes one outline for a body and hands it on. What is not always needed is worked out when it is first asked for.

use std::cell::OnceCell;

use crate::body::Body;
use crate::dominators::DominatorTree;
use crate::entity::{BlockId, EntitySet, EntityVec, InstId};
use crate::inst::Operand;
use crate::liveness::Liveness;

#[derive(Debug)]
pub struct Outline<'b> {
    body: &'b Body,
    /// The block that each instruction is in.
    pub homes: EntityVec<InstId, BlockId>,
    /// The reachable blocks in reverse post-order.
    pub blocks_by_order: Vec<BlockId>,
    /// The position of each block in it; `u32::MAX` for blocks that cannot be reached.
    pub order: EntityVec<BlockId, u32>,
    used: OnceCell<EntitySet<InstId>>,
    liveness: OnceCell<Liveness>,
    dominators: OnceCell<DominatorTree>,
    predecessors: OnceCell<EntityVec<BlockId, Vec<BlockId>>>,
}

impl<'b> Outline<'b> {
    pub fn new(body: &'b Body) -> Self {
        let mut order: EntityVec<BlockId, u32> = vec![u32::MAX; body.blocks.len()].into();
        let blocks_by_order = body.reverse_post_order();
        for (position, block) in blocks_by_order.iter().enumerate() {
            order[*block] = position as u32;
        }
        Self {
            body,
            homes: body.inst_blocks(),
            blocks_by_order,
            order,
            used: OnceCell::new(),
            liveness: OnceCell::new(),
            dominators: OnceCell::new(),
            predecessors: OnceCell::new(),
        }
    }

    /// Whether an edge leads back, to the head of a loop.
    pub fn is_back_edge(&self, from: BlockId, to: BlockId) -> bool {
        self.order[to] <= self.order[from]
    }

    /// Whether anything uses a value, be it only that a variable is set to it.
    pub fn is_used(&self, value: InstId) -> bool {
        self.used.get_or_init(|| used_values(self.body)).contains(value)
    }

    pub fn liveness(&self) -> &Liveness {
        self.liveness.get_or_init(|| Liveness::new(self.body, &self.homes, &self.blocks_by_order))
    }

    pub fn dominators(&self) -> &DominatorTree {
        self.dominators.get_or_init(|| DominatorTree::new(self.body))
    }

    pub fn predecessors(&self) -> &EntityVec<BlockId, Vec<BlockId>> {
        self.predecessors.get_or_init(|| self.body.predecessors())
    }

    /// Whether every path to an instruction comes by another one before, or that is the instruction itself.
    pub fn comes_before(&self, before: InstId, inst: InstId) -> bool {
        let [first, second] = [before, inst].map(|inst| self.homes[inst]);
        if first == second { before <= inst } else { self.dominators().dominates(first, second) }
    }
}

fn used_values(body: &Body) -> EntitySet<InstId> {
    let mut used = EntitySet::with_capacity(body.insts.len());
    for inst in body.insts.values() {
        inst.for_each_operand(|operand| {
            if let Operand::Value(value) = *operand {
                used.insert(value);
            }
        });
    }
    used
}
