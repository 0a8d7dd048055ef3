//! The arguments of `results`.

use std::num::NonZeroUsize;
use std::path::PathBuf;

use clap::Args;

/// Run all measures, or those that are missing, and write bench/RESULTS.md and the README's table.
#[derive(Debug, Args)]
pub(crate) struct Results {
    /// A folder with the projects that bench/verdicts has files for (htop, redis, ...), each with its compile_commands.json.
    #[arg(long, value_name = "DIR")]
    pub projects: Option<PathBuf>,

    /// The Juliet suite; see `juliet --help`.
    #[arg(long, value_name = "DIR")]
    pub suite: Option<PathBuf>,

    /// The known leaks; see `realleaks --help`.
    #[arg(long, value_name = "FILE")]
    pub known: Option<PathBuf>,

    /// Only these measures; the others are taken as they were measured last.
    #[arg(long, value_enum, value_name = "MEASURE", value_delimiter = ',')]
    pub only: Vec<Measure>,

    /// Measure nothing: write what was measured last.
    #[arg(long, conflicts_with_all = ["only", "fresh"])]
    pub write: bool,

    /// Measure everything again, the peers too. Without this, what is there for the same Caulk or peer is kept.
    #[arg(long)]
    pub fresh: bool,

    /// Only say what would be measured, and about how long it takes.
    #[arg(long)]
    pub plan: bool,

    /// Keep the new instruction counts; see `regress --help`.
    #[arg(long)]
    pub bless: bool,

    /// How often clang and Caulk run on each project; the fastest run counts.
    #[arg(long, value_name = "N", default_value = "2")]
    pub runs: NonZeroUsize,

    /// Cut a peer off that takes longer than this for one project.
    #[arg(long, value_name = "SECONDS", default_value = "600")]
    pub peer_limit: u64,

    /// How many units to work on at once [default: all cores].
    #[arg(short, long, value_name = "N")]
    pub jobs: Option<NonZeroUsize>,

    /// Measure this binary; without it, Caulk is built first.
    #[arg(long, value_name = "PATH")]
    pub caulk: Option<PathBuf>,

    /// The clang to compare with, and to give to Caulk.
    #[arg(long, value_name = "PATH", default_value = "clang-19")]
    pub clang: PathBuf,

    /// Where figures are kept between runs [default: target/bench/results].
    #[arg(long, value_name = "DIR")]
    pub folder: Option<PathBuf>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum Measure {
    Juliet,
    /// What Caulk finds on the projects, for known leaks and verdicts.
    Findings,
    /// What Caulk and clang cost on the projects.
    Cost,
    Peers,
    Growth,
    Regress,
}

impl Results {
    pub(crate) fn wants(&self, measure: Measure) -> bool {
        !self.write && (self.only.is_empty() || self.only.contains(&measure))
    }
}
