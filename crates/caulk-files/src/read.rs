//! Reading a file that may be anything: a pipe, a device, larger than memory.

use std::fs::File;
use std::io::{self, ErrorKind, Read, Take};
use std::path::Path;

use rustix::fs::{Mode, OFlags};

/// Flags to open what is not known yet: a pipe without a writer must not block, and a terminal must not become ours.
pub(crate) const CAREFULLY: OFlags =
    OFlags::RDONLY.union(OFlags::CLOEXEC).union(OFlags::NONBLOCK).union(OFlags::NOCTTY);

/// A regular file of at most `limit` bytes, open for reading. It ends after one byte more than the limit, however it grows.
pub fn open(path: &Path, limit: u64) -> io::Result<Take<File>> {
    // Opening a device can have effects of its own, so that it is not even tried. The open file is asked again.
    regular(&std::fs::metadata(path)?, limit)?;
    let file = File::from(rustix::fs::open(path, CAREFULLY, Mode::empty())?);
    bounded(file, limit)
}

/// All bytes of a regular file of at most `limit` bytes.
pub fn read(path: &Path, limit: u64) -> io::Result<Vec<u8>> {
    all(open(path, limit)?, limit)
}

/// The text of a regular file of at most `limit` bytes.
pub fn read_text(path: &Path, limit: u64) -> io::Result<String> {
    String::from_utf8(read(path, limit)?).map_err(|_| io::Error::new(ErrorKind::InvalidData, "it is not UTF-8 text"))
}

pub(crate) fn bounded(file: File, limit: u64) -> io::Result<Take<File>> {
    regular(&file.metadata()?, limit)?;
    Ok(file.take(limit.saturating_add(1)))
}

/// Files that grow, and those of `/proc` that say they are empty, may be longer than they said.
pub(crate) fn all(mut file: Take<File>, limit: u64) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    file.read_to_end(&mut bytes)?;
    if bytes.len() as u64 > limit { Err(too_large(limit)) } else { Ok(bytes) }
}

fn regular(metadata: &std::fs::Metadata, limit: u64) -> io::Result<()> {
    if metadata.is_dir() {
        return Err(ErrorKind::IsADirectory.into());
    }
    if !metadata.is_file() {
        return Err(io::Error::new(ErrorKind::InvalidInput, "it is a pipe, a device or a socket, not a regular file"));
    }
    if metadata.len() > limit { Err(too_large(limit)) } else { Ok(()) }
}

fn too_large(limit: u64) -> io::Error {
    let message = match limit >> 20 {
        0 => format!("it is larger than {limit} bytes, the most that is read of it"),
        mebibytes => format!("it is larger than {mebibytes} MiB, the most that is read of it"),
    };
    io::Error::new(ErrorKind::FileTooLarge, message)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_regular_files_within_the_limit() {
        let folder = tempfile::tempdir().expect("a temporary folder can be made");
        let path = folder.path().join("file");
        std::fs::write(&path, "12345").expect("writable");
        assert_eq!(read(&path, 5).expect("small enough"), b"12345");
        assert_eq!(read(&path, 4).expect_err("too large").kind(), ErrorKind::FileTooLarge);
        // A sparse file is larger than any memory and costs nothing to make.
        File::options().write(true).open(&path).and_then(|f| f.set_len(1 << 40)).expect("writable");
        assert!(read(&path, 1 << 20).expect_err("too large").to_string().contains("1 MiB"));
        assert_eq!(read(folder.path(), 9).expect_err("a folder").kind(), ErrorKind::IsADirectory);
        assert_eq!(read(Path::new("/dev/zero"), 9).expect_err("a device").kind(), ErrorKind::InvalidInput);
        let pipe = folder.path().join("pipe");
        rustix::fs::mknodat(rustix::fs::CWD, &pipe, rustix::fs::FileType::Fifo, 0o600.into(), 0).expect("writable");
        assert_eq!(read(&pipe, 9).expect_err("a pipe").kind(), ErrorKind::InvalidInput);
    }

    /// Files of `/proc` say that they are empty.
    #[test]
    fn what_is_longer_than_it_says_is_cut_off() {
        let path = Path::new("/proc/self/maps");
        if path.exists() {
            assert_eq!(read(path, 10).expect_err("longer").kind(), ErrorKind::FileTooLarge);
        }
    }
}
