//! A small project in a temporary folder.

#![allow(clippy::print_stdout, clippy::print_stderr)]
// Every test binary compiles this module and uses a part of it.
#![allow(dead_code)]

use std::fs;
use std::path::{Path, PathBuf};

use caulk_capture::{CompileJob, Job, JobList, Request, collect};

pub(crate) struct Project {
    dir: tempfile::TempDir,
}

impl Project {
    /// Writes `files`; `@ROOT@` in their text stands for the project's absolute path.
    pub(crate) fn new(files: &[(&str, &str)]) -> Project {
        let project = Project { dir: tempfile::tempdir().expect("a temporary directory can be made") };
        for (name, text) in files {
            let path = project.root().join(name);
            fs::create_dir_all(path.parent().expect("below the root")).expect("writable");
            fs::write(path, text.replace("@ROOT@", &project.root().to_string_lossy())).expect("writable");
        }
        project
    }

    /// Without symbolic links, as the working directory of a process is.
    pub(crate) fn root(&self) -> PathBuf {
        self.dir.path().canonicalize().expect("the temporary directory exists")
    }

    pub(crate) fn request(&self, inputs: &[&str]) -> Request {
        Request { inputs: inputs.iter().map(PathBuf::from).collect(), cwd: self.root(), ..Request::default() }
    }

    pub(crate) fn jobs(&self) -> JobList {
        collect(&self.request(&[])).expect("the project has jobs")
    }

    pub(crate) fn error(&self, inputs: &[&str]) -> String {
        collect(&self.request(inputs)).expect_err("no jobs").to_string()
    }
}

pub(crate) fn compile_jobs(list: &JobList) -> Vec<&CompileJob> {
    list.jobs
        .iter()
        .filter_map(|job| match job {
            Job::Compile(job) => Some(job),
            Job::Bitcode(_) => None,
        })
        .collect()
}

/// `file: flag flag` for every job, in order.
pub(crate) fn listing(list: &JobList) -> Vec<String> {
    compile_jobs(list).iter().map(|job| format!("{}: {}", job.display, job.flags.join(" "))).collect()
}

pub(crate) fn have(program: &str) -> bool {
    let found = std::env::var_os("PATH")
        .is_some_and(|path| std::env::split_paths(&path).any(|dir| Path::new(&dir).join(program).is_file()));
    if !found {
        eprintln!("skipped: {program} is not installed");
    }
    found
}
