//! Addition, subtraction, multiplication, division and shifts: constants drift outwards and to the right, `x - c` is
//! `x + -c`, a shift left by a constant is a multiplication.

use crate::bits::{mask, signed, signed_max, signed_min};
use crate::node::{BinaryOp, NoWrap, Node, TermId};
use crate::pool::TermPool;

impl TermPool {
    pub(super) fn build_add(&mut self, no_wrap: NoWrap, a: TermId, b: TermId) -> TermId {
        let (a, b) = self.ordered(a, b);
        let width = self.width(a);
        if let Some(c) = self.as_const(b) {
            return self.build_add_const(no_wrap, a, c);
        }
        // x + (y - x), and x + (0 - y)
        for (x, difference) in [(a, b), (b, a)] {
            if let Node::Binary(BinaryOp::Sub, _, y, z) = self.node(difference) {
                if z == x {
                    return y;
                }
                if self.as_const(y) == Some(0) {
                    return self.binary(BinaryOp::Sub, NoWrap::NONE, x, z);
                }
            }
        }
        if !no_wrap.signed {
            for (x, y) in [(a, b), (b, a)] {
                let (base, offset) = self.split_offset(x);
                if offset != 0 {
                    let sum = self.add(base, y);
                    let offset = self.constant(width, offset);
                    return self.add(sum, offset);
                }
            }
        }
        self.make(BinaryOp::Add, no_wrap, a, b)
    }

    fn build_add_const(&mut self, no_wrap: NoWrap, a: TermId, c: u64) -> TermId {
        let width = self.width(a);
        if c == 0 {
            return a;
        }
        match self.node(a) {
            Node::Binary(BinaryOp::Add, inner, x, c1) if self.as_const(c1).is_some() => {
                let c1 = self.as_const(c1).unwrap_or(0);
                let sum = c1.wrapping_add(c) & mask(width);
                let keep = combined_add(inner.both(no_wrap), c1, c, width);
                let sum = self.constant(width, sum);
                return self.binary(BinaryOp::Add, keep, x, sum);
            }
            Node::Binary(BinaryOp::Sub, _, k, x) if self.as_const(k).is_some() => {
                let k = self.as_const(k).unwrap_or(0).wrapping_add(c);
                let k = self.constant(width, k);
                return self.sub(k, x);
            }
            _ => {}
        }
        let c = self.constant(width, c);
        self.make(BinaryOp::Add, no_wrap, a, c)
    }

    pub(super) fn build_sub(&mut self, no_wrap: NoWrap, a: TermId, b: TermId) -> TermId {
        let width = self.width(a);
        if a == b {
            return self.constant(width, 0);
        }
        if let Some(c) = self.as_const(b) {
            let keep = NoWrap { signed: no_wrap.signed && c != signed_min(width), unsigned: false };
            return self.build_add_const(keep, a, c.wrapping_neg() & mask(width));
        }
        if self.as_const(a) == Some(0)
            && let Node::Binary(BinaryOp::Sub, _, x, y) = self.node(b)
        {
            return self.sub(y, x);
        }
        if let Node::Binary(BinaryOp::Add, _, x, y) = self.node(a) {
            if x == b {
                return y;
            }
            if y == b {
                return x;
            }
        }
        if let Node::Binary(BinaryOp::Add, _, x, y) = self.node(b)
            && (x == a || y == a)
        {
            return self.neg(if x == a { y } else { x });
        }
        let ((x, c1), (y, c2)) = (self.split_offset(a), self.split_offset(b));
        if x == y || (!no_wrap.signed && (c1 != 0 || c2 != 0)) {
            let difference = self.sub(x, y);
            let offset = self.constant(width, c1.wrapping_sub(c2));
            return self.add(difference, offset);
        }
        self.make(BinaryOp::Sub, no_wrap, a, b)
    }

    pub(super) fn build_mul(&mut self, no_wrap: NoWrap, a: TermId, b: TermId) -> TermId {
        let (a, b) = self.ordered(a, b);
        let width = self.width(a);
        match self.as_const(b) {
            Some(0) => return b,
            Some(1) => return a,
            Some(c) if c == mask(width) => return self.neg(a),
            Some(c) => {
                if let Node::Binary(BinaryOp::Mul, inner, x, c1) = self.node(a)
                    && let Some(c1) = self.as_const(c1)
                {
                    let product = c1.wrapping_mul(c);
                    let exact = signed(c1, width) as i128 * signed(c, width) as i128;
                    let both = inner.both(no_wrap);
                    let keep = NoWrap {
                        signed: both.signed && exact == signed(product & mask(width), width) as i128,
                        unsigned: both.unsigned && c1 as u128 * c as u128 <= mask(width) as u128,
                    };
                    let product = self.constant(width, product);
                    return self.binary(BinaryOp::Mul, keep, x, product);
                }
            }
            None => {}
        }
        self.make(BinaryOp::Mul, no_wrap, a, b)
    }

    pub(super) fn build_div(&mut self, op: BinaryOp, a: TermId, b: TermId) -> TermId {
        let width = self.width(a);
        if a == b {
            return self.constant(width, 1);
        }
        if self.as_const(a) == Some(0) || self.as_const(b) == Some(1) {
            return a;
        }
        if let Some(c) = self.as_const(b)
            && op == BinaryOp::UDiv
            && c.is_power_of_two()
        {
            let shift = self.constant(width, c.trailing_zeros() as u64);
            return self.build_shr(BinaryOp::LShr, a, shift);
        }
        self.make(op, NoWrap::NONE, a, b)
    }

    pub(super) fn build_rem(&mut self, op: BinaryOp, a: TermId, b: TermId) -> TermId {
        let width = self.width(a);
        if a == b || self.as_const(a) == Some(0) || self.as_const(b) == Some(1) {
            return self.constant(width, 0);
        }
        if let Some(c) = self.as_const(b)
            && op == BinaryOp::URem
            && c.is_power_of_two()
        {
            let low = self.constant(width, c - 1);
            return self.and(a, low);
        }
        self.make(op, NoWrap::NONE, a, b)
    }

    pub(super) fn build_shl(&mut self, no_wrap: NoWrap, a: TermId, b: TermId) -> TermId {
        let width = self.width(a);
        if self.as_const(a) == Some(0) {
            return a;
        }
        match self.as_const(b) {
            Some(shift) if shift >= width as u64 => self.constant(width, 0),
            Some(shift) => {
                let keep = NoWrap { signed: no_wrap.signed && shift < width as u64 - 1, unsigned: no_wrap.unsigned };
                let factor = self.constant(width, 1 << shift);
                self.build_mul(keep, a, factor)
            }
            None => self.make(BinaryOp::Shl, NoWrap::NONE, a, b),
        }
    }

    pub(super) fn build_shr(&mut self, op: BinaryOp, a: TermId, b: TermId) -> TermId {
        let width = self.width(a);
        if self.as_const(a) == Some(0) {
            return a;
        }
        let Some(shift) = self.as_const(b) else { return self.make(op, NoWrap::NONE, a, b) };
        if shift == 0 {
            return a;
        }
        if shift >= width as u64 {
            return self.constant(width, 0);
        }
        match self.node(a) {
            Node::ZExt(x) => {
                let inner = self.width(x);
                if shift >= inner as u64 {
                    return self.constant(width, 0);
                }
                let shift = self.constant(inner, shift);
                let shifted = self.build_shr(BinaryOp::LShr, x, shift);
                self.zext(shifted, width)
            }
            Node::Binary(inner, _, x, first) if inner == op && self.as_const(first).is_some() => {
                let total = self.as_const(first).unwrap_or(0) + shift;
                if total >= width as u64 && op == BinaryOp::LShr {
                    return self.constant(width, 0);
                }
                let total = self.constant(width, total.min(width as u64 - 1));
                self.make(op, NoWrap::NONE, x, total)
            }
            _ => self.make(op, NoWrap::NONE, a, b),
        }
    }
}

/// Which promises hold for `x + (c1 + c2)` when they hold for `x + c1` and for the result plus `c2`.
fn combined_add(both: NoWrap, c1: u64, c2: u64, width: u8) -> NoWrap {
    let (s1, s2) = (signed(c1, width), signed(c2, width));
    let sum = s1 as i128 + s2 as i128;
    let in_range = -(signed_max(width) as i128) - 1 <= sum && sum <= signed_max(width) as i128;
    NoWrap {
        signed: both.signed && (s1 < 0) == (s2 < 0) && in_range,
        unsigned: both.unsigned && c1 as u128 + c2 as u128 <= mask(width) as u128,
    }
}
