//! What a source defines, by a glance at its text.
//!
//! This is no parser: the caller compiles what looks right and then knows. Comments, literals and lines of the
//! preprocessor are passed over, braces are counted, and of each declaration outside of functions the names are looked at.
//! Branches of `#if` are all taken, old-style parameters are not known.

use std::collections::BTreeSet;

/// The names among `wanted` that the text seems to define, as functions or as variables others can see.
pub(crate) fn defined<'w>(text: &str, wanted: &BTreeSet<&'w str>) -> BTreeSet<&'w str> {
    let mut found = BTreeSet::new();
    let mut statement: Vec<Token<'_>> = Vec::new();
    let mut tokens = Tokens::new(text);
    while let Some(token) = tokens.next() {
        match token {
            Token::Mark(b'{') if opens_scope(&statement) => statement.clear(),
            Token::Mark(b'{') => {
                tokens.skip_to(b'{', b'}');
                statement.push(Token::Block);
                if is_function(&statement) {
                    judge(&statement, wanted, &mut found);
                    statement.clear();
                }
            }
            Token::Mark(b'(') => {
                tokens.skip_to(b'(', b')');
                statement.push(Token::Group);
            }
            // The end of a scope that was opened above.
            Token::Mark(b'}') => statement.clear(),
            Token::Mark(b';') => {
                judge(&statement, wanted, &mut found);
                statement.clear();
            }
            token => statement.push(token),
        }
    }
    found
}

/// Whether the text has a name in it, comments and literals aside.
pub(crate) fn mentions(text: &str, name: &str) -> bool {
    // Few texts have it at all.
    text.contains(name) && Tokens::new(text).any(|token| token == Token::Word(name))
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Token<'t> {
    Word(&'t str),
    Mark(u8),
    /// A string or character literal.
    Text,
    /// `( ... )`.
    Group,
    /// `{ ... }`.
    Block,
}

/// `namespace n {` and `extern "C" {`: what is inside counts as outside.
fn opens_scope(statement: &[Token<'_>]) -> bool {
    match statement {
        [Token::Word("extern"), Token::Text] => true,
        _ => statement.contains(&Token::Word("namespace")) && !statement.contains(&Token::Group),
    }
}

/// Whether a statement that ends in braces is a function with its body: parameters, and no `=` before them.
fn is_function(statement: &[Token<'_>]) -> bool {
    let assigns = statement.iter().position(|t| *t == Token::Mark(b'='));
    let parameters = statement.iter().position(|t| *t == Token::Group);
    parameters.is_some() && assigns.is_none()
}

fn judge<'w>(statement: &[Token<'_>], wanted: &BTreeSet<&'w str>, found: &mut BTreeSet<&'w str>) {
    let has = |word: &str| statement.contains(&Token::Word(word));
    let is_function = is_function(statement) && statement.last() == Some(&Token::Block);
    let is_given = statement.contains(&Token::Mark(b'='));
    if has("typedef") || has("static") || has("using") || (has("extern") && !is_function && !is_given) {
        return;
    }
    let mut in_value = false;
    for (at, token) in statement.iter().enumerate() {
        match token {
            Token::Mark(b'=') => in_value = true,
            Token::Mark(b',') => in_value = false,
            Token::Word(word) if !in_value => {
                let is_defined = match statement.get(at + 1) {
                    Some(Token::Group) => is_function,
                    Some(Token::Mark(b'=' | b',' | b'[')) | None => !is_function && !names_type(&statement[..at]),
                    _ => false,
                };
                found.extend(wanted.get::<str>(word).filter(|_| is_defined));
            }
            _ => {}
        }
    }
}

/// Whether the word after these is a type, or nothing that is declared.
fn names_type(before: &[Token<'_>]) -> bool {
    matches!(before.last(), None | Some(Token::Word("struct" | "union" | "enum" | "class")))
}

pub(crate) struct Tokens<'t> {
    text: &'t str,
    at: usize,
    /// Whether nothing but blanks came before in this line.
    at_start: bool,
    /// Whether lines of the preprocessor count.
    keeps_directives: bool,
}

impl<'t> Tokens<'t> {
    fn new(text: &'t str) -> Self {
        Self { text, at: 0, at_start: true, keeps_directives: false }
    }

    /// All tokens, those of macros included.
    pub(crate) fn with_directives(text: &'t str) -> Self {
        Self { keeps_directives: true, ..Self::new(text) }
    }

    fn rest(&self) -> &'t [u8] {
        self.text.as_bytes().get(self.at..).unwrap_or_default()
    }

    /// Goes on behind the next `pattern`, or to the end.
    fn skip_past(&mut self, pattern: &[u8]) {
        let found = self.rest().windows(pattern.len()).position(|w| w == pattern);
        self.at = found.map_or(self.text.len(), |p| self.at + p + pattern.len());
    }

    /// To the end of the line, and on where it ends in a backslash.
    fn skip_line(&mut self) {
        while self.at < self.text.len() {
            let start = self.at;
            self.skip_past(b"\n");
            let line = self.text.as_bytes()[start..self.at].trim_ascii_end();
            if line.last() != Some(&b'\\') {
                break;
            }
        }
        self.at_start = true;
    }

    fn skip_literal(&mut self, quote: u8) {
        self.at += 1;
        while let Some(byte) = self.rest().first() {
            self.at += if *byte == b'\\' { 2 } else { 1 };
            // A newline ends what is no literal after all, such as the apostrophe of 1'000.
            if *byte == quote || *byte == b'\n' {
                break;
            }
        }
    }

    /// Behind the mark that closes what was just opened. A brace in the first column closes all: where both branches of an
    /// `#if` open one, the rest of the file would be taken for inside.
    fn skip_to(&mut self, open: u8, close: u8) {
        let mut depth = 1_usize;
        while depth > 0 {
            match self.next() {
                Some(Token::Mark(b'}')) if close == b'}' && self.is_first_column() => return,
                Some(Token::Mark(byte)) if byte == open => depth += 1,
                Some(Token::Mark(byte)) if byte == close => depth -= 1,
                Some(_) => {}
                None => return,
            }
        }
    }

    /// Whether the mark that was just read begins its line.
    fn is_first_column(&self) -> bool {
        self.text[..self.at - 1].ends_with('\n')
    }

    fn word(&mut self) -> Token<'t> {
        let is_part = |b: &u8| b.is_ascii_alphanumeric() || *b == b'_' || *b >= 0x80;
        let length = self.rest().iter().take_while(|b| is_part(b)).count();
        let word = self.text.get(self.at..self.at + length).unwrap_or_default();
        self.at += length;
        Token::Word(word)
    }
}

impl<'t> Iterator for Tokens<'t> {
    type Item = Token<'t>;

    fn next(&mut self) -> Option<Token<'t>> {
        loop {
            let rest = self.rest();
            let byte = *rest.first()?;
            match byte {
                b'\n' => {
                    self.at += 1;
                    self.at_start = true;
                    continue;
                }
                _ if byte.is_ascii_whitespace() => {
                    self.at += 1;
                    continue;
                }
                b'#' if self.at_start && !self.keeps_directives => {
                    self.skip_line();
                    continue;
                }
                b'/' if rest.starts_with(b"//") => {
                    self.skip_line();
                    continue;
                }
                b'/' if rest.starts_with(b"/*") => {
                    self.at += 2;
                    self.skip_past(b"*/");
                    continue;
                }
                _ => self.at_start = false,
            }
            return Some(match byte {
                b'"' | b'\'' => {
                    self.skip_literal(byte);
                    Token::Text
                }
                _ if byte.is_ascii_alphanumeric() || byte == b'_' || byte >= 0x80 => self.word(),
                _ => {
                    self.at += 1;
                    Token::Mark(byte)
                }
            });
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const NAMES: [&str; 4] = ["f", "g", "main", "v"];

    fn names() -> BTreeSet<&'static str> {
        NAMES.into_iter().collect()
    }

    fn check(text: &str, expected: &[&str]) {
        let found: Vec<&str> = defined(text, &names()).into_iter().collect();
        assert_eq!(found, expected, "{text}");
    }

    #[test]
    fn definitions() {
        check("int f(void) { return g(1); }", &["f"]);
        check("int\nf (int a, int (*b)(int))\n{ g(); }\nconst int v = 1;", &["f", "v"]);
        check("int a, *v = 0, f[3] = {1, 2, 3};", &["f", "v"]);
        check("int v;", &["v"]);
        check("struct s { int f; } v;", &["v"]);
        check("extern \"C\" {\nint f(void) { return 1; }\n}\nint v;", &["f", "v"]);
        check("namespace n { int f() { return 1; } namespace m { int v = 2; } }", &["f", "v"]);
        check("int c::f(int x) const { return x; }", &["f"]);
        check("__attribute__((cold)) void f(void) __attribute__((x)) {}", &["f"]);
        check("int main(int n, char **a) { return 0; }", &["main"]);
        check("extern int v = 3;", &["v"]);
        check("int h(void) {\n#if A\n  if (a) {\n#else\n  if (b) {\n#endif\n  }\n}\nint v;", &["v"]);
    }

    #[test]
    fn no_definitions() {
        check("int f(void);\nextern int v;\nextern int g(void), v;", &[]);
        check("static int f(void) { return 1; }\nstatic int v = 2;", &[]);
        check("typedef int v;\ntypedef struct { int f; } g;", &[]);
        check("int a = v, b = f(g);", &[]);
        check("int h(void) { int v = 1; int f; return v; }", &[]);
        check("/* int v; */ // int f;\n#define int v; \\\n int g;\nchar *s = \"; int v;\";", &[]);
        check("v x;\nstruct v;\nenum e { f, g };", &[]);
        check("f(", &[]);
        check("{ } } ; v", &[]);
    }

    #[test]
    fn mentions_are_whole_words() {
        assert!(mentions("extern int v;", "v"));
        assert!(!mentions("extern int value; // v", "v"));
    }

    proptest! {
        #[test]
        fn no_text_is_too_odd(text in "[a-gv(){};,=\"'/*#\\\\\n &é]{0,80}") {
            defined(&text, &names());
        }
    }
}
