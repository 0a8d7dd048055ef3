//! The text form of a unit: it prints and parses, so that every analysis can be tested on a few lines of IR without a
//! compiler in the way.
//!
//! Nothing in a unit is left out, and what has a default may be left out. Printing a parsed unit gives a canonical text:
//! values and blocks numbered in order, every table spelled out. Strings, constants and places stand where they are
//! used, so their tables are not printed, and are rebuilt in the order of use.
//!
//! ```text
//! unit "list.c" pointer 8                          ; may be left out, then 64 bits
//! file 0 "/src/list.c"                             ; left out: the source of the unit alone; `no files`: none
//! unknown intrinsic 3                              ; how many values are unknown, and why
//! struct node size 16 identity "_ZTS4node" {       ; or union, class; size left out: up to the last field
//!   next: 0 size 8 -> *node                        ; `_` for no name; `base` after the size; size left out: a pointer
//! }
//! global internal @head size 8 const thread_local name head at 0:3 -> *node = zero
//! global @table size 16 = { +0 &@parse, +8 3:i32, ... }        ; `...`: not all of it
//! global @message size 3 = "hi"                    ; or `external`
//! alias weak @first = @head
//! declare @malloc(i64) -> ptr fresh_result alloc_size 0        ; a function called and never declared needs no line
//! define internal @parse(s: ptr read_only -> const *, i32, ...) -> i32 name parse at 0:8 {
//!   var n line 9 -> *node                          ; a variable used and never declared needs no line
//! block0:                                          ; any word; the first block needs none
//!   %2 = call ptr @malloc(i64 16) no_unwind        @ 9:22
//!   bind n, %2                                     @ 9:18 inlined helper at 12:3
//!   %4 = address %2, node.next, node+8, +4, [2 * 16], [%1 * 16]
//!   return 0
//! }
//! ```
//!
//! - One line is one instruction; `;` begins a comment. Lists in brackets and braces may go over several lines.
//! - Types: `void`, `i32`, `f64`, `ptr`, `vec16` and `agg16` (sizes in bytes).
//! - Constants: `32:i64`, `true`, `null`, `ptr(-1)`, `@global+8`, `&@function`, `1.5:f64`, `zero:agg16`, `undef:i32`,
//!   `opaque:vec16`. The type may be left out where it stands before the operand or can be only one: addresses are `ptr`,
//!   lengths and counts `i64`, the byte of `fill` is `i8`, conditions are `i1`, and `return` has the type of the function.
//! - `-> const **node` tells what the source says a pointer points to: always last, since a name can follow.
//! - Names that are no identifiers are quoted. `n#2` is the second thing called `n`.
//! - A parameter is `%0`, `%1` and so on, or its name. Other values are called anything, and printed by their number.
//! - A field step is `struct.field`, or `struct+offset` where the name would not be clear.
//! - A place is `@ line:column` in the file of the function (file 0 if it has none), or `@ file:line:column`.
//!
//! All instructions stand in `tests/units/everything.ir`.

mod error;
mod label;
mod lexer;
mod parse;
mod print;
mod print_body;
mod words;

use std::fmt;

use crate::body::Body;
use crate::entity::FunctionId;
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

pub fn write_unit(out: &mut dyn fmt::Write, unit: &Unit) -> fmt::Result {
    Printer::new(unit).unit(out)
}

pub fn write_function(out: &mut dyn fmt::Write, unit: &Unit, function: FunctionId, body: &Body) -> fmt::Result {
    Printer::new(unit).function(out, function, Some(body))
}
