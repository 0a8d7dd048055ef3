//! What can go wrong, and the exit statuses that tell it.

use std::io;

/// Exit statuses, as documented in the README.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub(crate) enum Exit {
    /// Nothing found and everything read.
    Clean = 0,
    /// Leaks were found.
    Leaks = 1,
    /// The job could not be done.
    Failed = 2,
    /// Nothing found, but some units could not be read.
    Incomplete = 3,
}

#[derive(Debug, thiserror::Error)]
pub(crate) enum Error {
    #[error(transparent)]
    Capture(#[from] caulk_capture::CaptureError),
    #[error(transparent)]
    Frontend(#[from] caulk_frontend::FrontendError),
    #[error("cannot use {folder} as the cache: {source}\n  name another folder with --cache DIR, or use --no-cache")]
    Cache { folder: String, source: io::Error },
    #[error("{}; the reasons are above", none_read(*.0))]
    NothingRead(usize),
    #[error("there is no function {0:?} in what was read{1}")]
    NoSuchFunction(String, String),
    #[error(transparent)]
    Models(#[from] caulk_models::ModelError),
    #[error("{0}")]
    Usage(String),
    #[error("cannot write {path}: {source}")]
    Write { path: String, source: io::Error },
    #[error("cannot write the result: {0}")]
    Output(#[from] io::Error),
}

fn none_read(units: usize) -> String {
    if units == 1 {
        "the only unit could not be read".to_owned()
    } else {
        format!("none of {units} units could be read")
    }
}
