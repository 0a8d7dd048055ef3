//! What a report does not show, and which option shows it: the same words for every format that people read.

use crate::finding::BaselineState;
use crate::report::Report;
use crate::select::Hidden;

/// Files named before the rest is only counted.
const MAX_NAMED: usize = 5;

/// One sentence a line.
pub(crate) fn lines(report: &Report) -> Vec<String> {
    let mut lines = Vec::new();
    let known = report.findings.iter().filter(|f| f.baseline == Some(BaselineState::Unchanged)).count();
    if known > 0 {
        lines.push(format!("{known} more are in the baseline; without --baseline they are shown"));
    }
    let suppressed = report.findings.iter().filter(|f| f.suppression.is_some()).count();
    if suppressed > 0 {
        lines.push(format!("{suppressed} more are suppressed, by comments in the source or by the configuration"));
    }
    let Hidden { by_confidence, by_alloc_failure, by_level } = report.hidden;
    let mut hidden = |count: usize, what: &str, how: &str| {
        if count > 0 {
            lines.push(format!("{count} more {what}; {how}"));
        }
    };
    hidden(
        by_confidence,
        "are less sure than --min-confidence asks for",
        "they rest on something the analysis could not see; --min-confidence low shows them",
    );
    hidden(
        by_alloc_failure,
        "are left out by --alloc-failure",
        "it chooses among leaks that need another allocation to fail; --alloc-failure show shows all",
    );
    hidden(by_level, "are other paths to the same places", "--report-level 0 shows every path");
    if !report.files_changed.is_empty() {
        let names = report.files_changed.iter().take(MAX_NAMED).cloned().collect::<Vec<_>>().join(", ");
        let more = if report.files_changed.len() > MAX_NAMED { ", ..." } else { "" };
        lines.push(format!("{names}{more}: gone, or changed since compiled; what is quoted from there may be wrong"));
    }
    match report.units_not_read.len() {
        0 => {}
        1 => lines.push("1 unit was not read: what it leaks, frees or keeps is not known".to_owned()),
        n => lines.push(format!("{n} units were not read: what they leak, free or keep is not known")),
    }
    match report.functions_cut.len() {
        0 => {}
        1 => lines.push(format!(
            "a bound was reached in 1 function, {}: ways through it were merged",
            report.functions_cut[0]
        )),
        n => lines.push(format!("a bound was reached in {n} functions: ways through them were merged")),
    }
    lines
}
