//! Terms of width 1. Conjunction, negation and exclusive or are all there is; a disjunction is a negated conjunction, so
//! that equal conditions written differently become one term more often.

use crate::node::{BinaryOp, NoWrap, Node, TermId};
use crate::pool::TermPool;

impl TermPool {
    /// All of them.
    pub fn all(&mut self, terms: impl IntoIterator<Item = TermId>) -> TermId {
        terms.into_iter().fold(Self::TRUE, |all, term| self.and(all, term))
    }

    /// One of them.
    pub fn any(&mut self, terms: impl IntoIterator<Item = TermId>) -> TermId {
        terms.into_iter().fold(Self::FALSE, |any, term| self.or(any, term))
    }

    pub(super) fn negate(&mut self, a: TermId) -> TermId {
        match self.node(a) {
            Node::Const(value) => self.boolean(value == 0),
            Node::Not(x) => x,
            _ => self.intern(Node::Not(a), 1),
        }
    }

    pub(super) fn binary_boolean(&mut self, op: BinaryOp, a: TermId, b: TermId) -> TermId {
        match op {
            BinaryOp::And | BinaryOp::Mul => self.conjoin(a, b),
            BinaryOp::Or => {
                let (a, b) = (self.negate(a), self.negate(b));
                let neither = self.conjoin(a, b);
                self.negate(neither)
            }
            BinaryOp::Xor | BinaryOp::Add | BinaryOp::Sub => self.differ(a, b),
            // The divisor can only be one and the shift only zero.
            BinaryOp::UDiv | BinaryOp::SDiv | BinaryOp::Shl | BinaryOp::LShr | BinaryOp::AShr => a,
            BinaryOp::URem | BinaryOp::SRem => Self::FALSE,
        }
    }

    fn conjoin(&mut self, a: TermId, b: TermId) -> TermId {
        let (a, b) = self.ordered(a, b);
        match self.as_const(b) {
            Some(0) => return b,
            Some(_) => return a,
            None => {}
        }
        if a == b {
            return a;
        }
        if self.opposite(a, b) {
            return Self::FALSE;
        }
        for (x, y) in [(a, b), (b, a)] {
            if let Some(term) = self.absorb(x, y) {
                return term;
            }
        }
        self.make(BinaryOp::And, NoWrap::NONE, a, b)
    }

    /// `x && y` where `y` is a conjunction or disjunction that says something about `x`.
    fn absorb(&mut self, x: TermId, y: TermId) -> Option<TermId> {
        let (conjunction, positive) = match self.node(y) {
            Node::Not(inner) => (inner, false),
            _ => (y, true),
        };
        let Node::Binary(BinaryOp::And, _, p, q) = self.node(conjunction) else { return None };
        for (p, q) in [(p, q), (q, p)] {
            if x == p {
                return Some(if positive {
                    y
                } else {
                    let q = self.negate(q);
                    self.conjoin(x, q)
                });
            }
            if self.opposite(x, p) {
                return Some(if positive { Self::FALSE } else { x });
            }
        }
        None
    }

    pub(super) fn opposite(&self, a: TermId, b: TermId) -> bool {
        self.node(a) == Node::Not(b) || self.node(b) == Node::Not(a)
    }

    fn differ(&mut self, a: TermId, b: TermId) -> TermId {
        let (a, b) = self.ordered(a, b);
        match self.as_const(b) {
            Some(0) => return a,
            Some(_) => return self.negate(a),
            None => {}
        }
        if a == b {
            return Self::FALSE;
        }
        for (x, y) in [(a, b), (b, a)] {
            if let Node::Not(x) = self.node(x) {
                let inner = self.differ(x, y);
                return self.negate(inner);
            }
        }
        self.make(BinaryOp::Xor, NoWrap::NONE, a, b)
    }
}
