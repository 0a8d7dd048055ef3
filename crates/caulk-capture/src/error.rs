//! What can go wrong on the way to a list of jobs, in words that say what to do next.
//!
//! Trouble with one entry (its source is gone, its quoting is broken) is not here: it is a [`crate::SkippedUnit`], and
//! the other units are analysed.

use std::path::PathBuf;

/// Why there is no list of jobs.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum CaptureError {
    #[error(
        "no compilation database found (looked for {})\n\
         help: make one with `caulk capture -- make`, with `cmake -DCMAKE_EXPORT_COMPILE_COMMANDS=ON`, \
         or run `meson setup` (meson always writes one); name its place with `-p DIR`. \
         A few sources need none: `caulk check a.c b.c`",
        list(.searched)
    )]
    NoDatabase { searched: Vec<PathBuf> },

    #[error("cannot read {}: {source}", .path.display())]
    Read { path: PathBuf, source: std::io::Error },

    #[error("cannot write {}: {source}", .path.display())]
    Write { path: PathBuf, source: std::io::Error },

    #[error("{}:{line}:{column}: not a compilation database: {message}", .path.display())]
    Syntax { path: PathBuf, line: usize, column: usize, message: String },

    #[error("{}: entry {index} lacks `{field}`", .path.display())]
    MissingField {
        path: PathBuf,
        /// Counted from 0, as `jq '.[N]'` counts.
        index: usize,
        field: &'static str,
    },

    #[error(
        "{} has no entries\nhelp: the build it was recorded from compiled nothing; \
         clean the build first, then record it again with `caulk capture -- make`",
        .path.display()
    )]
    EmptyDatabase { path: PathBuf },

    #[error("nothing to analyse: {summary}")]
    NothingLeft { summary: String },

    #[error("{}: the compilation database has no source below this folder", .path.display())]
    NothingBelow { path: PathBuf },

    #[error("{}: no such file or directory", .path.display())]
    NoSuchInput { path: PathBuf },

    #[error(
        "{}: not an input Caulk knows\n\
         help: give C or C++ sources, .bc or .ll files, a directory, or a compile_commands.json",
        .path.display()
    )]
    UnknownInput { path: PathBuf },

    #[error("bad pattern `{pattern}`: {message}")]
    BadPattern { pattern: String, message: String },

    #[error("no build command given\nhelp: write it after two dashes: `caulk capture -- make -j4`")]
    NoCommand,

    #[error(
        "cannot record the build: `bear` is not installed\n\
         help: install it with `apt-get install bear` (or `dnf install bear`, `brew install bear`)"
    )]
    BearMissing,

    #[error("cannot start `bear`: {source}")]
    BearFailed { source: std::io::Error },

    #[error(
        "no compilation was recorded ({})\n\
         help: {}",
        status_words(*.status),
        match .status {
            Some(0) => "if everything was up to date, clean the build first",
            _ => "the build itself failed; its messages are above",
        }
    )]
    NothingRecorded {
        /// Exit status of the build; `None` when a signal ended it.
        status: Option<i32>,
    },
}

fn list(paths: &[PathBuf]) -> String {
    let shown: Vec<String> = paths.iter().map(|p| p.display().to_string()).collect();
    shown.join(", ")
}

fn status_words(status: Option<i32>) -> String {
    match status {
        Some(code) => format!("the build ended with status {code}"),
        None => "the build was ended by a signal".to_owned(),
    }
}
