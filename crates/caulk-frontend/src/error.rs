//! Why nothing can be read at all. A unit that cannot be read is a [`crate::LostUnit`], and no error.

use std::io;

use crate::clang::CLANG_MAJOR;

#[derive(Debug, thiserror::Error)]
pub enum FrontendError {
    #[error(
        "clang {CLANG_MAJOR} was not found (looked for {0})\n  install it (Debian: apt-get install clang-{CLANG_MAJOR}) \
         or name it with --clang PATH"
    )]
    Missing(String),
    #[error(
        "{path} is clang {found}, but Caulk reads what clang {CLANG_MAJOR} writes\n  install clang {CLANG_MAJOR} \
         (Debian: apt-get install clang-{CLANG_MAJOR}) or name it with --clang PATH"
    )]
    Version { path: String, found: String },
    #[error(
        "{path} is not clang: {said}\n  install clang {CLANG_MAJOR} (Debian: apt-get install clang-{CLANG_MAJOR}) \
         or name it with --clang PATH"
    )]
    NotClang { path: String, said: String },
    #[error("{path} could not be run: {source}")]
    Run { path: String, source: io::Error },
    #[error("cannot make a folder for temporary files: {0}")]
    TempDir(io::Error),
    #[error("cannot write the changed texts for clang: {0}")]
    Overlay(io::Error),
    #[error("cannot start {threads} threads: {source}")]
    Threads { threads: usize, source: rayon::ThreadPoolBuildError },
}
