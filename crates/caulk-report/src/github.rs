//! Annotations of GitHub's workflow commands: one line a finding, shown beside the changed code.

use std::fmt::Write as _;

use crate::finding::Confidence;
use crate::report::Report;
use crate::terminal;

pub fn render(report: &Report) -> String {
    let mut text = String::new();
    for finding in report.counted() {
        let is_notice = finding.is_note() || finding.confidence == Confidence::Low;
        let level = if is_notice { "notice" } else { "warning" };
        let site = &finding.loss;
        let _ = write!(text, "::{level} file={},line={}", property(&site.file), site.line.max(1));
        if site.column > 0 {
            let _ = write!(text, ",col={}", site.column);
        }
        let title = format!("caulk: {}", finding.rules());
        let message = finding.line();
        let _ = writeln!(text, ",title={}::{}", property(&title), data(&message));
    }
    text
}

/// Ends of lines have a form of their own; what else a terminal would obey does not reach the log.
fn data(text: &str) -> String {
    terminal::piece(&text.replace('%', "%25").replace('\r', "%0D").replace('\n', "%0A"))
}

fn property(text: &str) -> String {
    data(text).replace(':', "%3A").replace(',', "%2C")
}

#[cfg(test)]
mod tests {
    #[test]
    fn nothing_in_a_name_is_a_command() {
        assert_eq!(super::property("a,b:c\n::error::%.c"), "a%2Cb%3Ac%0A%3A%3Aerror%3A%3A%25.c");
        assert_eq!(super::data("a\n::error::x"), "a%0A::error::x");
        assert_eq!(super::data("a\u{1b}[2J\u{202e}\u{2028}"), "a\u{fffd}[2J\u{fffd}\u{fffd}");
    }
}
