//! Stage two as a domain of calls: what a callee of which only the summary is known does to the object, on one path.

use caulk_ir::Type;
use caulk_memory::{AccessPath, Relation};
use caulk_solver::{Consistency, TermId};
use caulk_summary::apply::{Domain, Effect, Role, Unseen};
use caulk_summary::{Action, AllocId, Answer, Caller, Case, Decision, Depth, Destination, Event, Guard, Subject};
use caulk_useflow::CallEffect;

use crate::call::{Site, States};
use crate::machine::Machine;
use crate::paths::OnPath;
use crate::state::{Ownership, State};

pub(crate) struct AtSite<'m, 'a, 's> {
    machine: &'m mut Machine<'a>,
    site: &'s Site<'s>,
    result: Option<TermId>,
    effect: &'s CallEffect<'s>,
    /// The object that the call is expected to make, and the cases in which it does.
    wanted: Option<(AllocId, &'s [Case])>,
}

impl<'m, 'a, 's> AtSite<'m, 'a, 's> {
    pub(crate) fn new(
        machine: &'m mut Machine<'a>,
        site: &'s Site<'s>,
        result: Option<TermId>,
        effect: &'s CallEffect<'s>,
        wanted: Option<(AllocId, &'s [Case])>,
    ) -> Self {
        Self { machine, site, result, effect, wanted }
    }

    /// The value that an action is about.
    fn value(&mut self, state: &State, action: &Action) -> Option<TermId> {
        let Subject::Value(path) = &action.subject else { return None };
        self.machine.path_value(state, self.site, self.result, path)
    }

    /// Marks the object; without an object to follow, what the action is about.
    fn settle(&mut self, state: &mut State, action: &Action, ownership: Ownership) {
        match state.tracked {
            Some(_) => self.machine.settle(state, ownership),
            None => {
                let root = self.value(state, action).and_then(|value| self.machine.root(value));
                root.into_iter().for_each(|root| state.ownerships.set(root, ownership));
            }
        }
    }

    fn store(&mut self, state: &mut State, action: &Action, to: &AccessPath) {
        // A callee stores nothing where it is given no place.
        if self.machine.is_no_place(self.site, to) {
            return;
        }
        let Some(value) = self.value(state, action) else { return };
        let value = self.machine.moved(self.site, &self.effect.summary, to, value);
        match self.machine.place_for(state, self.site, self.result, to) {
            Some((address, class)) => self.machine.store(state, address, value, Type::Ptr, class, self.site.inst),
            None => self.machine.settle(state, Ownership::Kept),
        }
    }
}

impl Domain for AtSite<'_, '_, '_> {
    type Path = State;
    type Condition = TermId;

    const FOLLOWS_SPLIT: bool = true;

    fn follows_object(&self, _: &State) -> bool {
        !self.machine.follows_all
    }

    fn is_of_interest(&mut self, state: &State, subject: &Subject) -> bool {
        self.machine.moves_callers_object(state, self.site, self.result, subject)
    }

    fn assume(&mut self, state: &mut State, condition: TermId) -> bool {
        state.facts.assume(&mut self.machine.pool, condition) == Consistency::Consistent
    }

    fn assume_argument(&mut self, state: &mut State, param: u32, relation: Relation) -> bool {
        let argument = self.site.args.get(param as usize).copied();
        argument.is_none_or(|argument| self.machine.assume(state, argument, relation) == Consistency::Consistent)
    }

    fn assume_result(&mut self, state: &mut State, relation: Relation) -> bool {
        self.result.is_none_or(|result| self.machine.assume(state, result, relation) != Consistency::Contradiction)
    }

    fn is_in_container(&mut self, state: &State) -> bool {
        self.machine.holds_object(state, self.site)
    }

    fn has_first_argument(&mut self, state: &State) -> bool {
        self.machine.has_first_argument(state, self.site)
    }

    fn give_away(&mut self, state: &mut State) {
        self.machine.give_away(state, self.site);
    }

    fn is_of_concern(&self, state: &State) -> bool {
        state.tracked.is_none() || self.machine.is_live(state)
    }

    fn ask(&mut self, state: &State, value: &AccessPath, relation: Relation) -> Answer<TermId> {
        OnPath { machine: self.machine, state, site: self.site, result: self.result }.ask(value, relation)
    }

    /// Without an object to follow, every value is one.
    fn concerns(&mut self, state: &State, role: Role, _: usize, action: &Action) -> bool {
        if action.gives_back() || (state.tracked.is_none() && role == Role::Holder) {
            return false;
        }
        let Some(value) = self.value(state, action) else { return false };
        match state.tracked {
            Some(object) => {
                let is_object = self.machine.points_to(value, object);
                self.machine.is_live(state)
                    && is_object == (role == Role::Object)
                    && self.machine.leads_to(state, value, object)
            }
            None => self.machine.root(value).is_some(),
        }
    }

    fn is_in_itself(&mut self, state: &State, _: Role, action: &Action) -> bool {
        let Subject::Value(path) = &action.subject else { return false };
        let value = self.value(state, action);
        let object = state.tracked.or_else(|| value.and_then(|value| self.machine.root(value)));
        let cell = self.machine.path_address(state, self.site, self.result, path);
        object.is_some() && cell.is_some_and(|(address, _)| self.machine.root(address) == object)
    }

    fn decide(&mut self, state: &State, _: Role, action: &Action) -> Decision<TermId> {
        let decision = self.machine.decide_action(state, self.site, self.result, action);
        // Where it was stored for certain it can be found there; `finish` sees to that.
        let is_seen = state.tracked.is_none() && matches!(action.to, Destination::Store(_));
        match decision {
            Decision::Yes | Decision::If(..) if is_seen => Decision::No,
            decision => decision,
        }
    }

    fn decide_guard(&mut self, state: &State, guard: &Guard) -> Decision<TermId> {
        self.machine.decide(state, self.site, self.result, guard)
    }

    fn is_left_inside(&mut self, state: &State, action: &Action, deep: &Depth, is_spared: bool) -> bool {
        let is_alone = is_spared && state.tracked.is_some();
        is_alone || self.value(state, action).is_some_and(|value| self.machine.is_left_inside(state, value, deep))
    }

    fn change(&mut self, state: &mut State, _: Role, action: &Action, effect: Effect<'_>) {
        match effect {
            Effect::Freed if state.tracked.is_some() => self.machine.settle(state, Ownership::Freed),
            Effect::Freed | Effect::LeftInside => {
                let root = self.value(state, action).and_then(|value| self.machine.root(value));
                if let Some(root) = root {
                    // What is in it went elsewhere before, or was freed too: none of it is the caller's any more.
                    let is_shallow = matches!(action.to, Destination::Free { deep: Depth::Shallow });
                    let is_whole = is_shallow || state.tracked.is_some();
                    state.ownerships.set(root, if is_whole { Ownership::Freed } else { Ownership::Kept });
                    state.trail.add(self.site.inst, Event::FreedWithHolder);
                }
            }
            Effect::Kept | Effect::Escaped => self.settle(state, action, Ownership::Kept),
            Effect::Moved(to) => self.store(state, action, to),
        }
    }

    /// The owner of the old one owns a block there still.
    fn renew(&mut self, _: &mut State, _: Role) {}

    fn pass_by(&mut self, state: &mut State, _: &Action) {
        state.trail.add(self.site.inst, Event::NotTaken);
    }

    /// Whether it is gone the caller cannot know, so it is.
    fn perform_unseen(
        &mut self,
        state: &mut State,
        _: Role,
        action: &Action,
        _: Option<TermId>,
        _: &mut States,
    ) -> Unseen {
        self.settle(state, action, Ownership::Kept);
        if state.tracked.is_some() { Unseen::Ends } else { Unseen::GoesOn }
    }

    fn cases(&self) -> usize {
        self.wanted.map_or(1, |(_, cases)| cases.len().max(1))
    }

    fn write(&mut self, state: &mut State, case: usize) -> bool {
        let wanted = self.wanted.and_then(|(block, cases)| Some((block, cases.get(case)?)));
        self.machine.write_by_summary(state, self.site, self.result, self.effect, wanted)
    }

    fn assume_left(&mut self, state: &mut State, place: &AccessPath, relation: Relation) -> bool {
        let value = self.machine.path_value(state, self.site, self.result, place);
        value.is_none_or(|value| self.machine.assume(state, value, relation) != Consistency::Contradiction)
    }

    fn is_held_at(&mut self, state: &State, to: &AccessPath) -> bool {
        let Some(object) = state.tracked.filter(|_| self.machine.is_live(state)) else { return false };
        let Some((address, _)) = self.machine.path_address(state, self.site, self.result, to) else { return false };
        let key = self.machine.key(address);
        let is_held = state.memory.overlapping(key, 8).any(|(_, cell)| self.machine.cell_points_to(cell, object));
        is_held && !self.effect.summary.is_buffer(to)
    }

    fn moves_object(&mut self, state: &State, _: usize, action: &Action) -> bool {
        let value = self.value(state, action);
        // Of a value that has no name here nothing is known.
        value.is_none_or(|value| state.tracked.is_some_and(|object| self.machine.leads_to(state, value, object)))
    }
}
