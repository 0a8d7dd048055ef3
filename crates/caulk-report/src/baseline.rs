//! Findings that are known already, kept in a small file: one a line, sorted, to be read in a diff.
//!
//! The first line names the format and its version. Every further line has the fingerprint, then rule, file, function and
//! variable, which only the reader needs. Fields are separated by tabs.

use std::collections::BTreeSet;
use std::fmt::Write as _;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::finding::Finding;
use crate::fingerprint;

/// Characters of an unknown version that are repeated in the message.
const MAX_VERSION: usize = 20;
const HEADING: &str = "caulk-baseline";

/// A known finding.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Known {
    // The order of the fields is the order of the lines.
    pub file: String,
    pub function: String,
    pub variable: String,
    pub rule: String,
    pub fingerprint: String,
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Baseline {
    known: BTreeSet<Known>,
    fingerprints: BTreeSet<String>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum BaselineError {
    NotOne,
    OtherVersion(String),
    BrokenLine(usize),
}

impl std::fmt::Display for BaselineError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            BaselineError::NotOne => f.write_str("not a baseline: its first line is not that of one"),
            BaselineError::OtherVersion(version) => write!(
                f,
                "a baseline of version {version}, and this program reads version {}; write it anew with --write-baseline",
                fingerprint::VERSION
            ),
            BaselineError::BrokenLine(line) => {
                write!(f, "line {line} is broken: it should have five fields between tabs")
            }
        }
    }
}

impl std::error::Error for BaselineError {}

impl Baseline {
    fn new(known: BTreeSet<Known>) -> Self {
        let fingerprints = known.iter().map(|k| k.fingerprint.clone()).collect();
        Self { known, fingerprints }
    }

    pub fn of<'a>(findings: impl IntoIterator<Item = &'a Finding>) -> Self {
        let known = findings.into_iter().map(|f| Known {
            file: f.loss.file.clone(),
            function: f.loss.function.clone(),
            variable: f.variable.clone().unwrap_or_default(),
            rule: f.kind.rule().to_owned(),
            fingerprint: f.fingerprint.clone(),
        });
        Self::new(known.collect())
    }

    pub fn parse(text: &str) -> Result<Self, BaselineError> {
        let mut lines = text.lines().enumerate();
        let first = lines.next().map_or("", |(_, line)| line);
        let version = first.strip_prefix(HEADING).and_then(|v| v.strip_prefix(' ')).ok_or(BaselineError::NotOne)?;
        if version.trim() != fingerprint::VERSION.to_string() {
            return Err(BaselineError::OtherVersion(version.trim().chars().take(MAX_VERSION).collect()));
        }
        let mut known = BTreeSet::new();
        for (index, line) in lines.filter(|(_, line)| !line.trim().is_empty()) {
            known.insert(known_in(line).ok_or(BaselineError::BrokenLine(index + 1))?);
        }
        Ok(Self::new(known))
    }

    pub fn render(&self) -> String {
        let mut text = format!("{HEADING} {}\n", fingerprint::VERSION);
        for Known { file, function, variable, rule, fingerprint } in &self.known {
            let fields = [fingerprint, rule, file, function, variable].map(|field| escape(field));
            let _ = writeln!(text, "{}", fields.join("\t"));
        }
        text
    }

    pub fn knows(&self, finding: &Finding) -> bool {
        self.fingerprints.contains(&finding.fingerprint)
    }

    /// Known findings that are found no more.
    pub fn fixed(&self, found: &[Finding]) -> Vec<Known> {
        let found: BTreeSet<&str> = found.iter().map(|f| f.fingerprint.as_str()).collect();
        self.known.iter().filter(|k| !found.contains(k.fingerprint.as_str())).cloned().collect()
    }
}

fn known_in(line: &str) -> Option<Known> {
    let fields: Vec<&str> = line.split('\t').collect();
    let [fingerprint, rule, file, function, variable] = fields.as_slice() else { return None };
    let is_fingerprint = !fingerprint.is_empty() && fingerprint.bytes().all(|b| b.is_ascii_hexdigit() || b == b'-');
    is_fingerprint.then(|| Known {
        file: unescape(file),
        function: unescape(function),
        variable: unescape(variable),
        rule: unescape(rule),
        fingerprint: (*fingerprint).to_owned(),
    })
}

fn escape(field: &str) -> String {
    field.replace('\\', "\\\\").replace('\t', "\\t").replace('\n', "\\n").replace('\r', "\\r")
}

fn unescape(field: &str) -> String {
    let mut text = String::with_capacity(field.len());
    let mut chars = field.chars();
    while let Some(c) = chars.next() {
        match (c, if c == '\\' { chars.next() } else { None }) {
            ('\\', Some('t')) => text.push('\t'),
            ('\\', Some('n')) => text.push('\n'),
            ('\\', Some('r')) => text.push('\r'),
            ('\\', Some(other)) => text.push(other),
            (c, _) => text.push(c),
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    fn one(file: &str, fingerprint: &str) -> Known {
        let text = |t: &str| t.to_owned();
        Known {
            file: text(file),
            function: text("f"),
            variable: text("p"),
            rule: text("lost"),
            fingerprint: text(fingerprint),
        }
    }

    #[test]
    fn written_and_read_again() {
        let known = BTreeSet::from([one("b.c", "12ab"), one("a\tb\\n\n.c", "12ab-2")]);
        let baseline = Baseline::new(known);
        let text = baseline.render();
        assert_eq!(text, "caulk-baseline 2\n12ab-2\tlost\ta\\tb\\\\n\\n.c\tf\tp\n12ab\tlost\tb.c\tf\tp\n");
        assert_eq!(Baseline::parse(&text), Ok(baseline));
    }

    #[test]
    fn what_is_no_baseline() {
        assert_eq!(Baseline::parse(""), Err(BaselineError::NotOne));
        assert_eq!(Baseline::parse("{}"), Err(BaselineError::NotOne));
        assert_eq!(Baseline::parse("caulk-baseline 99\n"), Err(BaselineError::OtherVersion("99".to_owned())));
        assert_eq!(Baseline::parse("caulk-baseline 2\n12ab\tlost\n"), Err(BaselineError::BrokenLine(2)));
        assert_eq!(Baseline::parse("caulk-baseline 2\n<<<<<<<\ta\tb\tc\td\n"), Err(BaselineError::BrokenLine(2)));
    }
}
