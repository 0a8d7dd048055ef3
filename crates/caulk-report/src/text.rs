//! The report for a terminal.

use std::fmt::Write as _;

use crate::finding::Finding;
use crate::report::Report;

/// One line a finding, which editors can jump to; with `notes`, the allocation and the path below it.
pub fn render(report: &Report, notes: bool) -> String {
    let mut text = String::new();
    for finding in &report.findings {
        let _ = writeln!(text, "{}: {} [{}]", finding.loss, finding.message(), finding.kind.rule());
        if notes {
            write_notes(&mut text, finding);
        }
    }
    text
}

fn write_notes(text: &mut String, finding: &Finding) {
    for call in &finding.chain {
        let _ = writeln!(text, "    {}: {} calls {}", call.site, call.site.function, call.callee);
    }
    for step in &finding.steps {
        let _ = writeln!(text, "    {}: {}", step.site, step.text);
    }
}
