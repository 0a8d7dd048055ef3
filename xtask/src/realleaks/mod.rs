//! `realleaks`: how many known leaks of a project does a report name?
//!
//! The list of known leaks is not part of this repository; `bench/README.md` describes its form and the rule.

mod known;
mod score;

use std::path::PathBuf;

use anyhow::{Result, ensure};
use clap::Args;

use crate::sarif;
use known::Leak;
use score::{Verdict, score};

/// Count how many known leaks of a project a SARIF report names.
#[derive(Debug, Args)]
pub struct Realleaks {
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

pub fn run(arguments: &Realleaks) -> Result<()> {
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
    let exact = verdicts.iter().filter(|v| **v == Verdict::Exact).count();
    let named = verdicts.iter().filter(|v| **v != Verdict::Missed).count();
    println!(
        "{}: {} known leaks, {exact} exact, {named} named; {} results in all",
        leaks[0].project,
        leaks.len(),
        findings.len()
    );
    Ok(())
}
