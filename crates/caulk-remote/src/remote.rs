//! The store as callers see it: bytes by name, or nothing.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use crate::address::{Address, AddressError};
use crate::folder::FolderStore;
use crate::health::Health;

/// What may be done with a store.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Mode {
    Read,
    #[default]
    ReadWrite,
}

#[derive(Clone, Copy, Debug)]
pub struct Settings {
    pub mode: Mode,
    /// For one operation. A folder has none: its file system decides.
    pub timeout: Duration,
}

impl Settings {
    /// Long enough for the largest entries over a slow line, short enough that a server that hangs costs half a minute.
    pub const TIMEOUT: Duration = Duration::from_secs(10);
}

impl Default for Settings {
    fn default() -> Self {
        Self { mode: Mode::default(), timeout: Self::TIMEOUT }
    }
}

#[derive(Debug)]
pub struct Remote {
    backend: Backend,
    /// The address without login.
    shown: String,
    mode: Mode,
    reads: Health,
    writes: Health,
    /// Entries that a caller refused.
    refused: AtomicUsize,
}

#[derive(Debug)]
enum Backend {
    Folder(FolderStore),
    #[cfg(feature = "services")]
    Service(crate::service::Service),
}

impl Remote {
    /// Fails for what is no address; whether a store is there shows when it is used.
    pub fn open(address: &str, settings: Settings) -> Result<Self, AddressError> {
        let (address, shown) = Address::parse(address)?;
        let backend = backend(address, &shown, settings)?;
        Ok(Self {
            backend,
            shown,
            mode: settings.mode,
            reads: Health::default(),
            writes: Health::default(),
            refused: AtomicUsize::new(0),
        })
    }

    /// What is stored under a name (of letters, digits and dots). None when there is nothing, when it is larger than `limit`,
    /// and when the store does not answer.
    pub fn get(&self, name: &str, limit: u64) -> Option<Vec<u8>> {
        if !self.reads.is_up() {
            return None;
        }
        self.reads.note(match &self.backend {
            Backend::Folder(folder) => folder.get(name, limit).map_err(|error| error.to_string()),
            #[cfg(feature = "services")]
            Backend::Service(service) => service.get(name, limit),
        })?
    }

    /// Stores bytes, if that is allowed and possible. Who reads sees the old bytes or the new ones, whole.
    pub fn put(&self, name: &str, bytes: Vec<u8>) -> bool {
        // A server that does not answer will not store anything either.
        if !self.is_writable() || !self.writes.is_up() || !self.reads.is_up() {
            return false;
        }
        let stored = match &self.backend {
            Backend::Folder(folder) => folder.put(name, &bytes).map_err(|error| error.to_string()),
            #[cfg(feature = "services")]
            Backend::Service(service) => service.put(name, bytes),
        };
        self.writes.note(stored).is_some()
    }

    pub fn is_writable(&self) -> bool {
        self.mode == Mode::ReadWrite
    }

    /// The caller found an entry to be damaged or forged.
    pub fn refuse(&self) {
        self.refused.fetch_add(1, Ordering::Relaxed);
    }

    /// What went wrong, in one line. None when all went well.
    pub fn troubles(&self) -> Option<String> {
        let refused = match self.refused.load(Ordering::Relaxed) {
            0 => None,
            1 => Some("1 entry was damaged or not what was asked for, and was not used".to_owned()),
            count => Some(format!("{count} entries were damaged or not what was asked for, and were not used")),
        };
        let all = [self.reads.trouble("reading"), self.writes.trouble("writing"), refused];
        let all: Vec<String> = all.into_iter().flatten().collect();
        (!all.is_empty()).then(|| format!("the remote cache {}: {}", self.shown, all.join("; ")))
    }
}

#[cfg(feature = "services")]
fn backend(address: Address, shown: &str, settings: Settings) -> Result<Backend, AddressError> {
    if let Address::Folder(path) = address {
        return Ok(Backend::Folder(FolderStore::new(path, settings.mode == Mode::ReadWrite)));
    }
    let service = crate::service::Service::new(&address, settings.mode, settings.timeout);
    service.map(Backend::Service).map_err(|what| AddressError::Wrong(shown.to_owned(), what))
}

#[cfg(not(feature = "services"))]
fn backend(address: Address, shown: &str, settings: Settings) -> Result<Backend, AddressError> {
    match address {
        Address::Folder(path) => Ok(Backend::Folder(FolderStore::new(path, settings.mode == Mode::ReadWrite))),
        _ => Err(AddressError::NotBuilt(shown.to_owned())),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn open(path: &std::path::Path, mode: Mode) -> Remote {
        Remote::open(&format!("file://{}", path.display()), Settings { mode, ..Settings::default() }).expect("a folder")
    }

    #[test]
    fn a_folder_keeps_what_is_put() {
        let folder = tempfile::tempdir().expect("a temporary folder can be made");
        let path = folder.path().join("made/on/demand");
        let (writer, reader) = (open(&path, Mode::ReadWrite), open(&path, Mode::Read));
        assert_eq!(writer.get("abcd", 3), None);
        assert!(writer.put("abcd", b"one".to_vec()) && writer.put("abcd", b"two".to_vec()));
        assert_eq!(reader.get("abcd", 3).as_deref(), Some(&b"two"[..]));
        assert_eq!(reader.get("abce", 3), None);
        assert!(!reader.put("abcd", b"three".to_vec()), "it may only read");
        assert_eq!((writer.troubles(), reader.troubles()), (None, None));
        assert_eq!(reader.get("abcd", 2), None, "too large");
        assert!(reader.troubles().is_some());
    }

    #[test]
    fn a_folder_that_is_not_there_is_told_once() {
        let folder = tempfile::tempdir().expect("a temporary folder can be made");
        let remote = open(&folder.path().join("no"), Mode::Read);
        (0..9).for_each(|_| assert_eq!(remote.get("abcd", 9), None));
        let told = remote.troubles().expect("it is not there");
        assert!(told.contains("reading failed 3 times") && told.contains("left alone"), "{told}");
        remote.refuse();
        assert!(remote.troubles().is_some_and(|told| told.contains("1 entry was damaged")));
    }

    /// A file where a folder should be: as on a full or read-only disk, nothing can be written.
    #[test]
    fn what_cannot_be_written_is_told() {
        let folder = tempfile::tempdir().expect("a temporary folder can be made");
        std::fs::write(folder.path().join("ab"), "in the way").expect("writable");
        let remote = open(folder.path(), Mode::ReadWrite);
        assert!(!remote.put("abcd", b"x".to_vec()));
        assert!(remote.put("cdef", b"x".to_vec()), "one failure is not the end");
        assert!(remote.troubles().is_some_and(|told| told.contains("writing failed once")));
    }
}
