//! `verdicts`: what readers of the source said of the findings of a run. `bench/README.md` has the form of the files.

mod file;
mod matching;
mod tally;

use std::path::{Path, PathBuf};

use anyhow::{Context, Result, ensure};
use clap::Args;

use crate::bench::repository;
use crate::sarif;
use file::{Reading, Verdict};
use matching::Named;
pub(crate) use tally::Tally;

/// Count how many findings of a run are real by the verdicts kept for its project, and list those that were not read.
#[derive(Debug, Args)]
pub(crate) struct Verdicts {
    /// The project: the verdicts are those of bench/verdicts/NAME.tsv, second readings those of NAME.second.tsv. Several
    /// projects may be given, each with its report.
    #[arg(long, value_name = "NAME", required = true)]
    pub project: Vec<String>,

    /// The report of `caulk check --format sarif` on the project.
    #[arg(value_name = "RUN.sarif", required = true)]
    pub run: Vec<PathBuf>,

    /// Another folder of verdicts.
    #[arg(long, value_name = "DIR")]
    pub folder: Option<PathBuf>,

    /// List instead the third of all findings, by lot, that is to be read a second time, without the first verdict.
    #[arg(long)]
    pub again: bool,

    /// List the findings with this verdict as well.
    #[arg(long, value_enum, value_name = "VERDICT")]
    pub show: Vec<Shown>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum Shown {
    Real,
    False,
    Unsure,
    /// Verdicts on what is not reported any more.
    Gone,
}

/// The verdicts on one project, and the findings of one run on it.
#[derive(Debug)]
pub(crate) struct Case {
    first: Vec<Reading>,
    second: Vec<Reading>,
    findings: Vec<Named>,
}

impl Case {
    pub(crate) fn read(folder: &Path, project: &str, run: &Path) -> Result<Self> {
        let findings = sarif::read(run)?;
        let named: Option<Vec<Named>> = findings.iter().map(Named::of).collect();
        Ok(Self {
            first: file::read(&folder.join(format!("{project}.tsv")))?,
            second: file::read(&folder.join(format!("{project}.second.tsv")))?,
            findings: named.with_context(|| format!("{} has results without Caulk's fingerprints", run.display()))?,
        })
    }

    pub(crate) fn tally(&self) -> Tally {
        Tally::of(&self.first, &self.second, &self.findings)
    }

    fn with(&self, verdict: Verdict) -> impl Iterator<Item = &Reading> {
        let readings = self.findings.iter().filter_map(|finding| matching::find(&self.first, finding));
        readings.filter(move |reading| reading.verdict == verdict)
    }

    fn unread(&self) -> impl Iterator<Item = &Named> {
        self.findings.iter().filter(|finding| matching::find(&self.first, finding).is_none())
    }

    fn to_read_again(&self) -> impl Iterator<Item = &Named> {
        let is_open = |finding: &&Named| finding.is_read_twice() && matching::find(&self.second, finding).is_none();
        self.findings.iter().filter(is_open)
    }
}

/// Where verdicts are kept.
pub(crate) fn folder() -> PathBuf {
    repository().join("bench/verdicts")
}

/// The projects that were read, in the order of their names.
pub(crate) fn projects() -> Result<Vec<String>> {
    let folder = folder();
    let entries = std::fs::read_dir(&folder).with_context(|| format!("cannot list {}", folder.display()))?;
    let mut names = Vec::new();
    for entry in entries {
        let name = entry?.file_name().to_string_lossy().into_owned();
        names.extend(name.strip_suffix(".tsv").filter(|name| !name.ends_with(".second")).map(str::to_owned));
    }
    names.sort();
    Ok(names)
}

pub(crate) fn run(arguments: &Verdicts) -> Result<()> {
    let folder = arguments.folder.clone().unwrap_or_else(folder);
    ensure!(folder.is_dir(), "there is no folder {}", folder.display());
    let (projects, runs) = (&arguments.project, &arguments.run);
    ensure!(projects.len() == runs.len(), "{} projects, but {} reports", projects.len(), runs.len());
    let mut sum = Tally::default();
    for (project, run) in projects.iter().zip(runs) {
        let case = Case::read(&folder, project, run)?;
        print!("{}", case.tally().print(project));
        show(&case, arguments);
        sum.add(&case.tally());
    }
    if projects.len() > 1 {
        print!("{}", sum.print("all"));
    }
    Ok(())
}

fn show(case: &Case, arguments: &Verdicts) {
    for shown in &arguments.show {
        match shown {
            Shown::Real => list(case.with(Verdict::Real)),
            Shown::False => list(case.with(Verdict::False)),
            Shown::Unsure => list(case.with(Verdict::Unsure)),
            Shown::Gone => list(matching::gone(&case.first, &case.findings).into_iter()),
        }
    }
    if arguments.again {
        ask(case.to_read_again());
    } else {
        ask(case.unread());
    }
}

/// In the form of a file of verdicts.
fn list<'a>(readings: impl Iterator<Item = &'a Reading>) {
    for Reading { fingerprint, verdict, place, reason } in readings {
        println!("{fingerprint}\t{}\t{place}\t{reason}", verdict.name());
    }
}

/// In the same form, with the verdict left open, and what the report says in the place of a reason.
fn ask<'a>(findings: impl Iterator<Item = &'a Named>) {
    for Named { fingerprint, place, message, .. } in findings {
        println!("{fingerprint}\t?\t{place}\t{message}");
    }
}
