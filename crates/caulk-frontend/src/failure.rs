//! Why a clang failed, in a line.

use std::os::unix::process::ExitStatusExt;
use std::process::ExitStatus;

use caulk_process::{Finished, Limits};
use rustix::process::Signal;

/// Parts of what LLVM and the C++ runtime say when they get no more memory.
const OUT_OF_MEMORY: &[&str] = &["out of memory", "bad_alloc", "Cannot allocate memory", "Allocation failed"];
/// The exit status of a clang that found errors in its input. Other statuses are crashes.
const ERRORS_FOUND: i32 = 1;
/// The exit status of a clang whose inner command died of SIGSEGV.
const SEGMENTATION_FAULT: i32 = 128 + 11;

/// A clang that did not succeed.
#[derive(Debug)]
pub(crate) struct Failure {
    kind: Kind,
    /// The beginning of what it said.
    pub stderr: String,
}

#[derive(Debug)]
enum Kind {
    /// It could not be started, or a limit was reached: said in words.
    Told(String),
    /// It ended with an error of its own.
    Failed,
    /// A signal ended it.
    Killed,
}

impl Failure {
    /// `None` for a run that succeeded.
    pub(crate) fn of(finished: &Finished, limits: &Limits) -> Option<Self> {
        if finished.status.success() && !finished.is_overdue {
            return None;
        }
        let stderr = String::from_utf8_lossy(&finished.stderr).into_owned();
        let kind = match limit_reached(finished, &stderr, limits) {
            Some(limit) => Kind::Told(limit),
            None if finished.status.code().is_none() => Kind::Killed,
            None => Kind::Failed,
        };
        Some(Self { kind, stderr })
    }

    pub(crate) fn to_start(error: &std::io::Error) -> Self {
        Self { kind: Kind::Told(format!("clang could not be run ({error})")), stderr: String::new() }
    }

    /// Whether what it said may be about its flags: it ended by itself, within all limits.
    pub(crate) fn is_own(&self) -> bool {
        matches!(self.kind, Kind::Failed)
    }

    /// clang's first error, or how it ended.
    pub(crate) fn summary(&self) -> String {
        let error = self.stderr.lines().find(|l| l.contains("error: "));
        let line = error.or_else(|| self.stderr.lines().find(|l| !l.trim().is_empty())).map(str::trim);
        match (&self.kind, line) {
            (Kind::Told(words), _) => words.clone(),
            (Kind::Failed, Some(line)) => line.to_owned(),
            (Kind::Failed, None) => "clang failed and said nothing".to_owned(),
            (Kind::Killed, Some(line)) => format!("clang was killed: {line}"),
            (Kind::Killed, None) => "clang was killed and said nothing".to_owned(),
        }
    }
}

/// The limit that ended it, and how to raise that.
fn limit_reached(finished: &Finished, stderr: &str, limits: &Limits) -> Option<String> {
    if finished.is_overdue || ended_by(finished.status, Signal::XCPU) {
        return Some("clang took too long and was ended (--clang-timeout SECONDS allows more)".to_owned());
    }
    if ended_by(finished.status, Signal::XFSZ) {
        return Some(format!("clang wrote more than {} MiB and was ended", limits.file_bytes >> 20));
    }
    // `#error out of memory` is none.
    let has_crashed = finished.status.code() != Some(ERRORS_FOUND);
    let is_memory = has_crashed && OUT_OF_MEMORY.iter().any(|words| stderr.contains(words));
    let limit = limits.memory_bytes >> 20;
    if is_memory {
        return Some(format!("clang needed more than {limit} MiB of memory (--clang-memory MIB allows more)"));
    }
    // Parts of LLVM do not look whether they got what they asked for.
    let is_fault = finished.status.code() == Some(SEGMENTATION_FAULT);
    is_fault
        .then(|| format!("clang crashed, perhaps because {limit} MiB of memory were not enough (--clang-memory MIB)"))
}

fn ended_by(status: ExitStatus, signal: Signal) -> bool {
    status.signal() == Some(signal.as_raw())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn finished(raw_status: i32, stderr: &str) -> Finished {
        let status = ExitStatus::from_raw(raw_status);
        Finished { status, stdout: Vec::new(), stderr: stderr.into(), is_overdue: false }
    }

    fn summary(finished: &Finished) -> String {
        Failure::of(finished, &Limits::DEFAULT).expect("a failure").summary()
    }

    #[test]
    fn a_failure_is_told_by_its_first_error() {
        let stderr = "a.c:1:2: note: x\na.c:3:4: error: expected ';'\nb.c: error: later";
        assert_eq!(summary(&finished(256, stderr)), "a.c:3:4: error: expected ';'");
        assert!(Failure::of(&finished(0, ""), &Limits::DEFAULT).is_none());
    }

    #[test]
    fn limits_are_told_by_how_to_raise_them() {
        let memory = summary(&finished(6, "LLVM ERROR: out of memory\nAllocation failed\n"));
        assert_eq!(memory, "clang needed more than 4096 MiB of memory (--clang-memory MIB allows more)");
        assert!(summary(&finished(139 << 8, "Stack dump:")).contains("perhaps because 4096 MiB of memory"));
        let source = summary(&finished(256, "a.c:1:2: error: out of memory"));
        assert_eq!(source, "a.c:1:2: error: out of memory");
        let overdue = Finished { is_overdue: true, ..finished(9, "") };
        assert!(summary(&overdue).contains("--clang-timeout"));
        assert!(summary(&finished(Signal::XFSZ.as_raw(), "")).contains("wrote more than 1024 MiB"));
    }
}
