//! clang's static analyzer with its malloc checkers.

use std::collections::BTreeSet;
use std::process::Command;

use anyhow::Result;

use super::{Sample, Setting, Tool, peers};
use crate::bench::project::Project;

/// `core` is on because clang's manual says that no checker is supported without it; what else is on by default and has
/// nothing to do with leaks is off. On zlib and files of htop this took about a tenth less time than with all of them
/// (30 s and 34 s, 15 s and 18 s, one run each), and the leaks reported were the same.
const CHECKERS: &str = "core,unix.Malloc,cplusplus.NewDelete,cplusplus.NewDeleteLeaks";

#[derive(Debug)]
pub(crate) struct ClangAnalyze;

impl Tool for ClangAnalyze {
    fn name(&self) -> String {
        "clang --analyze".to_owned()
    }

    fn run(&self, project: &Project, setting: &Setting) -> Result<Sample> {
        let command = |unit: usize| {
            let job = &project.jobs[unit];
            let mut command = Command::new(&setting.clang);
            command.args(&job.flags).args(["--analyze", "--analyzer-no-default-checks", "-Xclang"]);
            command.arg(format!("-analyzer-checker={CHECKERS}"));
            command.args(["--analyzer-output", "text", "-Qunused-arguments", "-fno-caret-diagnostics"]);
            command.args(["-Wno-everything", "-o", "/dev/null", "--"]).arg(&job.source);
            command
        };
        peers::run_compiler(project, setting, &command, find_leaks)
    }
}

/// A header's leak is reported by every unit: equal lines count once.
fn find_leaks(said: &str) -> BTreeSet<String> {
    let leak = |line: &&str| {
        line.contains(": warning: ")
            && (line.contains("Potential leak of memory") || line.contains("Potential memory leak"))
    };
    said.lines().filter(leak).map(str::to_owned).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn leaks_are_told_from_other_warnings() {
        let said = "\
a.c:5:3: warning: Potential leak of memory pointed to by 'p' [unix.Malloc]
a.c:3:13: note: Memory is allocated
a.c:5:3: note: Potential leak of memory pointed to by 'p'
a.c:5:3: warning: Potential leak of memory pointed to by 'p' [unix.Malloc]
a.c:9:1: warning: Potential memory leak [unix.Malloc]
a.c:7:3: warning: Attempt to free released memory [unix.Malloc]
4 warnings generated.
";
        assert_eq!(find_leaks(said).len(), 2);
    }
}
