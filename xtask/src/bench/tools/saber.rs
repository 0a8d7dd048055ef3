//! SVF's saber, if it is there: it reads one linked bitcode file, which is made for it.

use std::fs::File;
use std::process::{Command, Stdio};
use std::time::Instant;

use anyhow::{Context, Result, ensure};

use super::{ClangBitcode, Sample, Setting, Tool};
use crate::bench::machine::first_line;
use crate::bench::project::Project;
use crate::bench::usage::{self, Watch};

const LINKERS: [&str; 2] = ["llvm-link-19", "llvm-link"];

#[derive(Debug)]
pub(crate) struct Saber {
    bitcode: ClangBitcode,
    linker: &'static str,
}

impl Saber {
    pub(crate) fn find(bitcode: &ClangBitcode) -> Option<Self> {
        // Its own exit status for --help differs between releases; that it starts is enough.
        Command::new("saber").arg("--help").stdout(Stdio::null()).stderr(Stdio::null()).status().ok()?;
        let linker = LINKERS.into_iter().find(|linker| first_line(linker, &["--version"]).is_some())?;
        Some(Self { bitcode: bitcode.clone(), linker })
    }
}

impl Tool for Saber {
    fn name(&self) -> String {
        "saber -leak".to_owned()
    }

    fn prepare(&mut self, project: &Project, setting: &Setting) -> Result<()> {
        self.bitcode.prepare(project, setting)
    }

    /// Compiling and linking are part of it: a user of saber pays for them.
    fn run(&self, project: &Project, setting: &Setting) -> Result<Sample> {
        let folder = tempfile::tempdir()?;
        let compiled = self.bitcode.compile(project, setting, folder.path())?;
        let linked = folder.path().join("linked.bc");
        let units = (0..project.jobs.len()).map(|unit| folder.path().join(format!("{unit}.bc")));
        let mut link = Command::new(self.linker);
        link.arg("-o").arg(&linked).args(units.filter(|path| path.exists())).stderr(Stdio::null());
        let (status, linking) = usage::run(&mut link, Watch::default()).context("cannot run llvm-link")?;
        ensure!(status.success(), "{} could not link {} ({status})", self.linker, project.name);
        let messages = folder.path().join("saber.output");
        let output = File::create(&messages)?;
        let mut saber = Command::new("saber");
        saber.arg("-leak").arg(&linked).stdin(Stdio::null()).stdout(output.try_clone()?).stderr(output);
        let deadline = setting.peer_limit.map(|limit| Instant::now() + limit);
        let watch = Watch { own_memory: false, deadline };
        let (status, analysing) = usage::run(&mut saber, watch).context("cannot run saber")?;
        let is_cut_off = deadline.is_some_and(|deadline| Instant::now() >= deadline);
        ensure!(status.success() || is_cut_off, "saber failed on {} ({status})", project.name);
        let said = String::from_utf8_lossy(&std::fs::read(&messages)?).into_owned();
        let usage = compiled.usage.then(linking).then(analysing);
        Ok(Sample { usage, leaks: Some(count_leaks(&said)), failed_units: compiled.failed_units, is_cut_off })
    }
}

fn count_leaks(said: &str) -> usize {
    said.lines().filter(|line| line.contains("NeverFree :") || line.contains("PartialLeak :")).count()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_kinds_of_leaks_count() {
        let said = "\t NeverFree : memory allocation at : ({ \"ln\": 4, \"cl\": 13, \"fl\": \"a.c\" })\n\
                    \t PartialLeak : memory allocation at : ({ \"ln\": 9, \"cl\": 13, \"fl\": \"a.c\" })\n\
                    \t\t conditional free path: \n";
        assert_eq!(count_leaks(said), 2);
    }
}
