//! Jobs for small files, and a clang to run them with.

// Every test binary compiles this module and uses a part of it.
#![allow(dead_code)]

use std::path::{Path, PathBuf};

use caulk_capture::{Job, jobs_from_sources};
use caulk_frontend::{Cache, Clang, Config, LostUnit, ReadUnit, read_units};

pub fn config() -> Config {
    Config { clang: Clang::find(None).expect("the tests need clang 19"), cache: None, threads: 2 }
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
