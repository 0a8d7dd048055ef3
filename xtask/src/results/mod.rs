//! `results`: all measures in one run, and `bench/RESULTS.md` from what they say.

mod arguments;
mod block;
mod document;
mod measure;
mod plan;
mod record;
#[cfg(test)]
mod sample;
mod store;
mod summary;
mod words;

use std::path::Path;

use anyhow::{Context, Result, ensure};

pub(crate) use arguments::Results;

use crate::bench::project::Project;
use crate::bench::{Ground, build, repository};
use crate::verdicts;
use measure::{Bench, Source};
use record::Record;
use store::Store;

pub(crate) fn run(arguments: &Results) -> Result<()> {
    let target = build::target_folder()?;
    let folder = arguments.folder.clone().unwrap_or_else(|| target.join("bench/results"));
    let names = verdicts::projects()?;
    let store = Store::open(&folder)?;
    if !arguments.write {
        let projects = sources(arguments, &names, &target.join("bench"))?;
        let jobs = measure::common(arguments).jobs();
        let all: Vec<&Project> = projects.iter().map(|source| &source.project).collect();
        eprint!("{}", plan::print(&plan::estimate(arguments, &all, jobs)));
        if arguments.plan {
            return Ok(());
        }
        if arguments.fresh {
            store.clear()?;
        }
        let ground = Ground::lay(&measure::common(arguments))?;
        Bench { arguments, store: &store, ground, projects }.run()?;
    }
    write(&Record::read(&store, &names)?)
}

/// The projects that are there, of those with verdicts.
fn sources(arguments: &Results, names: &[String], work: &Path) -> Result<Vec<Source>> {
    let Some(root) = &arguments.projects else { return Ok(Vec::new()) };
    let root = root.canonicalize().with_context(|| format!("there is no {}", root.display()))?;
    let mut sources = Vec::new();
    for name in names {
        let folder = root.join(name);
        if folder.is_dir() {
            let project = Project::from_folder(&folder, work)?;
            sources.push(Source { folder, project });
        }
    }
    ensure!(!sources.is_empty(), "{} has none of {}", root.display(), names.join(", "));
    Ok(sources)
}

fn write(record: &Record) -> Result<()> {
    let root = repository();
    let bench = root.join("bench");
    let read = |path: &Path| std::fs::read_to_string(path).with_context(|| format!("cannot read {}", path.display()));
    let put = |path: &Path, text: String| {
        std::fs::write(path, text).with_context(|| format!("cannot write {}", path.display()))
    };
    let block = summary::block(record);
    let readme = root.join("README.md");
    let new_readme = block::replace(&read(&readme)?, &block).with_context(|| format!("in {}", readme.display()))?;
    put(&bench.join("RESULTS.md"), document::render(record, &block, &read(&bench.join("GAPS.md"))?))?;
    put(&readme, new_readme)?;
    if let Some(growth) = &record.growth {
        put(&bench.join("growth.svg"), growth.draw())?;
    }
    println!("written: bench/RESULTS.md and the table of README.md");
    Ok(())
}
