//! Jobs for small files, and a clang to run them with.

// Every test binary compiles this module and uses a part of it.
#![allow(dead_code)]

use std::path::{Path, PathBuf};

use caulk_capture::{Job, jobs_from_sources};
use caulk_frontend::{Cache, Clang, Config, LostUnit, ReadUnit, read_units};

pub fn config() -> Config {
    Config { clang: Clang::find(None).expect("the tests need clang 19"), cache: None, isolated: None, threads: 2 }
}

pub fn cached(folder: &Path) -> Config {
    Config { cache: Some(Cache::open(folder).expect("the folder can be made")), ..config() }
}

pub fn jobs(cwd: &Path, sources: &[impl AsRef<Path>], flags: &[&str]) -> Vec<Job> {
    let sources: Vec<PathBuf> = sources.iter().map(|s| s.as_ref().to_owned()).collect();
    let flags: Vec<String> = flags.iter().map(|f| (*f).to_owned()).collect();
    let list = jobs_from_sources(&sources, &flags, cwd);
    assert!(list.skipped.units.is_empty(), "{:?}", list.skipped);
    list.jobs
}

pub fn read_all(jobs: &[Job], config: &Config) -> Vec<Result<ReadUnit, LostUnit>> {
    read_units(jobs, config, &|_| {}).expect("threads and temporary folders can be made")
}

/// A folder of files that lasts as long as the test.
pub struct Project(tempfile::TempDir);

impl Project {
    pub fn new(files: &[(&str, &str)]) -> Self {
        let project = Self(tempfile::tempdir().expect("a temporary folder can be made"));
        files.iter().for_each(|(name, text)| project.write(name, text));
        project
    }

    pub fn root(&self) -> &Path {
        self.0.path()
    }

    pub fn path(&self, name: &str) -> PathBuf {
        self.root().join(name)
    }

    pub fn write(&self, name: &str, content: impl AsRef<[u8]>) {
        std::fs::write(self.path(name), content).expect("the folder can be written to");
    }

    /// Reads files of the project.
    pub fn read(&self, sources: &[&str], flags: &[&str], config: &Config) -> Vec<Result<ReadUnit, LostUnit>> {
        read_all(&jobs(self.root(), sources, flags), config)
    }
}

/// Why a unit was not read.
pub fn reason(result: &Result<ReadUnit, LostUnit>) -> &str {
    match result {
        Ok(unit) => panic!("{} was read", unit.unit.unit.source),
        Err(lost) => &lost.reason,
    }
}

/// The text of everything that was read, for comparing.
pub fn printed(result: &Result<ReadUnit, LostUnit>) -> String {
    match result {
        Ok(unit) => caulk_ir::text::print_unit(&unit.unit.unpack()),
        Err(lost) => panic!("{}: {}", lost.source, lost.reason),
    }
}
