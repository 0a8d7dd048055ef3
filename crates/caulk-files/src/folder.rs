//! An open folder, and what is done in it by name. No name is ever followed through a symbolic link.

use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io::{self, Write};
use std::os::fd::OwnedFd;
use std::path::{Component, Path};
use std::sync::atomic::{AtomicU64, Ordering};

use rustix::fs::{AtFlags, CWD, Dir, FileType, Mode, OFlags};
use rustix::io::Errno;

use crate::read::{CAREFULLY, all, bounded};

const FOLDER: OFlags = OFlags::RDONLY.union(OFlags::DIRECTORY).union(OFlags::CLOEXEC);
/// Results are for all whom the user's umask lets read.
const NEW_FILE: u32 = 0o666;
const SECRET_FILE: u32 = 0o600;
const NEW_FOLDER: u32 = 0o777;
/// Names tried before giving up on a new one.
const MAX_NAMES: u64 = 64;
/// Folders in folders that are removed. What Caulk writes is three deep; what a project ships may be as deep as it likes.
const MAX_DEPTH: usize = 32;

#[derive(Debug)]
pub struct Folder {
    handle: OwnedFd,
}

impl Folder {
    /// A folder the user named, wherever it leads.
    pub fn open(path: &Path) -> io::Result<Self> {
        let path = if path.as_os_str().is_empty() { Path::new(".") } else { path };
        Ok(Self { handle: rustix::fs::openat(CWD, path, FOLDER, Mode::empty())? })
    }

    /// A folder below `root`, by the names that lead there. Whatever of it is a symbolic link is refused.
    pub fn below(root: &Path, path: &Path, is_made: bool) -> io::Result<Self> {
        let mut folder = Self::open(root)?;
        for part in path.components() {
            folder = match part {
                Component::Normal(name) if is_made => folder.make_folder(name)?,
                Component::Normal(name) => folder.folder(name)?,
                Component::CurDir => folder,
                _ => return Err(io::Error::other("the path leads out of its folder")),
            };
        }
        Ok(folder)
    }

    /// A folder in this one.
    pub fn folder(&self, name: &OsStr) -> io::Result<Self> {
        match rustix::fs::openat(&self.handle, name, FOLDER | OFlags::NOFOLLOW, Mode::empty()) {
            Ok(handle) => Ok(Self { handle }),
            Err(_) if self.kind(name) == Some(FileType::Symlink) => Err(is_link(name)),
            Err(error) => Err(error.into()),
        }
    }

    /// A folder in this one, which is made if it is not there.
    pub fn make_folder(&self, name: &OsStr) -> io::Result<Self> {
        match rustix::fs::mkdirat(&self.handle, name, NEW_FOLDER.into()) {
            Ok(()) | Err(Errno::EXIST) => self.folder(name),
            Err(error) => Err(error.into()),
        }
    }

    /// What a name stands for, itself and not what it leads to.
    fn kind(&self, name: &OsStr) -> Option<FileType> {
        let found = rustix::fs::statat(&self.handle, name, AtFlags::SYMLINK_NOFOLLOW).ok()?;
        Some(FileType::from_raw_mode(found.st_mode))
    }

    pub fn exists(&self, name: &OsStr) -> bool {
        self.kind(name).is_some()
    }

    pub fn has_file(&self, name: &OsStr) -> bool {
        self.kind(name) == Some(FileType::RegularFile)
    }

    pub fn is_empty(&self) -> io::Result<bool> {
        Ok(self.names()?.is_empty())
    }

    fn names(&self) -> io::Result<Vec<OsString>> {
        use std::os::unix::ffi::OsStrExt;
        let mut names = Vec::new();
        for entry in Dir::read_from(&self.handle)? {
            let entry = entry?;
            let name = OsStr::from_bytes(entry.file_name().to_bytes());
            if name != "." && name != ".." {
                names.push(name.to_owned());
            }
        }
        Ok(names)
    }

    /// All bytes of a regular file of at most `limit` bytes.
    pub fn read(&self, name: &OsStr, limit: u64) -> io::Result<Vec<u8>> {
        let file = rustix::fs::openat(&self.handle, name, CAREFULLY | OFlags::NOFOLLOW, Mode::empty())?;
        all(bounded(File::from(file), limit)?, limit)
    }

    /// Writes a file aside and moves it into place: a reader sees the old one or the new one, whole.
    pub fn write(&self, name: &OsStr, parts: &[&[u8]]) -> io::Result<()> {
        self.write_for(name, parts, NEW_FILE)
    }

    /// Likewise, a file that only the user may read.
    pub fn write_secret(&self, name: &OsStr, bytes: &[u8]) -> io::Result<()> {
        self.write_for(name, &[bytes], SECRET_FILE)
    }

    fn write_for(&self, name: &OsStr, parts: &[&[u8]], mode: u32) -> io::Result<()> {
        let (aside, mut file) = self.fresh(|name| self.new_file(name, mode))?;
        let written = parts.iter().try_for_each(|part| file.write_all(part));
        let moved = written.and_then(|()| self.rename(&aside, self, name));
        if moved.is_err() {
            let _ = rustix::fs::unlinkat(&self.handle, &aside, AtFlags::empty());
        }
        moved
    }

    /// Whether files can be made in here: one is made and removed.
    pub fn check(&self) -> io::Result<()> {
        let (name, _) = self.fresh(|name| self.new_file(name, NEW_FILE))?;
        Ok(rustix::fs::unlinkat(&self.handle, &name, AtFlags::empty())?)
    }

    /// Writes a file that is not there yet; what is there is left alone.
    pub fn write_new(&self, name: &OsStr, bytes: &[u8]) -> io::Result<()> {
        self.new_file(name, NEW_FILE)?.write_all(bytes)
    }

    fn new_file(&self, name: &OsStr, mode: u32) -> io::Result<File> {
        let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        Ok(File::from(rustix::fs::openat(&self.handle, name, flags, mode.into())?))
    }

    /// Removes all files but the `count` that were written last.
    pub fn keep_newest(&self, count: usize) -> io::Result<()> {
        let written = |name: &OsString| {
            let found = rustix::fs::statat(&self.handle, name.as_os_str(), AtFlags::SYMLINK_NOFOLLOW).ok()?;
            Some((found.st_mtime, found.st_mtime_nsec))
        };
        let mut files: Vec<_> = self.names()?.into_iter().filter(|name| self.has_file(name)).collect();
        files.sort_by_cached_key(|name| std::cmp::Reverse(written(name)));
        files.iter().skip(count).try_for_each(|name| self.remove(name, 0))
    }

    /// Moves a file or folder, in one step.
    pub fn rename(&self, name: &OsStr, other: &Folder, new_name: &OsStr) -> io::Result<()> {
        Ok(rustix::fs::renameat(&self.handle, name, &other.handle, new_name)?)
    }

    /// A new folder for files that are then moved into place; it is removed with all that is left in it.
    pub fn aside(&self) -> io::Result<Aside<'_>> {
        let make = |name: &OsStr| rustix::fs::mkdirat(&self.handle, name, NEW_FOLDER.into()).map_err(io::Error::from);
        let (name, ()) = self.fresh(make)?;
        let folder = self.folder(&name)?;
        Ok(Aside { parent: self, name, folder })
    }

    /// Makes something under a name that is not taken.
    fn fresh<T>(&self, make: impl Fn(&OsStr) -> io::Result<T>) -> io::Result<(OsString, T)> {
        static NEXT: AtomicU64 = AtomicU64::new(0);
        for _ in 0..MAX_NAMES {
            let name = format!(".caulk-{}-{}", std::process::id(), NEXT.fetch_add(1, Ordering::Relaxed));
            let name = OsString::from(name);
            match make(&name) {
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
                made => return made.map(|made| (name, made)),
            }
        }
        Err(io::Error::other("no name is free for a temporary file"))
    }

    /// Removes a file, or a folder with what is in it.
    fn remove(&self, name: &OsStr, depth: usize) -> io::Result<()> {
        if self.kind(name) != Some(FileType::Directory) {
            return Ok(rustix::fs::unlinkat(&self.handle, name, AtFlags::empty())?);
        }
        if depth == MAX_DEPTH {
            return Err(io::Error::other("the folders in it are too many deep"));
        }
        let folder = self.folder(name)?;
        for inner in folder.names()? {
            folder.remove(&inner, depth + 1)?;
        }
        Ok(rustix::fs::unlinkat(&self.handle, name, AtFlags::REMOVEDIR)?)
    }
}

/// A folder of our own beside the place of a result.
#[derive(Debug)]
pub struct Aside<'a> {
    parent: &'a Folder,
    name: OsString,
    pub folder: Folder,
}

impl Drop for Aside<'_> {
    fn drop(&mut self) {
        let _ = self.parent.remove(&self.name, 0);
    }
}

fn is_link(name: &OsStr) -> io::Error {
    let name = name.to_string_lossy();
    io::Error::other(format!(
        "{name} is a symbolic link, which is not followed for a project; the command line may name where it leads"
    ))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::symlink;

    fn name(text: &str) -> &OsStr {
        OsStr::new(text)
    }

    #[test]
    fn links_are_not_followed() {
        let root = tempfile::tempdir().expect("a temporary folder can be made");
        let (inside, outside) = (root.path().join("in"), root.path().join("out"));
        std::fs::create_dir_all(inside.join("real")).expect("writable");
        std::fs::create_dir(&outside).expect("writable");
        std::fs::write(outside.join("file"), "old").expect("writable");
        symlink(&outside, inside.join("link")).expect("writable");
        symlink(outside.join("file"), inside.join("real/file")).expect("writable");
        symlink(outside.join("new"), inside.join("real/dangling")).expect("writable");
        let below = |path: &str| Folder::below(&inside, Path::new(path), true);
        for path in ["link", "link/deeper", "real/../../out", "/tmp"] {
            assert!(below(path).is_err(), "{path}");
        }
        let real = below("./real").expect("a real folder");
        assert!(real.read(name("file"), 9).is_err());
        assert!(real.write_new(name("dangling"), b"x").is_err());
        real.write(name("file"), &[b"n", b"ew"]).expect("the link is replaced");
        assert_eq!(std::fs::read_to_string(inside.join("real/file")).expect("written"), "new");
        assert_eq!(std::fs::read_to_string(outside.join("file")).expect("untouched"), "old");
        assert_eq!(std::fs::read_dir(&outside).expect("readable").count(), 1);
        assert!(real.read(name("file"), 9).is_ok() && below("new/folder").is_ok());
    }

    #[test]
    fn the_newest_files_stay() {
        let root = tempfile::tempdir().expect("a temporary folder can be made");
        let folder = Folder::open(root.path()).expect("it is there");
        for (age, file) in ["c", "a", "b"].into_iter().enumerate() {
            folder.write(name(file), &[b"x"]).expect("writable");
            let written = std::time::SystemTime::now() - std::time::Duration::from_secs(100 * age as u64);
            let file = std::fs::File::options().append(true).open(root.path().join(file)).expect("written");
            file.set_modified(written).expect("ours");
        }
        folder.make_folder(name("inner")).expect("writable");
        folder.keep_newest(2).expect("writable");
        assert!(folder.has_file(name("c")) && folder.has_file(name("a")) && !folder.exists(name("b")));
        assert!(folder.exists(name("inner")));
    }

    #[test]
    fn a_secret_is_for_the_user_alone() {
        use std::os::unix::fs::PermissionsExt;
        let root = tempfile::tempdir().expect("a temporary folder can be made");
        let folder = Folder::open(root.path()).expect("it is there");
        folder.write_secret(name("key"), b"secret").expect("writable");
        let mode = std::fs::metadata(root.path().join("key")).expect("written").permissions().mode();
        assert_eq!(mode & 0o777, 0o600);
    }

    /// What is removed is what is there, not what it leads to.
    #[test]
    fn folders_aside_are_removed() {
        let root = tempfile::tempdir().expect("a temporary folder can be made");
        std::fs::create_dir_all(root.path().join("out/deep")).expect("writable");
        let folder = Folder::open(root.path()).expect("it is there");
        {
            let aside = folder.aside().expect("writable");
            let inner = aside.folder.make_folder(name("inner")).expect("writable");
            inner.write(name("file"), &[b"x"]).expect("writable");
            rustix::fs::symlinkat(root.path().join("out"), &inner.handle, "link").expect("writable");
        }
        assert!(root.path().join("out/deep").exists());
        assert_eq!(std::fs::read_dir(root.path()).expect("readable").count(), 1, "nothing is left behind");
    }
}
