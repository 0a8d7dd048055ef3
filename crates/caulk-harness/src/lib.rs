//! Builds and runs a small program that shows a leak: a *harness* that calls one function of the project once, with LeakSanitizer.
//!
//! This crate owns the harness: its source ([`Target`], `runtime.c`), the memory and results it starts from ([`Plan`]), the objects and
//! stubs it is linked with ([`Builder`]), the sandboxed run, and what LeakSanitizer's report says about one place of the source
//! ([`Run`]). Which function, which units and which plans is said by the caller.
//!
//! *Architecture invariant:* no analysis and no IR. This is the only crate that runs code of the project, and only `caulk prove-leak`
//! uses it.

#![cfg_attr(not(test), warn(clippy::disallowed_methods))]

mod build;
mod keep;
mod outcome;
mod plan;
mod run;
mod sites;
mod source;
mod stacks;
mod system;

pub use build::{Builder, Built, PROGRAM_MAIN, Request, Undefined};
pub use outcome::{Ended, Outcome, Reason};
pub use plan::{Plan, Word};
pub use run::{HarnessLimits, Run, Wanted};
pub use sites::{Mark, Site};
pub use source::{Kind, Stub, StubKind, StubResult, Target, Variable};
pub use system::may_be_scripted;
