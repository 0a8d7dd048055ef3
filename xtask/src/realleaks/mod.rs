//! `realleaks`: how many known leaks of a project does a report name?
//!
//! The list of known leaks is not part of this repository; `bench/README.md` describes its form and the rule.

mod known;
mod score;

use std::path::{Path, PathBuf};

use anyhow::{Result, ensure};
use clap::Args;

use crate::sarif;
use known::Leak;
use score::{Verdict, score};

/// Count how many known leaks of a project a SARIF report names.
#[derive(Debug, Args)]
pub(crate) struct Realleaks {
    /// The known leaks, one JSON object a line.
    #[arg(long, value_name = "FILE")]
    pub known: PathBuf,

    /// The report of a run on the project.
    #[arg(long, value_name = "FILE")]
    pub sarif: PathBuf,

    /// The project in question; needed when the list has several.
    #[arg(long, value_name = "NAME")]
    pub project: Option<String>,

    /// Say of each known leak whether it is named.
    #[arg(short, long)]
    pub verbose: bool,
}

/// How many of a project's known leaks a report names.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Count {
    pub leaks: usize,
    pub exact: usize,
    /// With the exact ones.
    pub named: usize,
}

impl Count {
    fn of(verdicts: &[Verdict]) -> Self {
        let count = |keep: fn(&Verdict) -> bool| verdicts.iter().filter(|v| keep(v)).count();
        Self { leaks: verdicts.len(), exact: count(|v| *v == Verdict::Exact), named: count(|v| *v != Verdict::Missed) }
    }
}

/// Of the leaks of this project in the list, which may be none.
pub(crate) fn count(list: &Path, report: &Path, project: &str) -> Result<Count> {
    let mut leaks = known::read(list)?;
    leaks.retain(|leak| leak.counts() && leak.project == project);
    Ok(Count::of(&score(&leaks, &sarif::read(report)?)))
}

pub(crate) fn run(arguments: &Realleaks) -> Result<()> {
    let mut leaks = known::read(&arguments.known)?;
    if let Some(project) = &arguments.project {
        leaks.retain(|leak| leak.project == *project);
    }
    leaks.retain(Leak::counts);
    ensure!(!leaks.is_empty(), "no known leak of that project counts");
    let is_one_project = leaks.iter().all(|leak| leak.project == leaks[0].project);
    ensure!(is_one_project, "the list has several projects; say which with --project");
    let findings = sarif::read(&arguments.sarif)?;
    let verdicts = score(&leaks, &findings);
    if arguments.verbose {
        for (leak, verdict) in leaks.iter().zip(&verdicts) {
            println!("{:6} {:14} {}:{} {}", verdict.name(), leak.id, leak.file(), leak.function, leak.leaked);
        }
    }
    let count = Count::of(&verdicts);
    println!(
        "{}: {} known leaks, {} exact, {} named; {} results in all",
        leaks[0].project,
        count.leaks,
        count.exact,
        count.named,
        findings.len()
    );
    Ok(())
}
