//! Texts that are read in place of files: a proposed fix that is not written yet, or an editor's unsaved buffer.
//!
//! clang reads them through its virtual file system, so that includes are found beside the real file and debug info names it. A
//! unit that was read from such a text is not stored in the cache.

use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::io;
use std::path::{Path, PathBuf};

use caulk_files::Folder;
use serde_json::json;

const DESCRIPTION: &str = "overlay.json";

#[derive(Clone, Debug, Default)]
pub struct Overlay {
    /// By absolute path.
    files: BTreeMap<PathBuf, Vec<u8>>,
    /// Calls of functions that are not declared are errors, whatever the project says: a fix must not add one.
    is_strict: bool,
}

impl Overlay {
    pub fn new(files: BTreeMap<PathBuf, Vec<u8>>) -> Self {
        Self { files, is_strict: false }
    }

    /// Likewise, and calls of undeclared functions make a unit fail.
    pub fn strict(files: BTreeMap<PathBuf, Vec<u8>>) -> Self {
        Self { files, is_strict: true }
    }

    pub fn is_empty(&self) -> bool {
        self.files.is_empty()
    }

    pub fn iter(&self) -> impl Iterator<Item = (&Path, &[u8])> {
        self.files.iter().map(|(path, text)| (path.as_path(), text.as_slice()))
    }

    /// The text in place of a file.
    pub(crate) fn text(&self, path: &Path) -> Option<&[u8]> {
        self.files.get(path).map(Vec::as_slice)
    }

    pub(crate) fn is_strict(&self) -> bool {
        self.is_strict
    }

    /// Whether one of the files that a unit is made from has another text.
    pub(crate) fn covers(&self, files: &[String]) -> bool {
        !self.is_empty() && files.iter().any(|file| self.files.contains_key(Path::new(file)))
    }

    /// Writes the texts to a folder, and the description of them that clang reads.
    pub(crate) fn write(&self, folder: &Path) -> io::Result<Option<PathBuf>> {
        if self.is_empty() {
            return Ok(None);
        }
        let place = Folder::open(folder)?;
        let mut roots = Vec::new();
        for (number, (path, text)) in self.files.iter().enumerate() {
            let copy = format!("overlay-{number}");
            place.write_new(OsStr::new(&copy), text)?;
            let copy = folder.join(copy);
            // clang's description is text: a path that is none cannot be in it.
            let Some((name, copy)) = path.to_str().zip(copy.to_str()) else { continue };
            roots.push(json!({ "type": "file", "name": name, "external-contents": copy }));
        }
        let content = json!({ "version": 0, "case-sensitive": "true", "use-external-names": "false", "roots": roots });
        place.write_new(OsStr::new(DESCRIPTION), content.to_string().as_bytes())?;
        Ok(Some(folder.join(DESCRIPTION)))
    }

    /// Flags for clang that stand after all others.
    pub(crate) fn flags(&self, description: Option<&Path>) -> Vec<OsString> {
        let Some(description) = description else { return Vec::new() };
        let mut flags = vec!["-ivfsoverlay".into(), description.into()];
        if self.is_strict {
            flags.push("-Werror=implicit-function-declaration".into());
        }
        flags
    }
}
