//! Running clang: which one, with which flags, and what it said when it failed.

use std::ffi::OsString;
use std::io;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use caulk_capture::{BitcodeJob, CompileJob, Job, without_rejected};

/// The release of clang and LLVM this build of Caulk reads.
pub const CLANG_MAJOR: u32 = 19;

/// Attributes that clang checks but does not pass on to LLVM reach us as annotations with this prefix.
pub(crate) const ANNOTATION_PREFIX: &str = "caulk.";
/// These attributes say who owns memory; each is defined as a macro that turns it into an annotation.
const OWNERSHIP_ATTRIBUTES: [&str; 3] = ["ownership_returns", "ownership_takes", "ownership_holds"];

/// Some projects hand clang dozens of flags it does not know, and it may name them one at a time.
const MAX_FLAG_RETRIES: usize = 64;

/// What clang is told after the flags of the project, so that ours win.
///
/// `-O1` without passes keeps the marks of scopes and the prototypes of declared functions, which `-O0` leaves out.
/// Old C that gcc accepts with a warning must not be lost, hence the errors that are taken back.
/// Nobody asks here what types may alias: without those marks, on every load and store, bitcode is a tenth smaller.
const OUR_FLAGS: [&str; 17] = [
    "-c",
    "-emit-llvm",
    "-O1",
    "-g",
    "-Xclang",
    "-disable-llvm-passes",
    "-fno-strict-aliasing",
    "-U_FORTIFY_SOURCE",
    "-w",
    "-Wno-error=implicit-function-declaration",
    "-Wno-error=implicit-int",
    "-Wno-error=int-conversion",
    "-Wno-error=incompatible-function-pointer-types",
    "-fno-color-diagnostics",
    "-fno-caret-diagnostics",
    "-fno-crash-diagnostics",
    "-Qunused-arguments",
];

#[derive(Debug, thiserror::Error)]
pub enum ClangError {
    #[error(
        "clang {CLANG_MAJOR} was not found (looked for {0})\n  install it (Debian: apt-get install clang-{CLANG_MAJOR}) \
         or name it with --clang PATH"
    )]
    Missing(String),
    #[error(
        "{path} is clang {found}, but Caulk reads what clang {CLANG_MAJOR} writes\n  install clang {CLANG_MAJOR} \
         (Debian: apt-get install clang-{CLANG_MAJOR}) or name it with --clang PATH"
    )]
    Version { path: String, found: String },
    #[error("{path} could not be run: {source}")]
    Run { path: String, source: io::Error },
}

/// A clang of the right version.
#[derive(Clone, Debug)]
pub struct Clang {
    path: PathBuf,
    /// The first line of `--version`: part of the cache's key.
    version: String,
}

impl Clang {
    /// Finds clang: the one asked for, else `clang-19`, else a plain `clang` that happens to be 19.
    pub fn find(wanted: Option<&Path>) -> Result<Self, ClangError> {
        if let Some(path) = wanted {
            return Self::check(path)?.ok_or_else(|| ClangError::Missing(path.display().to_string()));
        }
        let versioned = format!("clang-{CLANG_MAJOR}");
        if let Some(clang) = Self::check(Path::new(&versioned))? {
            return Ok(clang);
        }
        match Self::check(Path::new("clang")) {
            Ok(Some(clang)) => Ok(clang),
            Ok(None) => Err(ClangError::Missing(format!("{versioned} and clang in PATH"))),
            Err(error) => Err(error),
        }
    }

    fn check(path: &Path) -> Result<Option<Self>, ClangError> {
        let shown = path.display().to_string();
        let output = match Command::new(path).arg("--version").stdin(Stdio::null()).output() {
            Ok(output) => output,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            Err(source) => return Err(ClangError::Run { path: shown, source }),
        };
        let text = String::from_utf8_lossy(&output.stdout);
        let version = text.lines().next().unwrap_or_default().to_owned();
        match major_version(&version) {
            Some(CLANG_MAJOR) => Ok(Some(Self { path: path.to_owned(), version })),
            Some(other) => Err(ClangError::Version { path: shown, found: other.to_string() }),
            None => Err(ClangError::Version { path: shown, found: format!("an unknown program ({version:?})") }),
        }
    }

    pub fn version(&self) -> &str {
        &self.version
    }

    /// Compiles a job to bitcode at `bitcode`, and lists every file that was read, as a make rule, in `dependencies`.
    /// The error is what clang said, in a line.
    pub(crate) fn compile(&self, job: &Job, bitcode: &Path, dependencies: &Path) -> Result<(), String> {
        match job {
            Job::Compile(job) => self.compile_source(job, bitcode, dependencies),
            Job::Bitcode(job) => self.check_bitcode(job, bitcode),
        }
    }

    fn compile_source(&self, job: &CompileJob, bitcode: &Path, dependencies: &Path) -> Result<(), String> {
        let mut flags = job.flags.clone();
        for _ in 0..MAX_FLAG_RETRIES {
            let mut command = Command::new(&self.path);
            command.current_dir(&job.directory).args(&flags).args(OUR_FLAGS).args(ownership_macros());
            command.args(["-MD", "-MT", "unit", "-MF"]).arg(dependencies);
            command.arg("-o").arg(bitcode).arg("--").arg(&job.source);
            let Err(failure) = run(command) else { return Ok(()) };
            match without_rejected(&flags, &failure.stderr) {
                Some(fewer) => flags = fewer,
                None => return Err(failure.summary()),
            }
        }
        Err(format!("clang still refuses some flag after {MAX_FLAG_RETRIES} were dropped"))
    }

    /// Bitcode from elsewhere goes through clang too: a broken file may crash LLVM, and then only clang falls.
    fn check_bitcode(&self, job: &BitcodeJob, bitcode: &Path) -> Result<(), String> {
        let mut command = Command::new(&self.path);
        command.args(OUR_FLAGS).args(["-Wno-override-module", "-x", "ir", "-o"]).arg(bitcode).arg("--").arg(&job.path);
        run(command).map_err(|failure| format!("not bitcode that clang {CLANG_MAJOR} can read: {}", failure.summary()))
    }

    /// Everything about how we call clang that changes what comes out.
    pub(crate) fn fingerprint(&self) -> String {
        format!("{}\n{}\n{}", self.version, OUR_FLAGS.join(" "), OWNERSHIP_ATTRIBUTES.join(" "))
    }
}

fn ownership_macros() -> impl Iterator<Item = OsString> {
    OWNERSHIP_ATTRIBUTES
        .into_iter()
        .map(|name| format!("-D{name}(...)=annotate(\"{ANNOTATION_PREFIX}{name}(\" #__VA_ARGS__ \")\")").into())
}

fn major_version(line: &str) -> Option<u32> {
    let (_, rest) = line.split_once("clang version ")?;
    let digits = rest.split(|c: char| !c.is_ascii_digit()).next()?;
    digits.parse().ok()
}

struct Failure {
    status: String,
    stderr: String,
}

impl Failure {
    /// clang's first error, or what became of it.
    fn summary(&self) -> String {
        let error = self.stderr.lines().find(|l| l.contains("error: "));
        let line = error.or_else(|| self.stderr.lines().find(|l| !l.trim().is_empty()));
        match line {
            Some(line) if self.status.is_empty() => line.trim().to_owned(),
            Some(line) => format!("clang {}: {}", self.status, line.trim()),
            None if self.status.is_empty() => "clang failed and said nothing".to_owned(),
            None => format!("clang {} and said nothing", self.status),
        }
    }
}

fn run(mut command: Command) -> Result<(), Failure> {
    let output = command.env("LC_ALL", "C").stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::piped()).output();
    match output {
        Ok(output) if output.status.success() => Ok(()),
        Ok(output) => {
            let status = match output.status.code() {
                Some(_) => String::new(),
                None => "was killed".to_owned(),
            };
            Err(Failure { status, stderr: String::from_utf8_lossy(&output.stderr).into_owned() })
        }
        Err(error) => Err(Failure { status: format!("could not be run ({error})"), stderr: String::new() }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_are_read_from_the_first_line() {
        assert_eq!(major_version("Debian clang version 19.1.7 (3~deb12u1)"), Some(19));
        assert_eq!(major_version("clang version 20.0.0git"), Some(20));
        assert_eq!(major_version("gcc (Debian 12.2.0) 12.2.0"), None);
    }

    #[test]
    fn a_failure_is_told_by_its_first_error() {
        let stderr = "a.c:1:2: note: x\na.c:3:4: error: expected ';'\nb.c: error: later".to_owned();
        let failure = Failure { status: String::new(), stderr };
        assert_eq!(failure.summary(), "a.c:3:4: error: expected ';'");
    }
}
