//! Actions and summaries.

use caulk_memory::AccessPath;
use caulk_models::FamilyId;
use caulk_program::FuncId;
use serde::{Deserialize, Serialize};

use crate::guard::Guard;

/// A fresh block of a summary, so that one block seen by two paths stays one block.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct BlockId(pub u32);

/// A block that a function allocates and hands out.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Block {
    pub family: FamilyId,
    /// Where it is allocated: the call in the function that calls the allocator, and the calls on the way to it, outermost
    /// first. Each is a function and a line in its file.
    pub chain: Vec<(FuncId, u32)>,
}

/// What an action is about.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub enum Subject {
    /// A fresh block.
    Alloc(BlockId),
    /// A value the caller had before the call.
    Value(AccessPath),
}

/// Where the subject goes.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub enum Destination {
    /// Freed. `deep`: what it points to may have been freed or moved with it.
    Free { deep: bool },
    /// The returned value, or a value reached from it or from an argument or a global, becomes the subject.
    Store(AccessPath),
    /// Kept where the caller cannot see it.
    Keep,
    /// Given to code nobody knows.
    Unknown,
}

#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Action {
    pub subject: Subject,
    pub to: Destination,
    pub guard: Guard,
}

/// What a caller must know of a function.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Summary {
    pub blocks: Vec<Block>,
    /// Sorted, without repeats.
    pub actions: Vec<Action>,
    /// Never comes back.
    pub no_return: bool,
    /// Never returns null.
    pub nonnull_result: bool,
    /// Values the caller knows that may be overwritten (not counting what `actions` store).
    pub overwritten: Vec<AccessPath>,
    /// Has effects beyond its actions: writes memory, prints, depends on more than its arguments.
    pub impure: bool,
    /// Bounds were reached while it was computed.
    pub cut: bool,
}

impl Summary {
    /// Nothing that matters to who owns what.
    pub fn is_empty(&self) -> bool {
        self.actions.is_empty() && self.overwritten.is_empty() && !self.no_return
    }

    pub fn allocates(&self) -> bool {
        self.actions.iter().any(|a| matches!(a.subject, Subject::Alloc(_)))
    }

    pub fn frees(&self) -> bool {
        self.actions.iter().any(|a| matches!(a.to, Destination::Free { .. }))
    }

    pub fn keeps(&self) -> bool {
        let takes = |a: &Action| match &a.to {
            Destination::Keep | Destination::Unknown => true,
            Destination::Store(_) => matches!(a.subject, Subject::Value(_)),
            Destination::Free { .. } => false,
        };
        self.actions.iter().any(takes)
    }
}
