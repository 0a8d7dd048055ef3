//! cppcheck, over the same jobs.

use std::collections::BTreeSet;
use std::fs::File;
use std::process::{Command, Stdio};
use std::time::Instant;

use anyhow::{Context, Result, ensure};

use super::{Sample, Setting, Tool};
use crate::bench::database;
use crate::bench::project::Project;
use crate::bench::usage::{self, Watch};

/// What cppcheck calls the leaks of memory it finds; leaks of files (`resourceLeak`) are another matter.
const LEAKS: [&str; 5] =
    ["memleak", "memleakOnRealloc", "leakNoVarFunctionCall", "leakReturnValNotUsed", "leakUnsafeArgAlloc"];

#[derive(Debug)]
pub(crate) struct Cppcheck;

impl Tool for Cppcheck {
    fn name(&self) -> String {
        "cppcheck".to_owned()
    }

    /// The database it reads has the jobs that Caulk reads: each source once.
    fn prepare(&mut self, project: &Project, _setting: &Setting) -> Result<()> {
        let folder = project.folder.join("cppcheck");
        std::fs::create_dir_all(&folder)?;
        let commands: Vec<_> = project.jobs.iter().map(database::Command::from).collect();
        database::write(&folder.join(caulk_capture::DATABASE_NAME), &commands)
    }

    fn run(&self, project: &Project, setting: &Setting) -> Result<Sample> {
        let folder = project.folder.join("cppcheck");
        let messages = folder.join("stderr");
        let mut project_flag = std::ffi::OsString::from("--project=");
        project_flag.push(folder.join(caulk_capture::DATABASE_NAME));
        let mut command = Command::new("cppcheck");
        command.arg(project_flag).arg(format!("-j{}", setting.jobs));
        command.args(["--quiet", "--template={file}:{line}:{id}"]);
        command.env("LC_ALL", "C").stdin(Stdio::null()).stdout(Stdio::null()).stderr(File::create(&messages)?);
        let deadline = setting.peer_limit.map(|limit| Instant::now() + limit);
        let watch = Watch { own_memory: false, deadline };
        let (status, usage) = usage::run(&mut command, watch).context("cannot run cppcheck")?;
        let is_cut_off = deadline.is_some_and(|deadline| Instant::now() >= deadline);
        let said = String::from_utf8_lossy(&std::fs::read(&messages)?).into_owned();
        ensure!(status.success() || is_cut_off, "cppcheck failed ({status}) on {}:\n{said}", project.name);
        Ok(Sample { usage, leaks: Some(find_leaks(&said).len()), failed_units: failed_units(&said), is_cut_off })
    }
}

fn find_leaks(said: &str) -> BTreeSet<&str> {
    let leak = |line: &&str| line.rsplit_once(':').is_some_and(|(_, id)| LEAKS.contains(&id));
    said.lines().filter(leak).collect()
}

/// Files it gave up: syntax it does not know, a crash, an error of its own.
fn failed_units(said: &str) -> usize {
    const GIVEN_UP: [&str; 5] =
        ["syntaxError", "internalAstError", "internalError", "cppcheckError", "preprocessorErrorDirective"];
    let file = |line: &str| {
        let (place, id) = line.rsplit_once(':')?;
        let (file, _) = place.rsplit_once(':')?;
        GIVEN_UP.contains(&id).then(|| file.to_owned())
    };
    said.lines().filter_map(file).collect::<BTreeSet<_>>().len()
}

#[cfg(test)]
mod tests {
    use super::*;

    const SAID: &str = "\
src/a.c:12:memleak
src/a.c:12:memleak
src/a.c:30:memleakOnRealloc
src/a.c:31:resourceLeak
src/b.c:7:nullPointer
src/b.c:9:syntaxError
nofile:0:information
";

    #[test]
    fn leaks_are_told_from_the_rest() {
        assert_eq!(find_leaks(SAID), ["src/a.c:12:memleak", "src/a.c:30:memleakOnRealloc"].into());
    }

    #[test]
    fn files_given_up_count_once() {
        assert_eq!(failed_units(SAID), 1);
    }
}
