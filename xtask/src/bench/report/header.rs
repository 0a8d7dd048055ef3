//! When, where and with what was measured.

use std::path::Path;

use serde::{Deserialize, Serialize};

use super::Form;
use crate::bench::{machine, repository};

#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct Header {
    pub date: String,
    pub machine: String,
    pub jobs: usize,
    /// The commit, marked if something that Caulk is made of differs from it.
    pub commit: String,
    pub versions: Vec<String>,
    pub command: String,
}

/// What Caulk is made of. Results and verdicts are written in the course of a measurement, and do not count.
const MADE_OF: [&str; 4] = ["crates", "models", "Cargo.toml", "Cargo.lock"];

/// Where files lie on one machine means nothing on another.
fn without_folder(word: &str) -> String {
    word.trim_end_matches('/').rsplit('/').next().unwrap_or(word).to_owned()
}

fn commit() -> Option<String> {
    let root = repository().display().to_string();
    let commit = machine::first_line("git", &["-C", &root, "describe", "--always"])?;
    let mut status = vec!["-C", &root, "status", "--porcelain", "--"];
    status.extend(MADE_OF);
    let mark = if machine::first_line("git", &status).is_some() { "-dirty" } else { "" };
    Some(commit + mark)
}

impl Header {
    pub(crate) fn new(jobs: usize, caulk: &Path, clang: &Path) -> Self {
        let line = |program: &Path, arguments: &[&str]| machine::first_line(program, arguments);
        let words: Vec<String> = std::env::args().skip(1).map(|word| without_folder(&word)).collect();
        Self {
            date: line(Path::new("date"), &["-u", "+%Y-%m-%d %H:%M UTC"]).unwrap_or_default(),
            machine: machine::describe(),
            jobs,
            commit: commit().unwrap_or_else(|| "unknown".to_owned()),
            versions: [line(caulk, &["--version"]), line(clang, &["--version"])].into_iter().flatten().collect(),
            command: format!("cargo xtask {}", words.join(" ")),
        }
    }

    pub(crate) fn print(&self, form: Form) -> String {
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn commands_name_files_without_their_folders() {
        assert_eq!(["../corpora/redis/", "--project", "a.json"].map(without_folder), ["redis", "--project", "a.json"]);
    }
}
