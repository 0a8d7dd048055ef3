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
    Told(Relation, Option<Relation>),
    /// When a value the caller gives (or can read) is so.
    Given(AccessPath, Relation),
    /// Decided by something the caller cannot see.
    Hidden,
}

impl Guard {
    pub fn is_hidden(&self) -> bool {
        *self == Guard::Hidden
    }
}
