//! What is known on a path: a conjunction of conditions, kept so that a contradiction shows when it is added.
//!
//! Paths fork far more often than they learn, so [`Facts`] is shared until it is written to, and what is copied then is
//! plain memory in a few vectors.

mod check;
mod domain;
mod implied;
mod order;
mod propagate;
mod repair;
mod reshape;
mod store;

use std::sync::Arc;

use smallvec::SmallVec;

use crate::known::Known;
use crate::node::{BinaryOp, Node, TermId};
use crate::pool::TermPool;
use crate::solver::Model;
use propagate::Propagation;
use store::Store;

/// What the cheap layers say of an assumption.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Consistency {
    /// No contradiction seen; there may still be one.
    Consistent,
    /// The facts cannot all hold.
    Contradiction,
}

/// Whether the facts can all hold.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Answer {
    Sat,
    Unsat,
    /// A budget ran out. A client goes on as if satisfiable.
    Unknown,
}

/// A conjunction of boolean terms of one pool. Cheap to clone.
#[derive(Clone, Debug, Default)]
pub struct Facts {
    store: Arc<Store>,
    /// Values that make the first `satisfied` literals true.
    model: Arc<Model>,
    satisfied: usize,
}

impl Facts {
    pub fn new() -> Self {
        Facts::default()
    }

    /// A path that cannot be.
    pub fn contradiction() -> Self {
        let mut facts = Facts::default();
        facts.contradict();
        facts
    }

    /// Adds a condition. After a contradiction everything further is one too.
    pub fn assume(&mut self, pool: &mut TermPool, condition: TermId) -> Consistency {
        pool.stats.assumed += 1;
        let mut open: SmallVec<[TermId; 8]> = SmallVec::new();
        open.push(condition);
        let mut learnt = false;
        while let Some(term) = open.pop() {
            if self.store.contradiction {
                return Consistency::Contradiction;
            }
            if let Node::Binary(BinaryOp::And, _, a, b) = pool.node(term) {
                open.push(b);
                open.push(a);
                continue;
            }
            learnt |= self.assume_literal(pool, term);
        }
        if self.store.contradiction {
            return Consistency::Contradiction;
        }
        if !learnt {
            pool.stats.implied += 1;
        }
        Consistency::Consistent
    }

    /// Whether anything was learnt.
    fn assume_literal(&mut self, pool: &mut TermPool, term: TermId) -> bool {
        let (atom, value) = strip_not(pool, term);
        if let Some(known) = self.store.stored_truth(pool, atom) {
            if known != value {
                pool.stats.apparent += 1;
                self.contradict();
            }
            return false;
        }
        match self.store.truth(pool, atom, pool.config().max_eval_depth) {
            Some(known) if known == value => return false,
            Some(_) => {
                pool.stats.domains += 1;
                self.contradict();
                return false;
            }
            None => {}
        }
        if self.store.literals.len() >= pool.config().max_literals {
            pool.stats.dropped += 1;
            return false;
        }
        let store = Store::own(&mut self.store);
        store.literals.push(term);
        if !is_simple(pool, atom) {
            store.relations.push(term);
        }
        if Propagation::new(pool, store).run(atom, value).is_err() {
            pool.stats.domains += 1;
            store.contradiction = true;
        }
        true
    }

    fn contradict(&mut self) {
        Store::own(&mut self.store).contradiction = true;
    }

    /// Whether the cheap layers found that the facts cannot all hold.
    pub fn is_contradiction(&self) -> bool {
        self.store.contradiction
    }

    /// Whether a condition surely holds or surely does not, as far as the cheap layers see.
    pub fn implied(&self, pool: &TermPool, condition: TermId) -> Option<bool> {
        self.store.truth(pool, condition, pool.config().max_eval_depth)
    }

    /// The values a term may have, as far as the cheap layers see.
    pub fn known(&self, pool: &TermPool, term: TermId) -> Known {
        self.store.known(pool, term, pool.config().max_eval_depth)
    }

    /// The one value a term has.
    pub fn value(&self, pool: &TermPool, term: TermId) -> Option<u64> {
        self.known(pool, term).single()
    }

    /// The conditions in the order they were learnt, conjunctions taken apart, without those that followed from earlier ones.
    pub fn literals(&self) -> &[TermId] {
        &self.store.literals
    }

    /// The facts as one condition.
    pub fn conjunction(&self, pool: &mut TermPool) -> TermId {
        if self.store.contradiction {
            return TermPool::FALSE;
        }
        pool.all(self.store.literals.iter().copied())
    }

    /// Whether both were cloned from one and not written to since.
    pub fn same_store(&self, other: &Facts) -> bool {
        Arc::ptr_eq(&self.store, &other.store)
    }
}

/// The condition below the negation, and whether it must hold.
fn strip_not(pool: &TermPool, term: TermId) -> (TermId, bool) {
    match pool.node(term) {
        Node::Not(atom) => (atom, false),
        _ => (term, true),
    }
}

/// A symbol against a constant: its domain says all of it, so it need not be looked at again.
fn is_simple(pool: &TermPool, atom: TermId) -> bool {
    match pool.node(atom) {
        Node::Symbol(_) => true,
        Node::Compare(_, x, c) => pool.as_const(c).is_some() && pool.as_symbol(x).is_some(),
        _ => false,
    }
}
