//! The Caulk to measure.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context, Result, ensure};

use crate::bench::repository;

/// Builds Caulk as users get it, and says where it is.
pub(crate) fn caulk(target: &Path) -> Result<PathBuf> {
    let status = cargo(&["build", "--release", "--package", "caulk"]).status().context("cannot run cargo")?;
    ensure!(status.success(), "Caulk does not build; --caulk PATH measures one that is built already");
    Ok(target.join("release/caulk"))
}

/// The Caulk that was asked for, else one that is built.
pub(crate) fn given_or_built(given: Option<&Path>, target: &Path) -> Result<PathBuf> {
    match given {
        Some(path) => path.canonicalize().with_context(|| format!("there is no {}", path.display())),
        None => caulk(target),
    }
}

/// The folder for all that is built.
pub(crate) fn target_folder() -> Result<PathBuf> {
    let output = cargo(&["metadata", "--no-deps", "--format-version", "1"]).output().context("cannot run cargo")?;
    let metadata: serde_json::Value = serde_json::from_slice(&output.stdout).context("cannot read cargo metadata")?;
    let folder = metadata["target_directory"].as_str().context("cargo metadata names no target directory")?;
    Ok(PathBuf::from(folder))
}

fn cargo(arguments: &[&str]) -> Command {
    let mut command = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    command.current_dir(repository()).args(arguments).stdin(Stdio::null());
    command
}
