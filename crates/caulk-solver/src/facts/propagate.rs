//! Learning: what one condition says of its parts, carried as far as the budget goes.

use smallvec::SmallVec;

use super::store::Store;
use super::strip_not;
use crate::bits::mask;
use crate::known::Known;
use crate::node::{BinaryOp, Comparison, Node, TermId};
use crate::pool::TermPool;

/// The facts cannot all hold.
#[derive(Debug)]
pub(super) struct Contradiction;

/// Something still to be learnt.
#[derive(Clone, Copy)]
pub(super) enum Step {
    Truth(TermId, bool),
    Domain(TermId, Known),
    Exclude(TermId, u64),
    /// The first is the second plus the offset.
    Unite(TermId, TermId, u64),
}

pub(super) struct Propagation<'a> {
    pub pool: &'a TermPool,
    pub store: &'a mut Store,
    pub queue: SmallVec<[Step; 8]>,
    budget: u32,
    /// Symbols about which something was learnt, as in [`TermPool::symbol_bits`].
    touched: u64,
}

impl<'a> Propagation<'a> {
    pub(crate) fn new(pool: &'a TermPool, store: &'a mut Store) -> Self {
        let budget = pool.config().max_propagations;
        Propagation { pool, store, queue: SmallVec::new(), budget, touched: 0 }
    }

    pub(crate) fn run(mut self, atom: TermId, value: bool) -> Result<(), Contradiction> {
        self.queue.push(Step::Truth(atom, value));
        self.drain()?;
        let mut rechecks = self.pool.config().max_rechecks;
        while self.touched != 0 && rechecks > 0 && self.budget > 0 {
            let touched = std::mem::take(&mut self.touched);
            for at in 0..self.store.relations.len() {
                let literal = self.store.relations[at];
                if self.pool.symbol_bits(literal) & touched == 0 || rechecks == 0 {
                    continue;
                }
                rechecks -= 1;
                let (atom, value) = strip_not(self.pool, literal);
                if self.store.derived_truth(self.pool, atom, self.depth()) == Some(!value) {
                    return Err(Contradiction);
                }
                self.imply(atom, value);
                self.drain()?;
            }
        }
        Ok(())
    }

    pub(crate) fn depth(&self) -> u8 {
        self.pool.config().max_eval_depth
    }

    pub(crate) fn touch(&mut self, term: TermId) {
        self.touched |= self.pool.symbol_bits(term);
    }

    fn drain(&mut self) -> Result<(), Contradiction> {
        while let Some(step) = self.queue.pop() {
            if self.budget == 0 {
                self.queue.clear();
                return Ok(());
            }
            self.budget -= 1;
            match step {
                Step::Truth(term, value) => self.learn_truth(term, value)?,
                Step::Domain(term, known) => self.learn_domain(term, &known)?,
                Step::Exclude(term, value) => self.learn_exclusion(term, value)?,
                Step::Unite(a, b, offset) => self.learn_equality(a, b, offset)?,
            }
        }
        Ok(())
    }

    fn learn_truth(&mut self, term: TermId, value: bool) -> Result<(), Contradiction> {
        let (atom, positive) = strip_not(self.pool, term);
        let value = value == positive;
        if let Some(known) = self.store.stored_truth(self.pool, atom) {
            return if known == value { Ok(()) } else { Err(Contradiction) };
        }
        if self.store.derived_truth(self.pool, atom, self.depth()) == Some(!value) {
            return Err(Contradiction);
        }
        self.store.set_truth(atom, value);
        self.touch(atom);
        self.imply(atom, value);
        Ok(())
    }

    fn truth(&self, term: TermId) -> Option<bool> {
        self.store.truth(self.pool, term, self.depth())
    }

    fn known(&self, term: TermId) -> Known {
        self.store.known(self.pool, term, self.depth())
    }

    /// Queues what a condition says of its parts.
    fn imply(&mut self, atom: TermId, value: bool) {
        match self.pool.node(atom) {
            Node::Binary(BinaryOp::And, _, a, b) => self.imply_and(a, b, value),
            Node::Binary(BinaryOp::Xor, _, a, b) => {
                if let Some(known) = self.truth(a) {
                    self.queue.push(Step::Truth(b, known != value));
                } else if let Some(known) = self.truth(b) {
                    self.queue.push(Step::Truth(a, known != value));
                }
            }
            Node::Ite(c, a, b) => self.imply_ite(c, a, b, value),
            Node::Compare(Comparison::Eq, a, b) => self.imply_equal(a, b, value),
            Node::Compare(op, a, b) => self.imply_less(op, a, b, value),
            _ => {}
        }
    }

    fn imply_and(&mut self, a: TermId, b: TermId, value: bool) {
        if value {
            self.queue.push(Step::Truth(a, true));
            self.queue.push(Step::Truth(b, true));
        } else if self.truth(a) == Some(true) {
            self.queue.push(Step::Truth(b, false));
        } else if self.truth(b) == Some(true) {
            self.queue.push(Step::Truth(a, false));
        }
    }

    fn imply_ite(&mut self, c: TermId, a: TermId, b: TermId, value: bool) {
        let chosen = match self.truth(c) {
            Some(chosen) => chosen,
            None if self.truth(a) == Some(!value) => false,
            None if self.truth(b) == Some(!value) => true,
            None => return,
        };
        self.queue.push(Step::Truth(c, chosen));
        self.queue.push(Step::Truth(if chosen { a } else { b }, value));
    }

    fn imply_equal(&mut self, a: TermId, b: TermId, value: bool) {
        let (known_a, known_b) = (self.known(a), self.known(b));
        if !value {
            if let Some(c) = known_b.single() {
                self.queue.push(Step::Exclude(a, c));
            } else if let Some(c) = known_a.single() {
                self.queue.push(Step::Exclude(b, c));
            }
            return;
        }
        self.queue.push(Step::Domain(a, known_b));
        if self.pool.as_const(b).is_none() {
            self.queue.push(Step::Domain(b, known_a));
            let ((x, c1), (y, c2)) = (self.pool.split_offset(a), self.pool.split_offset(b));
            self.queue.push(Step::Unite(x, y, c2.wrapping_sub(c1) & mask(self.pool.width(a))));
        }
    }

    fn imply_less(&mut self, op: Comparison, a: TermId, b: TermId, value: bool) {
        let (x, y) = (self.known(a), self.known(b));
        // The smaller one, the larger one, and the least distance between them.
        let (small, large, low, high, strict) = if value { (a, b, x, y, 1) } else { (b, a, y, x, 0) };
        let width = self.pool.width(a);
        let whole = Known::anything(width);
        let (at_most, at_least) = if op == Comparison::Slt {
            // Where there is no room below or above, an empty interval says so.
            let most = high.signed_high as i128 - strict as i128;
            let least = low.signed_low as i128 + strict as i128;
            let nothing = Known { signed_low: 0, signed_high: -1, ..whole };
            (
                if most < whole.signed_low as i128 {
                    nothing
                } else {
                    Known::between_signed(width, whole.signed_low, most as i64)
                },
                if least > whole.signed_high as i128 {
                    nothing
                } else {
                    Known::between_signed(width, least as i64, whole.signed_high)
                },
            )
        } else {
            let most = high.high as i128 - strict as i128;
            let least = low.low as i128 + strict as i128;
            let nothing = Known { low: 1, high: 0, ..whole };
            (
                if most < 0 { nothing } else { Known::between(width, 0, most as u64) },
                if least > whole.high as i128 { nothing } else { Known::between(width, least as u64, whole.high) },
            )
        };
        self.queue.push(Step::Domain(small, at_most));
        self.queue.push(Step::Domain(large, at_least));
    }
}
