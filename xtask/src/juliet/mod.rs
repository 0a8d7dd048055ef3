//! `juliet`: scores Caulk on a local copy of the Juliet suite, CWE-401, C and C++.
//!
//! What is right and wrong is read from the suite's own conventions (`truth`), here and nowhere else: to the analysis
//! the suite is a program like any other. `bench/README.md` has the rule of scoring.

mod regions;
mod run;
mod score;
mod suite;
mod table;
mod truth;

use std::num::NonZeroUsize;
use std::path::PathBuf;

use anyhow::{Context, Result};
use clap::Args;

use crate::bench::{build, machine};
use score::{Score, judge};
use suite::Suite;

/// Score Caulk on the Juliet suite, CWE-401: one test case at a time, its files linked as one program.
#[derive(Debug, Args)]
pub struct Juliet {
    /// The suite: a folder with testcases/CWE401_Memory_Leak and testcasesupport.
    #[arg(long, value_name = "DIR")]
    pub suite: PathBuf,

    /// Only test cases whose name contains this.
    #[arg(long, value_name = "TEXT", default_value = "")]
    pub only: String,

    /// Give Caulk the files of a test case alone, without its main function and what all test cases share, as if it were a
    /// library. What depends on a value that only the shared file knows is then undecided.
    #[arg(long)]
    pub open: bool,

    /// How many test cases to work on at once [default: all cores].
    #[arg(short, long, value_name = "N")]
    pub jobs: Option<NonZeroUsize>,

    /// Measure this binary; without it, Caulk is built first.
    #[arg(long, value_name = "PATH")]
    pub caulk: Option<PathBuf>,

    /// Show all flow variants, not only those with mistakes.
    #[arg(long)]
    pub variants: bool,

    /// Name the test cases that are missed and those with false findings.
    #[arg(long)]
    pub list: bool,

    /// Keep the report of each test case in this folder, for another scorer.
    #[arg(long, value_name = "DIR")]
    pub keep: Option<PathBuf>,

    /// More options for `caulk check`.
    #[arg(last = true, value_name = "OPTIONS")]
    pub options: Vec<String>,
}

pub fn run(arguments: &Juliet) -> Result<()> {
    let target = build::target_folder()?;
    let caulk = match &arguments.caulk {
        Some(path) => path.canonicalize().with_context(|| format!("there is no {}", path.display()))?,
        None => build::caulk(&target)?,
    };
    let suite = Suite::read(&arguments.suite, &arguments.only)?;
    let runner = run::Runner {
        caulk,
        support: suite.support.clone(),
        is_open: arguments.open,
        options: arguments.options.clone(),
        keep: arguments.keep.clone(),
        cache: target.join("juliet/cache"),
        jobs: arguments.jobs.map_or_else(machine::cores, usize::from),
    };
    let answers = runner.run(&suite.cases)?;
    let mut scores: Vec<Score> = Vec::with_capacity(answers.len());
    for (case, answer) in suite.cases.iter().zip(answers) {
        match answer {
            Ok(findings) => scores.push(judge(case, &findings)),
            Err(reason) => {
                eprintln!("{}: {reason}", case.name);
                scores.push(Score::default());
            }
        }
    }
    table::print(&suite.cases, &scores, arguments.variants, arguments.list);
    Ok(())
}
