//! The command line's inputs made into one list of jobs.

use std::collections::HashSet;
use std::path::{Path, PathBuf};

use crate::database::read_database;
use crate::discover::find_database;
use crate::error::CaptureError;
use crate::exclude::exclude;
use crate::job::{Job, JobList};
use crate::jobs::{Duplicates, jobs_from_database, jobs_from_sources};
use crate::paths::resolve;

/// What `caulk check [INPUT]... [-p BUILD] [-- FLAGS]` was asked.
#[derive(Debug, Clone, Default)]
pub struct Request {
    /// Sources, `.bc`/`.ll` files, folders, databases. None: the database of `database` or of `cwd`.
    pub inputs: Vec<PathBuf>,
    /// `-p`: a folder or a database. With inputs, the sources among them are looked up in it.
    pub database: Option<PathBuf>,
    /// Flags after `--`: all there is for sources named directly, added to the commands of a database.
    pub flags: Vec<String>,
    /// `--exclude` patterns.
    pub exclude: Vec<String>,
    pub duplicates: Duplicates,
    /// Absolute. Relative inputs start here, and shown paths are relative to it.
    pub cwd: PathBuf,
}

/// Everything to read for a request. Fails when nothing is left to read.
pub fn collect(request: &Request) -> Result<JobList, CaptureError> {
    let mut list = match (&request.database, request.inputs.is_empty()) {
        (Some(place), true) => from_database(&request.cwd.join(place), request)?,
        (None, true) => from_database(&request.cwd, request)?,
        (Some(place), false) => selected_from_database(&request.cwd.join(place), request)?,
        (None, false) => from_inputs(request)?,
    };
    drop_repeated_jobs(&mut list);
    exclude(&mut list, &request.exclude)?;
    if list.jobs.is_empty() {
        let summary = match list.skipped.summary() {
            none if none.is_empty() => "the inputs name no C or C++ source".to_owned(),
            some => format!("every unit was left out ({some})"),
        };
        return Err(CaptureError::NothingLeft { summary });
    }
    Ok(list)
}

fn from_database(place: &Path, request: &Request) -> Result<JobList, CaptureError> {
    let path = find_database(place)?;
    let entries = read_database(&path)?;
    Ok(jobs_from_database(&entries, &path, &request.cwd, &request.flags, request.duplicates))
}

fn from_inputs(request: &Request) -> Result<JobList, CaptureError> {
    let mut list = JobList::default();
    for input in &request.inputs {
        let path = request.cwd.join(input);
        let is_json = path.extension().is_some_and(|suffix| suffix == "json");
        if path.is_dir() || (is_json && path.is_file()) {
            list.append(from_database(&path, request)?);
        } else {
            list.append(from_file(input, request)?);
        }
    }
    Ok(list)
}

/// With `-p`, inputs choose among the jobs of the database: files by name, folders by what lies below them. A file the
/// database does not know is compiled with the flags given.
fn selected_from_database(place: &Path, request: &Request) -> Result<JobList, CaptureError> {
    let mut list = from_database(place, request)?;
    let chosen: Vec<PathBuf> = request.inputs.iter().map(|input| resolve(&request.cwd, input)).collect();
    list.jobs.retain(|job| chosen.iter().any(|path| job.path().starts_with(path)));
    let cwd = &request.cwd;
    list.skipped.units.retain(|unit| chosen.iter().any(|path| cwd.join(&unit.file).starts_with(path)));
    for (input, path) in request.inputs.iter().zip(&chosen) {
        let known = list.jobs.iter().any(|job| job.path() == path);
        if !known && !path.is_dir() {
            list.append(from_file(input, request)?);
        }
    }
    Ok(list)
}

/// A file named directly. What the user typed must exist and be readable as code: this is no place for a quiet skip.
fn from_file(input: &Path, request: &Request) -> Result<JobList, CaptureError> {
    let list = jobs_from_sources(&[input.to_owned()], &request.flags, &request.cwd);
    if !list.jobs.is_empty() {
        Ok(list)
    } else if request.cwd.join(input).exists() {
        Err(CaptureError::UnknownInput { path: input.to_owned() })
    } else {
        Err(CaptureError::NoSuchInput { path: input.to_owned() })
    }
}

/// Inputs may overlap (`caulk check . build/compile_commands.json`).
fn drop_repeated_jobs(list: &mut JobList) {
    let mut seen: HashSet<(PathBuf, Vec<String>)> = HashSet::new();
    list.jobs.retain(|job| {
        let flags = match job {
            Job::Compile(job) => job.flags.clone(),
            Job::Bitcode(_) => Vec::new(),
        };
        seen.insert((job.path().to_owned(), flags))
    });
}
