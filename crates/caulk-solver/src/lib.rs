//! Conditions of Caulk: a conjunction of terms in, satisfiable / unsatisfiable / unknown out.
//!
//! This crate owns hash-consed terms over bit-vectors and pointers ([`TermPool`]), what is known on a path ([`Facts`]),
//! and the layers that answer questions about it.
//! Questions go from cheap to expensive, and [`SolverStats`] counts who answered:
//!
//! 1. simplification when a term is built, and `a` against `not a` when it is assumed;
//! 2. domains: intervals, known bits, excluded constants, equalities with offsets;
//! 3. an example: values that make every fact true, kept from the last question or repaired locally;
//! 4. Z3, on the connected part of the facts that nothing above could answer, under a resource limit.
//!
//! *Architecture invariant:* the only crate that links Z3, and `z3.rs` the only file of it that calls Z3. No program, no
//! source place and no memory model in here: a symbol is a number with a width, and its meaning belongs to the client.
//!
//! *Architecture invariant:* same terms in the same order, same answers. Nothing here depends on time, on addresses or on the
//! order of a hash map, and what one [`TermPool`] was asked never changes an answer about another.
//!
//! # What a term means
//! Terms follow LLVM: arithmetic marked no-wrap that wraps, division by zero and shifts beyond the width have *no value*.
//! A fact that has no value does not hold, for the program would have no meaning there. The arm of an `ite` that is not
//! chosen, and the other operand of a false `and`, do not matter. [`TermPool::evaluate`] is that definition.

pub mod bits;
mod build;
pub mod config;
mod evaluate;
pub mod facts;
pub mod known;
mod node;
mod pool;
mod print;
mod solver;
pub mod stats;
mod substitute;
mod z3;

pub use config::SolverConfig;
pub use facts::{Answer, Consistency, Facts};
pub use known::Known;
pub use node::{BinaryOp, Comparison, NoWrap, Node, SymbolId, TermId};
pub use pool::TermPool;
pub use solver::{Model, Solver};
pub use stats::SolverStats;
