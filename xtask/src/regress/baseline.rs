//! The counts that are kept, `bench/instructions.toml`, and how new ones compare with them.

use std::collections::BTreeMap;
use std::path::Path;

use anyhow::{Context, Result};
use serde::{Deserialize, Serialize};

const HEADING: &str = "\
# Instructions of Caulk's own process on fixed workloads. Written by `cargo xtask regress --bless`; bench/README.md
# says what they are. A compiler or a library of another version changes them too, so these are named.

";

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Baseline {
    pub made_with: BTreeMap<String, String>,
    pub workload: BTreeMap<String, Counted>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Counted {
    pub instructions: u64,
    /// Of the sources: counts of different programs are not compared.
    pub sources: String,
}

/// A new count next to the one that is kept.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Change {
    /// By so many percent.
    Percent(f64),
    /// Nothing is kept for it.
    New,
    /// What is kept was counted on other sources.
    OtherSources,
}

impl Baseline {
    /// None when there is none yet.
    pub(crate) fn read(path: &Path) -> Result<Option<Self>> {
        match std::fs::read_to_string(path) {
            Ok(text) => toml::from_str(&text).map(Some).with_context(|| format!("in {}", path.display())),
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(None),
            Err(error) => Err(error).with_context(|| format!("cannot read {}", path.display())),
        }
    }

    pub(crate) fn write(&self, path: &Path) -> Result<()> {
        let text = format!("{HEADING}{}", toml::to_string(self)?);
        std::fs::write(path, text).with_context(|| format!("cannot write {}", path.display()))
    }

    pub(crate) fn change(&self, name: &str, new: &Counted) -> Change {
        match self.workload.get(name) {
            None => Change::New,
            Some(old) if old.sources != new.sources => Change::OtherSources,
            Some(old) => Change::Percent((new.instructions as f64 / old.instructions.max(1) as f64 - 1.0) * 100.0),
        }
    }

    /// What else has changed since these were counted, in words.
    pub(crate) fn differences(&self, now: &BTreeMap<String, String>) -> Vec<String> {
        let differs = |(what, version): (&String, &String)| {
            let before = self.made_with.get(what)?;
            (before != version).then(|| format!("{what}: {before} then, {version} now"))
        };
        now.iter().filter_map(differs).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn counted(instructions: u64, sources: &str) -> Counted {
        Counted { instructions, sources: sources.into() }
    }

    #[test]
    fn only_the_same_sources_are_compared() {
        let baseline = Baseline { workload: [("a".to_owned(), counted(200, "x"))].into(), made_with: BTreeMap::new() };
        assert_eq!(baseline.change("a", &counted(210, "x")), Change::Percent(5.000000000000004));
        assert_eq!(baseline.change("a", &counted(210, "y")), Change::OtherSources);
        assert_eq!(baseline.change("b", &counted(210, "x")), Change::New);
    }

    #[test]
    fn what_is_written_is_read_again() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("kept.toml");
        assert_eq!(Baseline::read(&path).unwrap(), None);
        let baseline = Baseline {
            workload: [("a".to_owned(), counted(200, "x"))].into(),
            made_with: [("rustc".to_owned(), "1".to_owned())].into(),
        };
        baseline.write(&path).unwrap();
        assert_eq!(Baseline::read(&path).unwrap(), Some(baseline.clone()));
        let now = [("rustc".to_owned(), "2".to_owned())].into();
        assert_eq!(baseline.differences(&now), ["rustc: 1 then, 2 now"]);
        std::fs::write(&path, "[workload.a]\ninstructions = \"many\"\n").unwrap();
        assert!(Baseline::read(&path).is_err());
    }
}
