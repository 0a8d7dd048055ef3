//! Access paths: a root that a caller knows, and the loads that lead from it to a value (SPARROW's anchors).

use caulk_program::{GlobalVarId, TypeId};
use serde::{Deserialize, Serialize};
use smallvec::SmallVec;

use crate::offset::Offset;

/// A value as a caller can name it: `arg0`, `arg0->next`, `*arg1`, `global->list`, `ret->name`.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct AccessPath {
    pub root: PathRoot,
    /// Each step loads from an offset of the value so far.
    pub steps: SmallVec<[PathStep; 2]>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub enum PathRoot {
    Param(u32),
    /// The address of a global variable.
    Global(GlobalVarId),
    Return,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct PathStep {
    pub offset: Offset,
    /// The structure and the offset in it, where the code steps into one: it gives the step its name.
    pub field: Option<(TypeId, u64)>,
}

impl AccessPath {
    pub fn root(root: PathRoot) -> Self {
        Self { root, steps: SmallVec::new() }
    }

    pub fn then(mut self, offset: Offset, field: Option<(TypeId, u64)>) -> Self {
        self.steps.push(PathStep { offset, field });
        self
    }

    /// The same place whatever names its steps have.
    pub fn same_place(&self, other: &AccessPath) -> bool {
        self.steps.len() == other.steps.len() && self.leads_to(other)
    }

    /// Whether a path goes on from this one, or is the same.
    pub fn leads_to(&self, other: &AccessPath) -> bool {
        self.root == other.root
            && self.steps.len() <= other.steps.len()
            && self.steps.iter().zip(&other.steps).all(|(a, b)| a.offset == b.offset)
    }
}
