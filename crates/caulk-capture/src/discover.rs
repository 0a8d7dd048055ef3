//! Where a compilation database may lie.

use std::fs;
use std::path::{Path, PathBuf};

use crate::database::DATABASE_NAME;
use crate::error::CaptureError;

/// Beginnings of the names of build folders, in the order they are tried.
const BUILD_FOLDERS: &[&str] = &["build", "cmake-build-", "_build", "out"];

/// A database, and others that could have been meant.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FoundDatabase {
    pub path: PathBuf,
    pub others: Vec<PathBuf>,
}

/// The database at `place`: a database itself, or a folder that holds one directly or in a build folder.
pub fn find_database(place: &Path) -> Result<PathBuf, CaptureError> {
    find_databases(place).map(|found| found.path)
}

/// Several build folders: the first by name, so that the answer is the same everywhere. The others are listed, for the user
/// may have meant one of them. What lies in the folder itself was put there on purpose and comes first.
pub fn find_databases(place: &Path) -> Result<FoundDatabase, CaptureError> {
    if place.is_file() {
        return Ok(FoundDatabase { path: place.to_owned(), others: Vec::new() });
    }
    if !place.is_dir() {
        return Err(CaptureError::NoSuchInput { path: place.to_owned() });
    }
    let direct = place.join(DATABASE_NAME);
    let in_build_folders = build_folders(place).into_iter().map(|name| place.join(name).join(DATABASE_NAME));
    let mut found = in_build_folders.filter(|candidate| candidate.is_file());
    if direct.is_file() {
        let others = found.filter(|other| !is_same_file(&direct, other)).collect();
        return Ok(FoundDatabase { path: direct, others });
    }
    match found.next() {
        Some(path) => Ok(FoundDatabase { path, others: found.collect() }),
        None => match direct.try_exists() {
            // "Not found" would be wrong where one may not look.
            Err(source) => Err(CaptureError::Read { path: direct, source }),
            Ok(_) => Err(CaptureError::NoDatabase { searched: vec![direct, place.join("build*").join(DATABASE_NAME)] }),
        },
    }
}

/// Whether one name leads to the other: `compile_commands.json` is often a link to that of the build folder.
fn is_same_file(one: &Path, other: &Path) -> bool {
    matches!((one.canonicalize(), other.canonicalize()), (Ok(one), Ok(other)) if one == other)
}

pub(crate) fn is_build_folder(name: &str) -> bool {
    rank(name) < BUILD_FOLDERS.len()
}

/// Names of the build folders in `place`, in the order they are tried.
fn build_folders(place: &Path) -> Vec<String> {
    let mut names: Vec<String> = fs::read_dir(place)
        .into_iter()
        .flatten()
        .flatten()
        .filter_map(|entry| entry.file_name().into_string().ok())
        .filter(|name| is_build_folder(name))
        .collect();
    names.sort_by(|a, b| (rank(a), a).cmp(&(rank(b), b)));
    names
}

fn rank(name: &str) -> usize {
    BUILD_FOLDERS.iter().position(|start| name.starts_with(start)).unwrap_or(BUILD_FOLDERS.len())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tree(files: &[&str]) -> tempfile::TempDir {
        let dir = tempfile::tempdir().expect("a temporary directory can be made");
        for file in files {
            let path = dir.path().join(file);
            fs::create_dir_all(path.parent().expect("below the directory")).expect("writable");
            fs::write(path, "[]").expect("writable");
        }
        dir
    }

    fn check(files: &[&str], expected: &str) {
        let dir = tree(files);
        let found = find_database(dir.path()).expect(expected);
        assert_eq!(found, dir.path().join(expected));
    }

    #[test]
    fn the_choice_among_several_is_known() {
        let dir = tree(&["build-b/compile_commands.json", "build-a/compile_commands.json"]);
        let found = find_databases(dir.path()).expect("two are there");
        assert_eq!(found.others, [dir.path().join("build-b/compile_commands.json")]);
        let dir = tree(&["compile_commands.json", "build/compile_commands.json"]);
        let found = find_databases(dir.path()).expect("two are there");
        assert_eq!(found.path, dir.path().join("compile_commands.json"));
        assert_eq!(found.others, [dir.path().join("build/compile_commands.json")]);
        // A link to that of the build folder is the same one.
        let dir = tree(&["build/compile_commands.json"]);
        let link = dir.path().join("compile_commands.json");
        std::os::unix::fs::symlink(dir.path().join("build/compile_commands.json"), link).expect("writable");
        assert_eq!(find_databases(dir.path()).expect("it is there").others, Vec::<PathBuf>::new());
    }

    #[test]
    fn the_folder_itself_comes_first_then_build_folders_by_name() {
        check(&["compile_commands.json", "build/compile_commands.json"], "compile_commands.json");
        check(
            &["build-z/compile_commands.json", "build-a/compile_commands.json", "build-0/other.json"],
            "build-a/compile_commands.json",
        );
        check(&["_build/compile_commands.json", "builddir/compile_commands.json"], "builddir/compile_commands.json");
    }

    #[test]
    fn the_message_says_where_it_looked_and_what_to_do() {
        let dir = tree(&["src/compile_commands.json"]);
        let message = find_database(dir.path()).expect_err("src is no build folder").to_string();
        for part in ["build*/compile_commands.json", "caulk capture -- make", "CMAKE_EXPORT_COMPILE_COMMANDS", "meson"]
        {
            assert!(message.contains(part), "{message}");
        }
    }
}
