//! The analysers, and how each says that something leaks.

use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result};

#[derive(Debug)]
pub(crate) enum Tool {
    Caulk(PathBuf),
    Clang,
    Gcc,
    Cppcheck,
}

/// The standard that all pairs are written in.
const STANDARD: &str = "-std=c++17";

impl Tool {
    pub(crate) fn others() -> Vec<Tool> {
        vec![Tool::Clang, Tool::Gcc, Tool::Cppcheck]
    }

    pub(crate) fn name(&self) -> String {
        match self {
            Tool::Caulk(_) => "Caulk",
            Tool::Clang => "clang --analyze",
            Tool::Gcc => "gcc -fanalyzer",
            Tool::Cppcheck => "cppcheck",
        }
        .to_owned()
    }

    /// Whether the tool reports a leak in one build of a pair.
    pub(crate) fn reports_leak(&self, file: &Path, leaks: bool, scratch: &Path) -> Result<bool> {
        let mut command = self.command(file, leaks);
        command.current_dir(scratch);
        let shown = format!("{command:?}");
        let output = command.output().with_context(|| format!("cannot run {shown}"))?;
        let said = String::from_utf8_lossy(&output.stdout) + String::from_utf8_lossy(&output.stderr);
        Ok(said.lines().any(|line| self.is_leak(line)))
    }

    fn command(&self, file: &Path, leaks: bool) -> Command {
        let define = if leaks { "-DLEAK" } else { "-DCLEAN" };
        let (program, flags): (&Path, &[&str]) = match self {
            Tool::Caulk(path) => (path, &["check", "--no-cache", "--no-config", "--format", "github"]),
            Tool::Clang => (Path::new("clang-19"), &["--analyze", "-Xclang", "-analyzer-output=text"]),
            Tool::Gcc => (Path::new("g++"), &["-fanalyzer", "-S", "-o", "/dev/null"]),
            Tool::Cppcheck => (
                Path::new("cppcheck"),
                &["--enable=warning", "--inconclusive", "--template={id}", "--quiet", "--language=c++"],
            ),
        };
        let mut command = Command::new(program);
        command.args(flags);
        match self {
            Tool::Caulk(_) => command.arg(file).args(["--", STANDARD, define]),
            Tool::Cppcheck => command.args(["--std=c++17", define]).arg(file),
            Tool::Clang | Tool::Gcc => command.args([STANDARD, define]).arg(file),
        };
        command
    }

    fn is_leak(&self, line: &str) -> bool {
        match self {
            Tool::Caulk(_) => line.starts_with("::warning") || line.starts_with("::error"),
            Tool::Clang => {
                line.contains("warning:") && (line.contains("unix.Malloc]") || line.contains("NewDeleteLeaks]"))
            }
            Tool::Gcc => line.contains("-Wanalyzer-malloc-leak"),
            Tool::Cppcheck => line.to_lowercase().contains("leak"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_counts_as_a_leak() {
        let clang = "a.cpp:3:5: warning: Potential leak of memory pointed to by 'p' [cplusplus.NewDeleteLeaks]";
        assert!(Tool::Clang.is_leak(clang));
        assert!(!Tool::Clang.is_leak("a.cpp:3:5: warning: Value stored to 'p' is never read [deadcode.DeadStores]"));
        assert!(Tool::Gcc.is_leak("a.cpp:3:5: warning: leak of 'p' [CWE-401] [-Wanalyzer-malloc-leak]"));
        assert!(Tool::Cppcheck.is_leak("memleak") && Tool::Cppcheck.is_leak("unsafeClassCanLeak"));
        assert!(!Tool::Cppcheck.is_leak("noCopyConstructor"));
        assert!(Tool::Caulk(PathBuf::new()).is_leak("::warning file=a.cpp,line=3,title=caulk::leaked"));
        assert!(!Tool::Caulk(PathBuf::new()).is_leak("::notice file=a.cpp,line=3,title=caulk::perhaps"));
    }
}
