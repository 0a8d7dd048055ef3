//! Everything that is measured, one file a tool.

mod caulk;
mod clang_analyze;
mod clang_bitcode;
mod cppcheck;
mod gcc_analyzer;
mod peers;
mod saber;

use std::path::PathBuf;
use std::time::Duration;

use anyhow::Result;
use serde::{Deserialize, Serialize};

pub(crate) use caulk::{CacheUse, Caulk};
pub(crate) use clang_bitcode::ClangBitcode;
pub(crate) use peers::installed;

use crate::bench::project::Project;
use crate::bench::usage::Usage;

/// How tools are run.
#[derive(Debug, Clone)]
pub(crate) struct Setting {
    /// Units worked on at once.
    pub jobs: usize,
    pub clang: PathBuf,
    /// A peer that has not done a project by then is cut off.
    pub peer_limit: Option<Duration>,
}

/// One run of a tool over a project.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub(crate) struct Sample {
    #[serde(flatten)]
    pub usage: Usage,
    /// Leaks reported, for tools that report.
    pub leaks: Option<usize>,
    /// Units that could not be done.
    pub failed_units: usize,
    /// It took too long, and was ended.
    pub is_cut_off: bool,
}

pub(crate) trait Tool {
    fn name(&self) -> String;

    /// Work that is done once for a project and not measured.
    fn prepare(&mut self, _project: &Project, _setting: &Setting) -> Result<()> {
        Ok(())
    }

    /// One run; what it writes is gone afterwards.
    fn run(&self, project: &Project, setting: &Setting) -> Result<Sample>;
}
