//! Stage one: what every function does with memory, and where it may leak.
//!
//! This crate owns the cheap half of the engine. It follows the objects of each function through sets of alternatives
//! ([`propagate`]), makes summaries of what callers can see ([`summarize`]), bottom-up over the call graph ([`schedule`]),
//! and lists candidates: objects that some path leaves without an owner.
//!
//! *Architecture invariant:* work is bounded per function by [`UseflowConfig`]; when a bound is reached, alternatives
//! merge and the function counts as cut. The result does not depend on the number of threads.

mod adopted;
mod agreed_setters;
mod alternative;
mod apart;
mod asked_numbers;
mod backlinks;
mod births;
mod callbacks;
mod candidate;
mod cases;
mod classes;
mod config;
mod constructed;
mod containers;
mod contract;
mod counters;
mod dereferenced;
mod destructors;
mod dot;
mod dropped_elements;
mod embedded;
mod emptied;
mod exceptions;
mod explain;
mod fact_list;
mod facts;
mod first_state;
mod freeing_loops;
mod fresh_values;
mod from_birth;
mod full_before;
mod fullness;
mod function;
mod ground;
mod guards;
mod history;
mod holders;
mod indexed;
mod kept;
mod keywords;
mod learned;
mod library;
mod library_throws;
mod maybe_ended;
mod memory_throws;
pub mod modified;
mod names;
mod nonnull;
mod numbers;
mod objects;
mod overwrites;
mod private_fields;
mod propagate;
mod refcount;
mod registered;
mod released;
mod repeated;
mod replaced;
mod saved;
mod schedule;
mod set_flags;
mod settled;
mod shelves;
mod shown_fields;
mod sisters;
mod slot_table;
mod slots;
mod stale;
mod steps;
mod summarize;
mod survey;
mod swallow;
mod table_marks;
mod taken_before;
mod targets;
mod throw_needs;
mod traffic;
mod twins;
mod uncaught;
mod unfreed;
mod unlinked;
mod variadic;
mod which_way;

pub use candidate::{Candidate, CandidateId, Kind, Loss};
pub use config::UseflowConfig;
pub use dot::useflow_dot;
pub use explain::{Explainer, ObjectStory, StoryEnd, Verdict, holder_name};
pub use function::{CallEffect, effect_of};
pub use ground::Ground;
pub use kept::Kept;
pub use keywords::compares_texts;
pub use schedule::{Analysis, Statistics, analyse, analyse_keeping};
pub use slots::Slot;
pub use summarize::Report;
pub use survey::Survey;
pub use swallow::{Swallowed, swallowed};
pub use table_marks::TableMarks;
