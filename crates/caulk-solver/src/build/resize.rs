//! Making values wider and narrower.

use crate::bits::{mask, signed};
use crate::node::{BinaryOp, NoWrap, Node, TermId};
use crate::pool::TermPool;

impl TermPool {
    /// To `width` bits, new ones zero.
    pub fn zext(&mut self, a: TermId, width: u8) -> TermId {
        debug_assert!(width >= self.width(a) && width <= 64);
        if width == self.width(a) {
            return a;
        }
        match self.node(a) {
            Node::Const(value) => self.constant(width, value),
            Node::ZExt(x) => self.zext(x, width),
            Node::Trunc(x) if self.width(x) == width => {
                let low = self.constant(width, mask(self.width(a)));
                self.and(x, low)
            }
            Node::Ite(..) if self.as_choice(a).is_some() => self.resize_choice(a, width, |value, _| value),
            _ => self.intern(Node::ZExt(a), width),
        }
    }

    /// To `width` bits, new ones as the sign.
    pub fn sext(&mut self, a: TermId, width: u8) -> TermId {
        debug_assert!(width >= self.width(a) && width <= 64);
        if width == self.width(a) {
            return a;
        }
        match self.node(a) {
            Node::Const(value) => self.constant(width, signed(value, self.width(a)) as u64),
            Node::SExt(x) => self.sext(x, width),
            Node::ZExt(x) => self.zext(x, width),
            Node::Ite(..) if self.as_choice(a).is_some() => {
                self.resize_choice(a, width, |value, from| signed(value, from) as u64)
            }
            _ => self.intern(Node::SExt(a), width),
        }
    }

    /// The low `width` bits. A single bit is the question whether it is set, as flags are asked elsewhere.
    pub fn trunc(&mut self, a: TermId, width: u8) -> TermId {
        debug_assert!(width <= self.width(a) && width >= 1);
        let from = self.width(a);
        if width == from {
            return a;
        }
        match self.node(a) {
            Node::Const(value) => return self.constant(width, value),
            Node::Trunc(x) => return self.trunc(x, width),
            Node::ZExt(x) | Node::SExt(x) if self.width(x) >= width => return self.trunc(x, width),
            Node::ZExt(x) => return self.zext(x, width),
            Node::SExt(x) => return self.sext(x, width),
            Node::Ite(..) if self.as_choice(a).is_some() => return self.resize_choice(a, width, |value, _| value),
            Node::Binary(op, _, x, y) if width > 1 => {
                if let Some(term) = self.trunc_operands(op, x, y, width) {
                    return term;
                }
            }
            _ => {}
        }
        if width == 1 {
            let one = self.constant(from, 1);
            let bit = self.and(a, one);
            return self.nonzero(bit);
        }
        self.intern(Node::Trunc(a), width)
    }

    /// `width` bits from bit `low` on.
    pub fn extract(&mut self, a: TermId, low: u8, width: u8) -> TermId {
        let shift = self.constant(self.width(a), low as u64);
        let shifted = self.binary(BinaryOp::LShr, NoWrap::NONE, a, shift);
        self.trunc(shifted, width)
    }

    /// Whether any bit is set.
    pub fn nonzero(&mut self, a: TermId) -> TermId {
        let zero = self.constant(self.width(a), 0);
        self.ne(a, zero)
    }

    /// C widens a `char`, adds, and cuts off again: the work is done at the narrow width, if that costs no new cut.
    fn trunc_operands(&mut self, op: BinaryOp, x: TermId, y: TermId, width: u8) -> Option<TermId> {
        let modular =
            matches!(op, BinaryOp::Add | BinaryOp::Sub | BinaryOp::Mul | BinaryOp::And | BinaryOp::Or | BinaryOp::Xor);
        let bitwise_const = matches!(op, BinaryOp::And | BinaryOp::Or | BinaryOp::Xor) && self.as_const(y).is_some();
        let free = |pool: &TermPool, term| match pool.node(term) {
            Node::Const(_) => true,
            Node::ZExt(inner) | Node::SExt(inner) => pool.width(inner) <= width,
            _ => false,
        };
        if !(modular && ((free(self, x) && free(self, y)) || bitwise_const)) {
            return None;
        }
        let (x, y) = (self.trunc(x, width), self.trunc(y, width));
        Some(self.binary(op, NoWrap::NONE, x, y))
    }

    fn resize_choice(&mut self, a: TermId, width: u8, resize: impl Fn(u64, u8) -> u64) -> TermId {
        let from = self.width(a);
        let (c, x, y) = self.as_choice(a).expect("the caller saw a choice between constants");
        let x = self.constant(width, resize(x, from));
        let y = self.constant(width, resize(y, from));
        self.ite(c, x, y)
    }
}
