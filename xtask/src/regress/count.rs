//! Counts the instructions of a process, without those of the processes it starts, by valgrind's callgrind.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context, Result, bail, ensure};

use super::workload::Workload;
use crate::bench::machine::first_line;

const VALGRIND: &str = "valgrind";

/// Exit statuses with which Caulk has read everything: nothing found, something found.
const DONE: [i32; 2] = [0, 1];

#[derive(Debug)]
pub(crate) struct Counter {
    caulk: PathBuf,
    clang: PathBuf,
    /// For caches and for callgrind's own files, which `callgrind_annotate` reads.
    folder: PathBuf,
}

impl Counter {
    pub(crate) fn new(caulk: PathBuf, clang: PathBuf, folder: PathBuf) -> Result<Self> {
        ensure!(version().is_some(), "{VALGRIND} does not run here; Debian's package is called valgrind");
        std::fs::create_dir_all(&folder).with_context(|| format!("cannot make {}", folder.display()))?;
        Ok(Self { caulk, clang, folder })
    }

    /// Where callgrind leaves what it knows of a workload.
    pub(crate) fn profile(&self, workload: &Workload) -> PathBuf {
        self.folder.join(format!("{}.callgrind", workload.name))
    }

    pub(crate) fn count(&self, workload: &Workload) -> Result<u64> {
        let cache = self.folder.join(format!("{}.cache", workload.name));
        if workload.is_warm {
            // A cache of an older Caulk would be made again while its instructions are counted.
            self.run(Command::new(&self.caulk), workload, &cache)?;
        }
        let mut command = Command::new(VALGRIND);
        let mut out = std::ffi::OsString::from("--callgrind-out-file=");
        out.push(self.profile(workload));
        command.arg("--tool=callgrind").arg(out).arg(&self.caulk);
        let said = self.run(command, workload, &cache)?;
        collected(&said).with_context(|| format!("valgrind did not say how many instructions it saw:\n{said}"))
    }

    /// Runs Caulk on a workload, with nothing of our environment that could change what it does.
    fn run(&self, mut command: Command, workload: &Workload, cache: &Path) -> Result<String> {
        command.arg(workload.command).args(["--quiet", "--no-config", "--jobs", "1", "--clang"]).arg(&self.clang);
        match workload.is_warm {
            // What the analysis itself costs is counted.
            true => command.args(["--no-results", "--cache"]).arg(cache),
            false => command.arg("--no-cache"),
        };
        command.args(&workload.sources).current_dir(&self.folder).stdin(Stdio::null());
        command.env_clear().env("PATH", std::env::var_os("PATH").unwrap_or_default()).env("LC_ALL", "C");
        let output = command.output().with_context(|| format!("cannot run {:?}", command.get_program()))?;
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        if !output.status.code().is_some_and(|code| DONE.contains(&code)) {
            bail!("caulk {} on {}: {}\n{said}", workload.command, workload.name, output.status);
        }
        Ok(said)
    }
}

/// Which valgrind it is; none if there is none.
pub(crate) fn version() -> Option<String> {
    first_line(VALGRIND, &["--version"])
}

/// From the line `==123== Collected : 456`.
fn collected(said: &str) -> Option<u64> {
    let figure = said.lines().filter_map(|line| line.split_once("Collected :")).next_back()?.1;
    figure.trim().parse().ok()
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt;

    use super::*;

    /// Caulk is played by a script: what it is given, and what its exit status does.
    #[test]
    fn a_process_is_counted_and_a_failure_is_no_count() {
        if version().is_none() {
            eprintln!("SKIPPED: {VALGRIND} is not installed");
            return;
        }
        let folder = tempfile::tempdir().unwrap();
        let caulk = folder.path().join("caulk");
        let script =
            "#!/bin/sh\necho \"$1 $2\" >> commands\ncase $1 in check) exit 1 ;; *) echo broken >&2; exit 3 ;; esac\n";
        std::fs::write(&caulk, script).unwrap();
        std::fs::set_permissions(&caulk, std::fs::Permissions::from_mode(0o755)).unwrap();
        let counter = Counter::new(caulk, "clang".into(), folder.path().to_owned()).unwrap();
        let workload =
            |command| Workload { name: "w", command, sources: Vec::new(), is_warm: true, hash: String::new() };
        assert!(counter.count(&workload("check")).unwrap() > 10_000);
        assert!(counter.profile(&workload("check")).is_file());
        // Once to warm the cache, and once to count.
        let commands = std::fs::read_to_string(folder.path().join("commands")).unwrap();
        assert_eq!(commands, "check --quiet\n".repeat(2));
        assert!(counter.count(&workload("prove")).unwrap_err().to_string().contains("broken"));
    }

    #[test]
    fn the_sum_is_read_from_what_callgrind_says() {
        let said = "==7== Events    : Ir\n==7== Collected : 215339203\n==7== \n==7== I   refs:      215,339,203\n";
        assert_eq!(collected(said), Some(215_339_203));
        assert_eq!(collected("==7== Process terminating"), None);
    }
}
