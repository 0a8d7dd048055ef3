//! Puts statements before others, with the indentation around them, and with braces where there are none yet.

use crate::code::{Code, Statement};
use crate::patch::Edit;

/// Statements to insert, one a line.
pub(crate) type Lines<'a> = &'a [String];

/// Before a statement that ends with a semicolon.
pub(crate) fn before(code: &Code<'_>, file: &str, statement: Statement, lines: Lines<'_>) -> Vec<Edit> {
    if code.is_bare(statement.first) {
        in_braces(code, file, statement, lines)
    } else {
        plainly(code, file, statement.first, lines)
    }
}

/// Before whatever begins at a token. None: it is the body of a control structure without braces, and no simple statement.
pub(crate) fn before_start(code: &Code<'_>, file: &str, first: usize, lines: Lines<'_>) -> Option<Vec<Edit>> {
    (!code.is_bare(first)).then(|| plainly(code, file, first, lines))
}

/// After a statement.
pub(crate) fn after(code: &Code<'_>, file: &str, statement: Statement, lines: Lines<'_>) -> Option<Vec<Edit>> {
    if code.is_bare(statement.first) {
        return None;
    }
    let blanks = String::from_utf8_lossy(code.line(statement.first).1).into_owned();
    let end = code.tokens[statement.last].end;
    let text = lines.iter().map(|line| format!("\n{blanks}{line}")).collect();
    Some(vec![Edit { file: file.to_owned(), start: end, end, text }])
}

/// Before the brace that closes a block.
pub(crate) fn before_brace(code: &Code<'_>, file: &str, brace: usize, lines: Lines<'_>) -> Vec<Edit> {
    if !code.is_first_in_line(brace) {
        return same_line(code, file, brace, lines);
    }
    let (begin, blanks) = code.line(brace);
    let blanks = format!("{}{}", String::from_utf8_lossy(blanks), code.unit());
    let text = lines.iter().map(|line| format!("{blanks}{line}\n")).collect();
    vec![Edit { file: file.to_owned(), start: begin, end: begin, text }]
}

fn plainly(code: &Code<'_>, file: &str, first: usize, lines: Lines<'_>) -> Vec<Edit> {
    if !code.is_first_in_line(first) {
        return same_line(code, file, first, lines);
    }
    let (begin, blanks) = code.line(first);
    let blanks = String::from_utf8_lossy(blanks);
    let text = lines.iter().map(|line| format!("{blanks}{line}\n")).collect();
    vec![Edit { file: file.to_owned(), start: begin, end: begin, text }]
}

fn same_line(code: &Code<'_>, file: &str, at: usize, lines: Lines<'_>) -> Vec<Edit> {
    let start = code.tokens[at].start;
    let text = lines.iter().map(|line| format!("{line} ")).collect();
    vec![Edit { file: file.to_owned(), start, end: start, text }]
}

/// `if (a) return;` becomes a block.
fn in_braces(code: &Code<'_>, file: &str, statement: Statement, lines: Lines<'_>) -> Vec<Edit> {
    let header = statement.first - 1;
    let keyword = code.start(header).unwrap_or(header);
    let outer = String::from_utf8_lossy(code.line(keyword).1).into_owned();
    let own_line = code.is_first_in_line(statement.first);
    let inner = match own_line {
        true => String::from_utf8_lossy(code.line(statement.first).1).into_owned(),
        false => format!("{outer}{}", code.unit()),
    };
    let (open, close) = (code.tokens[header].end, code.tokens[statement.last].end);
    let edit = |start: usize, end: usize, text: String| Edit { file: file.to_owned(), start, end, text };
    let inserted: String = lines.iter().map(|line| format!("{inner}{line}\n")).collect();
    let closing = edit(close, close, format!("\n{outer}}}"));
    if own_line {
        let begin = code.line(statement.first).0;
        return vec![edit(open, open, " {".to_owned()), edit(begin, begin, inserted), closing];
    }
    vec![edit(open, code.tokens[statement.first].start, format!(" {{\n{inserted}{inner}")), closing]
}

#[cfg(test)]
mod tests {
    use caulk_report::source::{SourceFile, Sources};

    use super::*;
    use crate::patch::Patch;

    /// The text with `free(p);` before the statement at the mark.
    fn inserted(marked: &str) -> String {
        let offset = marked.find('@').expect("a mark");
        let line = u32::try_from(marked[..offset].matches('\n').count()).expect("short") + 1;
        let column = u32::try_from(offset - marked[..offset].rfind('\n').map_or(0, |n| n + 1)).expect("short") + 1;
        let text = marked.replacen('@', "", 1).into_bytes();
        let file = SourceFile::new(text.clone());
        let code = Code::new(&file);
        let at = code.token_at(&file, line, column).expect("a token");
        let lines = ["free(p);".to_owned()];
        let edits = match code.word(at) {
            b"}" => before_brace(&code, "a.c", at, &lines),
            _ => before(&code, "a.c", code.statement(at).expect("a statement"), &lines),
        };
        let sources = Sources::new(std::path::Path::new("/nowhere"), 1);
        sources.put("a.c", text);
        let texts = Patch::new(edits).expect("they fit").texts(&sources).expect("readable");
        String::from_utf8(texts["a.c"].clone()).expect("text")
    }

    #[test]
    fn on_a_line_of_its_own() {
        assert_eq!(inserted("{\n\tf();\n\t@return;\n}\n"), "{\n\tf();\n\tfree(p);\n\treturn;\n}\n");
        assert_eq!(inserted("{\n  f();\n@}\n"), "{\n  f();\n  free(p);\n}\n");
        assert_eq!(inserted("{ f(); @return; }\n"), "{ f(); free(p); return; }\n");
    }

    #[test]
    fn a_body_without_braces_gets_some() {
        assert_eq!(
            inserted("{\n    if (a)\n        @return -1;\n    g();\n}\n"),
            "{\n    if (a) {\n        free(p);\n        return -1;\n    }\n    g();\n}\n"
        );
        assert_eq!(
            inserted("{\n    if (a) @return -1;\n    g();\n}\n"),
            "{\n    if (a) {\n        free(p);\n        return -1;\n    }\n    g();\n}\n"
        );
        assert_eq!(
            inserted("{\n\tif (a)\n\t\tf();\n\telse\n\t\t@return -1;\n}\n"),
            "{\n\tif (a)\n\t\tf();\n\telse {\n\t\tfree(p);\n\t\treturn -1;\n\t}\n}\n"
        );
    }
}
