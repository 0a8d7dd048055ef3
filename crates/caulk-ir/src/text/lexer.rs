//! Cuts a text into tokens. Ends of lines are tokens: an instruction is a line.

use std::fmt;

use super::error::{ParseError, Parsed};
use super::label::{Quoted, Symbol, is_identifier_byte, is_symbol_byte};

#[derive(Clone, Debug, PartialEq)]
pub(super) enum Token<'a> {
    Word(&'a str),
    /// `@name` or `@"name"`, without the `@`.
    Symbol(String),
    /// `%name`, without the `%`.
    Value(&'a str),
    Text(String),
    Integer {
        value: u64,
        hex: bool,
    },
    Float(f64),
    Mark(&'static str),
    Newline,
    End,
}

/// Longer marks first, so that they win.
const MARKS: &[&str] = &["...", "->", "(", ")", "{", "}", "[", "]", ",", ":", "=", "+", "-", "*", "#", ".", "&", "@"];

impl fmt::Display for Token<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Token::Word(word) => write!(f, "`{word}`"),
            Token::Symbol(name) => write!(f, "`{}`", Symbol(name)),
            Token::Value(name) => write!(f, "`%{name}`"),
            Token::Text(text) => Quoted(text).fmt(f),
            Token::Integer { value, hex: false } => write!(f, "`{value}`"),
            Token::Integer { value, hex: true } => write!(f, "`{value:#x}`"),
            Token::Float(value) => write!(f, "`{value:?}`"),
            Token::Mark(mark) => write!(f, "`{mark}`"),
            Token::Newline => f.write_str("the end of the line"),
            Token::End => f.write_str("the end of the text"),
        }
    }
}

/// The tokens with where they begin; the last is always [`Token::End`].
pub(super) fn tokens(text: &str) -> Parsed<Vec<(Token<'_>, usize)>> {
    let mut lexer = Lexer { text, at: 0 };
    let mut tokens = Vec::new();
    loop {
        lexer.skip_blanks();
        let start = lexer.at;
        let token = lexer.token()?;
        let done = token == Token::End;
        tokens.push((token, start));
        if done {
            return Ok(tokens);
        }
    }
}

struct Lexer<'a> {
    text: &'a str,
    at: usize,
}

impl<'a> Lexer<'a> {
    fn rest(&self) -> &'a str {
        &self.text[self.at..]
    }

    fn byte(&self, ahead: usize) -> u8 {
        self.text.as_bytes().get(self.at + ahead).copied().unwrap_or(0)
    }

    fn error<T>(&self, message: impl Into<String>) -> Parsed<T> {
        Err(ParseError::new(self.text, self.at, message))
    }

    /// Blanks, and comments up to the end of the line.
    fn skip_blanks(&mut self) {
        self.take_while(|b| matches!(b, b' ' | b'\t' | b'\r'));
        if self.byte(0) == b';' {
            self.at += self.rest().find('\n').unwrap_or(self.rest().len());
        }
    }

    fn take_while(&mut self, accept: impl Fn(u8) -> bool) -> &'a str {
        let rest = self.rest();
        let length = rest.bytes().position(|b| !accept(b)).unwrap_or(rest.len());
        self.at += length;
        // Only ASCII is accepted, so this is the edge of a character.
        &rest[..length]
    }

    fn token(&mut self) -> Parsed<Token<'a>> {
        match self.byte(0) {
            0 if self.rest().is_empty() => Ok(Token::End),
            b'\n' => {
                self.at += 1;
                Ok(Token::Newline)
            }
            b'"' => Ok(Token::Text(self.quoted()?)),
            b'@' => self.symbol(),
            b'%' => {
                self.at += 1;
                match self.take_while(is_symbol_byte) {
                    "" => self.error("expected the name of a value after `%`"),
                    name => Ok(Token::Value(name)),
                }
            }
            b'0'..=b'9' => self.number(),
            b if is_identifier_byte(b) => Ok(Token::Word(self.take_while(is_identifier_byte))),
            _ => self.mark(),
        }
    }

    /// An `@` with blanks or a number after it begins a place.
    fn symbol(&mut self) -> Parsed<Token<'a>> {
        self.at += 1;
        match self.byte(0) {
            b'"' => Ok(Token::Symbol(self.quoted()?)),
            b if is_symbol_byte(b) && !b.is_ascii_digit() => {
                Ok(Token::Symbol(self.take_while(is_symbol_byte).to_owned()))
            }
            _ => Ok(Token::Mark("@")),
        }
    }

    fn mark(&mut self) -> Parsed<Token<'a>> {
        match MARKS.iter().find(|m| self.rest().starts_with(**m)) {
            Some(mark) => {
                self.at += mark.len();
                Ok(Token::Mark(mark))
            }
            None => {
                let c = self.rest().chars().next().unwrap_or(' ');
                self.error(format!("{c:?} means nothing here"))
            }
        }
    }

    fn number(&mut self) -> Parsed<Token<'a>> {
        let start = self.at;
        if self.rest().starts_with("0x") {
            self.at += 2;
            let digits = self.take_while(|b| b.is_ascii_alphanumeric());
            return match u64::from_str_radix(digits, 16) {
                Ok(value) => Ok(Token::Integer { value, hex: true }),
                Err(_) => self.error("expected up to 16 hexadecimal digits"),
            };
        }
        let integer = self.take_while(|b| b.is_ascii_digit());
        let mut whole = true;
        if self.byte(0) == b'.' && self.byte(1).is_ascii_digit() {
            self.at += 1;
            self.take_while(|b| b.is_ascii_digit());
            whole = false;
        }
        let sign = usize::from(matches!(self.byte(1), b'+' | b'-'));
        if self.byte(0) == b'e' && self.byte(1 + sign).is_ascii_digit() {
            self.at += 1 + sign;
            self.take_while(|b| b.is_ascii_digit());
            whole = false;
        }
        if whole {
            return match integer.parse() {
                Ok(value) => Ok(Token::Integer { value, hex: false }),
                Err(_) => self.error("the number is too large for 64 bits"),
            };
        }
        match self.text[start..self.at].parse() {
            Ok(value) => Ok(Token::Float(value)),
            Err(_) => self.error("expected a number"),
        }
    }

    fn quoted(&mut self) -> Parsed<String> {
        self.at += 1;
        let mut out = String::new();
        loop {
            let Some(c) = self.rest().chars().next().filter(|c| *c != '\n') else {
                return self.error("expected `\"` before the end of the line");
            };
            self.at += c.len_utf8();
            match c {
                '"' => return Ok(out),
                '\\' => out.push(self.escape()?),
                c => out.push(c),
            }
        }
    }

    fn escape(&mut self) -> Parsed<char> {
        let c = match self.byte(0) {
            b'n' => '\n',
            b't' => '\t',
            b'r' => '\r',
            b'"' => '"',
            b'\\' => '\\',
            b'u' => return self.code_point(),
            _ => return self.error("expected one of n, t, r, \", \\ and u{...} after `\\`"),
        };
        self.at += 1;
        Ok(c)
    }

    /// `u{1f}`.
    fn code_point(&mut self) -> Parsed<char> {
        let (start, rest) = (self.at, self.rest());
        let digits = rest.strip_prefix("u{").and_then(|r| r.split_once('}')).map(|r| r.0);
        let code = digits.filter(|d| d.bytes().all(|b| b.is_ascii_hexdigit()));
        match code.and_then(|d| u32::from_str_radix(d, 16).ok()).and_then(char::from_u32) {
            Some(c) => {
                self.at = start + "u{}".len() + digits.map_or(0, str::len);
                Ok(c)
            }
            None => self.error("expected a character such as u{1f}"),
        }
    }
}
