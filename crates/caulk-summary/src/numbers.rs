//! Numbers in the memory of callers: what a function asks for there, and what it leaves there.

use caulk_memory::Relation;
use serde::{Deserialize, Serialize};

/// A number in what the first argument points to that a function gives back, or tests: `bool ok() const { return code == 0; }`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Asked {
    pub offset: i64,
    /// The result says whether this holds; None: it is the number.
    pub whether: Option<Relation>,
}

/// A number that a function always leaves in what an argument points to: `Result(int c) : code(c) {}`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Assigned {
    pub param: u32,
    pub offset: i64,
    pub from: Source,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub enum Source {
    Number(i64),
    Argument(u32),
    /// What an argument points to, at an offset, as it was before.
    Memory(u32, i64),
}
