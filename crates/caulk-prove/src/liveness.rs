//! Where values are used last, or let go by the last variable that holds them.

use std::collections::BTreeMap;

use caulk_ir::{BlockId, Entity, EntitySet, EntitySets, EntityVec, Inst, InstId};

use crate::bindings::Bindings;
use crate::shape::Shape;

/// A value that holds a reference of its own, by its number among those of a function.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct HolderId(u32);

impl Entity for HolderId {
    fn from_index(index: usize) -> Self {
        Self(u32::try_from(index).expect("a function has fewer than 2^32 values"))
    }

    fn index(self) -> usize {
        self.0 as usize
    }
}

/// Numbers for the values that hold references of their own: the others have no part in the tables.
#[derive(Debug, Default)]
struct Holders {
    numbers: BTreeMap<InstId, HolderId>,
    values: EntityVec<HolderId, InstId>,
}

impl Holders {
    fn new(shape: &Shape) -> Self {
        let values: Vec<InstId> = shape.body.insts.keys().filter(|v| shape.is_holder(*v)).collect();
        let values = EntityVec::from(values);
        Self { numbers: values.iter().map(|(number, value)| (*value, number)).collect(), values }
    }

    fn number(&self, value: InstId) -> Option<HolderId> {
        self.numbers.get(&value).copied()
    }
}

/// Last uses of the values that hold references of their own.
#[derive(Debug, Default)]
pub struct LastUses {
    holders: Holders,
    /// Alive before the first instruction of a block, not counting what its phis take.
    live_in: EntitySets<BlockId, HolderId>,
    live_out: EntitySets<BlockId, HolderId>,
    /// Values whose last use (or definition, if nothing uses them) is this instruction.
    deaths: EntityVec<InstId, Vec<InstId>>,
}

impl LastUses {
    /// How large the tables of a function are.
    pub fn words(shape: &Shape) -> usize {
        let holders = shape.body.insts.keys().filter(|v| shape.is_holder(*v)).count();
        2 * shape.body.blocks.len() * holders.div_ceil(64)
    }

    pub fn new(shape: &Shape, bindings: &Bindings) -> Self {
        let holders = Holders::new(shape);
        let (blocks, count) = (shape.body.blocks.len(), holders.values.len());
        let mut live = Self {
            holders,
            live_in: EntitySets::new(blocks, count),
            live_out: EntitySets::new(blocks, count),
            deaths: vec![Vec::new(); shape.body.insts.len()].into(),
        };
        live.flow(shape, bindings);
        for (block, _) in shape.body.blocks.iter() {
            live.walk(shape, bindings, block, true);
        }
        live
    }

    fn flow(&mut self, shape: &Shape, bindings: &Bindings) {
        let mut order = shape.body.reverse_post_order();
        order.reverse();
        let mut is_waiting: EntityVec<BlockId, bool> = vec![true; shape.body.blocks.len()].into();
        let mut changed = true;
        while changed {
            changed = false;
            for &block in &order {
                if !std::mem::replace(&mut is_waiting[block], false) {
                    continue;
                }
                for next in shape.successors(block) {
                    self.live_out.include_row(block, self.live_in.row(next));
                    let held = bindings.to_end(block, next);
                    for holder in phi_operands(shape, block, next).chain(held).filter_map(|v| self.holders.number(v)) {
                        self.live_out.insert(block, holder);
                    }
                }
                let live_in = self.walk(shape, bindings, block, false);
                if self.live_in.replace(block, &live_in) {
                    changed = true;
                    shape.predecessors[block].iter().for_each(|before| is_waiting[*before] = true);
                }
            }
        }
    }

    /// Goes through a block backwards; notes last uses if asked to. Gives what is alive at its beginning.
    fn walk(&mut self, shape: &Shape, bindings: &Bindings, block: BlockId, note: bool) -> EntitySet<HolderId> {
        let mut live = self.live_out.set(block);
        for inst in shape.body.blocks[block].insts().rev() {
            let mut dead = Vec::new();
            if self.holders.number(inst).is_some_and(|number| !live.remove(number)) {
                dead.push(inst);
            }
            uses(shape, bindings, inst).for_each(|value| {
                if self.holders.number(value).is_some_and(|number| live.insert(number)) {
                    dead.push(value);
                }
            });
            if note {
                self.deaths[inst] = dead;
            }
        }
        live
    }

    /// Values that nothing uses after this instruction. For a terminator with successors see [`LastUses::edge_deaths`].
    pub fn deaths(&self, inst: InstId) -> &[InstId] {
        &self.deaths[inst]
    }

    /// Values that are alive at the end of a block and not at the beginning of the next, counting those that a phi takes.
    pub fn edge_deaths(&self, from: BlockId, to: BlockId) -> impl Iterator<Item = InstId> + '_ {
        self.live_out.without(from, &self.live_in, to).map(|number| self.holders.values[number])
    }

    pub fn is_live_at(&self, block: BlockId, value: InstId) -> bool {
        self.holders.number(value).is_some_and(|number| self.live_in.contains(block, number))
    }

    /// Words that are looked at to find what dies on an edge.
    pub fn set_words(&self) -> usize {
        self.holders.values.len().div_ceil(64)
    }
}

/// The holders that an instruction uses, or that a variable lets go of there. Binding to a variable and computing an
/// offset are no uses.
fn uses(shape: &Shape, bindings: &Bindings, inst: InstId) -> impl Iterator<Item = InstId> {
    let mut found = Vec::new();
    let kind = &shape.body.insts[inst];
    let is_use = !matches!(kind, Inst::Bind { .. } | Inst::Phi { .. } | Inst::Address { .. });
    if is_use && shape.base(inst.into()) == inst.into() {
        kind.for_each_operand(|operand| found.extend(shape.holder(*operand)));
    }
    found.extend(bindings.until(inst));
    found.into_iter()
}

/// The holders that the phis of `to` take from `from`.
fn phi_operands(shape: &Shape, from: BlockId, to: BlockId) -> impl Iterator<Item = InstId> + '_ {
    let is_phi = |inst: &InstId| matches!(shape.body.insts[*inst], Inst::Phi { .. });
    let phis = shape.body.blocks[to].insts().take_while(is_phi);
    phis.filter_map(move |phi| shape.holder(shape.taken(phi, from)?))
}
