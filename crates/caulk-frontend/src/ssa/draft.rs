//! A function under construction: like a body, but blocks are lists, so that passes can copy and drop instructions.

use caulk_ir::entity::Entity;
use caulk_ir::flow;
use caulk_ir::{BlockId, ConstId, Constant, EntityVec, Inst, InstId, Operand, Place, PlaceId, VarId, Variable};
use rustc_hash::FxHashMap;

#[derive(Debug, Default)]
pub(crate) struct Draft {
    pub insts: EntityVec<InstId, Inst>,
    pub inst_places: EntityVec<InstId, PlaceId>,
    pub blocks: EntityVec<BlockId, Vec<InstId>>,
    pub consts: EntityVec<ConstId, Constant>,
    const_index: FxHashMap<Constant, ConstId>,
    pub vars: EntityVec<VarId, Variable>,
    pub places: EntityVec<PlaceId, Place>,
    place_index: FxHashMap<Place, PlaceId>,
    /// How many of the first instructions are parameters.
    pub params: u32,
}

impl Draft {
    pub(crate) fn add_inst(&mut self, inst: Inst, place: PlaceId) -> InstId {
        self.inst_places.push(place);
        self.insts.push(inst)
    }

    pub(crate) fn append(&mut self, block: BlockId, inst: Inst, place: PlaceId) -> InstId {
        let id = self.add_inst(inst, place);
        self.blocks[block].push(id);
        id
    }

    pub(crate) fn constant(&mut self, constant: Constant) -> Operand {
        let id = *self.const_index.entry(constant).or_insert_with(|| self.consts.push(constant));
        Operand::Const(id)
    }

    pub(crate) fn place(&mut self, place: Place) -> PlaceId {
        *self.place_index.entry(place).or_insert_with(|| self.places.push(place))
    }

    pub(crate) fn terminator(&self, block: BlockId) -> InstId {
        *self.blocks[block].last().expect("every block of a draft ends in a terminator")
    }

    pub(crate) fn successors(&self, block: BlockId) -> impl Iterator<Item = BlockId> + use<> {
        self.insts[self.terminator(block)].successors().into_iter()
    }

    /// Predecessors of each block, each once, in rising order.
    pub(crate) fn predecessors(&self) -> EntityVec<BlockId, Vec<BlockId>> {
        flow::predecessors(self.blocks.len(), |block| self.insts[self.terminator(block)].successors())
    }

    /// Reachable blocks in reverse post-order.
    pub(crate) fn reverse_post_order(&self) -> Vec<BlockId> {
        flow::reverse_post_order(self.blocks.len(), |block| self.insts[self.terminator(block)].successors())
    }

    /// Renumbers the blocks in reverse post-order and drops those that cannot be reached, with the phi edges from them.
    pub(crate) fn remove_unreachable(&mut self) {
        let order = self.reverse_post_order();
        let mut renumber = vec![None; self.blocks.len()];
        for (new, old) in order.iter().enumerate() {
            renumber[old.index()] = Some(BlockId::from_index(new));
        }
        let blocks: Vec<Vec<InstId>> = order.iter().map(|b| std::mem::take(&mut self.blocks[*b])).collect();
        self.blocks = blocks.into();
        for block in self.blocks.as_slice() {
            for &id in block {
                let inst = &mut self.insts[id];
                if let Inst::Phi { incoming, .. } = inst {
                    incoming.retain(|(from, _)| renumber[from.index()].is_some());
                    incoming.iter_mut().for_each(|(from, _)| *from = renumber[from.index()].expect("retained above"));
                }
                inst.for_each_successor_mut(|b| {
                    *b = renumber[b.index()].expect("a successor of a reachable block is reachable");
                });
            }
        }
    }

    /// Makes `block`, which is entered from `from` among others, a copy of its own for that edge, and returns it.
    /// The block must hold no phi and define no value that other blocks use.
    pub(crate) fn copy_block_for_edge(&mut self, from: BlockId, block: BlockId) -> BlockId {
        let copy = self.blocks.push(Vec::with_capacity(self.blocks[block].len()));
        let mut renamed: FxHashMap<InstId, InstId> = FxHashMap::default();
        for index in 0..self.blocks[block].len() {
            let old = self.blocks[block][index];
            let mut inst = self.insts[old].clone();
            inst.for_each_operand_mut(|operand| {
                if let Operand::Value(v) = operand
                    && let Some(new) = renamed.get(v)
                {
                    *v = *new;
                }
            });
            let new = self.append(copy, inst, self.inst_places[old]);
            renamed.insert(old, new);
        }
        let terminator = self.terminator(from);
        self.insts[terminator].for_each_successor_mut(|b| {
            if *b == block {
                *b = copy;
            }
        });
        for next in self.successors(copy).collect::<Vec<_>>() {
            self.add_phi_edge(next, block, copy);
        }
        copy
    }

    /// Phis in `block` take from `new` what they take from `old`.
    fn add_phi_edge(&mut self, block: BlockId, old: BlockId, new: BlockId) {
        for index in 0..self.blocks[block].len() {
            let id = self.blocks[block][index];
            // Phis stand before everything else.
            let Inst::Phi { incoming, .. } = &mut self.insts[id] else { return };
            if incoming.iter().any(|(from, _)| *from == new) {
                continue;
            }
            if let Some(&(_, value)) = incoming.iter().find(|(from, _)| *from == old) {
                incoming.push((new, value));
            }
        }
    }

    /// Phi edges must match the predecessors after edges were removed.
    pub(crate) fn prune_phis(&mut self) {
        let preds = self.predecessors();
        for (block, insts) in self.blocks.iter() {
            for &id in insts {
                if let Inst::Phi { incoming, .. } = &mut self.insts[id] {
                    incoming.retain(|(from, _)| preds[block].binary_search(from).is_ok());
                }
            }
        }
    }

    /// For each instruction, whether it is used outside of the block it stands in.
    pub(crate) fn escaping_values(&self) -> EntityVec<InstId, bool> {
        let mut home: EntityVec<InstId, Option<BlockId>> = vec![None; self.insts.len()].into();
        for (block, insts) in self.blocks.iter() {
            insts.iter().for_each(|&i| home[i] = Some(block));
        }
        let mut escapes: EntityVec<InstId, bool> = vec![false; self.insts.len()].into();
        for (block, insts) in self.blocks.iter() {
            for &id in insts {
                let is_phi = matches!(self.insts[id], Inst::Phi { .. });
                self.insts[id].for_each_operand(|operand| {
                    if let Operand::Value(v) = *operand
                        && (is_phi || home[v] != Some(block))
                    {
                        escapes[v] = true;
                    }
                });
            }
        }
        escapes
    }
}
