//! How a block comes to be at a call: when the callee hands it out, what a case of the callee asks of its caller, and what it leaves there. The
//! same for both stages.

use caulk_memory::{AccessPath, Relation};

use crate::{Action, Case, Guard};

/// A stage, as it is handed the block that it follows from the call on.
pub trait Receiver {
    /// What is known on one path through the caller: facts in stage one, a state in stage two.
    type Path;

    /// The result tells that the block is there: assumes that. `otherwise`: what it is where the block is not there, if that is more than the
    /// opposite. False where it cannot be.
    fn told(&mut self, path: &mut Self::Path, relation: Relation, otherwise: Option<Relation>) -> bool;

    /// The block is there where a value was so before the call: assumes that. False where it cannot be.
    fn given(&mut self, path: &mut Self::Path, value: &AccessPath, relation: Relation) -> bool;

    /// Whether a value was surely not so before the call.
    fn is_excluded(&mut self, path: &Self::Path, value: &AccessPath, relation: Relation) -> bool;

    /// The block is there whatever else holds.
    fn is_there(&mut self);

    /// Nothing tells whether the block is there.
    fn may_be_there(&mut self, action: &Action);
}

/// One of the actions by which a callee hands out a block, for a path on which the block is followed. False where it cannot happen.
pub fn hand_out<R: Receiver>(receiver: &mut R, path: &mut R::Path, action: &Action) -> bool {
    match &action.guard {
        Guard::Always => receiver.is_there(),
        Guard::ByResult(relation, otherwise) => return receiver.told(path, *relation, *otherwise),
        Guard::ByArgument(value, relation) => return receiver.given(path, value, *relation),
        Guard::Limited(value, relation) if receiver.is_excluded(path, value, *relation) => return false,
        Guard::Limited(..) | Guard::Opaque | Guard::Unsure => receiver.may_be_there(action),
    }
    true
}

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
    use crate::{AllocId, Destination, Subject};

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

    impl Receiver for Given {
        type Path = Vec<Relation>;

        fn told(&mut self, path: &mut Self::Path, relation: Relation, _: Option<Relation>) -> bool {
            path.push(relation);
            true
        }

        fn given(&mut self, path: &mut Self::Path, value: &AccessPath, relation: Relation) -> bool {
            self.need(path, value, relation)
        }

        fn is_excluded(&mut self, path: &Self::Path, value: &AccessPath, relation: Relation) -> bool {
            self.number(path, value).is_some_and(|number| !relation.holds(number))
        }

        fn is_there(&mut self) {}

        fn may_be_there(&mut self, _: &Action) {}
    }

    #[test]
    fn a_guard_says_when_a_block_is_handed_out() {
        let value = || argument(0);
        let table = [
            (Guard::Always, true, vec![]),
            (Guard::ByResult(Relation::ZERO, None), true, vec![Relation::ZERO]),
            (Guard::ByArgument(value(), Relation::Eq(3)), true, vec![Relation::Eq(3)]),
            (Guard::ByArgument(value(), Relation::ZERO), false, vec![Relation::ZERO]),
            (Guard::Limited(value(), Relation::NONZERO), true, vec![]),
            // What a number excludes does not happen, though nothing else is known of it.
            (Guard::Limited(value(), Relation::ZERO), false, vec![]),
            (Guard::Opaque, true, vec![]),
            (Guard::Unsure, true, vec![]),
        ];
        for (guard, may_be, assumed) in table {
            let subject = Subject::Alloc(AllocId(0));
            let to = Destination::Store(AccessPath::root(PathRoot::Return));
            let (mut path, action) = (Vec::new(), Action { subject, to, guard });
            assert_eq!((hand_out(&mut Given(3), &mut path, &action), path), (may_be, assumed), "{action:?}");
        }
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
