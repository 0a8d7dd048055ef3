//! Whether a text evidently does nothing with a variable but to look at it: it declares, compares or tests it.
//!
//! All else is doubtful, however harmless it may be (`f(v)` passes a reference in C++, and is an assignment if `f` is a macro): the caller
//! compiles the source then, and its code decides. Names that macros put together (`a ## b`) are not seen.

use std::collections::BTreeSet;

use crate::glance::{Token, Tokens};

/// The names among `wanted` that the text mentions in some way that is not evidently a look at a variable.
pub(crate) fn doubtful<'w>(text: &str, wanted: &BTreeSet<&'w str>) -> BTreeSet<&'w str> {
    let tokens: Vec<Token<'_>> = Tokens::with_directives(text).collect();
    let mut found = BTreeSet::new();
    for (at, token) in tokens.iter().enumerate() {
        let Token::Word(word) = token else { continue };
        let Some(name) = wanted.get::<str>(word) else { continue };
        let mention = Mention { before: &tokens[..at], after: &tokens[at + 1..] };
        if !mention.is_look() {
            found.insert(*name);
        }
    }
    found
}

/// A name with what stands around it.
struct Mention<'t> {
    before: &'t [Token<'t>],
    after: &'t [Token<'t>],
}

impl Mention<'_> {
    fn is_look(&self) -> bool {
        self.is_declared() || ((self.is_compared() || self.is_tested()) && !self.is_part_of_more())
    }

    /// `extern const int *a, v;`
    fn is_declared(&self) -> bool {
        let is_of_declaration = |token: &&Token<'_>| matches!(token, Token::Word(_) | Token::Mark(b'*' | b','));
        let words = self.before.iter().rev().take_while(is_of_declaration);
        let is_extern = words.take(MAX_DECLARATION).any(|token| *token == Token::Word("extern"));
        is_extern && matches!(self.after, [Token::Mark(b';' | b','), ..])
    }

    /// `v == 5`, `5 <= v`: as one side of a comparison.
    fn is_compared(&self) -> bool {
        let is_left = match self.after {
            [Token::Mark(b'=' | b'!' | b'<' | b'>'), Token::Mark(b'='), ..] => true,
            [Token::Mark(mark @ (b'<' | b'>')), next, ..] => *next != Token::Mark(*mark),
            _ => false,
        };
        let is_right = match self.before {
            [.., Token::Mark(b'='), Token::Mark(b'=')] | [.., Token::Mark(b'!' | b'<' | b'>'), Token::Mark(b'=')] => {
                true
            }
            [.., last, Token::Mark(b'<' | b'>')] => !matches!(last, Token::Mark(_)),
            _ => false,
        };
        (is_left && self.begins_operand()) || (is_right && self.ends_operand())
    }

    /// `if (v)`, `!v &&`: as a condition of its own.
    fn is_tested(&self) -> bool {
        let is_condition = matches!(
            self.before,
            [.., Token::Word("if" | "while" | "switch"), Token::Mark(b'(')] | [.., Token::Mark(b'!')]
        );
        let is_one_of_two = matches!(
            self.before,
            [.., Token::Mark(b'&'), Token::Mark(b'&')] | [.., Token::Mark(b'|'), Token::Mark(b'|')]
        );
        (is_condition || is_one_of_two) && self.ends_operand()
    }

    /// Nothing before it is done to it: no `&`, `*`, `++`, `--`, no cast.
    fn begins_operand(&self) -> bool {
        match self.before {
            [.., Token::Mark(b'&'), Token::Mark(b'&')] | [.., Token::Word("return")] => true,
            [.., Token::Mark(mark)] => b"(!=?:,;{}|<>".contains(mark),
            _ => false,
        }
    }

    /// Nothing after it is done to it: the operand ends there.
    fn ends_operand(&self) -> bool {
        match self.after {
            [Token::Mark(b'&'), Token::Mark(b'&'), ..] | [Token::Mark(b'|'), Token::Mark(b'|'), ..] => true,
            [Token::Mark(mark), ..] => b");?:,".contains(mark),
            _ => false,
        }
    }

    /// A member of something, or a part of a name that a macro puts together.
    fn is_part_of_more(&self) -> bool {
        let is_glue = |token: Option<&Token<'_>>| matches!(token, Some(Token::Mark(b'#' | b'.')));
        is_glue(self.before.last()) || is_glue(self.after.first())
    }
}

/// Words of a declaration that are looked through for `extern`.
const MAX_DECLARATION: usize = 16;

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn names() -> BTreeSet<&'static str> {
        BTreeSet::from(["u", "v"])
    }

    fn is_doubtful(text: &str) -> bool {
        !doubtful(text, &names()).is_empty()
    }

    #[test]
    fn looks() {
        for text in [
            "extern int v;",
            "extern const char *a, v, *u;",
            "if (v) f();",
            "if(v==5)",
            "while (!v && 5 <= u || a < v)",
            "switch (v) { }",
            "return v != 1;",
            "x = v == u ? 1 : 2;",
            "if (a && v) { }",
            "#define IS_ON (v == 1)",
            "/* v = 1; */ char *s = \"v = 1\";",
            "int value, w = 1;",
        ] {
            assert!(!is_doubtful(text), "{text}");
        }
    }

    #[test]
    fn all_else() {
        for text in [
            "v = 1;",
            "v += 1; w = 2;",
            "v <<= 1;",
            "v >>= 1;",
            "v++;",
            "--v;",
            "if (++v == 2)",
            "if (v++ == 2)",
            "if (a == v++)",
            "f(&v);",
            "f(v);",
            "(v) = 1;",
            "int &r = v;",
            "#define SET(x) (v = (x))",
            "if (v = 1)",
            "x = &v == p;",
            "#define PASTE(x) (1 == v ## x)",
            "extern int v = 1;",
            "int v;",
            "cin >> v;",
            "for (v : all)",
        ] {
            assert!(is_doubtful(text), "{text}");
        }
    }

    proptest! {
        #[test]
        fn no_text_is_too_odd(text in "[a-gv(){};,=\"'/*#\\\\\n &é]{0,80}") {
            doubtful(&text, &names());
        }
    }
}
