//! Words of flags: what changes some of their bits leaves the others as they were.

use caulk_ir::{BlockId, Inst};
use caulk_program::{FuncId, Resolution};
use caulk_solver::{BinaryOp, Node, TermId};
use caulk_useflow::bit_writes;

use crate::bounds::BOUNDS;
use crate::machine::Machine;
use crate::search::Search;
use caulk_memory::Class;

impl Search<'_, '_> {
    /// The bits of flags that no iteration of a loop changes.
    pub(crate) fn bits_kept_in_loop(&self, header: BlockId, class: Class) -> u64 {
        let (frame, world) = (self.machine.frame, self.machine.world);
        if !world.is_flags(class) {
            return 0;
        }
        let in_bits = bit_writes(frame.body);
        let blocks = frame.body.blocks.iter().filter(|(block, _)| frame.loops[*block].contains(&header));
        blocks.flat_map(|(_, range)| range.insts()).fold(u64::MAX, |kept, inst| {
            kept & match &frame.body.insts[inst] {
                Inst::Store { address, .. } if frame.class_of(*address) != class => u64::MAX,
                Inst::Store { .. } => in_bits.get(&inst).map_or(0, |changed| !changed),
                Inst::Copy { .. } | Inst::Fill { .. } => 0,
                kind if kind.call().is_some() => match frame.program.call_site(frame.id, inst) {
                    Some(site) if site.outcome == Resolution::Unresolved => 0,
                    Some(site) => {
                        let with_body = |f: &FuncId| frame.program.has_body(*f);
                        let targets: Vec<FuncId> =
                            frame.program.targets(site).iter().copied().filter(with_body).collect();
                        world.kept_bits(&targets, class)
                    }
                    None => u64::MAX,
                },
                _ => u64::MAX,
            }
        })
    }
}

impl Machine<'_> {
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
