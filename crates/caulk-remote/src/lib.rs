//! A store of bytes by name that several machines share: a folder, S3, Redis, or a server that speaks HTTP.
//!
//! This crate owns addresses ([`Remote::open`]), the clients behind them, and what happens when a store does not answer: the
//! caller is told that there is nothing, and one message at the end says why ([`Remote::troubles`]).
//!
//! *Architecture invariant:* knows nothing of units. What it hands out is as untrusted as the server is; the caller verifies it.
//! No store, whatever it does, makes a caller wait longer than the timeout for one operation, or fail.

#![cfg_attr(not(test), warn(clippy::disallowed_methods))]

mod address;
mod folder;
mod health;
mod remote;
#[cfg(feature = "services")]
mod service;

pub use address::AddressError;
pub use remote::{Mode, Remote, Settings};
