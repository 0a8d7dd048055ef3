//! Linking and the call graph, on a few lines of IR each.

mod graphs;
mod linkage;
mod pointers;
mod programs;
mod support;
mod types;
mod variables;
mod virtual_calls;
