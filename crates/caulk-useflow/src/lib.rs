//! Stage one: what every function does with memory, and where it may leak.
//!
//! This crate owns the cheap half of the engine. It follows the objects of each function through sets of alternatives
//! ([`propagate`]), makes summaries of what callers can see ([`summarize`]), bottom-up over the call graph ([`schedule`]),
//! and lists candidates: objects that some path leaves without an owner.
//!
//! *Architecture invariant:* work is bounded per function by [`UseflowConfig`]; when a bound is reached, alternatives
//! merge and the function counts as cut. The result does not depend on the number of threads.

// What a run chooses, and what it lists.
mod bounds;
mod candidate;
mod config;
mod ground;

// One look at every body, before anything is followed.
mod bit_writes;
mod counters;
mod learned;
pub mod modified;
mod nonnull;
mod own_arenas;
mod refcount;
mod set_hooks;
mod survey;
mod write_sets;

// In which order functions are looked at, and what is kept for the next run.
mod kept;
mod relevance;
mod schedule;
mod table_marks;
mod waves;

// One function: its objects, each through its alternatives, and the summary that comes of it.
mod alternative;
mod apart;
mod asked_numbers;
mod backlinks;
mod births;
mod cases;
mod conditions;
mod dereferenced;
mod fact_list;
mod facts;
mod failed_renewal;
mod freed_sisters;
mod freeing_loops;
mod fresh_values;
mod function;
mod guards;
mod history;
mod indexed;
mod memory_throws;
mod numbers;
mod objects;
mod propagate;
mod reached;
mod replaced;
mod saved;
mod sealed;
mod set_flags;
mod settled;
mod stale;
mod steps;
mod summarize;
mod taken_before;
mod throw_needs;
mod which_way;

// What a call does, as far as one function can know.
mod call_effect;
mod callbacks;
mod containers;
mod contract;
mod exceptions;
mod library;
mod library_throws;
mod listed;
mod targets;
mod variadic;

// The whole program, once all summaries are known: structures, their owning fields, and who ends them.
mod agreed_setters;
mod destructors;
mod embedded;
mod first_fills;
mod first_state;
mod from_birth;
mod full_before;
mod fullness;
mod holders;
mod keywords;
mod maybe_ended;
mod numbered;
mod overwrites;
mod private_fields;
mod registered;
mod released;
mod repeated;
mod sisters;
mod slot_table;
mod slots;
mod statics;
mod traffic;
mod twins;
mod uncaught;
mod unfreed;
mod unlinked;

// The same for classes and containers.
mod adopted;
mod algorithms;
mod classes;
mod constructed;
mod dropped_elements;
mod emptied;
mod handed_elements;
mod never_deleted;
mod own_shelves;
mod shelves;
mod shown_fields;

// For readers.
mod declared;
mod dot;
mod escaped;
mod explain;
mod names;
mod owner_name;
mod structure_story;

pub use bit_writes::bit_writes;
pub use call_effect::{CallEffect, effect_of};
pub use candidate::{Candidate, CandidateId, Kind, Loss};
pub use config::UseflowConfig;
pub use declared::slot_name;
pub use dot::useflow_dot;
pub use escaped::{Escaped, escaped};
pub use explain::{Ending, Explainer, ObjectStory, StoryEnd, holder_name};
pub use first_fills::first_fills;
pub use ground::Ground;
pub use kept::Kept;
pub use keywords::compares_texts;
pub use schedule::{Analysis, Statistics, analyse, analyse_keeping};
pub use sealed::Callees;
pub use slots::Slot;
pub use structure_story::{FieldOutcome, FieldStory, StructureEnd, StructureStory};
pub use summarize::Report;
pub use survey::Survey;
pub use table_marks::TableMarks;
