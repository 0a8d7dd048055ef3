//! Looking for an example: take values, find a fact they break, change one symbol so that it holds, again. A result is
//! always checked by evaluation, so nothing here need be right, only often lucky.

use super::store::Store;
use super::strip_not;
use crate::bits::{mask, odd_inverse, signed, signed_max, signed_min};
use crate::node::{BinaryOp, Comparison, Node, SymbolId, TermId};
use crate::pool::TermPool;
use crate::solver::Model;

/// Between invented values: objects lie apart, and small offsets stay within them.
const SPREAD: u64 = 0x1000;

pub(super) struct Repair<'a> {
    pool: &'a TermPool,
    store: &'a Store,
    literals: &'a [TermId],
    symbols: &'a [SymbolId],
    model: Model,
}

impl<'a> Repair<'a> {
    pub(crate) fn new(pool: &'a TermPool, store: &'a Store, literals: &'a [TermId], symbols: &'a [SymbolId]) -> Self {
        Repair { pool, store, literals, symbols, model: Model::default() }
    }

    /// First from the values at hand, then from the domains.
    pub(crate) fn run(mut self, start: &Model) -> Option<Model> {
        self.model = start.clone();
        if self.repair_all() {
            return Some(self.model);
        }
        self.model = start.clone();
        for (at, &symbol) in self.symbols.iter().enumerate() {
            let term = self.pool.symbol_term(symbol);
            if let Some(value) = self.candidate(term, at as u64) {
                self.model.set(symbol, value);
            }
        }
        self.repair_all().then_some(self.model)
    }

    fn candidate(&self, term: TermId, at: u64) -> Option<u64> {
        if self.pool.width(term) == 1 {
            return self.store.stored_truth(self.pool, term).map(u64::from);
        }
        let known = self.store.known(self.pool, term, 1);
        let spread = known.low.checked_add(SPREAD.checked_mul(at + 1)?).filter(|_| known.width >= 32);
        let small = known.low.wrapping_add(at);
        [spread, Some(small), Some(known.low), Some(known.high), Some(known.signed_low as u64 & mask(known.width))]
            .into_iter()
            .flatten()
            .find(|&value| self.allowed(term, value))
    }

    fn allowed(&self, term: TermId, value: u64) -> bool {
        self.store.known(self.pool, term, 1).contains(value) && !self.store.is_excluded(term, value)
    }

    fn repair_all(&mut self) -> bool {
        for _ in 0..self.pool.config().max_repairs {
            let Some(&broken) = self.literals.iter().find(|&&literal| !self.model.satisfies(self.pool, literal)) else {
                return true;
            };
            if !self.make(broken, true) {
                return false;
            }
        }
        false
    }

    fn value(&self, term: TermId) -> Option<u64> {
        self.pool.evaluate(term, &|symbol| self.model.value(symbol))
    }

    /// Tries to give a condition a truth.
    fn make(&mut self, condition: TermId, truth: bool) -> bool {
        let (atom, positive) = strip_not(self.pool, condition);
        let truth = truth == positive;
        if self.value(atom) == Some(truth as u64) {
            return true;
        }
        match self.pool.node(atom) {
            Node::Symbol(symbol) => {
                let free = self.store.stored_truth(self.pool, atom) != Some(!truth);
                if free {
                    self.model.set(symbol, truth as u64);
                }
                free
            }
            Node::Binary(BinaryOp::And, _, a, b) if truth => self.make(a, true) && self.make(b, true),
            Node::Binary(BinaryOp::And, _, a, b) => self.make(a, false) || self.make(b, false),
            Node::Binary(BinaryOp::Xor, _, a, b) => {
                let Some(other) = self.value(b) else { return false };
                self.make(a, (other != 0) != truth) || {
                    let first = self.value(a) == Some(1);
                    self.make(b, first != truth)
                }
            }
            Node::Ite(c, a, b) => match self.value(c) {
                Some(0) => self.make(b, truth) || (self.value(a) == Some(truth as u64) && self.make(c, true)),
                Some(_) => self.make(a, truth) || (self.value(b) == Some(truth as u64) && self.make(c, false)),
                None => false,
            },
            Node::Compare(op, a, b) => self.make_compare(op, a, b, truth),
            _ => false,
        }
    }

    fn make_compare(&mut self, op: Comparison, a: TermId, b: TermId, truth: bool) -> bool {
        let (Some(x), Some(y)) = (self.value(a), self.value(b)) else { return false };
        let width = self.pool.width(a);
        let m = mask(width);
        match (op, truth) {
            (Comparison::Eq, true) | (Comparison::Ult | Comparison::Slt, false) => self.set(a, y) || self.set(b, x),
            (Comparison::Eq, false) => {
                let known = self.store.known(self.pool, a, 1);
                let near = [x.wrapping_add(1) & m, x.wrapping_add(SPREAD) & m, known.low, known.high, !x & m];
                near.into_iter().any(|value| value != y && self.set(a, value))
                    || [y.wrapping_add(1) & m, y.wrapping_add(SPREAD) & m, !y & m]
                        .into_iter()
                        .any(|value| self.set(b, value))
            }
            (_, true) => {
                let (smallest, largest) =
                    if op == Comparison::Slt { (signed_min(width), signed_max(width)) } else { (0, m) };
                let below = y.wrapping_sub(1) & m;
                let above = x.wrapping_add(1) & m;
                let least = self.store.known(self.pool, a, 1);
                let least = if op == Comparison::Slt { least.signed_low as u64 & m } else { least.low };
                (y != smallest
                    && (self.set(a, below) || (crate::bits::compare(op, least, y, width) && self.set(a, least))))
                    || (x != largest && self.set(b, above))
            }
        }
    }

    /// Tries to give a term a value, by changing one symbol.
    fn set(&mut self, term: TermId, value: u64) -> bool {
        let width = self.pool.width(term);
        match self.pool.node(term) {
            Node::Const(constant) => constant == value,
            Node::Symbol(symbol) => {
                let allowed = self.allowed(term, value);
                if allowed {
                    self.model.set(symbol, value);
                }
                allowed
            }
            Node::ZExt(x) if value > mask(self.pool.width(x)) => false,
            Node::SExt(x) if signed(value, self.pool.width(x)) != signed(value, width) => false,
            Node::ZExt(x) | Node::SExt(x) if self.pool.width(x) == 1 => self.make(x, value != 0),
            Node::ZExt(x) | Node::SExt(x) => self.set(x, value & mask(self.pool.width(x))),
            Node::Trunc(x) => {
                self.value(x).is_some_and(|old| self.set(x, (old & !mask(width)) | value)) || self.set(x, value)
            }
            Node::Ite(c, a, b) => match self.value(c) {
                Some(0) => self.set(b, value) || (self.value(a) == Some(value) && self.make(c, true)),
                Some(_) => self.set(a, value) || (self.value(b) == Some(value) && self.make(c, false)),
                None => false,
            },
            Node::Binary(op, _, a, b) if width > 1 => self.set_binary(op, a, b, value, width),
            _ => self.make(term, value != 0),
        }
    }

    fn set_binary(&mut self, op: BinaryOp, a: TermId, b: TermId, value: u64, width: u8) -> bool {
        let (Some(x), Some(y)) = (self.value(a), self.value(b)) else { return false };
        let m = mask(width);
        match op {
            BinaryOp::Add => self.set(a, value.wrapping_sub(y) & m) || self.set(b, value.wrapping_sub(x) & m),
            BinaryOp::Sub => self.set(a, value.wrapping_add(y) & m) || self.set(b, x.wrapping_sub(value) & m),
            BinaryOp::Xor => self.set(a, value ^ y) || self.set(b, value ^ x),
            BinaryOp::Mul if y & 1 == 1 => self.set(a, value.wrapping_mul(odd_inverse(y, width)) & m),
            BinaryOp::Mul if y != 0 && value % y == 0 => self.set(a, value / y),
            BinaryOp::And if value & !y == 0 => self.set(a, (x & !y) | value),
            BinaryOp::Or if y & !value == 0 => self.set(a, (x & y) | (value & !y)),
            BinaryOp::LShr if y < width as u64 && value <= m >> y => self.set(a, (value << y) | (x & ((1 << y) - 1))),
            BinaryOp::UDiv => value.checked_mul(y).is_some_and(|product| product <= m && self.set(a, product)),
            BinaryOp::URem if value < y => self.set(a, value),
            _ => false,
        }
    }
}
