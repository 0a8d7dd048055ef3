//! Whether a variable has a value of its own in each iteration of a loop. One that a call sets through a pointer need not: where the call fails, it
//! still holds what it held in the iteration before.

use crate::code::Code;

/// Whether the loop whose body ends at a brace declares a variable, or assigns it in every iteration.
pub(crate) fn is_set(code: &Code<'_>, close: usize, name: &str) -> bool {
    let Some(open) = code.partner(close) else { return false };
    let name: Vec<&[u8]> = parts(name);
    if name.is_empty() {
        return false;
    }
    let is_named = |at: usize| (0..name.len()).all(|n| code.word(at + n) == name[n]);
    let in_body = (open + 1..close).filter(|at| code.block(*at) == Some(open));
    in_body.filter(|at| is_named(*at)).any(|at| is_declared(code, at, name.len()) || is_assigned(code, at, name.len()))
        || condition(code, open).is_some_and(|range| {
            range.filter(|at| is_named(*at)).any(|at| is_plain_assignment(code, at, name.len()) && is_sure(code, at))
        })
}

/// The words of `p` or `a->b`.
fn parts(name: &str) -> Vec<&[u8]> {
    let bytes = name.as_bytes();
    let mut all = Vec::new();
    let mut start = 0;
    let is_word = |b: u8| b.is_ascii_alphanumeric() || b == b'_';
    while start < bytes.len() {
        let kind = is_word(bytes[start]);
        let length = bytes[start..].iter().take_while(|b| is_word(**b) == kind).count();
        all.push(&bytes[start..start + length]);
        start += length;
    }
    all
}

/// `char *p;`, `struct s *p = ...;`: a name after a type.
fn is_declared(code: &Code<'_>, at: usize, length: usize) -> bool {
    let is_end = matches!(code.word(at + length), b";" | b"," | b"=");
    let before = at.checked_sub(1).filter(|_| length == 1 && is_end);
    before.is_some_and(|before| match code.word(before) {
        b"*" => code.start(at).is_some_and(|first| first < before),
        b"return" | b"else" | b"do" | b"goto" | b"case" | b"delete" | b"throw" => false,
        _ => code.is_name(before),
    })
}

/// Assigned by a statement that no condition decides over.
fn is_assigned(code: &Code<'_>, at: usize, length: usize) -> bool {
    let is_unconditional = |first: usize| !code.is_bare(first);
    is_plain_assignment(code, at, length) && is_sure(code, at) && code.start(at).is_some_and(is_unconditional)
}

fn is_plain_assignment(code: &Code<'_>, at: usize, length: usize) -> bool {
    let before = at.checked_sub(1).map_or(&b""[..], |before| code.word(before));
    code.word(at + length) == b"=" && !matches!(before, b"." | b"->" | b"*")
}

/// Whether nothing in the statement decides whether a part of it is evaluated.
fn is_sure(code: &Code<'_>, at: usize) -> bool {
    let first = code.start(at).unwrap_or(at);
    !(first..at).any(|before| matches!(code.word(before), b"&&" | b"||" | b"?" | b":"))
}

/// The tokens of the condition of `while (...) {`. What a `for` assigns in its head it need not assign each time.
fn condition(code: &Code<'_>, open: usize) -> Option<std::ops::Range<usize>> {
    let close = open.checked_sub(1).filter(|at| code.word(*at) == b")")?;
    let start = code.partner(close)?;
    (code.word(start.checked_sub(1)?) == b"while").then_some(start + 1..close)
}

#[cfg(test)]
mod tests {
    use caulk_report::source::SourceFile;

    use super::*;

    /// Whether `p` is set each time by the loop of a text.
    fn is_set_in(text: &str) -> bool {
        let file = SourceFile::new(format!("{{ {text} }}").into_bytes());
        let code = Code::new(&file);
        let mark = (0..code.tokens.len()).find(|at| code.word(*at) == b"HERE").expect("a mark");
        is_set(&code, code.loop_end(mark).expect("a loop"), "p")
    }

    #[test]
    fn what_each_iteration_sets() {
        for set in [
            "while (n--) { char *p = f(); HERE; }",
            "while (n--) { struct s *p; if (g(&p)) HERE; }",
            "while (n--) { p = f(); HERE; }",
            "while (n--) { if ((p = f()) == NULL) continue; HERE; }",
            "while ((p = f()) != NULL) { HERE; }",
            "for (;;) { x = 1; p = f(); if (x) { HERE; } }",
        ] {
            assert!(is_set_in(set), "{set}");
        }
    }

    #[test]
    fn what_an_iteration_may_leave_as_it_was() {
        for left in [
            "while (n--) { if (g(&p) == 0) { HERE; } }",
            "while (n--) { if (x) p = f(); HERE; }",
            "while (n--) { if (x) { p = f(); HERE; } }",
            "while (n--) { if (x && (p = f())) HERE; }",
            "for (p = f(); n; n--) { g(&p); HERE; }",
            "while (x && (p = f())) { HERE; }",
            "while (n--) { q->p = f(); return p; HERE; }",
        ] {
            assert!(!is_set_in(left), "{left}");
        }
    }
}
