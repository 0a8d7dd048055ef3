//! Stores that change some bits of what was there and leave the others: `s->flags |= DONE`, or a bit-field beside others.

use caulk_ir::{BinaryOp, Body, CastOp, Constant, Entity, Inst, InstId, Operand, Type};
use rustc_hash::FxHashMap;

use crate::bounds::BOUNDS;

/// Stores that leave some bits as they were, with a mask of those that they may change.
pub fn bit_writes(body: &Body) -> FxHashMap<InstId, u64> {
    let mut found = FxHashMap::default();
    for block in body.blocks.values() {
        let mut unchanged = Unchanged { body, loads: Vec::new() };
        for id in (block.first.index()..block.end.index()).map(InstId::from_index) {
            match &body.insts[id] {
                Inst::Load { .. } => unchanged.loads.push(id),
                Inst::Call(_) | Inst::Invoke { .. } | Inst::Copy { .. } | Inst::Fill { .. } => unchanged.loads.clear(),
                Inst::Store { value, address, ty: Type::Int(bits), .. } => {
                    let all = low_bits(*bits);
                    let changed = unchanged.changed(*value, *address, BOUNDS.bit_operations).map(|mask| mask & all);
                    if let Some(changed) = changed.filter(|mask| *mask != all) {
                        found.insert(id, changed);
                    }
                }
                _ => {}
            }
        }
    }
    found
}

/// Loads since which nothing was called.
struct Unchanged<'a> {
    body: &'a Body,
    loads: Vec<InstId>,
}

impl Unchanged<'_> {
    /// Which bits of a value may differ from what is at the address. None: any.
    fn changed(&self, value: Operand, address: Operand, depth: usize) -> Option<u64> {
        let depth = depth.checked_sub(1)?;
        let id = value.value()?;
        match &self.body.insts[id] {
            Inst::Load { address: from, .. } => {
                (self.loads.contains(&id) && self.is_same_address(*from, address)).then_some(0)
            }
            Inst::Binary { op: BinaryOp::And, lhs, rhs, .. } => {
                let (before, mask) = self.changed_before(*lhs, *rhs, address, depth)?;
                Some(before | !unsigned(self.body.constant(mask)?)?)
            }
            Inst::Binary { op: BinaryOp::Or | BinaryOp::Xor, lhs, rhs, .. } => {
                let (before, other) = self.changed_before(*lhs, *rhs, address, depth)?;
                Some(before | self.possible(other, depth))
            }
            Inst::Cast { op: CastOp::Truncate | CastOp::ZeroExtend | CastOp::SignExtend, value, .. } => {
                self.changed(*value, address, depth)
            }
            _ => None,
        }
    }

    /// What is changed already in the operand that comes from the address, and the other operand.
    fn changed_before(&self, lhs: Operand, rhs: Operand, address: Operand, depth: usize) -> Option<(u64, Operand)> {
        match self.changed(lhs, address, depth) {
            Some(before) => Some((before, rhs)),
            None => Some((self.changed(rhs, address, depth)?, lhs)),
        }
    }

    /// Bits that a number may have.
    fn possible(&self, value: Operand, depth: usize) -> u64 {
        let Some(depth) = depth.checked_sub(1) else { return u64::MAX };
        let id = match value {
            Operand::Const(c) => return unsigned(self.body.consts[c]).unwrap_or(u64::MAX),
            Operand::Value(id) => id,
        };
        match &self.body.insts[id] {
            Inst::Binary { op: BinaryOp::And, lhs, rhs, .. } => self.possible(*lhs, depth) & self.possible(*rhs, depth),
            Inst::Binary { op: BinaryOp::Or | BinaryOp::Xor, lhs, rhs, .. } => {
                self.possible(*lhs, depth) | self.possible(*rhs, depth)
            }
            Inst::Binary { op: BinaryOp::Shl, lhs, rhs, .. } => match self.body.constant(*rhs).and_then(unsigned) {
                Some(by @ 0..64) => self.possible(*lhs, depth) << by,
                _ => u64::MAX,
            },
            Inst::Cast { op: CastOp::ZeroExtend | CastOp::Truncate, from, to, value } => {
                let width = |ty: &Type| if let Type::Int(bits) = ty { low_bits(*bits) } else { u64::MAX };
                self.possible(*value, depth) & width(from) & width(to)
            }
            Inst::Compare { .. } => 1,
            _ => u64::MAX,
        }
    }

    /// The same value, or the same steps from the same base.
    fn is_same_address(&self, one: Operand, other: Operand) -> bool {
        let (Operand::Value(a), Operand::Value(b)) = (one, other) else { return one == other };
        a == b || matches!(self.body.insts[a], Inst::Address { .. }) && self.body.insts[a] == self.body.insts[b]
    }
}

fn unsigned(constant: Constant) -> Option<u64> {
    match constant {
        Constant::Int { bits, value } => Some(value & low_bits(bits)),
        _ => None,
    }
}

fn low_bits(bits: u16) -> u64 {
    if bits >= 64 { u64::MAX } else { (1 << bits) - 1 }
}
