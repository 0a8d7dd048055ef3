//! Which folder is the project: what shown paths are relative to, so that a report is the same from wherever it was asked for.

use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use crate::discover::{find_database, is_build_folder};
use crate::job::JobList;

/// Others may write here (`/tmp`): what lies here need not be the user's.
const WRITABLE_BY_OTHERS: u32 = 0o002;

/// A folder and those above it that may belong to the same project: up to the top of its git repository. Outside of a repository
/// the search ends where a folder belongs to another user, or others may write to it.
pub fn folders_upward(start: &Path) -> Vec<PathBuf> {
    let mut folders = vec![start.to_owned()];
    if let Some(top) = git_top(start) {
        folders.extend(start.ancestors().skip(1).take_while(|folder| folder.starts_with(&top)).map(Path::to_owned));
        return folders;
    }
    let Ok(own) = fs::metadata(start) else { return folders };
    let is_ours = |folder: &&Path| {
        let found = fs::metadata(folder).ok();
        found.is_some_and(|m| m.uid() == own.uid() && m.mode() & WRITABLE_BY_OTHERS == 0) && folder.parent().is_some()
    };
    folders.extend(start.ancestors().skip(1).take_while(is_ours).map(Path::to_owned));
    folders
}

/// The top folder of the git repository that a path lies in. A submodule belongs to itself.
pub fn git_top(path: &Path) -> Option<PathBuf> {
    path.ancestors().find(|folder| folder.join(".git").exists()).map(Path::to_owned)
}

/// The nearest folder at or above `start` that has a database, directly or in a build folder.
pub fn find_database_upward(start: &Path) -> Option<PathBuf> {
    folders_upward(start).into_iter().find(|folder| find_database(folder).is_ok())
}

/// The project's folder: the top of the sources' git repository; else the folder of the settings; else the folder that the database
/// lies in, or was built from; else the current folder, if the sources lie below it, or the folder around them.
pub(crate) fn project_root(list: &JobList, settings: Option<&Path>, cwd: &Path) -> PathBuf {
    let around = common_folder(list);
    let database = list.databases.first().and_then(|file| file.parent());
    let first = list.jobs.first().and_then(|job| job.path().parent());
    let repository = [around.as_deref(), database, first].into_iter().flatten().find_map(git_top);
    // A build folder far from the sources is not where the project is.
    let holds_all = |folder: &PathBuf| around.as_ref().is_none_or(|around| around.starts_with(folder));
    let of_database = || database.map(of_build_folder).filter(holds_all);
    let without_project = || match &around {
        Some(around) if !around.starts_with(cwd) => around.clone(),
        _ => cwd.to_owned(),
    };
    repository.or_else(|| settings.map(Path::to_owned)).or_else(of_database).unwrap_or_else(without_project)
}

/// `project/build` was built from `project`.
fn of_build_folder(folder: &Path) -> PathBuf {
    let is_build = folder.file_name().and_then(|name| name.to_str()).is_some_and(is_build_folder);
    folder.parent().filter(|_| is_build).unwrap_or(folder).to_owned()
}

/// The deepest folder with all sources below it.
fn common_folder(list: &JobList) -> Option<PathBuf> {
    let mut folders = list.jobs.iter().filter_map(|job| job.path().parent());
    let first = folders.next()?;
    let shared = |a: &Path, b: &Path| {
        let same = a.components().zip(b.components()).take_while(|(a, b)| a == b);
        same.map(|(part, _)| part).collect::<PathBuf>()
    };
    Some(folders.fold(first.to_owned(), |all, folder| shared(&all, folder)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::job::{BitcodeJob, Job};

    fn list(files: &[&Path], database: Option<&Path>) -> JobList {
        let job = |file: &&Path| Job::Bitcode(BitcodeJob { path: file.to_path_buf(), display: String::new() });
        let databases = database.map(Path::to_owned).into_iter().collect();
        JobList { jobs: files.iter().map(job).collect(), databases, ..JobList::default() }
    }

    #[test]
    fn the_folder_of_a_project() {
        let dir = tempfile::tempdir().expect("a temporary directory can be made");
        let at = |name: &str| dir.path().join(name);
        for folder in ["git/.git", "git/src", "plain/build", "plain/src"] {
            fs::create_dir_all(at(folder)).expect("writable");
        }
        let (a, b) = (at("git/src/a.c"), at("git/lib/b.c"));
        let root = |files: &[&Path], database: Option<&Path>, settings: Option<&Path>| {
            project_root(&list(files, database), settings, &at("elsewhere"))
        };
        assert_eq!(root(&[&a, &b], None, Some(&at("git/src"))), at("git"), "git comes before the settings");
        let (c, database) = (at("plain/src/c.c"), at("plain/build/compile_commands.json"));
        assert_eq!(root(&[&c], Some(&database), Some(&at("plain/src"))), at("plain/src"));
        assert_eq!(root(&[&c], Some(&database), None), at("plain"), "the build folder's parent");
        assert_eq!(root(&[&c], None, None), at("plain/src"), "no project: the folder around the sources");
        assert_eq!(project_root(&list(&[&c], None), None, &at("plain")), at("plain"), "or the current one above them");
    }

    #[test]
    fn looking_upward_ends_at_the_repository() {
        let dir = tempfile::tempdir().expect("a temporary directory can be made");
        let at = |name: &str| dir.path().join(name);
        for folder in ["out/git/.git", "out/git/src/deep", "out/git/build"] {
            fs::create_dir_all(at(folder)).expect("writable");
        }
        fs::write(at("out/compile_commands.json"), "[]").expect("writable");
        assert_eq!(folders_upward(&at("out/git/src")), [at("out/git/src"), at("out/git")]);
        assert_eq!(find_database_upward(&at("out/git/src/deep")), None);
        fs::write(at("out/git/build/compile_commands.json"), "[]").expect("writable");
        assert_eq!(find_database_upward(&at("out/git/src/deep")), Some(at("out/git")));
    }

    #[test]
    fn looking_upward_ends_where_others_may_write() {
        use std::os::unix::fs::PermissionsExt;
        let dir = tempfile::tempdir().expect("a temporary directory can be made");
        let at = |name: &str| dir.path().join(name);
        fs::create_dir_all(at("open/own/src")).expect("writable");
        fs::set_permissions(at("open"), fs::Permissions::from_mode(0o777)).expect("our own folder");
        assert_eq!(folders_upward(&at("open/own/src")), [at("open/own/src"), at("open/own")]);
    }
}
