//! The arguments of `caulk fix` and `caulk lsp`, which choose findings as `caulk check` does.

use clap::Args;

use super::CheckOptions;

/// Propose fixes for leaks: each was compiled and analysed again, and shown to remove its leak and to add no other mistake.
///
/// The fixes are printed as a unified diff; with --format sarif they are in a report. Findings are chosen as by `caulk check`.
#[derive(Debug, Args)]
pub(crate) struct FixOptions {
    #[command(flatten)]
    pub check: CheckOptions,

    /// Write the fixes to the files. One that has changed since it was read is left alone, and all others with it.
    #[arg(long)]
    pub apply: bool,

    /// Check each fix alone as well, not only all of them together; takes one analysis for each.
    #[arg(long)]
    pub each: bool,

    /// Only the finding with this fingerprint, as `caulk check --format json` names it (may be given several times).
    #[arg(long, value_name = "FINGERPRINT")]
    pub finding: Vec<String>,
}

/// Serve an editor: a server of the language server protocol, on standard input and output.
///
/// The project is that of the current directory, or the one named here. Findings are chosen as by `caulk check`.
#[derive(Debug, Args)]
pub(crate) struct LspOptions {
    #[command(flatten)]
    pub check: CheckOptions,

    /// What the command line said, before settings of a project were added: each folder that an editor has open has its own.
    #[arg(skip)]
    pub asked: Option<Box<CheckOptions>>,
}
