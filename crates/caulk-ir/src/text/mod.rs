//! The text form of a unit: it prints and parses, so that every analysis can be tested on a few lines of IR without a
//! compiler in the way.
//!
//! Nothing in a unit is left out, and what has a default may be left out. Printing a parsed unit gives a canonical text:
//! values and blocks numbered in order, every table spelled out. Strings, constants and places stand where they are
//! used, so their tables are not printed, and are rebuilt in the order of use.

mod error;
mod label;
mod lexer;
mod parse;
mod print;
mod print_body;
mod words;

use std::fmt;

use crate::body::Body;
use crate::entity::{FunctionId, InstId};
use crate::unit::Unit;

pub use error::ParseError;
pub(crate) use print::Printer;

/// Reads a unit. What it reads need not make sense: ask [`crate::verify`].
pub fn parse_unit(text: &str) -> Result<Unit, ParseError> {
    parse::parse(text)
}

/// The whole unit as text.
pub fn print_unit(unit: &Unit) -> String {
    let mut out = String::new();
    write_unit(&mut out, unit).expect("writing to a string never fails");
    out
}

/// One function as text. The body comes apart from the unit, because a packed unit keeps it apart.
pub fn print_function(unit: &Unit, function: FunctionId, body: &Body) -> String {
    let mut out = String::new();
    write_function(&mut out, unit, function, body).expect("writing to a string never fails");
    out
}

/// One instruction as text, without its place; for messages.
pub fn print_inst(unit: &Unit, function: FunctionId, body: &Body, inst: InstId) -> String {
    Printer::new(unit).body(function, body).inst(inst)
}

pub fn write_unit(out: &mut dyn fmt::Write, unit: &Unit) -> fmt::Result {
    Printer::new(unit).unit(out)
}

pub fn write_function(out: &mut dyn fmt::Write, unit: &Unit, function: FunctionId, body: &Body) -> fmt::Result {
    Printer::new(unit).function(out, function, Some(body))
}
