//! From an LLVM module to a unit of core IR.
//!
//! Nothing in a module makes lowering fail: what has no meaning for the analysis becomes an unknown value and is counted.

mod call;
mod constant;
mod debug_types;
mod function;
mod initialiser;
mod instances;
mod instruction;
mod intrinsic;
mod memory;
mod places;
mod signature;
mod terminator;
mod unit;

pub(crate) use unit::lower_unit;
