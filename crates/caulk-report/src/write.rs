//! Puts a result where it belongs, whole or not at all.

use std::io::{self, Write};
use std::path::Path;

/// Writes a file aside and moves it into place. What is no ordinary file (`/dev/stdout`, a pipe) is written to directly.
pub fn file(path: &Path, bytes: &[u8]) -> io::Result<()> {
    if std::fs::metadata(path).is_ok_and(|m| !m.is_file()) {
        return std::fs::OpenOptions::new().write(true).open(path)?.write_all(bytes);
    }
    let folder = match path.parent() {
        Some(folder) if !folder.as_os_str().is_empty() => folder,
        _ => Path::new("."),
    };
    let mut builder = tempfile::Builder::new();
    builder.prefix(".caulk-");
    for_everyone(&mut builder);
    let mut aside = builder.tempfile_in(folder)?;
    aside.write_all(bytes)?;
    aside.persist(path).map(drop).map_err(|e| e.error)
}

/// Temporary files are private; results are for all whom the user's umask lets read.
fn for_everyone(builder: &mut tempfile::Builder<'_, '_>) {
    #[cfg(unix)]
    builder.permissions(std::os::unix::fs::PermissionsExt::from_mode(0o666));
}

#[cfg(test)]
mod tests {
    #[test]
    fn nothing_is_left_behind() {
        let folder = tempfile::tempdir().expect("a temporary folder can be made");
        let path = folder.path().join("out.json");
        super::file(&path, b"old").expect("writable");
        super::file(&path, b"new").expect("writable");
        assert_eq!(std::fs::read(&path).expect("written"), b"new");
        assert_eq!(std::fs::read_dir(folder.path()).expect("readable").count(), 1);
        assert!(super::file(&folder.path().join("no/out.json"), b"x").is_err());
    }
}
