//! Links lowered units into one program with a call graph.
//!
//! This crate owns what only the whole program knows: which definition a symbol means (`link`, and `programs` where
//! several programs share a database), which structure types are the same (`types`), what every call may reach
//! (`calls`, through function pointers in `pointers` and virtual calls in `virtual_calls`), which variables and results
//! never change (`constants`) or only pass values down (`carriers`), and in which order functions are analysed bottom-up
//! (`scc`).
//!
//! *Architecture invariants:* no file system, no LLVM, no knowledge of allocation: that `free` frees is said elsewhere.
//! Units are never changed. Every body is decoded once while linking and then only when asked for. The program is the same
//! for any number of threads: what runs in parallel is collected in order, and no hash map is iterated unsorted.

mod assembly;
mod bounds;
mod built;
mod calls;
mod carriers;
mod config;
mod constants;
mod dot;
mod errno;
mod extract;
mod facts;
mod formulas;
mod identity;
mod ids;
mod indirect;
mod inline_assembly;
mod link;
mod locate;
mod looks;
mod lookup;
mod marks;
mod names;
mod nearness;
mod outside;
mod pointers;
mod program;
mod programs;
pub mod reads;
mod scc;
mod symbols;
mod totals;
mod types;
mod variables;
mod virtual_calls;
mod virtual_sites;

pub use calls::{CallKind, CallSite, Resolution};
pub use config::ProgramConfig;
pub use dot::{DEFAULT_DEPTH, calls_dot, cfg_dot};
pub use errno::copied_errnos;
pub use formulas::{compute_binary, compute_comparison};
pub use ids::{FuncId, GlobalVarId, TypeId, UnitId};
pub use looks::only_reads;
pub use marks::{Marks, Shapes, mark};
pub use names::{Named, Names};
pub use program::{FunctionInfo, GlobalInfo, Program, UnitInput};
pub use totals::Totals;
pub use types::{FieldInfo, Spot, TypeInfo, Types};
pub use variables::constant_result;
pub use virtual_calls::{is_constructor, is_destructor};
