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

// What a run chooses, and what it answers.
mod bounds;
mod config;
mod kept;
mod verdict;
mod witness;
mod world;

// One function, before it is executed.
mod ahead;
mod callers;
mod frame;
mod touched;

// The machine: values, memory and instructions of one execution (`impl Machine` goes on in most of these).
mod copied;
mod counts;
mod evaluate;
mod flags;
mod grown;
mod machine;
mod memory;
mod ownership;
mod ownership_states;
mod pieces;
mod state;
mod store;
mod symbols;
mod values;

// The machine: calls, by guarded summaries or by those of stage one.
mod absent;
mod apply;
mod at_site;
mod by_summary;
mod call;
mod counted;
mod library_writes;
mod made;
mod missing_holder;
mod paths;
mod written;

// Guarded summaries: how they are made and kept.
mod effect_cache;
mod effects;
mod on_edges;
mod order;

// The search: paths, where they meet, loops, and the path that is found.
mod assertions;
mod found;
mod iterations;
mod matches;
mod merge;
mod refused;
mod replay;
mod search;
mod thrown;
mod together;
mod used_at_once;

// For readers and runs.
mod essential;
mod example;
mod inputs;
mod misuse;
mod mstg;
mod unlisted;

pub use caulk_solver::SolverStats;
pub use config::ExploreConfig;
pub use inputs::{Argument, InputPlace, InputValue, Inputs};
pub use kept::Kept;
pub use misuse::{Misuse, MisuseKind, Misused, misuses};
pub use mstg::{JointState, ObjectState, StateGraph, TrackedObject, Transition, state_graph};
pub use refused::Edge;
pub use unlisted::{Unlisted, unlisted};
pub use verdict::{
    Effort, Exploration, Layer, Statistics, Step, Verdict, Witness, explore, explore_keeping, explore_one,
};
