//! Lists of facts: learning one, and what two paths share.

use caulk_memory::Relation;
use smallvec::SmallVec;

use crate::apart::Apart;
use crate::facts::{Fact, FactList, KeyId};

/// Adds a fact; false when it contradicts what is known.
pub(crate) fn learn(facts: &mut FactList, fact: Fact, max: usize) -> bool {
    let (key, relation) = fact;
    for known in facts.iter_mut().filter(|f| f.0 == key) {
        if known.1.contradicts(relation) {
            return false;
        }
        if known.1.implies(relation) {
            return true;
        }
        if let Some(both) = known.1.meet(relation) {
            known.1 = both;
            return true;
        }
    }
    if facts.len() >= max {
        let oldest = facts.iter().position(|f| !f.0.is_of_parameter()).unwrap_or(0);
        facts.remove(oldest);
    }
    facts.push((key, relation));
    true
}

/// Keeps what another way shares: for each value both know something of, the nearest relation that covers both. `apart`: values
/// and numbers that they are worth being known not to be. True when something changed.
pub(crate) fn keep_shared(facts: &mut FactList, other: &FactList, apart: &Apart) -> bool {
    let alike = alike(facts, other);
    if alike == facts.len() {
        return false;
    }
    let excluded = apart.cases.iter().map(|(key, number)| (*key, Relation::Ne(*number)));
    let excluded: SmallVec<[Fact; 2]> = excluded.filter(|fact| says(facts, fact) && says(other, fact)).collect();
    let keys = other.iter().map(|f| f.0).collect::<SmallVec<[KeyId; 16]>>();
    let (mut kept, mut changed) = (alike, false);
    for at in alike..facts.len() {
        let (key, relation) = facts[at];
        let same = || keys.iter().enumerate().filter(|(_, k)| **k == key).map(|(at, _)| other[at].1);
        // Of several facts about one value, the one that says as much.
        let both = match same().any(|known| known == relation) {
            true => Some(relation),
            false => same().find_map(|known| apart.cover(key, relation, known)),
        };
        changed |= both != Some(relation);
        if let Some(both) = both {
            facts[kept] = (key, both);
            kept += 1;
        }
    }
    facts.truncate(kept);
    for fact in excluded {
        if !says(facts, &fact) {
            facts.push(fact);
        }
    }
    changed
}

/// Whether a list says as much as a fact, or more.
fn says(facts: &[Fact], (key, relation): &Fact) -> bool {
    facts.iter().any(|known| known.0 == *key && known.1.implies(*relation))
}

/// How many facts at the start of two lists are the same, each the first about its value. Paths that meet again mostly parted
/// a little before.
fn alike(facts: &[Fact], other: &[Fact]) -> usize {
    let mut seen = [0u64; 4];
    let is_same = |(a, b): &(&Fact, &Fact)| {
        let bit = a.0.index() % 256;
        let is_first = seen[bit / 64] & (1 << (bit % 64)) == 0;
        seen[bit / 64] |= 1 << (bit % 64);
        is_first && a == b
    };
    facts.iter().zip(other).take_while(is_same).count()
}

/// The relation of `value + by`, from that of `value`, where nothing wraps.
pub(crate) fn shifted(relation: Relation, by: i64) -> Option<Relation> {
    match relation {
        Relation::Eq(c) => c.checked_add(by).map(Relation::Eq),
        Relation::Ne(c) => c.checked_add(by).map(Relation::Ne),
        Relation::Range(low, high) => {
            let low = if low == i64::MIN { low } else { low.checked_add(by)? };
            let high = if high == i64::MAX { high } else { high.checked_add(by)? };
            Some(Relation::Range(low, high))
        }
        Relation::SomeBits(_) | Relation::NoBits(_) => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What the lists share, fact by fact.
    fn shared_one_by_one(facts: &FactList, other: &FactList) -> FactList {
        let both = |(key, relation): &Fact| {
            let covers = other.iter().filter(|f| f.0 == *key).find_map(|f| relation.cover(f.1));
            covers.map(|relation| (*key, relation))
        };
        facts.iter().filter_map(both).collect()
    }

    #[test]
    fn lists_that_begin_alike_keep_what_both_say() {
        let fact = |key: u32, relation| (KeyId(key), relation);
        let lists: [&[Fact]; 6] = [
            &[],
            &[fact(1, Relation::Eq(0)), fact(2, Relation::Ne(0)), fact(3, Relation::Eq(5))],
            &[fact(1, Relation::Eq(0)), fact(2, Relation::Ne(0)), fact(3, Relation::Eq(7))],
            &[fact(1, Relation::Eq(0)), fact(3, Relation::Eq(5))],
            // Two facts of one value, and two values that are alike modulo the size of a table.
            &[fact(2, Relation::Ne(4)), fact(2, Relation::Ne(9)), fact(258, Relation::Eq(1))],
            &[fact(2, Relation::Ne(4)), fact(258, Relation::Eq(1)), fact(2, Relation::Ne(9))],
        ];
        for one in lists {
            for other in lists.map(FactList::from_slice) {
                let mut kept = FactList::from_slice(one);
                let expected = shared_one_by_one(&kept, &other);
                let changed = keep_shared(&mut kept, &other, &Apart::default());
                assert_eq!(kept, expected, "{one:?} and {other:?}");
                assert_eq!(changed, expected.as_slice() != one);
            }
        }
    }
}
