//! Comparisons of a value with a constant: enough to tell most paths of C code apart without a solver.

use std::cmp::Ordering;
use std::fmt;

use serde::{Deserialize, Serialize};

/// What is known of a value compared with constants. Numbers are signed; null is 0.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub enum Relation {
    Eq(i64),
    Ne(i64),
    /// Between the two, both included.
    Range(i64, i64),
    /// At least one bit of a mask is set.
    SomeBits(i64),
    /// No bit of a mask is set.
    NoBits(i64),
}

impl Relation {
    pub const ZERO: Relation = Relation::Eq(0);
    pub const NONZERO: Relation = Relation::Ne(0);

    pub fn less(limit: i64) -> Option<Relation> {
        limit.checked_sub(1).map(|high| Relation::Range(i64::MIN, high))
    }

    pub fn at_most(limit: i64) -> Relation {
        Relation::Range(i64::MIN, limit)
    }

    pub fn greater(limit: i64) -> Option<Relation> {
        limit.checked_add(1).map(|low| Relation::Range(low, i64::MAX))
    }

    pub fn at_least(limit: i64) -> Relation {
        Relation::Range(limit, i64::MAX)
    }

    pub fn holds(self, value: i64) -> bool {
        match self {
            Relation::Eq(c) => value == c,
            Relation::Ne(c) => value != c,
            Relation::Range(low, high) => (low..=high).contains(&value),
            Relation::SomeBits(mask) => value & mask != 0,
            Relation::NoBits(mask) => value & mask == 0,
        }
    }

    /// Whether no value satisfies both.
    pub fn contradicts(self, other: Relation) -> bool {
        match (self, other) {
            (Relation::Eq(c), r) | (r, Relation::Eq(c)) => !r.holds(c),
            (Relation::Ne(_), Relation::Ne(_)) => false,
            (Relation::Ne(c), Relation::Range(low, high)) | (Relation::Range(low, high), Relation::Ne(c)) => {
                low == high && low == c
            }
            (Relation::Range(a, b), Relation::Range(c, d)) => a.max(c) > b.min(d),
            (Relation::SomeBits(some), Relation::NoBits(none)) | (Relation::NoBits(none), Relation::SomeBits(some)) => {
                some & !none == 0
            }
            (Relation::SomeBits(_) | Relation::NoBits(_), _) | (_, Relation::SomeBits(_) | Relation::NoBits(_)) => {
                false
            }
        }
    }

    /// Whether every value that satisfies this one satisfies the other.
    pub fn implies(self, other: Relation) -> bool {
        match (self, other) {
            (Relation::Eq(c), r) => r.holds(c),
            (Relation::Ne(a), Relation::Ne(b)) => a == b,
            (Relation::Ne(0), Relation::SomeBits(mask)) => mask == -1,
            (Relation::Ne(_), _) => false,
            (Relation::SomeBits(mask), Relation::SomeBits(wider)) => mask & !wider == 0,
            (Relation::NoBits(mask), Relation::NoBits(smaller)) => smaller & !mask == 0,
            (bits @ (Relation::SomeBits(_) | Relation::NoBits(_)), Relation::Ne(c)) => !bits.holds(c),
            (Relation::SomeBits(_) | Relation::NoBits(_), _) => false,
            (Relation::Range(low, high), Relation::Ne(c)) => !(low..=high).contains(&c),
            (Relation::Range(low, high), Relation::Range(a, b)) => a <= low && high <= b,
            (Relation::Range(low, high), Relation::Eq(c)) => low == high && low == c,
            (Relation::Range(low, high), bits) => low == high && bits.holds(low),
        }
    }

    /// What satisfies both, where one relation can say it.
    pub fn meet(self, other: Relation) -> Option<Relation> {
        let between = |low: i64, high: i64| match low.cmp(&high) {
            Ordering::Less => Some(Relation::Range(low, high)),
            Ordering::Equal => Some(Relation::Eq(low)),
            Ordering::Greater => None,
        };
        match (self, other) {
            _ if self.contradicts(other) => None,
            _ if self.implies(other) => Some(self),
            _ if other.implies(self) => Some(other),
            (Relation::Range(a, b), Relation::Range(c, d)) => between(a.max(c), b.min(d)),
            (Relation::Range(low, high), Relation::Ne(c)) | (Relation::Ne(c), Relation::Range(low, high)) => match c {
                _ if c == low => between(low + 1, high),
                _ if c == high => between(low, high - 1),
                _ => None,
            },
            _ => None,
        }
    }

    /// Whether some bits of a mask are set, or none.
    pub fn bits(mask: i64, is_some: bool) -> Relation {
        match (mask, is_some) {
            (-1, true) => Relation::NONZERO,
            (-1, false) => Relation::ZERO,
            (_, true) => Relation::SomeBits(mask),
            (_, false) => Relation::NoBits(mask),
        }
    }

    /// A relation implied by both. Unlike numbers are covered by their sign only, so that loops settle.
    pub fn cover(self, other: Relation) -> Option<Relation> {
        if self.implies(other) {
            return Some(other);
        }
        if other.implies(self) {
            return Some(self);
        }
        if let Some(gap) = self.single_gap(other).or_else(|| other.single_gap(self)) {
            return Some(Relation::Ne(gap));
        }
        if let Some(bits) = self.bits_of_both(other).filter(|bits| self.implies(*bits) && other.implies(*bits)) {
            return Some(bits);
        }
        let signs = [Relation::at_least(1), Relation::at_most(-1), Relation::at_least(0), Relation::at_most(0)];
        signs.into_iter().chain([Relation::NONZERO]).find(|r| self.implies(*r) && other.implies(*r))
    }

    /// Bits of which some are set, or none, in what satisfies one or the other.
    fn bits_of_both(self, other: Relation) -> Option<Relation> {
        match (self, other) {
            (Relation::SomeBits(a), Relation::SomeBits(b)) => Some(Relation::SomeBits(a | b)),
            (Relation::NoBits(a), Relation::NoBits(b)) if a & b != 0 => Some(Relation::NoBits(a & b)),
            _ => None,
        }
    }

    /// The only number that neither allows, where the first is what lies below it and the second what lies above.
    fn single_gap(self, above: Relation) -> Option<i64> {
        match (self, above) {
            (Relation::Range(i64::MIN, high), Relation::Range(low, i64::MAX)) if high.checked_add(2) == Some(low) => {
                Some(high + 1)
            }
            _ => None,
        }
    }

    /// The nearest relation implied by both, numbers between the two included.
    pub fn hull(self, other: Relation) -> Option<Relation> {
        let ends = |relation: Relation| match relation {
            Relation::Eq(c) => Some((c, c)),
            Relation::Range(low, high) => Some((low, high)),
            Relation::Ne(_) | Relation::SomeBits(_) | Relation::NoBits(_) => None,
        };
        let cover = self.cover(other);
        match (ends(self), ends(other)) {
            (Some((a, b)), Some((c, d))) if (a.min(c), b.max(d)) != (i64::MIN, i64::MAX) => {
                let hull = Relation::Range(a.min(c), b.max(d));
                // Not to be 0 may say more.
                cover.filter(|cover| !hull.implies(*cover) || cover.implies(hull)).or(Some(hull))
            }
            _ => cover,
        }
    }

    /// The opposite, where one relation can say it.
    pub fn negate(self) -> Option<Relation> {
        match self {
            Relation::Eq(c) => Some(Relation::Ne(c)),
            Relation::Ne(c) => Some(Relation::Eq(c)),
            Relation::Range(i64::MIN, high) => Relation::greater(high),
            Relation::Range(low, i64::MAX) => Relation::less(low),
            Relation::Range(..) => None,
            Relation::SomeBits(mask) => Some(Relation::NoBits(mask)),
            Relation::NoBits(mask) => Some(Relation::SomeBits(mask)),
        }
    }
}

impl fmt::Display for Relation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Relation::Eq(c) => write!(f, "== {c}"),
            Relation::Ne(c) => write!(f, "!= {c}"),
            Relation::Range(i64::MIN, high) => write!(f, "<= {high}"),
            Relation::Range(low, i64::MAX) => write!(f, ">= {low}"),
            Relation::Range(low, high) => write!(f, "in {low}..={high}"),
            Relation::SomeBits(mask) => write!(f, "& {mask} != 0"),
            Relation::NoBits(mask) => write!(f, "& {mask} == 0"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_but_one_number_is_covered() {
        let cover = Relation::at_most(0).cover(Relation::at_least(2));
        assert_eq!(cover, Some(Relation::Ne(1)));
        assert_eq!(Relation::at_least(2).cover(Relation::at_most(0)), cover);
        assert_eq!(Relation::at_least(3).cover(Relation::at_most(0)), None);
    }

    /// All relations over a few constants agree with what they say of every small number.
    #[test]
    fn answers_agree_with_enumeration() {
        let edge = |c: i64| [i64::MIN, c, i64::MAX];
        let mut relations = vec![];
        for c in -2..=2 {
            relations.extend([Relation::Eq(c), Relation::Ne(c)]);
            relations.extend([Relation::SomeBits(c + 3), Relation::NoBits(c + 3), Relation::SomeBits(-1)]);
            for low in edge(c) {
                for high in edge(c + 1) {
                    if low <= high {
                        relations.push(Relation::Range(low, high));
                    }
                }
            }
        }
        let sample: Vec<i64> = (-5..=5).chain([i64::MIN, i64::MAX]).collect();
        for &a in &relations {
            for &b in &relations {
                if a.contradicts(b) {
                    assert!(sample.iter().all(|&v| !(a.holds(v) && b.holds(v))), "{a} and {b}");
                }
                if let Some(hull) = a.hull(b) {
                    assert!(a.implies(hull) && b.implies(hull), "{a} or {b}");
                }
                if let Some(cover) = a.cover(b) {
                    assert!(a.implies(cover) && b.implies(cover), "{a} or {b}");
                }
                if let Some(both) = a.meet(b) {
                    assert!(sample.iter().all(|&v| both.holds(v) == (a.holds(v) && b.holds(v))), "{a} and {b}");
                }
                if a.implies(b) {
                    assert!(sample.iter().all(|&v| !a.holds(v) || b.holds(v)), "{a} implies {b}");
                }
            }
            if let Some(not) = a.negate() {
                assert!(sample.iter().all(|&v| a.holds(v) != not.holds(v)), "not {a}");
            }
        }
    }
}
