//! Jobs for small files, and a clang to run them with.

// Every test binary compiles this module and uses a part of it.
#![allow(dead_code)]

use std::path::{Path, PathBuf};

use caulk_capture::{Job, jobs_from_sources};
use caulk_frontend::{Cache, Clang, Config, LostUnit, ReadUnit, read_units};

pub(crate) fn config() -> Config {
    Config { clang: Clang::find(None).expect("the tests need clang 19"), cache: None, isolated: None, threads: 2 }
}

pub(crate) fn cached(folder: &Path) -> Config {
    Config { cache: Some(Cache::open(folder).expect("the folder can be made")), ..config() }
}

pub(crate) fn jobs(cwd: &Path, sources: &[impl AsRef<Path>], flags: &[&str]) -> Vec<Job> {
    let sources: Vec<PathBuf> = sources.iter().map(|s| s.as_ref().to_owned()).collect();
    let flags: Vec<String> = flags.iter().map(|f| (*f).to_owned()).collect();
    let list = jobs_from_sources(&sources, &flags, cwd);
    assert!(list.skipped.units.is_empty(), "{:?}", list.skipped);
    list.jobs
}

pub(crate) fn read_all(jobs: &[Job], config: &Config) -> Vec<Result<ReadUnit, LostUnit>> {
    read_units(jobs, config, &|_| {}).expect("threads and temporary folders can be made")
}

/// A folder of files that lasts as long as the test.
pub(crate) struct Project(tempfile::TempDir);

impl Project {
    pub(crate) fn new(files: &[(&str, &str)]) -> Self {
        let project = Self(tempfile::tempdir().expect("a temporary folder can be made"));
        files.iter().for_each(|(name, text)| project.write(name, text));
        project
    }

    pub(crate) fn root(&self) -> &Path {
        self.0.path()
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.root().join(name)
    }

    pub(crate) fn write(&self, name: &str, content: impl AsRef<[u8]>) {
        std::fs::write(self.path(name), content).expect("the folder can be written to");
    }

    /// Reads files of the project.
    pub(crate) fn read(&self, sources: &[&str], flags: &[&str], config: &Config) -> Vec<Result<ReadUnit, LostUnit>> {
        read_all(&jobs(self.root(), sources, flags), config)
    }
}

/// Why a unit was not read.
pub(crate) fn reason(result: &Result<ReadUnit, LostUnit>) -> &str {
    match result {
        Ok(unit) => panic!("{} was read", unit.unit.unit.source),
        Err(lost) => &lost.reason,
    }
}

/// The text of everything that was read, for comparing.
pub(crate) fn printed(result: &Result<ReadUnit, LostUnit>) -> String {
    match result {
        Ok(unit) => caulk_ir::text::print_unit(&unit.unit.unpack()),
        Err(lost) => panic!("{}: {}", lost.source, lost.reason),
    }
}
