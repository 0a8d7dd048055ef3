//! The application of calls, to paths that are lists of words.

use super::whole::{comes_back, learn_result};
use super::*;
use crate::Guard;

/// A path is what has happened on it, in words. The object is the first argument; the second leads to it.
type Path = Vec<String>;

#[derive(Default)]
struct Words {
    is_left_inside: bool,
    is_in_itself: bool,
    lingers: bool,
    /// What an argument decides does not happen.
    is_excluded: bool,
    follows_all: bool,
    cases: usize,
}

impl Domain for Words {
    type Path = Path;
    type Condition = bool;

    const FOLLOWS_SPLIT: bool = true;

    fn follows_object(&self, _: &Path) -> bool {
        !self.follows_all
    }

    fn is_of_interest(&mut self, _: &Path, subject: &Subject) -> bool {
        matches!(subject, Subject::Alloc(_))
    }

    fn assume(&mut self, path: &mut Path, condition: bool) -> bool {
        path.push(format!("told {condition}"));
        true
    }

    fn assume_argument(&mut self, _: &mut Path, param: u32, _: Relation) -> bool {
        param == 0
    }

    fn assume_result(&mut self, path: &mut Path, relation: Relation) -> bool {
        path.push(format!("result {relation:?}"));
        relation != Relation::ZERO
    }

    fn is_in_container(&mut self, _: &Path) -> bool {
        !self.follows_all
    }

    fn has_first_argument(&mut self, _: &Path) -> bool {
        true
    }

    fn give_away(&mut self, path: &mut Path) {
        path.push("given away".to_owned());
    }

    fn is_of_concern(&self, _: &Path) -> bool {
        true
    }

    fn overwrite(&mut self, path: &mut Path, _: &AccessPath) {
        path.push("overwritten".to_owned());
    }

    fn cases(&self) -> usize {
        self.cases.max(1)
    }

    fn write(&mut self, path: &mut Path, case: usize) -> bool {
        path.push(format!("written {case}"));
        true
    }

    fn assume_left(&mut self, path: &mut Path, place: &AccessPath, relation: Relation) -> bool {
        path.push(format!("{place:?} {relation:?}"));
        true
    }

    fn ask(&mut self, _: &Path, _: &AccessPath, relation: Relation) -> Answer<bool> {
        if relation == Relation::ZERO { Answer::Fails } else { Answer::Unseen }
    }

    fn concerns(&mut self, path: &Path, role: Role, _: usize, action: &Action) -> bool {
        let Subject::Value(value) = &action.subject else { return false };
        let own = if value.root == PathRoot::Param(0) { Role::Object } else { Role::Holder };
        let is_over = path.iter().any(|event| event.contains("Freed") || event.contains("Kept"));
        own == role && !is_over
    }

    fn is_in_itself(&mut self, _: &Path, _: Role, _: &Action) -> bool {
        self.is_in_itself
    }

    fn decide(&mut self, path: &Path, _: Role, action: &Action) -> Decision<bool> {
        self.decide_guard(path, &action.guard)
    }

    fn decide_guard(&mut self, _: &Path, guard: &Guard) -> Decision<bool> {
        match guard {
            Guard::ByResult(..) => Decision::If(true, Some(false)),
            Guard::Always => Decision::Yes,
            Guard::ByArgument(..) if self.is_excluded => Decision::No,
            _ => Decision::Hidden(None),
        }
    }

    fn is_left_inside(&mut self, _: &Path, _: &Action, _: &Depth, is_spared: bool) -> bool {
        self.is_left_inside || is_spared
    }

    fn change(&mut self, path: &mut Path, role: Role, _: &Action, effect: Effect<'_>) {
        path.push(format!("{role:?} {effect:?}"));
    }

    fn renew(&mut self, path: &mut Path, _: Role) {
        path.push("renewed".to_owned());
    }

    fn pass_by(&mut self, path: &mut Path, _: &Action) {
        path.push("left".to_owned());
    }

    fn perform_unseen(
        &mut self,
        path: &mut Path,
        role: Role,
        action: &Action,
        _: Option<bool>,
        others: &mut Paths<Path>,
    ) -> Unseen {
        let mut taken = path.clone();
        perform(self, &mut taken, role, action, false);
        others.push(taken);
        if self.lingers { Unseen::Lingers } else { Unseen::Ends }
    }

    fn is_held_at(&mut self, _: &Path, to: &AccessPath) -> bool {
        to.root == PathRoot::Param(1)
    }

    fn moves_object(&mut self, _: &Path, _: usize, action: &Action) -> bool {
        action.subject == Subject::Value(parameter(0))
    }
}

const FREE: Destination = Destination::Free { deep: Depth::Deep };

fn parameter(index: u32) -> AccessPath {
    AccessPath::root(PathRoot::Param(index))
}

fn action(param: u32, to: Destination, guard: Guard) -> Action {
    Action { subject: Subject::Value(parameter(param)), to, guard }
}

fn told() -> Guard {
    Guard::ByResult(Relation::ZERO, None)
}

fn block() -> crate::Alloc {
    let cases = vec![Case::default()];
    crate::Alloc { family: caulk_models::FamilyId::FREE, chain: Vec::new(), doubt: 0, is_zeroed: false, cases }
}

/// The paths that come of a call, the one that is left last.
fn paths(mut words: Words, actions: Vec<Action>) -> Vec<String> {
    let summary = Summary { actions, ..Summary::default() };
    let (mut path, mut others) = (Path::new(), Paths::new());
    if take_part(&mut words, &summary, &mut path, &mut others) {
        others.push(path);
    }
    others.iter().map(|path| path.join(", ")).collect()
}

#[test]
fn what_is_told_splits_the_path() {
    let actions = vec![action(0, Destination::Keep, told())];
    assert_eq!(paths(Words::default(), actions), ["told true, Object Kept", "told false, left"]);
}

#[test]
fn a_path_that_was_split_off_sees_the_other_actions() {
    let to = AccessPath::root(PathRoot::Return);
    let actions = vec![action(0, Destination::Store(to), told()), action(0, Destination::Keep, Guard::Always)];
    let [stored, left] = &paths(Words::default(), actions)[..] else { panic!("two paths") };
    assert!(stored.starts_with("told true, Object Moved") && stored.ends_with("Object Kept"), "{stored}");
    assert_eq!(left, "told false, left, Object Kept");
}

#[test]
fn the_object_comes_before_its_holder() {
    let words = || Words { is_left_inside: true, ..Words::default() };
    let holder = action(1, FREE, Guard::Always);
    assert_eq!(paths(words(), vec![holder.clone()]), ["Holder LeftInside"]);
    assert_eq!(paths(Words::default(), vec![holder.clone()]), ["Holder Freed"]);
    let own = action(0, FREE, Guard::Always);
    assert_eq!(paths(words(), vec![holder, own]), ["Object Freed"]);
}

#[test]
fn what_a_callee_surely_does_not_free_is_left_in_what_it_frees() {
    let given = Guard::ByArgument(AccessPath::root(PathRoot::Param(1)), Relation::NONZERO);
    let actions = |guard| vec![action(0, FREE, guard), action(1, FREE, Guard::Always)];
    let words = || Words { is_excluded: true, ..Words::default() };
    assert_eq!(paths(words(), actions(given)), ["Holder LeftInside"]);
    assert_eq!(paths(words(), actions(Guard::Opaque)), ["Object Freed"]);
}

#[test]
fn unknown_code_gets_the_object_or_keeps_its_holder() {
    let gives = |param| vec![action(param, Destination::Unknown, Guard::Always)];
    assert_eq!(paths(Words::default(), gives(0)), ["Object Escaped"]);
    assert_eq!(paths(Words::default(), gives(1)), ["Holder Kept"]);
}

#[test]
fn what_may_happen_unseen_leaves_nothing_behind() {
    let actions = || vec![action(0, Destination::Keep, Guard::Opaque), action(0, FREE, Guard::Opaque)];
    assert_eq!(paths(Words::default(), actions()), ["Object Kept"]);
    let words = Words { lingers: true, ..Words::default() };
    assert_eq!(paths(words, actions()), ["Object Kept", "Object Freed"]);
    let words = Words { is_in_itself: true, ..Words::default() };
    assert_eq!(paths(words, actions()), [""]);
}

#[test]
fn renewing_neither_frees_nor_splits() {
    assert_eq!(paths(Words::default(), vec![action(0, Destination::Renew, Guard::Opaque)]), ["renewed"]);
}

#[test]
fn a_call_comes_back_only_where_its_demands_hold() {
    let comes_back = |demands: Vec<(u32, Relation)>, no_return| {
        comes_back(&mut Words::default(), &mut Path::new(), &Summary { demands, no_return, ..Summary::default() })
    };
    assert!(comes_back(vec![(0, Relation::NONZERO)], false));
    assert!(!comes_back(vec![(0, Relation::NONZERO), (1, Relation::NONZERO)], false));
    assert!(!comes_back(vec![], true));
}

#[test]
fn a_store_of_something_else_takes_the_place_of_the_object() {
    let field = |param| parameter(param).then(caulk_memory::Offset::ZERO, None);
    let takes = |actions: Vec<Action>| {
        takes_place(&mut Words::default(), &Path::new(), &Summary { actions, ..Summary::default() }, 0)
    };
    let store = |subject, to| action(subject, Destination::Store(field(to)), told());
    assert!(takes(vec![store(2, 1)]));
    assert!(!takes(vec![store(2, 3)]), "held elsewhere");
    assert!(!takes(vec![store(0, 1)]), "the object itself");
}

#[test]
fn a_store_that_takes_the_place_of_the_object_parts_the_path() {
    let store = |guard| {
        let to = Destination::Store(parameter(1).then(caulk_memory::Offset::ZERO, None));
        Summary { actions: vec![action(2, to, guard)], ..Summary::default() }
    };
    let mut left = Path::new();
    let parted = part_by_store(&mut Words::default(), &mut left, &store(told()), 0).expect("the result tells");
    assert_eq!((parted.stored, parted.may_be_left), (Some(vec!["told true".to_owned()]), true));
    assert_eq!(left, ["told false"]);
    for summary in [store(Guard::Always), store(Guard::Opaque)] {
        assert!(part_by_store(&mut Words::default(), &mut Path::new(), &summary, 0).is_none());
    }
    // Without an object, only blocks that are made for the caller are of interest.
    let mut words = Words { follows_all: true, ..Words::default() };
    assert!(part_by_store(&mut words, &mut Path::new(), &store(told()), 0).is_none());
}

#[test]
fn a_place_with_several_stores_is_a_buffer() {
    let to = parameter(1).then(caulk_memory::Offset::ZERO, None);
    let store = |subject| action(subject, Destination::Store(to.clone()), told());
    let renews = Action { subject: Subject::Value(to.clone()), to: Destination::Renew, guard: Guard::Opaque };
    let is_buffer = |actions: Vec<Action>| Summary { actions, ..Summary::default() }.is_buffer(&to);
    assert!(!is_buffer(vec![store(2)]));
    assert!(is_buffer(vec![store(2), store(3)]) && is_buffer(vec![store(2), renews]));
}

#[test]
fn a_call_is_applied_in_one_order_on_all_its_paths() {
    let to = parameter(1).then(caulk_memory::Offset::ZERO, None);
    let store = Action { subject: Subject::Alloc(AllocId(0)), to: Destination::Store(to), guard: told() };
    let actions = vec![action(0, FREE, told()), store];
    let summary = Summary { actions, blocks: vec![block()].into(), nonnull_result: true, ..Summary::default() };
    let (mut left, mut others) = (Path::new(), Paths::new());
    assert!(call(&mut Words::default(), &summary, true, &mut left, &mut others));
    let begin = format!("result {:?}, given away", Relation::NONZERO);
    let others: Vec<String> = others.iter().map(|path| path.join(", ")).collect();
    assert_eq!(
        others,
        [
            format!("{begin}, told true, Object Freed, told true, overwritten, written 0"),
            format!("{begin}, told true, Object Freed, told false, written 0"),
            format!("{begin}, told false, left, told true, overwritten, written 0"),
        ]
    );
    assert_eq!(left.join(", "), format!("{begin}, told false, left, told false, written 0"));
}

#[test]
fn what_the_result_is_for_certain_is_learnt_first() {
    let learns = |summary: Summary| {
        let mut path = Path::new();
        (learn_result(&mut Words::default(), &mut path, &summary), path.len())
    };
    assert_eq!(learns(Summary { nonnull_result: true, counts: true, ..Summary::default() }), (true, 2));
    assert_eq!(learns(Summary { holding: Some(Relation::ZERO), ..Summary::default() }), (false, 1));
    assert_eq!(learns(Summary { ensures: vec![Relation::Eq(1), Relation::ZERO], ..Summary::default() }), (false, 2));
}

#[test]
fn a_block_that_is_surely_put_somewhere_is_there() {
    let to = parameter(1).then(caulk_memory::Offset::ZERO, None);
    let fills = |guard| {
        let subject = Subject::Alloc(AllocId(0));
        let actions = vec![Action { subject, to: Destination::Store(to.clone()), guard }];
        Summary { actions, blocks: vec![block()].into(), ..Summary::default() }
    };
    let ends = |summary: Summary, cases| {
        let (mut path, mut others) = (Path::new(), Paths::new());
        let mut words = Words { cases, ..Words::default() };
        others.extend(call(&mut words, &summary, false, &mut path, &mut others.clone()).then_some(path));
        others.iter().map(|path| path.join(", ")).collect::<Vec<_>>()
    };
    assert_eq!(ends(fills(Guard::Opaque), 1), ["written 0"]);
    assert_eq!(ends(fills(Guard::Always), 1), [format!("written 0, {to:?} {:?}", Relation::NONZERO)]);
}

#[test]
fn each_case_of_the_callee_is_a_path() {
    let (mut path, mut others) = (Path::new(), Paths::new());
    let mut words = Words { cases: 3, ..Words::default() };
    assert!(call(&mut words, &Summary::default(), false, &mut path, &mut others));
    others.push(path);
    assert_eq!(others.iter().map(|path| path.join(", ")).collect::<Vec<_>>(), ["written 1", "written 2", "written 0"]);
}
