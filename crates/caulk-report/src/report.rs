//! Everything a report says: the findings, and what was not looked at.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::baseline::{Baseline, Known};
use crate::finding::{BaselineState, Finding, Site};
use crate::fingerprint;
use crate::scope::{Changed, Scope};
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

/// How a report came to be. Not part of what programs read: it differs from one run to the next.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Run {
    /// The name of the project's folder.
    pub project: String,
    /// Empty outside of a repository.
    pub commit: String,
    pub date: String,
    pub options: String,
}

/// What escaped to unknown code: nothing is said about it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Unknown {
    pub objects: usize,
    /// Functions without a body or a model, with how many objects each was given, the most first.
    pub functions: Vec<(String, usize)>,
}

/// Candidates that turned out to be no leaks.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Refuted {
    /// Which part of the analysis said so.
    pub layer: String,
    pub count: usize,
}

/// Questions about conditions of candidates' paths, by the layer of the solver that answered them, from the cheapest to Z3.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct SolverCounts {
    /// Conditions that paths were extended by.
    pub conditions: u64,
    /// Of the conditions: they followed from what was known.
    pub implied: u64,
    /// Of the conditions: they are false, or the opposite of an earlier one.
    pub refuted_apparently: u64,
    /// Of the conditions: intervals, bits, equalities and exclusions refuted them.
    pub refuted_by_domains: u64,
    /// Whether all conditions of a path hold together, as one question.
    pub paths: u64,
    /// Of the paths: the conditions contradicted each other already.
    pub paths_refuted: u64,
    /// Of the paths: an example for an earlier question holds here too, or could be changed to.
    pub paths_by_example: u64,
    /// Of the paths: Z3 was asked the same before.
    pub paths_remembered: u64,
    /// Z3 found an example.
    pub z3_satisfiable: u64,
    /// Z3 showed that there is none.
    pub z3_unsatisfiable: u64,
    /// Z3 reached its resource limit.
    pub z3_unknown: u64,
}

/// What one part of the analysis cost, in steps: they are the same on every machine and for every number of threads.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Cost {
    pub steps: u64,
    /// The functions that took most of them, at most ten.
    pub functions: Vec<FunctionCost>,
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct FunctionCost {
    pub function: String,
    pub file: Option<String>,
    pub steps: u64,
}

/// What the parts of the analysis cost.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Costs {
    /// Stage one: basic blocks that objects were followed through.
    pub stage_one: Cost,
    /// Stage two: instructions executed to search for a path for the candidates of a function.
    pub stage_two: Cost,
    /// Stage two: instructions executed to find out what callees do.
    pub callees: Cost,
}

/// What the run cost and came to.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Statistics {
    pub units: usize,
    pub functions: usize,
    /// Functions that stage one did not follow any memory through: they neither move pointers nor call what has an effect.
    pub functions_skipped: usize,
    pub candidates: usize,
    pub confirmed: usize,
    /// Of those confirmed, how many have a path that was executed alone, merged with no other, and holds.
    pub replayed: usize,
    /// How many candidates each layer refuted, in the order the layers are asked.
    pub refuted: Vec<Refuted>,
    /// Candidates that a budget left undecided.
    pub undecided: usize,
    pub solver: SolverCounts,
    #[serde(default)]
    pub costs: Costs,
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
    /// Suppressions beside findings that name no rule.
    pub warnings: Vec<Complaint>,
    pub units_not_read: Vec<LostUnit>,
    /// Entries of the database that were left out for other reasons, in words; empty when there are none.
    pub units_skipped: String,
    /// What functions without body and model may have taken.
    pub unknown: Unknown,
    /// Functions in which a bound was reached, by name.
    pub functions_cut: Vec<String>,
    pub statistics: Statistics,
    /// What was run, when and on what: for reports that are kept.
    #[serde(skip)]
    #[schemars(skip)]
    pub run: Run,
    /// Findings were compared with a baseline.
    #[serde(skip)]
    #[schemars(skip)]
    pub has_baseline: bool,
    /// The commit that findings are compared with: those that touch no line changed since then count as known.
    pub changed_since: Option<String>,
}

/// What the user wants of a report.
#[derive(Clone, Debug, Default)]
pub struct Choices {
    pub selection: Selection,
    pub baseline: Option<Baseline>,
    pub ignores: Vec<Ignore>,
    /// Warn about suppressions that are of no use, in these files.
    pub strict: Option<Vec<String>>,
    /// Files that are newer than what was compiled from them.
    pub newer: BTreeSet<String>,
    pub scope: Scope,
}

impl Report {
    pub fn new(root: &Path, mut found: Vec<Finding>, choices: &Choices, sources: &Sources) -> Self {
        select::sort(&mut found);
        fingerprint::mark(&mut found, sources);
        let mut suppressions = Suppressions::new(&choices.ignores, sources);
        suppressions.apply(&mut found);
        // Where all suppressions are checked, these are among the complaints.
        let warnings = if choices.strict.is_none() { suppressions.misspelt() } else { Vec::new() };
        let complaints = choices.strict.clone().map_or_else(Vec::new, |files| suppressions.complaints(files));
        let scope = &choices.scope;
        let mut fixed = choices.baseline.as_ref().map_or_else(Vec::new, |baseline| baseline.compare(&mut found));
        fixed.retain(|known| !scope.unwanted.contains(&known.file));
        if let Some(changed) = &scope.changed {
            mark_unchanged(&mut found, changed);
        }
        let (wanted, unwanted) = found.into_iter().partition::<Vec<_>, _>(|finding| scope.wants(finding));
        let (findings, mut hidden) = choices.selection.apply(wanted);
        hidden.by_path = choices.selection.apply(unwanted).0.len();
        Self {
            root: root.to_string_lossy().into_owned(),
            fixed,
            files_changed: changed(&findings, sources, &choices.newer),
            findings,
            hidden,
            complaints,
            warnings,
            units_not_read: Vec::new(),
            units_skipped: String::new(),
            unknown: Unknown::default(),
            functions_cut: Vec::new(),
            statistics: Statistics::default(),
            run: Run::default(),
            has_baseline: choices.baseline.is_some(),
            changed_since: choices.scope.changed.as_ref().map(|changed| changed.since.clone()),
        }
    }

    /// The findings that are to be looked at, notes among them.
    pub fn counted(&self) -> impl Iterator<Item = &Finding> {
        self.findings.iter().filter(|f| f.counts())
    }

    /// The leaks that are to be looked at: what makes a check fail.
    pub fn leaks(&self) -> impl Iterator<Item = &Finding> {
        self.counted().filter(|f| !f.is_note())
    }

    /// All that is not suppressed, as what is known from now on.
    pub fn as_baseline(&self) -> Baseline {
        Baseline::of(self.findings.iter().filter(|f| f.suppression.is_none() && !f.is_note()))
    }
}

/// What touches no change was there before.
fn mark_unchanged(found: &mut [Finding], changed: &Changed) {
    for finding in found {
        let is_known = finding.baseline == Some(BaselineState::Unchanged) || !changed.touches(finding);
        finding.baseline = Some(if is_known { BaselineState::Unchanged } else { BaselineState::New });
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
