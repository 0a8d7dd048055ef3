//! The rules of the engines: every heuristic has a name, a reason, a switch, and a count of what it did.
//!
//! This crate owns the list ([`Rule`]) and the choice of one run ([`Rules`]). Each configuration of an engine holds a clone of
//! that choice; all clones of a run count together.
//!
//! *Architecture invariant:* no analysis, and no global state. What a rule does is decided where it is used; here it is only
//! asked whether it may, and told that it did.

mod list;

pub use list::Rule;

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// Which rules are used in a run, and what each did so far.
#[derive(Clone, Debug)]
pub struct Rules {
    /// For each rule, whether it is switched off.
    off: [bool; Rule::ALL.len()],
    counts: Arc<[AtomicU64; Rule::ALL.len()]>,
}

/// A name that no rule has.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("there is no rule {0:?}")]
pub struct UnknownRule(pub String);

impl Default for Rules {
    /// All of them.
    fn default() -> Self {
        Self { off: [false; Rule::ALL.len()], counts: Arc::new(std::array::from_fn(|_| AtomicU64::new(0))) }
    }
}

/// Two choices are equal if they use the same rules, whatever these did.
impl PartialEq for Rules {
    fn eq(&self, other: &Self) -> bool {
        self.off == other.off
    }
}

impl Eq for Rules {}

impl Rules {
    /// All rules but those named.
    pub fn without<'n>(names: impl IntoIterator<Item = &'n str>) -> Result<Self, UnknownRule> {
        let mut rules = Self::default();
        for name in names {
            let rule = Rule::named(name).ok_or_else(|| UnknownRule(name.to_owned()))?;
            rules.off[rule as usize] = true;
        }
        Ok(rules)
    }

    pub fn is_on(&self, rule: Rule) -> bool {
        !self.off[rule as usize]
    }

    /// Whether a rule is used where it applies. If so, it counts.
    pub fn applies(&self, rule: Rule, holds: bool) -> bool {
        let is_used = holds && self.is_on(rule);
        self.note(rule, usize::from(is_used));
        is_used
    }

    /// What a rule found, or nothing where it is switched off. Counts what there is.
    pub fn all<T>(&self, rule: Rule, find: impl FnOnce() -> Vec<T>) -> Vec<T> {
        if !self.is_on(rule) {
            return Vec::new();
        }
        let found = find();
        self.note(rule, found.len());
        found
    }

    /// A rule did something so many times.
    pub fn note(&self, rule: Rule, times: usize) {
        if times > 0 {
            // Sums do not depend on the order in which threads add.
            self.counts[rule as usize].fetch_add(times as u64, Ordering::Relaxed);
        }
    }

    /// The same choice, which counts by itself: what one piece of work does can be counted alone.
    #[must_use]
    pub fn counting_apart(&self) -> Self {
        Self { off: self.off, ..Self::default() }
    }

    /// Adds what rules did in a piece of work that was counted alone.
    pub fn add(&self, counts: &[(Rule, u64)]) {
        counts.iter().for_each(|(rule, times)| self.note(*rule, usize::try_from(*times).unwrap_or(usize::MAX)));
    }

    /// What each rule did, for those that did anything, in the order of the list.
    pub fn counts(&self) -> impl Iterator<Item = (Rule, u64)> + '_ {
        let count = |rule: Rule| (rule, self.counts[rule as usize].load(Ordering::Relaxed));
        Rule::ALL.into_iter().map(count).filter(|(_, count)| *count > 0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_switched_off_does_nothing_and_counts_nothing() {
        let rules = Rules::without(["carriers"]).expect("a rule");
        let clone = rules.clone();
        assert!(!clone.applies(Rule::Carriers, true) && clone.applies(Rule::Renewals, true));
        assert!(!clone.applies(Rule::Renewals, false));
        assert_eq!(clone.all(Rule::Carriers, || vec![1]), Vec::<i32>::new());
        assert_eq!(clone.all(Rule::Hooks, || vec![1, 2]), [1, 2]);
        assert_eq!(rules.counts().collect::<Vec<_>>(), [(Rule::Hooks, 2), (Rule::Renewals, 1)]);
        assert_ne!(rules, Rules::default());
        assert_eq!(Rules::default(), Rules::default());
    }

    #[test]
    fn unknown_names_are_errors() {
        assert_eq!(Rules::without(["carriers", "cariers"]), Err(UnknownRule("cariers".to_owned())));
    }

    #[test]
    fn names_are_unique_and_reasons_are_sentences() {
        for (index, rule) in Rule::ALL.into_iter().enumerate() {
            assert_eq!(rule as usize, index);
            assert_eq!(Rule::named(rule.name()), Some(rule));
            assert!(rule.name().chars().all(|c| c.is_ascii_lowercase() || c == '-'), "{}", rule.name());
            assert!(rule.reason().ends_with('.') && !rule.reason().contains('\n'), "{}", rule.name());
        }
    }
}
