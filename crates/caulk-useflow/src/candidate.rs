//! Places where memory may be lost, before stage two has looked at them.

use caulk_ir::{InstId, VarId};
use caulk_models::FamilyId;
use caulk_program::FuncId;
use caulk_summary::BlockId;

use crate::history::Event;
use crate::slots::Slot;

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Kind {
    /// The last reference is overwritten, or freed with its holder.
    Lost,
    /// Still held by a local at the end.
    Forgotten,
}

#[derive(Clone, Debug)]
pub struct Candidate {
    pub function: FuncId,
    /// The call that makes the object.
    pub allocation: InstId,
    /// Which block of that call's effect it is.
    pub block: BlockId,
    pub family: FamilyId,
    /// From that call down to the allocator: functions and lines.
    pub chain: Vec<(FuncId, u32)>,
    /// Where it is lost.
    pub place: InstId,
    /// The return (or, in a loop, the allocation) that the path ends at.
    pub exit: InstId,
    pub kind: Kind,
    pub variable: Option<VarId>,
    /// The field that held it, for what is lost with its holder.
    pub slot: Option<Slot>,
    /// Rests on something that stage one could not see.
    pub hidden: bool,
    /// A small callee frees or keeps it on some ways that only its execution can tell apart: stage two is asked whether there
    /// are others.
    pub is_question: bool,
    /// Part of a larger object made by the same call.
    pub is_part: bool,
    pub trail: Vec<(InstId, Event)>,
}
