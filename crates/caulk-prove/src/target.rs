//! Regions of memory, as far as types and names tell them apart.

use caulk_ir::InstId;
use caulk_program::{FuncId, GlobalVarId, TypeId};

/// The memory an address may lead to: one region, or any of a class.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Region {
    /// A field, in all structures of its type.
    Field { ty: TypeId, offset: u64 },
    /// A variable outside of functions that is no structure.
    Global(GlobalVarId),
    /// A local variable whose address goes elsewhere, in all calls of its function.
    Slot { function: FuncId, local: InstId },
    /// A part of a local variable that only its function can reach, by its offset if that is known.
    Local { local: InstId, offset: Option<i64> },
    /// Whatever holds a pointer of the class and can be reached through a pointer.
    Wild(PointsTo),
    /// All that is no variable: fields of structures, and what pointers lead to.
    Heap,
}

/// What a pointer is declared to point to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum PointsTo {
    /// Not known, or anything (`void *`, `char *`).
    Any,
    /// A structure, behind so many levels of pointers.
    To { depth: u8, ty: TypeId },
    /// A function.
    Code,
}

impl PointsTo {
    /// What both say; a declaration that says nothing gives way.
    pub fn meet(self, other: PointsTo) -> PointsTo {
        match (self, other) {
            (PointsTo::Any, other) => other,
            (this, PointsTo::Any) => this,
            (this, other) if this == other => this,
            _ => PointsTo::Any,
        }
    }
}
