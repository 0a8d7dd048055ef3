//! How a block comes to be at a call: what a case of the callee asks of its caller, and what it leaves there. The same for both stages.

use caulk_memory::{AccessPath, Relation};

use crate::Case;

/// A stage, as it follows a block from the call that makes it.
pub trait Maker {
    /// What is known on one path through the caller: facts in stage one, a state in stage two.
    type Path;

    /// The number that the caller gives, where that is a constant.
    fn number(&mut self, path: &Self::Path, value: &AccessPath) -> Option<i64>;

    /// Assumes what a value must have been before the call. False where that cannot be.
    fn need(&mut self, path: &mut Self::Path, value: &AccessPath, relation: Relation) -> bool;

    /// Assumes what a place holds once the call is done. False where that cannot be.
    fn find(&mut self, path: &mut Self::Path, place: &AccessPath, relation: Relation) -> bool;
}

/// Goes into a case: assumes all that it needs. False where the call cannot be in it.
pub fn enter<M: Maker>(maker: &mut M, path: &mut M::Path, case: &Case) -> bool {
    let has_bits = case
        .masks
        .iter()
        .all(|(value, mask, relation)| maker.number(path, value).is_none_or(|number| relation.holds(number & mask)));
    has_bits && case.needs.iter().all(|(value, relation)| maker.need(path, value, *relation))
}

/// Comes out of a case: assumes what it leaves. False where that cannot be.
pub fn leave<M: Maker>(maker: &mut M, path: &mut M::Path, case: &Case) -> bool {
    case.leaves.iter().all(|(place, relation)| maker.find(path, place, *relation))
}

#[cfg(test)]
mod tests {
    use caulk_memory::PathRoot;

    use super::*;

    /// Knows the first argument, and notes what it is asked to assume.
    struct Given(i64);

    impl Maker for Given {
        type Path = Vec<Relation>;

        fn number(&mut self, _: &Self::Path, value: &AccessPath) -> Option<i64> {
            (value.root == PathRoot::Param(0)).then_some(self.0)
        }

        fn need(&mut self, path: &mut Self::Path, value: &AccessPath, relation: Relation) -> bool {
            path.push(relation);
            value.root != PathRoot::Param(0) || relation.holds(self.0)
        }

        fn find(&mut self, path: &mut Self::Path, _: &AccessPath, relation: Relation) -> bool {
            path.push(relation);
            true
        }
    }

    fn argument(index: u32) -> AccessPath {
        AccessPath::root(PathRoot::Param(index))
    }

    #[test]
    fn bits_of_a_constant_decide() {
        let case = Case { masks: vec![(argument(0), 4, Relation::NONZERO)], ..Case::default() };
        assert!(enter(&mut Given(6), &mut Vec::new(), &case));
        assert!(!enter(&mut Given(3), &mut Vec::new(), &case));
        let unknown = Case { masks: vec![(argument(1), 4, Relation::NONZERO)], ..Case::default() };
        assert!(enter(&mut Given(3), &mut Vec::new(), &unknown));
    }

    #[test]
    fn all_that_a_case_needs_must_hold() {
        let needs = vec![(argument(1), Relation::ZERO), (argument(0), Relation::Eq(3))];
        let case = Case { needs, leaves: vec![(argument(2), Relation::NONZERO)], ..Case::default() };
        let mut path = Vec::new();
        assert!(enter(&mut Given(3), &mut path, &case));
        assert!(leave(&mut Given(3), &mut path, &case));
        assert_eq!(path, [Relation::ZERO, Relation::Eq(3), Relation::NONZERO]);
        assert!(!enter(&mut Given(4), &mut Vec::new(), &case));
    }
}
