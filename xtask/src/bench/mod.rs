//! `bench`: what Caulk costs, next to clang alone and to its peers, all in one run.

pub(crate) mod arguments;
pub(crate) mod build;
mod clang_flags;
mod corpora;
pub(crate) mod database;
pub(crate) mod growth;
pub(crate) mod machine;
pub(crate) mod measure;
mod packages;
pub(crate) mod project;
pub(crate) mod report;
pub(crate) mod side_by_side;
#[cfg(test)]
mod smoke;
mod sources;
pub(crate) mod tools;
pub(crate) mod usage;

use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::Result;

use arguments::{Bench, CaulkCommand, Common, Other};
use clang_flags::ClangFlags;
use corpora::Choice;
use measure::{Entry, measure};
use report::{Form, Header, Report, write_json};
use tools::{CacheUse, Caulk, ClangBitcode, Setting};

/// What every measure starts from.
#[derive(Debug)]
pub(crate) struct Ground {
    pub caulk: PathBuf,
    command: CaulkCommand,
    pub bitcode: ClangBitcode,
    pub setting: Setting,
    /// For all that is written: never in the repository's own folders.
    pub work: PathBuf,
}

impl Ground {
    pub(crate) fn lay(common: &Common) -> Result<Self> {
        let target = build::target_folder()?;
        let caulk = build::given_or_built(common.caulk.as_deref(), &target)?;
        let work = target.join("bench");
        let flags = ClangFlags::learn(&caulk, common.command.name(), &common.clang, &work.join("probe"))?;
        Ok(Self {
            caulk,
            command: common.command,
            bitcode: ClangBitcode::new(flags),
            setting: Setting { jobs: common.jobs(), clang: common.clang.clone(), peer_limit: None },
            work,
        })
    }

    pub(crate) fn header(&self) -> Header {
        Header::new(self.setting.jobs, &self.caulk, &self.setting.clang)
    }

    /// clang alone, and Caulk with these uses of its cache.
    pub(crate) fn entries(&self, runs: usize, caches: &[CacheUse]) -> Vec<Entry> {
        let mut entries = vec![Entry { tool: Box::new(self.bitcode.clone()), runs }];
        entries.extend(caches.iter().map(|&cache| {
            let caulk = Caulk { path: self.caulk.clone(), command: self.command, cache };
            Entry { tool: Box::new(caulk), runs }
        }));
        entries
    }
}

pub(crate) fn run(arguments: &Bench) -> Result<()> {
    if let Some(Other::Growth(arguments)) = &arguments.other {
        return growth::run(arguments);
    }
    let common = &arguments.common;
    let mut ground = Ground::lay(common)?;
    ground.setting.peer_limit = Some(Duration::from_secs(arguments.peer_limit));
    let mut header = ground.header();
    let mut entries = ground.entries(arguments.runs.get(), &[CacheUse::None, CacheUse::Fresh, CacheUse::Warm]);
    if arguments.peers {
        for (tool, version) in tools::installed(&ground.bitcode, &ground.setting.clang) {
            entries.push(Entry { tool, runs: arguments.peer_runs.get() });
            if !header.versions.contains(&version) {
                header.versions.push(version);
            }
        }
    }
    let mut report = Report { header, projects: Vec::new() };
    for project in project::load(common, &Choice::Usual, &ground.work)? {
        report.projects.push(measure(&project, &mut entries, &ground.setting)?);
    }
    let form = if arguments.markdown { Form::Markdown } else { Form::Text };
    print!("{}", report.print(form));
    common.json.as_ref().map_or(Ok(()), |path| write_json(path, &report))
}

/// The root of this repository: chores are run where they were built.
pub(crate) fn repository() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().expect("xtask lies in the repository")
}
