//! `bench/corpora.toml`: which C code of which package is measured.

use std::collections::BTreeMap;
use std::path::Path;

use anyhow::{Context, Result, ensure};
use serde::Deserialize;

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    corpus: Vec<Corpus>,
}

/// One entry; the comment at the head of the file says what the fields mean.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Corpus {
    pub name: String,
    #[serde(rename = "crate")]
    pub package: String,
    pub version: String,
    pub folder: String,
    pub files: Vec<String>,
    #[serde(default)]
    pub exclude: Vec<String>,
    #[serde(default)]
    pub include: Vec<String>,
    #[serde(default)]
    pub defines: Vec<String>,
    #[serde(default)]
    pub flags: Vec<String>,
    #[serde(default)]
    pub headers: BTreeMap<String, String>,
    #[serde(default)]
    pub growth_only: bool,
}

/// Which corpora a run is about.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Choice<'a> {
    Usual,
    All,
    Named(&'a [String]),
}

pub(crate) fn read(path: &Path) -> Result<Vec<Corpus>> {
    let text = std::fs::read_to_string(path).with_context(|| format!("cannot read {}", path.display()))?;
    parse(&text).with_context(|| format!("in {}", path.display()))
}

pub(crate) fn parse(text: &str) -> Result<Vec<Corpus>> {
    let corpora = toml::from_str::<File>(text)?.corpus;
    for (at, corpus) in corpora.iter().enumerate() {
        ensure!(!corpus.files.is_empty(), "{} lists no files", corpus.name);
        let known = corpora[..at].iter().any(|other| other.name == corpus.name);
        ensure!(!known, "{} is listed twice", corpus.name);
    }
    Ok(corpora)
}

pub(crate) fn choose<'c>(corpora: &'c [Corpus], choice: &Choice) -> Result<Vec<&'c Corpus>> {
    match choice {
        Choice::Usual => Ok(corpora.iter().filter(|corpus| !corpus.growth_only).collect()),
        Choice::All => Ok(corpora.iter().collect()),
        Choice::Named(names) => names.iter().map(|name| find(corpora, name)).collect(),
    }
}

fn find<'c>(corpora: &'c [Corpus], name: &str) -> Result<&'c Corpus> {
    corpora.iter().find(|corpus| corpus.name == name).with_context(|| {
        let names: Vec<&str> = corpora.iter().map(|corpus| corpus.name.as_str()).collect();
        format!("there is no corpus {name}; there are {}", names.join(", "))
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bench::repository;

    const SMALL: &str = r##"
        [[corpus]]
        name = "a"
        crate = "a-sys"
        version = "1.0.0"
        folder = "src"
        files = ["*.c"]
        [corpus.headers]
        "config.h" = "#define A 1\n"

        [[corpus]]
        name = "b"
        crate = "b-sys"
        version = "2.0.0"
        folder = "."
        files = ["b.c"]
        growth_only = true
    "##;

    #[test]
    fn entries_have_defaults() {
        let corpora = parse(SMALL).unwrap();
        assert_eq!(corpora[0].package, "a-sys");
        assert_eq!(corpora[0].headers["config.h"], "#define A 1\n");
        assert!(corpora[1].defines.is_empty());
    }

    #[test]
    fn large_corpora_are_only_measured_when_asked_for() {
        let corpora = parse(SMALL).unwrap();
        let names = |choice| choose(&corpora, &choice).unwrap().iter().map(|c| c.name.clone()).collect::<Vec<_>>();
        assert_eq!(names(Choice::Usual), ["a"]);
        assert_eq!(names(Choice::All), ["a", "b"]);
        assert_eq!(names(Choice::Named(&["b".to_owned()])), ["b"]);
        let error = choose(&corpora, &Choice::Named(&["c".to_owned()])).unwrap_err();
        assert_eq!(error.to_string(), "there is no corpus c; there are a, b");
    }

    #[test]
    fn mistakes_are_named() {
        assert!(parse(&SMALL.replace("\"b\"", "\"a\"")).unwrap_err().to_string().contains("a is listed twice"));
        assert!(parse(&SMALL.replace("folder", "folders")).is_err());
    }

    /// The list that is fetched and the list that is measured are two files, and must not drift apart.
    #[test]
    fn the_manifest_pins_the_versions_of_the_list() {
        let corpora = read(&repository().join("bench/corpora.toml")).unwrap();
        let manifest = std::fs::read_to_string(repository().join("bench/corpora/Cargo.toml")).unwrap();
        let manifest: toml::Table = manifest.parse().unwrap();
        let pinned = manifest["dependencies"].as_table().unwrap();
        for corpus in &corpora {
            let version = pinned[&corpus.package]["version"].as_str().unwrap();
            // What follows a plus is not part of a requirement.
            let wanted = corpus.version.split('+').next().unwrap();
            assert_eq!(version, format!("={wanted}"), "{}", corpus.package);
        }
        assert_eq!(pinned.len(), corpora.len());
    }
}
