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
use std::path::{Path, PathBuf};

use anyhow::Result;
use clap::Args;

use crate::bench::report::{Header, write_json};
use crate::bench::{build, machine};
use score::{Score, judge};
use suite::{Case, Suite};
pub(crate) use table::Report;

/// Score Caulk on the Juliet suite, CWE-401: one test case at a time, its files linked as one program.
#[derive(Debug, Args)]
pub(crate) struct Juliet {
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

    /// Write the figures to this file as JSON.
    #[arg(long, value_name = "FILE")]
    pub json: Option<PathBuf>,

    /// More options for `caulk check`.
    #[arg(last = true, value_name = "OPTIONS")]
    pub options: Vec<String>,
}

impl Juliet {
    /// As `juliet --suite DIR` runs without other options.
    pub(crate) fn of(suite: &Path, caulk: &Path, jobs: Option<NonZeroUsize>) -> Self {
        Self {
            suite: suite.to_owned(),
            caulk: Some(caulk.to_owned()),
            jobs,
            only: String::new(),
            open: false,
            variants: false,
            list: false,
            keep: None,
            json: None,
            options: Vec::new(),
        }
    }
}

/// What the suite says of a Caulk.
#[derive(Debug)]
pub(crate) struct Scored {
    cases: Vec<Case>,
    scores: Vec<Score>,
    pub report: Report,
}

pub(crate) fn run(arguments: &Juliet) -> Result<()> {
    let scored = measure(arguments)?;
    print!("{}", scored.report.print(arguments.variants));
    if arguments.list {
        table::list(&scored.cases, &scored.scores);
    }
    arguments.json.as_ref().map_or(Ok(()), |path| write_json(path, &scored.report))
}

pub(crate) fn measure(arguments: &Juliet) -> Result<Scored> {
    let target = build::target_folder()?;
    let caulk = build::given_or_built(arguments.caulk.as_deref(), &target)?;
    let suite = Suite::read(&arguments.suite, &arguments.only)?;
    let jobs = arguments.jobs.map_or_else(machine::cores, usize::from);
    let header = Header::new(jobs, &caulk, Path::new("clang-19"));
    let runner = run::Runner {
        caulk,
        support: suite.support.clone(),
        is_open: arguments.open,
        options: arguments.options.clone(),
        keep: arguments.keep.clone(),
        cache: target.join("juliet/cache"),
        jobs,
    };
    let answers = runner.run(&suite.cases)?;
    let mut scores: Vec<Score> = Vec::with_capacity(answers.len());
    let mut failed = 0;
    for (case, answer) in suite.cases.iter().zip(answers) {
        match answer {
            Ok(findings) => scores.push(judge(case, &findings)),
            Err(reason) => {
                eprintln!("{}: {reason}", case.name);
                scores.push(Score::default());
                failed += 1;
            }
        }
    }
    let report = Report::of(header, &suite.cases, &scores, failed);
    Ok(Scored { cases: suite.cases, scores, report })
}
