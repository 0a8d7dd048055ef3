//! Types and constants.

use crate::constant::{Constant, truncate};
use crate::entity::GlobalId;
use crate::text::error::Parsed;
use crate::text::lexer::Token;
use crate::text::words::type_of_word;
use crate::types::Type;

use super::{Declared, Parser};

impl Parser<'_> {
    pub(super) fn ty(&mut self) -> Parsed<Type> {
        let Token::Word(word) = *self.cursor.peek() else { return self.cursor.expected("a type") };
        let Some(ty) = type_of_word(word) else { return self.cursor.expected("a type") };
        self.cursor.advance();
        Ok(ty)
    }

    /// A constant; `context` is its type when it does not say one itself.
    pub(super) fn constant(&mut self, context: Option<Type>) -> Parsed<Constant> {
        match self.cursor.peek() {
            Token::Word(word) => {
                let word = *word;
                self.word_constant(word, context)
            }
            Token::Symbol(_) => self.global_constant(),
            Token::Mark("&") => {
                self.cursor.advance();
                self.function_constant()
            }
            Token::Integer { .. } | Token::Float(_) | Token::Mark("-") => self.number_constant(context),
            _ => self.cursor.expected("a value or a constant"),
        }
    }

    fn word_constant(&mut self, word: &str, context: Option<Type>) -> Parsed<Constant> {
        let typed: fn(Type) -> Constant = match word {
            "zero" => Constant::Zero,
            "undef" => Constant::Undef,
            "opaque" => Constant::Opaque,
            "null" | "true" | "false" => {
                self.cursor.advance();
                return Ok(match word {
                    "null" => Constant::Null,
                    _ => Constant::Int { bits: 1, value: u64::from(word == "true") },
                });
            }
            "ptr" => {
                self.cursor.advance();
                self.cursor.expect("(")?;
                let value = self.bits(64, false)?;
                self.cursor.expect(")")?;
                return Ok(Constant::Pointer(value));
            }
            _ => return self.cursor.expected("a value or a constant"),
        };
        self.cursor.advance();
        Ok(typed(self.constant_type(context)?))
    }

    /// `:i32`, or the type of the context.
    fn constant_type(&mut self, context: Option<Type>) -> Parsed<Type> {
        if self.cursor.eat(":") {
            return self.ty();
        }
        match context {
            Some(ty) => Ok(ty),
            None => self.cursor.expected("the type of the constant, such as `:i32`"),
        }
    }

    fn global_constant(&mut self) -> Parsed<Constant> {
        let position = self.cursor.position();
        let label = self.cursor.symbol_label()?;
        match self.symbols.get(&label) {
            Some(Declared::Global(global)) => self.global_offset(*global),
            Some(Declared::Function(_)) => {
                self.cursor.error_at(position, format!("@{0} is a function: write `&@{0}` for its address", label.0))
            }
            None => self.cursor.error_at(position, format!("there is no global @{}", label.0)),
        }
    }

    /// `+8`, `-8`, or nothing.
    pub(super) fn global_offset(&mut self, global: GlobalId) -> Parsed<Constant> {
        let offset = if self.cursor.sees("+") || self.cursor.sees("-") { self.offset()? } else { 0 };
        Ok(Constant::Global { global, offset })
    }

    /// `+8` or `-8`.
    pub(super) fn offset(&mut self) -> Parsed<i64> {
        let position = self.cursor.position();
        self.cursor.eat("+");
        let offset = self.cursor.signed("an offset in bytes")?;
        i64::try_from(offset).or_else(|_| self.cursor.error_at(position, "the offset is too large for 64 bits"))
    }

    fn function_constant(&mut self) -> Parsed<Constant> {
        let position = self.cursor.position();
        let label = self.cursor.symbol_label()?;
        match self.symbols.get(&label) {
            Some(Declared::Function(function)) => Ok(Constant::Function(*function)),
            _ => self.cursor.error_at(position, format!("there is no function @{}", label.0)),
        }
    }

    fn number_constant(&mut self, context: Option<Type>) -> Parsed<Constant> {
        let start = self.cursor.position();
        // The type comes after the number, and says how to read it.
        self.cursor.eat("-");
        if !matches!(self.cursor.peek(), Token::Integer { .. } | Token::Float(_)) {
            return self.cursor.expected("a number");
        }
        self.cursor.advance();
        let ty = self.constant_type(context)?;
        let end = self.cursor.position();
        self.cursor.go_to(start);
        let constant = match ty {
            Type::Int(bits @ 1..=64) => Constant::Int { bits, value: self.bits(bits, true)? },
            Type::Float(bits) => Constant::Float { bits, value: self.float()? },
            _ => return self.cursor.error(format!("a number cannot be of type {ty}")),
        };
        self.cursor.go_to(end);
        Ok(constant)
    }

    /// A number of so many bits, signed or not.
    pub(super) fn bits(&mut self, bits: u16, typed: bool) -> Parsed<u64> {
        let position = self.cursor.position();
        let number = self.cursor.signed("a whole number")?;
        let half = 1i128 << (bits.min(64) - 1);
        if number < -half || number >= 2 * half {
            let ty = if typed { format!("i{bits}") } else { format!("{bits} bits") };
            return self.cursor.error_at(position, format!("{number} does not fit into {ty}"));
        }
        Ok(truncate(number as u64, bits))
    }

    /// As a number, or as the bits of a double in hexadecimal.
    fn float(&mut self) -> Parsed<u64> {
        let negative = self.cursor.eat("-");
        let number = match *self.cursor.peek() {
            Token::Float(number) => number,
            Token::Integer { value, hex: true } if !negative => return Ok(value),
            Token::Integer { value, hex: false } => value as f64,
            _ => return self.cursor.expected("a number"),
        };
        Ok((if negative { -number } else { number }).to_bits())
    }
}
