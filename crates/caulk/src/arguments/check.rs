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
    /// Shows findings too that rest on something the analysis could not see.
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

/// Find memory leaks: the main job.
#[derive(Debug, Args)]
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

    /// Hold findings back that the prover contradicts (docs/prove.md) [default: false].
    #[arg(long, value_name = "BOOL", num_args = 0..=1, require_equals = true, default_missing_value = "true")]
    pub second_opinion: Option<bool>,

    /// Complain of suppressions that silence nothing or give no reason.
    #[arg(long)]
    pub strict: bool,

    /// When to use colours; NO_COLOR in the environment means never [default: auto].
    #[arg(long, value_enum, value_name = "WHEN")]
    pub color: Option<ColorArgument>,

    /// Show every step of long paths.
    #[arg(long)]
    pub full_path: bool,

    /// 0: every path to every place of loss; 1: one finding for each allocation and variable that a function loses; 2: one
    /// for each allocation [default: 1].
    #[arg(long, value_name = "LEVEL", value_parser = clap::value_parser!(u8).range(0..=2))]
    pub report_level: Option<u8>,

    /// Leave out findings that are less sure than this [default: medium].
    #[arg(long, value_enum, value_name = "LEVEL")]
    pub min_confidence: Option<ConfidenceArgument>,

    /// What to do with leaks that need some other allocation to fail [default: tested].
    #[arg(long, value_enum, value_name = "WHICH")]
    pub alloc_failure: Option<AllocFailureArgument>,

    /// What paths of the report are relative to: the folder of the settings.
    #[arg(skip)]
    pub root: PathBuf,

    /// Suppressions of the settings.
    #[arg(skip)]
    pub ignores: Vec<Ignore>,
}
