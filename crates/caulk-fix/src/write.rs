//! Writes changed files: all of them or none as far as that can be known before, each in one step, and none that was changed by
//! another program since it was read.

use std::collections::BTreeMap;
use std::io;
use std::path::{Path, PathBuf};

use caulk_files::Destination;
use caulk_report::source::Sources;

#[derive(Debug, thiserror::Error)]
pub enum WriteError {
    #[error("{0} has changed since it was read; nothing was written: run `caulk fix` again")]
    Changed(String),
    #[error("{0} is not below the project's folder; nothing was written")]
    Outside(String),
    #[error("cannot write {path}: {source}")]
    Write { path: String, source: io::Error },
}

/// Writes texts to the files below `root` that they are made from.
pub fn write(
    root: &Path,
    sources: &Sources,
    texts: &BTreeMap<String, Vec<u8>>,
    max_bytes: u64,
) -> Result<(), WriteError> {
    let failed = |file: &str, source: io::Error| WriteError::Write { path: file.to_owned(), source };
    for file in texts.keys() {
        if !is_below(file) {
            return Err(WriteError::Outside(file.clone()));
        }
        let now = caulk_files::read(&root.join(file), max_bytes).map_err(|e| failed(file, e))?;
        let read = sources.get(file).ok_or_else(|| WriteError::Changed(file.clone()))?;
        if now != read.bytes() {
            return Err(WriteError::Changed(file.clone()));
        }
        place(root, file).check().map_err(|e| failed(file, e))?;
    }
    for (file, text) in texts {
        let path = root.join(file);
        let kept = std::fs::metadata(&path).map_err(|e| failed(file, e))?.permissions();
        place(root, file).write(text).map_err(|e| failed(file, e))?;
        std::fs::set_permissions(&path, kept).map_err(|e| failed(file, e))?;
    }
    Ok(())
}

/// No link on the way is followed: what a project names is written below its folder.
fn place(root: &Path, file: &str) -> Destination {
    Destination::below(root, PathBuf::from(file))
}

fn is_below(file: &str) -> bool {
    let path = Path::new(file);
    path.components().all(|part| matches!(part, std::path::Component::Normal(_)))
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt;

    use super::*;

    #[test]
    fn a_file_that_was_changed_since_is_left_alone_and_so_are_the_others() {
        let folder = tempfile::tempdir().expect("a temporary folder can be made");
        let path = |name: &str| folder.path().join(name);
        for name in ["a.c", "b.c"] {
            std::fs::write(path(name), "old\n").expect("writable");
        }
        let sources = Sources::new(folder.path(), 100);
        let texts: BTreeMap<String, Vec<u8>> =
            ["a.c", "b.c"].map(|name| (name.to_owned(), b"new\n".to_vec())).into_iter().collect();
        assert!(sources.get("a.c").is_some() && sources.get("b.c").is_some());
        std::fs::write(path("b.c"), "mine\n").expect("writable");
        let error = write(folder.path(), &sources, &texts, 100).expect_err("b.c was changed");
        assert!(matches!(&error, WriteError::Changed(file) if file == "b.c"), "{error}");
        assert_eq!(std::fs::read(path("a.c")).expect("readable"), b"old\n");
        std::fs::write(path("b.c"), "old\n").expect("writable");
        std::fs::set_permissions(path("a.c"), std::fs::Permissions::from_mode(0o755)).expect("allowed");
        write(folder.path(), &sources, &texts, 100).expect("both are as they were read");
        assert_eq!(std::fs::read(path("a.c")).expect("readable"), b"new\n");
        assert_eq!(std::fs::metadata(path("a.c")).expect("there").permissions().mode() & 0o777, 0o755);
    }

    #[test]
    fn nothing_is_written_outside_of_the_project() {
        let folder = tempfile::tempdir().expect("a temporary folder can be made");
        let sources = Sources::new(folder.path(), 100);
        for file in ["/etc/a.c", "../a.c"] {
            let texts = BTreeMap::from([(file.to_owned(), Vec::new())]);
            let error = write(folder.path(), &sources, &texts, 100).expect_err("it is outside");
            assert!(matches!(error, WriteError::Outside(_)), "{file}: {error}");
        }
    }
}
