//! A file of verdicts: a line for each place of a finding that was read, its fields divided by tabs.

use std::collections::BTreeSet;
use std::path::Path;

use anyhow::{Context, Result, bail, ensure};
use serde::Serialize;

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Verdict {
    Real,
    False,
    Unsure,
}

impl Verdict {
    pub(crate) fn name(self) -> &'static str {
        match self {
            Verdict::Real => "real",
            Verdict::False => "false",
            Verdict::Unsure => "unsure",
        }
    }

    fn parse(word: &str) -> Option<Self> {
        [Verdict::Real, Verdict::False, Verdict::Unsure].into_iter().find(|verdict| verdict.name() == word)
    }
}

/// What one reader said of one place where a finding loses memory.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Reading {
    pub fingerprint: String,
    pub verdict: Verdict,
    /// `FILE:LINE VARIABLE`, with `-` for memory that no variable held.
    pub place: String,
    pub reason: String,
}

/// The readings of a file; none when it is not there.
pub(crate) fn read(path: &Path) -> Result<Vec<Reading>> {
    let text = match std::fs::read_to_string(path) {
        Ok(text) => text,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(Vec::new()),
        Err(error) => return Err(error).with_context(|| format!("cannot read {}", path.display())),
    };
    parse(&text).with_context(|| format!("in {}", path.display()))
}

pub(crate) fn parse(text: &str) -> Result<Vec<Reading>> {
    // The places of loss of one finding are read one by one, and share its fingerprint.
    let mut seen = BTreeSet::new();
    let mut readings = Vec::new();
    for (line, number) in text.lines().zip(1..).filter(|(line, _)| !line.trim().is_empty()) {
        let reading = parse_line(line).with_context(|| format!("line {number}"))?;
        let is_new = seen.insert((reading.fingerprint.clone(), reading.place.clone()));
        ensure!(is_new, "line {number}: {} has a verdict already at {}", reading.fingerprint, reading.place);
        readings.push(reading);
    }
    Ok(readings)
}

fn parse_line(line: &str) -> Result<Reading> {
    let fields: Vec<&str> = line.split('\t').map(str::trim).collect();
    let [fingerprint, word, place, reason] = fields[..] else {
        bail!("{} fields, not four: fingerprint, verdict, place and variable, reason", fields.len());
    };
    let verdict = Verdict::parse(word).with_context(|| format!("{word:?} is none of real, false, unsure"))?;
    ensure!(!fingerprint.is_empty() && !reason.is_empty(), "a fingerprint and a reason are needed");
    Ok(Reading { fingerprint: fingerprint.to_owned(), verdict, place: place.to_owned(), reason: reason.to_owned() })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bench::repository;

    #[test]
    fn mistakes_are_named_with_their_line() {
        let error = |text: &str| format!("{:#}", parse(text).unwrap_err());
        assert_eq!(
            error("0a\treal\ta.c:1 p\tyes\n0b\tmaybe\ta.c:2 p\tno\n"),
            "line 2: \"maybe\" is none of real, false, unsure"
        );
        assert_eq!(error("0a\treal\n"), "line 1: 2 fields, not four: fingerprint, verdict, place and variable, reason");
        assert_eq!(error("0a\treal\ta.c:1 p\t\n"), "line 1: a fingerprint and a reason are needed");
        let twice = "0a\treal\ta.c:1 p\tyes\n".repeat(2);
        assert_eq!(error(&twice), "line 2: 0a has a verdict already at a.c:1 p");
    }

    #[test]
    fn the_files_of_this_repository_can_be_read() {
        let folder = repository().join("bench/verdicts");
        let files: Vec<_> = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
        assert!(!files.is_empty());
        for file in files {
            assert!(!read(&file).unwrap().is_empty(), "{}", file.display());
        }
    }
}
