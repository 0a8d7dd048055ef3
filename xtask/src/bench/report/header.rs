//! When, where and with what was measured.

use std::path::Path;

use serde::Serialize;

use super::Form;
use crate::bench::{machine, repository};

#[derive(Debug, Clone, Serialize)]
pub struct Header {
    pub date: String,
    pub machine: String,
    pub jobs: usize,
    /// The commit, marked if something in the working tree differs from it.
    pub commit: String,
    pub versions: Vec<String>,
    pub command: String,
}

impl Header {
    pub fn new(jobs: usize, caulk: &Path, clang: &Path) -> Self {
        let line = |program: &Path, arguments: &[&str]| machine::first_line(program, arguments);
        let root = repository().display().to_string();
        let describe = ["-C", &root, "describe", "--always", "--dirty"];
        let words: Vec<String> = std::env::args().skip(1).collect();
        Self {
            date: line(Path::new("date"), &["-u", "+%Y-%m-%d %H:%M UTC"]).unwrap_or_default(),
            machine: machine::describe(),
            jobs,
            commit: line(Path::new("git"), &describe).unwrap_or_else(|| "unknown".to_owned()),
            versions: [line(caulk, &["--version"]), line(clang, &["--version"])].into_iter().flatten().collect(),
            command: format!("cargo xtask {}", words.join(" ")),
        }
    }

    pub fn print(&self, form: Form) -> String {
        let lines = [
            ("date", self.date.clone()),
            ("machine", format!("{}; {} units at once", self.machine, self.jobs)),
            ("commit", self.commit.clone()),
            ("versions", self.versions.join("; ")),
            ("command", self.command.clone()),
        ];
        let print = |(name, value): &(&str, String)| match form {
            Form::Text => format!("{name:<9} {value}\n"),
            Form::Markdown => format!("- {name}: {value}\n"),
        };
        lines.iter().map(print).collect()
    }
}
