//! Lines of C and C++ with their words marked.

use std::cell::RefCell;
use std::ops::Range;
use std::rc::Rc;

use rustc_hash::FxHashMap;

use super::escape;
use crate::source::{SourceFile, Sources};
use crate::tokens::{TokenKind, comments};

/// Bytes of a line that are shown.
const MAX_LINE: usize = 2_000;

const KEYWORDS: [&str; 68] = [
    "alignas",
    "alignof",
    "auto",
    "bool",
    "break",
    "case",
    "catch",
    "char",
    "class",
    "const",
    "const_cast",
    "constexpr",
    "continue",
    "decltype",
    "default",
    "delete",
    "do",
    "double",
    "dynamic_cast",
    "else",
    "enum",
    "explicit",
    "extern",
    "false",
    "final",
    "float",
    "for",
    "friend",
    "goto",
    "if",
    "inline",
    "int",
    "long",
    "namespace",
    "new",
    "noexcept",
    "nullptr",
    "operator",
    "override",
    "private",
    "protected",
    "public",
    "register",
    "reinterpret_cast",
    "restrict",
    "return",
    "short",
    "signed",
    "sizeof",
    "static",
    "static_assert",
    "static_cast",
    "struct",
    "switch",
    "template",
    "this",
    "throw",
    "true",
    "try",
    "typedef",
    "typename",
    "union",
    "unsigned",
    "using",
    "virtual",
    "void",
    "volatile",
    "while",
];

/// Files with their words sorted into classes, each once for all pages.
pub(crate) struct Library<'a> {
    sources: &'a Sources,
    known: RefCell<FxHashMap<String, Option<Rc<Highlighter>>>>,
}

impl<'a> Library<'a> {
    pub(crate) fn new(sources: &'a Sources) -> Self {
        Self { sources, known: RefCell::default() }
    }

    pub(crate) fn get(&self, file: &str) -> Option<Rc<Highlighter>> {
        let mut known = self.known.borrow_mut();
        let new = || self.sources.get(file).map(|source| Rc::new(Highlighter::new(source)));
        known.entry(file.to_owned()).or_insert_with(new).clone()
    }
}

/// A file with its words sorted into classes.
pub(crate) struct Highlighter {
    file: Rc<SourceFile>,
    /// What is more than plain text, by place.
    marks: Vec<(Range<usize>, &'static str)>,
}

impl Highlighter {
    pub(crate) fn new(file: Rc<SourceFile>) -> Self {
        let text = file.bytes();
        let class = |kind: TokenKind, range: &Range<usize>| match kind {
            TokenKind::Literal => Some("lit"),
            TokenKind::Word => {
                let word = std::str::from_utf8(&text[range.clone()]).ok()?;
                KEYWORDS.binary_search(&word).is_ok().then_some("kw")
            }
            TokenKind::Punctuation => None,
        };
        let words = file.tokens().iter().filter_map(|t| Some((t.start..t.end, class(t.kind, &(t.start..t.end))?)));
        let mut marks: Vec<(Range<usize>, &'static str)> = words.collect();
        marks.extend(comments(text).into_iter().map(|range| (range, "com")));
        marks.sort_by_key(|(range, _)| range.start);
        Self { file, marks }
    }

    /// The number of the last line.
    pub(crate) fn last_line(&self) -> u32 {
        self.file.line_at(self.file.bytes().len().saturating_sub(1))
    }

    /// A line as HTML.
    pub(crate) fn line(&self, number: u32) -> String {
        let Some(line) = self.file.line(number) else { return String::new() };
        let start = self.file.offset(number, 1).unwrap_or(0);
        let end = start + line.len().min(MAX_LINE);
        let text = |range: Range<usize>| escape::text(&String::from_utf8_lossy(&self.file.bytes()[range]));
        let mut html = String::new();
        let mut at = start;
        let first = self.marks.partition_point(|(range, _)| range.end <= start);
        for (range, class) in self.marks[first..].iter().take_while(|(range, _)| range.start < end) {
            let (from, to) = (range.start.max(at), range.end.min(end));
            if from >= to {
                continue;
            }
            html.push_str(&text(at..from));
            html.push_str(&format!("<span class=\"{class}\">{}</span>", text(from..to)));
            at = to;
        }
        html.push_str(&text(at..end));
        if line.len() > MAX_LINE {
            html.push_str("<span class=\"com\"> ...</span>");
        }
        html
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_of_a_line() {
        let file = SourceFile::new(b"/* a\n<b> */ if (x < 2) // y\n".to_vec());
        let lines = Highlighter::new(Rc::new(file));
        assert_eq!(lines.line(1), "<span class=\"com\">/* a</span>");
        let second = "<span class=\"com\">&lt;b&gt; */</span> <span class=\"kw\">if</span> (x &lt; <span class=\"lit\">2</span>) \
                      <span class=\"com\">// y</span>";
        assert_eq!(lines.line(2), second);
        assert_eq!(lines.line(9), "");
    }

    #[test]
    fn keywords_are_sorted() {
        assert!(KEYWORDS.is_sorted());
    }
}
