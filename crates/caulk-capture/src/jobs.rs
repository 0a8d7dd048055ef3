//! Entries of a database, or files named on the command line, made into jobs.

use std::collections::HashMap;
use std::path::{Path, PathBuf};

use crate::compiler::Invocation;
use crate::database::{Entry, EntryCommand};
use crate::flags::{Dropped, Sanitized, Why, sanitize};
use crate::job::{BitcodeJob, CompileJob, Job, JobList, SkipReason};
use crate::language::language_of;
use crate::paths::{display, resolve};
use crate::response::expand;
use crate::split::split_command;

/// What to do with a file that is compiled several times.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Duplicates {
    /// The first entry of each file counts: one file, one report.
    #[default]
    FirstOnly,
    /// Every different set of flags counts. Exact repetitions are dropped all the same.
    KeepDifferent,
}

/// The jobs of a database, in its order. `database` is the path it was read from, `cwd` what shown paths are relative to.
///
/// `extra_flags` are added to every job after passing the same table; relative paths in them start in each job's directory,
/// as everything clang reads there does.
pub fn jobs_from_database(
    entries: &[Entry],
    database: &Path,
    cwd: &Path,
    extra_flags: &[String],
    duplicates: Duplicates,
) -> JobList {
    let base = database.parent().unwrap_or(Path::new("."));
    let base = resolve(cwd, base);
    let mut list = JobList { databases: vec![database.to_owned()], ..JobList::default() };
    // Apart from the build's own words: a build that ends in `-I` or `--` must not take them as its argument.
    let extra = sanitize(&expand(extra_flags.to_vec(), cwd));
    let mut seen: HashMap<PathBuf, Vec<usize>> = HashMap::new();
    for entry in entries {
        let source = resolve(&resolve(&base, &entry.directory), &entry.file);
        let shown = display(&source, cwd);
        let job = match compile_job(entry, &base, source, &shown, &extra) {
            Ok(job) => job,
            Err(reason) => {
                list.skipped.push(shown, reason);
                continue;
            }
        };
        let before = seen.entry(job.source.clone()).or_default();
        match repetition(&job, before, &list.jobs, duplicates) {
            Some(reason) => list.skipped.push(shown, reason),
            None => {
                before.push(list.jobs.len());
                list.jobs.push(Job::Compile(job));
            }
        }
    }
    list
}

/// Why `job` need not be done again after the jobs at `before`, if so.
fn repetition(job: &CompileJob, before: &[usize], jobs: &[Job], duplicates: Duplicates) -> Option<SkipReason> {
    let same = |other: &Job| match other {
        Job::Compile(other) => other.directory == job.directory && other.flags == job.flags,
        Job::Bitcode(_) => false,
    };
    if before.iter().any(|&at| same(&jobs[at])) {
        Some(SkipReason::Duplicate)
    } else if duplicates == Duplicates::FirstOnly && !before.is_empty() {
        Some(SkipReason::OtherFlags)
    } else {
        None
    }
}

fn compile_job(
    entry: &Entry,
    base: &Path,
    source: PathBuf,
    shown: &str,
    extra: &Sanitized,
) -> Result<CompileJob, SkipReason> {
    let directory = resolve(base, &entry.directory);
    // Targets of a build that are no compilation, as `ninja -t compdb` lists them, are no loss.
    let is_no_source = |reason| language_of(&source, None, false).err().unwrap_or(reason);
    let invocation = invocation(entry, &directory).map_err(is_no_source)?;
    if invocation.is_inner() {
        return Err(SkipReason::InnerCommand);
    }
    if invocation.is_msvc() {
        return Err(SkipReason::MsvcCommand);
    }
    let cxx_driver = invocation.is_cxx_driver();
    let clean = sanitize(&invocation.arguments);
    let explicit = extra.language.as_deref().or(clean.language.as_deref());
    let language = language_of(&source, explicit, cxx_driver || clean.cxx_mode || extra.cxx_mode)?;
    if !directory.is_dir() {
        return Err(SkipReason::DirectoryMissing);
    }
    if !source.is_file() {
        return Err(SkipReason::SourceMissing);
    }
    // Before what the command says itself, so that this wins.
    let mut flags = invocation.target_flags();
    flags.retain(|implied| {
        let key = implied.split('=').next().unwrap_or_default();
        !clean.flags.iter().any(|flag| flag.starts_with(key))
    });
    flags.extend(clean.flags);
    flags.extend_from_slice(&extra.flags);
    flags.push(format!("-x{}", language.clang_name()));
    let mut dropped = clean.dropped;
    dropped.extend_from_slice(&extra.dropped);
    // The source itself is among the inputs and is no loss.
    let others = clean.inputs.into_iter().filter(|input| resolve(&directory, Path::new(input)) != source);
    dropped.extend(others.map(|text| Dropped { text, why: Why::Input }));
    Ok(CompileJob {
        directory,
        source,
        display: shown.to_owned(),
        language,
        flags,
        output_hint: entry.output.clone().or(clean.output),
        original_compiler: invocation.compiler,
        dropped,
    })
}

/// The command of an entry: split, response files expanded, launchers stripped.
pub(crate) fn invocation(entry: &Entry, directory: &Path) -> Result<Invocation, SkipReason> {
    let words = match &entry.command {
        EntryCommand::Arguments(words) => words.clone(),
        EntryCommand::Shell(text) => split_command(text).map_err(SkipReason::BadCommand)?,
    };
    Invocation::parse(expand(words, directory)).ok_or_else(|| SkipReason::BadCommand("it names no compiler".to_owned()))
}

/// Jobs for files named on the command line, compiled with `flags` in `cwd`. `.bc` and `.ll` are bitcode.
///
/// Files that are neither are skipped with a reason.
pub fn jobs_from_sources(sources: &[PathBuf], flags: &[String], cwd: &Path) -> JobList {
    let mut list = JobList::default();
    let clean = sanitize(&expand(flags.to_vec(), cwd));
    for given in sources {
        let source = resolve(cwd, given);
        let shown = display(&source, cwd);
        if !source.is_file() {
            list.skipped.push(shown, SkipReason::SourceMissing);
        } else if list.jobs.iter().any(|job| job.path() == source) {
            list.skipped.push(shown, SkipReason::Duplicate);
        } else if is_bitcode(&source) {
            list.jobs.push(Job::Bitcode(BitcodeJob { path: source, display: shown }));
        } else {
            match language_of(&source, clean.language.as_deref(), clean.cxx_mode) {
                Err(reason) => list.skipped.push(shown, reason),
                Ok(language) => {
                    let mut flags = clean.flags.clone();
                    flags.push(format!("-x{}", language.clang_name()));
                    list.jobs.push(Job::Compile(CompileJob {
                        directory: cwd.to_owned(),
                        source,
                        display: shown,
                        language,
                        flags,
                        output_hint: None,
                        original_compiler: String::new(),
                        dropped: clean.dropped.clone(),
                    }));
                }
            }
        }
    }
    list
}

pub(crate) fn is_bitcode(path: &Path) -> bool {
    matches!(path.extension().and_then(|s| s.to_str()), Some("bc" | "ll"))
}
