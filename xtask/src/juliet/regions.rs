//! Functions and classes of a source file, with the lines they cover, found by matching braces. Good enough for sources
//! that a generator wrote, which is what the suite's are.

/// A function or class.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Region {
    pub is_function: bool,
    /// As it is defined, with the classes around it: `Outer::name`.
    pub name: String,
    pub first: u32,
    pub last: u32,
}

/// The source without comments, literals and preprocessor lines; what is left keeps its place.
pub(crate) fn blank(source: &str) -> String {
    let bytes = source.as_bytes();
    let mut out = String::with_capacity(source.len());
    let (mut at, mut line_is_empty) = (0, true);
    while at < bytes.len() {
        let rest = &source[at..];
        let end = if let Some(comment) = rest.strip_prefix("/*") {
            comment.find("*/").map_or(rest.len(), |end| end + 4)
        } else if rest.starts_with("//") {
            rest.find('\n').unwrap_or(rest.len())
        } else if bytes[at] == b'#' && line_is_empty {
            end_of_directive(rest)
        } else if matches!(bytes[at], b'"' | b'\'') {
            end_of_literal(rest)
        } else {
            let c = rest.chars().next().expect("there is more");
            line_is_empty = c == '\n' || (line_is_empty && c.is_whitespace());
            out.push(c);
            at += c.len_utf8();
            continue;
        };
        out.extend(rest[..end].chars().map(|c| if c == '\n' { c } else { ' ' }));
        at += end;
    }
    out
}

/// A directive goes on behind a line that ends in a backslash.
fn end_of_directive(rest: &str) -> usize {
    let mut end = 0;
    for line in rest.split_inclusive('\n') {
        end += line.len();
        if !line.trim_end().ends_with('\\') {
            return end - usize::from(line.ends_with('\n'));
        }
    }
    end
}

fn end_of_literal(rest: &str) -> usize {
    let quote = rest.as_bytes()[0];
    let mut at = 1;
    while at < rest.len() && rest.as_bytes()[at] != quote {
        at += if rest.as_bytes()[at] == b'\\' { 2 } else { 1 };
    }
    let end = (at + 1).min(rest.len());
    (end..=rest.len()).find(|e| rest.is_char_boundary(*e)).unwrap_or(rest.len())
}

/// All functions and classes of a blanked source, inner ones first. None when braces do not match.
pub(crate) fn regions(blanked: &str) -> Option<Vec<Region>> {
    let mut found = Vec::new();
    let mut open: Vec<Open> = Vec::new();
    let (mut header, mut line) = (0, 1);
    for (at, c) in blanked.char_indices() {
        match c {
            '\n' => line += 1,
            '{' => {
                let is_inside = open.iter().any(|o| matches!(o.kind, Kind::Function(_)));
                let text = &blanked[header..at];
                let kind = if is_inside { Kind::Block } else { kind_of(text) };
                let lines = text.trim_start().matches('\n').count() as u32;
                open.push(Open { kind, first: line - lines });
            }
            '}' => {
                let closed = open.pop()?;
                let (is_function, name) = match closed.kind {
                    Kind::Function(name) => (true, name),
                    Kind::Class(name) => (false, name),
                    Kind::Block => {
                        header = at + 1;
                        continue;
                    }
                };
                let around = open.iter().filter_map(|o| match &o.kind {
                    Kind::Class(name) => Some(name.as_str()),
                    _ => None,
                });
                let name = around.chain([name.as_str()]).collect::<Vec<_>>().join("::");
                found.push(Region { is_function, name, first: closed.first, last: line });
            }
            _ => {}
        }
        if matches!(c, '{' | '}' | ';') {
            header = at + 1;
        }
    }
    open.is_empty().then_some(found)
}

struct Open {
    kind: Kind,
    first: u32,
}

enum Kind {
    Function(String),
    Class(String),
    /// A namespace, an initialiser or a statement.
    Block,
}

/// What a brace opens, by what stands before it.
fn kind_of(header: &str) -> Kind {
    const CLASSES: [&str; 4] = ["class", "struct", "union", "enum"];
    let words: Vec<&str> = header.split(|c: char| !is_word(c)).filter(|w| !w.is_empty()).collect();
    if words.contains(&"namespace") {
        return Kind::Block;
    }
    if let Some(name) = called_name(header).filter(|_| header.contains(')')) {
        return Kind::Function(name);
    }
    match words.iter().position(|w| CLASSES.contains(w)).and_then(|at| words.get(at + 1)) {
        Some(name) => Kind::Class((*name).to_owned()),
        None => Kind::Block,
    }
}

/// The qualified name before the first parenthesis.
fn called_name(header: &str) -> Option<String> {
    const KEYWORDS: [&str; 9] = ["if", "for", "while", "switch", "do", "else", "return", "sizeof", "catch"];
    let before = header[..header.find('(')?].trim_end();
    let start = before.rfind(|c: char| !(is_word(c) || c == ':' || c == '~')).map_or(0, |at| at + 1);
    let name = before[start..].trim_start_matches(':');
    (!name.is_empty() && !KEYWORDS.contains(&name)).then(|| name.to_owned())
}

pub(crate) fn is_word(c: char) -> bool {
    c.is_ascii_alphanumeric() || c == '_'
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn functions_and_classes_with_their_lines() {
        let source = "#define OPEN {\n/* { */ namespace n {\nclass A : public B\n{\npublic:\n  A(int x) : B(x) { s = \"}\"; }\n};\n\
                      static char *\nf(int n)\n{\n  if (n) { g(); }\n}\nint t[] = { 1, 2 };\nA::~A() { }\n}\n";
        let found = regions(&blank(source)).expect("braces match");
        let shown: Vec<String> = found.iter().map(|r| format!("{} {}-{}", r.name, r.first, r.last)).collect();
        assert_eq!(shown, ["A::A 5-6", "A 3-7", "f 8-12", "A::~A 14-14"]);
        assert!(regions("{ } }").is_none());
    }
}
