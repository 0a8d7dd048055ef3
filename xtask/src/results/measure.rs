//! Runs the measures one after the other, and keeps what they say.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

use anyhow::{Context, Result, bail, ensure};

use crate::bench::Ground;
use crate::bench::arguments::{CaulkCommand, Common, Growth};
use crate::bench::growth;
use crate::bench::machine::first_line;
use crate::bench::measure::{Entry, measure};
use crate::bench::project::Project;
use crate::bench::tools::{self, CacheUse};
use crate::{juliet, realleaks, regress};

use super::arguments::{Measure, Results};
use super::record::{Findings, Known, PeerRun, ProjectRun};
use super::store::{Store, hash_of};

pub(crate) struct Bench<'a> {
    pub arguments: &'a Results,
    pub store: &'a Store,
    pub ground: Ground,
    pub projects: Vec<Source>,
}

/// A project, and where it is.
pub(crate) struct Source {
    pub folder: PathBuf,
    pub project: Project,
}

impl Bench<'_> {
    pub(crate) fn run(&self) -> Result<()> {
        let caulk = hash_of(&self.ground.caulk)?;
        let wants = |measure| self.arguments.wants(measure);
        for source in self.projects.iter().filter(|_| wants(Measure::Findings)) {
            let name = format!("findings-{}", source.project.name);
            self.store.get_or(&name, &caulk, || self.findings(source))?;
        }
        if let Some(suite) = self.arguments.suite.as_ref().filter(|_| wants(Measure::Juliet)) {
            self.store.get_or("juliet", &caulk, || self.juliet(suite))?;
        }
        for source in self.projects.iter().filter(|_| wants(Measure::Cost)) {
            let name = format!("cost-{}", source.project.name);
            self.store.get_or(&name, &caulk, || self.cost(source))?;
        }
        if wants(Measure::Growth) {
            self.store.get_or("growth", &caulk, || self.growth())?;
        }
        if wants(Measure::Regress) {
            self.store.get_or("regress", &caulk, || self.regress())?;
        }
        if wants(Measure::Peers) {
            self.projects.iter().try_for_each(|source| self.peers(source))?;
        }
        Ok(())
    }

    /// Places in a report, and so fingerprints, are relative to the folder of the project, whatever repository it lies in.
    fn findings(&self, source: &Source) -> Result<Findings> {
        let (header, name) = (self.ground.header(), &source.project.name);
        let report = self.store.path(&format!("{name}.sarif"));
        let mut command = Command::new(&self.ground.caulk);
        command.current_dir(&source.folder).args(["check", "--root", ".", "--quiet", "--no-config"]);
        command.args(["--format", "sarif", "-p"]);
        command.arg(&source.project.database).arg("--cache").arg(source.project.folder.join("cache"));
        command.arg("--clang").arg(&self.ground.setting.clang).arg("-o").arg(&report).stdin(Stdio::null());
        let output = command.output().with_context(|| format!("cannot run {}", self.ground.caulk.display()))?;
        if !matches!(output.status.code(), Some(0 | 1 | 3)) {
            bail!("caulk check on {name}: {}\n{}", output.status, String::from_utf8_lossy(&output.stderr).trim_end());
        }
        let version = version_of(&source.folder);
        let known = match &self.arguments.known {
            Some(known) => Known::of(realleaks::count(known, &report, name)?),
            None => None,
        };
        Ok(Findings { header, project: name.clone(), version, known })
    }

    fn juliet(&self, suite: &Path) -> Result<juliet::Report> {
        let arguments = juliet::Juliet::of(suite, &self.ground.caulk, self.arguments.jobs);
        Ok(juliet::measure(&arguments)?.report)
    }

    fn cost(&self, source: &Source) -> Result<ProjectRun> {
        let header = self.ground.header();
        let mut entries =
            self.ground.entries(self.arguments.runs.get(), &[CacheUse::None, CacheUse::Fresh, CacheUse::Warm]);
        let result = measure(&source.project, &mut entries, &self.ground.setting)?;
        Ok(ProjectRun { header, result })
    }

    fn growth(&self) -> Result<growth::Report> {
        growth::measure_sizes(&Growth::of(common(self.arguments)), &self.ground)
    }

    fn regress(&self) -> Result<regress::Report> {
        let (caulk, clang) = (&self.ground.caulk, &self.arguments.clang);
        let mut arguments = regress::Regress::of(caulk, clang, self.arguments.caulk.is_none());
        arguments.bless = self.arguments.bless;
        regress::measure(&arguments)
    }

    fn peers(&self, source: &Source) -> Result<()> {
        let mut setting = self.ground.setting.clone();
        setting.peer_limit = Some(Duration::from_secs(self.arguments.peer_limit));
        for (tool, version) in tools::installed(&self.ground.bitcode, &setting.clang) {
            let name = format!("peer-{}-{}", source.project.name, slug(&tool.name()));
            let key = format!("{version}; {} units", source.project.jobs.len());
            self.store.get_or(&name, &key, || {
                let header = self.ground.header();
                let mut entries = [Entry { tool, runs: 1 }];
                let mut result = measure(&source.project, &mut entries, &setting)?;
                ensure!(!result.tools.is_empty(), "nothing was measured");
                let others_cores = result.others_cores;
                Ok(PeerRun { header, version, others_cores, measured: result.tools.remove(0) })
            })?;
        }
        Ok(())
    }
}

pub(crate) fn common(arguments: &Results) -> Common {
    Common {
        project: Vec::new(),
        corpus: Vec::new(),
        all: false,
        jobs: arguments.jobs,
        caulk: arguments.caulk.clone(),
        command: CaulkCommand::Check,
        clang: arguments.clang.clone(),
        json: None,
    }
}

/// The release that is checked out, where the project is a repository of its own.
fn version_of(folder: &Path) -> Option<String> {
    let path = folder.display().to_string();
    folder.join(".git").exists().then(|| first_line("git", &["-C", &path, "describe", "--tags", "--always"])).flatten()
}

fn slug(name: &str) -> String {
    let words = name.split(|c: char| !c.is_ascii_alphanumeric()).filter(|word| !word.is_empty());
    words.collect::<Vec<_>>().join("-")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_files_are_plain() {
        assert_eq!(slug("clang --analyze"), "clang-analyze");
        assert_eq!(slug("gcc -fanalyzer"), "gcc-fanalyzer");
    }
}
