//! Building terms. Every constructor gives the simplest form it can see by looking one or two levels down; what needs the
//! facts of a path is not done here.

mod arithmetic;
mod bitwise;
mod boolean;
mod compare;
mod equal;
mod ite;
mod resize;

use crate::bits;
use crate::node::{BinaryOp, NoWrap, Node, TermId};
use crate::pool::TermPool;

impl TermPool {
    /// Any binary operation. `no_wrap` counts for addition, subtraction, multiplication and shift left only.
    pub fn binary(&mut self, op: BinaryOp, no_wrap: NoWrap, a: TermId, b: TermId) -> TermId {
        let width = self.width(a);
        debug_assert_eq!(width, self.width(b), "operands of {op:?} differ in width");
        if let (Some(x), Some(y)) = (self.as_const(a), self.as_const(b)) {
            return self.fold(op, x, y, width);
        }
        if width == 1 {
            return self.binary_boolean(op, a, b);
        }
        if let Some(term) = self.fold_arms(op, a, b) {
            return term;
        }
        match op {
            BinaryOp::Add => self.build_add(no_wrap, a, b),
            BinaryOp::Sub => self.build_sub(no_wrap, a, b),
            BinaryOp::Mul => self.build_mul(no_wrap, a, b),
            BinaryOp::UDiv | BinaryOp::SDiv => self.build_div(op, a, b),
            BinaryOp::URem | BinaryOp::SRem => self.build_rem(op, a, b),
            BinaryOp::Shl => self.build_shl(no_wrap, a, b),
            BinaryOp::LShr | BinaryOp::AShr => self.build_shr(op, a, b),
            BinaryOp::And => self.build_and(a, b),
            BinaryOp::Or => self.build_or(a, b),
            BinaryOp::Xor => self.build_xor(a, b),
        }
    }

    /// A constant result. Where there is no value any will do; zero is as good as another.
    fn fold(&mut self, op: BinaryOp, x: u64, y: u64, width: u8) -> TermId {
        let value = bits::binary(op, NoWrap::NONE, x, y, width).unwrap_or(0);
        self.constant(width, value)
    }

    /// An operation on a choice between two constants and a constant is a choice between two constants.
    fn fold_arms(&mut self, op: BinaryOp, a: TermId, b: TermId) -> Option<TermId> {
        let width = self.width(a);
        let (choice, [left, right]) = match (self.as_choice(a), self.as_const(b), self.as_const(a), self.as_choice(b)) {
            (Some((c, x, y)), Some(k), _, _) => (c, [(x, k), (y, k)]),
            (_, _, Some(k), Some((c, x, y))) => (c, [(k, x), (k, y)]),
            _ => return None,
        };
        let yes = self.fold(op, left.0, left.1, width);
        let no = self.fold(op, right.0, right.1, width);
        Some(self.ite(choice, yes, no))
    }

    /// A term that is one of two constants: `c ? x : y`, or a boolean made wider.
    fn as_choice(&self, term: TermId) -> Option<(TermId, u64, u64)> {
        match self.node(term) {
            Node::Ite(c, a, b) => Some((c, self.as_const(a)?, self.as_const(b)?)),
            Node::ZExt(c) if self.width(c) == 1 => Some((c, 1, 0)),
            Node::SExt(c) if self.width(c) == 1 => Some((c, bits::mask(self.width(term)), 0)),
            _ => None,
        }
    }

    pub fn add(&mut self, a: TermId, b: TermId) -> TermId {
        self.binary(BinaryOp::Add, NoWrap::NONE, a, b)
    }

    pub fn sub(&mut self, a: TermId, b: TermId) -> TermId {
        self.binary(BinaryOp::Sub, NoWrap::NONE, a, b)
    }

    pub fn mul(&mut self, a: TermId, b: TermId) -> TermId {
        self.binary(BinaryOp::Mul, NoWrap::NONE, a, b)
    }

    /// Bitwise; on booleans, the conjunction.
    pub fn and(&mut self, a: TermId, b: TermId) -> TermId {
        self.binary(BinaryOp::And, NoWrap::NONE, a, b)
    }

    /// Bitwise; on booleans, the disjunction.
    pub fn or(&mut self, a: TermId, b: TermId) -> TermId {
        self.binary(BinaryOp::Or, NoWrap::NONE, a, b)
    }

    pub fn xor(&mut self, a: TermId, b: TermId) -> TermId {
        self.binary(BinaryOp::Xor, NoWrap::NONE, a, b)
    }

    pub fn neg(&mut self, a: TermId) -> TermId {
        let zero = self.constant(self.width(a), 0);
        self.sub(zero, a)
    }

    /// All bits flipped; on booleans, the negation.
    pub fn not(&mut self, a: TermId) -> TermId {
        let width = self.width(a);
        if width == 1 {
            return self.negate(a);
        }
        let ones = self.constant(width, bits::mask(width));
        self.xor(a, ones)
    }

    /// A pointer moved by a constant number of bytes. `inside`: the result is known to stay in the object, so it is not null and
    /// nothing wraps.
    pub fn offset(&mut self, pointer: TermId, bytes: i64, inside: bool) -> TermId {
        let no_wrap = if inside && bytes >= 0 { NoWrap::UNSIGNED } else { NoWrap::NONE };
        let bytes = self.constant(self.width(pointer), bytes as u64);
        self.binary(BinaryOp::Add, no_wrap, pointer, bytes)
    }

    /// `a` plus a constant: the base and the offset of any term.
    pub fn split_offset(&self, term: TermId) -> (TermId, u64) {
        if let Node::Binary(BinaryOp::Add, _, base, offset) = self.node(term)
            && let Some(offset) = self.as_const(offset)
        {
            return (base, offset);
        }
        (term, 0)
    }

    /// Constants to the right, else the older term first.
    fn ordered(&self, a: TermId, b: TermId) -> (TermId, TermId) {
        if self.as_const(a).is_some() || (self.as_const(b).is_none() && b < a) { (b, a) } else { (a, b) }
    }

    fn make(&mut self, op: BinaryOp, no_wrap: NoWrap, a: TermId, b: TermId) -> TermId {
        self.intern(Node::Binary(op, no_wrap, a, b), self.width(a))
    }
}
