//! gcc -fanalyzer.

use std::collections::BTreeSet;
use std::process::Command;

use anyhow::Result;

use super::{Sample, Setting, Tool, peers};
use crate::bench::project::Project;

/// Flags of a job that mean the same to gcc. The list was made for clang; what else is in it, gcc may not know.
const SHARED: [&str; 11] =
    ["-D", "-U", "-I", "-isystem", "-iquote", "-idirafter", "-include", "-std=", "-ansi", "-x", "-pthread"];

#[derive(Debug)]
pub(crate) struct GccAnalyzer;

impl Tool for GccAnalyzer {
    fn name(&self) -> String {
        "gcc -fanalyzer".to_owned()
    }

    fn run(&self, project: &Project, setting: &Setting) -> Result<Sample> {
        let command = |unit: usize| {
            let job = &project.jobs[unit];
            let mut command = Command::new("gcc");
            command.args(job.flags.iter().filter(|flag| is_shared(flag)));
            command.args(["-fanalyzer", "-fdiagnostics-plain-output", "-fdiagnostics-path-format=none"]);
            command.args(["-S", "-o", "/dev/null"]).arg(&job.source);
            command
        };
        peers::run_compiler(project, setting, &command, find_leaks)
    }
}

fn is_shared(flag: &str) -> bool {
    SHARED.iter().any(|name| flag.starts_with(name))
}

fn find_leaks(said: &str) -> BTreeSet<String> {
    said.lines().filter(|line| line.ends_with("[-Wanalyzer-malloc-leak]")).map(str::to_owned).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn leaks_are_told_from_other_warnings() {
        let said = "\
a.c: In function 'f':
a.c:5:1: warning: leak of 'p' [CWE-401] [-Wanalyzer-malloc-leak]
a.c:8:3: warning: double-'free' of 'q' [CWE-415] [-Wanalyzer-double-free]
a.c:9:3: warning: leak of FILE 'f' [CWE-775] [-Wanalyzer-file-leak]
a.c:5:1: warning: leak of 'p' [CWE-401] [-Wanalyzer-malloc-leak]
";
        assert_eq!(find_leaks(said).len(), 1);
    }

    #[test]
    fn only_flags_that_both_know_are_passed_on() {
        assert!(is_shared("-Iinc") && is_shared("-std=gnu11") && is_shared("-xc"));
        assert!(!is_shared("-Xclang") && !is_shared("-fblocks"));
    }
}
