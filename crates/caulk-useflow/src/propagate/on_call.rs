//! Stage one as a domain of calls: what a callee does to the object, on one alternative.

use caulk_ir::InstId;
use caulk_memory::{AccessPath, Relation};
use caulk_summary::apply::{Domain, Effect, Paths, Role, Unseen, perform};
use caulk_summary::{
    Action, Answer, Caller, Decision, Depth, Destination, Event, Guard, Subject, Summary, decide, decide_action,
};

use super::on_path::OnPath;
use super::{Propagation, names};
use crate::alternative::{Alternative, Status};
use crate::cases::count_what_is_filled;
use crate::fact_list::learn;
use crate::facts::Fact;
use crate::function::Resolved;

pub(super) struct OnCall<'p, 'v, 'a> {
    propagation: &'p mut Propagation<'v, 'a>,
    inst: InstId,
    summary: &'p Summary,
    /// Which actions are about the object as it was held before the call, where that is not seen on the way.
    moved: Option<Vec<bool>>,
    /// The object is an argument.
    is_given: bool,
    /// Paths on which the object is given back and nothing else is done to it.
    given_back: Paths<Alternative>,
    /// Something may have been done to it that nothing tells of.
    is_gone: bool,
    /// What was done was done to what leads to it.
    is_held_by_gone: bool,
    /// Which actions are about the object, on the path whose stores come next.
    about: Vec<bool>,
}

impl<'p, 'v, 'a> OnCall<'p, 'v, 'a> {
    pub(super) fn new(
        propagation: &'p mut Propagation<'v, 'a>,
        inst: InstId,
        summary: &'p Summary,
        moved: Option<Vec<bool>>,
        is_given: bool,
    ) -> Self {
        Self {
            propagation,
            inst,
            summary,
            moved,
            is_given,
            given_back: Paths::new(),
            is_gone: false,
            is_held_by_gone: false,
            about: Vec::new(),
        }
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

    /// Whether an action happens on the path of the alternative. Where the result will tell, it is not taken to; where the
    /// result is not used, it is.
    fn surely_happens(&mut self, path: &Alternative, guard: &Guard) -> bool {
        match self.decide_guard(path, guard) {
            Decision::Yes => true,
            Decision::If((key, relation), _) => {
                !self.propagation.view.is_used(self.inst)
                    || path.facts.iter().any(|f| f.0 == key && f.1.implies(relation))
            }
            Decision::Hidden(_) | Decision::No => false,
        }
    }

    /// What was known of memory that the callee may have written is known no more, and what is known of what it leaves is.
    fn forget_written(&mut self, path: &mut Alternative) {
        let inst = self.inst;
        let Propagation { view, history, .. } = &mut *self.propagation;
        view.forget_written(inst, &mut path.facts);
        if path.is_renewed && history.is_last(path.event, inst, Event::Renewed) {
            count_what_is_filled(view, inst, &path.cells, &mut path.facts);
        }
        self.propagation.keep_zero(inst, path);
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

    fn assume_result(&mut self, path: &mut Alternative, relation: Relation) -> bool {
        let view = &mut self.propagation.view;
        // What holds on all paths is asked for where it matters.
        if let Some(known) = view.evident(self.inst.into()) {
            return !known.contradicts(relation);
        }
        let key = view.keys.of_operand(view.body, &view.values, self.inst.into());
        key.is_none_or(|key| learn(&mut path.facts, (key, relation), view.config.max_facts))
    }

    fn is_in_container(&mut self, path: &Alternative) -> bool {
        let view = &self.propagation.view;
        let container = view.argument(self.inst, 0).and_then(|arg| view.values.of_operand(arg));
        let is_held = container.is_some_and(|container| path.cells.iter().any(|held| held.base == container.base));
        path.status == Status::Live && is_held
    }

    fn has_first_argument(&mut self, path: &Alternative) -> bool {
        let view = &mut self.propagation.view;
        let Some(argument) = view.argument(self.inst, 0) else { return false };
        let key = view.keys.of_operand(view.body, &view.values, argument);
        names(path, argument) || path.facts.iter().any(|f| Some(f.0) == key && f.1.implies(Relation::NONZERO))
    }

    fn begin(&mut self, path: &Alternative) {
        let makes_block = !self.summary.blocks.is_empty();
        if path.status == Status::Absent && self.propagation.avoided.is_none() && makes_block {
            self.propagation.note_facts(self.inst, path);
        }
    }

    fn give_away(&mut self, path: &mut Alternative) {
        if self.is_of_concern(path) {
            self.propagation.give_to_unknown(self.inst, path);
        }
    }

    fn is_of_concern(&self, path: &Alternative) -> bool {
        path.status == Status::Live && (self.is_given || !path.cells.is_empty())
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
            Role::Object => is_object && self.moved.as_ref().is_none_or(|moved| moved[index]),
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

    fn is_left_inside(&mut self, path: &Alternative, action: &Action, deep: &Depth, is_spared: bool) -> bool {
        let is_alone = is_spared && self.is_exact_holder(path, action);
        let holder = self.propagation.holder(self.inst, action).filter(|_| action.guard == Guard::Always);
        holder.is_some_and(|holder| is_alone || self.propagation.is_left_inside(deep, holder, path))
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
        perform(self, &mut taken, role, action, false);
        if is_alias {
            self.given_back.push(taken);
            return Unseen::GoesOn;
        }
        others.push(taken);
        self.is_gone = true;
        Unseen::Lingers
    }

    /// Where the result is not used, only what else was done counts.
    fn end_actions(&mut self, path: &Alternative, goes_on: bool, others: &mut Paths<Alternative>) {
        let is_left = path.status == Status::Live || self.is_held_by_gone;
        let is_used = self.is_gone && self.propagation.view.is_used(self.inst);
        let given_back = std::mem::take(&mut self.given_back);
        if is_left && (goes_on || is_used) {
            others.extend(given_back);
        }
    }

    fn begin_stores(&mut self, path: &Alternative) {
        self.about = match &self.moved {
            Some(moved) => moved.clone(),
            None => self.propagation.about_object(self.inst, self.summary, path),
        };
    }

    fn overwrite(&mut self, path: &mut Alternative, to: &AccessPath) {
        let rested_on_opaque = path.rests_on_opaque;
        self.propagation.overwrite(self.inst, to, false, path);
        // What the callee puts there, and when, is known for certain.
        path.rests_on_opaque = rested_on_opaque;
    }

    fn write(&mut self, path: &mut Alternative, _: usize) -> bool {
        let rested_on_opaque = path.rests_on_opaque;
        let summary = self.summary;
        let happens = |action: &Action| {
            let is_in_memory = matches!(&action.to, Destination::Store(to) if !to.steps.is_empty());
            is_in_memory && self.surely_happens(path, &action.guard)
        };
        let happens: Vec<bool> = summary.actions.iter().map(happens).collect();
        self.forget_written(path);
        let mut is_moved = false;
        for (index, action) in summary.actions.iter().enumerate() {
            let Destination::Store(to) = &action.to else { continue };
            let moves_object = self.about[index];
            is_moved |= moves_object && action.guard == Guard::Always;
            if happens[index] {
                self.propagation.overwrite(self.inst, to, moves_object, path);
            }
        }
        for to in &summary.overwritten {
            self.propagation.overwrite(self.inst, to, false, path);
        }
        // What makes room for something else and goes somewhere else by the same call is where the callee says it is.
        if is_moved && path.is_held() {
            path.rests_on_opaque = rested_on_opaque;
        }
        true
    }

    fn assume_left(&mut self, path: &mut Alternative, place: &AccessPath, relation: Relation) -> bool {
        let view = &mut self.propagation.view;
        let Some(Resolved::Cell(cell)) = view.resolve(self.inst, place) else { return true };
        if !view.values.is_exact(view.body, cell.base) {
            return true;
        }
        let key = view.keys.of_cell(cell);
        path.facts.retain(|known| known.0 != key);
        learn(&mut path.facts, (key, relation), view.config.max_facts)
    }

    fn is_held_at(&mut self, path: &Alternative, to: &AccessPath) -> bool {
        self.propagation.holds_in_place(self.inst, to, path)
    }

    fn moves_object(&mut self, _: &Alternative, index: usize, _: &Action) -> bool {
        self.about[index]
    }
}
