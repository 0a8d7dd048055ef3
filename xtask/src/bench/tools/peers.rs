//! The other leak finders: which are here, and what they have in common.

use std::collections::BTreeSet;
use std::path::Path;
use std::process::Command;

use anyhow::Result;

use super::clang_analyze::ClangAnalyze;
use super::cppcheck::Cppcheck;
use super::gcc_analyzer::GccAnalyzer;
use super::saber::Saber;
use super::{ClangBitcode, Sample, Setting, Tool};
use crate::bench::machine::first_line;
use crate::bench::project::Project;
use crate::bench::side_by_side;
use crate::bench::usage::Limits;

/// For each unit: some run for an hour, or take all memory, on a single large one. A unit cut off counts as failed.
const LIMITS: Limits = Limits { cpu_seconds: 300, memory_bytes: 8 << 30 };

/// The peers found on this machine, with their versions.
pub(crate) fn installed(bitcode: &ClangBitcode, clang: &Path) -> Vec<(Box<dyn Tool>, String)> {
    let mut found: Vec<(Box<dyn Tool>, String)> = Vec::new();
    if let Some(version) = first_line(clang, &["--version"]) {
        found.push((Box::new(ClangAnalyze), version));
    }
    if let Some(version) = first_line("gcc", &["--version"]).filter(|line| line.starts_with("gcc")) {
        found.push((Box::new(GccAnalyzer), version));
    }
    if let Some(version) = first_line("cppcheck", &["--version"]) {
        found.push((Box::new(Cppcheck), version));
    }
    if let Some(saber) = Saber::find(bitcode) {
        found.push((Box::new(saber), "SVF's saber".to_owned()));
    }
    found
}

/// Runs a compiler that analyses on the way, once for each unit, and collects the leaks that `find` sees in what it says.
pub(crate) fn run_compiler(
    project: &Project,
    setting: &Setting,
    command: &(dyn Fn(usize) -> Command + Sync),
    find: fn(&str) -> BTreeSet<String>,
) -> Result<Sample> {
    let folder = tempfile::tempdir()?;
    let limited = |unit: usize| {
        let mut command = command(unit);
        LIMITS.apply(&mut command);
        command.current_dir(&project.jobs[unit].directory);
        command
    };
    let finished = side_by_side::run(project.jobs.len(), setting.jobs, folder.path(), setting.peer_limit, &limited)?;
    let mut leaks = BTreeSet::new();
    for unit in 0..project.jobs.len() {
        // A unit that was never started has said nothing.
        let said = std::fs::read(side_by_side::messages(folder.path(), unit)).unwrap_or_default();
        leaks.append(&mut find(&String::from_utf8_lossy(&said)));
    }
    Ok(Sample {
        usage: finished.usage,
        leaks: Some(leaks.len()),
        failed_units: finished.failed_units(),
        is_cut_off: finished.is_cut_off,
    })
}
