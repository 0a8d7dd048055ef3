//! Byte offsets, known or not.

use serde::{Deserialize, Serialize};

/// A byte offset from the start of an object.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub enum Offset {
    Known(i64),
    /// An element whose index is not known: all elements of an array are one cell.
    Any,
}

impl Offset {
    pub const ZERO: Offset = Offset::Known(0);

    pub fn plus(self, other: Offset) -> Offset {
        match (self, other) {
            (Offset::Known(a), Offset::Known(b)) => Offset::Known(a.wrapping_add(b)),
            _ => Offset::Any,
        }
    }

    /// Whether two offsets may be the same.
    pub fn meets(self, other: Offset) -> bool {
        match (self, other) {
            (Offset::Known(a), Offset::Known(b)) => a == b,
            _ => true,
        }
    }
}
