//! Which findings are shown, and how many each choice hides.

use std::cmp::Reverse;
use std::collections::BTreeSet;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::causes;
use crate::finding::{Confidence, Finding};
use crate::group::{self, Key};

/// How much of what is alike is shown (Melton 5.3).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Level {
    /// Every place of loss and every path there.
    AllPaths,
    /// One for each leak, with all its places of loss ([`crate::group`]).
    Leaks,
    /// One for each allocation.
    Allocations,
}

/// What to do with leaks that need some other allocation to fail.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AllocFailure {
    /// Shown where the program itself tests for the failure on the path, or ignores the status by which a callee tells it.
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
    /// Show what `main` still holds when the program ends.
    pub at_exit: bool,
    /// Leaks of one cause are one finding ([`crate::causes`]). At [`Level::AllPaths`] they never are.
    pub merge_causes: bool,
}

impl Default for Selection {
    fn default() -> Self {
        Self {
            level: Level::Leaks,
            min_confidence: Confidence::Medium,
            alloc_failure: AllocFailure::Tested,
            at_exit: false,
            merge_causes: true,
        }
    }
}

/// How many findings were not shown, by the option that hid them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Hidden {
    pub by_confidence: usize,
    pub by_alloc_failure: usize,
    pub by_level: usize,
    /// In files that were not asked for.
    pub by_path: usize,
    /// Objects that `main` still holds when the program ends.
    pub at_exit: usize,
}

impl Selection {
    /// The findings to show, of a list that [`sort`] has put in order.
    pub fn apply(&self, findings: Vec<Finding>) -> (Vec<Finding>, Hidden) {
        let (findings, at_exit) =
            findings.into_iter().partition::<Vec<_>, _>(|f| self.at_exit || !f.is_note() || f.suppression.is_some());
        let (sure, unsure) = findings.into_iter().partition::<Vec<_>, _>(|f| f.confidence >= self.min_confidence);
        let (mut shown, failing) = sure.into_iter().partition::<Vec<_>, _>(|f| self.alloc_failure.shows(f));
        let before = shown.len();
        let keys: BTreeSet<Key> = shown.iter().map(|f| Key::new(f, self.level)).collect();
        if self.level != Level::AllPaths {
            one_for_each_place(&mut shown);
        }
        let hidden = Hidden {
            by_confidence: self.left_out(&unsure, &keys),
            by_alloc_failure: self.left_out(&failing, &keys),
            by_level: before - shown.len(),
            by_path: 0,
            at_exit: at_exit.iter().map(|f| &f.allocation.site).collect::<BTreeSet<_>>().len(),
        };
        if self.level != Level::AllPaths {
            shown = group::group(shown, self.level);
            if self.merge_causes {
                shown = causes::merge(shown);
            }
            sort(&mut shown);
        }
        shown.sort_by_key(|finding| Reverse(finding.confidence));
        (shown, hidden)
    }

    /// How many findings more there would be.
    fn left_out(&self, findings: &[Finding], shown: &BTreeSet<Key>) -> usize {
        if self.level == Level::AllPaths {
            return findings.len();
        }
        let more: BTreeSet<Key> = findings.iter().map(|f| Key::new(f, self.level)).collect();
        more.difference(shown).count()
    }
}

/// Of several paths from one allocation to one place of loss, the surest and shortest stays.
fn one_for_each_place(findings: &mut Vec<Finding>) {
    let mut by_worth: Vec<usize> = (0..findings.len()).collect();
    by_worth.sort_by_key(|i| (Reverse(findings[*i].confidence), findings[*i].essential().count(), *i));
    let key = |i: &usize| (findings[*i].allocation.site.clone(), findings[*i].loss.clone());
    let mut seen = BTreeSet::new();
    let kept: BTreeSet<usize> = by_worth.into_iter().filter(|i| seen.insert(key(i))).collect();
    let mut index = 0..;
    findings.retain(|_| index.next().is_some_and(|i| kept.contains(&i)));
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
