//! What Caulk says of generated functions.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::process::Command;

use caulk_explore::{ExploreConfig, unlisted};
use caulk_ir::PackedUnit;
use caulk_ir::text::parse_unit;
use caulk_models::Models;
use caulk_program::{Program, ProgramConfig, UnitInput};
use caulk_useflow::{UseflowConfig, analyse};

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

/// The functions of a translation unit in which stage two, looking at every object, finds one left that stage one does not list.
/// Each with the lines where it is made and left.
pub(crate) fn disagreements(unit: &str) -> BTreeMap<String, String> {
    let folder = tempfile::tempdir().expect("there is room for temporary files");
    let path = folder.path().join("generated.c");
    std::fs::write(&path, unit).expect("the folder is new");
    let text = lowered(&path);
    let lowered = parse_unit(&text).unwrap_or_else(|error| panic!("{error}"));
    let program = Program::link(vec![UnitInput::new(PackedUnit::pack(lowered))], ProgramConfig::default());
    let useflow = UseflowConfig::default();
    let analysis = analyse(&program, &Models::bundled(), &useflow);
    let found = unlisted(&program, &useflow, &analysis, &ExploreConfig::default());
    let line_of = |text: &str, number: u32| text.lines().nth(number as usize - 1).unwrap_or_default().trim().to_owned();
    let told = found.iter().map(|object| {
        let body = program.body(object.function).expect("objects are made in functions with a body");
        let [made, left] = [object.allocation, object.exit].map(|inst| line_of(unit, body.place(inst).line));
        (program.function(object.function).name.to_owned(), format!("made by {made:?}, left at {left:?}"))
    });
    told.collect()
}

/// The core IR of a source, as text.
fn lowered(source: &Path) -> String {
    let output = Command::new(env!("CARGO_BIN_EXE_caulk"))
        .args(["ir", "--quiet", "--no-cache"])
        .arg(source)
        .output()
        .expect("Caulk is built with its tests");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).expect("IR is text")
}

/// A wrong answer in words.
pub(crate) fn explain(function: &Function) -> String {
    let says = if run::leaks(function) { "leaks, and nothing is reported" } else { "does not leak, but is reported" };
    format!("{says} ({:?}):\n{}", function.features(), render::function(function))
}
