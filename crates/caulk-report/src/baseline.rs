//! Findings that are known already, kept in a small file: one a line, sorted, to be read in a diff.
//!
//! The first line names the format and its version. Every further line has the fingerprint and the shape, then rule, file,
//! function and variable, which only the reader needs. Fields are separated by tabs.
//!
//! A finding is known by its fingerprint. What then is left over on both sides is compared by shape, one to one: so a finding is
//! known again after its function was renamed, its file moved or the report made from another folder.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::finding::{BaselineState, Finding, Kind, Site};
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
    #[serde(skip)]
    #[schemars(skip)]
    pub shape: String,
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Baseline {
    known: BTreeSet<Known>,
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
                "a baseline of version {version}, and this program reads version {}; write it again with --write-baseline",
                fingerprint::VERSION
            ),
            BaselineError::BrokenLine(line) => {
                write!(f, "line {line} is broken: it should have six fields between tabs")
            }
        }
    }
}

impl std::error::Error for BaselineError {}

impl Baseline {
    pub fn of<'a>(findings: impl IntoIterator<Item = &'a Finding>) -> Self {
        let known = |loss: &Site, variable: &Option<String>, kind: Kind, fingerprint: &str, shape: &str| Known {
            file: loss.file.clone(),
            function: loss.function.clone(),
            variable: variable.clone().unwrap_or_default(),
            rule: kind.rule().to_owned(),
            fingerprint: fingerprint.to_owned(),
            shape: shape.to_owned(),
        };
        let each = findings.into_iter().flat_map(|f| {
            let related = f.same_cause.iter().map(|r| known(&r.loss, &r.variable, r.kind, &r.fingerprint, &r.shape));
            let own = known(&f.loss, &f.variable, f.kind, &f.fingerprint, &f.shape);
            [own].into_iter().chain(related).collect::<Vec<_>>()
        });
        Self { known: each.collect() }
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
        Ok(Self { known })
    }

    pub fn render(&self) -> String {
        let mut text = format!("{HEADING} {}\n", fingerprint::VERSION);
        for Known { file, function, variable, rule, fingerprint, shape } in &self.known {
            let fields = [fingerprint, shape, rule, file, function, variable].map(|field| escape(field));
            let _ = writeln!(text, "{}", fields.join("\t"));
        }
        text
    }

    /// The files that it names.
    pub fn files(&self) -> impl Iterator<Item = &str> {
        self.known.iter().map(|known| known.file.as_str())
    }

    /// Marks what is known and what is new. Returns the known findings that are found no more.
    pub fn compare(&self, found: &mut [Finding]) -> Vec<Known> {
        let known: BTreeSet<&str> = self.known.iter().map(|k| k.fingerprint.as_str()).collect();
        let present: BTreeSet<&str> = found.iter().map(|f| f.fingerprint.as_str()).collect();
        let mut gone: BTreeMap<&str, Vec<&Known>> = BTreeMap::new();
        for left in self.known.iter().filter(|k| !present.contains(k.fingerprint.as_str())) {
            gone.entry(&left.shape).or_default().push(left);
        }
        let strangers = found.iter().filter(|f| !known.contains(f.fingerprint.as_str()));
        let strangers: BTreeSet<(&str, &str)> = strangers.map(|f| (f.shape.as_str(), f.fingerprint.as_str())).collect();
        let mut known_again: BTreeSet<String> = BTreeSet::new();
        for (shape, fingerprint) in strangers {
            // The first that is left, in the order of the file.
            let same = gone.get_mut(shape).filter(|same| !same.is_empty());
            if same.map(|same| same.remove(0)).is_some() {
                known_again.insert(fingerprint.to_owned());
            }
        }
        let mut fixed: Vec<Known> = gone.into_values().flatten().cloned().collect();
        fixed.sort();
        let known: BTreeSet<String> = known.into_iter().map(str::to_owned).chain(known_again).collect();
        for finding in found {
            let is_known = known.contains(&finding.fingerprint);
            finding.baseline = Some(if is_known { BaselineState::Unchanged } else { BaselineState::New });
        }
        fixed
    }
}

fn known_in(line: &str) -> Option<Known> {
    let fields: Vec<&str> = line.split('\t').collect();
    let [fingerprint, shape, rule, file, function, variable] = fields.as_slice() else { return None };
    let is_fingerprint = !fingerprint.is_empty() && fingerprint.bytes().all(|b| b.is_ascii_hexdigit() || b == b'-');
    is_fingerprint.then(|| Known {
        file: unescape(file),
        function: unescape(function),
        variable: unescape(variable),
        rule: unescape(rule),
        fingerprint: (*fingerprint).to_owned(),
        shape: (*shape).to_owned(),
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
            shape: text("77"),
        }
    }

    #[test]
    fn written_and_read_again() {
        let known = BTreeSet::from([one("b.c", "12ab"), one("a\tb\\n\n.c", "12ab-2")]);
        let baseline = Baseline { known };
        let text = baseline.render();
        assert_eq!(text, "caulk-baseline 3\n12ab-2\t77\tlost\ta\\tb\\\\n\\n.c\tf\tp\n12ab\t77\tlost\tb.c\tf\tp\n");
        assert_eq!(Baseline::parse(&text), Ok(baseline));
    }

    #[test]
    fn what_is_no_baseline() {
        assert_eq!(Baseline::parse(""), Err(BaselineError::NotOne));
        assert_eq!(Baseline::parse("{}"), Err(BaselineError::NotOne));
        assert_eq!(Baseline::parse("caulk-baseline 99\n"), Err(BaselineError::OtherVersion("99".to_owned())));
        assert_eq!(Baseline::parse("caulk-baseline 3\n12ab\tlost\n"), Err(BaselineError::BrokenLine(2)));
        assert_eq!(Baseline::parse("caulk-baseline 3\n<<<<<<<\ta\tb\tc\td\te\n"), Err(BaselineError::BrokenLine(2)));
    }
}
