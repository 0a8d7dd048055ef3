//! A harness that is kept: its sources, its plan, and a script that builds and runs it.

use std::ffi::{OsStr, OsString};
use std::io;
use std::path::Path;

use caulk_files::Folder;

use crate::build::{Builder, Built, HOME_ASSEMBLY};
use crate::plan::Plan;
use crate::run::{OPTIONS, PLAN};

const SCRIPT: &str = "run.sh";

impl Builder<'_> {
    /// Writes a harness and the plan of one run to a folder.
    pub fn keep(&self, built: &Built, plan: &Plan, to: &Folder) -> io::Result<()> {
        for (name, text) in [("runtime.c", built.runtime()), ("harness.c", &built.source)] {
            to.write(OsStr::new(name), &[text.as_bytes()])?;
        }
        if let Some(redirected) = &built.assembly {
            to.write(OsStr::new(HOME_ASSEMBLY), &[redirected.assembly.as_bytes()])?;
        }
        to.write(OsStr::new(PLAN), &[plan.text().as_bytes()])?;
        to.write(OsStr::new(SCRIPT), &[self.script(built).as_bytes()])
    }

    /// `sh run.sh`, from any folder.
    fn script(&self, built: &Built) -> String {
        let mut text = String::from(
            "#!/bin/sh\n# Made by Caulk: builds the harness and runs it. This runs code of the project, without a sandbox.\nset -eu\n",
        );
        text.push_str("here=$(cd \"$(dirname \"$0\")\" && pwd)\n");
        for unit in &built.units {
            let Some(job) = self.job(*unit) else { continue };
            let words = self.clang().object_command(job);
            text += &format!(
                "(cd {} && {} -o \"$here/unit-{unit}.o\" -- {})\n",
                quoted(&job.directory),
                joined(&words),
                quoted(&job.source)
            );
        }
        text.push_str("cd \"$here\"\n");
        let clang = quoted(Path::new(self.clang().program()));
        // Calls in the function are redirected there; else it is what was just compiled.
        if built.assembly.is_some() {
            text += &format!("{clang} -w -c {HOME_ASSEMBLY} -o unit-{}.o\n", built.home);
        }
        text += &format!("objcopy {} unit-{}.o home.o\n", joined(&built.visible), built.home);
        text += &format!("{clang} -w -g1 -fno-omit-frame-pointer {}\n", joined(&built.compile));
        text += &format!("{clang} -w -g1 -fno-omit-frame-pointer {}\n", joined(&names(&built.link)));
        let options = OPTIONS.replace("symbolize=0:", "");
        text + &format!("LSAN_OPTIONS={options} exec ./harness {PLAN}\n")
    }
}

fn quoted(path: &Path) -> String {
    shell_words::quote(&path.to_string_lossy()).into_owned()
}

fn joined(words: &[OsString]) -> String {
    let word = |word: &OsString| shell_words::quote(&word.to_string_lossy()).into_owned();
    words.iter().map(word).collect::<Vec<_>>().join(" ")
}

/// Objects without their temporary folder.
fn names(words: &[OsString]) -> Vec<OsString> {
    let name = |word: &OsString| match Path::new(word) {
        path if path.is_absolute() => path.file_name().unwrap_or(word).to_owned(),
        _ => word.clone(),
    };
    words.iter().map(name).collect()
}
