//! The statements of a source, as far as inserting one needs to know them. Tokens and brackets only: what macros and conditional
//! compilation make of them is left to the compiler, which has the last word on every proposal.

use caulk_report::source::SourceFile;
use caulk_report::tokens::{Token, TokenKind};

pub(crate) struct Code<'a> {
    pub text: &'a [u8],
    pub tokens: &'a [Token],
    /// For each token the bracket that is open around it. A closing bracket lies where its opening one does.
    around: Vec<Option<usize>>,
    /// For each bracket its counterpart.
    partner: Vec<Option<usize>>,
}

/// A statement: its first token and its last one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Statement {
    pub first: usize,
    pub last: usize,
}

impl<'a> Code<'a> {
    pub(crate) fn new(file: &'a SourceFile) -> Self {
        let (text, tokens) = (file.bytes(), file.tokens());
        let mut around = vec![None; tokens.len()];
        let mut partner = vec![None; tokens.len()];
        let mut open: Vec<usize> = Vec::new();
        for (at, token) in tokens.iter().enumerate() {
            match &text[token.start..token.end] {
                b"(" | b"[" | b"{" => {
                    around[at] = open.last().copied();
                    open.push(at);
                }
                b")" | b"]" | b"}" => {
                    partner[at] = open.pop();
                    if let Some(opening) = partner[at] {
                        partner[opening] = Some(at);
                    }
                    around[at] = open.last().copied();
                }
                _ => around[at] = open.last().copied(),
            }
        }
        Self { text, tokens, around, partner }
    }

    /// The text of a token; empty beyond the end.
    pub(crate) fn word(&self, at: usize) -> &'a [u8] {
        self.tokens.get(at).map_or(&[], |token| &self.text[token.start..token.end])
    }

    pub(crate) fn is_name(&self, at: usize) -> bool {
        self.tokens.get(at).is_some_and(|token| token.kind == TokenKind::Word)
    }

    /// The token at a place of the source.
    pub(crate) fn token_at(&self, file: &SourceFile, line: u32, column: u32) -> Option<usize> {
        let offset = file.offset(line, column)?;
        let at = self.tokens.partition_point(|token| token.end <= offset);
        self.tokens.get(at).filter(|token| token.start <= offset).map(|_| at)
    }

    pub(crate) fn partner(&self, at: usize) -> Option<usize> {
        self.partner[at]
    }

    /// The open brace around a token.
    pub(crate) fn block(&self, at: usize) -> Option<usize> {
        let mut brace = self.around[at];
        while let Some(open) = brace.filter(|open| self.word(*open) != b"{") {
            brace = self.around[open];
        }
        brace
    }

    /// The token of the statement's own level that a token belongs to: the outermost bracket around it within the block.
    fn outermost(&self, at: usize) -> usize {
        let mut at = at;
        while let Some(open) = self.around[at].filter(|open| self.word(*open) != b"{") {
            at = open;
        }
        at
    }

    /// The statement that a token is part of, down to its semicolon. None where it is no simple one.
    pub(crate) fn statement(&self, at: usize) -> Option<Statement> {
        let inside = self.outermost(at);
        let mut first = inside;
        while !self.begins(first) {
            let before = first.checked_sub(1)?;
            first = match self.word(before) {
                b")" | b"]" => self.partner[before]?,
                _ => before,
            };
        }
        let mut last = inside;
        while self.word(last) != b";" {
            last = match self.word(last) {
                b"(" | b"[" => self.partner[last]?,
                b"{" | b"}" | b"" => return None,
                _ => last,
            } + 1;
        }
        Some(Statement { first, last })
    }

    /// The first token of the statement or control structure that a token is part of.
    pub(crate) fn start(&self, at: usize) -> Option<usize> {
        let mut first = self.outermost(at);
        while !self.begins(first) {
            let before = first.checked_sub(1)?;
            first = match self.word(before) {
                b")" | b"]" => self.partner[before]?,
                _ => before,
            };
        }
        Some(first)
    }

    /// Whether a statement begins at a token.
    fn begins(&self, at: usize) -> bool {
        let Some(before) = at.checked_sub(1) else { return true };
        match self.word(before) {
            b";" | b"{" | b"}" | b"else" | b"do" => true,
            b")" => self.is_header_end(before),
            b":" => self.is_label_end(before),
            _ => false,
        }
    }

    /// Whether a closing parenthesis ends `if (...)` or the like.
    pub(crate) fn is_header_end(&self, close: usize) -> bool {
        let keyword = self.partner[close].and_then(|open| open.checked_sub(1));
        keyword.is_some_and(|at| matches!(self.word(at), b"if" | b"while" | b"for" | b"switch"))
    }

    /// Whether a colon ends a label or a case, and is no part of `a ? b : c`.
    fn is_label_end(&self, colon: usize) -> bool {
        let mut at = colon;
        while let Some(before) = at.checked_sub(1) {
            match self.word(before) {
                b"?" => return false,
                b";" | b"{" | b"}" => return true,
                b")" | b"]" => at = self.partner[before].unwrap_or(0),
                _ => at = before,
            }
        }
        true
    }

    /// Whether a statement is the whole body of a control structure, without braces.
    pub(crate) fn is_bare(&self, first: usize) -> bool {
        first.checked_sub(1).is_some_and(|before| match self.word(before) {
            b"else" | b"do" => true,
            b")" => self.is_header_end(before),
            _ => false,
        })
    }

    /// The closing brace of the innermost loop around a token.
    pub(crate) fn loop_end(&self, at: usize) -> Option<usize> {
        let mut block = self.block(at);
        while let Some(open) = block {
            let before = open.checked_sub(1)?;
            let is_loop = match self.word(before) {
                b"do" => true,
                b")" => self.partner[before]
                    .and_then(|p| p.checked_sub(1))
                    .is_some_and(|keyword| matches!(self.word(keyword), b"while" | b"for")),
                _ => false,
            };
            if is_loop {
                return self.partner[open];
            }
            block = self.block(open);
        }
        None
    }

    /// Source text of a run of tokens, as it is written.
    pub(crate) fn quote(&self, first: usize, end: usize) -> Option<String> {
        let (start, stop) = (self.tokens.get(first)?.start, self.tokens.get(end.checked_sub(1)?)?.end);
        let text = String::from_utf8_lossy(self.text.get(start..stop)?).into_owned();
        (!text.contains('\n') && !text.contains("/*")).then_some(text)
    }

    /// Where the line of a token begins, and the blanks at its beginning.
    pub(crate) fn line(&self, at: usize) -> (usize, &'a [u8]) {
        let start = self.tokens.get(at).map_or(self.text.len(), |token| token.start);
        let begin = self.text[..start].iter().rposition(|b| *b == b'\n').map_or(0, |n| n + 1);
        let blanks = self.text[begin..].iter().take_while(|b| matches!(b, b' ' | b'\t')).count();
        (begin, &self.text[begin..begin + blanks])
    }

    /// Whether nothing but blanks stands before a token in its line.
    pub(crate) fn is_first_in_line(&self, at: usize) -> bool {
        let (begin, blanks) = self.line(at);
        self.tokens.get(at).is_some_and(|token| token.start == begin + blanks.len())
    }

    /// One level of indentation, as the first indented line of the file has it.
    pub(crate) fn unit(&self) -> String {
        let lines = self.text.split(|b| *b == b'\n');
        let mut indented = lines.filter(|line| matches!(line.first(), Some(b' ' | b'\t')));
        let is_code = |line: &&[u8]| line.trim_ascii_start().first().is_some_and(|b| b.is_ascii_alphabetic());
        let Some(line) = indented.by_ref().find(is_code) else { return "    ".to_owned() };
        if line[0] == b'\t' {
            return "\t".to_owned();
        }
        let blanks = line.iter().take_while(|b| **b == b' ').count();
        " ".repeat(if matches!(blanks, 2 | 3 | 4 | 8) { blanks } else { 4 })
    }

    /// Whether a name occurs among tokens.
    pub(crate) fn mentions(&self, range: std::ops::Range<usize>, name: &str) -> bool {
        range.into_iter().any(|at| self.is_name(at) && self.word(at) == name.as_bytes())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The statement around the place marked with `@`.
    fn found(marked: &str) -> Option<String> {
        let offset = marked.find('@').expect("a mark");
        let file = SourceFile::new(marked.replacen('@', "", 1).into_bytes());
        let code = Code::new(&file);
        let at = code.token_at(&file, 1, u32::try_from(offset).expect("short") + 1)?;
        let statement = code.statement(at)?;
        code.quote(statement.first, statement.last + 1)
    }

    #[test]
    fn statements_end_where_they_end() {
        assert_eq!(found("{ f(); @return x; }").as_deref(), Some("return x;"));
        assert_eq!(found("{ if (a) @return -1; g(); }").as_deref(), Some("return -1;"));
        assert_eq!(found("{ if (a) x(); else p = @f(a, g(1)); }").as_deref(), Some("p = f(a, g(1));"));
        assert_eq!(found("{ out: free@(p); }").as_deref(), Some("free(p);"));
        assert_eq!(found("{ x = a ? b : @c; }").as_deref(), Some("x = a ? b : c;"));
        assert_eq!(found("{ case A: @p = q[f(1)]; }").as_deref(), Some("p = q[f(1)];"));
        assert_eq!(found("{ if ((p = @f()) == 0) { } }"), None);
    }

    #[test]
    fn bodies_without_braces_are_seen() {
        let file = SourceFile::new(b"{ if (a) return 1; else return 2; for (;;) x(); f(); }".to_vec());
        let code = Code::new(&file);
        let bare: Vec<String> = (0..code.tokens.len())
            .filter(|at| code.is_bare(*at))
            .map(|at| String::from_utf8_lossy(code.word(at)).into_owned())
            .collect();
        assert_eq!(bare, ["return", "return", "x"]);
    }
}
