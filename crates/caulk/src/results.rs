//! What both stages found out about a project, kept in its cache for the next run.
//!
//! Summaries and verdicts are not checked piece by piece as units are: a crafted one could be anything. So a file counts only if it carries a
//! seal that needs a key of the user's, which no project can know. The key lies outside of all projects, and is made when it is first needed.

use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use caulk_explore::ExploreConfig;
use caulk_files::{Destination, Folder};
use caulk_program::Names;
use caulk_useflow::UseflowConfig;
use serde::{Deserialize, Serialize};

use crate::arguments::InputOptions;
use crate::caches;
use crate::input::{Read, current_folder};
use crate::kept::Results;

/// A hash of the sources of Caulk and of the compiler that made it, from `build.rs`: another build may find out something else.
const BUILD: &str = include_str!(concat!(env!("OUT_DIR"), "/build.txt"));
/// Files of results in one cache: for other options, and other sources of the same project.
const MAX_FILES: usize = 6;
/// Largest file that is written or read.
const MAX_FILE: u64 = 2 << 30;
/// The key in place of the user's own, for machines that share a cache.
const KEY: &str = "CAULK_CACHE_KEY";
const KEY_FILE: &str = "cache-key";

/// Where the results of one project and one choice of options are.
pub(crate) struct ResultsFile {
    folder: Folder,
    name: String,
    key: [u8; blake3::KEY_LEN],
}

/// The content of a file: the pieces of both stages.
#[derive(Serialize)]
struct Content {
    useflow: Vec<Vec<u8>>,
    explore: Vec<Vec<u8>>,
}

#[derive(Deserialize)]
struct Borrowed<'f> {
    #[serde(borrow)]
    useflow: Vec<&'f [u8]>,
    #[serde(borrow)]
    explore: Vec<&'f [u8]>,
}

impl ResultsFile {
    /// None without a cache, where the cache cannot be written, and where there is no key: then results are not kept.
    pub(crate) fn new(
        options: &InputOptions,
        read: &Read,
        models: Option<u64>,
        useflow: &UseflowConfig,
        explore: &ExploreConfig,
    ) -> Option<Self> {
        let folder = caches::results(options, &read.root)?;
        let key = user_key()?;
        // What rules did so far is no part of the choice of them.
        let useflow = UseflowConfig { rules: useflow.rules.counting_apart(), ..useflow.clone() };
        let explore = ExploreConfig { rules: explore.rules.counting_apart(), ..explore.clone() };
        // Of a database all is read, whatever of it the user asks about.
        let named = if read.is_bare { Some((&options.inputs, current_folder().ok()?)) } else { None };
        let inputs = (&read.databases, named);
        let chosen = format!("{BUILD} {inputs:?} {models:?} {useflow:?} {explore:?}");
        Some(Self { folder, name: blake3::hash(chosen.as_bytes()).to_hex()[..32].to_owned(), key })
    }

    fn file(&self) -> OsString {
        format!("{}.results", self.name).into()
    }

    /// Adds what the last run kept, for a program with these names.
    pub(crate) fn load(&self, names: &Arc<Names>, results: &mut Results) {
        let Ok(bytes) = self.folder.read(&self.file(), MAX_FILE) else { return };
        let Some((seal, content)) = bytes.split_first_chunk::<{ blake3::OUT_LEN }>() else { return };
        if self.seal(content) != *seal {
            return;
        }
        let Ok(content) = postcard::from_bytes::<Borrowed<'_>>(content) else { return };
        let useflow = caulk_useflow::Kept::from_pieces(&content.useflow, names);
        let explore = caulk_explore::Kept::from_pieces(&content.explore, names);
        if let (Some(useflow), Some(explore)) = (useflow, explore) {
            results.useflow = useflow;
            results.explore = explore;
            results.is_loaded = true;
        }
    }

    /// Keeps results for the next run. Failing to costs time and nothing else.
    pub(crate) fn store(&self, results: &Results) {
        let content = Content { useflow: results.useflow.pieces(), explore: results.explore.pieces() };
        let Ok(content) = postcard::to_stdvec(&content) else { return };
        let seal = self.seal(&content);
        if content.len() as u64 + blake3::OUT_LEN as u64 <= MAX_FILE
            && self.folder.write(&self.file(), &[seal.as_bytes(), &content]).is_ok()
        {
            let _ = self.folder.keep_newest(MAX_FILES);
        }
    }

    /// Only who knows the key can make it. The name is in it, so that no file stands for another.
    fn seal(&self, content: &[u8]) -> blake3::Hash {
        let mut hasher = blake3::Hasher::new_keyed(&self.key);
        hasher.update(self.name.as_bytes());
        hasher.update(content);
        hasher.finalize()
    }
}

impl Results {
    /// Whether the last analysis found out anything that is not on disk.
    pub(crate) fn are_new(&self) -> bool {
        !self.is_loaded || self.useflow.made + self.explore.made > 0
    }
}

/// The key of the user who runs Caulk.
fn user_key() -> Option<[u8; blake3::KEY_LEN]> {
    match std::env::var(KEY) {
        Ok(text) if !text.is_empty() => Some(blake3::derive_key("caulk results in a cache", text.as_bytes())),
        _ => key_in(&state_folder()?),
    }
}

/// Where a program keeps what is its own, by the XDG base directory specification.
fn state_folder() -> Option<PathBuf> {
    let folder = |name: &str| std::env::var_os(name).map(PathBuf::from).filter(|path| path.is_absolute());
    let state = folder("XDG_STATE_HOME").or_else(|| Some(folder("HOME")?.join(".local/state")))?;
    Some(state.join("caulk"))
}

fn key_in(folder: &Path) -> Option<[u8; blake3::KEY_LEN]> {
    let folder = Destination::named(folder.to_owned()).folder().ok()?;
    let name = OsStr::new(KEY_FILE);
    let read = || folder.read(name, blake3::KEY_LEN as u64).ok()?.try_into().ok();
    read().or_else(|| {
        folder.write_secret(name, &caulk_files::random().ok()?).ok()?;
        // Another run may have made one at the same time.
        read()
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn place(folder: &Path, name: &str, key: u8) -> ResultsFile {
        ResultsFile {
            folder: Folder::open(folder).expect("it is there"),
            name: name.to_owned(),
            key: [key; blake3::KEY_LEN],
        }
    }

    fn loads(place: &ResultsFile) -> bool {
        let mut results = Results::default();
        place.load(&Arc::default(), &mut results);
        results.is_loaded
    }

    #[test]
    fn only_what_the_user_sealed_counts() {
        let folder = tempfile::tempdir().expect("a temporary folder can be made");
        let own = place(folder.path(), "one", 1);
        assert!(!loads(&own));
        own.store(&Results::default());
        assert!(loads(&own));
        assert!(!loads(&place(folder.path(), "one", 2)), "another key");
        let file = folder.path().join("one.results");
        std::fs::copy(&file, folder.path().join("two.results")).expect("written");
        assert!(!loads(&place(folder.path(), "two", 1)), "a file of another choice");
        let bytes = std::fs::read(&file).expect("written");
        for at in 0..bytes.len() {
            let mut flipped = bytes.clone();
            flipped[at] ^= 1;
            std::fs::write(&file, flipped).expect("writable");
            assert!(!loads(&own), "byte {at}");
            std::fs::write(&file, &bytes[..at]).expect("writable");
            assert!(!loads(&own), "cut after {at} bytes");
        }
    }

    #[test]
    fn the_key_is_made_once() {
        let folder = tempfile::tempdir().expect("a temporary folder can be made");
        let state = folder.path().join("state/caulk");
        let key = key_in(&state).expect("writable");
        assert_eq!(key_in(&state), Some(key));
        std::fs::write(state.join(KEY_FILE), "short").expect("writable");
        assert!(key_in(&state).is_some_and(|other| other != key), "a damaged key is made again");
    }
}
