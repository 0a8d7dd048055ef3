//! Writing compilation databases.

use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use caulk_capture::CompileJob;
use serde_json::json;

/// One entry of a database.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Command {
    pub directory: PathBuf,
    /// Absolute.
    pub file: PathBuf,
    pub flags: Vec<String>,
}

impl From<&CompileJob> for Command {
    fn from(job: &CompileJob) -> Self {
        Self { directory: job.directory.clone(), file: job.source.clone(), flags: job.flags.clone() }
    }
}

pub fn write(path: &Path, commands: &[Command]) -> Result<()> {
    let entries: Vec<_> = commands.iter().map(entry).collect();
    let text = serde_json::to_string_pretty(&entries)?;
    std::fs::write(path, text + "\n").with_context(|| format!("cannot write {}", path.display()))
}

fn entry(command: &Command) -> serde_json::Value {
    let file = command.file.display().to_string();
    let mut arguments = vec!["cc".to_owned()];
    arguments.extend_from_slice(&command.flags);
    arguments.extend(["-c".to_owned(), file.clone()]);
    json!({ "directory": command.directory.display().to_string(), "file": file, "arguments": arguments })
}
