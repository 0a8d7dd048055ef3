//! Lists of facts: learning one, and what two ways share.

use caulk_memory::Relation;

use crate::facts::{Fact, FactList, PARAMETER_KEYS};

/// Adds a fact; false when it contradicts what is known.
pub fn learn(facts: &mut FactList, fact: Fact, max: usize) -> bool {
    let (key, relation) = fact;
    for known in facts.iter_mut().filter(|f| f.0 == key) {
        if known.1.contradicts(relation) {
            return false;
        }
        if known.1.implies(relation) {
            return true;
        }
        if relation.implies(known.1) {
            known.1 = relation;
            return true;
        }
    }
    if facts.len() >= max {
        let oldest = facts.iter().position(|f| f.0.0 >= PARAMETER_KEYS).unwrap_or(0);
        facts.remove(oldest);
    }
    facts.push((key, relation));
    true
}

/// Keeps what another way shares: for each value both know something of, the nearest relation that covers both. True when
/// something changed.
pub fn keep_shared(facts: &mut FactList, other: &FactList) -> bool {
    let mut changed = false;
    facts.retain(|(key, relation)| {
        let both = other.iter().filter(|f| f.0 == *key).find_map(|f| cover(*relation, f.1));
        changed |= both != Some(*relation);
        *relation = both.unwrap_or(*relation);
        both.is_some()
    });
    changed
}

/// A relation implied by both. Unlike numbers are covered by their sign only, so that loops settle.
pub fn cover(a: Relation, b: Relation) -> Option<Relation> {
    if a.implies(b) {
        return Some(b);
    }
    if b.implies(a) {
        return Some(a);
    }
    let signs = [Relation::at_least(1), Relation::at_most(-1), Relation::at_least(0), Relation::at_most(0)];
    signs.into_iter().chain([Relation::NONZERO]).find(|r| a.implies(*r) && b.implies(*r))
}

/// The relation of `value + by`, from that of `value`, where nothing wraps.
pub fn shifted(relation: Relation, by: i64) -> Option<Relation> {
    match relation {
        Relation::Eq(c) => c.checked_add(by).map(Relation::Eq),
        Relation::Ne(c) => c.checked_add(by).map(Relation::Ne),
        Relation::Range(low, high) => {
            let low = if low == i64::MIN { low } else { low.checked_add(by)? };
            let high = if high == i64::MAX { high } else { high.checked_add(by)? };
            Some(Relation::Range(low, high))
        }
    }
}
