//! One hash of many sources, for build scripts.

use std::path::{Path, PathBuf};
use std::{fs, io};

/// A hash of the names and bytes of these files, and of those below these folders, as hexadecimal digits. Names are from `root`.
pub(crate) fn of(root: &Path, places: &[PathBuf], read: &dyn Fn(&Path) -> io::Result<Vec<u8>>) -> io::Result<String> {
    let mut files = Vec::new();
    for place in places {
        list(place, &mut files)?;
    }
    let mut hasher = blake3::Hasher::new();
    for file in files {
        let name = file.strip_prefix(root).unwrap_or(&file).as_os_str().as_encoded_bytes();
        let bytes = read(&file)?;
        for part in [name, &bytes] {
            hasher.update(&(part.len() as u64).to_le_bytes());
            hasher.update(part);
        }
    }
    Ok(hasher.finalize().to_hex().to_string())
}

/// The file itself, or all files below a folder, by name.
fn list(place: &Path, files: &mut Vec<PathBuf>) -> io::Result<()> {
    if !place.is_dir() {
        files.push(place.to_owned());
        return Ok(());
    }
    let mut entries = fs::read_dir(place)?.map(|entry| Ok(entry?.path())).collect::<io::Result<Vec<_>>>()?;
    entries.sort();
    entries.iter().try_for_each(|entry| list(entry, files))
}
