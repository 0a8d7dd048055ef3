//! Which findings are shown, and how many each choice hides.

use std::collections::BTreeSet;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::finding::{Confidence, Finding};

/// How much of what is alike is shown (Melton 5.3).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Level {
    /// Every path.
    AllPaths,
    /// One for each pair of an allocation and a place of loss.
    Leaks,
    /// One for each allocation.
    Allocations,
}

/// What to do with leaks that need some other allocation to fail.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AllocFailure {
    /// Shown where the program itself tests for the failure on the path.
    Tested,
    Show,
    Hide,
    /// Nothing else is shown.
    Only,
}

impl AllocFailure {
    fn shows(self, finding: &Finding) -> bool {
        match self {
            AllocFailure::Tested => !finding.needs_alloc_failure || finding.failure_tested,
            AllocFailure::Show => true,
            AllocFailure::Hide => !finding.needs_alloc_failure,
            AllocFailure::Only => finding.needs_alloc_failure,
        }
    }
}

#[derive(Clone, Copy, Debug)]
pub struct Selection {
    pub level: Level,
    pub min_confidence: Confidence,
    pub alloc_failure: AllocFailure,
}

impl Default for Selection {
    fn default() -> Self {
        Self { level: Level::Leaks, min_confidence: Confidence::Medium, alloc_failure: AllocFailure::Tested }
    }
}

/// How many findings were not shown, by the option that hid them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Hidden {
    pub by_confidence: usize,
    pub by_alloc_failure: usize,
    pub by_level: usize,
}

impl Selection {
    /// The findings to show, of a list that [`sort`] has put in order.
    pub fn apply(&self, mut findings: Vec<Finding>) -> (Vec<Finding>, Hidden) {
        let mut hidden = Hidden::default();
        retain_counted(&mut findings, &mut hidden.by_confidence, |f| f.confidence >= self.min_confidence);
        retain_counted(&mut findings, &mut hidden.by_alloc_failure, |f| self.alloc_failure.shows(f));
        self.group(&mut findings, &mut hidden.by_level);
        (findings, hidden)
    }

    /// Of those that are alike, the surest and shortest stays.
    fn group(&self, findings: &mut Vec<Finding>, hidden: &mut usize) {
        if self.level == Level::AllPaths {
            return;
        }
        let key = |f: &Finding| {
            let loss = (self.level == Level::Leaks).then(|| f.loss.clone());
            (f.allocation.site.clone(), loss)
        };
        let mut by_worth: Vec<usize> = (0..findings.len()).collect();
        by_worth.sort_by_key(|i| (std::cmp::Reverse(findings[*i].confidence), findings[*i].steps.len(), *i));
        let mut seen = BTreeSet::new();
        let kept: BTreeSet<usize> = by_worth.into_iter().filter(|i| seen.insert(key(&findings[*i]))).collect();
        let mut index = 0..;
        retain_counted(findings, hidden, |_| index.next().is_some_and(|i| kept.contains(&i)));
    }
}

fn retain_counted(findings: &mut Vec<Finding>, hidden: &mut usize, mut keep: impl FnMut(&Finding) -> bool) {
    let before = findings.len();
    findings.retain(|f| keep(f));
    *hidden += before - findings.len();
}

/// Puts findings into a stable order: by place of loss, then by what leaks.
pub fn sort(findings: &mut Vec<Finding>) {
    findings.sort_by(|a, b| order(a).cmp(&order(b)).then_with(|| a.steps.cmp(&b.steps)));
    // A function of a header is there once for every unit: what is alike in all is one finding at any level.
    findings.dedup();
}

fn order(finding: &Finding) -> impl Ord + '_ {
    let Finding { loss, allocation, variable, kind, .. } = finding;
    (loss, variable, &allocation.site, kind, &finding.chain)
}
