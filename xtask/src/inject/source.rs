//! Just enough reading of C and C++ text to find functions and the statements in them that release something.

/// A function in a file. Lines count from 1.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Function {
    pub name: String,
    /// Names of its parameters, in order; one that has no name is empty.
    pub parameters: Vec<String>,
    /// Of its name, and of its last brace.
    pub first: usize,
    pub last: usize,
}

/// The text with comments, strings, characters and preprocessor lines made blank, so that what is left can be counted by braces.
pub(crate) fn blanked(text: &str) -> String {
    #[derive(Clone, Copy, PartialEq)]
    enum At {
        Code,
        Line,
        Block,
        Quote(char),
        Directive,
    }
    let mut out = String::with_capacity(text.len());
    let mut at = At::Code;
    let mut is_line_start = true;
    let mut characters = text.chars().peekable();
    while let Some(c) = characters.next() {
        let next = characters.peek().copied();
        match (at, c) {
            (At::Line | At::Directive, '\\') if next == Some('\n') => {
                characters.next();
                out.push_str(" \n");
                continue;
            }
            (At::Line | At::Directive, '\n') => at = At::Code,
            (At::Block, '*') if next == Some('/') => {
                characters.next();
                out.push_str("  ");
                at = At::Code;
                continue;
            }
            (At::Code | At::Directive, '/') if next == Some('*') => at = At::Block,
            (At::Code, '/') if next == Some('/') => at = At::Line,
            (At::Code, '#') if is_line_start => at = At::Directive,
            (At::Code, '"' | '\'') => {
                at = At::Quote(c);
                out.push(' ');
                continue;
            }
            (At::Quote(_), '\\') => {
                // A text that goes on in the next line.
                let is_continued = characters.next() == Some('\n');
                out.push_str(if is_continued { " \n" } else { "  " });
                continue;
            }
            (At::Quote(quote), c) if c == quote || c == '\n' => {
                at = At::Code;
                out.push(if c == '\n' { '\n' } else { ' ' });
                continue;
            }
            _ => {}
        }
        is_line_start = c == '\n' || (is_line_start && c.is_whitespace());
        out.push(if c == '\n' || at == At::Code { c } else { ' ' });
    }
    out
}

/// The functions of a text that was made blank, in order. What cannot be a function by its shape is left out.
pub(crate) fn functions(blank: &str) -> Vec<Function> {
    let mut found = Vec::new();
    // What stands before a brace, since the last statement or block outside of functions, and the line it starts on.
    let mut head = String::new();
    let mut head_line = 1;
    let mut line = 1;
    let mut depth = 0usize;
    // Braces that are open around functions: namespaces, classes, extern "C".
    let mut scopes = 0usize;
    let mut open: Option<Function> = None;
    for c in blank.chars() {
        match c {
            '\n' => line += 1,
            '{' => {
                if depth == scopes {
                    open = header(&head, head_line);
                    if open.is_none() && is_scope(&head) {
                        scopes += 1;
                    }
                }
                depth += 1;
                head.clear();
            }
            '}' => {
                depth = depth.saturating_sub(1);
                if depth == scopes
                    && let Some(function) = open.take()
                {
                    found.push(Function { last: line, ..function });
                }
                scopes = scopes.min(depth);
                head.clear();
            }
            ';' if depth == scopes => head.clear(),
            _ => {}
        }
        if depth == scopes && !matches!(c, '{' | '}' | ';') {
            if head.trim().is_empty() {
                head_line = line;
            }
            head.push(c);
        }
    }
    found
}

fn is_scope(head: &str) -> bool {
    let words: Vec<&str> = head.split_whitespace().collect();
    words.contains(&"namespace")
        || words.contains(&"class")
        || words.first() == Some(&"extern")
        || head.trim().is_empty()
}

/// `static int name(int a, char *b)`: the name and the parameters. None for all that is no function.
fn header(head: &str, first: usize) -> Option<Function> {
    let start = head.find('(')?;
    let before = head[..start].trim_end();
    let name_at = before.rfind(|c: char| !is_word(c) && c != ':' && c != '~').map_or(0, |at| at + 1);
    let name = before[name_at..].trim_start_matches(':');
    let is_control =
        ["if", "for", "while", "switch", "return", "sizeof", "__attribute__", "do", "else"].contains(&name);
    if name.is_empty() || is_control || name.starts_with(|c: char| c.is_ascii_digit()) || before.contains('=') {
        return None;
    }
    let (inside, _) = matched(&head[start..])?;
    let last_word = |text: &str| {
        let text = text.split(['[', '=']).next().unwrap_or_default().trim_end();
        let at = text.rfind(|c: char| !is_word(c)).map_or(0, |at| at + 1);
        text[at..].to_owned()
    };
    let parameters = split_arguments(inside).iter().map(|text| last_word(text)).collect();
    let line = first + head[..name_at].matches('\n').count();
    let skipped = head.len() - head.trim_start().len();
    let line = line - head[..skipped].matches('\n').count();
    Some(Function { name: name.to_owned(), parameters, first: line, last: line })
}

fn is_word(c: char) -> bool {
    c.is_ascii_alphanumeric() || c == '_'
}

/// What is between the first bracket and its partner, and what comes after.
fn matched(text: &str) -> Option<(&str, &str)> {
    let mut depth = 0usize;
    for (at, c) in text.char_indices() {
        match c {
            '(' => depth += 1,
            ')' => {
                depth = depth.checked_sub(1)?;
                if depth == 0 {
                    return Some((&text[1..at], &text[at + 1..]));
                }
            }
            _ => {}
        }
    }
    None
}

/// Arguments by the commas that are in no brackets.
fn split_arguments(text: &str) -> Vec<&str> {
    let mut found = Vec::new();
    let (mut depth, mut start) = (0i32, 0);
    for (at, c) in text.char_indices() {
        match c {
            '(' | '[' | '{' => depth += 1,
            ')' | ']' | '}' => depth -= 1,
            ',' if depth == 0 => {
                found.push(&text[start..at]);
                start = at + 1;
            }
            _ => {}
        }
    }
    if !text.trim().is_empty() {
        found.push(&text[start..]);
    }
    found
}

/// A call that stands alone on its line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct CallLine<'t> {
    pub callee: &'t str,
    pub arguments: Vec<&'t str>,
}

/// `callee(a, b);`, or `delete a;`, alone on a line.
pub(crate) fn call_line(line: &str) -> Option<CallLine<'_>> {
    let statement = line.trim().strip_suffix(';')?.trim_end();
    for operator in ["delete[]", "delete []", "delete"] {
        if let Some(operand) = statement.strip_prefix(operator)
            && operand.starts_with([' ', '('])
        {
            return Some(CallLine { callee: "delete", arguments: vec![operand.trim()] });
        }
    }
    let start = statement.find('(')?;
    let callee = statement[..start].trim_end();
    let (inside, rest) = matched(&statement[start..])?;
    let is_name = !callee.is_empty() && callee.chars().all(|c| is_word(c) || c == ':');
    (is_name && rest.trim().is_empty()).then(|| CallLine { callee, arguments: split_arguments(inside) })
}

/// `&(char *)p->name`: a variable and what follows it, without casts, brackets and address. None for other expressions.
pub(crate) fn operand(argument: &str) -> Option<(&str, &str)> {
    let mut text = argument.trim();
    loop {
        let shorter = text.strip_prefix('&').or_else(|| text.strip_prefix('*')).unwrap_or(text).trim_start();
        // A cast ends in a star; other brackets are taken off.
        let shorter = match matched(shorter).filter(|_| shorter.starts_with('(')) {
            Some((inside, rest)) if inside.trim_end().ends_with('*') && !rest.is_empty() => rest.trim_start(),
            Some((inside, rest)) if rest.trim().is_empty() => inside.trim(),
            _ => shorter,
        };
        if shorter.len() == text.len() {
            break;
        }
        text = shorter;
    }
    let end = text.find(|c: char| !is_word(c)).unwrap_or(text.len());
    let (root, rest) = text.split_at(end);
    let is_path = rest.chars().all(|c| is_word(c) || matches!(c, '-' | '>' | '.' | '[' | ']'));
    let is_variable =
        root.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_') && root != "NULL" && root != "this";
    (is_variable && is_path).then_some((root, rest))
}

/// Whether a body declares a variable that lasts as long as a call: a type, then the name.
pub(crate) fn declares(body: &str, name: &str) -> bool {
    body.match_indices(name).any(|(at, _)| {
        let (before, after) = (&body[..at], &body[at + name.len()..]);
        let stands_alone = !before.ends_with(is_word) && !after.starts_with(is_word);
        let follows = after.trim_start();
        let is_end = ["=", ",", ";", "["].iter().any(|end| follows.starts_with(end)) && !follows.starts_with("==");
        let statement = before.rsplit([';', '{', '}']).next().unwrap_or_default();
        let kind = statement.split(',').next().unwrap_or_default().trim().trim_end_matches('*').trim_end();
        let first = kind.split_whitespace().next().unwrap_or_default();
        let is_type = !kind.is_empty() && kind.chars().all(|c| is_word(c) || matches!(c, ' ' | '*' | ':' | '<' | '>'));
        let is_type = is_type && !["return", "delete", "static", "goto", "else"].contains(&first);
        let listed = statement.contains(',') || statement.trim_end().ends_with(|c: char| c == '*' || is_word(c));
        stands_alone && is_end && is_type && listed && !statement.contains('(')
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = "\
#include <a.h>
/* int no(void) { } */
struct s { int a; };
static const char *table[] = { \"}\", \"{\" };
static int
one(struct s *s, char *names[], int)
{
    char c = '{'; // }
    if (c) { free(s); }
    return 0;
}
extern \"C\" {
void two(void) { }
}
";

    #[test]
    fn functions_are_found_with_their_lines_and_parameters() {
        let found = functions(&blanked(TEXT));
        let one = Function {
            name: "one".to_owned(),
            parameters: vec!["s".to_owned(), "names".to_owned(), "int".to_owned()],
            first: 6,
            last: 11,
        };
        let two = Function { name: "two".to_owned(), parameters: vec!["void".to_owned()], first: 13, last: 13 };
        assert_eq!(found, [one, two]);
    }

    #[test]
    fn blank_text_has_the_same_lines() {
        let blank = blanked(TEXT);
        assert_eq!(blank.lines().count(), TEXT.lines().count());
        assert_eq!(blank.lines().nth(7), Some("    char c =    ;     "));
        let continued = "a = \"one \\\n two\";\nfree(a);\n";
        assert_eq!(blanked(continued).lines().nth(2), Some("free(a);"));
    }

    #[test]
    fn a_call_alone_on_its_line_is_read() {
        let call = call_line("\tstrbuf_release(&a->buf, f(1, 2));  ").expect("a call");
        assert_eq!((call.callee, call.arguments), ("strbuf_release", vec!["&a->buf", " f(1, 2)"]));
        assert_eq!(call_line("delete[] p;").expect("a call").arguments, ["p"]);
        for line in ["x = f(a);", "if (a) f(b);", "return f(a);", "f(a)", "f(a) + 1;", "}"] {
            let call = call_line(line);
            assert!(call.is_none(), "{line}: {call:?}");
        }
    }

    #[test]
    fn operands_are_variables_with_fields() {
        assert_eq!(operand("p"), Some(("p", "")));
        assert_eq!(operand("&sb"), Some(("sb", "")));
        assert_eq!(operand("(void *)s->name"), Some(("s", "->name")));
        assert_eq!(operand("*(list[i].next)"), Some(("list", "[i].next")));
        for other in ["f(p)", "\"text\"", "p + 1", "NULL", "0"] {
            assert_eq!(operand(other), None, "{other}");
        }
    }

    #[test]
    fn declarations_are_distinguished_from_uses() {
        let body = "{ char *p, *q = 0; struct s s; static char *kept; x = y; f(z, w); return v; }";
        for (name, expected) in [
            ("p", true),
            ("q", true),
            ("s", true),
            ("kept", false),
            ("x", false),
            ("y", false),
            ("z", false),
            ("v", false),
        ] {
            assert_eq!(declares(body, name), expected, "{name}");
        }
    }
}
