//! What was found, told to people and to machines.
//!
//! This crate owns the source-level [`Finding`]: what leaks, where it was allocated and through which calls, where it is
//! lost, and the path that leads there. [`narrate`] makes findings of what the engines say in terms of core IR; [`select`]
//! decides which of them are shown; [`text`], [`json`] and [`sarif`] write them, and text for people goes through [`terminal`]. [`proof`]
//! is what the prover said.
//!
//! *Architecture invariant:* no analysis. A finding holds nothing of the IR, so it can be kept, compared and rendered without
//! the program. Only [`narrate`] and its helpers know the engines.
//!
//! *Architecture invariant:* sources are read for their words alone. One that is gone, has changed or is no text makes
//! a report poorer and never fails it.

#![cfg_attr(not(test), warn(clippy::disallowed_methods))]

pub mod baseline;
mod branches;
mod causes;
pub mod code_climate;
pub mod config;
pub mod csv;
mod demangle;
pub mod finding;
mod fingerprint;
mod fold;
mod footer;
pub mod git;
pub mod github;
mod grounds;
mod group;
pub mod html;
pub mod json;
pub mod junit;
mod ladder;
pub mod layout;
pub mod narrate;
mod operand_names;
pub mod overview;
mod place_words;
pub mod proof;
pub mod proof_sarif;
mod reason;
pub mod report;
#[cfg(test)]
mod robust;
pub mod rules;
pub mod sarif;
pub mod sarif_fixes;
mod sarif_parts;
pub mod scope;
pub mod select;
mod sites;
mod snippet;
pub mod source;
mod states;
pub mod suppress;
pub mod terminal;
pub mod text;
pub mod tokens;
pub mod witness;
mod words;

pub use config::ReportConfig;
pub use finding::{Call, Cause, Confidence, Finding, Kind, OtherLoss, RelatedLeak, Site, Step, StepKind};
pub use narrate::Narrator;
pub use report::{
    Choices, Cost, Costs, FunctionCost, LostUnit, Refuted, Report, Run, SolverCounts, Statistics, Unknown,
};
pub use scope::{Changed, ChangedLines, Scope};
pub use select::{AllocFailure, Hidden, Level, Selection};
pub use sites::shown_path;
pub use states::{StateEdge, StateNode, StatePicture};
pub use text::TextOptions;
pub use witness::{Evidence, WitnessStep};
