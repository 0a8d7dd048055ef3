//! Words of flags: what changes some of their bits leaves the others as they were.

use caulk_ir::{BinaryOp as Op, BlockId, Inst, InstId, Operand, Type};
use caulk_program::{FuncId, Resolution};
use caulk_solver::{BinaryOp, Node, TermId};
use caulk_useflow::{bit_writes, first_fills};

use crate::bounds::BOUNDS;
use crate::machine::Machine;
use crate::search::Search;
use crate::state::State;
use caulk_memory::Class;

/// What code that may write a cell is known to leave of it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Left {
    /// These bits stay as they are.
    pub bits: u64,
    /// It writes only where there is null.
    pub full: bool,
}

impl Left {
    /// Of code that does not write it.
    const ALL: Left = Left { bits: u64::MAX, full: true };

    /// What both of two pieces of code leave.
    fn meet(self, other: Left) -> Left {
        Left { bits: self.bits & other.bits, full: self.full && other.full }
    }
}

impl Search<'_, '_> {
    /// What no iteration of a loop changes of cells of a class.
    pub(crate) fn left_by_loop(&self, header: BlockId, class: Class) -> Left {
        let (frame, world) = (self.machine.frame, self.machine.world);
        if !world.is_flags(class) && !world.is_first_filled(class) {
            return Left::default();
        }
        let (in_bits, first) = (bit_writes(frame.body), first_fills(frame.body));
        let blocks = frame.body.blocks.iter().filter(|(block, _)| frame.loops[*block].contains(&header));
        blocks.flat_map(|(_, range)| range.insts()).fold(Left::ALL, |left, inst| {
            left.meet(match &frame.body.insts[inst] {
                Inst::Store { address, .. } if frame.class_of(*address) != class => Left::ALL,
                Inst::Store { .. } => {
                    Left { bits: in_bits.get(&inst).map_or(0, |changed| !changed), full: first.contains(&inst) }
                }
                Inst::Copy { .. } | Inst::Fill { .. } => Left::default(),
                kind if kind.call().is_some() => match frame.program.call_site(frame.id, inst) {
                    Some(site) if site.outcome == Resolution::Unresolved => Left::default(),
                    Some(site) => {
                        let with_body = |f: &FuncId| frame.program.has_body(*f);
                        let targets: Vec<FuncId> =
                            frame.program.targets(site).iter().copied().filter(with_body).collect();
                        world.left_by(&targets, class)
                    }
                    None => Left::ALL,
                },
                _ => Left::ALL,
            })
        })
    }
}

impl Search<'_, '_> {
    /// Whether iterations of a loop do nothing to a number but set constant bits: `flags |= SEEN`. What is set stays set.
    pub(crate) fn only_sets_bits(&self, phi: InstId, header: BlockId) -> bool {
        let (frame, body) = (self.machine.frame, self.machine.frame.body);
        let Inst::Phi { incoming, ty: Type::Int(_) } = &body.insts[phi] else { return false };
        let back = incoming.iter().filter(|(from, _)| frame.is_back_edge(*from, header));
        let mut work: Vec<Operand> = back.map(|(_, operand)| *operand).collect();
        let mut seen: Vec<InstId> = Vec::new();
        let mut sets = false;
        while let Some(operand) = work.pop() {
            let Operand::Value(value) = operand else { return false };
            if value == phi || seen.contains(&value) {
                continue;
            }
            seen.push(value);
            match &body.insts[value] {
                Inst::Binary { op: Op::Or, lhs, rhs, .. } if body.constant(*rhs).is_some() => {
                    sets = true;
                    work.push(*lhs);
                }
                Inst::Phi { incoming, .. } => work.extend(incoming.iter().map(|(_, operand)| *operand)),
                _ => return false,
            }
            if seen.len() > BOUNDS.flag_choices {
                return false;
            }
        }
        sets
    }
}

impl Machine<'_> {
    /// A new value for a cell that was written, as far as is not known what was left of it.
    pub(crate) fn with_left(&mut self, state: &State, before: TermId, left: Left, new: TermId) -> TermId {
        let is_full = left.full && {
            let zero = self.pool.constant(self.pool.width(before), 0);
            let is_null = self.pool.eq(before, zero);
            state.facts.implied(&self.pool, is_null) == Some(false)
        };
        if is_full { before } else { self.with_bits_of(before, left.bits, new) }
    }

    /// One number in the bits that are kept, another one in the others.
    pub(crate) fn with_bits_of(&mut self, before: TermId, kept: u64, other: TermId) -> TermId {
        let width = self.pool.width(before);
        let (kept, changed) = (self.pool.constant(width, kept), self.pool.constant(width, !kept));
        let (stays, comes) = (self.pool.and(before, kept), self.pool.and(other, changed));
        self.pool.or(stays, comes)
    }

    /// What flags are where two paths meet: in the bits that both have alike what they were, in the others something new.
    pub(crate) fn shared_bits(&mut self, one: TermId, other: TermId, new: TermId) -> TermId {
        if self.pool.width(one) != self.pool.width(other) {
            return new;
        }
        if let (Some(x), Some(y)) = (self.pool.as_const(one), self.pool.as_const(other)) {
            return self.with_bits_of(one, !(x ^ y), new);
        }
        let ((before, changed), (before_other, changed_other)) = (self.before_changes(one), self.before_changes(other));
        if before == before_other { self.with_bits_of(before, !(changed | changed_other), new) } else { new }
    }

    /// The value that flags were made from by changing some bits, and those bits.
    fn before_changes(&self, flags: TermId) -> (TermId, u64) {
        let (mut at, mut changed) = (flags, 0);
        for _ in 0..BOUNDS.bit_changes {
            let Node::Binary(op, _, left, right) = self.pool.node(at) else { break };
            let mask = match (op, self.pool.as_const(right)) {
                (BinaryOp::Or | BinaryOp::Xor, Some(set)) => set,
                (BinaryOp::And, Some(kept)) => !kept,
                (BinaryOp::Or, None) if self.is_apart(left, right) => 0,
                _ => break,
            };
            (at, changed) = (left, changed | mask);
        }
        (at, changed)
    }

    /// Whether two numbers have no bit in common because of the masks they were cut by.
    fn is_apart(&self, one: TermId, other: TermId) -> bool {
        let mask = |term: TermId| match self.pool.node(term) {
            Node::Binary(BinaryOp::And, _, _, mask) => self.pool.as_const(mask),
            _ => None,
        };
        matches!((mask(one), mask(other)), (Some(a), Some(b)) if a & b == 0)
    }
}
