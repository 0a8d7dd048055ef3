//! What happens on a path, as both stages note it and as reports tell it.

use caulk_ir::InstId;
use caulk_program::FuncId;
use serde::{Deserialize, Serialize};

/// Something that happens to the object that is followed, or that decides how the path goes on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Event {
    Allocated,
    /// It existed before the function was entered.
    Given,
    /// Its address was written to memory.
    Stored,
    Overwritten,
    OutOfScope,
    Freed,
    FreedWithHolder,
    /// Another block has taken its place in what holds it, or may have.
    Renewed,
    Kept,
    GivenToUnknown,
    /// A call that may take or free it does neither.
    NotTaken,
    /// A call ended in an exception that some code names.
    Thrown,
    /// A branch or switch went to its `n`-th successor.
    Took(u32),
    /// Inside of a callee, a branch or switch went to its `n`-th successor.
    Inside(FuncId, InstId, u32),
    /// A callee did one of several things: which, as a number of its guarded summary. A path is replayed by it.
    Part(FuncId, u32),
}

impl Event {
    /// Whether it tells how the path goes, and nothing of the object.
    pub fn is_way(self) -> bool {
        matches!(self, Event::Took(_) | Event::Inside(..) | Event::Part(..))
    }
}
