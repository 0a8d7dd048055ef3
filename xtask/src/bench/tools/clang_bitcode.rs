//! clang alone, making the bitcode that Caulk reads: the measure of all others.

use std::process::{Command, Stdio};

use anyhow::Result;
use caulk_capture::{CompileJob, without_rejected};

use super::{Sample, Setting, Tool};
use crate::bench::clang_flags::ClangFlags;
use crate::bench::project::Project;
use crate::bench::side_by_side;

/// As many flags as Caulk drops of a job before it gives up.
const MAX_FLAG_RETRIES: usize = 64;

#[derive(Debug, Clone)]
pub(crate) struct ClangBitcode {
    flags: ClangFlags,
    /// The flags of each job of the project, without those clang does not know. Caulk finds that out by trying; clang
    /// alone, in a build of its own, would never see them.
    jobs: Vec<Vec<String>>,
}

impl ClangBitcode {
    pub(crate) fn new(flags: ClangFlags) -> Self {
        Self { flags, jobs: Vec::new() }
    }

    /// Compiles every job into `folder`.
    pub(crate) fn compile(&self, project: &Project, setting: &Setting, folder: &std::path::Path) -> Result<Sample> {
        let command = |unit: usize| {
            let mut command = self.command(&project.jobs[unit], &self.jobs[unit], setting);
            command.arg("-o").arg(folder.join(format!("{unit}.bc"))).arg("--").arg(&project.jobs[unit].source);
            command
        };
        let finished = side_by_side::run(project.jobs.len(), setting.jobs, folder, None, &command)?;
        let failed_units = finished.failed_units();
        Ok(Sample { usage: finished.usage, leaks: None, failed_units, is_cut_off: false })
    }

    fn command(&self, job: &CompileJob, flags: &[String], setting: &Setting) -> Command {
        let mut command = Command::new(&setting.clang);
        command.current_dir(&job.directory).args(&self.flags.before).args(flags).args(&self.flags.after);
        command
    }

    fn without_unknown_flags(&self, job: &CompileJob, setting: &Setting) -> Result<Vec<String>> {
        let mut flags = job.flags.clone();
        for _ in 0..MAX_FLAG_RETRIES {
            let mut command = self.command(job, &flags, setting);
            command.args(["-o", "/dev/null", "--"]).arg(&job.source);
            let output = command.env("LC_ALL", "C").stdin(Stdio::null()).output()?;
            match without_rejected(&flags, &String::from_utf8_lossy(&output.stderr)) {
                Some(fewer) if !output.status.success() => flags = fewer,
                _ => break,
            }
        }
        Ok(flags)
    }
}

impl Tool for ClangBitcode {
    fn name(&self) -> String {
        "clang, bitcode only".to_owned()
    }

    /// Also brings every file into the system's cache, so that the first run is like the others.
    fn prepare(&mut self, project: &Project, setting: &Setting) -> Result<()> {
        self.jobs = project.jobs.iter().map(|job| job.flags.clone()).collect();
        let folder = tempfile::tempdir()?;
        let command = |unit: usize| {
            let mut command = self.command(&project.jobs[unit], &self.jobs[unit], setting);
            command.args(["-o", "/dev/null", "--"]).arg(&project.jobs[unit].source);
            command
        };
        let finished = side_by_side::run(project.jobs.len(), setting.jobs, folder.path(), None, &command)?;
        for (unit, _) in finished.succeeded.iter().enumerate().filter(|(_, done)| !**done) {
            self.jobs[unit] = self.without_unknown_flags(&project.jobs[unit], setting)?;
        }
        Ok(())
    }

    fn run(&self, project: &Project, setting: &Setting) -> Result<Sample> {
        // Where Caulk has its own temporary files, so that both write to the same file system.
        let folder = tempfile::tempdir()?;
        self.compile(project, setting, folder.path())
    }
}
