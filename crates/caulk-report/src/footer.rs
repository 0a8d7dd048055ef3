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
    lines.extend(match &report.changed_since {
        Some(since) => {
            let or = if report.has_baseline { ", or they are in the baseline" } else { "" };
            let what = format!("known: no line of the path changed since {since}{or}");
            more(known, &what, "without --changed-since all are shown")
        }
        None => more(known, "in the baseline", "without --baseline all are shown"),
    });
    let suppressed = report.findings.iter().filter(|f| f.suppression.is_some()).count();
    let Hidden { by_confidence, by_alloc_failure, by_level, by_path, at_exit } = report.hidden;
    let hidden = [
        more(suppressed, "suppressed, by a comment in the source or by caulk.toml", "--format json lists all"),
        more(by_path, "in files that were not asked for", "named files, --only and --exclude choose"),
        more(by_confidence, "less certain than --min-confidence asks for", "--min-confidence low shows all"),
        more(
            by_alloc_failure,
            "left out by --alloc-failure, since another allocation must fail first",
            "--alloc-failure show shows all",
        ),
        more_paths(by_level),
        at_exit_line(at_exit),
    ];
    lines.extend(hidden.into_iter().flatten());
    if !report.files_changed.is_empty() {
        let names = report.files_changed.iter().take(MAX_NAMED).cloned().collect::<Vec<_>>().join(", ");
        let more = if report.files_changed.len() > MAX_NAMED { ", ..." } else { "" };
        lines.push(format!(
            "{names}{more}: gone, or changed since it was compiled; what is quoted from there may be wrong"
        ));
    }
    match report.functions_cut.len() {
        0 => {}
        1 => lines.push(format!(
            "a bound was reached in 1 function, {}: paths through it were merged",
            report.functions_cut[0]
        )),
        n => lines.push(format!("a bound was reached in {n} functions: paths through them were merged")),
    }
    lines
}

/// `3 more are in the baseline; without --baseline all are shown`; None where there are no more.
fn more(count: usize, what: &str, how: &str) -> Option<String> {
    match count {
        0 => None,
        1 => Some(format!("1 more is {what}; {how}")),
        n => Some(format!("{n} more are {what}; {how}")),
    }
}

fn at_exit_line(count: usize) -> Option<String> {
    match count {
        0 => None,
        1 => Some("1 object is still held by main at exit; --at-exit shows it".to_owned()),
        n => Some(format!("{n} objects are still held by main at exit; --at-exit shows them")),
    }
}

fn more_paths(count: usize) -> Option<String> {
    let how = "--report-level 0 shows every path";
    match count {
        0 => None,
        1 => Some(format!("1 other path leads to a place that is shown; {how}")),
        n => Some(format!("{n} other paths lead to places that are shown; {how}")),
    }
}
