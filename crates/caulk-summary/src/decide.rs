//! Whether what a callee does under a guard happens at one call: the one place where guards get their meaning.
//!
//! Both stages ask here. A stage only says how it names values and what it knows of them ([`Caller`]), so that the answer
//! does not depend on which of them asks.

use caulk_memory::{AccessPath, Relation};

use crate::{Action, Destination, Guard};

/// A call, as the function that makes it sees it.
pub trait Caller {
    /// Something that may hold: a fact in stage one, a term in stage two.
    type Condition;

    /// Whether what the call gives back is a pointer.
    fn gives_pointer(&self) -> bool;

    /// Whether the caller looks at what the call gives back.
    fn uses_result(&self) -> bool;

    /// Whether what the call gives back only makes it likely that something was done ([`crate::Summary::loosely_told`]).
    fn is_loosely_told(&mut self) -> bool;

    /// Whether a release counts as done where the caller does not ask whether it was refused. Asked only where that decides.
    fn trusts_unasked_release(&self) -> bool;

    /// Whether a release that only a count of nothing prevents counts as done, for the count that is given there.
    fn trusts_count(&mut self, path: &AccessPath) -> bool;

    /// What is known of the returned value. `otherwise`: what it is if it is not so, where that is more than the opposite.
    fn ask_result(&mut self, relation: Relation, otherwise: Option<Relation>) -> Answer<Self::Condition>;

    /// What is known of a value before the call.
    fn ask(&mut self, path: &AccessPath, relation: Relation) -> Answer<Self::Condition>;
}

/// What a caller knows of a value and a relation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Answer<C> {
    Holds,
    Fails,
    /// It may hold; the second is what holds if it does not, where that can be said.
    Open(C, Option<C>),
    /// The caller has no name for the value, or others may have written there.
    Unseen,
}

/// Whether an action happens on a path.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Decision<C> {
    Yes,
    No,
    /// Something decides that the caller cannot see; but where it happens, this holds.
    Hidden(Option<C>),
    /// If the first holds; the second is what holds otherwise.
    If(C, Option<C>),
}

/// Whether an action under this guard happens.
pub fn decide<S: Caller>(caller: &mut S, guard: &Guard) -> Decision<S::Condition> {
    match guard {
        Guard::Always => Decision::Yes,
        Guard::Opaque | Guard::Unsure => Decision::Hidden(None),
        Guard::Limited(path, relation) => match caller.ask(path, *relation) {
            Answer::Fails => Decision::No,
            Answer::Open(condition, _) => Decision::Hidden(Some(condition)),
            Answer::Holds | Answer::Unseen => Decision::Hidden(None),
        },
        Guard::ByResult(relation, otherwise) => {
            // Inserting into a tree gives back the element that was there already; who ignores that knows of none.
            if !caller.uses_result() && (caller.gives_pointer() || caller.is_loosely_told()) {
                return Decision::Hidden(None);
            }
            from_answer(caller.ask_result(*relation, *otherwise))
        }
        Guard::ByArgument(path, relation) => from_answer(caller.ask(path, *relation)),
    }
}

/// Whether an action on a value of the caller happens. Who does not ask whether a release was refused has no reason to expect it:
/// `sqlite3_close(db);`.
pub fn decide_action<S: Caller>(caller: &mut S, action: &Action) -> Decision<S::Condition> {
    let is_told = matches!(action.guard, Guard::ByResult(..));
    let is_release = is_told && matches!(action.to, Destination::Free { .. });
    if is_release && !caller.uses_result() && caller.trusts_unasked_release() {
        return Decision::Hidden(None);
    }
    let decision = decide(caller, &action.guard);
    match (decision, &action.guard) {
        // `options_free(n, options)` asks for `n > 0`; who has options has counted them.
        (Decision::If(condition, _), Guard::ByArgument(path, relation))
            if is_count_of_some(path, *relation)
                && matches!(action.to, Destination::Free { .. })
                && caller.trusts_count(path) =>
        {
            Decision::Hidden(Some(condition))
        }
        (decision, _) => decision,
    }
}

/// Whether a condition is that a number which the caller gives is above zero.
fn is_count_of_some(path: &AccessPath, relation: Relation) -> bool {
    path.steps.is_empty() && relation == Relation::at_least(1)
}

fn from_answer<C>(answer: Answer<C>) -> Decision<C> {
    match answer {
        Answer::Holds => Decision::Yes,
        Answer::Fails => Decision::No,
        Answer::Open(condition, otherwise) => Decision::If(condition, otherwise),
        Answer::Unseen => Decision::Hidden(None),
    }
}

#[cfg(test)]
mod tests {
    use caulk_memory::PathRoot;

    use super::*;
    use crate::{Depth, Subject};

    /// Knows one thing of its first argument and one of the result; conditions are relations.
    #[derive(Default)]
    struct Known {
        argument: Option<Relation>,
        result: Option<Relation>,
        gives_pointer: bool,
        uses_result: bool,
        is_loosely_told: bool,
    }

    fn compare(known: Option<Relation>, asked: Relation, otherwise: Option<Relation>) -> Answer<Relation> {
        match known {
            Some(known) if known.implies(asked) => Answer::Holds,
            Some(known) if known.contradicts(asked) => Answer::Fails,
            _ => Answer::Open(asked, otherwise.or(asked.negate())),
        }
    }

    impl Caller for Known {
        type Condition = Relation;

        fn gives_pointer(&self) -> bool {
            self.gives_pointer
        }

        fn uses_result(&self) -> bool {
            self.uses_result
        }

        fn is_loosely_told(&mut self) -> bool {
            self.is_loosely_told
        }

        fn trusts_unasked_release(&self) -> bool {
            true
        }

        fn trusts_count(&mut self, _: &AccessPath) -> bool {
            true
        }

        fn ask_result(&mut self, relation: Relation, otherwise: Option<Relation>) -> Answer<Relation> {
            compare(self.result, relation, otherwise)
        }

        fn ask(&mut self, path: &AccessPath, relation: Relation) -> Answer<Relation> {
            match path.root {
                PathRoot::Param(0) => compare(self.argument, relation, None),
                _ => Answer::Unseen,
            }
        }
    }

    fn parameter(index: u32) -> AccessPath {
        AccessPath::root(PathRoot::Param(index))
    }

    #[test]
    fn a_guard_is_decided_by_what_the_caller_knows() {
        let (zero, nonzero) = (Relation::ZERO, Relation::NONZERO);
        let is_null = Known { argument: Some(zero), ..Known::default() };
        let failed = Known { result: Some(Relation::Eq(-1)), uses_result: true, ..Known::default() };
        let asks = || Known { uses_result: true, ..Known::default() };
        let told = Guard::ByResult(zero, Some(Relation::Eq(-1)));
        let given = |index| Guard::ByArgument(parameter(index), nonzero);
        let limited = |index| Guard::Limited(parameter(index), nonzero);
        let open = Decision::If(nonzero, Some(zero));
        let table: Vec<(Known, Guard, Decision<Relation>)> = vec![
            (Known::default(), Guard::Always, Decision::Yes),
            (Known::default(), Guard::Opaque, Decision::Hidden(None)),
            (Known::default(), Guard::Unsure, Decision::Hidden(None)),
            (Known::default(), given(0), open),
            (Known::default(), given(1), Decision::Hidden(None)),
            (is_null, given(0), Decision::No),
            (Known::default(), limited(0), Decision::Hidden(Some(nonzero))),
            (Known { argument: Some(nonzero), ..Known::default() }, limited(0), Decision::Hidden(None)),
            (Known { argument: Some(zero), ..Known::default() }, limited(0), Decision::No),
            (asks(), told.clone(), Decision::If(zero, Some(Relation::Eq(-1)))),
            (failed, told.clone(), Decision::No),
            // A number that is not looked at still says what was done.
            (Known::default(), told, Decision::If(zero, Some(Relation::Eq(-1)))),
        ];
        for (mut caller, guard, expected) in table {
            assert_eq!(decide(&mut caller, &guard), expected, "{guard:?}");
        }
    }

    #[test]
    fn a_release_that_no_code_asks_about_is_done() {
        let guard = Guard::ByResult(Relation::ZERO, None);
        let action = |to| Action { subject: Subject::Value(parameter(0)), to, guard: guard.clone() };
        let (free, keep) = (action(Destination::Free { deep: Depth::Shallow }), action(Destination::Keep));
        let told = Decision::If(Relation::ZERO, Some(Relation::NONZERO));
        for uses_result in [false, true] {
            let mut caller = Known { uses_result, ..Known::default() };
            let expected = if uses_result { told } else { Decision::Hidden(None) };
            assert_eq!(decide_action(&mut caller, &free), expected);
            assert_eq!(decide_action(&mut caller, &keep), told);
        }
    }

    #[test]
    fn a_release_that_only_a_count_of_nothing_prevents_is_done() {
        let some = Relation::at_least(1);
        let action = |to, relation| Action {
            subject: Subject::Value(parameter(1)),
            to,
            guard: Guard::ByArgument(parameter(0), relation),
        };
        let free = || Destination::Free { deep: Depth::Shallow };
        let decide = |known: Option<Relation>, action: Action| {
            decide_action(&mut Known { argument: known, ..Known::default() }, &action)
        };
        assert_eq!(decide(None, action(free(), some)), Decision::Hidden(Some(some)));
        assert_eq!(decide(Some(Relation::ZERO), action(free(), some)), Decision::No);
        assert_eq!(decide(None, action(Destination::Keep, some)), Decision::If(some, some.negate()));
        // A flag is no count.
        let flag = Decision::If(Relation::NONZERO, Some(Relation::ZERO));
        assert_eq!(decide(None, action(free(), Relation::NONZERO)), flag);
    }

    #[test]
    fn who_ignores_a_loose_answer_or_a_pointer_is_told_nothing() {
        let told = Guard::ByResult(Relation::NONZERO, None);
        for uses_result in [false, true] {
            for (gives_pointer, is_loosely_told) in [(true, false), (false, true), (true, true)] {
                let mut caller = Known { gives_pointer, uses_result, is_loosely_told, ..Known::default() };
                let is_hidden = decide(&mut caller, &told) == Decision::Hidden(None);
                assert_eq!(is_hidden, !uses_result, "pointer {gives_pointer}, loose {is_loosely_told}");
            }
        }
    }
}
