//! One finding for one leak: what an allocation comes to at several exits of one function is fixed once, so it is reported once.
//! Exits that return 0 or null and others stay apart: what is forgotten on the way to success is another mistake than what is
//! forgotten on the way out with an error, and the one should not be at the end of a list of the other. Which of the
//! two means success need not be known for that.
//!
//! The surest place of loss stands for the others, which are listed with it. Places that are suppressed, or known already, do
//! not go together with those that are not: silencing one exit leaves the others reported.

use std::cmp::Reverse;
use std::collections::BTreeMap;

use crate::finding::{BaselineState, Call, Finding, OtherLoss, Site};
use crate::select::Level;
use crate::suppress::Suppression;

/// What findings have in common that are one leak, whatever the variables are called that held it last. At the coarsest level,
/// the allocation alone.
#[derive(PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Key {
    allocation: Site,
    identity: Option<Identity>,
    suppression: Option<Suppression>,
    baseline: Option<BaselineState>,
}

#[derive(PartialEq, Eq, PartialOrd, Ord)]
struct Identity {
    file: String,
    function: String,
    chain: Vec<Call>,
    returns_zero: bool,
}

impl Key {
    pub(crate) fn new(finding: &Finding, level: Level) -> Self {
        let identity = (level != Level::Allocations).then(|| Identity {
            file: finding.loss.file.clone(),
            function: finding.loss.function.clone(),
            chain: finding.chain.clone(),
            returns_zero: finding.returns_zero,
        });
        Self {
            allocation: finding.allocation.site.clone(),
            identity,
            suppression: finding.suppression.clone(),
            baseline: finding.baseline,
        }
    }
}

/// Puts findings together that are one leak. They come and leave in the order of their places.
pub(crate) fn group(findings: Vec<Finding>, level: Level) -> Vec<Finding> {
    let mut groups: BTreeMap<Key, Vec<Finding>> = BTreeMap::new();
    for finding in findings {
        groups.entry(Key::new(&finding, level)).or_default().push(finding);
    }
    groups.into_values().filter_map(one).collect()
}

/// The best of a group, with the places of the others.
fn one(mut group: Vec<Finding>) -> Option<Finding> {
    let worth = |i: &usize| (Reverse(group[*i].confidence), group[*i].needs_alloc_failure, *i);
    let best = (0..group.len()).min_by_key(worth)?;
    let mut finding = group.remove(best);
    finding.also_lost_at = group.into_iter().map(other).collect();
    Some(finding)
}

fn other(finding: Finding) -> OtherLoss {
    OtherLoss {
        kind: finding.kind,
        site: finding.loss,
        reason: finding.reason,
        confidence: finding.confidence,
        needs_alloc_failure: finding.needs_alloc_failure,
        cause: finding.cause,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::finding::{Confidence, example};

    fn at(line: u32) -> Site {
        Site { file: "a.c".to_owned(), line, column: 1, function: "f".to_owned() }
    }

    fn finding(made: u32, lost: u32, variable: &str) -> Finding {
        let allocation = Call { site: at(made), callee: "malloc()".to_owned() };
        Finding { variable: Some(variable.to_owned()), loss: at(lost), allocation, ..example() }
    }

    /// The lines of each group, the one that stands for the others first.
    fn lines(findings: Vec<Finding>, level: Level) -> Vec<Vec<u32>> {
        let of =
            |f: &Finding| [&f.loss].into_iter().chain(f.also_lost_at.iter().map(|o| &o.site)).map(|s| s.line).collect();
        group(findings, level).iter().map(of).collect()
    }

    #[test]
    fn exits_of_one_leak_and_others() {
        let through =
            |site: Site| Finding { chain: vec![Call { site, callee: "malloc()".to_owned() }], ..finding(1, 6, "p") };
        let findings =
            || vec![finding(1, 5, "p"), through(at(20)), finding(1, 7, "p"), finding(1, 8, "q"), finding(2, 9, "p")];
        assert_eq!(lines(findings(), Level::Leaks), [vec![5, 7, 8], vec![6], vec![9]]);
        assert_eq!(lines(findings(), Level::Allocations), [vec![5, 6, 7, 8], vec![9]]);
    }

    #[test]
    fn success_and_failure() {
        let zero = |lost: u32| Finding { returns_zero: true, ..finding(1, lost, "p") };
        let findings = || vec![finding(1, 5, "p"), zero(7), finding(1, 9, "p"), zero(11)];
        assert_eq!(lines(findings(), Level::Leaks), [vec![5, 9], vec![7, 11]]);
        assert_eq!(lines(findings(), Level::Allocations), [vec![5, 7, 9, 11]]);
    }

    #[test]
    fn the_surest_stands_for_the_others() {
        let unsure = Finding { confidence: Confidence::Medium, ..finding(1, 4, "p") };
        let fails = Finding { needs_alloc_failure: true, ..finding(1, 5, "p") };
        assert_eq!(lines(vec![unsure.clone(), fails.clone()], Level::Leaks), [vec![5, 4]]);
        assert_eq!(
            lines(vec![unsure, fails, finding(1, 6, "p"), finding(1, 7, "p")], Level::Leaks),
            [vec![6, 4, 5, 7]]
        );
    }

    #[test]
    fn what_is_silenced_stands_apart() {
        let source = crate::suppress::SuppressionSource::Comment;
        let silenced = Finding { suppression: Some(Suppression { source, reason: None }), ..finding(1, 5, "p") };
        assert_eq!(lines(vec![silenced, finding(1, 7, "p"), finding(1, 9, "p")], Level::Leaks), [vec![7, 9], vec![5]]);
    }

    #[test]
    fn further_lines_in_words() {
        let also = |lost: &[u32]| {
            let findings = lost.iter().map(|line| finding(1, *line, "p")).collect();
            group(findings, Level::Leaks).pop().and_then(|f| f.also())
        };
        assert_eq!(also(&[5]), None);
        assert_eq!(also(&[5, 5]), None);
        assert_eq!(also(&[5, 7]).as_deref(), Some("also lost at line 7"));
        assert_eq!(also(&[5, 7, 7, 9]).as_deref(), Some("also lost at lines 7 and 9"));
        assert_eq!(also(&[5, 6, 7, 8, 9, 10, 11]).as_deref(), Some("also lost at lines 6, 7, 8, 9 and 2 more"));
    }
}
