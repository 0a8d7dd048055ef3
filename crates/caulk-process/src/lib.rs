//! Starts other programs within limits, and ends them.
//!
//! This crate owns how Caulk runs clang, git and bear: where a program is found ([`find_program`]), how much time, memory
//! and disk it gets ([`Limits`]), how much of its output is kept ([`Runner::run`]), and that neither a child nor a
//! temporary folder outlives Caulk ([`Lifeline`]).
//!
//! *Architecture invariant:* every program that Caulk starts is started here. A child gets standard input from
//! `/dev/null`, a `PATH` without relative folders, a process group of its own, and dies with Caulk, however Caulk ends.
//! The one exception is a build that the user asks to record: it shares the terminal with the user.

mod attend;
mod confine;
mod find;
mod lifeline;
mod limits;
mod runner;
mod sandbox;
mod signals;

pub use find::{find_program, only_absolute};
pub use lifeline::{Lifeline, TempFolder};
pub use limits::Limits;
pub use runner::{Finished, Runner};
