//! Reading files that somebody else has named: only regular ones, and only up to a bound. A device may never end, and a
//! FIFO may never begin.

use std::fs::{File, OpenOptions};
use std::io::Read;
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

use blake3::Hash;
use rustix::fs::OFlags;

/// The bytes of a regular file that is no longer than `most`.
pub(crate) fn read(path: &Path, most: u64) -> Option<Vec<u8>> {
    let mut bytes = Vec::new();
    open(path, most)?.read_to_end(&mut bytes).ok()?;
    (bytes.len() as u64 <= most).then_some(bytes)
}

/// The hash of a regular file that is no longer than `most`.
pub(crate) fn hash(path: &Path, most: u64) -> Option<Hash> {
    let mut hasher = blake3::Hasher::new();
    hasher.update_reader(open(path, most)?).ok()?;
    (hasher.count() <= most).then(|| hasher.finalize())
}

/// The file may grow while it is read, hence one byte more than `most`: who reads it counts.
fn open(path: &Path, most: u64) -> Option<std::io::Take<File>> {
    // Opened without waiting and asked afterwards: what was a file a moment ago can be a FIFO by now.
    let flags = i32::try_from((OFlags::NONBLOCK | OFlags::NOCTTY).bits()).ok()?;
    let file = OpenOptions::new().read(true).custom_flags(flags).open(path).ok()?;
    let metadata = file.metadata().ok()?;
    (metadata.is_file() && metadata.len() <= most).then(|| file.take(most.saturating_add(1)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn regular_files_up_to_a_bound() {
        let folder = tempfile::tempdir().expect("a temporary folder can be made");
        let file = folder.path().join("a");
        std::fs::write(&file, "12345").expect("writable");
        assert_eq!(read(&file, 5).as_deref(), Some(&b"12345"[..]));
        assert_eq!(hash(&file, 5), Some(blake3::hash(b"12345")));
        assert_eq!((read(&file, 4), hash(&file, 4)), (None, None));
    }

    /// Neither waits nor reads for ever.
    #[test]
    fn nothing_else() {
        let folder = tempfile::tempdir().expect("a temporary folder can be made");
        let fifo = folder.path().join("fifo");
        rustix::fs::mknodat(rustix::fs::CWD, &fifo, rustix::fs::FileType::Fifo, rustix::fs::Mode::RUSR, 0)
            .expect("a FIFO can be made");
        for path in [&fifo, Path::new("/dev/zero"), Path::new("/dev/null"), folder.path(), Path::new("/no/such/file")] {
            assert_eq!((read(path, 1 << 40), hash(path, 1 << 40)), (None, None), "{path:?}");
        }
    }
}
