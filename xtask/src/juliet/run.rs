//! Runs Caulk on each test case.

use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

use anyhow::{Context, Result};

use crate::sarif::{self, Finding};

use super::suite::Case;

/// Exit statuses of Caulk that come with a report.
const DONE: [i32; 3] = [0, 1, 3];

pub(crate) struct Runner {
    pub caulk: PathBuf,
    /// The folder with what all test cases share.
    pub support: PathBuf,
    /// Without `main` and what is shared.
    pub is_open: bool,
    pub options: Vec<String>,
    pub cache: PathBuf,
    /// Where reports are kept.
    pub keep: Option<PathBuf>,
    pub jobs: usize,
}

/// The findings of a test case, or why there are none.
pub(crate) type Answer = Result<Vec<Finding>, String>;

impl Runner {
    /// The answers, in the order of the test cases.
    pub(crate) fn run(&self, cases: &[Case]) -> Result<Vec<Answer>> {
        std::fs::create_dir_all(&self.cache).with_context(|| format!("cannot make {}", self.cache.display()))?;
        if let Some(folder) = &self.keep {
            std::fs::create_dir_all(folder).with_context(|| format!("cannot make {}", folder.display()))?;
        }
        let answers: Vec<Mutex<Option<Answer>>> = cases.iter().map(|_| Mutex::new(None)).collect();
        let next = AtomicUsize::new(0);
        std::thread::scope(|scope| {
            for _ in 0..self.jobs {
                scope.spawn(|| {
                    while let Some((case, slot)) = pick(&next, cases, &answers) {
                        *slot.lock().expect("no one panics with the lock") = Some(self.answer(case));
                    }
                });
            }
        });
        let taken = answers.into_iter().map(|slot| slot.into_inner().expect("no one panics with the lock"));
        Ok(taken.map(|answer| answer.expect("every case is picked once")).collect())
    }

    fn answer(&self, case: &Case) -> Answer {
        let mut command = Command::new(&self.caulk);
        command.arg("check").args(case.sources());
        if !self.is_open {
            command.arg(self.support.join("io.c"));
        }
        // Whole paths, and leaks alone: what main holds at its end is none.
        command.args(["--root", ".", "--at-exit=false", "--no-config"]);
        command.args(["--quiet", "--format", "sarif", "--jobs", "1", "--cache"]).arg(&self.cache).args(&self.options);
        command.arg("--").arg("-I").arg(&self.support);
        if !self.is_open {
            command.arg("-DINCLUDEMAIN");
        }
        let output = command.current_dir(&self.cache).stdin(Stdio::null()).output().map_err(|e| e.to_string())?;
        if !output.status.code().is_some_and(|code| DONE.contains(&code)) {
            let said = String::from_utf8_lossy(&output.stderr);
            return Err(format!("{}: {}", output.status, said.lines().last().unwrap_or_default()));
        }
        if let Some(folder) = &self.keep {
            let path = folder.join(format!("{}.sarif", case.name));
            std::fs::write(&path, &output.stdout).map_err(|e| format!("cannot write {}: {e}", path.display()))?;
        }
        sarif::parse(&String::from_utf8_lossy(&output.stdout)).map_err(|e| format!("{e:#}"))
    }
}

fn pick<'a, A, B>(next: &AtomicUsize, a: &'a [A], b: &'a [B]) -> Option<(&'a A, &'a B)> {
    let index = next.fetch_add(1, Ordering::Relaxed);
    a.get(index).zip(b.get(index))
}
