//! The report in the form of Code Climate, which GitLab shows beside the lines of a merge request.

use std::collections::BTreeMap;

use serde_json::{Value, json};

use crate::finding::{Confidence, Finding};
use crate::report::Report;

pub fn render(report: &Report) -> String {
    // The service takes findings with one fingerprint for one; at level 0 several paths share theirs.
    let mut seen: BTreeMap<&str, usize> = BTreeMap::new();
    let issues: Vec<Value> = report
        .counted()
        .map(|finding| {
            let before = seen.entry(&finding.fingerprint).or_default();
            *before += 1;
            issue(finding, *before)
        })
        .collect();
    let mut text = serde_json::to_string_pretty(&issues).expect("strings and numbers always serialise");
    text.push('\n');
    text
}

fn issue(finding: &Finding, number: usize) -> Value {
    let fingerprint = match number {
        1 => finding.fingerprint.clone(),
        n => format!("{}/{n}", finding.fingerprint),
    };
    let site = &finding.loss;
    json!({
        "type": "issue",
        "check_name": finding.kind.rule(),
        "description": finding.line(),
        "categories": ["Bug Risk"],
        "severity": severity(finding),
        "fingerprint": fingerprint,
        "location": { "path": site.file, "lines": { "begin": site.line.max(1) } },
    })
}

fn severity(finding: &Finding) -> &'static str {
    match finding.confidence {
        _ if finding.is_note() => "info",
        Confidence::High => "major",
        Confidence::Medium => "minor",
        Confidence::Low => "info",
    }
}
