//! The fixed workloads: what is in this repository, or made from a seed.

use std::path::{Path, PathBuf};

use anyhow::{Context, Result};

use super::{cases, generated};
use crate::bench::repository;

/// Large enough that start-up does not hide the analysis, small enough for a coffee under callgrind.
const GENERATED: generated::Shape =
    generated::Shape { units: 12, functions_per_unit: 20, max_statements: 12, seed: 20_260_501 };

/// A run of Caulk whose instructions are counted.
#[derive(Debug)]
pub(crate) struct Workload {
    pub name: &'static str,
    pub command: &'static str,
    pub sources: Vec<PathBuf>,
    /// Reads what a run before has kept; otherwise everything is lowered again.
    pub is_warm: bool,
    /// Of all the text that is analysed.
    pub hash: String,
}

/// All of them, with their files in place. `folder` takes those that are made.
pub(crate) fn prepare(folder: &Path) -> Result<Vec<Workload>> {
    let root = repository();
    let example = write(&folder.join("example"), existing(&root.join("examples/logsum"))?)?;
    let routines = write(&folder.join("routines"), existing(&root.join("tests/prove"))?)?;
    let program = write(&folder.join("program"), generated::files(GENERATED))?;
    let cases = write(&folder.join("cases"), cases::files(&root.join("tests/cases"))?)?;
    let workload = |name, command, is_warm, files: &Files| Workload {
        name,
        command,
        sources: files.sources.clone(),
        is_warm,
        hash: files.hash.clone(),
    };
    Ok(vec![
        workload("example-cold", "check", false, &example),
        workload("example-warm", "check", true, &example),
        workload("program-cold", "check", false, &program),
        workload("program-warm", "check", true, &program),
        workload("cases-warm", "check", true, &cases),
        workload("routines-prove", "prove", true, &routines),
    ])
}

#[derive(Debug)]
struct Files {
    sources: Vec<PathBuf>,
    hash: String,
}

/// Sources and headers of a folder of this repository. They are copied, so that their place relative to where Caulk runs is
/// the same for everyone.
fn existing(folder: &Path) -> Result<Vec<(String, String)>> {
    let entries = std::fs::read_dir(folder).with_context(|| format!("cannot list {}", folder.display()))?;
    let mut paths = entries.map(|entry| Ok(entry?.path())).collect::<Result<Vec<_>>>()?;
    paths.retain(|path| is_source(path) || path.extension().is_some_and(|e| e == "h"));
    paths.sort();
    let read = |path: &PathBuf| {
        let text = std::fs::read_to_string(path).with_context(|| format!("cannot read {}", path.display()))?;
        Ok((path.file_name().unwrap_or_default().to_string_lossy().into_owned(), text))
    };
    paths.iter().map(read).collect()
}

fn write(folder: &Path, files: Vec<(String, String)>) -> Result<Files> {
    if folder.exists() {
        std::fs::remove_dir_all(folder).with_context(|| format!("cannot empty {}", folder.display()))?;
    }
    for (name, text) in &files {
        let path = folder.join(name);
        std::fs::create_dir_all(path.parent().unwrap_or(folder))?;
        std::fs::write(&path, text).with_context(|| format!("cannot write {}", path.display()))?;
    }
    let sources = files.iter().map(|(name, _)| folder.join(name)).filter(|path| is_source(path)).collect();
    Ok(Files { sources, hash: hash(files.iter().map(|(_, text)| text.as_str())) })
}

fn is_source(path: &Path) -> bool {
    path.extension().is_some_and(|e| e == "c" || e == "cpp")
}

fn hash<'a>(texts: impl Iterator<Item = &'a str>) -> String {
    let mut hash = blake3::Hasher::new();
    for text in texts {
        hash.update(text.as_bytes());
        hash.update(&[0]);
    }
    hash.finalize().to_hex()[..16].to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_workload_has_sources_and_its_own_name() {
        let folder = tempfile::tempdir().unwrap();
        let workloads = prepare(folder.path()).unwrap();
        let mut names: Vec<&str> = workloads.iter().map(|w| w.name).collect();
        names.dedup();
        assert_eq!(names.len(), workloads.len());
        assert!(workloads.iter().all(|w| !w.sources.is_empty() && w.sources.iter().all(|path| path.is_file())));
        let again = prepare(folder.path()).unwrap();
        assert!(workloads.iter().zip(&again).all(|(one, other)| one.hash == other.hash));
    }
}
