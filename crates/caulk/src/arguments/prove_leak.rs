//! The arguments of `caulk prove-leak`.

use caulk_files::Destination;
use clap::Args;

use super::{CheckOptions, destination};

/// Run a finding: build a small program that calls the function with inputs for the finding's path, and ask LeakSanitizer whether that
/// memory is lost.
///
/// This runs code of the project, in a sandbox; no other command does. Findings are chosen as by `caulk check`.
#[derive(Debug, Args)]
pub(crate) struct ProveLeakOptions {
    /// The finding: its fingerprint, or FILE:LINE of where the memory is lost or allocated.
    #[arg(value_name = "FINDING", required_unless_present = "all")]
    pub finding: Option<String>,

    #[command(flatten)]
    pub check: CheckOptions,

    /// All findings instead of one.
    #[arg(long)]
    pub all: bool,

    /// With --all: only so many of them, chosen by their fingerprints.
    #[arg(long, value_name = "N", requires = "all")]
    pub sample: Option<usize>,

    /// Keep the harness in this folder, with a script that builds and runs it.
    #[arg(long, value_name = "DIR", value_parser = destination(), conflicts_with = "all")]
    pub keep: Option<Destination>,

    /// Runs for each finding, each with other inputs; as many again with stubs for functions of other units [default: 80].
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=100_000))]
    pub max_runs: Option<u32>,

    /// Seconds of processor time for each run [default: 5].
    #[arg(long, value_name = "SECONDS", value_parser = clap::value_parser!(u64).range(1..=3600))]
    pub run_timeout: Option<u64>,
}
