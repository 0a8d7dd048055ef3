//! Where a result goes, and who said so.

use std::ffi::OsString;
use std::fmt;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use crate::folder::Folder;

/// The place of a file or folder that is to be written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Destination {
    path: PathBuf,
    /// For what a project names: the folder that it must not leave.
    root: Option<PathBuf>,
}

impl Destination {
    /// What the user names: it may be anywhere, and links are followed.
    pub fn named(path: PathBuf) -> Self {
        Self { path, root: None }
    }

    /// What a project names: below `root`, and no link is followed.
    pub fn below(root: &Path, path: PathBuf) -> Self {
        Self { path, root: Some(root.to_owned()) }
    }

    /// The destination as a folder, which is made if it is not there.
    pub fn folder(&self) -> io::Result<Folder> {
        match &self.root {
            Some(root) => Folder::below(root, &self.path, true),
            None => {
                std::fs::create_dir_all(&self.path)?;
                Folder::open(&self.path)
            }
        }
    }

    /// The folder around the destination, and its name in there.
    pub fn parent(&self) -> io::Result<(Folder, OsString)> {
        // A link to a folder stands for the folder.
        let is_link = self.root.is_none() && self.path.is_symlink() && self.path.is_dir();
        let path = if is_link { self.path.canonicalize()? } else { self.path.clone() };
        let nameless = || io::Error::other("the path does not end in a name");
        let name = path.file_name().ok_or_else(nameless)?.to_owned();
        let folder = path.parent().unwrap_or(Path::new(""));
        let folder = match &self.root {
            Some(root) => Folder::below(root, folder, false)?,
            None => Folder::open(folder)?,
        };
        Ok((folder, name))
    }

    /// Whether a file could be written here now, so that hours of work are not lost to a misspelt path. Nothing is left behind.
    pub fn check(&self) -> io::Result<()> {
        let found = std::fs::metadata(&self.path).ok().filter(|_| self.root.is_none());
        match found {
            Some(found) if found.is_dir() => return Err(io::Error::other("it is a folder; name a file")),
            Some(found) if !found.is_file() => return Ok(()),
            _ => {}
        }
        let (folder, _) = self.parent()?;
        folder.check()
    }

    /// Writes a file aside and moves it into place. What the user names and is no ordinary file (`/dev/stdout`, a pipe) is
    /// written to directly.
    pub fn write(&self, bytes: &[u8]) -> io::Result<()> {
        if self.root.is_none() && std::fs::metadata(&self.path).is_ok_and(|m| !m.is_file()) {
            return std::fs::OpenOptions::new().write(true).open(&self.path)?.write_all(bytes);
        }
        let (folder, name) = self.parent()?;
        folder.write(&name, &[bytes])
    }
}

/// The path as a user would write it.
impl fmt::Display for Destination {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let is_here = |root: &PathBuf| std::env::current_dir().is_ok_and(|current| current == *root);
        match &self.root {
            Some(root) if !is_here(root) => root.join(&self.path).display().fmt(f),
            _ => self.path.display().fmt(f),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::symlink;

    #[test]
    fn nothing_is_left_behind() {
        let folder = tempfile::tempdir().expect("a temporary folder can be made");
        let path = folder.path().join("out.json");
        for destination in [Destination::named(path.clone()), Destination::below(folder.path(), "out.json".into())] {
            destination.write(b"old").expect("writable");
            destination.write(b"new").expect("writable");
            assert_eq!(std::fs::read(&path).expect("written"), b"new");
            assert_eq!(std::fs::read_dir(folder.path()).expect("readable").count(), 1);
        }
        assert!(Destination::named(folder.path().join("no/out.json")).write(b"x").is_err());
        assert!(Destination::below(folder.path(), "no/out.json".into()).write(b"x").is_err());
    }

    #[test]
    fn what_cannot_be_written_is_known_before() {
        let folder = tempfile::tempdir().expect("a temporary folder can be made");
        let named = |path: &str| Destination::named(folder.path().join(path));
        assert!(named("out.json").check().is_ok());
        assert!(named("no/out.json").check().is_err());
        assert!(Destination::named(folder.path().to_owned()).check().is_err(), "a folder is no file");
        assert!(Destination::named("/dev/null".into()).check().is_ok());
        assert!(Destination::below(folder.path(), "no/out.json".into()).check().is_err());
        assert_eq!(std::fs::read_dir(folder.path()).expect("readable").count(), 0, "nothing is left behind");
    }

    #[test]
    fn only_the_user_may_name_a_link() {
        let root = tempfile::tempdir().expect("a temporary folder can be made");
        let (inside, outside) = (root.path().join("in"), root.path().join("out"));
        std::fs::create_dir(&inside).expect("writable");
        std::fs::create_dir(&outside).expect("writable");
        symlink("../out", inside.join("link")).expect("writable");
        let error = Destination::below(&inside, "link/x".into()).write(b"x").expect_err("a link");
        assert!(error.to_string().contains("link is a symbolic link"), "{error}");
        assert!(Destination::below(&inside, "link".into()).folder().is_err());
        assert_eq!(std::fs::read_dir(&outside).expect("readable").count(), 0);
        Destination::named(inside.join("link/x")).write(b"x").expect("writable");
        assert!(Destination::named(inside.join("link")).folder().is_ok());
        assert!(outside.join("x").exists());
    }
}
