//! Reads the text form.
//!
//! Three passes, so that order in the text does not matter: the first finds what is declared, the second reads all
//! declarations, the third the bodies.

mod body;
mod constant;
mod cursor;
mod declare;
mod inst;
mod item;
mod place;

use std::collections::HashMap;

use crate::entity::{FunctionId, GlobalId, StrId, StructId};
use crate::types::{Pointee, StructKind, StructType};
use crate::unit::Unit;

use super::error::Parsed;
use super::lexer::Token;
use cursor::{Cursor, Label};
use place::PlaceChain;

/// The size of a pointer when the text does not say.
const POINTER_BYTES: u8 = 8;

pub(super) fn parse(text: &str) -> Parsed<Unit> {
    let unit = Unit { pointer_bytes: POINTER_BYTES, ..Unit::default() };
    let mut parser = Parser {
        cursor: Cursor::new(text)?,
        unit,
        structs: HashMap::new(),
        symbols: HashMap::new(),
        bodies: Vec::new(),
    };
    parser.declare_all()?;
    parser.items()?;
    for pending in std::mem::take(&mut parser.bodies) {
        parser.body(pending)?;
    }
    Ok(parser.unit)
}

struct Parser<'a> {
    cursor: Cursor<'a>,
    unit: Unit,
    structs: HashMap<Label, StructId>,
    symbols: HashMap<Label, Declared>,
    bodies: Vec<PendingBody>,
}

#[derive(Clone, Copy)]
enum Declared {
    Function(FunctionId),
    Global(GlobalId),
}

/// A body that is read once all declarations are known.
struct PendingBody {
    function: FunctionId,
    /// Of the first token behind the opening brace.
    position: usize,
    param_places: Vec<PlaceChain>,
}

impl Parser<'_> {
    fn intern(&mut self, text: &str) -> StrId {
        self.unit.strings.intern(text)
    }

    /// A structure by its label. One that is not declared is taken to be declared without a layout.
    fn struct_ref(&mut self) -> Parsed<StructId> {
        let position = self.cursor.position();
        let label = self.cursor.label("the name of a structure")?;
        if let Some(id) = self.structs.get(&label) {
            return Ok(*id);
        }
        if label.1 != 1 {
            return self.cursor.error_at(position, format!("there is no structure {}#{}", label.0, label.1));
        }
        Ok(self.declare_struct(label, StructKind::Struct))
    }

    fn declare_struct(&mut self, label: Label, kind: StructKind) -> StructId {
        let name = self.intern(&label.0);
        let id = self.unit.structs.push(StructType { name, identity: None, kind, size: 0, fields: Vec::new() });
        self.structs.insert(label, id);
        id
    }

    /// `-> const **node`, or nothing.
    fn arrow_pointee(&mut self) -> Parsed<Pointee> {
        if self.cursor.eat("->") { self.pointee() } else { Ok(Pointee::default()) }
    }

    fn pointee(&mut self) -> Parsed<Pointee> {
        let start = self.cursor.position();
        let is_const = self.cursor.eat_word("const");
        let mut depth = 0u8;
        while self.cursor.sees("*") {
            depth = match depth.checked_add(1) {
                Some(depth) => depth,
                None => return self.cursor.error("more levels of pointers than any program has"),
            };
            self.cursor.advance();
        }
        let is_function = self.cursor.eat_word("fn");
        let named = matches!(self.cursor.peek(), Token::Word(_) | Token::Text(_));
        let target = if named { Some(self.struct_ref()?) } else { None };
        if self.cursor.position() == start {
            return self.cursor.expected("what is pointed to, such as `const *node`");
        }
        Ok(Pointee { depth, target, is_const, is_function })
    }
}
