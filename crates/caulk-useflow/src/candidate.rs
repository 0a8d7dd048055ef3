//! Places where memory may be lost, before stage two has looked at them.

use caulk_ir::{InstId, VarId};
use caulk_models::FamilyId;
use caulk_program::{FuncId, GlobalVarId, TypeId};
use caulk_summary::{AllocId, Event};
use serde::{Deserialize, Serialize};

use crate::ground::Ground;
use crate::slots::{AllocationLine, Slot};

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub enum Kind {
    /// The last reference is overwritten, or freed with its holder.
    Lost,
    /// Still held by a local at the end.
    Forgotten,
    /// Still held by a local of `main` when the program ends.
    AtExit,
}

/// How an object comes to be without an owner, as far as stage one can tell.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub enum Loss {
    /// On a path of the function that the object is followed through.
    Path,
    /// The same, but a small callee frees or keeps it in cases that only its execution can distinguish: stage two is asked whether
    /// there are others.
    Question,
    /// An exception that some code names leaves the function.
    Thrown,
    /// A structure is freed, and nothing frees what this field of it holds.
    MissedField(Slot),
    /// A destructor ends its object, and nothing frees what this field of it holds.
    MissedByDestructor(Slot),
    /// A function that frees the other fields of a structure passes this one over.
    PassedOver(Slot),
    /// A field is written over, and what it held is neither freed nor moved.
    OverwrittenField(Slot),
    /// A static pointer is filled again, and what it held is neither freed nor moved.
    OverwrittenStatic(GlobalVarId),
    /// A node is taken out of a list by this link, and left.
    Unlinked(Slot),
    /// The fields of a structure are freed, and nothing in the program frees such a structure.
    NeverFreed(TypeId),
}

impl Loss {
    /// The field that held the object, for what is lost with or from its holder.
    pub fn slot(self) -> Option<Slot> {
        match self {
            Loss::MissedField(slot)
            | Loss::MissedByDestructor(slot)
            | Loss::PassedOver(slot)
            | Loss::OverwrittenField(slot)
            | Loss::Unlinked(slot) => Some(slot),
            Loss::Path | Loss::Question | Loss::Thrown | Loss::OverwrittenStatic(_) | Loss::NeverFreed(_) => None,
        }
    }

    /// Whether the object was made by another call than the one that loses it.
    pub fn is_made_elsewhere(self) -> bool {
        self.slot().is_some() || matches!(self, Loss::OverwrittenStatic(_))
    }

    /// Whether it is on a path that stage two can follow.
    pub fn is_on_path(self) -> bool {
        matches!(self, Loss::Path | Loss::Question | Loss::Thrown)
    }
}

/// Which candidate of a run: its function, and its place among those of the function.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct CandidateId {
    pub function: FuncId,
    pub number: usize,
}

#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Candidate {
    pub function: FuncId,
    /// The call that makes the object.
    pub allocation: InstId,
    /// Which block of that call's effect it is.
    pub block: AllocId,
    pub family: FamilyId,
    /// From that call down to the allocator: functions, and lines as `Program::line_of` takes them.
    pub chain: Vec<(FuncId, u32)>,
    /// Where it is lost.
    pub place: InstId,
    /// The return (or, in a loop, the allocation) that the path ends at.
    pub exit: InstId,
    pub kind: Kind,
    pub variable: Option<VarId>,
    pub loss: Loss,
    /// Rests on something that stage one could not see.
    pub hidden: bool,
    /// What it rests on, if that is not a path.
    pub ground: Option<Ground>,
    /// Part of a larger object made by the same call.
    pub is_part: bool,
    pub trail: Vec<(InstId, Event)>,
}

impl Candidate {
    /// One that no path shows, for a field or a structure. Without a ground it rests on too little to be shown by default.
    pub(crate) fn of_structure(
        function: FuncId,
        place: InstId,
        loss: Loss,
        origin: AllocationLine,
        ground: Option<Ground>,
    ) -> Self {
        Self {
            function,
            allocation: place,
            block: AllocId(0),
            family: FamilyId::FREE,
            chain: vec![origin],
            place,
            exit: place,
            kind: Kind::Lost,
            variable: None,
            loss,
            hidden: ground.is_none_or(Ground::is_weak),
            ground,
            is_part: false,
            trail: Vec::new(),
        }
    }
}
