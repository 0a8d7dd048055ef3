//! What Caulk says of generated functions.

use std::collections::BTreeSet;
use std::path::Path;
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
    let folder = tempfile::tempdir().expect("there is room for temporary files");
    let path = folder.path().join("generated.c");
    std::fs::write(&path, render::unit(functions)).expect("the folder is new");
    let reported = reported(&path);
    let verdict = |(index, function): (usize, &Function)| {
        let is_reported = reported.contains(&format!("f{index}"));
        if is_reported == run::leaks(function) { Verdict::Right } else { Verdict::Wrong }
    };
    functions.iter().enumerate().map(verdict).collect()
}

/// The functions in which something is reported.
fn reported(path: &Path) -> BTreeSet<String> {
    let output = Command::new(env!("CARGO_BIN_EXE_caulk"))
        .args(["check", "--quiet", "--no-cache", "--format", "json"])
        .arg(path)
        .output()
        .expect("Caulk is built with its tests");
    let said = String::from_utf8_lossy(&output.stderr);
    let report: serde_json::Value =
        serde_json::from_slice(&output.stdout).unwrap_or_else(|e| panic!("no report: {e}\n{said}"));
    let findings = report["findings"].as_array().expect("a report has findings");
    findings.iter().filter_map(|f| f["loss"]["function"].as_str()).map(str::to_owned).collect()
}

/// A wrong answer in words.
pub(crate) fn explain(function: &Function) -> String {
    let says = if run::leaks(function) { "leaks, and nothing is reported" } else { "does not leak, but is reported" };
    format!("{says} ({:?}):\n{}", function.features(), render::function(function))
}
