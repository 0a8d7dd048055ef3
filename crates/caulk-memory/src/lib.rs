//! How Caulk names memory.
//!
//! This crate owns access paths as they stand in summaries ([`AccessPath`]), the table of values and cells of one function
//! ([`ValueTable`]), the classes of cells by which writes are distinguished ([`Class`]), and the comparisons of values with
//! constants that paths are distinguished by ([`Relation`]).
//!
//! *Architecture invariant:* nothing here knows what is allocated or freed; it only says which names mean one thing.

mod access_path;
mod bounds;
mod class;
mod offset;
mod relation;
mod values;

pub use access_path::{AccessPath, PathRoot, PathStep};
pub use class::Class;
pub use offset::Offset;
pub use relation::Relation;
pub use values::{Cell, ValueId, ValueNode, ValueTable};
