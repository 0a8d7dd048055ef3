//! Writing compilation databases.

use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use caulk_capture::CompileJob;
use serde_json::json;

/// One entry of a database.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Command {
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

pub(crate) fn write(path: &Path, commands: &[Command]) -> Result<()> {
    let entries: Vec<_> = commands.iter().map(entry).collect();
    let text = serde_json::to_string_pretty(&entries)?;
    std::fs::write(path, text + "\n").with_context(|| format!("cannot write {}", path.display()))
}

/// As a line for the shell: cppcheck 2.10 loses the quotes of `-DNAME="text"` when the words are given one by one, and
/// then gives up on the file.
fn entry(command: &Command) -> serde_json::Value {
    let file = command.file.display().to_string();
    let mut words = vec!["cc"];
    words.extend(command.flags.iter().map(String::as_str));
    words.extend(["-c", &file]);
    let line = shell_words::join(words);
    json!({ "directory": command.directory.display().to_string(), "file": file, "command": line })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quotes_survive() {
        let flags = vec!["-DNAME=\"two words\"".to_owned(), "-Iinc".to_owned()];
        let command = Command { directory: "/d".into(), file: "/d/a b.c".into(), flags: flags.clone() };
        let line = entry(&command)["command"].as_str().unwrap().to_owned();
        let words = shell_words::split(&line).unwrap();
        assert_eq!(words[1..3], flags);
        assert_eq!(words[3..], ["-c", "/d/a b.c"]);
    }
}
