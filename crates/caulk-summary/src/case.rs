//! Cases: what holds together where a block is handed out.

use caulk_memory::{AccessPath, PathRoot, Relation};
use serde::{Deserialize, Serialize};

/// What is known of a value that the caller can name.
pub type Known = (AccessPath, Relation);

/// One case in which a function hands out a block. The conditions of a case hold together; those of different cases do not
/// mix: `read_all()` leaves a block and returns -1 only where it was given one, and leaves one without that where it returns 0.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Case {
    /// What the caller must have given, and what it gets back: a size that is not zero, a result of 0.
    pub needs: Vec<Known>,
    /// What the caller finds in its memory afterwards: an error that is not set.
    pub leaves: Vec<Known>,
    /// Bits of what the caller gave, and what they must be: `flags & 4` is not zero.
    pub masks: Vec<(AccessPath, i64, Relation)>,
}

impl Case {
    /// What the result must be.
    pub fn result(&self) -> Option<Relation> {
        let is_result = |path: &AccessPath| path.root == PathRoot::Return && path.steps.is_empty();
        self.needs.iter().find(|(path, _)| is_result(path)).map(|(_, relation)| *relation)
    }

    /// Whether no call can be in one of the first cases and in one of the second, by its arguments alone.
    pub fn exclude_by_arguments(some: &[Case], others: &[Case]) -> bool {
        let is_argument = |path: &AccessPath| path.steps.is_empty() && matches!(path.root, PathRoot::Param(_));
        let excludes = |a: &Case, b: &Case| {
            let opposite = |known: &Known| b.needs.iter().any(|k| k.0 == known.0 && k.1.contradicts(known.1));
            a.needs.iter().any(|known| is_argument(&known.0) && opposite(known))
        };
        !some.is_empty() && !others.is_empty() && some.iter().all(|a| others.iter().all(|b| excludes(a, b)))
    }

    /// The case that covers both: what either needs, and what both leave.
    pub fn join(&self, other: &Case) -> Case {
        let masks = self.masks.iter().filter(|mask| other.masks.contains(mask)).cloned().collect();
        Case { needs: shared(&self.needs, &other.needs), leaves: shared(&self.leaves, &other.leaves), masks }
    }

    /// Makes one case of those with equal results, and one of all if there are still more than `max`.
    pub fn merge(cases: Vec<Case>, max: usize) -> Vec<Case> {
        let mut merged: Vec<Case> = Vec::new();
        for case in cases {
            match merged.iter_mut().find(|known| known.result() == case.result()) {
                Some(known) => *known = known.join(&case),
                None => merged.push(case),
            }
        }
        match merged.len() > max {
            true => merged.into_iter().reduce(|a, b| a.join(&b)).into_iter().collect(),
            false => merged,
        }
    }
}

/// What both lists say of the same values.
fn shared(a: &[Known], b: &[Known]) -> Vec<Known> {
    let both = |(path, relation): &Known| {
        let other = b.iter().filter(|known| known.0 == *path);
        other.filter_map(|known| relation.cover(known.1)).map(|r| (path.clone(), r)).next()
    };
    a.iter().filter_map(both).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parameter(index: u32) -> AccessPath {
        AccessPath::root(PathRoot::Param(index))
    }

    fn case(result: i64, needs: &[Known]) -> Case {
        let result = (AccessPath::root(PathRoot::Return), Relation::Eq(result));
        Case { needs: [&[result], needs].concat(), ..Case::default() }
    }

    #[test]
    fn cases_with_other_results_stay_separate() {
        let failed = case(-1, &[(parameter(0), Relation::NONZERO)]);
        let cases = Case::merge(vec![failed.clone(), case(0, &[]), failed.clone()], 4);
        assert_eq!(cases, [failed, case(0, &[])]);
    }

    #[test]
    fn cases_with_one_result_keep_what_both_need() {
        let one = case(0, &[(parameter(0), Relation::NONZERO), (parameter(1), Relation::Eq(3))]);
        let other = case(0, &[(parameter(1), Relation::Eq(7))]);
        assert_eq!(Case::merge(vec![one, other], 4), [case(0, &[(parameter(1), Relation::at_least(1))])]);
    }

    #[test]
    fn arguments_exclude_cases() {
        let with = case(1, &[(parameter(0), Relation::NONZERO)]);
        let without = case(1, &[(parameter(0), Relation::ZERO)]);
        let (all, without) = ([with.clone(), without.clone()], [without]);
        let with = [with];
        assert!(Case::exclude_by_arguments(&with, &without));
        assert!(!Case::exclude_by_arguments(&all, &without));
        assert!(!Case::exclude_by_arguments(&with, &[case(0, &[])]));
    }

    #[test]
    fn too_many_cases_become_one() {
        let cases = (0..6).map(|result| case(result, &[(parameter(0), Relation::Eq(2))])).collect();
        let merged = Case::merge(cases, 4);
        assert_eq!(merged.len(), 1);
        assert!(merged[0].needs.contains(&(parameter(0), Relation::Eq(2))));
        assert_eq!(merged[0].result(), Some(Relation::at_least(0)));
    }
}
