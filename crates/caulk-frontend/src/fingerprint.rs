//! Which sources decide the form and the content of a cache entry, and one hash of them all. The build script uses it, and the
//! tests of `cache.rs`.

use std::path::{Path, PathBuf};
use std::{fs, io};

/// Files and folders, from the folder of this crate: core IR with its packed form, the reading of clang's output, and
/// clang's own flags. What only asks for units (`read.rs`, `failure.rs`) is not among them.
pub(crate) const DECIDING: &[&str] = &[
    "../caulk-ir/src",
    "../caulk-ir/Cargo.toml",
    "src/clang.rs",
    "src/entry.rs",
    "src/environment.rs",
    "src/isolated.rs",
    "src/llvm",
    "src/portable.rs",
    "src/lower",
    "src/shared.rs",
    "src/ssa",
];

/// A hash of the names and bytes of these files below `root`, as hexadecimal digits.
pub(crate) fn fingerprint(root: &Path, read: &dyn Fn(&Path) -> io::Result<Vec<u8>>) -> io::Result<String> {
    let mut files = Vec::new();
    for place in DECIDING {
        list(&root.join(place), &mut files)?;
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
