//! Where a program is, once and for all.

use std::env;
use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};

use rustix::fs::{Access, access};

/// The absolute path of a program: a bare name is searched in `PATH`, a path is taken from the current folder.
///
/// Children run in folders of the project, so neither a relative path nor a relative folder in `PATH` may be left for
/// later: it would mean a file of the project there. `None` when no folder of `PATH` has it; whether a path exists is
/// not checked here.
pub fn find_program(name: &Path) -> Option<PathBuf> {
    let is_bare = name.components().count() == 1 && !name.as_os_str().as_encoded_bytes().contains(&b'/');
    if !is_bare {
        return std::path::absolute(name).ok();
    }
    let path = env::var_os("PATH").unwrap_or_default();
    let mut files = env::split_paths(&path).filter(|folder| folder.is_absolute()).map(|folder| folder.join(name));
    files.find(|file| file.is_file() && access(file, Access::EXEC_OK).is_ok())
}

/// The folders of a list like `PATH` that are absolute.
pub fn only_absolute(path: &OsStr) -> OsString {
    let folders = env::split_paths(path).filter(|folder| folder.is_absolute());
    // Joining what was split cannot fail: no part holds a separator.
    env::join_paths(folders).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn programs_are_absolute() {
        let shell = find_program(Path::new("sh")).expect("there is a shell");
        assert!(shell.is_absolute() && shell.ends_with("sh"), "{shell:?}");
        let here = env::current_dir().expect("it exists");
        assert_eq!(find_program(Path::new("./sh")), Some(here.join("sh")));
        assert_eq!(find_program(Path::new("no-such-program-anywhere")), None);
    }

    #[test]
    fn relative_folders_go() {
        assert_eq!(only_absolute(OsStr::new(".:/a::b/c:/d")), "/a:/d");
        assert_eq!(only_absolute(OsStr::new("")), "");
    }
}
