//! The tokens of C and C++, as far as quoting a condition from the source needs them. No input fails: what is not
//! understood is punctuation.

use std::ops::Range;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TokenKind {
    Word,
    /// A number, string or character.
    Literal,
    Punctuation,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Token {
    pub kind: TokenKind,
    pub start: usize,
    pub end: usize,
}

/// Longest first.
const OPERATORS: [&[u8]; 24] = [
    b"<<=", b">>=", b"...", b"->*", b"&&", b"||", b"==", b"!=", b"<=", b">=", b"->", b"::", b"++", b"--", b"+=", b"-=",
    b"*=", b"/=", b"%=", b"&=", b"|=", b"^=", b"<<", b">>",
];

/// Comments and preprocessor lines are left out.
pub(crate) fn tokens(text: &[u8]) -> Vec<Token> {
    let mut lexer = Lexer::new(text);
    std::iter::from_fn(|| lexer.next()).collect()
}

/// Where the comments are, with their marks.
pub(crate) fn comments(text: &[u8]) -> Vec<Range<usize>> {
    let mut lexer = Lexer::new(text);
    while lexer.next().is_some() {}
    lexer.comments
}

struct Lexer<'a> {
    text: &'a [u8],
    at: usize,
    at_line_start: bool,
    comments: Vec<Range<usize>>,
}

impl<'a> Lexer<'a> {
    fn new(text: &'a [u8]) -> Self {
        Self { text, at: 0, at_line_start: true, comments: Vec::new() }
    }

    fn rest(&self) -> &[u8] {
        self.text.get(self.at..).unwrap_or_default()
    }

    fn next(&mut self) -> Option<Token> {
        self.skip_space();
        let start = self.at;
        let first = *self.rest().first()?;
        self.at_line_start = false;
        let kind = match first {
            b'"' | b'\'' => {
                self.quoted(first);
                TokenKind::Literal
            }
            b'0'..=b'9' => {
                self.word(|b| b == b'.' || b == b'\'');
                TokenKind::Literal
            }
            _ if is_word(first) => {
                self.word(|_| false);
                // Prefixes of strings: L"...", u8"..."; R"(...)" is a literal to its end.
                match self.rest().first() {
                    Some(b'"') if self.text[start..self.at].ends_with(b"R") => self.raw_string(),
                    Some(&quote @ (b'"' | b'\'')) if self.at - start <= 2 => self.quoted(quote),
                    _ => return Some(Token { kind: TokenKind::Word, start, end: self.at }),
                }
                TokenKind::Literal
            }
            _ => {
                let operator = OPERATORS.iter().find(|o| self.rest().starts_with(o));
                self.at += operator.map_or(1, |o| o.len());
                TokenKind::Punctuation
            }
        };
        Some(Token { kind, start, end: self.at })
    }

    fn word(&mut self, also: impl Fn(u8) -> bool) {
        let length = self.rest().iter().take_while(|b| is_word(**b) || also(**b)).count();
        self.at += length;
    }

    fn quoted(&mut self, quote: u8) {
        self.at += 1;
        while let Some(&byte) = self.rest().first() {
            match byte {
                b'\\' => self.at = (self.at + 2).min(self.text.len()),
                // Not closed: macros and assembly in comments do that.
                b'\n' => return,
                _ => self.at += 1,
            }
            if byte == quote {
                return;
            }
        }
    }

    fn raw_string(&mut self) {
        let rest = self.rest();
        let name: Vec<u8> = rest[1..].iter().take_while(|b| **b != b'(').copied().collect();
        let close = [b")", name.as_slice(), b"\""].concat();
        let end = rest.windows(close.len()).position(|w| w == close);
        self.at += end.map_or(rest.len(), |e| e + close.len());
    }

    fn skip_space(&mut self) {
        while let Some(&byte) = self.rest().first() {
            match byte {
                b'\n' => {
                    self.at_line_start = true;
                    self.at += 1;
                }
                b'#' if self.at_line_start => self.skip_line(),
                b'\\' if matches!(self.rest().get(1), Some(b'\n' | b'\r')) => self.at += 2,
                _ if byte.is_ascii_whitespace() => self.at += 1,
                b'/' if matches!(self.rest().get(1), Some(b'/' | b'*')) => {
                    let start = self.at;
                    if self.rest()[1] == b'/' {
                        self.skip_line()
                    } else {
                        self.skip_comment()
                    }
                    self.comments.push(start..self.at);
                }
                _ => return,
            }
        }
    }

    fn skip_line(&mut self) {
        let is_comment = self.rest().starts_with(b"//");
        while let Some(&byte) = self.rest().first() {
            match byte {
                b'\n' => return,
                b'\\' => self.at = (self.at + 2).min(self.text.len()),
                b'/' if !is_comment && self.rest().get(1) == Some(&b'*') => self.skip_comment(),
                _ => self.at += 1,
            }
        }
    }

    fn skip_comment(&mut self) {
        let end = self.rest().windows(2).skip(2).position(|w| w == b"*/");
        self.at += end.map_or(self.rest().len(), |e| e + 4);
    }
}

fn is_word(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || byte == b'_' || byte == b'$' || byte >= 0x80
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(text: &str) -> Vec<&str> {
        tokens(text.as_bytes()).iter().map(|t| &text[t.start..t.end]).collect()
    }

    #[test]
    fn what_is_no_code_is_left_out() {
        assert_eq!(words("a /* b ) */ && // c\n#if d (\n e->f"), ["a", "&&", "e", "->", "f"]);
        assert_eq!(words("f(\"x)\\\"\", ')')"), ["f", "(", "\"x)\\\"\"", ",", "')'", ")"]);
        assert_eq!(words("R\"z(\" ) )z\" L'a' 0x1f 1.5"), ["R\"z(\" ) )z\"", "L'a'", "0x1f", "1.5"]);
        assert_eq!(words("#define A \\\n  if (\nb"), ["b"]);
    }

    #[test]
    fn broken_text_ends() {
        for text in ["\"abc", "/* abc", "'", "R\"(", "a\\", "/*/", "#\\", "\\"] {
            words(text);
        }
        assert_eq!(words("/*/ a */ b"), ["b"]);
    }
}
