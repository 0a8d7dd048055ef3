//! Asking: what the facts say of a term, from the tables and from what they say of its parts, to a bounded depth.

use super::store::Store;
use super::strip_not;
use crate::bits::mask;
use crate::known::Known;
use crate::node::{BinaryOp, Comparison, Node, TermId};
use crate::pool::TermPool;

impl Store {
    pub(crate) fn truth(&self, pool: &TermPool, term: TermId, depth: u8) -> Option<bool> {
        let (atom, positive) = strip_not(pool, term);
        let value = self.stored_truth(pool, atom).or_else(|| self.derived_truth(pool, atom, depth))?;
        Some(value == positive)
    }

    /// Like [`Store::truth`], without what was assumed of the term itself.
    pub(crate) fn derived_truth(&self, pool: &TermPool, atom: TermId, depth: u8) -> Option<bool> {
        if depth == 0 {
            return None;
        }
        let depth = depth - 1;
        match pool.node(atom) {
            Node::Const(value) => Some(value != 0),
            Node::Not(inner) => self.truth(pool, inner, depth).map(|value| !value),
            Node::Binary(BinaryOp::And, _, a, b) => match (self.truth(pool, a, depth), self.truth(pool, b, depth)) {
                (Some(false), _) | (_, Some(false)) => Some(false),
                (Some(true), Some(true)) => Some(true),
                _ => None,
            },
            Node::Binary(BinaryOp::Xor, _, a, b) => Some(self.truth(pool, a, depth)? != self.truth(pool, b, depth)?),
            Node::Ite(c, a, b) => match self.truth(pool, c, depth) {
                Some(chosen) => self.truth(pool, if chosen { a } else { b }, depth),
                None => {
                    let value = self.truth(pool, a, depth)?;
                    (self.truth(pool, b, depth)? == value).then_some(value)
                }
            },
            Node::Compare(Comparison::Eq, a, b) => self.equal(pool, a, b, depth),
            Node::Compare(op, a, b) => self.less(pool, op, a, b, depth),
            _ => None,
        }
    }

    fn equal(&self, pool: &TermPool, a: TermId, b: TermId, depth: u8) -> Option<bool> {
        let known_a = self.known(pool, a, depth);
        if let Some(c) = pool.as_const(b) {
            return match known_a.single() {
                Some(value) => Some(value == c),
                None => (!known_a.contains(c) || self.is_excluded(a, c)).then_some(false),
            };
        }
        let width = pool.width(a);
        let ((base_a, offset_a), (base_b, offset_b)) = (pool.split_offset(a), pool.split_offset(b));
        let ((root_a, more_a), (root_b, more_b)) = (self.root(base_a), self.root(base_b));
        if root_a == root_b {
            return Some(offset_a.wrapping_add(more_a).wrapping_sub(offset_b.wrapping_add(more_b)) & mask(width) == 0);
        }
        let known_b = self.known(pool, b, depth);
        match (known_a.single(), known_b.single()) {
            (Some(x), Some(y)) => return Some(x == y),
            (Some(x), None) if self.is_excluded(b, x) => return Some(false),
            (None, Some(y)) if self.is_excluded(a, y) => return Some(false),
            _ if known_a.disjoint(&known_b) => return Some(false),
            _ => {}
        }
        if self.congruent(pool, a, b, depth) {
            return Some(true);
        }
        // Strictly ordered is not equal.
        [Comparison::Ult, Comparison::Slt]
            .into_iter()
            .any(|op| {
                self.assumed_less(pool, op, a, b) == Some(true) || self.assumed_less(pool, op, b, a) == Some(true)
            })
            .then_some(false)
    }

    fn less(&self, pool: &TermPool, op: Comparison, a: TermId, b: TermId, depth: u8) -> Option<bool> {
        let (x, y) = (self.known(pool, a, depth), self.known(pool, b, depth));
        let (surely, never) = match op {
            Comparison::Slt => (x.signed_high < y.signed_low, x.signed_low >= y.signed_high),
            _ => (x.high < y.low, x.low >= y.high),
        };
        if surely || never {
            return Some(surely);
        }
        if pool.as_const(b).is_some() {
            return None;
        }
        let (root_a, root_b) = (self.root(a), self.root(b));
        if root_a == root_b {
            return Some(false);
        }
        if self.ordered(pool, op, b, a).is_some() {
            return Some(false);
        }
        match self.ordered(pool, op, a, b)? {
            true => Some(true),
            // At most, and not equal.
            false => {
                let equal = pool.find(Node::Compare(Comparison::Eq, a.min(b), a.max(b)), 1)?;
                (self.stored_truth(pool, equal) == Some(false)).then_some(true)
            }
        }
    }

    fn assumed_less(&self, pool: &TermPool, op: Comparison, a: TermId, b: TermId) -> Option<bool> {
        self.stored_truth(pool, pool.find(Node::Compare(op, a, b), 1)?)
    }

    /// Equal operators on equal operands. Two levels are enough for `a[i]`-like indices and repeated calls.
    fn congruent(&self, pool: &TermPool, a: TermId, b: TermId, depth: u8) -> bool {
        if a == b || self.root(a) == self.root(b) {
            return true;
        }
        if depth == 0 || pool.width(a) != pool.width(b) {
            return false;
        }
        let same_operator = match (pool.node(a), pool.node(b)) {
            (Node::Binary(p, f, ..), Node::Binary(q, g, ..)) => p == q && f == g,
            (Node::ZExt(x), Node::ZExt(y)) | (Node::SExt(x), Node::SExt(y)) | (Node::Trunc(x), Node::Trunc(y)) => {
                pool.width(x) == pool.width(y)
            }
            _ => false,
        };
        let (left, right) = (pool.node(a).operands(), pool.node(b).operands());
        same_operator && left.iter().zip(&right).all(|(&x, &y)| self.congruent(pool, x, y, depth.min(2) - 1))
    }

    pub(crate) fn known(&self, pool: &TermPool, term: TermId, depth: u8) -> Known {
        let width = pool.width(term);
        let stored = self.domain(term);
        let structural = match pool.node(term) {
            Node::Const(value) => return Known::exactly(width, value),
            Node::Symbol(_) => None,
            _ if depth == 0 => None,
            node => self.known_node(pool, node, width, depth - 1),
        };
        match (stored, structural) {
            (Some(stored), Some(structural)) => stored.meet(&structural),
            (Some(known), None) => *known,
            (None, Some(known)) => known,
            (None, None) => Known::anything(width),
        }
    }

    fn known_node(&self, pool: &TermPool, node: Node, width: u8, depth: u8) -> Option<Known> {
        Some(match node {
            Node::Const(_) | Node::Symbol(_) | Node::Not(_) | Node::Compare(..) => return None,
            Node::Binary(..) if width == 1 => return None,
            Node::Binary(op, no_wrap, a, b) => {
                Known::binary(op, no_wrap, &self.known(pool, a, depth), &self.known(pool, b, depth))
            }
            Node::ZExt(a) if pool.width(a) == 1 => self.known_boolean(pool, a, width, 1, depth),
            Node::SExt(a) if pool.width(a) == 1 => self.known_boolean(pool, a, width, mask(width), depth),
            Node::ZExt(a) => self.known(pool, a, depth).zext(width),
            Node::SExt(a) => self.known(pool, a, depth).sext(width),
            Node::Trunc(a) => self.known(pool, a, depth).trunc(width),
            Node::Ite(c, a, b) => match self.truth(pool, c, depth) {
                Some(chosen) => self.known(pool, if chosen { a } else { b }, depth),
                None => self.known(pool, a, depth).hull(&self.known(pool, b, depth)),
            },
        })
    }

    /// A boolean made wider: zero, or `yes`.
    fn known_boolean(&self, pool: &TermPool, condition: TermId, width: u8, yes: u64, depth: u8) -> Known {
        match self.truth(pool, condition, depth) {
            Some(value) => Known::exactly(width, if value { yes } else { 0 }),
            None => Known::exactly(width, 0).hull(&Known::exactly(width, yes)),
        }
    }
}
