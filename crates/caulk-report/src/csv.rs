//! The report as a table for spreadsheets and scripts: comma-separated values as in RFC 4180, one line for each finding.

use crate::finding::{BaselineState, Finding};
use crate::report::Report;

const COLUMNS: [&str; 17] = [
    "file",
    "line",
    "column",
    "function",
    "rule",
    "confidence",
    "confidence_reason",
    "variable",
    "message",
    "allocated_file",
    "allocated_line",
    "allocator",
    "needs_alloc_failure",
    "state",
    "suppressed",
    "reason",
    "fingerprint",
];

/// All findings: those that are known or suppressed say so.
pub fn render(report: &Report) -> String {
    let mut text = COLUMNS.join(",") + "\r\n";
    for finding in &report.findings {
        let cells: Vec<String> = row(finding).iter().map(|cell| quote(cell)).collect();
        text.push_str(&cells.join(","));
        text.push_str("\r\n");
    }
    text
}

fn row(finding: &Finding) -> [String; COLUMNS.len()] {
    let Finding { loss, allocation, .. } = finding;
    let state = match finding.baseline {
        Some(BaselineState::New) => "new",
        Some(BaselineState::Unchanged) => "known",
        None => "",
    };
    let reason = finding.suppression.as_ref().and_then(|s| s.reason.clone()).unwrap_or_default();
    [
        loss.file.clone(),
        loss.line.to_string(),
        loss.column.to_string(),
        loss.function.clone(),
        finding.kind.rule().to_owned(),
        finding.confidence.to_string(),
        finding.confidence_reason.clone(),
        finding.variable.clone().unwrap_or_default(),
        finding.message(),
        allocation.site.file.clone(),
        allocation.site.line.to_string(),
        allocation.callee.clone(),
        finding.needs_alloc_failure.to_string(),
        state.to_owned(),
        finding.suppression.is_some().to_string(),
        reason,
        finding.fingerprint.clone(),
    ]
}

/// A cell that begins like a formula is text: spreadsheets would compute it, and names come from the source.
fn quote(cell: &str) -> String {
    let is_formula = cell.starts_with(['=', '+', '-', '@', '\t', '\r']);
    let cell = if is_formula { format!("'{cell}") } else { cell.to_owned() };
    if cell.contains(['"', ',', '\n', '\r']) { format!("\"{}\"", cell.replace('"', "\"\"")) } else { cell }
}

#[cfg(test)]
mod tests {
    #[test]
    fn cells_are_text() {
        assert_eq!(super::quote("plain"), "plain");
        assert_eq!(super::quote("a,\"b\""), "\"a,\"\"b\"\"\"");
        assert_eq!(super::quote("=HYPERLINK(1)"), "'=HYPERLINK(1)");
        assert_eq!(super::quote("-x.c"), "'-x.c");
    }
}
