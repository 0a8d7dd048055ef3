//! Equality: what can be undone on one side is undone on the other.

use crate::bits::{mask, odd_inverse, signed};
use crate::node::{BinaryOp, Comparison, NoWrap, Node, TermId};
use crate::pool::TermPool;

impl TermPool {
    pub fn eq(&mut self, a: TermId, b: TermId) -> TermId {
        debug_assert_eq!(self.width(a), self.width(b), "operands of == differ in width");
        if a == b {
            return Self::TRUE;
        }
        let width = self.width(a);
        if width == 1 {
            let differ = self.xor(a, b);
            return self.not(differ);
        }
        let (a, b) = self.ordered(a, b);
        match (self.as_const(a), self.as_const(b)) {
            (Some(x), Some(y)) => self.boolean(x == y),
            (None, Some(c)) => self.eq_const(a, c),
            _ => self.eq_terms(a, b),
        }
    }

    fn eq_const(&mut self, a: TermId, c: u64) -> TermId {
        let width = self.width(a);
        let simpler = match self.node(a) {
            Node::ZExt(x) => {
                let inner = self.width(x);
                if c > mask(inner) {
                    return Self::FALSE;
                }
                Some((x, c))
            }
            Node::SExt(x) => {
                let inner = self.width(x);
                if signed(c & mask(inner), inner) != signed(c, width) {
                    return Self::FALSE;
                }
                Some((x, c))
            }
            Node::Trunc(x) => {
                let low = self.constant(self.width(x), mask(width));
                Some((self.and(x, low), c))
            }
            Node::Ite(condition, x, y) => return self.eq_choice(a, condition, x, y, c),
            Node::Binary(op, no_wrap, x, y) => match self.eq_binary(op, no_wrap, x, y, c) {
                Undone::Decided(term) => return term,
                Undone::Equal(term, value) => Some((term, value)),
                Undone::Stuck => None,
            },
            _ => None,
        };
        match simpler {
            Some((x, value)) => {
                let value = self.constant(self.width(x), value);
                self.eq(x, value)
            }
            None => {
                let c = self.constant(width, c);
                self.intern(Node::Compare(Comparison::Eq, a, c), 1)
            }
        }
    }

    /// `(condition ? x : y) == c`, with a constant arm.
    fn eq_choice(&mut self, whole: TermId, condition: TermId, x: TermId, y: TermId, c: u64) -> TermId {
        let k = self.constant(self.width(whole), c);
        if self.as_const(x).is_none() && self.as_const(y).is_none() {
            return self.intern(Node::Compare(Comparison::Eq, whole, k), 1);
        }
        let (x, y) = (self.eq(x, k), self.eq(y, k));
        self.ite(condition, x, y)
    }

    fn eq_binary(&mut self, op: BinaryOp, no_wrap: NoWrap, x: TermId, y: TermId, c: u64) -> Undone {
        let width = self.width(x);
        match (op, self.as_const(x), self.as_const(y)) {
            (BinaryOp::Add, _, Some(k)) => {
                let exact = signed(c, width) as i128 - signed(k, width) as i128;
                let value = c.wrapping_sub(k) & mask(width);
                let wraps = (no_wrap.unsigned && c < k) || (no_wrap.signed && exact != signed(value, width) as i128);
                if wraps { Undone::Decided(Self::FALSE) } else { Undone::Equal(x, value) }
            }
            (BinaryOp::Sub, Some(k), _) => Undone::Equal(y, k.wrapping_sub(c) & mask(width)),
            (BinaryOp::Sub, None, None) => {
                let offset = self.constant(width, c);
                let moved = self.add(y, offset);
                Undone::Decided(self.eq(x, moved))
            }
            (BinaryOp::Mul, _, Some(k)) if k & 1 == 1 => {
                Undone::Equal(x, c.wrapping_mul(odd_inverse(k, width)) & mask(width))
            }
            (BinaryOp::Mul, _, Some(_)) if no_wrap.any() && c == 0 => Undone::Equal(x, 0),
            (BinaryOp::Mul, _, Some(k)) if c & ((1 << k.trailing_zeros()) - 1) != 0 => Undone::Decided(Self::FALSE),
            (BinaryOp::Xor, _, Some(k)) => Undone::Equal(x, c ^ k),
            (BinaryOp::Xor, None, None) if c == 0 => Undone::Decided(self.eq(x, y)),
            (BinaryOp::And, _, Some(m)) if c & !m != 0 => Undone::Decided(Self::FALSE),
            (BinaryOp::And, _, Some(m)) if m.is_power_of_two() && c == m => {
                let bit = self.and(x, y);
                Undone::Decided(self.nonzero(bit))
            }
            (BinaryOp::Or, _, Some(m)) if m & !c != 0 => Undone::Decided(Self::FALSE),
            (BinaryOp::Or, _, Some(m)) => {
                let rest = self.constant(width, !m);
                Undone::Equal(self.and(x, rest), c & !m)
            }
            (BinaryOp::Or, None, None) if c == 0 => {
                let zero = self.constant(width, 0);
                let (x, y) = (self.eq(x, zero), self.eq(y, zero));
                Undone::Decided(self.and(x, y))
            }
            _ => Undone::Stuck,
        }
    }

    fn eq_terms(&mut self, a: TermId, b: TermId) -> TermId {
        let width = self.width(a);
        match (self.node(a), self.node(b)) {
            (Node::ZExt(x), Node::ZExt(y)) => {
                let inner = self.width(x).max(self.width(y));
                let (x, y) = (self.zext(x, inner), self.zext(y, inner));
                return self.eq(x, y);
            }
            (Node::SExt(x), Node::SExt(y)) => {
                let inner = self.width(x).max(self.width(y));
                let (x, y) = (self.sext(x, inner), self.sext(y, inner));
                return self.eq(x, y);
            }
            _ => {}
        }
        let ((x, c1), (y, c2)) = (self.split_offset(a), self.split_offset(b));
        if x == y {
            return self.boolean(c1 == c2);
        }
        if c1 != 0 {
            // All offsets to the younger base, so that equal equations are one term.
            let (old, young, offset) = if x < y { (x, y, c2.wrapping_sub(c1)) } else { (y, x, c1.wrapping_sub(c2)) };
            let offset = self.constant(width, offset);
            let moved = self.add(young, offset);
            return self.eq_plain(old, moved);
        }
        if let Some(rest) = self.cancel(a, b) {
            let zero = self.constant(width, 0);
            return self.eq(rest, zero);
        }
        self.eq_plain(a, b)
    }

    /// `x == x + y` is `y == 0`.
    fn cancel(&self, a: TermId, b: TermId) -> Option<TermId> {
        for (x, sum) in [(a, b), (b, a)] {
            if let Node::Binary(BinaryOp::Add, _, p, q) = self.node(sum) {
                if p == x {
                    return Some(q);
                }
                if q == x {
                    return Some(p);
                }
            }
        }
        None
    }

    fn eq_plain(&mut self, a: TermId, b: TermId) -> TermId {
        if a == b {
            return Self::TRUE;
        }
        let (a, b) = self.ordered(a, b);
        self.intern(Node::Compare(Comparison::Eq, a, b), 1)
    }
}

/// An equation with a constant after one step.
enum Undone {
    Decided(TermId),
    Equal(TermId, u64),
    Stuck,
}
