//! Proposed changes of the source for what was found.
//!
//! This crate owns the text of a fix: what to insert where ([`propose()`]), the changed files and how their lines correspond
//! ([`patch`]), the unified diff, and writing the files ([`write()`]). A proposal is a guess made from the finding, the other
//! paths of the function and the words of the source. Whether it is right is found out by the caller, who compiles and analyses the
//! changed text; only what passes is shown.
//!
//! *Architecture invariant:* no analysis, no IR and no compiler. Sources are read through `caulk_report::source`, and written
//! only by [`write()`], which refuses a file that is not what the proposal was made from.

#![cfg_attr(not(test), warn(clippy::disallowed_methods))]

mod borrowed;
mod code;
mod diff;
mod each_time;
mod elsewhere;
mod insert;
mod overwrite;
pub mod patch;
mod propose;
mod release;
mod write;

pub use borrowed::borrowing;
pub use diff::unified;
pub use elsewhere::freeing;
pub use patch::{Edit, Patch};
pub use propose::{Proposal, propose};
pub use write::{WriteError, write};
