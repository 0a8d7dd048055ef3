//! Choices.

use crate::bits::mask;
use crate::node::{Comparison, Node, TermId};
use crate::pool::TermPool;

impl TermPool {
    /// `condition ? a : b`.
    pub fn ite(&mut self, condition: TermId, a: TermId, b: TermId) -> TermId {
        debug_assert_eq!(self.width(condition), 1);
        debug_assert_eq!(self.width(a), self.width(b));
        if a == b {
            return a;
        }
        match self.node(condition) {
            Node::Const(value) => return if value != 0 { a } else { b },
            Node::Not(c) => return self.ite(c, b, a),
            _ => {}
        }
        let a = self.under(condition, true, a);
        let b = self.under(condition, false, b);
        if a == b {
            return a;
        }
        if self.width(a) == 1 {
            return self.ite_boolean(condition, a, b);
        }
        let width = self.width(a);
        match (self.as_const(a), self.as_const(b)) {
            (Some(1), Some(0)) => return self.zext(condition, width),
            (Some(0), Some(1)) => {
                let condition = self.not(condition);
                return self.zext(condition, width);
            }
            (Some(x), Some(0)) if x == mask(width) => return self.sext(condition, width),
            _ => {}
        }
        // x == k ? k : x
        if let Node::Compare(Comparison::Eq, x, k) = self.node(condition)
            && ((x == a && k == b) || (x == b && k == a))
        {
            return b;
        }
        self.intern(Node::Ite(condition, a, b), width)
    }

    /// What an arm is when its condition is decided.
    fn under(&self, condition: TermId, value: bool, arm: TermId) -> TermId {
        match self.node(arm) {
            Node::Ite(c, x, y) if c == condition => {
                if value {
                    x
                } else {
                    y
                }
            }
            _ if arm == condition => self.boolean(value),
            Node::Not(c) if c == condition => self.boolean(!value),
            _ => arm,
        }
    }

    fn ite_boolean(&mut self, c: TermId, a: TermId, b: TermId) -> TermId {
        match (self.as_const(a), self.as_const(b)) {
            (Some(1), _) => self.or(c, b),
            (Some(_), _) => {
                let c = self.not(c);
                self.and(c, b)
            }
            (_, Some(0)) => self.and(c, a),
            (_, Some(_)) => {
                let c = self.not(c);
                self.or(c, a)
            }
            _ if self.opposite(a, b) => {
                let differ = self.xor(c, a);
                self.not(differ)
            }
            _ => self.intern(Node::Ite(c, a, b), 1),
        }
    }
}
