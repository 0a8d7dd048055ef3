//! Caulk itself.

use std::fs::File;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context, Result, bail};

use super::{Sample, Setting, Tool};
use crate::bench::arguments::CaulkCommand;
use crate::bench::project::Project;
use crate::bench::usage::{self, Watch};

/// Exit statuses of Caulk: everything read, leaks found, some units not read.
const DONE: [i32; 3] = [0, 1, 3];

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum CacheUse {
    /// `--no-cache`.
    None,
    /// A new folder: everything is read and kept.
    Fresh,
    /// What a run before has kept.
    Warm,
}

#[derive(Debug, Clone)]
pub(crate) struct Caulk {
    pub path: PathBuf,
    pub command: CaulkCommand,
    pub cache: CacheUse,
}

impl Caulk {
    fn invocation(&self, project: &Project, setting: &Setting) -> Command {
        let mut command = Command::new(&self.path);
        command.current_dir(&project.folder).arg(self.command.name()).arg("-p").arg(&project.database).arg("-q");
        command.arg("--jobs").arg(setting.jobs.to_string()).arg("--clang").arg(&setting.clang);
        match self.cache {
            CacheUse::None => command.arg("--no-cache"),
            CacheUse::Fresh | CacheUse::Warm => command.arg("--cache").arg(cache_folder(project)),
        };
        if self.command == CaulkCommand::Check {
            command.args(["--format", "sarif"]);
        }
        command
    }
}

impl Tool for Caulk {
    fn name(&self) -> String {
        let cache = match self.cache {
            CacheUse::None => "cold, no cache",
            CacheUse::Fresh => "cold, new cache",
            CacheUse::Warm => "warm",
        };
        format!("caulk {}, {cache}", self.command.name())
    }

    fn run(&self, project: &Project, setting: &Setting) -> Result<Sample> {
        let cache = cache_folder(project);
        if self.cache == CacheUse::Fresh && cache.exists() {
            std::fs::remove_dir_all(&cache).with_context(|| format!("cannot empty {}", cache.display()))?;
        }
        let results = project.folder.join("caulk.stdout");
        let messages = project.folder.join("caulk.stderr");
        let mut command = self.invocation(project, setting);
        command.stdin(Stdio::null()).stderr(File::create(&messages)?);
        match self.command {
            CaulkCommand::Ir => command.stdout(Stdio::null()),
            _ => command.stdout(File::create(&results)?),
        };
        let watch = Watch { own_memory: true, deadline: None };
        let (status, usage) =
            usage::run(&mut command, watch).with_context(|| format!("cannot run {}", self.path.display()))?;
        let said = std::fs::read_to_string(&messages).unwrap_or_default();
        if !status.code().is_some_and(|code| DONE.contains(&code)) {
            let line: String = format!("{command:?}");
            bail!("Caulk failed ({status}) on {}:\n{}\n{line}", project.name, said.trim_end());
        }
        let leaks = match self.command {
            CaulkCommand::Check => Some(count_sarif(&results)?),
            _ => None,
        };
        Ok(Sample { usage, leaks, failed_units: lost_units(&said), is_cut_off: false })
    }
}

fn cache_folder(project: &Project) -> PathBuf {
    project.folder.join("cache")
}

/// From "caulk: 3 of 5 units were read".
fn lost_units(messages: &str) -> usize {
    let count = |line: &str| -> Option<usize> {
        let (read, wanted) = line.strip_prefix("caulk: ")?.strip_suffix(" units were read")?.split_once(" of ")?;
        wanted.parse::<usize>().ok()?.checked_sub(read.parse().ok()?)
    };
    messages.lines().find_map(count).unwrap_or(0)
}

fn count_sarif(path: &Path) -> Result<usize> {
    let text = std::fs::read(path)?;
    let log: serde_json::Value = serde_json::from_slice(&text).context("what caulk check wrote is not SARIF")?;
    let runs = log["runs"].as_array().map(Vec::as_slice).unwrap_or_default();
    Ok(runs.iter().filter_map(|run| run["results"].as_array()).map(Vec::len).sum())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lost_units_are_counted() {
        let said = "caulk: a.c was not read: a.c:1:1: error: x\ncaulk: 3 of 5 units were read\n";
        assert_eq!(lost_units(said), 2);
        assert_eq!(lost_units(""), 0);
    }

    #[test]
    fn results_of_sarif_are_counted() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("r.sarif");
        std::fs::write(&path, r#"{"version": "2.1.0", "runs": [{"results": [{}, {}]}, {}]}"#).unwrap();
        assert_eq!(count_sarif(&path).unwrap(), 2);
    }
}
