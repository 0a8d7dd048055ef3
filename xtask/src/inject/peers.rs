//! The other analysers on the files that were changed: where each says that something leaks.

use std::collections::BTreeSet;
use std::path::PathBuf;
use std::process::Command;

use anyhow::Result;
use caulk_capture::{CompileJob, Language};

use crate::bench::machine::first_line;
use crate::bench::side_by_side;
use crate::bench::usage::Limits;

/// For each unit; one that is cut off has said what it has said.
const LIMITS: Limits = Limits { cpu_seconds: 300, memory_bytes: 8 << 30 };

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Peer {
    Clang,
    Gcc,
    Cppcheck,
}

/// Flags of a job that mean the same to gcc, and those that cppcheck reads.
const SHARED: [&str; 9] = ["-D", "-U", "-I", "-isystem", "-iquote", "-include", "-std=", "-x", "-pthread"];
const PREPROCESSOR: [&str; 3] = ["-D", "-U", "-I"];

impl Peer {
    /// Those that are installed.
    pub(crate) fn installed() -> Vec<Peer> {
        let programs = [("clang-19", Peer::Clang), ("gcc", Peer::Gcc), ("cppcheck", Peer::Cppcheck)];
        let is_here = |(program, _): &(&str, Peer)| first_line(program, &["--version"]).is_some();
        programs.into_iter().filter(is_here).map(|(_, peer)| peer).collect()
    }

    pub(crate) fn name(self) -> &'static str {
        match self {
            Peer::Clang => "clang --analyze",
            Peer::Gcc => "gcc -fanalyzer",
            Peer::Cppcheck => "cppcheck",
        }
    }

    fn command(self, job: &CompileJob) -> Command {
        let is_any_of = |flag: &&String, of: &[&str]| of.iter().any(|name| flag.starts_with(name));
        let mut command = match self {
            Peer::Clang => {
                let mut command = Command::new("clang-19");
                command.args(&job.flags).args(["--analyze", "-Xclang", "-analyzer-checker=unix.Malloc"]);
                command.args(["-Xclang", "-analyzer-checker=cplusplus.NewDeleteLeaks", "--analyzer-output", "text"]);
                command.args(["-Qunused-arguments", "-fno-caret-diagnostics", "-Wno-everything", "-o", "/dev/null"]);
                command
            }
            Peer::Gcc => {
                let mut command = Command::new(if job.language == Language::Cxx { "g++" } else { "gcc" });
                command.args(job.flags.iter().filter(|flag| is_any_of(flag, &SHARED)));
                command.args(["-fanalyzer", "-fdiagnostics-plain-output", "-fdiagnostics-path-format=none"]);
                command.args(["-S", "-o", "/dev/null"]);
                command
            }
            Peer::Cppcheck => {
                let mut command = Command::new("cppcheck");
                command.args(job.flags.iter().filter(|flag| is_any_of(flag, &PREPROCESSOR)));
                command.args(["--quiet", "--template={file}:{line}:1: {id}"]);
                command
            }
        };
        command.arg(&job.source).current_dir(&job.directory);
        LIMITS.apply(&mut command);
        command
    }

    /// The file and line of a message about a leak.
    fn place(self, line: &str) -> Option<(PathBuf, usize)> {
        let is_leak = match self {
            Peer::Clang => {
                line.contains(": warning: Potential leak") || line.contains(": warning: Potential memory leak")
            }
            Peer::Gcc => line.ends_with("[-Wanalyzer-malloc-leak]"),
            Peer::Cppcheck => line.rsplit(' ').next().is_some_and(|id| id.to_lowercase().contains("memleak")),
        };
        let mut parts = line.splitn(3, ':');
        let (file, number) = (parts.next()?, parts.next()?);
        Some((PathBuf::from(file), number.parse().ok()?)).filter(|_| is_leak)
    }

    /// Every place that it names in these jobs.
    pub(crate) fn run(self, jobs: &[&CompileJob], threads: usize) -> Result<BTreeSet<(PathBuf, usize)>> {
        let folder = tempfile::tempdir()?;
        side_by_side::run(jobs.len(), threads, folder.path(), None, &|unit| self.command(jobs[unit]))?;
        let mut places = BTreeSet::new();
        for (unit, job) in jobs.iter().enumerate() {
            let said = std::fs::read(side_by_side::messages(folder.path(), unit)).unwrap_or_default();
            let said = String::from_utf8_lossy(&said).into_owned();
            places.extend(said.lines().filter_map(|line| self.place(line)).map(|(f, l)| (job.directory.join(f), l)));
        }
        Ok(places)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn leaks_are_read_from_what_each_says() {
        let at = |line| Some((PathBuf::from("a.c"), line));
        let clang = "a.c:5:3: warning: Potential leak of memory pointed to by 'p' [unix.Malloc]";
        assert_eq!(Peer::Clang.place(clang), at(5));
        assert_eq!(Peer::Gcc.place("a.c:6:1: warning: leak of 'p' [CWE-401] [-Wanalyzer-malloc-leak]"), at(6));
        assert_eq!(Peer::Cppcheck.place("a.c:7:1: memleak"), at(7));
        assert_eq!(Peer::Cppcheck.place("a.c:7:1: nullPointer"), None);
        assert_eq!(Peer::Clang.place("a.c:5:3: note: Memory is allocated"), None);
    }
}
