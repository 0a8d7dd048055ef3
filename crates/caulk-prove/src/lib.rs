//! The backward engine: assumes that a leak has happened and walks back to contradict it.
//!
//! After Orlovich and Rugina, *Memory Leak Analysis by Contradiction* (SAS 2006). A probe ([`probe`]) assumes that an
//! instruction loses the last reference to a cell, the *error cell*. What is then known of the cell is a fact ([`fact`]),
//! and transfer functions ([`assign`], [`transfer`], [`library`], [`calls`]) carry it backwards through the program
//! ([`engine`]). If every way back ends in a contradiction, no such leak exists.
//!
//! *Architecture invariant:* what a bound cuts off is abandoned, never proved.
//! *Architecture invariant:* probes are independent of each other, so their order and number of threads change nothing.

pub mod assign;
mod bindings;
mod bounds;
mod calls;
mod config;
mod effects;
mod engine;
pub mod expr;
pub mod fact;
mod fresh;
mod judge;
mod library;
mod liveness;
mod opinion;
mod outcome;
mod outside;
mod probe;
mod prover;
pub mod regions;
mod shape;
pub mod target;
mod transfer;

pub use config::{Extensions, ProveConfig};
pub use engine::{Answer, follow};
pub use judge::{Judged, Judgement, judge, judge_all, judge_each};
pub use opinion::{Claim, contradicts};
pub use outcome::{CellOrigin, Outcome, Reason, TraceStep};
pub use outside::Outside;
pub use probe::{Kind, Probe, Start, probes};
pub use prover::World;
pub use regions::{Regions, TypedRegions};
pub use shape::{Holding, Shape};
