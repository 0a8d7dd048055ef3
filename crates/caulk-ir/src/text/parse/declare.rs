//! The first round: gives every structure, global and function that the text declares its id, in the order of the text.
//! What is malformed is passed over here; the second round says what is wrong with it.

use crate::text::error::Parsed;
use crate::text::lexer::Token;
use crate::text::words::{STRUCT_KINDS, meaning};
use crate::types::{Pointee, Type};
use crate::unit::{Function, FunctionFlags, Global, Initialiser, Linkage, Param, ParamFlags, Signature};

use super::cursor::Label;
use super::{Declared, Parser};

impl Parser<'_> {
    pub(super) fn declare_all(&mut self) -> Parsed<()> {
        let mut depth = 0usize;
        while !self.cursor.at_end() {
            if depth == 0 {
                self.declare_line()?;
            }
            while !matches!(self.cursor.peek(), Token::Newline | Token::End) {
                match self.cursor.peek() {
                    Token::Mark("{") => depth += 1,
                    Token::Mark("}") => depth = depth.saturating_sub(1),
                    _ => {}
                }
                self.cursor.advance();
            }
            self.cursor.skip_newlines();
        }
        self.cursor.go_to(0);
        Ok(())
    }

    fn declare_line(&mut self) -> Parsed<()> {
        let Token::Word(keyword) = *self.cursor.peek() else { return Ok(()) };
        let start = self.cursor.position();
        if let Some(kind) = meaning(STRUCT_KINDS, keyword) {
            self.cursor.advance();
            let Ok(label) = self.cursor.label("") else { return Ok(()) };
            if self.structs.contains_key(&label) {
                return self.cursor.error_at(start, format!("structure {} is declared twice", label.0));
            }
            self.declare_struct(label, kind);
        } else if matches!(keyword, "global" | "declare" | "define") {
            while matches!(self.cursor.peek(), Token::Word(_)) {
                self.cursor.advance();
            }
            let Ok(label) = self.cursor.symbol_label() else { return Ok(()) };
            if self.symbols.contains_key(&label) {
                return self.cursor.error_at(start, format!("@{} is declared twice", label.0));
            }
            if keyword == "global" {
                self.declare_global(label)
            } else {
                self.declare_function(label)
            };
        }
        // The line is walked through once more for its braces.
        self.cursor.go_to(start);
        Ok(())
    }

    fn declare_global(&mut self, label: Label) {
        let symbol = self.intern(&label.0);
        let id = self.unit.globals.push(Global {
            symbol,
            name: None,
            linkage: Linkage::External,
            size: 0,
            is_const: false,
            thread_local: false,
            pointee: Pointee::default(),
            file: None,
            line: 0,
            init: Initialiser::Zero,
        });
        self.symbols.insert(label, Declared::Global(id));
    }

    fn declare_function(&mut self, label: Label) {
        let signature = Signature { params: Vec::new(), ret: Type::Void, variadic: false };
        self.declare_function_as(label, signature);
    }

    /// Also for a function that is called and never declared: its signature is that of the first call.
    pub(super) fn declare_function_as(&mut self, label: Label, signature: Signature) -> crate::FunctionId {
        let symbol = self.intern(&label.0);
        let param = Param { name: None, flags: ParamFlags::default(), pointee: Pointee::default() };
        let id = self.unit.functions.push(Function {
            symbol,
            name: None,
            linkage: Linkage::External,
            params: vec![param; signature.params.len()],
            signature,
            ret_pointee: Pointee::default(),
            flags: FunctionFlags::default(),
            annotations: Vec::new(),
            file: None,
            line: 0,
            body: None,
            is_definition: false,
        });
        self.symbols.insert(label, Declared::Function(id));
        id
    }
}
