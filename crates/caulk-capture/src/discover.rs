//! Where a compilation database may lie.

use std::fs;
use std::path::{Path, PathBuf};

use crate::database::DATABASE_NAME;
use crate::error::CaptureError;

/// Beginnings of the names of build folders, in the order they are tried.
const BUILD_FOLDERS: &[&str] = &["build", "cmake-build-", "_build", "out"];

/// The database at `place`: a database itself, or a folder that holds one directly or in a build folder.
///
/// Several build folders: the first by name, so that the answer is the same everywhere.
pub fn find_database(place: &Path) -> Result<PathBuf, CaptureError> {
    if place.is_file() {
        return Ok(place.to_owned());
    }
    if !place.is_dir() {
        return Err(CaptureError::NoSuchInput { path: place.to_owned() });
    }
    let direct = place.join(DATABASE_NAME);
    let candidates = std::iter::once(direct.clone())
        .chain(build_folders(place).into_iter().map(|name| place.join(name).join(DATABASE_NAME)));
    candidates
        .into_iter()
        .find(|candidate| candidate.is_file())
        .ok_or_else(|| CaptureError::NoDatabase { searched: vec![direct, place.join("build*").join(DATABASE_NAME)] })
}

/// Names of the build folders in `place`, in the order they are tried.
fn build_folders(place: &Path) -> Vec<String> {
    let mut names: Vec<String> = fs::read_dir(place)
        .into_iter()
        .flatten()
        .flatten()
        .filter_map(|entry| entry.file_name().into_string().ok())
        .filter(|name| rank(name) < BUILD_FOLDERS.len())
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
