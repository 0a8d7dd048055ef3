//! The flags Caulk gives clang, learned by watching it.
//!
//! clang alone must do the work that Caulk asks of it, no more and no less. A copy of Caulk's flags would drift; instead
//! Caulk compiles one small file with a clang that writes its arguments down.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::{Command, Stdio};

use anyhow::{Context, Result, bail, ensure};

/// A flag of the project, to tell what Caulk puts before and after those.
const PROBE: &str = "-DCAULK_BENCH_PROBE";

/// What Caulk adds to the flags of a job.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct ClangFlags {
    pub before: Vec<String>,
    pub after: Vec<String>,
}

impl ClangFlags {
    /// Runs `caulk COMMAND` on a file in `folder` with a recorder in the place of `clang`.
    pub(crate) fn learn(caulk: &Path, command: &str, clang: &Path, folder: &Path) -> Result<Self> {
        fs::create_dir_all(folder)?;
        let source = folder.join("probe.c");
        let record = folder.join("arguments");
        fs::write(&source, "int probe;\n")?;
        let _ = fs::remove_file(&record);
        let recorder = write_recorder(folder, clang, &record)?;
        let output = Command::new(caulk)
            .args([command, "--no-cache", "--quiet", "--clang"])
            .arg(&recorder)
            .arg(&source)
            .args(["--", PROBE])
            .stdin(Stdio::null())
            .output()
            .with_context(|| format!("cannot run {}", caulk.display()))?;
        let Ok(recorded) = fs::read_to_string(&record) else {
            let said = String::from_utf8_lossy(&output.stderr).into_owned();
            bail!("`{} {command}` did not call clang:\n{said}", caulk.display());
        };
        Self::parse(recorded.split_terminator('\0').map(str::to_owned).collect())
    }

    /// Takes apart a command line of clang: the job's own flags, and what says where things go, are left out.
    fn parse(words: Vec<String>) -> Result<Self> {
        let at = words.iter().position(|word| word == PROBE).context("Caulk did not pass on a macro")?;
        let language = words.get(at + 1).is_some_and(|word| word == "-xc");
        ensure!(language, "Caulk did not say the language after the flags of the job: {words:?}");
        let output = words.iter().position(|word| word == "-o").and_then(|at| words.get(at + 1));
        let scratch = output.and_then(|path| Path::new(path).parent()).context("Caulk named no output")?.to_owned();
        let flags = Self { before: common(&words[..at]), after: common(&words[at + 2..]) };
        let scratch = scratch.display().to_string();
        if let Some(odd) = flags.before.iter().chain(&flags.after).find(|word| word.contains(&scratch)) {
            bail!("Caulk has clang write {odd}, which the benchmark does not know");
        }
        Ok(flags)
    }
}

/// Without the names of files, and without the list of files read, which clang alone need not write.
fn common(words: &[String]) -> Vec<String> {
    let mut kept = Vec::new();
    let mut words = words.iter();
    while let Some(word) = words.next() {
        match word.as_str() {
            "--" => break,
            "-MD" | "-MMD" => {}
            "-o" | "-MT" | "-MF" | "-MQ" => drop(words.next()),
            _ => kept.push(word.clone()),
        }
    }
    kept
}

fn write_recorder(folder: &Path, clang: &Path, record: &Path) -> Result<std::path::PathBuf> {
    let path = folder.join("recorder");
    let script = format!(
        "#!/bin/sh\ncase \"$1\" in --version) ;; *) printf '%s\\0' \"$@\" > '{}' ;; esac\nexec '{}' \"$@\"\n",
        record.display(),
        clang.display()
    );
    fs::write(&path, script)?;
    fs::set_permissions(&path, fs::Permissions::from_mode(0o755))?;
    Ok(path)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(text: &str) -> Vec<String> {
        text.split(' ').map(str::to_owned).collect()
    }

    #[test]
    fn places_and_dependencies_are_left_out() {
        let line = "-v -DCAULK_BENCH_PROBE -xc -c -emit-llvm -O1 -MD -MT unit -MF /tmp/c/0.d -o /tmp/c/0.bc -- /p.c";
        let flags = ClangFlags::parse(words(line)).unwrap();
        assert_eq!(flags, ClangFlags { before: words("-v"), after: words("-c -emit-llvm -O1") });
    }

    #[test]
    fn another_output_is_no_secret() {
        let line = "-DCAULK_BENCH_PROBE -xc -save-stats=/tmp/c/0.stats -o /tmp/c/0.bc -- /p.c";
        assert!(ClangFlags::parse(words(line)).unwrap_err().to_string().contains("0.stats"));
    }
}
