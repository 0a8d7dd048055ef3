//! How names are written: plain where they are identifiers, quoted where not, and numbered where several things share a
//! name (`n#2` is the second `n`).

use std::collections::HashMap;
use std::fmt;

use crate::entity::StrId;
use crate::unit::Unit;

/// A string between quotes.
pub(super) struct Quoted<'a>(pub &'a str);

impl fmt::Display for Quoted<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("\"")?;
        let mut before = ' ';
        for c in self.0.chars() {
            match c {
                '"' => f.write_str("\\\"")?,
                '\\' => f.write_str("\\\\")?,
                '\n' => f.write_str("\\n")?,
                '\t' => f.write_str("\\t")?,
                '\r' => f.write_str("\\r")?,
                // `##[` begins a command to some services that keep logs.
                '#' if before == '#' => f.write_str("\\u{23}")?,
                // Neither those that a terminal obeys nor those that turn text around.
                c if c != '\'' && c.escape_debug().len() > 1 => write!(f, "\\u{{{:x}}}", u32::from(c))?,
                c => write!(f, "{c}")?,
            }
            before = c;
        }
        f.write_str("\"")
    }
}

/// A name that is quoted only when it must be.
pub(super) struct Name<'a>(pub &'a str);

/// Words that would be read as something else where a name may stand.
const RESERVED: &[&str] = &["_", "const", "fn"];

impl fmt::Display for Name<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if is_identifier(self.0) && !RESERVED.contains(&self.0) { f.write_str(self.0) } else { Quoted(self.0).fmt(f) }
    }
}

/// The symbol of a function or global, after its `@`.
pub(super) struct Symbol<'a>(pub &'a str);

impl fmt::Display for Symbol<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut bytes = self.0.bytes();
        // A digit at the start would be read as a place.
        let plain = bytes.next().is_some_and(|b| is_symbol_byte(b) && !b.is_ascii_digit()) && bytes.all(is_symbol_byte);
        if plain { write!(f, "@{}", self.0) } else { write!(f, "@{}", Quoted(self.0)) }
    }
}

pub(super) fn is_identifier(text: &str) -> bool {
    !text.is_empty() && !text.as_bytes()[0].is_ascii_digit() && text.bytes().all(is_identifier_byte)
}

pub(super) fn is_identifier_byte(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || byte == b'_'
}

pub(super) fn is_symbol_byte(byte: u8) -> bool {
    is_identifier_byte(byte) || byte == b'.' || byte == b'$'
}

/// Which of the things that share its name each thing is, counted from 1.
#[derive(Default)]
pub(super) struct Ordinals<'a> {
    seen: HashMap<&'a str, u32>,
}

impl<'a> Ordinals<'a> {
    pub(crate) fn next(&mut self, name: &'a str) -> u32 {
        let count = self.seen.entry(name).or_default();
        *count += 1;
        *count
    }
}

/// What follows a name to tell it from others: nothing for the first.
pub(super) struct Ordinal(pub u32);

impl fmt::Display for Ordinal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.0 > 1 { write!(f, "#{}", self.0) } else { Ok(()) }
    }
}

/// A string of the unit. Printing must work on a damaged unit too: the verifier shows what is wrong in the text form.
pub(super) fn string(unit: &Unit, id: StrId) -> &str {
    if unit.strings.contains(id) { unit.strings.get(id) } else { "<no such string>" }
}
