//! Compiles units with clang and lowers them to core IR.
//!
//! This crate owns everything that knows of clang and LLVM: finding and running clang ([`Clang`]), reading its bitcode
//! through LLVM's C API, lowering it to core IR in SSA form, and the cache of lowered units ([`Cache`]).
//!
//! *Architecture invariant:* no other crate links LLVM or runs a compiler, and nothing of LLVM lives on after a unit is
//! lowered. No input makes this crate panic or end the process: a unit that cannot be read is a [`LostUnit`].

#![cfg_attr(not(test), warn(clippy::disallowed_methods))]

mod bounds;
mod cache;
mod clang;
#[cfg(test)]
mod deciding;
mod dependencies;
pub mod entry;
mod environment;
mod error;
mod failure;
#[cfg(test)]
mod fingerprint;
mod isolated;
mod kept;
mod llvm;
mod lower;
mod native;
mod overlay;
mod portable;
mod read;
mod shared;
mod ssa;

pub use cache::Cache;
pub use clang::{CLANG_MAJOR, Clang};
pub use error::FrontendError;
pub use isolated::{Isolated, serve};
pub use kept::KeptUnits;
pub use overlay::Overlay;
pub use read::{Config, LostUnit, ReadUnit, UnitSource, fill_caches, read_units, read_units_keeping, read_units_over};
