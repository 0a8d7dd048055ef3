//! What a probe comes to.

use std::fmt;

use caulk_ir::InstId;
use caulk_program::FuncId;

/// The answer to one probe.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// Every way back is contradicted.
    Proved,
    /// Some way back is not: the cell may have come from there.
    MayLeak { origin: CellOrigin, trace: Vec<TraceStep> },
    /// A bound was reached, or something is not known.
    Abandoned(Reason),
}

/// Where the cell may come from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum CellOrigin {
    /// This call made it.
    Allocation { function: FuncId, inst: InstId },
    /// It was there when the function was entered.
    Input { function: FuncId },
    /// A library function gave it out.
    Library { function: FuncId, inst: InstId },
}

/// A step of the way back that changed what is known.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct TraceStep {
    pub function: FuncId,
    pub inst: InstId,
}

/// Why a probe was given up.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Reason {
    Transfers,
    /// What is known of the cell is too much to be carried so far.
    Work,
    Regions,
    Contexts,
    /// The function has more probes than are asked.
    Probes,
    /// A function on the way, or the one that is asked about, is too large for the tables that following it needs.
    Size {
        function: FuncId,
    },
    /// The cell comes out of a call that is too deep to be followed.
    Depth,
    /// The way back goes through a function without body and model.
    UnknownCall {
        function: FuncId,
        inst: InstId,
    },
    /// The way back goes through a function for which proofs do not hold.
    Outside {
        function: FuncId,
    },
    /// The cell comes out of a value that is not understood.
    NotUnderstood {
        function: FuncId,
        inst: InstId,
    },
}

impl fmt::Display for Reason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Reason::Transfers => "too many steps",
            Reason::Work => "too much to keep in mind on the way",
            Reason::Regions => "too many regions or values may refer to the cell",
            Reason::Probes => "there are more places where references go than are asked about in one function",
            Reason::Size { .. } => "the function is too large",
            Reason::Depth => "calls on the way are nested too deep",
            Reason::Contexts => "too many calls on the way",
            Reason::UnknownCall { .. } => "a function without body and model is on the way",
            Reason::Outside { .. } => "a function outside of the provable language is on the way",
            Reason::NotUnderstood { .. } => "the cell comes out of a value that is not understood",
        })
    }
}
