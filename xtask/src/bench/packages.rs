//! Where cargo keeps the sources of a package, fetching them first if need be.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context, Result, ensure};
use serde::Deserialize;

#[derive(Debug, Default)]
pub(crate) struct Packages {
    /// By name: version and folder. Names of corpora are unique, although cargo allows several versions of a package.
    folders: HashMap<String, Vec<(String, PathBuf)>>,
}

#[derive(Deserialize)]
struct Metadata {
    packages: Vec<Package>,
}

#[derive(Deserialize)]
struct Package {
    name: String,
    version: String,
    manifest_path: PathBuf,
}

impl Packages {
    /// Fetches what `manifest` depends on. Nothing is built.
    pub(crate) fn fetch(manifest: &Path) -> Result<Self> {
        let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
        let output = Command::new(cargo)
            .args(["metadata", "--locked", "--format-version", "1", "--manifest-path"])
            .arg(manifest)
            .stdin(Stdio::null())
            .stderr(Stdio::inherit())
            .output()
            .context("cannot run cargo")?;
        ensure!(output.status.success(), "cargo could not fetch the packages of {}", manifest.display());
        Self::parse(&output.stdout)
    }

    fn parse(metadata: &[u8]) -> Result<Self> {
        let metadata: Metadata = serde_json::from_slice(metadata).context("cannot read what cargo metadata says")?;
        let mut folders: HashMap<String, Vec<(String, PathBuf)>> = HashMap::new();
        for package in metadata.packages {
            let folder = package.manifest_path.parent().unwrap_or(Path::new(".")).to_owned();
            folders.entry(package.name).or_default().push((package.version, folder));
        }
        Ok(Self { folders })
    }

    /// The folder of exactly this version.
    pub(crate) fn exactly(&self, name: &str, version: &str) -> Result<&Path> {
        let known = self.folders.get(name).with_context(|| format!("package {name} was not fetched"))?;
        let found = known.iter().find(|(other, _)| other == version);
        found
            .map(|(_, folder)| folder.as_path())
            .with_context(|| format!("package {name} is of version {}, not {version}", known[0].0))
    }

    /// The folder of a package of which there is one version.
    pub(crate) fn any(&self, name: &str) -> Result<&Path> {
        let known = self.folders.get(name).with_context(|| format!("package {name} was not fetched"))?;
        Ok(&known[0].1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn folders_are_those_of_the_manifests() {
        let text = br#"{"packages": [{"name": "a-sys", "version": "1.0.0+3", "manifest_path": "/x/a/Cargo.toml"}]}"#;
        let packages = Packages::parse(text).unwrap();
        assert_eq!(packages.exactly("a-sys", "1.0.0+3").unwrap(), Path::new("/x/a"));
        assert_eq!(packages.any("a-sys").unwrap(), Path::new("/x/a"));
        let error = packages.exactly("a-sys", "1.0.0").unwrap_err();
        assert_eq!(error.to_string(), "package a-sys is of version 1.0.0+3, not 1.0.0");
        assert!(packages.any("b-sys").is_err());
    }
}
