//! Everything a report says: the findings, and what was not looked at.

use std::path::Path;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::finding::Finding;
use crate::fingerprint;
use crate::select::{self, Hidden, Selection};
use crate::source::Sources;

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
    /// How many candidates each layer refuted, in the order the layers are asked.
    pub refuted: Vec<Refuted>,
    /// Candidates that a budget left undecided.
    pub undecided: usize,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Report {
    /// What paths are relative to.
    pub root: String,
    pub findings: Vec<Finding>,
    pub hidden: Hidden,
    pub units_not_read: Vec<LostUnit>,
    /// Functions in which a bound was reached, by name.
    pub functions_cut: Vec<String>,
    pub statistics: Statistics,
}

impl Report {
    pub fn new(root: &Path, mut found: Vec<Finding>, selection: &Selection, sources: &Sources) -> Self {
        select::sort(&mut found);
        fingerprint::mark(&mut found, sources);
        let (findings, hidden) = selection.apply(found);
        Self {
            root: root.to_string_lossy().into_owned(),
            findings,
            hidden,
            units_not_read: Vec::new(),
            functions_cut: Vec::new(),
            statistics: Statistics::default(),
        }
    }
}
