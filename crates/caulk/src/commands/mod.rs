//! One file a command.

pub mod capture;
pub mod ir;
