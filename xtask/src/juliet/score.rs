//! From findings to a verdict on each test case, and from those to the figures.

use serde::{Deserialize, Serialize};

use crate::sarif::Finding;

use super::suite::Case;
use super::truth::Flow;

/// What the findings on one test case amount to.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Score {
    /// The leak was found.
    pub found: bool,
    /// And the finding names an allocation of the flow that leaks.
    pub exact: bool,
    /// Something was reported in a flow that does not leak.
    pub is_false: bool,
}

pub(crate) fn judge(case: &Case, findings: &[Finding]) -> Score {
    let mut score = Score::default();
    for finding in findings {
        for flow in flows(case, finding) {
            match flow {
                Flow::Bad => score.found = true,
                Flow::Good => score.is_false = true,
            }
        }
        let mut named = finding.main.iter().chain(&finding.related);
        score.exact |= named.any(|p| case.file(&p.file).is_some_and(|f| f.truth.allocates_in(Flow::Bad, p.line)));
    }
    score
}

/// The flows a finding speaks of: those of its places of loss and its allocation, else of the last place of its path that has one.
fn flows(case: &Case, finding: &Finding) -> Vec<Flow> {
    let flow = |place: &crate::sarif::Place| case.file(&place.file)?.truth.flow_at(place.line);
    let near = finding.main.first().into_iter().chain(&finding.also).chain(finding.related.first());
    let found: Vec<Flow> = near.filter_map(flow).collect();
    if !found.is_empty() {
        return found;
    }
    finding.related.iter().chain(&finding.flow).rev().find_map(flow).into_iter().collect()
}

/// Sums over test cases. Each has one leak to find and one chance of a false finding.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Tally {
    pub units: usize,
    pub true_positives: usize,
    pub false_positives: usize,
    pub exact: usize,
    /// Found, and nothing false.
    pub clean: usize,
}

impl Tally {
    pub(crate) fn of(scores: impl Iterator<Item = Score>) -> Self {
        scores.fold(Self::default(), |sum, score| Self {
            units: sum.units + 1,
            true_positives: sum.true_positives + usize::from(score.found),
            false_positives: sum.false_positives + usize::from(score.is_false),
            exact: sum.exact + usize::from(score.exact),
            clean: sum.clean + usize::from(score.found && !score.is_false),
        })
    }

    pub(crate) fn f1(self) -> f64 {
        let missed = self.units - self.true_positives;
        let sum = 2 * self.true_positives + self.false_positives + missed;
        if self.true_positives == 0 { 0.0 } else { 2.0 * self.true_positives as f64 / sum as f64 }
    }

    pub(crate) fn is_perfect(self) -> bool {
        self.clean == self.units
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn figures_add_up() {
        let score = |found, is_false| Score { found, exact: found, is_false };
        let tally = Tally::of([score(true, false), score(true, true), score(false, false)].into_iter());
        assert_eq!((tally.units, tally.true_positives, tally.false_positives, tally.clean), (3, 2, 1, 1));
        assert!((tally.f1() - 2.0 / 3.0).abs() < 1e-9);
        assert_eq!(Tally::default().f1(), 0.0);
    }
}
