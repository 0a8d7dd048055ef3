//! Programs that can be run: units compiled to object files, and linked with LeakSanitizer. Only `caulk prove-leak` asks for them.

use std::ffi::{OsStr, OsString};
use std::path::Path;
use std::process::Command;
use std::time::Instant;

use caulk_capture::{CompileJob, without_rejected};
use caulk_process::Runner;

use crate::clang::{Clang, MAX_FLAG_RETRIES};
use crate::environment;
use crate::failure::Failure;

/// After the flags of the project, so that ours win. Stacks must be complete and lines exact, and what is never called must not need
/// to be linked. What the build asked of an optimiser or a sanitizer is taken back.
const OBJECT_FLAGS: [&str; 19] = [
    "--no-default-config",
    "-O0",
    "-g1",
    "-fno-omit-frame-pointer",
    "-fasynchronous-unwind-tables",
    "-ffunction-sections",
    "-fdata-sections",
    "-fPIC",
    "-fno-lto",
    "-fno-sanitize=all",
    "-fno-common",
    "-U_FORTIFY_SOURCE",
    "-w",
    "-Wno-error=implicit-function-declaration",
    "-Wno-error=implicit-int",
    "-Wno-error=int-conversion",
    "-Wno-error=incompatible-function-pointer-types",
    "-fno-crash-diagnostics",
    "-Qunused-arguments",
];

impl Clang {
    /// Compiles a unit to an object file. The error is what clang said, in a line.
    pub fn object(&self, job: &CompileJob, to: &Path, scratch: &Path) -> Result<(), String> {
        self.compiled("-c", job, to, scratch)
    }

    /// Compiles a unit to assembly, which [`Clang::assemble`] makes into the object that [`Clang::object`] would make.
    pub fn assembly(&self, job: &CompileJob, to: &Path, scratch: &Path) -> Result<(), String> {
        self.compiled("-S", job, to, scratch)
    }

    fn compiled(&self, stage: &str, job: &CompileJob, to: &Path, scratch: &Path) -> Result<(), String> {
        let mut flags = job.flags.clone();
        let started = Instant::now();
        for _ in 0..MAX_FLAG_RETRIES {
            let mut command = Command::new(self.path());
            command.current_dir(&job.directory).args(&flags).args(OBJECT_FLAGS).arg(stage);
            command.arg("-o").arg(to).arg("--").arg(&job.source);
            let Err(failure) = self.run(command, scratch, started) else { return Ok(()) };
            match without_rejected(&flags, &failure.stderr).filter(|_| failure.is_own()) {
                Some(fewer) => flags = fewer,
                None => return Err(failure.summary()),
            }
        }
        Err(format!("clang still refuses some flag after {MAX_FLAG_RETRIES} were dropped"))
    }

    /// The words that compile a unit so, without those for its output and its source.
    pub fn object_command(&self, job: &CompileJob) -> Vec<OsString> {
        let flags = job.flags.iter().map(OsString::from).chain(OBJECT_FLAGS.iter().map(OsString::from));
        std::iter::once(self.path().into()).chain(flags).chain(["-c".into()]).collect()
    }

    /// Assembles a file. It has its own debug information, so none is asked for.
    pub fn assemble(&self, from: &OsStr, to: &OsStr, folder: &Path, runner: &Runner) -> Result<(), String> {
        let mut command = Command::new(self.path());
        command.current_dir(folder).args(["--no-default-config", "-w", "-c", "-o"]).arg(to).arg("--").arg(from);
        environment::prepare(&mut command, Some(folder));
        let finished = runner.run(command).map_err(|error| format!("clang could not be run ({error})"))?;
        Failure::of(&finished, &runner.limits).map_or(Ok(()), |failure| Err(failure.summary()))
    }

    /// Compiles and links what is Caulk's own: sources in C, object files and flags. The error is all that was said.
    pub fn build(&self, arguments: &[OsString], folder: &Path, runner: &Runner) -> Result<(), String> {
        let mut command = Command::new(self.path());
        command
            .current_dir(folder)
            .args(["--no-default-config", "-w", "-g1", "-fno-omit-frame-pointer"])
            .args(arguments);
        environment::prepare(&mut command, Some(folder));
        let finished = runner.run(command).map_err(|error| format!("clang could not be run ({error})"))?;
        match Failure::of(&finished, &runner.limits) {
            None => Ok(()),
            Some(failure) if failure.is_own() => Err(failure.stderr),
            Some(failure) => Err(failure.summary()),
        }
    }

    /// The linker's flag for LeakSanitizer.
    pub const LEAK_SANITIZER: &'static str = "-fsanitize=leak";

    /// The program itself.
    pub fn program(&self) -> &OsStr {
        self.path().as_os_str()
    }
}
