//! The tables of one path. All are sorted vectors of plain values: small, copied fast, iterated in one order.

use std::sync::Arc;

use crate::bits::mask;
use crate::known::Known;
use crate::node::TermId;
use crate::pool::TermPool;

/// `term = root + offset`, wrapping.
#[derive(Clone, Copy, Debug)]
pub(super) struct Member {
    pub term: TermId,
    pub root: TermId,
    pub offset: u64,
}

#[derive(Clone, Debug, Default)]
pub(super) struct Store {
    pub literals: Vec<TermId>,
    /// Those literals that a domain alone does not express.
    pub relations: Vec<TermId>,
    truths: Vec<(TermId, bool)>,
    domains: Vec<(TermId, Known)>,
    excluded: Vec<(TermId, u64)>,
    classes: Vec<Member>,
    pub contradiction: bool,
    /// What was known where this path parted from others.
    before: Option<Arc<Store>>,
}

impl Drop for Store {
    /// Long chains are taken down one by one, not by recursion.
    fn drop(&mut self) {
        let mut next = self.before.take();
        while let Some(mut store) = next.and_then(Arc::into_inner) {
            next = store.before.take();
        }
    }
}

impl Store {
    /// A store to write to. One that other paths share is copied, and remembered as what both have in common.
    pub(crate) fn own(this: &mut Arc<Store>) -> &mut Store {
        if Arc::get_mut(this).is_none() {
            let mut copy = Store::clone(this);
            copy.before = Some(std::mem::take(this));
            *this = Arc::new(copy);
        }
        Arc::make_mut(this)
    }

    /// What was known where two paths parted. All that is known is made of literals one after the other, so the one with more
    /// of them is never the one that both have in common.
    pub(crate) fn common<'s>(mut one: &'s Arc<Store>, mut other: &'s Arc<Store>) -> Option<&'s Arc<Store>> {
        while !Arc::ptr_eq(one, other) {
            if one.literals.len() >= other.literals.len() {
                one = one.before.as_ref()?;
            } else {
                other = other.before.as_ref()?;
            }
        }
        Some(one)
    }

    /// A condition that was assumed, or follows directly from one.
    pub(crate) fn stored_truth(&self, pool: &TermPool, atom: TermId) -> Option<bool> {
        if let Some(value) = pool.as_const(atom) {
            return Some(value != 0);
        }
        self.truths.binary_search_by_key(&atom, |entry| entry.0).ok().map(|at| self.truths[at].1)
    }

    pub(crate) fn set_truth(&mut self, atom: TermId, value: bool) {
        match self.truths.binary_search_by_key(&atom, |entry| entry.0) {
            Ok(at) => self.truths[at].1 = value,
            Err(at) => self.truths.insert(at, (atom, value)),
        }
    }

    pub(crate) fn domain(&self, term: TermId) -> Option<&Known> {
        self.domains.binary_search_by_key(&term, |entry| entry.0).ok().map(|at| &self.domains[at].1)
    }

    pub(crate) fn set_domain(&mut self, term: TermId, known: Known) {
        match self.domains.binary_search_by_key(&term, |entry| entry.0) {
            Ok(at) => self.domains[at].1 = known,
            Err(at) => self.domains.insert(at, (term, known)),
        }
    }

    pub(crate) fn domains(&self) -> &[(TermId, Known)] {
        &self.domains
    }

    pub(crate) fn is_excluded(&self, term: TermId, value: u64) -> bool {
        self.excluded.binary_search(&(term, value)).is_ok()
    }

    pub(crate) fn exclude(&mut self, term: TermId, value: u64) {
        if let Err(at) = self.excluded.binary_search(&(term, value)) {
            self.excluded.insert(at, (term, value));
        }
    }

    pub(crate) fn excluded_count(&self) -> usize {
        self.excluded.len()
    }

    pub(crate) fn exclusions(&self, term: TermId) -> &[(TermId, u64)] {
        let from = self.excluded.partition_point(|entry| entry.0 < term);
        let to = self.excluded.partition_point(|entry| entry.0 <= term);
        &self.excluded[from..to]
    }

    /// The root of a term's class, and how far the term is from it.
    pub(crate) fn root(&self, term: TermId) -> (TermId, u64) {
        match self.classes.binary_search_by_key(&term, |member| member.term) {
            Ok(at) => (self.classes[at].root, self.classes[at].offset),
            Err(_) => (term, 0),
        }
    }

    pub(crate) fn classes(&self) -> &[Member] {
        &self.classes
    }

    /// All terms of the class with this root, the root itself included.
    pub(crate) fn members(&self, root: TermId) -> impl Iterator<Item = Member> + '_ {
        self.classes.iter().copied().filter(move |member| member.root == root)
    }

    /// Joins two classes: `a = b + offset` for their roots. The older root stays.
    pub(crate) fn unite(&mut self, a: TermId, b: TermId, offset: u64, width: u8) {
        for root in [a, b] {
            if let Err(at) = self.classes.binary_search_by_key(&root, |member| member.term) {
                self.classes.insert(at, Member { term: root, root, offset: 0 });
            }
        }
        let (gone, stays, distance) = if a < b { (b, a, offset.wrapping_neg()) } else { (a, b, offset) };
        for member in &mut self.classes {
            if member.root == gone {
                member.root = stays;
                member.offset = member.offset.wrapping_add(distance) & mask(width);
            }
        }
    }
}
