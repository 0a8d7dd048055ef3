//! Stage one as a domain of calls: what a callee does to the object, on one alternative.

use caulk_ir::InstId;
use caulk_memory::{AccessPath, Relation};
use caulk_summary::apply::{Domain, Effect, Paths, Role, Unseen, perform};
use caulk_summary::{
    Action, Answer, Caller, Decision, Depth, Destination, Event, Guard, Subject, Summary, decide, decide_action,
};

use super::Propagation;
use super::on_path::OnPath;
use crate::alternative::{Alternative, Status};
use crate::fact_list::learn;
use crate::facts::Fact;

pub(super) struct OnCall<'p, 'v, 'a> {
    propagation: &'p mut Propagation<'v, 'a>,
    inst: InstId,
    summary: &'p Summary,
    /// Which actions are about the object as it was held before the call, where that is not seen on the way.
    moved: Option<&'p [bool]>,
    /// Paths on which the object is given back and nothing else is done to it.
    pub given_back: Paths<Alternative>,
    /// Something may have been done to it that nothing tells of.
    pub is_gone: bool,
    /// What was done was done to what leads to it.
    pub is_held_by_gone: bool,
}

impl<'p, 'v, 'a> OnCall<'p, 'v, 'a> {
    pub(super) fn new(
        propagation: &'p mut Propagation<'v, 'a>,
        inst: InstId,
        summary: &'p Summary,
        moved: Option<&'p [bool]>,
    ) -> Self {
        Self { propagation, inst, summary, moved, given_back: Paths::new(), is_gone: false, is_held_by_gone: false }
    }

    fn on_path<'w>(&'w mut self, path: &'w Alternative) -> OnPath<'w, 'a> {
        OnPath { view: self.propagation.view, inst: self.inst, current: path }
    }

    fn settle(&mut self, path: &mut Alternative, status: Status, event: Event) {
        let event = self.propagation.history.add(path.event, self.inst, event);
        path.settle(status, event);
    }

    /// The cells that alone hold the object: it is left in them.
    fn note_left(&mut self, path: &Alternative) {
        self.propagation.flow.left_in.extend(path.cells.iter().copied().filter(|_| path.cells.len() == 1));
    }

    /// Whether what an action is about is one certain holder.
    fn is_exact_holder(&mut self, path: &Alternative, action: &Action) -> bool {
        let Some(holder) = self.propagation.holder(self.inst, action) else { return false };
        let view = &self.propagation.view;
        view.values.is_exact(view.body, path.behind(holder.base))
    }

    /// What is done to a holder is told by path, or is not known: the alternative is not split by it.
    fn decide_for_holder(&mut self, path: &Alternative, action: &Action) -> Decision<Fact> {
        match (&action.to, &action.guard) {
            // "Freed with its holder" needs a certain free of a certain object.
            (Destination::Free { deep: Depth::Shallow }, _) if !self.is_exact_holder(path, action) => Decision::No,
            (Destination::Free { .. }, _) => Decision::Yes,
            // Where the caller is told whether its holder was taken, the object goes on in the holder either way.
            (_, Guard::ByResult(..) | Guard::ByArgument(..)) => Decision::No,
            _ => Decision::Yes,
        }
    }
}

impl Domain for OnCall<'_, '_, '_> {
    type Path = Alternative;
    type Condition = Fact;

    const FOLLOWS_SPLIT: bool = false;

    fn follows_object(&self, _: &Alternative) -> bool {
        true
    }

    /// Not asked: there is always an object.
    fn is_of_interest(&mut self, _: &Alternative, _: &Subject) -> bool {
        false
    }

    fn assume(&mut self, path: &mut Alternative, condition: Fact) -> bool {
        learn(&mut path.facts, condition, self.propagation.view.config.max_facts)
    }

    fn assume_argument(&mut self, path: &mut Alternative, param: u32, relation: Relation) -> bool {
        self.propagation.learn_argument(self.inst, param, relation, path)
    }

    fn ask(&mut self, path: &Alternative, value: &AccessPath, relation: Relation) -> Answer<Fact> {
        self.on_path(path).ask(value, relation)
    }

    fn concerns(&mut self, path: &Alternative, role: Role, index: usize, action: &Action) -> bool {
        if path.status != Status::Live {
            return false;
        }
        let Some(resolved) = self.propagation.subject(self.inst, action) else { return false };
        let is_object = self.propagation.is_subject(self.inst, action, resolved, path);
        match role {
            Role::Object => is_object && self.moved.is_none_or(|moved| moved[index]),
            Role::Holder => {
                let holder = if is_object { None } else { self.propagation.holder(self.inst, action) };
                holder.is_some_and(|holder| self.propagation.holds_object(holder, action, path))
            }
        }
    }

    fn is_in_itself(&mut self, path: &Alternative, role: Role, action: &Action) -> bool {
        if role == Role::Holder {
            return false;
        }
        let resolved = self.propagation.subject(self.inst, action);
        resolved.is_some_and(|resolved| self.propagation.is_own_cell(resolved, action, path))
    }

    fn decide(&mut self, path: &Alternative, role: Role, action: &Action) -> Decision<Fact> {
        if role == Role::Holder {
            return self.decide_for_holder(path, action);
        }
        match decide_action(&mut self.on_path(path), action) {
            // Moved out, as far as one can tell: it is not left where it was.
            Decision::Hidden(_) if action.gives_back() && self.summary.moves_out(action) => Decision::Yes,
            decision => decision,
        }
    }

    fn decide_guard(&mut self, path: &Alternative, guard: &Guard) -> Decision<Fact> {
        decide(&mut self.on_path(path), guard)
    }

    fn is_left_inside(&mut self, path: &Alternative, action: &Action, deep: &Depth) -> bool {
        let holder = self.propagation.holder(self.inst, action).filter(|_| action.guard == Guard::Always);
        holder.is_some_and(|holder| self.propagation.is_left_inside(deep, holder, path))
    }

    fn change(&mut self, path: &mut Alternative, role: Role, action: &Action, effect: Effect<'_>) {
        self.is_held_by_gone |= role == Role::Holder;
        match (effect, role) {
            (Effect::Freed, Role::Object) => self.settle(path, Status::Freed, Event::Freed),
            // What else is done to what it holds the summary says by path, or does not know.
            (Effect::Freed, Role::Holder) => {
                path.rests_on_opaque = true;
                path.rests_on_unsure = action.guard == Guard::Unsure;
                self.settle(path, Status::Freed, Event::Freed);
            }
            (Effect::LeftInside, _) => {
                let Some(holder) = self.propagation.holder(self.inst, action) else { return };
                let before = path.cells.len();
                path.forget_cells_of(holder.base);
                if path.cells.len() != before {
                    path.event = self.propagation.history.add(path.event, self.inst, Event::FreedWithHolder);
                    path.holder_went(self.inst, true);
                }
            }
            (Effect::Kept, Role::Object) => self.settle(path, Status::Kept, Event::Kept),
            (Effect::Kept, Role::Holder) => {
                self.note_left(path);
                self.settle(path, Status::Kept, Event::Kept);
            }
            (Effect::Escaped, _) => {
                self.propagation.flow.escaped_by.push(self.inst);
                self.settle(path, Status::Unknown, Event::GivenToUnknown);
            }
            (Effect::Moved(to), Role::Object) => self.propagation.moved_to(self.inst, to, path),
            (Effect::Moved(to), Role::Holder) => {
                let Some(holder) = self.propagation.holder(self.inst, action) else { return };
                self.propagation.holder_moved_to(self.inst, holder.base, to, path);
            }
        }
    }

    fn renew(&mut self, path: &mut Alternative, role: Role) {
        // What the old holder held is in the new one.
        if role == Role::Object {
            path.is_renewed = true;
            path.event = self.propagation.history.add(path.event, self.inst, Event::Renewed);
        }
    }

    fn pass_by(&mut self, path: &mut Alternative, action: &Action) {
        if !action.gives_back() {
            path.event = self.propagation.history.add(path.event, self.inst, Event::NotTaken);
        }
    }

    fn perform_unseen(
        &mut self,
        path: &mut Alternative,
        role: Role,
        action: &Action,
        condition: Option<Fact>,
        others: &mut Paths<Alternative>,
    ) -> Unseen {
        let is_alias = action.gives_back();
        let mut taken = path.clone();
        taken.rests_on_opaque |= !is_alias;
        taken.rests_on_unsure = !is_alias && action.guard == Guard::Unsure;
        condition.map(|fact| self.assume(&mut taken, fact));
        perform(self, &mut taken, role, action);
        if is_alias {
            self.given_back.push(taken);
            return Unseen::GoesOn;
        }
        others.push(taken);
        self.is_gone = true;
        Unseen::Lingers
    }

    fn is_held_at(&mut self, path: &Alternative, to: &AccessPath) -> bool {
        self.propagation.holds_in_place(self.inst, to, path)
    }

    fn moves_object(&mut self, _: &Alternative, index: usize, _: &Action) -> bool {
        self.moved.is_some_and(|moved| moved[index])
    }
}
