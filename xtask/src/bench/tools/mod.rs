//! Everything that is measured, one file a tool.

mod caulk;
mod clang_analyze;
mod clang_bitcode;
mod cppcheck;
mod gcc_analyzer;
mod peers;
mod saber;

use std::path::PathBuf;

use anyhow::Result;
use serde::Serialize;

pub use caulk::{CacheUse, Caulk};
pub use clang_bitcode::ClangBitcode;
pub use peers::installed;

use crate::bench::project::Project;
use crate::bench::usage::Usage;

/// How tools are run.
#[derive(Debug, Clone)]
pub struct Setting {
    /// Units worked on at once.
    pub jobs: usize,
    pub clang: PathBuf,
}

/// One run of a tool over a project.
#[derive(Debug, Clone, Default, Serialize)]
pub struct Sample {
    #[serde(flatten)]
    pub usage: Usage,
    /// Leaks reported, for tools that report.
    pub leaks: Option<usize>,
    /// Units that could not be done.
    pub failed_units: usize,
}

pub trait Tool {
    fn name(&self) -> String;

    /// Work that is done once for a project and not measured.
    fn prepare(&mut self, _project: &Project, _setting: &Setting) -> Result<()> {
        Ok(())
    }

    /// One run; what it writes is gone afterwards.
    fn run(&self, project: &Project, setting: &Setting) -> Result<Sample>;
}
