//! A corpus made into compile commands: globs expanded, paths absolute, small headers written.

use std::path::{Path, PathBuf};

use anyhow::{Context, Result, ensure};
use globset::{GlobBuilder, GlobSet, GlobSetBuilder};

use crate::bench::corpora::Corpus;
use crate::bench::database::Command;
use crate::bench::packages::Packages;

/// The commands that compile `corpus`. `folder` takes the headers that its own build would have made.
pub(crate) fn commands(corpus: &Corpus, packages: &Packages, folder: &Path) -> Result<Vec<Command>> {
    let root = packages.exactly(&corpus.package, &corpus.version)?.join(&corpus.folder);
    let mut flags = Vec::new();
    if !corpus.headers.is_empty() {
        let generated = folder.join("include");
        write_headers(corpus, &generated)?;
        flags.push(format!("-I{}", generated.display()));
    }
    for include in &corpus.include {
        flags.push(format!("-I{}", include_folder(include, &root, packages)?.display()));
    }
    flags.extend(corpus.defines.iter().map(|define| format!("-D{define}")));
    flags.extend(corpus.flags.iter().cloned());
    let files = find_files(corpus, &root)?;
    Ok(files.into_iter().map(|file| Command { directory: root.clone(), file, flags: flags.clone() }).collect())
}

fn write_headers(corpus: &Corpus, folder: &Path) -> Result<()> {
    for (name, text) in &corpus.headers {
        let path = folder.join(name);
        std::fs::create_dir_all(path.parent().unwrap_or(folder))?;
        std::fs::write(&path, text).with_context(|| format!("cannot write {}", path.display()))?;
    }
    Ok(())
}

fn include_folder(include: &str, root: &Path, packages: &Packages) -> Result<PathBuf> {
    Ok(match include.split_once(':') {
        Some((package, path)) => packages.any(package)?.join(path),
        None if include == "." => root.to_owned(),
        None => root.join(include),
    })
}

/// The sources in the order of their paths, so that every machine compiles the same list.
fn find_files(corpus: &Corpus, root: &Path) -> Result<Vec<PathBuf>> {
    let exclude = globs(&corpus.exclude)?;
    let mut all = Vec::new();
    walk(root, &mut all).with_context(|| format!("cannot list {}", root.display()))?;
    let relative = |path: &PathBuf| path.strip_prefix(root).map(Path::to_owned).unwrap_or_default();
    for pattern in &corpus.files {
        let glob = globs(std::slice::from_ref(pattern))?;
        ensure!(all.iter().any(|path| glob.is_match(relative(path))), "{}: no file matches {pattern}", corpus.name);
    }
    let wanted = globs(&corpus.files)?;
    all.retain(|path| wanted.is_match(relative(path)) && !exclude.is_match(relative(path)));
    all.sort();
    Ok(all)
}

fn globs(patterns: &[String]) -> Result<GlobSet> {
    let mut set = GlobSetBuilder::new();
    for pattern in patterns {
        set.add(GlobBuilder::new(pattern).literal_separator(true).build()?);
    }
    Ok(set.build()?)
}

fn walk(folder: &Path, files: &mut Vec<PathBuf>) -> std::io::Result<()> {
    for entry in std::fs::read_dir(folder)? {
        let entry = entry?;
        if entry.file_type()?.is_dir() {
            walk(&entry.path(), files)?;
        } else {
            files.push(entry.path());
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bench::corpora;

    #[test]
    fn globs_stay_within_a_folder_and_excludes_win() {
        let folder = tempfile::tempdir().unwrap();
        for name in ["a.c", "b.c", "a.h", "sub/c.c", "sub/deep/d.c"] {
            let path = folder.path().join(name);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, "").unwrap();
        }
        let find = |files: &str, exclude: &str| {
            let text =
                format!("[[corpus]]\nname='x'\ncrate='x'\nversion='1'\nfolder='.'\nfiles={files}\nexclude={exclude}");
            let corpus = corpora::parse(&text).unwrap().remove(0);
            find_files(&corpus, folder.path())
                .map(|found| {
                    found.iter().map(|p| p.strip_prefix(folder.path()).unwrap().display().to_string()).collect()
                })
                .map_err(|error| error.to_string())
        };
        assert_eq!(find("['*.c']", "['b.c']"), Ok(vec!["a.c".to_owned()]));
        assert_eq!(find("['**/*.c']", "['**/deep/*']"), Ok(vec!["a.c".into(), "b.c".into(), "sub/c.c".into()]));
        assert_eq!(find("['a.c', 'gone.c']", "[]"), Err("x: no file matches gone.c".to_owned()));
    }
}
