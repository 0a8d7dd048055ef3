//! Why nothing can be read at all, and why one unit cannot: that is the reason of a [`crate::LostUnit`], and no error of the run.

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

/// Why bitcode gives no unit.
#[derive(Debug, thiserror::Error)]
pub(crate) enum UnitError {
    #[error("cannot read {path}: {message}")]
    Open { path: String, message: String },
    #[error("{path} is not bitcode of LLVM 19")]
    Parse { path: String },
    #[error("LLVM could not prepare {path}: {message}")]
    Passes { path: String, message: String },
    #[error("its pointers have {0} bytes; Caulk knows targets with pointers of 1, 2, 4 and 8 bytes")]
    PointerSize(u32),
}
