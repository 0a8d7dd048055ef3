//! The arguments of `caulk check`.

use std::path::PathBuf;

use caulk_files::Destination;
use caulk_report::suppress::Ignore;
use clap::{Args, ValueEnum};
use schemars::JsonSchema;
use serde::Deserialize;

use super::{InputOptions, ModelOptions, destination};

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub(crate) enum ReportFormat {
    /// For people, on a terminal.
    Text,
    /// For programs; see docs/json.md.
    Json,
    /// SARIF 2.1.0, for code scanning services and editors.
    Sarif,
    /// A folder of pages for a browser; -o says where.
    Html,
    /// Annotations for GitHub's workflows.
    Github,
    /// Code Climate's JSON, which GitLab shows in merge requests.
    #[value(name = "codeclimate")]
    CodeClimate,
    /// JUnit's XML, for CI services that show tests.
    Junit,
    /// A table, one line for each finding.
    Csv,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub(crate) enum ColorArgument {
    /// On a terminal.
    Auto,
    Always,
    Never,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub(crate) enum ConfidenceArgument {
    /// Also shows findings that rest on something the analysis could not see.
    Low,
    Medium,
    High,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub(crate) enum AllocFailureArgument {
    /// Shown where the program tests for the failure on the path, or ignores the status by which a callee tells it.
    Tested,
    Show,
    Hide,
    /// Shows nothing else.
    Only,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub(crate) enum ResourcesArgument {
    None,
    /// Streams of files and directories.
    #[default]
    Streams,
    /// Also mappings, shared libraries, semaphores and descriptors.
    All,
}

/// Find memory leaks: the main job.
#[derive(Clone, Debug, Args)]
pub(crate) struct CheckOptions {
    #[command(flatten)]
    pub input: InputOptions,

    #[command(flatten)]
    pub models: ModelOptions,

    /// The format of the report [default: text].
    #[arg(long, value_enum)]
    pub format: Option<ReportFormat>,

    /// Where to write the report [default: standard output].
    #[arg(short, long, value_name = "PATH", value_parser = destination())]
    pub output: Option<Destination>,

    /// Findings listed in this file are known: only others count.
    #[arg(long, value_name = "FILE")]
    pub baseline: Option<PathBuf>,

    /// Write what is found to this file, for --baseline; what was found is then no failure.
    #[arg(long, value_name = "FILE", value_parser = destination())]
    pub write_baseline: Option<Destination>,

    /// Report only findings in files that match; all is analysed (may be given several times).
    #[arg(long, value_name = "GLOB")]
    pub only: Vec<String>,

    /// Do not report findings in files that match; they are analysed all the same (may be given several times).
    #[arg(long, value_name = "GLOB")]
    pub exclude: Vec<String>,

    /// Findings count only if their path touches a line that changed since this git commit; the others are known.
    #[arg(long, value_name = "REV", conflicts_with = "write_baseline")]
    pub changed_since: Option<String>,

    /// Hold findings back that the prover contradicts (docs/prove.md) [default: false].
    #[arg(long, value_name = "BOOL", num_args = 0..=1, require_equals = true, default_missing_value = "true")]
    pub second_opinion: Option<bool>,

    /// Warn about suppressions that silence nothing or give no reason.
    #[arg(long)]
    pub strict: bool,

    /// When to use colours; NO_COLOR in the environment means never [default: auto].
    #[arg(long, value_enum, value_name = "WHEN")]
    pub color: Option<ColorArgument>,

    /// Show every step of long paths.
    #[arg(long)]
    pub full_path: bool,

    /// With --format sarif: add the checked fixes that `caulk fix` would offer.
    #[arg(long)]
    pub fixes: bool,

    /// 0: every path to every place of loss; 1: one finding for each allocation and variable that a function loses; 2: one
    /// for each allocation [default: 1].
    #[arg(long, value_name = "LEVEL", value_parser = clap::value_parser!(u8).range(0..=2))]
    pub report_level: Option<u8>,

    /// Leave out findings that are less certain than this [default: medium].
    #[arg(long, value_enum, value_name = "LEVEL")]
    pub min_confidence: Option<ConfidenceArgument>,

    /// What to do with leaks that need some other allocation to fail [default: tested].
    #[arg(long, value_enum, value_name = "WHICH")]
    pub alloc_failure: Option<AllocFailureArgument>,

    /// Which unclosed resources to report, besides memory [default: streams].
    #[arg(long, value_enum, value_name = "WHICH")]
    pub resources: Option<ResourcesArgument>,

    /// Show what main still holds when the program ends, as notes [default: if sources are named, and no database is read].
    #[arg(long, value_name = "BOOL", num_args = 0..=1, require_equals = true, default_missing_value = "true")]
    pub at_exit: Option<bool>,

    /// Suppressions of the settings.
    #[arg(skip)]
    pub ignores: Vec<Ignore>,
}
