//! Blocks that callees make: how the object that a search is about comes to be, and where it is put.

use std::sync::Arc;

use caulk_ir::{InstId, Type};
use caulk_memory::{AccessPath, Class, Offset, PathRoot, Relation};
use caulk_program::FuncId;
use caulk_rules::Rule;
use caulk_solver::{Consistency, TermId};
use caulk_summary::birth::{Maker, Receiver, hand_out};
use caulk_summary::{Action, AllocId, Decision, Destination, Event, Guard, Subject, Summary};

use crate::by_summary::Written;
use crate::call::{Site, States};
use crate::effects::Effects;
use crate::frame::width_of;
use crate::machine::Machine;
use crate::memory::Content;
use crate::state::{Ownership, State};
use crate::symbols::{Key, Origin, Part};

impl Machine<'_> {
    /// The outcomes of a callee that make the wanted block, as its guarded summary tells. None: the summary lost sight of it.
    pub(crate) fn make_by_effects(
        &mut self,
        state: &State,
        site: &Site<'_>,
        effects: &[(FuncId, Arc<Effects>)],
        block: AllocId,
    ) -> Option<States> {
        let effect = self.effect(site.inst)?;
        let goes_to = |a: &Action| match (&a.subject, &a.to) {
            (Subject::Alloc(id), Destination::Store(to)) if *id == block => Some(to.clone()),
            _ => None,
        };
        let places: Vec<AccessPath> = effect.summary.actions.iter().filter_map(goes_to).collect();
        let mut made = States::new();
        let mut is_lost = false;
        for mut after in self.apply_effects(state.clone(), site, effects) {
            let result = after.get(site.inst);
            let mut object = None;
            for place in &places {
                if place.steps.last().is_some_and(|step| step.offset == Offset::Any) {
                    object = object.or_else(|| self.new_element(&after, site, result, place));
                    is_lost |= object.is_none();
                    continue;
                }
                let Some(value) = self.path_value(&after, site, result, place) else { continue };
                let root = self.root(value);
                match root.map(|r| (r, self.origin(r))) {
                    Some((root, Origin::Block(call))) if call == site.inst => object = object.or(Some(root)),
                    // What was there before the call is no new block.
                    Some((_, origin)) if self.was_there(origin, site.inst) => {}
                    _ => {
                        let is_null = self.relation(value, Relation::ZERO);
                        is_lost |= after.facts.implied(&self.pool, is_null) != Some(true);
                    }
                }
            }
            let Some(object) = object else { continue };
            if self.rests_on_null(state, &after, site) {
                continue;
            }
            // A callee of the callee made it under a condition that nothing tells: whether it exists the parts do not say.
            let ownership = after.ownership(object);
            is_lost |= ownership.is_none();
            if ownership == Some(Ownership::Live) && self.keep_nonnull(&mut after, object) {
                self.leave_registries(&mut after, object);
                after.tracked = Some(object);
                after.trail.add(site.inst, Event::Allocated);
                made.push(after);
            }
        }
        (!made.is_empty() || !is_lost).then_some(made)
    }

    /// A block that a callee made and put among the elements of a holder.
    fn new_element(
        &mut self,
        after: &State,
        site: &Site<'_>,
        result: Option<TermId>,
        place: &AccessPath,
    ) -> Option<TermId> {
        let (address, _) = self.path_address(after, site, result, place)?;
        let holder = self.root(address)?;
        let is_here = |content: &&Content| content.holder == Some(holder);
        let blocks =
            after.memory.iter().map(|(_, content)| content).filter(is_here).filter_map(|content| content.points);
        blocks.into_iter().find(|block| self.origin(*block) == Origin::Block(site.inst))
    }

    /// Whether a value is known to be older than a call: what memory held before, a variable, or an argument.
    fn was_there(&self, origin: Origin, call: InstId) -> bool {
        let is_older = match origin {
            Origin::Global(_) | Origin::Function(_) | Origin::Param(_) | Origin::Local(_) => true,
            Origin::Initial(key) => self.is_older_memory(key.base, call),
            _ => false,
        };
        self.world.config.rules.applies(Rule::OlderResults, is_older)
    }

    /// Whether memory is older than a call. What the callee's own variables held is seen as memory behind something that the call gave.
    fn is_older_memory(&self, base: TermId, call: InstId) -> bool {
        let Some(root) = self.root(base) else { return false };
        match self.origin(root) {
            Origin::Initial(key) => self.is_older_memory(key.base, call),
            Origin::Result(made) | Origin::Block(made) => made != call,
            Origin::Unknown | Origin::Derived(_) => false,
            Origin::Global(_) | Origin::Function(_) | Origin::Param(_) | Origin::Local(_) => true,
        }
    }

    /// Whether a callee was taken to go a way on which an argument is null that is not known to be. A caller that may give an object
    /// to be used does not want a new one, unless it is known that there is none.
    fn rests_on_null(&mut self, before: &State, after: &State, site: &Site<'_>) -> bool {
        site.args.iter().any(|&argument| {
            let is_null = self.relation(argument, Relation::ZERO);
            let [known, assumed] = [before, after].map(|state| state.facts.implied(&self.pool, is_null));
            let is_found = matches!(self.origin(argument), Origin::Initial(_) | Origin::Unknown);
            known.is_none() && assumed == Some(true) && is_found && self.root(argument).is_some()
        })
    }

    /// What a constructor enters into a global list and still hands to its caller is the caller's: stage one says so only of
    /// objects that count their references, and for those a registry holds none.
    fn leave_registries(&self, state: &mut State, object: TermId) {
        if !self.counts_references(state, object) {
            return;
        }
        let is_registry = |content: &Content| {
            let holder = content.holder.filter(|holder| *holder != object);
            self.cell_points_to(content, object) && holder.is_some_and(|h| self.reached_from(h, &[]).is_some())
        };
        let cells: Vec<Key> = state.memory.iter().filter(|(_, c)| is_registry(c)).map(|(key, _)| key).collect();
        for key in cells {
            state.memory_mut().remove(key);
        }
    }

    /// Whether an object, by the fields of it that were filled, is of a type that counts its references.
    fn counts_references(&self, state: &State, object: TermId) -> bool {
        let counted = &self.world.analysis.survey.counted;
        let is_counted = |class: Class| matches!(class, Class::Field(ty, _) if counted.contains_key(&ty));
        state.memory.iter().any(|(_, content)| content.holder == Some(object) && is_counted(content.class))
    }

    /// Whether what a callee puts somewhere is new, or may be what a caller follows.
    pub(crate) fn moves_callers_object(
        &mut self,
        state: &State,
        site: &Site<'_>,
        result: Option<TermId>,
        subject: &Subject,
    ) -> bool {
        match subject {
            Subject::Alloc(_) => true,
            Subject::Value(path) => {
                let root = self.path_value(state, site, result, path).and_then(|value| self.root(value));
                root.is_some_and(|root| self.is_object(root))
            }
        }
    }

    /// A block the callee made and put somewhere. False: it was wanted, and cannot be.
    #[expect(clippy::too_many_arguments, reason = "one step of finish()")]
    pub(crate) fn make_block(
        &mut self,
        state: &mut State,
        site: &Site<'_>,
        result: Option<TermId>,
        summary: &Summary,
        (block, action, to): (AllocId, &Action, &AccessPath),
        wanted: Option<AllocId>,
        written: &mut Vec<Written>,
    ) -> bool {
        let (is_returned, is_zeroed) = (summary.returns_block(block), summary.blocks[block].is_zeroed);
        let ty = self.type_of_block(site.inst, block);
        let is_wanted = wanted == Some(block)
            && state.tracked.is_none_or(|t| Some(t) == self.block_address(site, result, is_returned, block, ty));
        let mut is_refused = false;
        let happens = if is_wanted {
            let mut making = Making { machine: self, site, result, instead: Vec::new() };
            if !hand_out(&mut making, state, action) {
                return false;
            }
            true
        } else {
            let decision = self.decide(state, site, result, &action.guard);
            is_refused = matches!(decision, Decision::No);
            // The result is the block or null; asking later tells.
            matches!(decision, Decision::Yes) || (matches!(decision, Decision::If(..)) && to.steps.is_empty())
        };
        let Some(address) = self.block_address(site, result, is_returned, block, ty) else { return true };
        if to.steps.is_empty() {
            if self.fails_for_memory(site.inst) {
                state.allocations.push((site.inst, address));
            }
        } else {
            let place = self.place_of_block(state, site, result, summary, to);
            // What may have been put into memory that was only found on the way is held there.
            if !happens && self.follows_all && !place.is_some_and(|(place, _)| self.is_in_sight(place)) {
                state.ownerships.set(address, Ownership::Kept);
            }
            let is_error =
                is_refused && place.is_some_and(|(place, _)| self.is_error_pointer(state, site, action, place));
            let value = if is_error {
                Some(self.pool.constant(width_of(ty).unwrap_or(64), 0))
            } else {
                happens.then_some(address)
            };
            written.extend(place.map(|(address, class)| Written { address, class, ty, value }));
        }
        if happens {
            state.ownerships.set_first(address, Ownership::Live);
        }
        if happens && self.world.config.rules.applies(Rule::ZeroedBlocks, is_zeroed) {
            state.memory_mut().zero(Key { base: address, offset: 0 }, i64::MAX as u64);
        }
        if is_wanted {
            if !self.keep_nonnull(state, address) {
                return false;
            }
            if state.tracked.is_none() {
                state.tracked = Some(address);
                state.trail.add(site.inst, Event::Allocated);
            }
        }
        true
    }

    /// Where a block is put. What it is put into may be made by the same call.
    fn place_of_block(
        &mut self,
        state: &State,
        site: &Site<'_>,
        result: Option<TermId>,
        summary: &Summary,
        to: &AccessPath,
    ) -> Option<(TermId, Class)> {
        let (last, before) = to.steps.split_last()?;
        let holder = AccessPath { root: to.root, steps: before.into() };
        let is_holder = |action: &&Action| {
            let is_there = matches!(&action.to, Destination::Store(place) if place.same_place(&holder));
            is_there && !before.is_empty() && matches!(action.subject, Subject::Alloc(_))
        };
        let holder = summary.actions.iter().find(is_holder).map(|action| action.subject.clone());
        let Some(Subject::Alloc(holder)) = holder else { return self.path_address(state, site, result, to) };
        let ty = self.type_of_block(site.inst, holder);
        let base = self.block_address(site, result, summary.returns_block(holder), holder, ty)?;
        Some(self.step_address(site, base, last))
    }

    /// Whether a place is one that a library function fills just where it makes no other block: `g_regex_new(text, 0, 0, &error)`. Where it
    /// does not fill it there is nothing in it, unless the object was there before.
    fn is_error_pointer(&mut self, state: &State, site: &Site<'_>, action: &Action, place: TermId) -> bool {
        let Guard::ByResult(filled, _) = action.guard else { return false };
        let Some(effect) = self.effect(site.inst) else { return false };
        let is_instead = |other: &Action| {
            matches!(other.subject, Subject::Alloc(_))
                && matches!(other.guard, Guard::ByResult(made, _) if made.contradicts(filled))
        };
        let key = self.key(place);
        let has_body = |target: &FuncId| self.frame.program.has_body(*target);
        let has_object = |object| state.memory.overlapping(key, 8).any(|(_, cell)| self.cell_points_to(cell, object));
        let gives_error_pointer = !site.targets.is_empty()
            && !site.targets.iter().any(has_body)
            && effect.summary.actions.iter().any(is_instead)
            && self.is_in_sight(place)
            && !state.tracked.is_some_and(has_object);
        self.world.config.rules.applies(Rule::ErrorPointers, gives_error_pointer)
    }

    /// Whether an address is in memory that the function was given itself, or in a variable of its own.
    fn is_in_sight(&self, address: TermId) -> bool {
        let origin = self.root(address).map(|root| self.origin(root));
        matches!(origin, Some(Origin::Param(_) | Origin::Local(_)))
    }

    /// Whether a call that gives back no block says that memory is out. A file that cannot be opened is no such thing.
    pub(crate) fn fails_for_memory(&mut self, call: InstId) -> bool {
        let Some(effect) = self.effect(call) else { return true };
        let opened = &self.world.analysis.opened;
        let is_opened = |action: &Action| match (&action.subject, &action.to) {
            (Subject::Alloc(block), Destination::Store(to)) if to.steps.is_empty() => {
                opened[effect.summary.blocks[*block].family.index()]
            }
            _ => false,
        };
        !effect.summary.actions.iter().any(is_opened)
    }

    /// Whether a call may give back null for reasons of its own, and the program asks for that: then null does not say that memory is out.
    pub(crate) fn may_refuse(&mut self, call: InstId) -> bool {
        self.frame.is_tested[call] && self.effect(call).is_some_and(|effect| effect.summary.null_otherwise)
    }

    fn keep_nonnull(&mut self, state: &mut State, address: TermId) -> bool {
        self.assume(state, address, Relation::NONZERO) == Consistency::Consistent
    }

    /// The address of a block: what the call returns if it is that, else a symbol of its own.
    fn block_address(
        &mut self,
        site: &Site<'_>,
        result: Option<TermId>,
        is_returned: bool,
        block: AllocId,
        ty: Type,
    ) -> Option<TermId> {
        if is_returned {
            return result;
        }
        let (origin, width) = (Origin::Block(site.inst), width_of(ty).unwrap_or(64));
        Some(self.symbols.at(&mut self.pool, site.program_point.clone(), Part::Block(block.0), width, origin, true))
    }

    /// How a block is named: by a pointer, or by a number if it is a descriptor. Two of them may lie side by side (`pipe`).
    fn type_of_block(&mut self, call: InstId, block: AllocId) -> Type {
        let family = self.effect(call).and_then(|effect| Some(effect.summary.blocks.get(block)?.family));
        let is_number = family.is_some_and(|family| self.world.analysis.numbered[family.index()]);
        if is_number { Type::Int(32) } else { Type::Ptr }
    }
}

/// Stage two, as it follows a block from the call that makes it.
pub(crate) struct Making<'m, 'a, 's> {
    pub machine: &'m mut Machine<'a>,
    pub site: &'s Site<'s>,
    pub result: Option<TermId>,
    /// Where the caller may have something that is used instead of a new block.
    pub instead: Vec<&'s AccessPath>,
}

impl Making<'_, '_, '_> {
    /// Whether what is found at a path may be used instead of a new block: the callee looks for one there, or behind it, or the caller gives it.
    fn may_be_given(&self, path: &AccessPath) -> bool {
        let is_argument = matches!(path.root, PathRoot::Param(_)) && path.steps.is_empty();
        is_argument || self.instead.iter().any(|place| !place.steps.is_empty() && place.leads_to(path))
    }
}

impl Receiver for Making<'_, '_, '_> {
    type Path = State;

    fn told(&mut self, state: &mut State, relation: Relation, _: Option<Relation>) -> bool {
        self.result.is_none_or(|result| self.machine.assume(state, result, relation) != Consistency::Contradiction)
    }

    fn given(&mut self, state: &mut State, value: &AccessPath, relation: Relation) -> bool {
        self.find(state, value, relation)
    }

    fn is_excluded(&mut self, state: &State, value: &AccessPath, relation: Relation) -> bool {
        let Some(value) = self.machine.path_value(state, self.site, self.result, value) else { return false };
        let condition = self.machine.relation(value, relation);
        state.facts.implied(&self.machine.pool, condition) == Some(false)
    }

    fn is_there(&mut self) {}

    fn may_be_there(&mut self, _: &Action) {}
}

impl Maker for Making<'_, '_, '_> {
    type Path = State;

    fn number(&mut self, state: &State, value: &AccessPath) -> Option<i64> {
        let value = self.machine.path_value(state, self.site, self.result, value)?;
        self.machine.pool.as_const(value).map(|number| number as i64)
    }

    fn need(&mut self, state: &mut State, path: &AccessPath, relation: Relation) -> bool {
        let Some(value) = self.machine.path_value(state, self.site, self.result, path) else { return true };
        // A caller that may give an object to be used does not want a new one, unless it is known that there is none.
        if relation == Relation::ZERO && self.may_be_given(path) && self.machine.root(value).is_some() {
            let is_null = self.machine.relation(value, relation);
            return state.facts.implied(&self.machine.pool, is_null) == Some(true);
        }
        self.machine.assume(state, value, relation) != Consistency::Contradiction
    }

    fn find(&mut self, state: &mut State, place: &AccessPath, relation: Relation) -> bool {
        let value = self.machine.path_value(state, self.site, self.result, place);
        value.is_none_or(|value| self.machine.assume(state, value, relation) != Consistency::Contradiction)
    }
}
