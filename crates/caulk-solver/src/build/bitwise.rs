//! Masks, as flags are tested with.

use crate::bits::mask;
use crate::node::{BinaryOp, NoWrap, Node, TermId};
use crate::pool::TermPool;

impl TermPool {
    pub(super) fn build_and(&mut self, a: TermId, b: TermId) -> TermId {
        let (a, b) = self.ordered(a, b);
        let width = self.width(a);
        if a == b {
            return a;
        }
        if let Some(term) = self.narrow_bitwise(BinaryOp::And, a, b) {
            return term;
        }
        let Some(c) = self.as_const(b) else { return self.make(BinaryOp::And, NoWrap::NONE, a, b) };
        if c == 0 {
            return b;
        }
        if c == mask(width) {
            return a;
        }
        match self.inner_const(a) {
            Some((BinaryOp::And, x, inner)) => {
                let c = self.constant(width, c & inner);
                self.and(x, c)
            }
            Some((BinaryOp::Or, x, inner)) if inner & c == 0 => self.and(x, b),
            Some((BinaryOp::Or, _, inner)) if inner & c == c => b,
            _ => match self.only_part_with(a, c) {
                Some(part) => self.and(part, b),
                None => self.make(BinaryOp::And, NoWrap::NONE, a, b),
            },
        }
    }

    /// Of `(x & mask) | y` the side that has bits of a mask, where the other one has none.
    fn only_part_with(&self, term: TermId, mask: u64) -> Option<TermId> {
        let Node::Binary(BinaryOp::Or, _, x, y) = self.node(term) else { return None };
        let has_none =
            |side: TermId| matches!(self.inner_const(side), Some((BinaryOp::And, _, bits)) if bits & mask == 0);
        if has_none(x) { Some(y) } else { has_none(y).then_some(x) }
    }

    pub(super) fn build_or(&mut self, a: TermId, b: TermId) -> TermId {
        let (a, b) = self.ordered(a, b);
        let width = self.width(a);
        if a == b {
            return a;
        }
        if let Some(term) = self.narrow_bitwise(BinaryOp::Or, a, b) {
            return term;
        }
        let Some(c) = self.as_const(b) else { return self.make(BinaryOp::Or, NoWrap::NONE, a, b) };
        if c == 0 {
            return a;
        }
        if c == mask(width) {
            return b;
        }
        match self.inner_const(a) {
            Some((BinaryOp::Or, x, inner)) => {
                let c = self.constant(width, c | inner);
                self.or(x, c)
            }
            Some((BinaryOp::And, _, inner)) if inner & !c == 0 => b,
            _ => self.make(BinaryOp::Or, NoWrap::NONE, a, b),
        }
    }

    pub(super) fn build_xor(&mut self, a: TermId, b: TermId) -> TermId {
        let (a, b) = self.ordered(a, b);
        let width = self.width(a);
        if a == b {
            return self.constant(width, 0);
        }
        if let Some(term) = self.narrow_bitwise(BinaryOp::Xor, a, b) {
            return term;
        }
        let Some(c) = self.as_const(b) else { return self.make(BinaryOp::Xor, NoWrap::NONE, a, b) };
        if c == 0 {
            return a;
        }
        if let Some((BinaryOp::Xor, x, inner)) = self.inner_const(a) {
            let c = self.constant(width, c ^ inner);
            return self.xor(x, c);
        }
        self.make(BinaryOp::Xor, NoWrap::NONE, a, b)
    }

    /// `x op constant`, taken apart.
    pub(super) fn inner_const(&self, term: TermId) -> Option<(BinaryOp, TermId, u64)> {
        match self.node(term) {
            Node::Binary(op, _, x, c) => Some((op, x, self.as_const(c)?)),
            _ => None,
        }
    }

    /// On values made wider with zeros the work is done at the narrow width.
    fn narrow_bitwise(&mut self, op: BinaryOp, a: TermId, b: TermId) -> Option<TermId> {
        let Node::ZExt(x) = self.node(a) else { return None };
        let (width, inner) = (self.width(a), self.width(x));
        let y = match (self.node(b), self.as_const(b)) {
            (Node::ZExt(y), _) if self.width(y) == inner => y,
            (_, Some(c)) if op == BinaryOp::And || c & !mask(inner) == 0 => self.constant(inner, c),
            _ => return None,
        };
        let narrow = self.binary(op, NoWrap::NONE, x, y);
        Some(self.zext(narrow, width))
    }
}
