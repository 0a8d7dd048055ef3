//! Lowered units on disk, so that a second run reads only what changed.
//!
//! An entry is named by how a unit is compiled and holds the hash of every file that was read for it. It counts only while
//! all of them are unchanged; anything else (damaged, of another version, half gone) is no entry, and the unit is made
//! again. Entries are written beside and moved into place, so concurrent runs see whole ones only.
//! Known limit, shared with other compiler caches: a new header that would now be found earlier in the search path than
//! the one that was read goes unnoticed until a file that was read changes.

use std::collections::HashMap;
use std::ffi::{OsStr, OsString};
use std::io::ErrorKind;
use std::path::Path;
use std::sync::{Mutex, RwLock};
use std::time::SystemTime;
use std::{fs, io};

use blake3::Hash;
use caulk_capture::Job;
use caulk_files::{Destination, Folder};
use caulk_ir::PackedUnit;
use caulk_remote::Remote;

use crate::clang::Clang;
use crate::entry::{self, Sealed};
use crate::shared::{Missing, Shared};

/// A hash of the sources that decide the stored form and what lowering makes of the same bitcode, made by `build.rs`.
const FORMAT: &str = include_str!(concat!(env!("OUT_DIR"), "/format.txt"));
/// Largest entry that is stored or read. Entries may have come with the project, of any size.
const MAX_ENTRY: u64 = 512 << 20;
/// Largest source that is hashed. A unit made from a larger one, or from what is no regular file, is not stored.
const MAX_SOURCE: u64 = 256 << 20;

#[derive(Debug)]
pub struct Cache {
    folder: Folder,
    /// Hashes of the files seen in this run: headers are shared by many units.
    hashes: RwLock<HashMap<String, Option<Hash>>>,
    /// Where units of other machines are.
    shared: Option<Shared>,
    unwritten: Mutex<Unwritten>,
}

/// Entries that could not be written.
#[derive(Debug, Default)]
struct Unwritten {
    count: usize,
    first: Option<io::Error>,
}

/// The name of a unit's entry.
pub(crate) struct Key(pub(crate) String);

/// A unit that a cache holds, and the files it was made from.
pub(crate) struct Cached {
    pub unit: PackedUnit,
    pub files: Vec<String>,
}

impl Cache {
    /// Opens (and makes) a cache folder that the user named.
    pub fn open(folder: &Path) -> io::Result<Self> {
        Self::open_at(&Destination::named(folder.to_owned()))
    }

    /// Opens (and makes) a cache folder.
    pub fn open_at(place: &Destination) -> io::Result<Self> {
        let folder = place.folder()?;
        let units = folder.make_folder(OsStr::new("units"))?;
        let ignore = OsStr::new(".gitignore");
        if !folder.exists(ignore) {
            folder.write(ignore, &[b"*\n"])?;
        }
        Ok(Self { folder: units, hashes: RwLock::default(), shared: None, unwritten: Mutex::default() })
    }

    /// Likewise, with a remote cache behind it. A unit that is not in the folder is looked for there, for the checkout at
    /// `root`, and what is compiled is stored there too if that is allowed.
    pub fn with_remote(self, remote: Remote, root: &Path, clang: &Clang) -> Self {
        Self { shared: Shared::new(remote, root, clang), ..self }
    }

    pub fn has_remote(&self) -> bool {
        self.shared.is_some()
    }

    /// What went wrong with the remote cache, in one line.
    pub fn remote_troubles(&self) -> Option<String> {
        self.shared.as_ref()?.remote.troubles()
    }

    /// What went wrong with the folder, in one line: a disk that is full, most of the time.
    pub fn folder_troubles(&self) -> Option<String> {
        let Unwritten { count, first } = &*self.unwritten.lock().expect("no holder of this lock panics");
        let units = if *count == 1 { "1 unit".to_owned() } else { format!("{count} units") };
        first.as_ref().map(|first| format!("{units} could not be written to the cache ({first})"))
    }

    pub(crate) fn key(&self, job: &Job, clang: &Clang) -> Key {
        unit_key(job, clang)
    }

    /// The unit of an entry in the folder.
    pub(crate) fn load(&self, key: &Key) -> Option<Cached> {
        let bytes = self.folder.read(&name(key), MAX_ENTRY).ok()?;
        let entry = Sealed::read(&bytes)?;
        let mut unchanged = Vec::new();
        for &(hash, file) in &entry.files {
            self.file_hash(file).filter(|now| now.to_hex().as_str() == hash)?;
            unchanged.push(file.to_owned());
        }
        Some(Cached { unit: entry.unit()?, files: unchanged })
    }

    /// The unit in the remote cache, which is kept in the folder from now on. Otherwise what to store it under there; None
    /// without a remote cache, and for what cannot be shared.
    pub(crate) fn load_remote(&self, key: &Key, job: &Job, clang: &Clang) -> Result<Cached, Option<Missing>> {
        let (Some(shared), Job::Compile(job)) = (&self.shared, job) else { return Err(None) };
        let identity = [FORMAT, &clang.fingerprint()];
        let found = shared.fetch(job, &identity, &|file| self.file_hash(file))?;
        self.write(key, &found.files, &found.unit);
        Ok(Cached { unit: found.unit, files: found.files.into_iter().map(|(_, file)| file).collect() })
    }

    /// Stores a unit that was compiled from `files`, beginning at `started`. Failing to is no reason to fail the run: the
    /// next one will be slower, that is all.
    pub(crate) fn store(&self, key: &Key, files: &[String], started: SystemTime, unit: &PackedUnit) {
        if let Some(files) = self.files_with_hashes(files, started) {
            self.write(key, &files, unit);
        }
    }

    /// Likewise, in the remote cache. Whether it was stored.
    pub(crate) fn store_remote(
        &self,
        missing: &Missing,
        job: &Job,
        files: &[String],
        started: SystemTime,
        unit: &PackedUnit,
    ) -> bool {
        let (Some(shared), Job::Compile(job)) = (&self.shared, job) else { return false };
        self.files_with_hashes(files, started).is_some_and(|files| shared.publish(missing, job, &files, unit))
    }

    /// The hash of each file as clang has read it. None if that is not certain.
    fn files_with_hashes(&self, files: &[String], started: SystemTime) -> Option<Vec<(Hash, String)>> {
        let mut hashed = Vec::with_capacity(files.len());
        for file in files {
            // Changed since clang began to read, it need not be what clang has read.
            modified(file).filter(|time| *time <= started)?;
            // A file that is already gone, that is no regular file or too long (`__has_include("/dev/zero")` counts as read),
            // or whose name would break the list, cannot be checked later.
            let hash = self.file_hash(file).filter(|_| !file.contains('\n'))?;
            hashed.push((hash, file.clone()));
        }
        // Without a list of files nothing would ever make the entry invalid.
        (!hashed.is_empty()).then_some(hashed)
    }

    fn write(&self, key: &Key, files: &[(Hash, String)], unit: &PackedUnit) {
        let listed: String = files.iter().map(|(hash, file)| format!("{} {file}\n", hash.to_hex())).collect();
        if let Err(error) = self.folder.write(&name(key), &[&entry::encode(&listed, unit)]) {
            let mut unwritten = self.unwritten.lock().expect("no holder of this lock panics");
            unwritten.count += 1;
            unwritten.first.get_or_insert(error);
        }
    }

    fn file_hash(&self, path: &str) -> Option<Hash> {
        if let Some(known) = self.hashes.read().expect("no holder of this lock panics").get(path) {
            return *known;
        }
        let hash = hash_of(Path::new(path)).ok();
        self.hashes.write().expect("no holder of this lock panics").insert(path.to_owned(), hash);
        hash
    }
}

/// How a unit is compiled, by whom, and what is made of it.
pub(crate) fn unit_key(job: &Job, clang: &Clang) -> Key {
    key(FORMAT, &[clang.fingerprint(), clang.root_flag().unwrap_or_default()], job)
}

fn key(format: &str, compiler: &[String], job: &Job) -> Key {
    let mut hasher = blake3::Hasher::new();
    let mut part = |text: &[u8]| {
        hasher.update(&(text.len() as u64).to_le_bytes());
        hasher.update(text);
    };
    part(format.as_bytes());
    compiler.iter().for_each(|text| part(text.as_bytes()));
    part(job.path().as_os_str().as_encoded_bytes());
    if let Job::Compile(job) = job {
        part(job.directory.as_os_str().as_encoded_bytes());
        job.flags.iter().for_each(|f| part(f.as_bytes()));
    }
    Key(hasher.finalize().to_hex()[..32].to_owned())
}

/// The name of an entry in the folder.
fn name(key: &Key) -> OsString {
    format!("{}.unit", key.0).into()
}

/// Of regular files alone: a list of files may name a pipe or a device.
pub(crate) fn hash_of(path: &Path) -> io::Result<Hash> {
    let mut hasher = blake3::Hasher::new();
    hasher.update_reader(caulk_files::open(path, MAX_SOURCE)?)?;
    // It may have grown since it was opened.
    if hasher.count() > MAX_SOURCE { Err(ErrorKind::FileTooLarge.into()) } else { Ok(hasher.finalize()) }
}

pub(crate) fn modified(path: &str) -> Option<SystemTime> {
    fs::metadata(path).ok()?.modified().ok()
}

#[cfg(test)]
mod tests {
    use caulk_ir::{BlockId, Body, FunctionId, Inst, InstId, Operand, StrId, Unit};

    use super::*;
    use crate::{deciding::deciding, fingerprint};

    /// A cache with one entry, made from one file.
    struct Stored {
        folder: tempfile::TempDir,
        key: Key,
        bytes: Vec<u8>,
    }

    impl Stored {
        fn new() -> Self {
            let folder = tempfile::tempdir().expect("a temporary folder can be made");
            let file = folder.path().join("a.c");
            fs::write(&file, "int x;").expect("writable");
            let text = "define @f(p: ptr) -> ptr {\n  return %0 @ 1:2\n}\n";
            let unit = PackedUnit::pack(caulk_ir::text::parse_unit(text).expect("well formed"));
            let cache = Cache::open(folder.path()).expect("writable");
            let key = Key("0123".to_owned());
            cache.store(&key, &[file.display().to_string()], SystemTime::now(), &unit);
            let bytes = fs::read(folder.path().join("units").join(name(&key))).expect("stored");
            Self { folder, key, bytes }
        }

        /// Whether an entry of these bytes counts.
        fn loads(&self, bytes: &[u8]) -> bool {
            let cache = Cache::open(self.folder.path()).expect("writable");
            fs::write(self.folder.path().join("units").join(name(&self.key)), bytes).expect("writable");
            cache.load(&self.key).is_some()
        }
    }

    #[test]
    fn damage_at_any_position_is_noticed() {
        let stored = Stored::new();
        assert!(stored.loads(&stored.bytes));
        for at in 0..stored.bytes.len() {
            let mut flipped = stored.bytes.clone();
            flipped[at] ^= 0x10;
            assert!(!stored.loads(&flipped), "byte {at} flipped");
            assert!(!stored.loads(&stored.bytes[..at]), "cut after {at} bytes");
        }
    }

    #[test]
    fn a_unit_of_unknown_files_is_not_stored() {
        let stored = Stored::new();
        let cache = Cache::open(stored.folder.path()).expect("writable");
        let Cached { unit, files } = cache.load(&stored.key).expect("sound");
        assert!(matches!(files.as_slice(), [file] if file.ends_with("a.c")));
        let other = Key("4567".to_owned());
        cache.store(&other, &[], SystemTime::now(), &unit);
        assert!(cache.load(&other).is_none());
    }

    /// A folder in the place of the entry: as on a full disk, it cannot be written.
    #[test]
    fn what_cannot_be_written_is_counted() {
        let stored = Stored::new();
        let cache = Cache::open(stored.folder.path()).expect("writable");
        let Cached { unit, files } = cache.load(&stored.key).expect("sound");
        assert_eq!(cache.folder_troubles(), None);
        let other = Key("4567".to_owned());
        let units = stored.folder.path().join("units");
        fs::create_dir_all(units.join(name(&other)).join("in the way")).expect("writable");
        (0..2).for_each(|_| cache.store(&other, &files, SystemTime::now(), &unit));
        let troubles = cache.folder_troubles().expect("two failed");
        assert!(troubles.starts_with("2 units could not be written to the cache ("), "{troubles}");
        let left = fs::read_dir(&units).expect("readable").count();
        assert_eq!(left, 2, "nothing half written is left");
    }

    #[test]
    fn another_form_has_other_names() {
        let job = Job::Bitcode(caulk_capture::BitcodeJob { path: "/a.bc".into(), display: "a.bc".to_owned() });
        let key = |format: &str, compiler: &str| key(format, &[compiler.to_owned()], &job).0;
        assert_ne!(key("form one", "clang"), key("form two", "clang"));
        assert_ne!(key("form one", "clang"), key("form one", "another clang"));
        assert_eq!(key("form one", "clang"), key("form one", "clang"));
    }

    #[test]
    fn the_form_is_a_hash_of_the_sources_that_decide_it() {
        let root = Path::new(env!("CARGO_MANIFEST_DIR"));
        let plain = |path: &Path| fs::read(path);
        let places = deciding(root);
        assert_eq!(fingerprint::of(root, &places, &plain).expect("readable"), FORMAT);
        for deciding in
            ["../caulk-ir/src/pack.rs", "../caulk-ir/src/text/mod.rs", "src/lower/call.rs", "src/ssa/promote.rs"]
        {
            let deciding = root.join(deciding);
            let changed = |path: &Path| {
                let mut bytes = fs::read(path)?;
                bytes.extend(if path == deciding { &b" "[..] } else { b"" });
                Ok(bytes)
            };
            assert_ne!(fingerprint::of(root, &places, &changed).expect("readable"), FORMAT, "{}", deciding.display());
        }
    }

    /// A hash that fits proves nothing about who wrote the rest.
    #[test]
    fn nonsense_under_a_sound_hash_is_no_unit() {
        let stored = Stored::new();
        for content in [&b""[..], &[0; 8], &[0xff; 64], b"\x02\0\0\0\0\0\0\0xx rest"] {
            assert!(!stored.loads(&entry::seal(content)), "{content:?}");
        }
    }

    /// Each of these decodes, and would make a later part panic.
    #[test]
    fn a_unit_that_makes_no_sense_is_no_unit() {
        let stored = Stored::new();
        let file = stored.folder.path().join("a.c");
        let listed = format!("{} {}\n", blake3::hash(b"int x;").to_hex(), file.display());
        let entry = |change: fn(&mut Unit, &mut Body)| {
            let text = "define @f(p: ptr) -> ptr {\n  return %0 @ 1:2\n}\n";
            let mut unit = caulk_ir::text::parse_unit(text).expect("well formed");
            let mut body = unit.functions[FunctionId(0)].body.take().expect("defined");
            change(&mut unit, &mut body);
            unit.functions[FunctionId(0)].body = Some(body);
            entry::encode(&listed, &PackedUnit::pack(unit))
        };
        assert!(stored.loads(&entry(|_, _| {})));
        let changes: [fn(&mut Unit, &mut Body); 6] = [
            |unit, _| unit.functions[FunctionId(0)].symbol = StrId(99),
            |unit, _| unit.files = Default::default(),
            |unit, _| unit.functions[FunctionId(0)].is_definition = false,
            |_, body| body.insts[InstId(1)] = Inst::Return { value: Some(Operand::Value(InstId(7))) },
            |_, body| body.insts[InstId(1)] = Inst::Jump { target: BlockId(3) },
            |_, body| body.blocks[BlockId(0)].end = InstId(0),
        ];
        for (number, change) in changes.into_iter().enumerate() {
            assert!(!stored.loads(&entry(change)), "change {number}");
        }
    }
}
