//! Where values are used last, or let go by the last variable that holds them.

use caulk_ir::entity::Entity;
use caulk_ir::{BlockId, EntityVec, Inst, InstId};

use crate::bindings::Bindings;
use crate::shape::Shape;

/// A set of values.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct Set(Vec<u64>);

impl Set {
    fn new(values: usize) -> Self {
        Self(vec![0; values.div_ceil(64)])
    }

    fn contains(&self, value: InstId) -> bool {
        self.0[value.index() / 64] & (1 << (value.index() % 64)) != 0
    }

    /// True if it was not there.
    fn insert(&mut self, value: InstId) -> bool {
        let (word, bit) = (&mut self.0[value.index() / 64], 1 << (value.index() % 64));
        let is_new = *word & bit == 0;
        *word |= bit;
        is_new
    }

    fn remove(&mut self, value: InstId) {
        self.0[value.index() / 64] &= !(1 << (value.index() % 64));
    }

    fn extend(&mut self, other: &Set) {
        self.0.iter_mut().zip(&other.0).for_each(|(a, b)| *a |= b);
    }

    fn iter(&self) -> impl Iterator<Item = InstId> + '_ {
        let values = self
            .0
            .iter()
            .enumerate()
            .flat_map(|(at, word)| (0..64).filter(move |bit| word & (1 << bit) != 0).map(move |bit| at * 64 + bit));
        values.map(InstId::from_index)
    }
}

/// Last uses of the values that hold references of their own.
#[derive(Debug, Default)]
pub struct Liveness {
    /// Alive before the first instruction of a block, not counting what its phis take.
    live_in: EntityVec<BlockId, Set>,
    live_out: EntityVec<BlockId, Set>,
    /// Values whose last use (or definition, if nothing uses them) is this instruction.
    deaths: EntityVec<InstId, Vec<InstId>>,
}

impl Liveness {
    pub fn new(shape: &Shape, bindings: &Bindings) -> Self {
        let values = shape.body.insts.len();
        let empty = Set::new(values);
        let mut live = Self {
            live_in: vec![empty.clone(); shape.body.blocks.len()].into(),
            live_out: vec![empty; shape.body.blocks.len()].into(),
            deaths: vec![Vec::new(); values].into(),
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
        let mut changed = true;
        while changed {
            changed = false;
            for block in &order {
                let mut out = self.live_out[*block].clone();
                for next in shape.body.terminator(*block).successors() {
                    out.extend(&self.live_in[next]);
                    let held = bindings.to_end(*block, next);
                    phi_operands(shape, *block, next).chain(held).for_each(|v| {
                        out.insert(v);
                    });
                }
                self.live_out[*block] = out;
                let live_in = self.walk(shape, bindings, *block, false);
                changed |= live_in != self.live_in[*block];
                self.live_in[*block] = live_in;
            }
        }
    }

    /// Goes through a block backwards; notes last uses if asked to. Gives what is alive at its beginning.
    fn walk(&mut self, shape: &Shape, bindings: &Bindings, block: BlockId, note: bool) -> Set {
        let mut live = self.live_out[block].clone();
        for inst in shape.body.blocks[block].insts().rev() {
            let mut dead = Vec::new();
            if shape.is_holder(inst) && !live.contains(inst) {
                dead.push(inst);
            }
            live.remove(inst);
            uses(shape, bindings, inst).for_each(|value| {
                if live.insert(value) {
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
        self.live_out[from].iter().filter(move |v| !self.live_in[to].contains(*v))
    }

    pub fn is_live_at(&self, block: BlockId, value: InstId) -> bool {
        self.live_in[block].contains(value)
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
    let phis = shape.body.blocks[to].insts().map(|inst| &shape.body.insts[inst]);
    phis.take_while(|inst| matches!(inst, Inst::Phi { .. })).flat_map(move |inst| match inst {
        Inst::Phi { incoming, .. } => {
            let taken = incoming.iter().filter(move |(block, _)| *block == from);
            taken.filter_map(|(_, operand)| shape.holder(*operand)).collect::<Vec<_>>()
        }
        _ => Vec::new(),
    })
}
