//! What was measured, in files, so that a run that was broken off goes on where it stopped.
//!
//! A file counts while its key is the same: for Caulk the binary, for a peer its version.

use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

#[derive(Clone, Debug)]
pub(crate) struct Store {
    folder: PathBuf,
}

#[derive(Debug, Serialize, Deserialize)]
struct Kept<T> {
    key: String,
    value: T,
}

impl Store {
    pub(crate) fn open(folder: &Path) -> Result<Self> {
        std::fs::create_dir_all(folder).with_context(|| format!("cannot make {}", folder.display()))?;
        Ok(Self { folder: folder.to_owned() })
    }

    /// Forgets everything.
    pub(crate) fn clear(&self) -> Result<()> {
        for entry in std::fs::read_dir(&self.folder)? {
            let path = entry?.path();
            if path.extension().is_some_and(|e| e == "json" || e == "sarif") {
                std::fs::remove_file(&path).with_context(|| format!("cannot remove {}", path.display()))?;
            }
        }
        Ok(())
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.folder.join(name)
    }

    /// What is kept, whatever its key.
    pub(crate) fn get<T: DeserializeOwned>(&self, name: &str) -> Option<T> {
        self.read::<T>(name).map(|kept| kept.value)
    }

    /// What is kept under this key, else what `measure` finds, which is kept then.
    pub(crate) fn get_or<T: DeserializeOwned + Serialize>(
        &self,
        name: &str,
        key: &str,
        measure: impl FnOnce() -> Result<T>,
    ) -> Result<T> {
        if let Some(kept) = self.read::<T>(name).filter(|kept| kept.key == key) {
            eprintln!("results: {name} is there already");
            return Ok(kept.value);
        }
        eprintln!("results: {name}");
        let kept = Kept { key: key.to_owned(), value: measure().with_context(|| format!("measuring {name}"))? };
        let text = serde_json::to_string_pretty(&kept)? + "\n";
        let path = self.path(&format!("{name}.json"));
        std::fs::write(&path, text).with_context(|| format!("cannot write {}", path.display()))?;
        Ok(kept.value)
    }

    /// A file of another form is as good as none.
    fn read<T: DeserializeOwned>(&self, name: &str) -> Option<Kept<T>> {
        serde_json::from_slice(&std::fs::read(self.path(&format!("{name}.json"))).ok()?).ok()
    }
}

/// What tells one build of a program from another.
pub(crate) fn hash_of(program: &Path) -> Result<String> {
    let bytes = std::fs::read(program).with_context(|| format!("cannot read {}", program.display()))?;
    Ok(blake3::hash(&bytes).to_hex()[..16].to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_there_is_not_measured_again() {
        let folder = tempfile::tempdir().unwrap();
        let store = Store::open(folder.path()).unwrap();
        assert_eq!(store.get::<u32>("a"), None);
        assert_eq!(store.get_or("a", "one", || Ok(1u32)).unwrap(), 1);
        assert_eq!(store.get_or("a", "one", || Ok(2u32)).unwrap(), 1);
        assert_eq!(store.get_or("a", "two", || Ok(3u32)).unwrap(), 3);
        assert_eq!(store.get::<u32>("a"), Some(3));
        assert!(store.get_or::<u32>("b", "one", || anyhow::bail!("no")).is_err());
        store.clear().unwrap();
        assert_eq!(store.get::<u32>("a"), None);
        std::fs::write(store.path("a.json"), "{").unwrap();
        assert_eq!(store.get::<u32>("a"), None);
    }
}
