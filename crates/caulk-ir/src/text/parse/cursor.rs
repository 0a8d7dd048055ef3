//! A place in the tokens, and the small questions asked there.

use crate::text::error::{ParseError, Parsed};
use crate::text::lexer::{Token, tokens};

pub(super) struct Cursor<'a> {
    text: &'a str,
    tokens: Vec<(Token<'a>, usize)>,
    next: usize,
}

impl<'a> Cursor<'a> {
    pub(crate) fn new(text: &'a str) -> Parsed<Self> {
        Ok(Self { text, tokens: tokens(text)?, next: 0 })
    }

    /// The token after `ahead` others; beyond the end it stays the end.
    pub(crate) fn look(&self, ahead: usize) -> &Token<'a> {
        let last = self.tokens.len() - 1;
        &self.tokens[(self.next + ahead).min(last)].0
    }

    pub(crate) fn peek(&self) -> &Token<'a> {
        self.look(0)
    }

    pub(crate) fn advance(&mut self) {
        self.next = (self.next + 1).min(self.tokens.len() - 1);
    }

    /// Where the next token stands, to come back to it.
    pub(crate) fn position(&self) -> usize {
        self.next
    }

    pub(crate) fn go_to(&mut self, position: usize) {
        self.next = position.min(self.tokens.len() - 1);
    }

    pub(crate) fn at_end(&self) -> bool {
        *self.peek() == Token::End
    }

    pub(crate) fn error_at<T>(&self, position: usize, message: impl Into<String>) -> Parsed<T> {
        let last = self.tokens.len() - 1;
        Err(ParseError::new(self.text, self.tokens[position.min(last)].1, message))
    }

    pub(crate) fn error<T>(&self, message: impl Into<String>) -> Parsed<T> {
        self.error_at(self.next, message)
    }

    pub(crate) fn expected<T>(&self, what: &str) -> Parsed<T> {
        self.error(format!("expected {what}, found {}", self.peek()))
    }

    pub(crate) fn sees(&self, mark: &str) -> bool {
        matches!(self.peek(), Token::Mark(m) if *m == mark)
    }

    pub(crate) fn eat(&mut self, mark: &str) -> bool {
        let seen = self.sees(mark);
        if seen {
            self.advance();
        }
        seen
    }

    pub(crate) fn expect(&mut self, mark: &str) -> Parsed<()> {
        if self.eat(mark) { Ok(()) } else { self.expected(&format!("`{mark}`")) }
    }

    pub(crate) fn sees_word(&self, word: &str) -> bool {
        matches!(self.peek(), Token::Word(w) if *w == word)
    }

    pub(crate) fn eat_word(&mut self, word: &str) -> bool {
        let seen = self.sees_word(word);
        if seen {
            self.advance();
        }
        seen
    }

    pub(crate) fn expect_word(&mut self, word: &str) -> Parsed<()> {
        if self.eat_word(word) { Ok(()) } else { self.expected(&format!("`{word}`")) }
    }

    pub(crate) fn skip_newlines(&mut self) {
        while *self.peek() == Token::Newline {
            self.advance();
        }
    }

    /// A closing brace may stand on the last line of what it closes.
    pub(crate) fn end_of_line(&mut self) -> Parsed<()> {
        match self.peek() {
            Token::Newline => {
                self.skip_newlines();
                Ok(())
            }
            Token::End | Token::Mark("}") => Ok(()),
            _ => self.expected("the end of the line"),
        }
    }

    /// From behind an opening brace to behind the one that closes it.
    pub(crate) fn skip_braces(&mut self) -> Parsed<()> {
        let start = self.next;
        let mut depth = 1;
        while depth > 0 {
            match self.peek() {
                Token::Mark("{") => depth += 1,
                Token::Mark("}") => depth -= 1,
                Token::End => return self.error_at(start, "expected a `}` that closes this"),
                _ => {}
            }
            self.advance();
        }
        Ok(())
    }

    /// Whether another item of the list follows; passes what stands between them, and the closing mark.
    pub(crate) fn more(&mut self, list: &mut List) -> Parsed<bool> {
        self.skip_newlines();
        if !std::mem::take(&mut list.first) && !self.eat(",") && !self.sees(list.close) {
            return self.expected(&format!("`,` or `{}`", list.close));
        }
        self.skip_newlines();
        Ok(!self.eat(list.close))
    }

    pub(crate) fn number<T: TryFrom<u64>>(&mut self, what: &str) -> Parsed<T> {
        let Token::Integer { value, .. } = *self.peek() else {
            return self.expected(what);
        };
        match T::try_from(value) {
            Ok(number) => {
                self.advance();
                Ok(number)
            }
            Err(_) => self.error(format!("{value} is too large for {what}")),
        }
    }

    /// A number with its sign; 64 bits, signed or not.
    pub(crate) fn signed(&mut self, what: &str) -> Parsed<i128> {
        let negative = self.eat("-");
        let value = i128::from(self.number::<u64>(what)?);
        Ok(if negative { -value } else { value })
    }

    pub(crate) fn text(&mut self, what: &str) -> Parsed<String> {
        let Token::Text(text) = self.peek() else {
            return self.expected(what);
        };
        let text = text.clone();
        self.advance();
        Ok(text)
    }

    /// A name, quoted or not.
    pub(crate) fn name(&mut self, what: &str) -> Parsed<String> {
        match self.peek() {
            Token::Word(word) => {
                let word = (*word).to_owned();
                self.advance();
                Ok(word)
            }
            _ => self.text(what),
        }
    }

    pub(crate) fn symbol(&mut self) -> Parsed<String> {
        let Token::Symbol(symbol) = self.peek() else {
            return self.expected("a symbol such as `@main`");
        };
        let symbol = symbol.clone();
        self.advance();
        Ok(symbol)
    }

    /// Which of the things of one name: `#2`, or nothing for the first.
    pub(crate) fn ordinal(&mut self) -> Parsed<u32> {
        if self.eat("#") { self.number("a number such as `#2`") } else { Ok(1) }
    }

    pub(crate) fn label(&mut self, what: &str) -> Parsed<Label> {
        Ok((self.name(what)?, self.ordinal()?))
    }

    pub(crate) fn symbol_label(&mut self) -> Parsed<Label> {
        Ok((self.symbol()?, self.ordinal()?))
    }
}

/// Items separated by commas, on as many lines as it takes, up to a closing mark.
pub(super) struct List {
    close: &'static str,
    first: bool,
}

impl List {
    pub(crate) fn until(close: &'static str) -> Self {
        Self { close, first: true }
    }
}

/// A name, and which of the things that have it.
pub(super) type Label = (String, u32);
