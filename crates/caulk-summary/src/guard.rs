//! When an action happens, as far as a caller can know.

use caulk_memory::{AccessPath, Relation};
use serde::{Deserialize, Serialize};

/// The design's four kinds of guard.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub enum Guard {
    /// On every path on which the subject exists.
    Always,
    /// Exactly when the returned value is so: the caller is told. The second relation is what the returned value is
    /// otherwise, where that says more than the opposite of the first.
    ByResult(Relation, Option<Relation>),
    /// When a value the caller gives (or can read) is so.
    ByArgument(AccessPath, Relation),
    /// Decided by something the caller cannot see.
    Opaque,
    /// Hidden, but never unless a value the caller gives is so.
    Limited(AccessPath, Relation),
    /// Done by some of the functions that may be called there, or in turn by one that is called.
    Unsure,
}

impl Guard {
    /// Whether an action under this guard is what a function is for: not what one of many functions does that it may call.
    pub fn is_own(&self) -> bool {
        *self != Guard::Unsure
    }

    /// Decided by something the caller cannot see.
    pub fn is_hidden(&self) -> bool {
        matches!(self, Guard::Opaque | Guard::Limited(..) | Guard::Unsure)
    }
}
