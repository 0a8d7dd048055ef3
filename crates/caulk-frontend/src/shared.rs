//! Lowered units that other machines and other checkouts made, in a remote cache.
//!
//! Nothing is known of a unit's headers before it is compiled, so an entry is found in two steps. A *list* is named by how the unit
//! is compiled and by its source; it holds the paths that were read, one list for each different set of them. The *entry* is
//! named by that and by the hash of every file of such a list, as the files are here and now: what is found under that name was
//! made from the same bytes. Paths are relative to the project's folder (`portable.rs`).
//!
//! What comes from there is not trusted: a hash finds damage, the entry repeats what it was made from, and its unit is decoded
//! and verified like any other. A server learns nothing but hashes, and only of files that the unit could include.

use std::io::Read;
use std::path::{Path, PathBuf};

use blake3::Hash;
use caulk_capture::CompileJob;
use caulk_ir::PackedUnit;
use caulk_remote::Remote;

use crate::clang::Clang;
use crate::entry::{self, Sealed};
use crate::portable::{Root, is_of_this_machine};

/// Sets of paths that are kept for one source and its flags: one for each way in which its headers include others.
const MAX_LISTS: usize = 4;
/// Paths in one list.
const MAX_PATHS: usize = 20_000;
/// Largest list, and largest entry, compressed and not. They may be of anybody's making.
const MAX_LIST_BYTES: u64 = 16 << 20;
const MAX_ENTRY_BYTES: u64 = 512 << 20;
/// Smaller takes much longer to make, and the difference is small.
const LEVEL: i32 = 3;

/// A remote cache, seen from one checkout.
#[derive(Debug)]
pub(crate) struct Shared {
    pub remote: Remote,
    root: Root,
    /// Where clang has its own headers.
    toolchain: Vec<PathBuf>,
}

/// What is known of a unit that was not found: what it will be stored under.
pub(crate) struct Missing {
    key: Hash,
    lists: Vec<Vec<String>>,
}

/// A unit from elsewhere.
pub(crate) struct Found {
    pub unit: PackedUnit,
    /// The files it was made from, absolute, each with its hash.
    pub files: Vec<(Hash, String)>,
}

/// The hash of a file, if it is one that can be hashed.
pub(crate) type FileHash<'a> = &'a dyn Fn(&str) -> Option<Hash>;

impl Shared {
    /// None for folders whose name cannot be taken out of paths.
    pub(crate) fn new(remote: Remote, root: &Path, clang: &Clang) -> Option<Self> {
        Some(Self { remote, root: Root::new(root)?, toolchain: clang.folders() })
    }

    /// Looks for a unit. Otherwise what to store it under; None if it cannot be shared.
    pub(crate) fn fetch(
        &self,
        job: &CompileJob,
        identity: &[&str],
        hash: FileHash<'_>,
    ) -> Result<Found, Option<Missing>> {
        let Some(key) = self.key(job, identity, hash) else { return Err(None) };
        let lists = self.lists(&key);
        let found = lists.iter().find_map(|list| self.entry(&key, list, job, hash));
        found.ok_or(Some(Missing { key, lists }))
    }

    /// Everything but the headers that decides what comes out.
    fn key(&self, job: &CompileJob, identity: &[&str], hash: FileHash<'_>) -> Option<Hash> {
        if is_of_this_machine(job) {
            return None;
        }
        let source = job.source.to_str()?;
        let mut parts: Vec<String> = identity.iter().map(|part| (*part).to_owned()).collect();
        parts.push(self.root.path(source));
        parts.push(self.root.path(job.directory.to_str()?));
        parts.push(hash(source)?.to_hex().to_string());
        parts.extend(job.flags.iter().map(|flag| self.root.flag(flag)));
        Some(hash_parts(&parts))
    }

    /// The sets of paths that are known for a key.
    fn lists(&self, key: &Hash) -> Vec<Vec<String>> {
        let Some(bytes) = self.remote.get(&list_name(key), MAX_LIST_BYTES) else { return Vec::new() };
        parse_lists(&bytes, key).unwrap_or_else(|| {
            self.remote.refuse();
            Vec::new()
        })
    }

    /// The entry for the files of a list as they are now.
    fn entry(&self, key: &Hash, list: &[String], job: &CompileJob, hash: FileHash<'_>) -> Option<Found> {
        let mut files = Vec::with_capacity(list.len());
        for portable in list {
            let file = self.root.absolute(portable)?;
            if !self.root.may_name(&file, job, &self.toolchain) {
                return None;
            }
            files.push((hash(&file)?, file));
        }
        let listed = listed(&files, |file| self.root.path(file));
        let bytes = self.remote.get(&entry_name(key, &listed), MAX_ENTRY_BYTES)?;
        let unit = decode(&bytes, &listed).and_then(|mut unit| self.root.put_in(&mut unit).then_some(unit));
        if unit.is_none() {
            self.remote.refuse();
        }
        Some(Found { unit: unit?, files })
    }

    /// Stores a unit that was made from these files. Whether it was stored.
    pub(crate) fn publish(
        &self,
        missing: &Missing,
        job: &CompileJob,
        files: &[(Hash, String)],
        unit: &PackedUnit,
    ) -> bool {
        let may_name = |(_, file): &(Hash, String)| self.root.may_name(file, job, &self.toolchain);
        if !self.remote.is_writable() || files.len() > MAX_PATHS || !files.iter().all(may_name) {
            return false;
        }
        let mut unit = unit.clone();
        if !self.root.take_out(&mut unit) {
            return false;
        }
        let listed = listed(files, |file| self.root.path(file));
        let Ok(bytes) = zstd::bulk::compress(&entry::encode(&listed, &unit), LEVEL) else { return false };
        // The list last: who finds it finds the entry.
        self.remote.put(&entry_name(&missing.key, &listed), bytes) && self.publish_list(missing, files)
    }

    fn publish_list(&self, missing: &Missing, files: &[(Hash, String)]) -> bool {
        let list: Vec<String> = files.iter().map(|(_, file)| self.root.path(file)).collect();
        if missing.lists.contains(&list) {
            return true;
        }
        let lists = std::iter::once(&list).chain(&missing.lists).take(MAX_LISTS);
        self.remote.put(&list_name(&missing.key), render_lists(lists, &missing.key))
    }
}

fn hash_parts(parts: &[String]) -> Hash {
    let mut hasher = blake3::Hasher::new();
    for part in parts {
        hasher.update(&(part.len() as u64).to_le_bytes());
        hasher.update(part.as_bytes());
    }
    hasher.finalize()
}

/// The files of an entry, one a line, each after its hash.
fn listed(files: &[(Hash, String)], name: impl Fn(&str) -> String) -> String {
    files.iter().map(|(hash, file)| format!("{} {}\n", hash.to_hex(), name(file))).collect()
}

fn list_name(key: &Hash) -> String {
    format!("{}.list", key.to_hex())
}

fn entry_name(key: &Hash, listed: &str) -> String {
    let name = hash_parts(&[key.to_hex().to_string(), listed.to_owned()]);
    format!("{}.unit.zst", name.to_hex())
}

/// The lists of a key. The key stands in it, so that the lists of another are not taken for them.
fn render_lists<'a>(lists: impl Iterator<Item = &'a Vec<String>>, key: &Hash) -> Vec<u8> {
    let mut text = format!("{}\n", key.to_hex());
    for list in lists {
        text.push_str(&list.join("\n"));
        text.push_str("\n\n");
    }
    entry::seal(text.as_bytes())
}

/// None for what [`render_lists`] did not make for this key.
pub(crate) fn parse_lists(bytes: &[u8], key: &Hash) -> Option<Vec<Vec<String>>> {
    let text = std::str::from_utf8(entry::unseal(bytes)?).ok()?;
    let (named, text) = text.split_once('\n')?;
    if named != key.to_hex().as_str() {
        return None;
    }
    let lists = text.split_terminator("\n\n").take(MAX_LISTS);
    let lists: Vec<Vec<String>> = lists.map(|list| list.lines().map(str::to_owned).collect()).collect();
    lists.iter().all(|list| !list.is_empty() && list.len() <= MAX_PATHS).then_some(lists)
}

/// The unit of an entry, if it was made from exactly these files.
fn decode(bytes: &[u8], listed: &str) -> Option<PackedUnit> {
    let mut content = Vec::new();
    let reader = zstd::stream::read::Decoder::new(bytes).ok()?;
    reader.take(MAX_ENTRY_BYTES + 1).read_to_end(&mut content).ok()?;
    if content.len() as u64 > MAX_ENTRY_BYTES {
        return None;
    }
    let sealed = Sealed::read(&content)?;
    let named = sealed.files.iter().map(|(hash, file)| format!("{hash} {file}\n"));
    if named.collect::<String>() != listed {
        return None;
    }
    sealed.unit()
}
