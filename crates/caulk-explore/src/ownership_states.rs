//! The outcome of the objects of a path. Paths fork far more often than objects get an outcome, so it is shared until
//! it is written to.

use std::rc::Rc;

use caulk_solver::TermId;

/// What has become of an object.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) enum Ownership {
    /// Made on this path, and the path's to see to.
    Live,
    Freed,
    /// It has another owner.
    Kept,
}

/// By the object's address, sorted.
#[derive(Clone, Debug, Default)]
pub(crate) struct Ownerships(Rc<Vec<(TermId, Ownership)>>);

impl Ownerships {
    fn find(&self, root: TermId) -> Result<usize, usize> {
        self.0.binary_search_by_key(&root, |(of, _)| *of)
    }

    pub(crate) fn get(&self, root: TermId) -> Option<Ownership> {
        self.find(root).ok().map(|at| self.0[at].1)
    }

    pub(crate) fn set(&mut self, root: TermId, ownership: Ownership) {
        match self.find(root) {
            Ok(at) if self.0[at].1 == ownership => {}
            Ok(at) => Rc::make_mut(&mut self.0)[at].1 = ownership,
            Err(at) => Rc::make_mut(&mut self.0).insert(at, (root, ownership)),
        }
    }

    /// Sets the outcome of an object that has none yet.
    pub(crate) fn set_first(&mut self, root: TermId, ownership: Ownership) {
        if let Err(at) = self.find(root) {
            Rc::make_mut(&mut self.0).insert(at, (root, ownership));
        }
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = (TermId, Ownership)> {
        self.0.iter().copied()
    }
}
