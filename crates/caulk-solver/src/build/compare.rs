//! Orders. Only "less than" is kept, with a constant on the right: `a <= b` is `!(b < a)`, `c < x` is `!(x < c + 1)`.

use crate::bits::{self, mask, signed, signed_max, signed_min};
use crate::node::{BinaryOp, Comparison, NoWrap, Node, TermId};
use crate::pool::TermPool;

impl TermPool {
    pub fn ult(&mut self, a: TermId, b: TermId) -> TermId {
        self.less(Comparison::Ult, a, b)
    }

    pub fn ule(&mut self, a: TermId, b: TermId) -> TermId {
        let above = self.ult(b, a);
        self.not(above)
    }

    pub fn ugt(&mut self, a: TermId, b: TermId) -> TermId {
        self.ult(b, a)
    }

    pub fn uge(&mut self, a: TermId, b: TermId) -> TermId {
        self.ule(b, a)
    }

    pub fn slt(&mut self, a: TermId, b: TermId) -> TermId {
        self.less(Comparison::Slt, a, b)
    }

    pub fn sle(&mut self, a: TermId, b: TermId) -> TermId {
        let above = self.slt(b, a);
        self.not(above)
    }

    pub fn sgt(&mut self, a: TermId, b: TermId) -> TermId {
        self.slt(b, a)
    }

    pub fn sge(&mut self, a: TermId, b: TermId) -> TermId {
        self.sle(b, a)
    }

    pub fn ne(&mut self, a: TermId, b: TermId) -> TermId {
        let equal = self.eq(a, b);
        self.not(equal)
    }

    pub fn compare(&mut self, op: Comparison, a: TermId, b: TermId) -> TermId {
        match op {
            Comparison::Eq => self.eq(a, b),
            _ => self.less(op, a, b),
        }
    }

    fn less(&mut self, op: Comparison, a: TermId, b: TermId) -> TermId {
        let width = self.width(a);
        debug_assert_eq!(width, self.width(b), "operands of a comparison differ in width");
        if a == b {
            return Self::FALSE;
        }
        if width == 1 {
            // As a signed number, true is minus one.
            let (low, high) = if op == Comparison::Slt { (b, a) } else { (a, b) };
            let low = self.not(low);
            return self.and(low, high);
        }
        match (self.as_const(a), self.as_const(b)) {
            (Some(x), Some(y)) => self.boolean(bits::compare(op, x, y, width)),
            (Some(x), None) => {
                let (_, largest) = extremes(op, width);
                if x == largest {
                    return Self::FALSE;
                }
                let above = self.constant(width, x.wrapping_add(1));
                let at_most = self.less(op, b, above);
                self.not(at_most)
            }
            (None, Some(y)) => self.less_const(op, a, y),
            (None, None) => self.less_terms(op, a, b),
        }
    }

    /// `a < c`.
    fn less_const(&mut self, op: Comparison, a: TermId, c: u64) -> TermId {
        let width = self.width(a);
        let (smallest, largest) = extremes(op, width);
        if c == smallest {
            return Self::FALSE;
        }
        if c == smallest.wrapping_add(1) & mask(width) {
            let smallest = self.constant(width, smallest);
            return self.eq(a, smallest);
        }
        if c == largest {
            let largest = self.constant(width, largest);
            return self.ne(a, largest);
        }
        if let Some((choice, x, y)) = self.as_choice(a) {
            let (x, y) = (bits::compare(op, x, c, width), bits::compare(op, y, c, width));
            let (x, y) = (self.boolean(x), self.boolean(y));
            return self.ite(choice, x, y);
        }
        let simpler = match self.node(a) {
            Node::ZExt(x) => self.less_zext(op, x, c, width),
            Node::SExt(x) if op == Comparison::Slt => self.less_sext(x, c, width),
            Node::Binary(BinaryOp::Add, no_wrap, x, c1) => self.less_add(op, no_wrap, x, c1, c),
            Node::Binary(BinaryOp::Sub, no_wrap, x, y) if no_wrap.signed && op == Comparison::Slt && c <= 1 => {
                Some(if c == 0 { self.slt(x, y) } else { self.sle(x, y) })
            }
            Node::Binary(BinaryOp::And, _, _, m) if op == Comparison::Ult => {
                self.as_const(m).filter(|&m| m < c).map(|_| Self::TRUE)
            }
            _ => None,
        };
        match simpler {
            Some(term) => term,
            None => {
                let c = self.constant(width, c);
                self.intern(Node::Compare(op, a, c), 1)
            }
        }
    }

    fn less_zext(&mut self, op: Comparison, x: TermId, c: u64, width: u8) -> Option<TermId> {
        let inner = self.width(x);
        if op == Comparison::Slt && signed(c, width) <= 0 {
            return Some(Self::FALSE);
        }
        if c > mask(inner) {
            return Some(Self::TRUE);
        }
        let c = self.constant(inner, c);
        Some(self.ult(x, c))
    }

    fn less_sext(&mut self, x: TermId, c: u64, width: u8) -> Option<TermId> {
        let inner = self.width(x);
        let c = signed(c, width);
        if c > signed_max(inner) as i64 {
            return Some(Self::TRUE);
        }
        if c < signed(signed_min(inner), inner) {
            return Some(Self::FALSE);
        }
        let c = self.constant(inner, c as u64);
        Some(self.slt(x, c))
    }

    /// `x + c1 < c` where the sum does not wrap is `x < c - c1`.
    fn less_add(&mut self, op: Comparison, no_wrap: NoWrap, x: TermId, c1: TermId, c: u64) -> Option<TermId> {
        let width = self.width(x);
        let c1 = self.as_const(c1)?;
        match op {
            Comparison::Ult if no_wrap.unsigned => {
                if c <= c1 {
                    return Some(Self::FALSE);
                }
                let bound = self.constant(width, c - c1);
                Some(self.ult(x, bound))
            }
            Comparison::Slt if no_wrap.signed => {
                let bound = signed(c, width) as i128 - signed(c1, width) as i128;
                if bound > signed_max(width) as i128 {
                    return Some(Self::TRUE);
                }
                if bound < signed(signed_min(width), width) as i128 {
                    return Some(Self::FALSE);
                }
                let bound = self.constant(width, bound as u64);
                Some(self.slt(x, bound))
            }
            _ => None,
        }
    }

    /// `a < b`, neither constant.
    fn less_terms(&mut self, op: Comparison, a: TermId, b: TermId) -> TermId {
        match (self.node(a), self.node(b)) {
            (Node::ZExt(x), Node::ZExt(y)) => {
                let width = self.width(x).max(self.width(y));
                let (x, y) = (self.zext(x, width), self.zext(y, width));
                return self.ult(x, y);
            }
            (Node::SExt(x), Node::SExt(y)) if self.width(x) == self.width(y) => return self.less(op, x, y),
            _ => {}
        }
        let holds = |no_wrap: NoWrap| if op == Comparison::Slt { no_wrap.signed } else { no_wrap.unsigned };
        let zero = self.constant(self.width(a), 0);
        if let Node::Binary(BinaryOp::Add, no_wrap, x, y) = self.node(b)
            && holds(no_wrap)
            && (x == a || y == a)
        {
            return self.less(op, zero, if x == a { y } else { x });
        }
        if let Node::Binary(BinaryOp::Add, no_wrap, x, y) = self.node(a)
            && holds(no_wrap)
        {
            if x == b || y == b {
                return self.less(op, if x == b { y } else { x }, zero);
            }
            if let Node::Binary(BinaryOp::Add, other, z, w) = self.node(b)
                && holds(other)
            {
                for (x, y) in [(x, y), (y, x)] {
                    if x == z {
                        return self.less(op, y, w);
                    }
                    if x == w {
                        return self.less(op, y, z);
                    }
                }
            }
        }
        self.intern(Node::Compare(op, a, b), 1)
    }
}

/// The smallest and the largest value in an order.
fn extremes(op: Comparison, width: u8) -> (u64, u64) {
    if op == Comparison::Slt { (signed_min(width), signed_max(width)) } else { (0, mask(width)) }
}
