//! What Caulk says of generated functions.

use std::collections::BTreeSet;
use std::process::Command;

use crate::shape::Function;
use crate::{render, run};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Verdict {
    Right,
    Wrong,
}

/// A verdict on each function of a translation unit.
pub(crate) fn verdicts(functions: &[Function]) -> Vec<Verdict> {
    let reported = reported(&render::unit(functions));
    let verdict = |(index, function): (usize, &Function)| {
        let is_reported = reported.contains(&format!("f{index}"));
        if is_reported == run::leaks(function) { Verdict::Right } else { Verdict::Wrong }
    };
    functions.iter().enumerate().map(verdict).collect()
}

/// The functions of a translation unit in which something is reported.
pub(crate) fn reported(unit: &str) -> BTreeSet<String> {
    let folder = tempfile::tempdir().expect("there is room for temporary files");
    let path = folder.path().join("generated.c");
    std::fs::write(&path, unit).expect("the folder is new");
    let output = Command::new(env!("CARGO_BIN_EXE_caulk"))
        .args(["check", "--quiet", "--no-cache", "--report-level", "0", "--format", "json"])
        .arg(path)
        .output()
        .expect("Caulk is built with its tests");
    let said = String::from_utf8_lossy(&output.stderr);
    let report: serde_json::Value =
        serde_json::from_slice(&output.stdout).unwrap_or_else(|e| panic!("no report: {e}\n{said}"));
    let findings = report["findings"].as_array().expect("a report has findings");
    assert_stages_agree(&report, findings.len() as u64);
    findings.iter().filter_map(|f| f["loss"]["function"].as_str()).map(str::to_owned).collect()
}

/// Stage two decides about what stage one lists, each candidate once, and finds nothing of its own.
fn assert_stages_agree(report: &serde_json::Value, findings: u64) {
    let stages = &report["statistics"];
    let number = |name: &str| stages[name].as_u64().unwrap_or_else(|| panic!("no number {name} in {stages}"));
    let refuted = stages["refuted"].as_array().expect("refuted candidates, by layer").iter();
    let refuted: u64 = refuted.filter_map(|layer| layer["count"].as_u64()).sum();
    let decided = number("confirmed") + refuted + number("undecided");
    assert_eq!(decided, number("candidates"), "each candidate is decided once: {stages}");
    assert!(findings <= number("confirmed") + number("undecided"), "{findings} findings: {stages}");
}

/// A wrong answer in words.
pub(crate) fn explain(function: &Function) -> String {
    let says = if run::leaks(function) { "leaks, and nothing is reported" } else { "does not leak, but is reported" };
    format!("{says} ({:?}):\n{}", function.features(), render::function(function))
}
