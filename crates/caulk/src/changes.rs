//! `--changed-since REV`: which lines are not as they were in a commit.
//!
//! git is asked for the files of the commit and for nothing else: its plumbing reads the store of objects, and runs no filter,
//! hook or other program that a repository can name. The comparison is made here.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::process::Command;

use caulk_capture::git_top;
use caulk_process::{Finished, Lifeline, Limits, Runner, find_program};
use caulk_program::{FuncId, Program};
use caulk_report::scope::{Changed, ChangedLines};
use caulk_report::shown_path;
use similar::{Algorithm, DiffOp, capture_diff_slices};

use crate::error::Error;
use crate::passed_on::given_to;

/// Files that git is asked about at once.
const FILES_AT_ONCE: usize = 200;
/// Largest file that is compared; what is larger is generated, and counts as new.
const MAX_FILE: usize = 64 << 20;

pub(crate) struct Revision {
    git: PathBuf,
    top: PathBuf,
    runner: Runner,
    /// As the user named it.
    name: String,
    commit: String,
}

impl Revision {
    /// Finds a commit, before any work is done.
    pub(crate) fn find(name: &str, folder: &Path, lifeline: &Lifeline) -> Result<Self, Error> {
        let git = find_program(Path::new("git"));
        let git = git.ok_or_else(|| Error::Usage("--changed-since needs git, which is not installed".to_owned()))?;
        let no_repository = || {
            let folder = folder.display();
            Error::Usage(format!("--changed-since needs a git repository, and {folder} is in none"))
        };
        let top = git_top(folder).ok_or_else(no_repository)?;
        let limits = Limits { kept_output_bytes: MAX_FILE, ..Limits::DEFAULT };
        let runner = Runner { limits, lifeline: lifeline.clone() };
        let mut revision = Self { git, top, runner, name: name.to_owned(), commit: String::new() };
        let commit = format!("{name}^{{commit}}");
        let found = revision.run(&["rev-parse", "--verify", "--quiet", "--end-of-options", &commit])?;
        if !found.status.success() {
            return Err(Error::Usage(format!(
                "there is no commit {name:?} in {}; a shallow clone may have to fetch it first",
                revision.top.display()
            )));
        }
        revision.commit = String::from_utf8_lossy(&found.stdout).trim().to_owned();
        Ok(revision)
    }

    fn run(&self, arguments: &[&str]) -> Result<Finished, Error> {
        let mut command = Command::new(&self.git);
        command.arg("-C").arg(&self.top).args(["-c", "core.fsmonitor=false"]).args(arguments);
        // A clone without all objects would call its server.
        command.env("GIT_NO_LAZY_FETCH", "1").env("GIT_TERMINAL_PROMPT", "0");
        self.runner.run(command).map_err(|e| Error::Usage(format!("cannot run {}: {e}", self.git.display())))
    }

    /// A file as it was; None if it was not there.
    fn file(&self, path: &Path) -> Result<Option<Vec<u8>>, Error> {
        let object = format!("{}:{}", self.commit, path.to_string_lossy());
        let found = self.run(&["cat-file", "blob", &object])?;
        Ok(found.status.success().then_some(found.stdout))
    }

    /// The files of the commit by their path below the top, each with its hash.
    fn listed(&self) -> Result<BTreeMap<String, String>, Error> {
        let listed = self.run(&["ls-tree", "-r", "-z", "--full-tree", &self.commit])?;
        let text = String::from_utf8_lossy(&listed.stdout).into_owned();
        let entry = |entry: &str| {
            let (about, path) = entry.split_once('\t')?;
            Some((path.to_owned(), about.split(' ').nth(2)?.to_owned()))
        };
        Ok(text.split('\0').filter_map(entry).collect())
    }

    /// Which of these files, given by whole paths, are not as they were.
    fn differing(&self, files: &[PathBuf]) -> Result<Vec<PathBuf>, Error> {
        let listed = self.listed()?;
        // What lies outside of the repository is not the user's to change.
        let is_own = |path: &&PathBuf| path.starts_with(&self.top) && path.is_file();
        let own: Vec<&PathBuf> = files.iter().filter(is_own).collect();
        let mut differing = Vec::new();
        for some in own.chunks(FILES_AT_ONCE) {
            let names: Vec<String> = some.iter().map(|path| path.to_string_lossy().into_owned()).collect();
            let mut arguments = vec!["hash-object", "--no-filters", "--"];
            arguments.extend(names.iter().map(String::as_str));
            let found = self.run(&arguments)?;
            let text = String::from_utf8_lossy(&found.stdout).into_owned();
            let mut hashes = text.lines();
            for path in some {
                let below = path.strip_prefix(&self.top).unwrap_or(path).to_string_lossy().into_owned();
                // A file that git could not read is compared, and then found to be unreadable.
                if hashes.next().is_none_or(|hash| listed.get(&below).is_none_or(|before| before != hash)) {
                    differing.push(path.to_path_buf());
                }
            }
        }
        Ok(differing)
    }

    /// What changed in these files, which are given relative to `root`.
    pub(crate) fn changed(&self, root: &Path, files: &BTreeSet<String>, program: &Program) -> Result<Changed, Error> {
        let mut changed = Changed { since: self.name.clone(), ..Changed::default() };
        let mut functions: BTreeSet<FuncId> = BTreeSet::new();
        let paths: Vec<PathBuf> = files.iter().map(|file| root.join(file)).collect();
        for path in self.differing(&paths)? {
            let Ok(below) = path.strip_prefix(&self.top) else { continue };
            let file = shown_path(&path.to_string_lossy(), root);
            let Ok(now) = caulk_files::read(&path, MAX_FILE as u64) else { continue };
            let lines = match self.file(below)? {
                Some(before) if before == now => continue,
                Some(before) => changed_lines(&before, &now),
                None => ChangedLines::All,
            };
            if let ChangedLines::Some { lines, gaps } = &lines {
                for line in lines.iter().chain(gaps) {
                    functions.extend(program.functions_at(&path.to_string_lossy(), *line));
                }
            }
            changed.files.insert(file, lines);
        }
        changed.functions = functions.iter().map(|f| program.function(*f).name.to_owned()).collect();
        changed.given = given_to(program, root, &functions);
        Ok(changed)
    }
}

fn changed_lines(before: &[u8], now: &[u8]) -> ChangedLines {
    let split = |text: &'_ [u8]| -> Vec<Vec<u8>> { text.split(|b| *b == b'\n').map(<[u8]>::to_vec).collect() };
    let (before, now) = (split(before), split(now));
    let number = |index: usize| u32::try_from(index).unwrap_or(u32::MAX);
    let (mut lines, mut gaps) = (BTreeSet::new(), BTreeSet::new());
    for operation in capture_diff_slices(Algorithm::Myers, &before, &now) {
        match operation {
            DiffOp::Equal { .. } => {}
            DiffOp::Delete { new_index, .. } => {
                gaps.insert(number(new_index));
            }
            DiffOp::Insert { new_index, new_len, .. } => {
                lines.extend((new_index..new_index + new_len).map(|index| number(index + 1)));
            }
            DiffOp::Replace { new_index, new_len, .. } => {
                gaps.insert(number(new_index));
                lines.extend((new_index..new_index + new_len).map(|index| number(index + 1)));
            }
        }
    }
    ChangedLines::Some { lines, gaps }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_that_are_new_and_lines_that_went() {
        let of = |before: &str, now: &str| match changed_lines(before.as_bytes(), now.as_bytes()) {
            ChangedLines::Some { lines, gaps } => (lines.into_iter().collect(), gaps.into_iter().collect()),
            ChangedLines::All => (vec![0], vec![0]),
        };
        assert_eq!(of("a\nb\nc\n", "a\nx\nb\nc\n"), (vec![2], vec![]));
        assert_eq!(of("a\nb\nc\n", "a\nc\n"), (vec![], vec![1]));
        assert_eq!(of("a\nb\nc\n", "a\nB\nc\n"), (vec![2], vec![1]));
    }
}
