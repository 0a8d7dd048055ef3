//! A store in a folder, on a file system that all machines see.

use std::ffi::OsStr;
use std::io::{self, ErrorKind};
use std::path::PathBuf;

use caulk_files::{Destination, Folder};

/// Names are spread over folders by their first letters, since some file systems are slow with very large folders.
const LETTERS: usize = 2;

#[derive(Debug)]
pub(crate) struct FolderStore {
    root: PathBuf,
    /// It may be written to, and is made when something is.
    is_made: bool,
}

impl FolderStore {
    pub(crate) fn new(root: PathBuf, is_made: bool) -> Self {
        Self { root, is_made }
    }

    /// None when there is no such name; an error when there is no such store.
    pub(crate) fn get(&self, name: &str, limit: u64) -> io::Result<Option<Vec<u8>>> {
        let root = match Folder::open(&self.root) {
            Err(error) if error.kind() == ErrorKind::NotFound && self.is_made => return Ok(None),
            opened => opened?,
        };
        let found = root.folder(inner(name)).and_then(|folder| folder.read(OsStr::new(name), limit));
        match found {
            Ok(bytes) => Ok(Some(bytes)),
            Err(error) if error.kind() == ErrorKind::NotFound => Ok(None),
            Err(error) => Err(error),
        }
    }

    pub(crate) fn put(&self, name: &str, bytes: &[u8]) -> io::Result<()> {
        let root = Destination::named(self.root.clone()).folder()?;
        root.make_folder(inner(name))?.write(OsStr::new(name), &[bytes])
    }
}

fn inner(name: &str) -> &OsStr {
    OsStr::new(name.get(..LETTERS).unwrap_or(name))
}
