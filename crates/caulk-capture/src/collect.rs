//! The command line's inputs made into one list of jobs.

use std::collections::HashSet;
use std::path::{Path, PathBuf};

use crate::database::read_database;
use crate::discover::{FoundDatabase, find_databases};
use crate::error::CaptureError;
use crate::exclude::{PathGlobs, skip};
use crate::job::{Job, JobList, SkipReason};
use crate::jobs::{Duplicates, jobs_from_database, jobs_from_sources};
use crate::language::language_of;
use crate::paths::resolve;
use crate::root::project_root;

/// What `caulk check [INPUT]... [-p BUILD] [-- FLAGS]` was asked.
#[derive(Debug, Clone, Default)]
pub struct Request {
    /// Sources, `.bc`/`.ll` files, folders, databases. None: the database of `database` or of `cwd`.
    pub inputs: Vec<PathBuf>,
    /// `-p`: a folder or a database. All of it is read; inputs then say what is wanted of it.
    pub database: Option<PathBuf>,
    /// Flags after `--`: all there is for sources named directly, added to the commands of a database.
    pub flags: Vec<String>,
    /// Patterns of units that are not read, relative to the project's folder or to that of its settings.
    pub skip: Vec<String>,
    pub duplicates: Duplicates,
    /// Absolute. Relative inputs start here.
    pub cwd: PathBuf,
    /// The project's folder, if the user or the settings name it. Absolute.
    pub root: Option<PathBuf>,
    /// The folder of the project's settings. Absolute.
    pub settings: Option<PathBuf>,
}

/// Everything to read for a request. Fails when nothing is left to read.
pub fn collect(request: &Request) -> Result<JobList, CaptureError> {
    let mut list = match (&request.database, request.inputs.is_empty()) {
        (Some(place), true) => from_database(&request.cwd.join(place), request)?,
        (None, true) => from_database(&request.cwd, request)?,
        (Some(place), false) => focused_on_inputs(&request.cwd.join(place), request)?,
        (None, false) => from_inputs(request)?,
    };
    drop_repeated_jobs(&mut list);
    let found = || project_root(&list, request.settings.as_deref(), &request.cwd);
    let root = request.root.clone().unwrap_or_else(found);
    list.show_from(root, &request.cwd);
    let bases = std::iter::once(list.root.clone()).chain(request.settings.clone()).collect();
    skip(&mut list, &PathGlobs::new(&request.skip, bases)?);
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
    let FoundDatabase { path, mut others } = find_databases(place)?;
    // Who names a folder with a database means that one.
    let is_named = request.database.is_some() || !request.inputs.is_empty();
    if is_named && path.parent() == Some(place) {
        others.clear();
    }
    let entries = read_database(&path)?;
    let list = jobs_from_database(&entries, &path, &request.cwd, &request.flags, request.duplicates);
    Ok(JobList { other_databases: others, ..list })
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

/// With `-p`, all of the database is read, since a callee may be anywhere in it, and inputs say what is wanted of it: files by
/// name, folders by what lies below them. A source the database does not know is compiled with the flags given.
fn focused_on_inputs(place: &Path, request: &Request) -> Result<JobList, CaptureError> {
    let mut list = from_database(place, request)?;
    for input in &request.inputs {
        let path = resolve(&request.cwd, input);
        let is_known = list.jobs.iter().any(|job| job.path().starts_with(&path));
        if path.is_dir() && !is_known {
            return Err(CaptureError::NothingBelow { path: input.clone() });
        }
        let is_header = || path.is_file() && language_of(&path, None, false) == Err(SkipReason::Header);
        if !is_known && !is_header() {
            list.append(from_file(input, request)?);
        }
        list.focus.push(path);
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
