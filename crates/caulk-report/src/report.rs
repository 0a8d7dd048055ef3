//! Everything a report says: the findings, and what was not looked at.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::baseline::{Baseline, Known};
use crate::finding::{BaselineState, Finding, Site};
use crate::fingerprint;
use crate::select::{self, Hidden, Selection};
use crate::source::Sources;
use crate::suppress::{Complaint, Ignore, Suppressions};

/// A unit that could not be read.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct LostUnit {
    pub source: String,
    pub reason: String,
}

/// Candidates that turned out to be no leaks.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Refuted {
    /// Which part of the analysis said so.
    pub layer: String,
    pub count: usize,
}

/// What the run cost and came to.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Statistics {
    pub units: usize,
    pub functions: usize,
    pub candidates: usize,
    pub confirmed: usize,
    /// Of those confirmed, how many have a path that was executed alone, merged with no other, and holds.
    pub replayed: usize,
    /// How many candidates each layer refuted, in the order the layers are asked.
    pub refuted: Vec<Refuted>,
    /// Candidates that a budget left undecided.
    pub undecided: usize,
    /// How often each rule of the engines did something, by name (`caulk rules` lists them all).
    #[serde(default)]
    pub rules: BTreeMap<String, u64>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Report {
    /// What paths are relative to.
    pub root: String,
    /// Those that are suppressed or known already are among them, and say so.
    pub findings: Vec<Finding>,
    /// Known findings that are found no more.
    pub fixed: Vec<Known>,
    pub hidden: Hidden,
    /// Files that are gone, newer than what was compiled from them, or too short for the places in them.
    pub files_changed: Vec<String>,
    /// Suppressions that are of no use, when that was asked for.
    pub complaints: Vec<Complaint>,
    pub units_not_read: Vec<LostUnit>,
    /// Functions in which a bound was reached, by name.
    pub functions_cut: Vec<String>,
    pub statistics: Statistics,
}

/// What the user wants of a report.
#[derive(Clone, Debug, Default)]
pub struct Choices {
    pub selection: Selection,
    pub baseline: Option<Baseline>,
    pub ignores: Vec<Ignore>,
    /// Complain of suppressions that are of no use, in these files.
    pub strict: Option<Vec<String>>,
    /// Files that are newer than what was compiled from them.
    pub newer: BTreeSet<String>,
}

impl Report {
    pub fn new(root: &Path, mut found: Vec<Finding>, choices: &Choices, sources: &Sources) -> Self {
        select::sort(&mut found);
        fingerprint::mark(&mut found, sources);
        let mut suppressions = Suppressions::new(&choices.ignores, sources);
        suppressions.apply(&mut found);
        let complaints = choices.strict.clone().map_or_else(Vec::new, |files| suppressions.complaints(files));
        let mut fixed = Vec::new();
        if let Some(baseline) = &choices.baseline {
            let state = |known: bool| if known { BaselineState::Unchanged } else { BaselineState::New };
            found.iter_mut().for_each(|f| f.baseline = Some(state(baseline.knows(f))));
            fixed = baseline.fixed(&found);
        }
        let (findings, hidden) = choices.selection.apply(found);
        Self {
            root: root.to_string_lossy().into_owned(),
            fixed,
            files_changed: changed(&findings, sources, &choices.newer),
            findings,
            hidden,
            complaints,
            units_not_read: Vec::new(),
            functions_cut: Vec::new(),
            statistics: Statistics::default(),
        }
    }

    /// The findings that somebody should look at.
    pub fn counted(&self) -> impl Iterator<Item = &Finding> {
        self.findings.iter().filter(|f| f.counts())
    }

    /// All that is not suppressed, as what is known from now on.
    pub fn as_baseline(&self) -> Baseline {
        Baseline::of(self.findings.iter().filter(|f| f.suppression.is_none()))
    }
}

/// Files that cannot be those that were analysed.
fn changed(findings: &[Finding], sources: &Sources, newer: &BTreeSet<String>) -> Vec<String> {
    let places = findings.iter().flat_map(Finding::places).filter(|place| place.line > 0);
    let is_gone = |place: &&Site| sources.get(&place.file).is_none_or(|f| f.offset(place.line, place.column).is_none());
    let is_other = |place: &&Site| newer.contains(&place.file) || is_gone(place);
    let files: BTreeSet<&str> = places.filter(is_other).map(|place| place.file.as_str()).collect();
    files.into_iter().map(str::to_owned).collect()
}
