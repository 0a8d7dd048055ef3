//! Running clang: which one, with which flags, and what it said when it failed.

use std::ffi::OsString;
use std::io;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};

use caulk_capture::{BitcodeJob, CompileJob, Job, without_rejected};
use caulk_process::{Lifeline, Limits, Runner, find_program};

use crate::environment;
use crate::error::FrontendError;
use crate::failure::Failure;
use crate::portable::Root;

/// The release of clang and LLVM this build of Caulk reads.
pub const CLANG_MAJOR: u32 = 19;

/// Attributes that clang checks but does not pass on to LLVM reach us as annotations with this prefix.
pub(crate) const ANNOTATION_PREFIX: &str = "caulk.";
/// These attributes say who owns memory; each is defined as a macro that turns it into an annotation.
const OWNERSHIP_ATTRIBUTES: [&str; 3] = ["ownership_returns", "ownership_takes", "ownership_holds"];

/// Some projects hand clang dozens of flags it does not know, and it may name them one at a time.
pub(crate) const MAX_FLAG_RETRIES: usize = 64;

/// To print its version a clang needs a fraction of a second.
const VERSION_TIME: Duration = Duration::from_secs(30);

/// What clang is told after the flags of the project, so that ours win.
///
/// `-O1` without passes keeps the marks of scopes and the prototypes of declared functions, which `-O0` leaves out.
/// Old C that gcc accepts with a warning must not be lost, hence the errors that are taken back.
/// What types may alias is not asked here: without those marks, on every load and store, bitcode is a tenth smaller.
/// Files of configuration may hold any flag, and which ones clang reads depends on the target that a project names.
const OUR_FLAGS: [&str; 18] = [
    "--no-default-config",
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

/// A clang of the right version.
#[derive(Clone, Debug)]
pub struct Clang {
    path: PathBuf,
    /// The first line of `--version`: part of the cache's key.
    version: String,
    /// The line of `--version` that names the machine code is made for.
    target: String,
    runner: Runner,
    /// The project's folder, which `__FILE__` does not hold.
    root: Option<Root>,
}

/// Where the files of one compilation go.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Outputs<'a> {
    pub bitcode: &'a Path,
    /// Every file that was read, as a make rule.
    pub dependencies: &'a Path,
    /// A folder for temporary files.
    pub scratch: &'a Path,
    /// Flags that make clang read other texts in place of files.
    pub overlay: &'a [OsString],
}

impl Clang {
    /// Finds clang: the one asked for, else `clang-19`, else a plain `clang` that happens to be 19. Its path is absolute from
    /// here on: it runs in folders of the project.
    pub fn find(wanted: Option<&Path>) -> Result<Self, FrontendError> {
        Self::find_for(wanted, Runner::default())
    }

    /// Likewise, to be run within other limits than the usual ones.
    pub fn find_for(wanted: Option<&Path>, runner: Runner) -> Result<Self, FrontendError> {
        if let Some(path) = wanted {
            return Self::check(path, &runner)?.ok_or_else(|| FrontendError::Missing(path.display().to_string()));
        }
        let versioned = format!("clang-{CLANG_MAJOR}");
        if let Some(clang) = Self::check(Path::new(&versioned), &runner)? {
            return Ok(clang);
        }
        match Self::check(Path::new("clang"), &runner) {
            Ok(Some(clang)) => Ok(clang),
            Ok(None) => Err(FrontendError::Missing(format!("{versioned} and clang in PATH"))),
            Err(error) => Err(error),
        }
    }

    fn check(path: &Path, runner: &Runner) -> Result<Option<Self>, FrontendError> {
        let shown = path.display().to_string();
        let Some(path) = find_program(path) else { return Ok(None) };
        let mut command = Command::new(&path);
        command.args(["--version", "--no-default-config"]);
        environment::prepare(&mut command, None);
        let limits = Limits { time: VERSION_TIME.min(runner.limits.time), ..runner.limits.clone() };
        let output = match (Runner { limits, lifeline: runner.lifeline.clone() }).run(command) {
            Ok(output) => output,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            Err(source) => return Err(FrontendError::Run { path: shown, source }),
        };
        let text = String::from_utf8_lossy(&output.stdout);
        let version = text.lines().next().unwrap_or_default().to_owned();
        match major_version(&version) {
            Some(CLANG_MAJOR) => {
                let target = text.lines().find(|line| line.starts_with("Target:")).unwrap_or_default().to_owned();
                Ok(Some(Self { path, version, target, runner: runner.clone(), root: None }))
            }
            Some(other) => Err(FrontendError::Version { path: shown, found: other.to_string() }),
            None => Err(FrontendError::NotClang { path: shown, said: said(&version) }),
        }
    }

    /// The same clang for a project: what it makes does not depend on where the project's folder is.
    pub fn for_project(self, root: &Path) -> Self {
        Self { root: Root::new(root), ..self }
    }

    /// Where it was installed, and so has its own headers.
    pub(crate) fn folders(&self) -> Vec<PathBuf> {
        let prefix = |path: &Path| Some(path.parent()?.parent()?.to_owned()).filter(|folder| folder.parent().is_some());
        let real = self.path.canonicalize().ok();
        [prefix(&self.path), real.as_deref().and_then(prefix)].into_iter().flatten().collect()
    }

    pub fn version(&self) -> &str {
        &self.version
    }

    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// How every child is run, whatever program it is.
    pub(crate) fn runner(&self) -> &Runner {
        &self.runner
    }

    pub(crate) fn lifeline(&self) -> &Lifeline {
        &self.runner.lifeline
    }

    /// Compiles a job to bitcode. The error is what clang said, in a line.
    pub(crate) fn compile(&self, job: &Job, outputs: Outputs<'_>) -> Result<(), String> {
        match job {
            Job::Compile(job) => self.compile_source(job, outputs),
            Job::Bitcode(job) => self.check_bitcode(job, outputs),
        }
    }

    fn compile_source(&self, job: &CompileJob, outputs: Outputs<'_>) -> Result<(), String> {
        let mut flags = job.flags.clone();
        let started = Instant::now();
        let mut root_flag = self.root_flag();
        for _ in 0..MAX_FLAG_RETRIES {
            let mut command = Command::new(&self.path);
            command.current_dir(&job.directory).args(&flags).args(OUR_FLAGS).args(ownership_macros()).args(&root_flag);
            command.args(outputs.overlay).args(["-MD", "-MT", "unit", "-MF"]).arg(outputs.dependencies);
            command.arg("-o").arg(outputs.bitcode).arg("--").arg(&job.source);
            let Err(failure) = self.run(command, outputs.scratch, started) else { return Ok(()) };
            match without_rejected(&flags, &failure.stderr).filter(|_| failure.is_own()) {
                Some(fewer) => flags = fewer,
                // It may be `#include __FILE__`.
                None if root_flag.is_some() && failure.stderr.contains("file not found") => root_flag = None,
                None => return Err(failure.summary()),
            }
        }
        Err(format!("clang still refuses some flag after {MAX_FLAG_RETRIES} were dropped"))
    }

    /// Bitcode from elsewhere goes through clang too: a broken file may crash LLVM, and then only clang falls.
    fn check_bitcode(&self, job: &BitcodeJob, outputs: Outputs<'_>) -> Result<(), String> {
        let mut command = Command::new(&self.path);
        command.args(OUR_FLAGS).args(["-Wno-override-module", "-x", "ir", "-o"]).arg(outputs.bitcode);
        command.arg("--").arg(&job.path);
        self.run(command, outputs.scratch, Instant::now())
            .map_err(|failure| format!("not bitcode that clang {CLANG_MAJOR} can read: {}", failure.summary()))
    }

    /// All tries for one unit, the first of which began at `started`, share the time of one.
    pub(crate) fn run(&self, mut command: Command, scratch: &Path, started: Instant) -> Result<(), Failure> {
        environment::prepare(&mut command, Some(scratch));
        let time = self.runner.limits.time.saturating_sub(started.elapsed());
        let limits = Limits { time, ..self.runner.limits.clone() };
        let runner = Runner { limits, lifeline: self.runner.lifeline.clone() };
        let finished = runner.run(command).map_err(|error| Failure::to_start(&error))?;
        Failure::of(&finished, &runner.limits).map_or(Ok(()), Err)
    }

    /// Everything about how we call clang that changes what comes out.
    pub(crate) fn fingerprint(&self) -> String {
        let (ours, attributes) = (OUR_FLAGS.join(" "), OWNERSHIP_ATTRIBUTES.join(" "));
        format!("{}\n{}\n{ours}\n{attributes}\n{}", self.version, self.target, environment::fingerprint())
    }

    /// The flag that leaves the project's folder out of `__FILE__`.
    pub(crate) fn root_flag(&self) -> Option<String> {
        self.root.as_ref().map(Root::macro_map)
    }
}

fn ownership_macros() -> impl Iterator<Item = OsString> {
    OWNERSHIP_ATTRIBUTES
        .into_iter()
        .map(|name| format!("-D{name}(...)=annotate(\"{ANNOTATION_PREFIX}{name}(\" #__VA_ARGS__ \")\")").into())
}

/// What a program that is not clang answered, shortened.
fn said(version: &str) -> String {
    const MAX_SHOWN: usize = 80;
    let shown: String = version.chars().filter(|c| !c.is_control()).take(MAX_SHOWN).collect();
    if shown.is_empty() { "its --version prints nothing".to_owned() } else { format!("its --version says {shown:?}") }
}

fn major_version(line: &str) -> Option<u32> {
    let (_, rest) = line.split_once("clang version ")?;
    let digits = rest.split(|c: char| !c.is_ascii_digit()).next()?;
    digits.parse().ok()
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
}
