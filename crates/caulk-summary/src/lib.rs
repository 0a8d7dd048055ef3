//! What functions do with memory, as data.
//!
//! This crate owns the form of a summary: actions between what a caller can name ([`Action`]), each under a guard
//! ([`Guard`]), what a guard means at a call ([`decide`]), and the text and JSON forms that people read ([`print`], [`json`]).
//! The engines compute summaries; nothing in here does.
//!
//! The actions are Melton's fourteen (its Table 2) and SPARROW's eight categories: a *subject* (a fresh block, or a value
//! the caller knows by an access path) goes to a *destination* (freed, returned, stored under an access path, kept out of
//! sight, or given to unknown code).

mod action;
pub mod apply;
pub mod birth;
mod bounds;
mod case;
mod decide;
mod event;
mod guard;
pub mod json;
mod numbers;
pub mod print;
mod summary;

pub use action::{Action, Alloc, AllocId, Depth, Destination, ParamCall, Subject, Throws};
pub use case::{Case, Known};
pub use decide::{Answer, Caller, Decision, decide, decide_action};
pub use event::Event;
pub use guard::Guard;
pub use numbers::{Asked, Assigned, Source};
pub use summary::Summary;
