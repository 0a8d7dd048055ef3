//! Other places of the project that free a field, by the words of the source: what a summary does not say, because the structure is
//! given to unknown code afterwards, is still written there.

use caulk_report::source::Sources;

use crate::code::Code;

/// Tokens after the call among which the field may be set again: then it holds something else, or nothing.
const MAX_LOOKAHEAD: usize = 12;

/// The first place in these files that frees a field and leaves it as it is: `free(x->field);`. `is_own`: places that do not count.
pub fn freeing(
    sources: &Sources,
    files: &[String],
    family: &str,
    field: &str,
    is_own: &dyn Fn(&str, u32) -> bool,
) -> Option<(String, u32)> {
    for name in files {
        let Some(file) = sources.get(name) else { continue };
        // Most files do not speak of the field at all.
        if !file.bytes().windows(field.len()).any(|word| word == field.as_bytes()) {
            continue;
        }
        let code = Code::new(&file);
        for at in (2..code.tokens.len()).filter(|at| code.word(*at) == field.as_bytes()) {
            let line = file.line_at(code.tokens[at].start);
            if is_freed(&code, at, family) && !is_set_again(&code, at, field) && !is_own(name, line) {
                return Some((name.clone(), line));
            }
        }
    }
    None
}

/// Whether a field is the last word of what a deallocator is given.
fn is_freed(code: &Code<'_>, at: usize, family: &str) -> bool {
    if !matches!(code.word(at - 1), b"->" | b".") || code.word(at + 1) != b")" {
        return false;
    }
    let open = code.partner(at + 1);
    let callee = open.and_then(|open| open.checked_sub(1)).filter(|callee| code.is_name(*callee));
    callee.is_some_and(|callee| {
        let name = String::from_utf8_lossy(code.word(callee)).to_lowercase();
        name == family || name.contains("free")
    })
}

fn is_set_again(code: &Code<'_>, at: usize, field: &str) -> bool {
    let later = at + 1..(at + 1 + MAX_LOOKAHEAD).min(code.tokens.len());
    later.into_iter().any(|next| code.word(next) == field.as_bytes() && code.word(next + 1) == b"=")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(text: &str) -> Option<u32> {
        let sources = Sources::new(std::path::Path::new("/nowhere"), 1);
        sources.put("a.c", text.as_bytes().to_vec());
        freeing(&sources, &["a.c".to_owned()], "free", "cwd", &|_, line| line == 1).map(|(_, line)| line)
    }

    #[test]
    fn only_what_stays_freed_counts() {
        assert_eq!(found("free(s->cwd);\nvoid f() {\n  free((void *)s->cwd);\n  g(s);\n}"), Some(3));
        assert_eq!(found("\nvoid f() { free(s->cwd); s->cwd = x; }"), None);
        assert_eq!(found("\nvoid f() { puts(s->cwd); free(s->name); }"), None);
        assert_eq!(found("free(s->cwd);"), None);
    }
}
