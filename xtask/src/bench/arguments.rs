//! The arguments of `bench` and `bench growth`.

use std::num::NonZeroUsize;
use std::path::PathBuf;

use clap::{Args, Subcommand, ValueEnum};

/// Measure what Caulk costs next to clang alone, on C code that comes by package name.
#[derive(Debug, Args)]
#[command(args_conflicts_with_subcommands = true)]
pub(crate) struct Bench {
    #[command(subcommand)]
    pub other: Option<Other>,

    #[command(flatten)]
    pub common: Common,

    /// How often each tool runs; the fastest run counts.
    #[arg(long, value_name = "N", default_value = "3")]
    pub runs: NonZeroUsize,

    /// Measure the other leak finders that are installed, too.
    #[arg(long)]
    pub peers: bool,

    /// How often each peer runs; they take long.
    #[arg(long, value_name = "N", default_value = "1")]
    pub peer_runs: NonZeroUsize,

    /// Cut a peer off that takes longer than this for one project.
    #[arg(long, value_name = "SECONDS", default_value = "900")]
    pub peer_limit: u64,

    /// Print Markdown instead of plain text.
    #[arg(long)]
    pub markdown: bool,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Other {
    Growth(Growth),
}

/// Measure time and memory against the size of the program, and draw it.
#[derive(Debug, Args)]
pub(crate) struct Growth {
    #[command(flatten)]
    pub common: Common,

    /// How often each size is measured; the fastest run counts.
    #[arg(long, value_name = "N", default_value = "1")]
    pub runs: NonZeroUsize,

    /// How many sizes.
    #[arg(long, value_name = "N", default_value = "7")]
    pub sizes: NonZeroUsize,

    /// The smallest size, in lines.
    #[arg(long, value_name = "LINES", default_value = "10000")]
    pub from: NonZeroUsize,
}

impl Growth {
    /// As `bench growth` runs without options.
    pub(crate) fn of(common: Common) -> Self {
        let number = |number| NonZeroUsize::new(number).expect("it is not zero");
        Self { common, runs: number(1), sizes: number(7), from: number(10_000) }
    }
}

#[derive(Debug, Args)]
pub(crate) struct Common {
    /// Measure a project of this machine by its compilation database (may be given several times). The corpora are then
    /// left out unless named.
    #[arg(long, value_name = "DIR")]
    pub project: Vec<PathBuf>,

    /// Only these of bench/corpora.toml (may be given several times).
    #[arg(long, value_name = "NAME")]
    pub corpus: Vec<String>,

    /// All of bench/corpora.toml, also those otherwise left to `bench growth`.
    #[arg(long, conflicts_with = "corpus")]
    pub all: bool,

    /// How many units to work on at once [default: all cores].
    #[arg(short, long, value_name = "N")]
    pub jobs: Option<NonZeroUsize>,

    /// Measure this binary; without it, Caulk is built first.
    #[arg(long, value_name = "PATH")]
    pub caulk: Option<PathBuf>,

    /// The command of Caulk to measure.
    #[arg(long, value_enum, default_value = "check")]
    pub command: CaulkCommand,

    /// The clang to compare with, and to give to Caulk.
    #[arg(long, value_name = "PATH", default_value = "clang-19")]
    pub clang: PathBuf,

    /// Write everything measured, every run, to this file.
    #[arg(long, value_name = "FILE")]
    pub json: Option<PathBuf>,
}

impl Common {
    pub(crate) fn jobs(&self) -> usize {
        self.jobs.map_or_else(crate::bench::machine::cores, usize::from)
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum CaulkCommand {
    Ir,
    Program,
    Candidates,
    Check,
}

impl CaulkCommand {
    pub(crate) fn name(self) -> &'static str {
        match self {
            CaulkCommand::Ir => "ir",
            CaulkCommand::Program => "program",
            CaulkCommand::Candidates => "candidates",
            CaulkCommand::Check => "check",
        }
    }
}
