//! Stage two: which candidates are leaks on a path that can really be taken.
//!
//! This crate owns the precise half of the engine: under-constrained symbolic execution of functions with candidates
//! ([`explore`]), and guarded summaries of small callees ([`effects`]). A path is confirmed when its conditions can all hold
//! together, as `caulk-solver` says.
//!
//! *Architecture invariant:* finds no leaks of its own. It confirms or refutes what stage one lists. ([`misuses`] looks for what is
//! freed twice or used after it was freed: only who asks for it is told.)
//!
//! *Architecture invariant:* work is bounded for each object by [`ExploreConfig`]. When a bound is reached paths are merged,
//! and the verdict says so. The result does not depend on the number of threads.

mod absent;
mod ahead;
mod apply;
mod assertions;
mod at_site;
mod bounds;
mod by_summary;
mod call;
mod callers;
mod config;
mod copied;
mod counted;
mod counts;
mod effect_cache;
mod effects;
mod essential;
mod evaluate;
mod example;
mod fates;
mod flags;
mod found;
mod frame;
mod grown;
mod inputs;
mod kept;
mod machine;
mod made;
mod matches;
mod memory;
mod merge;
mod missing_holder;
mod misuse;
mod mstg;
mod order;
mod ownership;
mod paths;
mod pieces;
mod refused;
mod replay;
mod rounds;
mod sealed;
mod search;
mod state;
mod store;
mod symbols;
mod thrown;
mod touched;
mod verdict;
mod witness;
mod world;
mod written;

pub use caulk_solver::SolverStats;
pub use config::ExploreConfig;
pub use inputs::{Argument, InputPlace, InputValue, Inputs};
pub use kept::Kept;
pub use misuse::{Misuse, MisuseKind, Misused, misuses};
pub use mstg::{JointState, ObjectState, StateGraph, TrackedObject, Transition, state_graph};
pub use refused::Edge;
pub use verdict::{Effort, Exploration, Layer, Statistics, Verdict, Witness, explore, explore_keeping, explore_one};
