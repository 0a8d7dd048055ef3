//! The report as JUnit's XML, which most CI services show: one failed test for each leak, and a passed one when there is none.

use std::fmt::Write as _;

use crate::finding::Finding;
use crate::report::Report;

pub fn render(report: &Report) -> String {
    let (leaks, notes): (Vec<&Finding>, Vec<&Finding>) = report.counted().partition(|finding| !finding.is_note());
    let lost = &report.units_not_read;
    let tests = (leaks.len() + notes.len() + lost.len()).max(1);
    let mut text = String::from("<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n");
    let counts = format!("tests=\"{tests}\" failures=\"{}\" errors=\"{}\"", leaks.len(), lost.len());
    let _ = writeln!(text, "<testsuites name=\"caulk\" {counts}>\n<testsuite name=\"caulk\" {counts}>");
    for finding in &leaks {
        let message = escape(&finding.line());
        let failure = format!("<failure type=\"{}\" message=\"{message}\">", finding.kind.rule());
        let _ = writeln!(text, "{}\n{failure}{}</failure>\n</testcase>", test_case(finding), escape(&steps(finding)));
    }
    for finding in &notes {
        let _ =
            writeln!(text, "{}<system-out>{}</system-out></testcase>", test_case(finding), escape(&finding.message()));
    }
    for unit in lost {
        let (source, reason) = (escape(&unit.source), escape(&unit.reason));
        let _ = writeln!(
            text,
            "<testcase classname=\"{source}\" name=\"reading\"><error message=\"{reason}\"/></testcase>"
        );
    }
    if leaks.is_empty() && notes.is_empty() && lost.is_empty() {
        text.push_str("<testcase classname=\"caulk\" name=\"no leaks\"/>\n");
    }
    text.push_str("</testsuite>\n</testsuites>\n");
    text
}

fn test_case(finding: &Finding) -> String {
    let site = &finding.loss;
    let name = format!("{} in {} ({})", finding.subject(), site.function, finding.kind.rule());
    let (file, name) = (escape(&site.file), escape(&name));
    format!("<testcase classname=\"{file}\" name=\"{name}\" file=\"{file}\" line=\"{}\">", site.line)
}

fn steps(finding: &Finding) -> String {
    let step = |step: &crate::finding::Step| format!("{}: {}\n", step.site, step.text);
    finding.essential().map(step).collect()
}

/// For the text and the attributes of XML. Characters that XML cannot have at all become U+FFFD.
fn escape(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '&' => escaped.push_str("&amp;"),
            '<' => escaped.push_str("&lt;"),
            '>' => escaped.push_str("&gt;"),
            '"' => escaped.push_str("&quot;"),
            '\n' => escaped.push_str("&#10;"),
            '\t' => escaped.push(c),
            c if c.is_control() || matches!(c, '\u{fffe}' | '\u{ffff}') => escaped.push('\u{fffd}'),
            c => escaped.push(c),
        }
    }
    escaped
}

#[cfg(test)]
mod tests {
    #[test]
    fn nothing_in_a_name_is_markup() {
        assert_eq!(super::escape("a<b>&\"c\"\n\u{1}\u{1b}"), "a&lt;b&gt;&amp;&quot;c&quot;&#10;\u{fffd}\u{fffd}");
    }
}
