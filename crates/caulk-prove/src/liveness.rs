//! Where values are used last, or let go by the last variable that holds them.

use std::collections::BTreeMap;

use caulk_ir::{BlockId, EntityVec, Inst, InstId};

use crate::bindings::Bindings;
use crate::shape::Shape;

/// A set of holders, by their numbers.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct Set(Vec<u64>);

impl Set {
    fn new(holders: usize) -> Self {
        Self(vec![0; holders.div_ceil(64)])
    }

    fn contains(&self, holder: u32) -> bool {
        self.0[holder as usize / 64] & (1 << (holder % 64)) != 0
    }

    /// True if it was not there.
    fn insert(&mut self, holder: u32) -> bool {
        let (word, bit) = (&mut self.0[holder as usize / 64], 1 << (holder % 64));
        let is_new = *word & bit == 0;
        *word |= bit;
        is_new
    }

    fn remove(&mut self, holder: u32) {
        self.0[holder as usize / 64] &= !(1 << (holder % 64));
    }

    fn extend(&mut self, other: &Set) {
        self.0.iter_mut().zip(&other.0).for_each(|(a, b)| *a |= b);
    }

    /// What is in this one and not in the other, in rising order.
    fn without<'a>(&'a self, other: &'a Set) -> impl Iterator<Item = u32> + 'a {
        let words = self.0.iter().zip(&other.0).map(|(a, b)| a & !b).enumerate().filter(|(_, word)| *word != 0);
        words.flat_map(|(at, word)| {
            (0..64).filter(move |bit| word & (1 << bit) != 0).map(move |bit| at as u32 * 64 + bit)
        })
    }
}

/// Numbers for the values that hold references of their own: the others have no part in the tables.
#[derive(Debug, Default)]
struct Holders {
    numbers: BTreeMap<InstId, u32>,
    values: Vec<InstId>,
}

impl Holders {
    fn new(shape: &Shape) -> Self {
        let values: Vec<InstId> = shape.body.insts.keys().filter(|v| shape.is_holder(*v)).collect();
        Self { numbers: values.iter().copied().zip(0..).collect(), values }
    }

    fn number(&self, value: InstId) -> Option<u32> {
        self.numbers.get(&value).copied()
    }
}

/// Last uses of the values that hold references of their own.
#[derive(Debug, Default)]
pub struct Liveness {
    holders: Holders,
    /// Alive before the first instruction of a block, not counting what its phis take.
    live_in: EntityVec<BlockId, Set>,
    live_out: EntityVec<BlockId, Set>,
    /// Values whose last use (or definition, if nothing uses them) is this instruction.
    deaths: EntityVec<InstId, Vec<InstId>>,
}

impl Liveness {
    /// How large the tables of a function are.
    pub fn words(shape: &Shape) -> usize {
        let holders = shape.body.insts.keys().filter(|v| shape.is_holder(*v)).count();
        2 * shape.body.blocks.len() * holders.div_ceil(64)
    }

    pub fn new(shape: &Shape, bindings: &Bindings) -> Self {
        let holders = Holders::new(shape);
        let empty = Set::new(holders.values.len());
        let mut live = Self {
            holders,
            live_in: vec![empty.clone(); shape.body.blocks.len()].into(),
            live_out: vec![empty; shape.body.blocks.len()].into(),
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
            for block in &order {
                if !std::mem::replace(&mut is_waiting[*block], false) {
                    continue;
                }
                let mut out = std::mem::take(&mut self.live_out[*block]);
                for next in shape.successors(*block) {
                    out.extend(&self.live_in[next]);
                    let held = bindings.to_end(*block, next);
                    phi_operands(shape, *block, next).chain(held).filter_map(|v| self.holders.number(v)).for_each(
                        |v| {
                            out.insert(v);
                        },
                    );
                }
                self.live_out[*block] = out;
                let live_in = self.walk(shape, bindings, *block, false);
                if live_in != self.live_in[*block] {
                    changed = true;
                    shape.predecessors[*block].iter().for_each(|before| is_waiting[*before] = true);
                }
                self.live_in[*block] = live_in;
            }
        }
    }

    /// Goes through a block backwards; notes last uses if asked to. Gives what is alive at its beginning.
    fn walk(&mut self, shape: &Shape, bindings: &Bindings, block: BlockId, note: bool) -> Set {
        let mut live = self.live_out[block].clone();
        for inst in shape.body.blocks[block].insts().rev() {
            let mut dead = Vec::new();
            if let Some(number) = self.holders.number(inst) {
                if !live.contains(number) {
                    dead.push(inst);
                }
                live.remove(number);
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

    /// Values that nothing uses after this instruction. For a terminator with successors see [`Liveness::edge_deaths`].
    pub fn deaths(&self, inst: InstId) -> &[InstId] {
        &self.deaths[inst]
    }

    /// Values that are alive at the end of a block and not at the beginning of the next, counting those that a phi takes.
    pub fn edge_deaths(&self, from: BlockId, to: BlockId) -> impl Iterator<Item = InstId> + '_ {
        self.live_out[from].without(&self.live_in[to]).map(|number| self.holders.values[number as usize])
    }

    pub fn is_live_at(&self, block: BlockId, value: InstId) -> bool {
        self.holders.number(value).is_some_and(|number| self.live_in[block].contains(number))
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
