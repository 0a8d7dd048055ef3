//! What library functions do with memory, as data.
//!
//! This crate owns the TOML files under `models/` (bundled into the program), the schema they follow, users' own model
//! files, and the reading of source attributes as models. `docs/models.md` describes the schema.
//!
//! *Architecture invariant:* nothing here knows the core IR, a call site or an analysis. A [`Model`] is plain data; the
//! engines interpret it.
//! *Architecture invariant:* reading a model file never panics. A wrong one gives a [`ModelError`] with file, line and column.

#![cfg_attr(not(test), warn(clippy::disallowed_methods))]

mod attributes;
mod bundled;
mod condition;
mod containers;
mod error;
mod family;
mod lower;
mod model;
mod model_path;
mod schema;
mod suggest;
mod table;

pub use attributes::{DeclAttributes, ParamAttributes};
pub use condition::{Atom, Comparison, Condition, Operator, Success};
pub use containers::{
    Member, container_member, is_deallocation, is_iterator_member, is_own_pointer_template, is_pointer_container,
    is_self_contained, is_template_of, makes_node, mapped_type, member_name,
};
pub use error::ModelError;
pub use family::{Family, FamilyId, Resource};
pub use model::{EffectKind, Model, ModelEffect, ModelSource, OldBlock, Purity, Varargs};
pub use model_path::{ModelPath, ModelRoot, Pointer};
pub use suggest::nearest;
pub use table::Models;
