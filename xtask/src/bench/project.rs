//! What is measured: a name, a database, and the jobs in it as Caulk sees them.

use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};
use caulk_capture::{CompileJob, Job, Request, collect, find_database};

use crate::bench::arguments::Common;
use crate::bench::corpora::{self, Choice, Corpus};
use crate::bench::packages::Packages;
use crate::bench::{database, repository, sources};

#[derive(Debug)]
pub(crate) struct Project {
    pub name: String,
    pub database: PathBuf,
    pub jobs: Vec<CompileJob>,
    /// Lines of each job's source, without headers; in the order of `jobs`.
    pub lines: Vec<usize>,
    /// Ours, for caches and output. Under target/.
    pub folder: PathBuf,
}

impl Project {
    pub(crate) fn total_lines(&self) -> usize {
        self.lines.iter().sum()
    }

    /// A project that has a database.
    pub(crate) fn from_database(name: &str, database: &Path, work: &Path) -> Result<Self> {
        let folder = work.join(name);
        std::fs::create_dir_all(&folder).with_context(|| format!("cannot make {}", folder.display()))?;
        let request = Request { database: Some(database.to_owned()), cwd: folder.clone(), ..Request::default() };
        let list = collect(&request)?;
        let compile = |job| match job {
            Job::Compile(job) => Some(job),
            Job::Bitcode(_) => None,
        };
        let jobs: Vec<CompileJob> = list.jobs.into_iter().filter_map(compile).collect();
        let lines = jobs.iter().map(|job| count_lines(&job.source)).collect::<Result<_>>()?;
        Ok(Self { name: name.to_owned(), database: database.to_owned(), jobs, lines, folder })
    }

    fn from_corpus(corpus: &Corpus, packages: &Packages, work: &Path) -> Result<Self> {
        let folder = work.join(&corpus.name);
        std::fs::create_dir_all(&folder).with_context(|| format!("cannot make {}", folder.display()))?;
        let path = folder.join(caulk_capture::DATABASE_NAME);
        database::write(&path, &sources::commands(corpus, packages, &folder)?)?;
        Self::from_database(&corpus.name, &path, work)
    }

    pub(crate) fn from_folder(folder: &Path, work: &Path) -> Result<Self> {
        let folder = folder.canonicalize().with_context(|| format!("no folder {}", folder.display()))?;
        let Some(name) = folder.file_name() else { bail!("{} has no name", folder.display()) };
        Self::from_database(&name.to_string_lossy(), &find_database(&folder)?, work)
    }
}

/// The projects that were asked for; `usual` are the corpora when nothing is.
pub(crate) fn load(common: &Common, usual: &Choice, work: &Path) -> Result<Vec<Project>> {
    let choice = match common {
        Common { all: true, .. } => Some(Choice::All),
        Common { corpus, .. } if !corpus.is_empty() => Some(Choice::Named(corpus)),
        Common { project, .. } if !project.is_empty() => None,
        _ => Some(usual.clone()),
    };
    chosen(choice.as_ref(), &common.project, work)
}

/// These projects of this machine, and these corpora.
pub(crate) fn named(folders: &[PathBuf], corpora: &[String], work: &Path) -> Result<Vec<Project>> {
    let choice = (!corpora.is_empty()).then_some(Choice::Named(corpora));
    chosen(choice.as_ref(), folders, work)
}

fn chosen(choice: Option<&Choice>, folders: &[PathBuf], work: &Path) -> Result<Vec<Project>> {
    let mut projects = Vec::new();
    if let Some(choice) = choice {
        let bench = repository().join("bench");
        let corpora = corpora::read(&bench.join("corpora.toml"))?;
        let packages = Packages::fetch(&bench.join("corpora/Cargo.toml"))?;
        for corpus in corpora::choose(&corpora, choice)? {
            projects.push(Project::from_corpus(corpus, &packages, work)?);
        }
    }
    for folder in folders {
        projects.push(Project::from_folder(folder, work)?);
    }
    Ok(projects)
}

fn count_lines(path: &Path) -> Result<usize> {
    let bytes = std::fs::read(path).with_context(|| format!("cannot read {}", path.display()))?;
    Ok(bytes.iter().filter(|byte| **byte == b'\n').count())
}
