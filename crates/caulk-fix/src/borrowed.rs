//! Fields that are set to what is no block of their own, by the words of the source: a text of the program, the address of something, or an
//! array in a structure. Such a field must not be freed, whatever else it may hold at other times.

use caulk_report::source::Sources;
use caulk_report::tokens::TokenKind;

use crate::code::Code;

/// The first place in these files that sets a field to such a thing: `item->value = this->buffer;`.
pub fn borrowing(sources: &Sources, files: &[String], field: &str) -> Option<(String, u32)> {
    let mut named: Vec<(String, String, u32)> = Vec::new();
    for name in files {
        let Some(file) = sources.get(name).filter(|file| contains(file.bytes(), field)) else { continue };
        let code = Code::new(&file);
        for at in (1..code.tokens.len()).filter(|at| is_set(&code, *at, field)) {
            let line = file.line_at(code.tokens[at].start);
            match value(&code, at + 2) {
                Value::Borrowed => return Some((name.clone(), line)),
                Value::Named(what) => named.push((what, name.clone(), line)),
                Value::Other => {}
            }
        }
    }
    named.sort_by(|one, other| one.0.cmp(&other.0));
    named.into_iter().find(|(what, ..)| is_array(sources, files, what)).map(|(_, file, line)| (file, line))
}

enum Value {
    Borrowed,
    /// A variable or field of this name, and nothing more.
    Named(String),
    Other,
}

fn contains(text: &[u8], word: &str) -> bool {
    text.windows(word.len()).any(|part| part == word.as_bytes())
}

/// `x->field =` or `x.field =`, at the field.
fn is_set(code: &Code<'_>, at: usize, field: &str) -> bool {
    code.word(at) == field.as_bytes() && matches!(code.word(at - 1), b"->" | b".") && code.word(at + 1) == b"="
}

/// What is assigned, from its first token on.
fn value(code: &Code<'_>, first: usize) -> Value {
    let is_text = |at: usize| {
        code.tokens.get(at).is_some_and(|token| token.kind == TokenKind::Literal) && code.word(at).starts_with(b"\"")
    };
    if code.word(first) == b"&" || is_text(first) {
        return Value::Borrowed;
    }
    let mut at = first;
    while code.is_name(at) && matches!(code.word(at + 1), b"->" | b".") {
        at += 2;
    }
    match code.is_name(at) && matches!(code.word(at + 1), b";" | b"+") {
        true => Value::Named(String::from_utf8_lossy(code.word(at)).into_owned()),
        false => Value::Other,
    }
}

/// Whether something of that name is declared as an array: `char name[SIZE];`.
fn is_array(sources: &Sources, files: &[String], name: &str) -> bool {
    files.iter().filter_map(|file| sources.get(file)).filter(|file| contains(file.bytes(), name)).any(|file| {
        let code = Code::new(&file);
        let is_declared = |at: usize| {
            let follows_type = code.is_name(at - 1) && !matches!(code.word(at - 1), b"return" | b"case" | b"else");
            let end = (code.word(at + 1) == b"[").then(|| code.partner(at + 1)).flatten();
            follows_type && end.is_some_and(|close| matches!(code.word(close + 1), b";" | b"," | b"=" | b"["))
        };
        (1..code.tokens.len()).filter(|at| code.word(*at) == name.as_bytes()).any(is_declared)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(text: &str) -> Option<u32> {
        let sources = Sources::new(std::path::Path::new("/nowhere"), 1);
        sources.put("a.h", b"struct s { char *name; char buffer[40]; char *other; };".to_vec());
        sources.put("a.c", text.as_bytes().to_vec());
        borrowing(&sources, &["a.h".to_owned(), "a.c".to_owned()], "name").map(|(_, line)| line)
    }

    #[test]
    fn what_is_no_block_of_its_own() {
        assert_eq!(found("void f(struct s *s) {\n s->name = s->buffer;\n}"), Some(2));
        assert_eq!(found("void f(struct s *s) { s->name = \"none\"; }"), Some(1));
        assert_eq!(found("void f(struct s *s) { s->name = &s->buffer[2]; }"), Some(1));
        assert_eq!(found("void f(struct s *s) { s->name = s->buffer + 1; }"), Some(1));
    }

    #[test]
    fn what_may_be_one() {
        assert_eq!(
            found("void f(struct s *s, char *n) { s->name = n; s->name = s->other; s->name = strdup(n); }"),
            None
        );
        assert_eq!(found("void f(struct s *s) { s->other = s->buffer; s->buffer[0] = 0; }"), None);
    }
}
