//! Paths made absolute and readable, without asking the file system more than needed.

use std::path::{Component, Path, PathBuf};

/// `path` as seen from `base`, absolute when `base` is, without `.` and (where that keeps the meaning) without `..`.
pub(crate) fn resolve(base: &Path, path: &Path) -> PathBuf {
    let joined = base.join(path);
    let plain = without_dots(&joined);
    if plain == joined {
        return plain;
    }
    // `link/../x` is not `x` when `link` is a symbolic link to elsewhere: fold only if both name the same file.
    match (joined.canonicalize(), plain.canonicalize()) {
        (Ok(real), Ok(folded)) if real != folded => joined,
        (Ok(_), Err(_)) => joined,
        _ => plain,
    }
}

/// Folds `.` and `..` by the letters alone.
fn without_dots(path: &Path) -> PathBuf {
    let mut folded = PathBuf::new();
    for part in path.components() {
        match part {
            Component::CurDir => {}
            Component::ParentDir => match folded.components().next_back() {
                Some(Component::Normal(_)) => {
                    folded.pop();
                }
                Some(Component::RootDir | Component::Prefix(_)) => {}
                _ => folded.push(".."),
            },
            other => folded.push(other),
        }
    }
    folded
}

/// The path shown to users: relative to `cwd` when below it, so that reports read the same on every machine.
pub(crate) fn display(path: &Path, cwd: &Path) -> String {
    match path.strip_prefix(cwd) {
        Ok(below) if !below.as_os_str().is_empty() => below.to_string_lossy().into_owned(),
        _ => path.to_string_lossy().into_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dots_are_folded() {
        assert_eq!(resolve(Path::new("/no/such"), Path::new("./a/../b.c")), Path::new("/no/such/b.c"));
        assert_eq!(resolve(Path::new("/no"), Path::new("../../../b.c")), Path::new("/b.c"));
        assert_eq!(resolve(Path::new("/no"), Path::new("/abs/b.c")), Path::new("/abs/b.c"));
    }

    #[cfg(unix)]
    #[test]
    fn dots_behind_a_symbolic_link_keep_their_meaning() {
        let dir = tempfile::tempdir().expect("a temporary directory can be made");
        let root = dir.path().canonicalize().expect("it exists");
        std::fs::create_dir_all(root.join("far/away")).expect("writable");
        std::fs::write(root.join("far/x.c"), "").expect("writable");
        std::os::unix::fs::symlink(root.join("far/away"), root.join("link")).expect("writable");
        let resolved = resolve(&root, Path::new("link/../x.c"));
        assert!(resolved.exists(), "{}", resolved.display());
    }

    #[test]
    fn only_paths_below_are_shortened() {
        assert_eq!(display(Path::new("/w/src/a.c"), Path::new("/w")), "src/a.c");
        assert_eq!(display(Path::new("/other/a.c"), Path::new("/w")), "/other/a.c");
        assert_eq!(display(Path::new("/wide/a.c"), Path::new("/w")), "/wide/a.c");
    }
}
