//! Conditions and left sides of assignments, quoted from the source.
//!
//! clang places the branch of an `if` at the first token of its condition, those of loops and switches at the keyword,
//! and that of a left side of `&&` or `||` at the operator. It branches on the operand of `!`, and part by part; only for
//! loops it works out the whole condition and branches on that. What is quoted here, as it is written, is true where the first
//! successor is taken, or the other one if it is negated.

use crate::source::SourceFile;
use crate::tokens::{Token, TokenKind};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Statement {
    If,
    Loop,
    Other,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Condition {
    /// As it is written. Empty for loops that go over a range or have no condition.
    pub text: String,
    pub statement: Statement,
    /// An operand of `&&`, `||` or a comma.
    pub is_part: bool,
    /// `!` stands before what is branched on.
    pub is_negated: bool,
}

/// The condition that is branched on at a place.
pub(crate) fn condition(file: &SourceFile, line: u32, column: u32) -> Option<Condition> {
    let words = Words { text: file.bytes(), tokens: file.tokens() };
    let at = words.index_at(file.offset(line, column)?)?;
    let (range, statement) = words.condition(at)?;
    if statement == Statement::Loop {
        let text = words.quote(range.0, range.1);
        return Some(Condition { text, statement, is_part: false, is_negated: false });
    }
    let leaf = words.rightmost_leaf(range);
    let text = words.quote(leaf.start, leaf.end);
    let is_part = words.is_operator(at) || leaf.is_part;
    (!text.is_empty()).then_some(Condition { text, statement, is_part, is_negated: leaf.is_negated })
}

/// The `if` that a branch at a place belongs to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Rung {
    /// Where it stands, by its number among the tokens.
    pub keyword: usize,
    /// `else` stands before it.
    pub is_else: bool,
}

/// The `if` whose condition a place is in.
pub(crate) fn rung(file: &SourceFile, line: u32, column: u32) -> Option<Rung> {
    let words = Words { text: file.bytes(), tokens: file.tokens() };
    let keyword = words.if_around(words.index_at(file.offset(line, column)?)?)?;
    Some(Rung { keyword, is_else: words.before(keyword) == b"else" })
}

/// What a switch at a place is about, and the labels of its cases in order.
pub(crate) fn switch(file: &SourceFile, line: u32, column: u32) -> Option<(String, Vec<String>)> {
    let words = Words { text: file.bytes(), tokens: file.tokens() };
    let at = words.index_at(file.offset(line, column)?)?;
    let open = (words.get(at) == b"switch").then_some(at + 1).filter(|o| words.get(*o) == b"(")?;
    let close = words.close_of(open)?;
    Some((words.quote(open + 1, close), words.labels(close + 1)))
}

/// The left side of the assignment at a place: `config->title`.
pub(crate) fn assignee(file: &SourceFile, line: u32, column: u32) -> Option<String> {
    let words = Words { text: file.bytes(), tokens: file.tokens() };
    let at = words.index_at(file.offset(line, column)?)?;
    if words.get(at) != b"=" {
        return None;
    }
    let start = words.postfix_start(at)?;
    Some(words.quote(start, at)).filter(|t| !t.is_empty())
}

/// The label that the `goto` at a place names.
pub(crate) fn label(file: &SourceFile, line: u32, column: u32) -> Option<String> {
    let words = Words { text: file.bytes(), tokens: file.tokens() };
    let at = words.index_at(file.offset(line, column)?).filter(|at| words.get(*at) == b"goto")?;
    words.tokens.get(at + 1).filter(|t| t.kind == TokenKind::Word).map(|_| words.quote(at + 1, at + 2))
}

/// The word or sign at a place.
pub(crate) fn token(file: &SourceFile, line: u32, column: u32) -> Option<&[u8]> {
    let words = Words { text: file.bytes(), tokens: file.tokens() };
    let at = words.index_at(file.offset(line, column)?)?;
    words.tokens.get(at).map(|token| &file.bytes()[token.start..token.end])
}

/// The last part of a condition, as it is written.
struct Leaf {
    start: usize,
    end: usize,
    is_part: bool,
    is_negated: bool,
}

struct Words<'a> {
    text: &'a [u8],
    tokens: &'a [Token],
}

impl Words<'_> {
    /// The text of a token; empty beyond the end.
    fn get(&self, at: usize) -> &[u8] {
        self.tokens.get(at).map_or(&[], |t| &self.text[t.start..t.end])
    }

    fn before(&self, at: usize) -> &[u8] {
        at.checked_sub(1).map_or(&[], |i| self.get(i))
    }

    fn index_at(&self, offset: usize) -> Option<usize> {
        let at = self.tokens.partition_point(|t| t.end <= offset);
        self.tokens.get(at).filter(|t| t.start <= offset).map(|_| at)
    }

    /// Tokens of the whole condition whose last branch is placed at a token (or, at `&&` and `||`, of its left side).
    fn condition(&self, at: usize) -> Option<((usize, usize), Statement)> {
        let found = match self.get(at) {
            b"&&" | b"||" => self.left_side(at).map(|start| ((start, at), Statement::Other)),
            b"while" | b"for" | b"if" => self.of_keyword(at),
            b"}" if self.get(at + 1) == b"while" => self.of_keyword(at + 1),
            _ if self.before(at) == b"(" => self.keyword_before(at - 1).and_then(|keyword| self.of_keyword(keyword)),
            _ => None,
        };
        found.or_else(|| self.before_question_mark(at).map(|end| ((at, end), Statement::Other)))
    }

    /// The keyword whose condition an open parenthesis begins.
    fn keyword_before(&self, open: usize) -> Option<usize> {
        let last = open.checked_sub(1)?;
        let keyword = if self.get(last) == b"constexpr" { last.checked_sub(1)? } else { last };
        matches!(self.get(keyword), b"if" | b"while").then_some(keyword)
    }

    fn of_keyword(&self, keyword: usize) -> Option<((usize, usize), Statement)> {
        let open = (keyword + 1..keyword + 3).find(|i| self.get(*i) == b"(")?;
        let close = self.close_of(open)?;
        match self.get(keyword) {
            b"for" => {
                let mut parts = self.at_depth_0(open + 1, close).filter(|i| self.get(*i) == b";");
                let range = match (parts.next(), parts.next()) {
                    (Some(first), Some(second)) => (first + 1, second),
                    _ => (close, close),
                };
                Some((range, Statement::Loop))
            }
            b"while" => Some(((open + 1, close), Statement::Loop)),
            _ => Some(((open + 1, close), Statement::If)),
        }
    }

    fn before_question_mark(&self, at: usize) -> Option<usize> {
        let mut inside = self.at_depth_0(at, self.tokens.len());
        inside
            .find(|i| matches!(self.get(*i), b"?" | b";" | b"{" | b"}" | b")" | b"]" | b","))
            .filter(|i| self.get(*i) == b"?")
    }

    /// Indices outside of all brackets that open within the range, the closing ones left out.
    fn at_depth_0(&self, start: usize, end: usize) -> impl Iterator<Item = usize> + '_ {
        let mut at = start;
        std::iter::from_fn(move || {
            let here = (at < end).then_some(at)?;
            at = match self.get(here) {
                b"(" | b"[" => self.close_of(here).map_or(end, |close| close + 1),
                _ => here + 1,
            };
            Some(here)
        })
    }

    fn close_of(&self, open: usize) -> Option<usize> {
        let mut depth = 0usize;
        for at in open..self.tokens.len() {
            match self.get(at) {
                b"(" | b"[" => depth += 1,
                b")" | b"]" => depth = depth.checked_sub(1)?,
                _ => {}
            }
            if depth == 0 {
                return Some(at);
            }
        }
        None
    }

    fn open_of(&self, close: usize) -> Option<usize> {
        let mut depth = 0usize;
        for at in (0..=close).rev() {
            match self.get(at) {
                b")" | b"]" => depth += 1,
                b"(" | b"[" => depth = depth.checked_sub(1)?,
                _ => {}
            }
            if depth == 0 {
                return Some(at);
            }
        }
        None
    }

    /// Where the left side of `&&` or `||` begins.
    fn left_side(&self, operator: usize) -> Option<usize> {
        let mut at = operator;
        while at > 0 {
            match self.before(at) {
                b")" | b"]" => at = self.open_of(at - 1)?,
                b"(" | b"[" | b"{" | b"}" | b";" | b"," | b"?" | b":" | b"&&" | b"||" | b"return" => break,
                other if is_assignment(other) => break,
                _ => at -= 1,
            }
        }
        (at < operator).then_some(at)
    }

    /// The part of a condition that is branched on last: after the last `&&` or `||`.
    fn rightmost_leaf(&self, (mut start, mut end): (usize, usize)) -> Leaf {
        let mut leaf = Leaf { start, end, is_part: false, is_negated: false };
        // Parentheses and `!` around it are looked through: there may be further operators inside.
        loop {
            let last = self.at_depth_0(start, end).filter(|i| self.is_operator(*i) || self.get(*i) == b",").last();
            if let Some(operator) = last {
                start = operator + 1;
                leaf = Leaf { start, end, is_part: true, is_negated: false };
            }
            if self.get(start) == b"(" && self.close_of(start) == end.checked_sub(1) {
                (start, end) = (start + 1, end - 1);
            } else if self.get(start) == b"!" && self.is_one_operand(start + 1, end) {
                start += 1;
                leaf.is_negated = !leaf.is_negated;
            } else if last.is_none() {
                return leaf;
            }
        }
    }

    fn is_operator(&self, at: usize) -> bool {
        matches!(self.get(at), b"&&" | b"||")
    }

    /// The keyword of the `if` in whose parentheses a token stands.
    fn if_around(&self, mut at: usize) -> Option<usize> {
        loop {
            match self.before(at) {
                b")" | b"]" => at = self.open_of(at - 1)?,
                b"(" => {
                    let open = at - 1;
                    match self.keyword_before(open).map(|keyword| (keyword, self.get(keyword))) {
                        Some((keyword, b"if")) => return Some(keyword),
                        Some(_) => return None,
                        None => at = open,
                    }
                }
                b"{" | b"}" | b"" => return None,
                _ => at -= 1,
            }
        }
    }

    /// Whether `!` before a range negates all of it.
    fn is_one_operand(&self, start: usize, end: usize) -> bool {
        let is_name = |i: &usize| {
            let token = self.tokens.get(*i);
            token.is_some_and(|t| t.kind != TokenKind::Punctuation)
                || matches!(self.get(*i), b"(" | b"[" | b"." | b"->" | b"::" | b"!")
        };
        let is_prefix = |i: &usize| matches!(self.get(*i), b"*" | b"&");
        self.at_depth_0(start, end).skip_while(is_prefix).all(|i| is_name(&i))
    }

    /// The labels of the cases of a switch whose body begins at a token.
    fn labels(&self, body: usize) -> Vec<String> {
        let mut labels = Vec::new();
        let mut depth = 0usize;
        let mut at = body;
        while at < self.tokens.len() {
            match self.get(at) {
                b"{" => depth += 1,
                b"}" => depth = depth.saturating_sub(1),
                b"switch" => at = self.after_body(at),
                b"case" => {
                    let colon = (at + 1..self.tokens.len()).find(|i| self.get(*i) == b":").unwrap_or(at + 1);
                    labels.push(self.quote(at + 1, colon));
                    at = colon;
                }
                _ => {}
            }
            if depth == 0 {
                break;
            }
            at += 1;
        }
        labels
    }

    /// The last token of a nested switch's body.
    fn after_body(&self, keyword: usize) -> usize {
        let open = (keyword..self.tokens.len()).find(|i| matches!(self.get(*i), b"{" | b";")).unwrap_or(keyword);
        let mut depth = 0usize;
        for at in open..self.tokens.len() {
            match self.get(at) {
                b"{" => depth += 1,
                b"}" => depth = depth.saturating_sub(1),
                _ => {}
            }
            if depth == 0 {
                return at;
            }
        }
        self.tokens.len()
    }

    /// Where the expression before an assignment begins: `*list->items[i]`, without the type of a declaration.
    fn postfix_start(&self, assignment: usize) -> Option<usize> {
        let mut at = assignment;
        loop {
            match self.before(at) {
                b")" | b"]" => at = self.open_of(at - 1)?,
                _ if at > 0 && self.tokens[at - 1].kind == TokenKind::Word => at -= 1,
                _ => break,
            }
            match self.before(at) {
                b"." | b"->" | b"::" => at -= 1,
                _ if matches!(self.get(at), b"[" | b"(") => {}
                _ => break,
            }
        }
        let mut stars = at;
        while self.before(stars) == b"*" {
            stars -= 1;
        }
        let is_statement = matches!(self.before(stars), b";" | b"{" | b"}" | b"(" | b"," | b")" | b":" | b"");
        Some(if is_statement { stars } else { at }).filter(|start| *start < assignment)
    }

    /// Source text on one line, without comments.
    fn quote(&self, start: usize, end: usize) -> String {
        let mut quoted = String::new();
        let mut last_end = None;
        for token in self.tokens.get(start..end).unwrap_or_default() {
            if last_end.is_some_and(|e| e < token.start) {
                quoted.push(' ');
            }
            quoted.push_str(&String::from_utf8_lossy(&self.text[token.start..token.end]));
            last_end = Some(token.end);
        }
        quoted
    }
}

fn is_assignment(token: &[u8]) -> bool {
    let is_comparison = matches!(token, b"==" | b"!=" | b"<=" | b">=");
    token.ends_with(b"=") && !is_comparison
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The condition at the place marked with `@`.
    fn quoted(marked: &str) -> Option<(String, Statement)> {
        let (line, column) = place(marked);
        let file = SourceFile::new(marked.replace('@', "").into_bytes());
        condition(&file, line, column).map(|c| (c.text, c.statement))
    }

    fn place(marked: &str) -> (u32, u32) {
        let at = marked.find('@').expect("a mark");
        let before = &marked[..at];
        let line = before.matches('\n').count() as u32 + 1;
        (line, (at - before.rfind('\n').map_or(0, |n| n + 1)) as u32 + 1)
    }

    fn is(marked: &str, text: &str, statement: Statement) {
        assert_eq!(quoted(marked), Some((text.to_owned(), statement)), "{marked}");
    }

    #[test]
    fn conditions_of_statements() {
        is("if (@x > 3) return;", "x > 3", Statement::If);
        is("if (@!p)", "!p", Statement::If);
        is("if (@(p = f(1, ')')) == NULL)", "(p = f(1, ')')) == NULL", Statement::If);
        is("@while (a--) {}", "a--", Statement::Loop);
        is("@for (int i = 0; i < b; i++) {}", "i < b", Statement::Loop);
        is("do { a++; @} while (a < q);", "a < q", Statement::Loop);
        is("@while (!done && i < 3) {}", "!done && i < 3", Statement::Loop);
        is("while (!done @&& i < 3) {}", "!done", Statement::Other);
        is("@for (auto x : all) {}", "", Statement::Loop);
        is("int q = @a[1] /* x */ ? b : 3;", "a[1]", Statement::Other);
        is("if (@x\n    == /* no */ 3)", "x == 3", Statement::If);
    }

    #[test]
    fn parts_of_conditions() {
        let text = "if (a > 3 && !(b == 2 || strcmp(s, \"x\") == 0)) return;";
        is(&text.replace("&&", "@&&"), "a > 3", Statement::Other);
        is(&text.replace("||", "@||"), "b == 2", Statement::Other);
        is(&text.replace("(a", "(@a"), "strcmp(s, \"x\") == 0", Statement::If);
        is("while ((a || !b) @&& c)", "!b", Statement::Other);
        is("x = f(a) @&& b;", "f(a)", Statement::Other);
        is("if (@!a == b)", "!a == b", Statement::If);
        is("if (@!a->b[2].c(3))", "!a->b[2].c(3)", Statement::If);
        is("return p @|| q;", "p", Statement::Other);
    }

    #[test]
    fn negation_and_parts() {
        let shape = |marked: &str| {
            let (line, column) = place(marked);
            let file = SourceFile::new(marked.replace('@', "").into_bytes());
            condition(&file, line, column).map(|c| (c.text, c.is_part, c.is_negated))
        };
        let shown = |text: &str, is_part, is_negated| Some((text.to_owned(), is_part, is_negated));
        assert_eq!(shape("if (@!p)"), shown("!p", false, true));
        assert_eq!(shape("if (@!!p)"), shown("!!p", false, false));
        assert_eq!(shape("if (@!(a == b))"), shown("!(a == b)", false, true));
        assert_eq!(shape("if (@!(a && b))"), shown("b", true, false));
        assert_eq!(shape("if (@a && !b)"), shown("!b", true, true));
        assert_eq!(shape("if (a @|| b)"), shown("a", true, false));
        assert_eq!(shape("if (@(p = f()))"), shown("(p = f())", false, false));
    }

    #[test]
    fn rungs_of_a_ladder() {
        let at = |marked: &str| {
            let (line, column) = place(marked);
            let file = SourceFile::new(marked.replace('@', "").into_bytes());
            rung(&file, line, column).map(|rung| (rung.keyword, rung.is_else))
        };
        assert_eq!(at("if (@a) x; else if (b) y;"), Some((0, false)));
        assert_eq!(at("if (a) x; else if (@b) y;"), Some((7, true)));
        assert_eq!(at("if (a) x; else if (f(b, (c)) @&& d) y;"), Some((7, true)));
        assert_eq!(at("if (a) x; else { if (@b) y; }"), Some((8, false)));
        assert_eq!(at("while (@b) y;"), None);
        assert_eq!(at("x = @b ? 1 : 2;"), None);
        assert_eq!(at("@"), None);
    }

    #[test]
    fn what_is_no_condition() {
        for text in ["@CHECK(q);", "@", "if @(", "while (a @&&", "@&&", "if (@", "@}", ") @&& b", "@for (;;", "if (@)"]
        {
            let _ = quoted(text);
        }
        assert_eq!(quoted("@CHECK(q);"), None);
    }

    #[test]
    fn cases_of_a_switch() {
        let text =
            "switch (b->kind) { case A: case B: { switch (c) { case X: } } default: case 'c': x = y ? 1 : 2; } case Z:";
        let file = SourceFile::new(text.as_bytes().to_vec());
        let labels = ["A", "B", "'c'"].map(str::to_owned).to_vec();
        assert_eq!(switch(&file, 1, 1), Some(("b->kind".to_owned(), labels)));
    }

    #[test]
    fn left_sides() {
        for (text, left) in [
            ("x; config->title @= value;", "config->title"),
            ("char *p @= q;", "p"),
            ("{ *out @= q; }", "*out"),
            ("list[f(1)]->b @= q;", "list[f(1)]->b"),
            ("a.b.c @= d", "a.b.c"),
        ] {
            let (line, column) = place(text);
            let file = SourceFile::new(text.replace('@', "").into_bytes());
            assert_eq!(assignee(&file, line, column).as_deref(), Some(left), "{text}");
        }
    }
}
