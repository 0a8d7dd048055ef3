//! Places in the source.

use serde::{Deserialize, Serialize};

use crate::entity::{FileId, PlaceId, StrId};

/// Where an instruction comes from. Line 0 means that the compiler made it and no line is known.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Place {
    pub file: FileId,
    pub line: u32,
    pub column: u32,
    /// When the compiler inlined a function: the function's name, and the place of the call.
    pub inlined: Option<Inlined>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Inlined {
    pub function: StrId,
    pub at: PlaceId,
}
