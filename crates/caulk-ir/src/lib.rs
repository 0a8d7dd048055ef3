//! The core program of Caulk: what every later part works on.
//!
//! This crate owns the shape of a lowered translation unit ([`Unit`]): its functions, blocks and SSA instructions, its
//! structure types with their layout, its global variables with their initialisers, and the place in the source of
//! everything. It also owns the text form ([`text`]), the verifier ([`verify`]) and the packed form that goes into the
//! cache ([`pack`]), and what all analyses ask of a body ([`outline`]).
//!
//! *Architecture invariant:* no LLVM, no file system and no analysis of memory in here. The front end makes units, everyone else
//! reads them. A unit that passes the verifier never makes a later part panic.

pub mod body;
pub mod constant;
pub mod cpp_names;
pub mod demangle;
pub mod dominators;
pub mod entity;
pub mod flow;
pub mod inst;
pub mod liveness;
pub mod outline;
pub mod pack;
pub mod place;
pub mod sets;
pub mod shape;
pub mod text;
pub mod types;
pub mod unit;
pub mod verify;

pub use body::{Block, Body, Variable};
pub use constant::Constant;
pub use dominators::DominatorTree;
pub use entity::{
    BlockId, ConstId, Entity, EntitySet, EntityVec, FileId, FunctionId, GlobalId, InstId, PlaceId, SecondaryMap, StrId,
    StructId, VarId,
};
pub use inst::{
    AddressStep, ArithFlags, BinaryOp, CallData, CallFlags, Callee, CastOp, CompareOp, Inst, Operand, UnknownReason,
};
pub use liveness::Liveness;
pub use outline::Outline;
pub use pack::PackedUnit;
pub use place::{Inlined, Place};
pub use sets::EntitySets;
pub use shape::{Mention, Shape, line_at, line_below};
pub use types::{Field, Pointee, StructKind, StructType, Type};
pub use unit::{
    Alias, AliasTarget, Function, FunctionFlags, Global, InitItem, Initialiser, Linkage, Param, ParamFlags, Signature,
    Strings, Unit,
};
