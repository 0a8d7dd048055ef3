//! Recording a build: run it under `bear`, clean what bear saw, write it where the user wants it.

use std::collections::BTreeSet;
use std::io::{ErrorKind, Write};
use std::path::Path;
use std::process::Command;

use caulk_process::{Lifeline, find_program};
use serde::Serialize;

use crate::database::{Entry, MAX_BYTES, parse_database};
use crate::error::CaptureError;
use crate::flags::sanitize;
use crate::job::{SkipReason, Skipped};
use crate::jobs::invocation;
use crate::language::language_of;
use crate::paths::{display, resolve};

/// The program that watches a build. Version 3's command line is used.
const RECORDER: &str = "bear";

/// How a recorded build went.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Recorded {
    /// Exit status of the build; `None` when a signal ended it. A failed build leaves a database of what it got to.
    pub build_status: Option<i32>,
    /// Entries written.
    pub entries: usize,
    /// What bear saw and was not written: configure probes, assembler, repetitions.
    pub skipped: Skipped,
}

impl Recorded {
    pub fn build_succeeded(&self) -> bool {
        self.build_status == Some(0)
    }
}

/// Runs `command` in `cwd` under bear and writes the cleaned database to `output` (relative to `cwd`).
///
/// An existing database is replaced in one step, and only if something was recorded.
pub fn record(command: &[String], output: &Path, cwd: &Path, lifeline: &Lifeline) -> Result<Recorded, CaptureError> {
    if command.is_empty() {
        return Err(CaptureError::NoCommand);
    }
    let output = cwd.join(output);
    // A build may take long: say now that nothing can be written.
    temporary_file(&output)?;
    let failed = |source| CaptureError::Write { path: std::env::temp_dir(), source };
    let scratch = lifeline.temp_folder().map_err(failed)?;
    let raw = scratch.path().join("recorded.json");
    let build_status = run_recorder(RECORDER, command, &raw, cwd, lifeline)?;
    // bear writes nothing when it could not even start the command.
    let bytes = caulk_files::read(&raw, MAX_BYTES).unwrap_or_else(|_| b"[]".to_vec());
    let (entries, skipped) = clean(parse_database(&bytes, &raw)?, cwd);
    if entries.is_empty() {
        return Err(CaptureError::NothingRecorded { status: build_status });
    }
    write(&entries, &output)?;
    Ok(Recorded { build_status, entries: entries.len(), skipped })
}

/// The build is the user's own, and so are its environment and its terminal.
fn run_recorder(
    recorder: &str,
    command: &[String],
    raw: &Path,
    cwd: &Path,
    lifeline: &Lifeline,
) -> Result<Option<i32>, CaptureError> {
    let program = find_program(Path::new(recorder)).ok_or(CaptureError::BearMissing)?;
    let mut bear = Command::new(program);
    bear.arg("--output").arg(raw).arg("--").args(command).current_dir(cwd);
    match lifeline.run_attached(bear) {
        Ok(status) => Ok(status.code()),
        // A missing working directory gives the same kind of error.
        Err(e) if e.kind() == ErrorKind::NotFound && cwd.is_dir() => Err(CaptureError::BearMissing),
        Err(source) => Err(CaptureError::BearFailed { source }),
    }
}

/// An entry as it is written. The order of fields is the order of comparison: parallel builds record in any order, and a
/// database that changes without reason makes every later step look changed.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize)]
struct CleanEntry {
    file: String,
    directory: String,
    output: Option<String>,
    arguments: Vec<String>,
}

fn clean(entries: Vec<Entry>, cwd: &Path) -> (Vec<CleanEntry>, Skipped) {
    let mut kept = BTreeSet::new();
    let mut skipped = Skipped::default();
    for entry in entries {
        let shown = display(&resolve(&cwd.join(&entry.directory), &entry.file), cwd);
        match clean_entry(&entry, cwd) {
            Ok(entry) => {
                if !kept.insert(entry) {
                    skipped.push(shown, SkipReason::Duplicate);
                }
            }
            Err(reason) => skipped.push(shown, reason),
        }
    }
    // What was left out came in the order of a parallel build.
    skipped.units.sort_by(|a, b| (&a.file, &a.reason).cmp(&(&b.file, &b.reason)));
    (kept.into_iter().collect(), skipped)
}

fn clean_entry(entry: &Entry, cwd: &Path) -> Result<CleanEntry, SkipReason> {
    let directory = resolve(cwd, &entry.directory);
    let invocation = invocation(entry, &directory)?;
    if invocation.is_inner() {
        return Err(SkipReason::InnerCommand);
    }
    let file = resolve(&directory, &entry.file);
    let seen = sanitize(&invocation.arguments);
    let cxx_driver = invocation.is_cxx_driver() || seen.cxx_mode;
    language_of(&file, seen.language.as_deref(), cxx_driver)?;
    // Probes of configure scripts are deleted as soon as they are compiled.
    if !file.is_file() {
        return Err(SkipReason::SourceMissing);
    }
    let mut arguments = vec![invocation.compiler];
    arguments.extend(invocation.arguments);
    Ok(CleanEntry {
        file: file.to_string_lossy().into_owned(),
        directory: directory.to_string_lossy().into_owned(),
        output: entry.output.clone(),
        arguments,
    })
}

/// Writes beside `output` and renames: a reader sees the old database or the new one, never half of one.
fn write(entries: &[CleanEntry], output: &Path) -> Result<(), CaptureError> {
    let failed = |source: std::io::Error| CaptureError::Write { path: output.to_owned(), source };
    let mut file = temporary_file(output)?;
    let mut text = serde_json::to_vec_pretty(entries).map_err(|e| failed(e.into()))?;
    text.push(b'\n');
    file.write_all(&text).map_err(failed)?;
    file.persist(output).map_err(|e| failed(e.error))?;
    Ok(())
}

/// A new file beside the database, which is removed unless it takes its place.
fn temporary_file(output: &Path) -> Result<tempfile::NamedTempFile, CaptureError> {
    let folder = output.parent().unwrap_or(Path::new("."));
    // The name of the temporary file says nothing to the user.
    let failed = |source: std::io::Error| {
        let source = std::fs::metadata(folder).err().unwrap_or_else(|| source.kind().into());
        CaptureError::Write { path: output.to_owned(), source }
    };
    if output.is_dir() {
        return Err(failed(ErrorKind::IsADirectory.into()));
    }
    let mut builder = tempfile::Builder::new();
    builder.prefix(".compile_commands").suffix(".tmp");
    #[cfg(unix)]
    {
        // Readable by others like any file of a build; the umask has the last word.
        use std::os::unix::fs::PermissionsExt;
        builder.permissions(std::fs::Permissions::from_mode(0o666));
    }
    builder.tempfile_in(folder).map_err(failed)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::database::EntryCommand;

    fn entry(file: &str, command: &str) -> Entry {
        Entry {
            directory: ".".into(),
            file: file.into(),
            command: EntryCommand::Shell(command.to_owned()),
            output: None,
        }
    }

    #[test]
    fn probes_inner_commands_and_repetitions_go_and_the_rest_is_sorted() {
        let dir = tempfile::tempdir().expect("a temporary directory can be made");
        for file in ["a.c", "b.cc", "c.S"] {
            std::fs::write(dir.path().join(file), "").expect("writable");
        }
        let (kept, skipped) = clean(
            vec![
                entry("b.cc", "ccache g++ -c b.cc"),
                entry("a.c", "cc -c a.c"),
                entry("a.c", "cc -c a.c"),
                entry("a.c", "clang -cc1 -emit-obj a.c"),
                entry("conftest.c", "cc -c conftest.c"),
                entry("c.S", "cc -c c.S"),
            ],
            dir.path(),
        );
        let commands: Vec<String> = kept.iter().map(|e| e.arguments.join(" ")).collect();
        assert_eq!(commands, ["cc -c a.c", "g++ -c b.cc"]);
        assert_eq!(
            skipped.summary(),
            "1 compiled the same way before, 1 assembler, 1 with an inner command of clang, 1 whose source is gone"
        );
    }

    #[test]
    fn a_missing_recorder_is_explained() {
        let raw = std::env::temp_dir().join("never-written.json");
        let error =
            run_recorder("no-such-recorder", &["true".to_owned()], &raw, &std::env::temp_dir(), &Lifeline::default());
        let message = error.expect_err("there is no such program").to_string();
        assert!(message.contains("apt-get install bear"), "{message}");
    }

    #[test]
    fn a_command_is_needed() {
        assert!(matches!(
            record(&[], Path::new("x"), Path::new("."), &Lifeline::default()),
            Err(CaptureError::NoCommand)
        ));
    }
}
