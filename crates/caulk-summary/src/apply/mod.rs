//! What a call does to the object that is followed: the application of a summary, the same for both stages.
//!
//! A stage is a domain of this: it says what a path of the caller is, what holds on it and how it is changed ([`Domain`]). What a call does, in
//! which order ([`call`]), which actions are applied, what each does to the object, and when the path parts in two is decided here alone.

mod whole;

pub use whole::call;

use caulk_memory::{AccessPath, Offset, PathRoot, PathStep, Relation};
use smallvec::SmallVec;

use crate::decide::{Answer, Decision};
use crate::{Action, AllocId, Case, Depth, Destination, Guard, Subject, Summary};

/// How the value that an action is about stands to the object that is followed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Role {
    /// It is the object.
    Object,
    /// It leads to the object.
    Holder,
}

impl Role {
    /// What is done to the object itself comes first: a destructor frees what its structure holds, and the structure.
    const ORDER: [Role; 2] = [Role::Object, Role::Holder];
}

/// What an action that happens does to the object.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Effect<'s> {
    Freed,
    /// What held it is freed, and the callee did not get to it.
    LeftInside,
    Kept,
    /// Given to unknown code.
    Escaped,
    /// It, or what leads to it, can be found there as well.
    Moved(&'s AccessPath),
}

/// How a path goes on after something that may have happened unseen.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unseen {
    /// As if nothing had happened.
    GoesOn,
    /// What else may have happened unseen is still of interest; then it ends.
    Lingers,
    Ends,
}

/// Few paths come of one call.
pub type Paths<P> = SmallVec<[P; 2]>;

/// A stage, as it applies one call.
pub trait Domain {
    /// What is known on one path through the caller: an alternative in stage one, a state in stage two.
    type Path: Clone;
    /// Something that may hold: a fact in stage one, a term in stage two.
    type Condition;

    /// Whether a path that is split off by one action sees those after it. Without that, what a callee keeps unseen besides does not hide
    /// where it was put for certain; but then it is not kept.
    const FOLLOWS_SPLIT: bool;

    /// Whether one object is followed. Without one, all that the callee makes or is given is of interest.
    fn follows_object(&self, path: &Self::Path) -> bool;

    /// Without an object to follow: whether what the callee puts somewhere is new, or may be what a caller follows.
    fn is_of_interest(&mut self, path: &Self::Path, subject: &Subject) -> bool;

    /// Assumes something. False where that cannot be.
    fn assume(&mut self, path: &mut Self::Path, condition: Self::Condition) -> bool;

    /// Assumes something of an argument. False where that cannot be.
    fn assume_argument(&mut self, path: &mut Self::Path, param: u32, relation: Relation) -> bool;

    /// Assumes something of what the call gives back. False where that cannot be.
    fn assume_result(&mut self, path: &mut Self::Path, relation: Relation) -> bool;

    /// Whether the first argument, a container, holds the object.
    fn is_in_container(&mut self, path: &Self::Path) -> bool;

    /// Whether the first argument is known not to be null.
    fn has_first_argument(&mut self, path: &Self::Path) -> bool;

    /// The call comes back on a path.
    fn begin(&mut self, _: &Self::Path) {}

    /// Unknown code is called, which may keep all that it is given.
    fn give_away(&mut self, path: &mut Self::Path);

    /// Whether anything that a call does can matter to the object.
    fn is_of_concern(&self, path: &Self::Path) -> bool;

    /// What is known of a value before the call.
    fn ask(&mut self, path: &Self::Path, value: &AccessPath, relation: Relation) -> Answer<Self::Condition>;

    /// Whether the value that an action is about, the `index`-th of the summary, stands so to the object.
    fn concerns(&mut self, path: &Self::Path, role: Role, index: usize, action: &Action) -> bool;

    /// Whether the value that an action is about lies in the object itself. What points to itself is an empty list, or a buffer that is a part
    /// of it: what happens only sometimes to that neither frees nor keeps it.
    fn is_in_itself(&mut self, path: &Self::Path, role: Role, action: &Action) -> bool;

    /// Whether an action happens on a path.
    fn decide(&mut self, path: &Self::Path, role: Role, action: &Action) -> Decision<Self::Condition>;

    /// Whether what a callee does under a guard happens on a path.
    fn decide_guard(&mut self, path: &Self::Path, guard: &Guard) -> Decision<Self::Condition>;

    /// Whether a callee that frees what leads to the object does not get to it. `is_spared`: it says when it frees the object itself, and that it
    /// does not.
    fn is_left_inside(&mut self, path: &Self::Path, action: &Action, deep: &Depth, is_spared: bool) -> bool;

    /// Changes a path by what an action does to the object.
    fn change(&mut self, path: &mut Self::Path, role: Role, action: &Action, effect: Effect<'_>);

    /// Another block may take the place of the object, or of what leads to it: the owner of the old one owns that one.
    fn renew(&mut self, path: &mut Self::Path, role: Role);

    /// An action that might have happened did not.
    fn pass_by(&mut self, path: &mut Self::Path, action: &Action);

    /// An action may have happened, and nothing tells; where it did, the condition holds. Paths on which it did are given to `others`.
    fn perform_unseen(
        &mut self,
        path: &mut Self::Path,
        role: Role,
        action: &Action,
        condition: Option<Self::Condition>,
        others: &mut Paths<Self::Path>,
    ) -> Unseen;

    /// All actions were applied to what the object was before the call. `goes_on`: something is left of the path. Paths that have waited for
    /// that are given to `others`.
    fn end_actions(&mut self, _: &Self::Path, _goes_on: bool, _others: &mut Paths<Self::Path>) {}

    /// The stores of the callee come next: what one of them moves, another may write over.
    fn begin_stores(&mut self, _: &Self::Path) {}

    /// A store that the path was parted by happens, and what was at its place is there no more.
    fn overwrite(&mut self, _: &mut Self::Path, _to: &AccessPath) {}

    /// In how many of the callee's cases the call is looked at: those in which it makes the object.
    fn cases(&self) -> usize {
        1
    }

    /// All that the callee writes in one of these cases, on a path on which it is decided what that is. False: nothing is left of the path.
    fn write(&mut self, path: &mut Self::Path, case: usize) -> bool;

    /// Assumes what a place of the caller holds once the call is done. False where that cannot be.
    fn assume_left(&mut self, path: &mut Self::Path, place: &AccessPath, relation: Relation) -> bool;

    /// Whether the object is held just where a path of the callee leads, so that a store there takes its place.
    fn is_held_at(&mut self, path: &Self::Path, to: &AccessPath) -> bool;

    /// Whether what the `index`-th action puts somewhere is the object, or leads to it.
    fn moves_object(&mut self, path: &Self::Path, index: usize, action: &Action) -> bool;
}

/// Does to the object what the actions of a callee do to it. What only some results or arguments tell of splits the path: `others` gets those
/// that are split off. False: nothing is left of the path itself.
fn take_part<D: Domain>(domain: &mut D, summary: &Summary, path: &mut D::Path, others: &mut Paths<D::Path>) -> bool {
    !domain.is_of_concern(path) || go_on(domain, &summary.actions, 0, path, others)
}

/// Goes over the actions, first for what concerns the object and then for what leads to it, from a step on.
fn go_on<D: Domain>(
    domain: &mut D,
    actions: &[Action],
    first: usize,
    path: &mut D::Path,
    others: &mut Paths<D::Path>,
) -> bool {
    let mut lingers = false;
    let mut is_spared = false;
    for step in first..Role::ORDER.len() * actions.len() {
        let (role, index) = (Role::ORDER[step / actions.len()], step % actions.len());
        let action = &actions[index];
        if matches!(action.subject, Subject::Alloc(_))
            || !domain.concerns(path, role, index, action)
            || (action.guard.is_hidden() && domain.is_in_itself(path, role, action))
        {
            continue;
        }
        if action.to == Destination::Renew {
            domain.renew(path, role);
            continue;
        }
        match domain.decide(path, role, action) {
            Decision::No => is_spared |= is_release_of_object(role, action),
            Decision::Yes => perform(domain, path, role, action, is_spared),
            Decision::If(condition, otherwise) => {
                let mut taken = path.clone();
                if domain.assume(&mut taken, condition) {
                    perform(domain, &mut taken, role, action, is_spared);
                    if !D::FOLLOWS_SPLIT || go_on(domain, actions, step + 1, &mut taken, others) {
                        others.push(taken);
                    }
                }
                if otherwise.is_some_and(|not| !domain.assume(path, not)) {
                    return false;
                }
                domain.pass_by(path, action);
                is_spared |= is_release_of_object(role, action);
            }
            Decision::Hidden(condition) => match domain.perform_unseen(path, role, action, condition, others) {
                Unseen::GoesOn => {}
                Unseen::Lingers => lingers = true,
                Unseen::Ends => return false,
            },
        }
    }
    !lingers
}

/// Whether an action frees the object itself where something that the caller gives says so.
fn is_release_of_object(role: Role, action: &Action) -> bool {
    let is_told = matches!(action.guard, Guard::ByArgument(..));
    role == Role::Object && is_told && matches!(action.to, Destination::Free { .. })
}

/// An action happens. `is_spared`: the callee does not free the object itself.
pub fn perform<D: Domain>(domain: &mut D, path: &mut D::Path, role: Role, action: &Action, is_spared: bool) {
    let effect = match (&action.to, role) {
        (Destination::Renew, _) => return,
        (Destination::Free { deep }, Role::Holder) if domain.is_left_inside(path, action, deep, is_spared) => {
            Effect::LeftInside
        }
        // What else was done to what a holder holds is not known.
        (Destination::Free { .. }, _) => Effect::Freed,
        (Destination::Unknown, Role::Object) => Effect::Escaped,
        (Destination::Keep | Destination::Unknown, _) => Effect::Kept,
        (Destination::Store(to), _) => Effect::Moved(to),
    };
    domain.change(path, role, action, effect);
}

/// Whether a store of the callee, the `index`-th of its actions, takes the place of the object if it happens.
fn takes_place<D: Domain>(domain: &mut D, path: &D::Path, summary: &Summary, index: usize) -> bool {
    let action = &summary.actions[index];
    let Destination::Store(to) = &action.to else { return false };
    !to.steps.is_empty()
        && domain.is_held_at(path, to)
        && !summary.is_part_of_new(to)
        && match &action.subject {
            Subject::Alloc(block) => may_be_made(domain, path, summary, *block),
            Subject::Value(_) => !domain.moves_object(path, index, action),
        }
}

/// A path that a store of the callee parts in two. One of them may be impossible.
struct Parted<P> {
    /// Where the store happens.
    stored: Option<P>,
    /// The path itself, where it does not, can be.
    may_be_left: bool,
}

/// Parts a path in two where the result or an argument decides whether a store, the `index`-th action of the callee, happens, and makes room for
/// itself by taking the object's place. Without an object to follow, every block that may be made for the caller is worth two paths, and so is
/// whatever else may be the object of a caller: it has an owner on one of the paths only.
fn part_by_store<D: Domain>(
    domain: &mut D,
    path: &mut D::Path,
    summary: &Summary,
    index: usize,
) -> Option<Parted<D::Path>> {
    let action = &summary.actions[index];
    let is_worth_it = match domain.follows_object(path) {
        true => takes_place(domain, path, summary, index),
        false => is_in_memory(action) && domain.is_of_interest(path, &action.subject),
    };
    if !is_worth_it {
        return None;
    }
    let mut stored = path.clone();
    match domain.decide_guard(path, &action.guard) {
        Decision::If(condition, otherwise) => {
            let stored = domain.assume(&mut stored, condition).then_some(stored);
            let may_be_left = otherwise.is_none_or(|not| domain.assume(path, not));
            Some(Parted { stored, may_be_left })
        }
        Decision::Hidden(_) => {
            let relation = told_by_result(summary, action).filter(|_| domain.follows_object(path))?;
            let Decision::If(condition, _) = domain.decide_guard(path, &Guard::ByResult(relation, None)) else {
                return None;
            };
            let stored = domain.assume(&mut stored, condition).then_some(stored);
            Some(Parted { stored, may_be_left: true })
        }
        _ => None,
    }
}

/// What the result is wherever a callee puts a block that it makes into the caller's variable, by an out-pointer: whether it does, nothing
/// else tells.
fn told_by_result(summary: &Summary, action: &Action) -> Option<Relation> {
    let (Subject::Alloc(block), Destination::Store(to)) = (&action.subject, &action.to) else { return None };
    let is_blind = matches!(to.root, PathRoot::Param(index) if summary.written_blindly.contains(&index));
    let is_out_pointer = is_blind && matches!(to.steps[..], [PathStep { offset: Offset::ZERO, field: None }]);
    let [case] = &summary.blocks[*block].cases[..] else { return None };
    let told = case.needs.iter().find(|(path, _)| path.root == PathRoot::Return && path.steps.is_empty());
    told.map(|(_, relation)| *relation).filter(|_| is_out_pointer && !summary.is_buffer(to))
}

/// Whether an action puts something into memory.
fn is_in_memory(action: &Action) -> bool {
    matches!(&action.to, Destination::Store(to) if !to.steps.is_empty())
}

/// Whether what a callee needs to make a block may have been given.
fn may_be_made<D: Domain>(domain: &mut D, path: &D::Path, summary: &Summary, block: AllocId) -> bool {
    let mut may_be = |case: &Case| {
        let mut given = case.needs.iter().filter(|(value, _)| value.root != PathRoot::Return);
        given.all(|(value, relation)| !matches!(domain.ask(path, value, *relation), Answer::Fails))
    };
    summary.blocks[block].cases.iter().any(&mut may_be)
}

#[cfg(test)]
mod tests;
