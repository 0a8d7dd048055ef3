//! The body of a function: blocks of instructions, with the constants, variables and places they refer to.
//! A body is complete in itself, so it can be packed, loaded and dropped alone.

use std::ops::Range;

use serde::{Deserialize, Serialize};

use crate::constant::Constant;
use crate::entity::{BlockId, ConstId, Entity, EntityVec, InstId, PlaceId, StrId, VarId};
use crate::flow;
use crate::inst::{Inst, Operand};
use crate::place::Place;
use crate::types::{Pointee, Type};

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Body {
    /// Parameters first (outside of all blocks), then block after block.
    pub insts: EntityVec<InstId, Inst>,
    /// Where each instruction comes from; as long as `insts`.
    pub inst_places: EntityVec<InstId, PlaceId>,
    /// Entry first; it has no predecessors.
    pub blocks: EntityVec<BlockId, Block>,
    pub consts: EntityVec<ConstId, Constant>,
    pub vars: EntityVec<VarId, Variable>,
    pub places: EntityVec<PlaceId, Place>,
}

/// A run of instructions, the last of which is a terminator.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Block {
    pub first: InstId,
    /// One past the terminator.
    pub end: InstId,
}

/// A variable of the source.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Variable {
    pub name: StrId,
    /// Which parameter it is, if it is one.
    pub param: Option<u32>,
    /// Line of the declaration, in the file of the function; 0 when unknown.
    pub line: u32,
    pub pointee: Pointee,
}

impl Block {
    pub fn insts(self) -> impl DoubleEndedIterator<Item = InstId> + ExactSizeIterator {
        let Range { start, end } = self.first.index()..self.end.index();
        (start..end).map(InstId::from_index)
    }

    pub fn terminator(self) -> InstId {
        InstId(self.end.0 - 1)
    }
}

impl Body {
    pub const ENTRY: BlockId = BlockId(0);

    pub fn terminator(&self, block: BlockId) -> &Inst {
        &self.insts[self.blocks[block].terminator()]
    }

    pub fn place(&self, inst: InstId) -> &Place {
        &self.places[self.inst_places[inst]]
    }

    pub fn constant(&self, operand: Operand) -> Option<Constant> {
        match operand {
            Operand::Const(c) => Some(self.consts[c]),
            Operand::Value(_) => None,
        }
    }

    pub fn operand_type(&self, operand: Operand) -> Type {
        match operand {
            Operand::Const(c) => self.consts[c].ty(),
            Operand::Value(v) => self.insts[v].result_type(),
        }
    }

    /// The numbers that are all a value can be, through phis: `found = 1`. None: it may be something else.
    pub fn constants_of(&self, value: InstId) -> Option<Vec<i64>> {
        /// Phis that are looked through.
        const MAX_CHOICES: usize = 16;
        let mut choices = vec![value];
        let mut numbers = Vec::new();
        let mut next = 0;
        while let Some(&choice) = choices.get(next) {
            next += 1;
            let Inst::Phi { incoming, .. } = &self.insts[choice] else { return None };
            for (_, operand) in incoming {
                match (operand, self.constant(*operand).and_then(Constant::as_signed)) {
                    (Operand::Value(value), _) if choices.contains(value) => {}
                    (Operand::Value(value), _) if choices.len() < MAX_CHOICES => choices.push(*value),
                    (_, Some(number)) => numbers.push(number),
                    _ => return None,
                }
            }
        }
        Some(numbers)
    }

    /// The block each instruction stands in; parameters count to the entry.
    pub fn inst_blocks(&self) -> EntityVec<InstId, BlockId> {
        let mut of: EntityVec<InstId, BlockId> = vec![Body::ENTRY; self.insts.len()].into();
        for (block, range) in self.blocks.iter() {
            for inst in range.insts() {
                of[inst] = block;
            }
        }
        of
    }

    /// The predecessors of each block, each once, in rising order.
    pub fn predecessors(&self) -> EntityVec<BlockId, Vec<BlockId>> {
        flow::predecessors(self.blocks.len(), |block| self.terminator(block).successors())
    }

    /// Blocks reachable from the entry, in reverse post-order.
    pub fn reverse_post_order(&self) -> Vec<BlockId> {
        flow::reverse_post_order(self.blocks.len(), |block| self.terminator(block).successors())
    }
}
