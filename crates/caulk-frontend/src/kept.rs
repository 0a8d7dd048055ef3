//! Units that stay in memory from one run to the next, for a process that reads a project again and again: an editor's server, or the check of
//! many fixes.
//!
//! As in the cache on disk, a unit counts while all files that it was made from are unchanged. Texts in place of files count as files here.

use std::collections::HashMap;
use std::path::Path;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, RwLock};
use std::time::SystemTime;

use blake3::Hash;
use caulk_capture::Job;
use caulk_ir::PackedUnit;

use crate::cache::{Key, hash_of, modified, unit_key};
use crate::clang::Clang;
use crate::overlay::Overlay;
use crate::read::{ReadUnit, UnitSource};

/// Units by how they are compiled.
#[derive(Debug, Default)]
pub struct KeptUnits(Mutex<HashMap<String, KeptUnit>>);

#[derive(Debug)]
struct KeptUnit {
    unit: Arc<PackedUnit>,
    files: Vec<(Hash, String)>,
}

/// One run over them.
pub(crate) struct Iteration<'k> {
    kept: &'k KeptUnits,
    overlay: &'k Overlay,
    /// When the run began: a file that changed later need not be what was read.
    started: SystemTime,
    /// Hashes of the files seen in this run: headers are shared by many units.
    hashes: RwLock<HashMap<String, Option<Hash>>>,
}

impl KeptUnits {
    pub(crate) fn iteration<'k>(&'k self, overlay: &'k Overlay) -> Iteration<'k> {
        Iteration { kept: self, overlay, started: SystemTime::now(), hashes: RwLock::default() }
    }

    fn units(&self) -> MutexGuard<'_, HashMap<String, KeptUnit>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Iteration<'_> {
    /// The unit of the last run, if nothing that it was made from has changed.
    pub(crate) fn find(&self, job: &Job, clang: &Clang) -> Option<ReadUnit> {
        let Key(key) = unit_key(job, clang);
        let (unit, files) = {
            let units = self.kept.units();
            let kept = units.get(&key)?;
            (Arc::clone(&kept.unit), kept.files.clone())
        };
        let is_same = |(hash, file): &(Hash, String)| self.hash(file) == Some(*hash);
        let is_current = unit.unit.source == job.display() && files.iter().all(is_same);
        let files = files.into_iter().map(|(_, file)| file).collect();
        is_current.then_some(ReadUnit { unit, origin: UnitSource::Cache, files })
    }

    /// Keeps a unit that was just read.
    pub(crate) fn keep(&self, job: &Job, clang: &Clang, read: &ReadUnit) {
        let Key(key) = unit_key(job, clang);
        let is_settled = |file: &String| {
            self.overlay.text(Path::new(file)).is_some() || modified(file).is_some_and(|time| time <= self.started)
        };
        let hashed = |file: &String| Some((self.hash(file).filter(|_| is_settled(file))?, file.clone()));
        let files: Option<Vec<(Hash, String)>> = read.files.iter().map(hashed).collect();
        let mut units = self.kept.units();
        match files.filter(|files| !files.is_empty()) {
            Some(files) => drop(units.insert(key, KeptUnit { unit: Arc::clone(&read.unit), files })),
            None => drop(units.remove(&key)),
        }
    }

    fn hash(&self, file: &str) -> Option<Hash> {
        if let Some(known) = self.hashes.read().unwrap_or_else(PoisonError::into_inner).get(file) {
            return *known;
        }
        let path = Path::new(file);
        let hash = match self.overlay.text(path) {
            // Under other rules the same text may fail to compile.
            Some(text) => Some(blake3::hash(&[text, &[u8::from(self.overlay.is_strict())]].concat())),
            None => hash_of(path).ok(),
        };
        self.hashes.write().unwrap_or_else(PoisonError::into_inner).insert(file.to_owned(), hash);
        hash
    }
}
