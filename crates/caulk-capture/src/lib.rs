//! Finds out how a project is compiled: from a build, a compilation database or a list of files to a list of jobs.
//!
//! This crate owns `compile_commands.json` (reading and recording), response files, compiler launchers, which language
//! an entry is in, and the table that decides which flags of a foreign build reach our clang.
//!
//! *Architecture invariant*: nothing is compiled here. The only program this crate ever starts is `bear`, and only when
//! the user asked to record a build.
//!
//! *Architecture invariant*: a database is untrusted input. No flag that makes clang load code, start another program or
//! write a file leaves this crate, and no input makes it panic.
//!
//! *Architecture invariant*: the result depends only on the files read and on the request, never on the order in which a
//! file system lists them.
//!
//! ```text
//! discover -> database -> split, response -> compiler -> flags -> jobs -> exclude
//! record   -> database (cleaned and written)
//! glance   -> neighbours (sources that were not named)
//! ```

#![cfg_attr(not(test), warn(clippy::disallowed_methods))]

mod collect;
mod compiler;
mod database;
mod discover;
mod error;
mod exclude;
pub mod flags;
mod glance;
mod job;
mod jobs;
mod language;
mod mentions;
mod neighbours;
mod paths;
mod record;
mod response;
mod root;
mod split;

pub use collect::{Request, collect};
pub use database::{DATABASE_NAME, Entry, EntryCommand, parse_database, read_database};
pub use discover::{FoundDatabase, find_database, find_databases};
pub use error::CaptureError;
pub use exclude::{PathGlobs, skip};
pub use flags::{Dropped, Sanitized, Why, sanitize, without_rejected};
pub use job::{BitcodeJob, CompileJob, Job, JobList, SkipReason, Skipped, SkippedUnit};
pub use jobs::{Duplicates, jobs_from_database, jobs_from_sources};
pub use language::Language;
pub use neighbours::{Doubts, Lacking, NeighbourConfig, doubts_nearby, find_neighbours};
pub use record::{Recorded, record};
pub use root::{find_database_upward, folders_upward, git_top};
pub use split::split_response;
