//! Calls, by stage one's summaries: what a callee does to the object, what it writes, and what it gives back.

use std::rc::Rc;
use std::sync::Arc;

use caulk_ir::{CallData, Callee, InstId, Type};
use caulk_memory::{AccessPath, PathRoot, Relation};
use caulk_program::FuncId;
use caulk_solver::{TermId, Verdict};
use caulk_summary::{Action, Block, BlockId, Destination, Guard, Room, Subject, Summary};
use caulk_useflow::CallEffect;
use smallvec::{SmallVec, smallvec};

use crate::effect_cache::Given;
use crate::effects::Effects;
use crate::frame::{Class, is_pointer, width_of};
use crate::machine::Machine;
use crate::memory::Content;
use crate::order::Asker;
use crate::state::{Fate, State};
use crate::symbols::{Key, Moment, Origin, Part};
use crate::witness::Event;

pub type States = SmallVec<[State; 2]>;

/// A call that is being executed.
pub struct Site<'c> {
    pub inst: InstId,
    pub call: &'c CallData,
    pub args: SmallVec<[TermId; 4]>,
    pub moment: Moment,
    pub targets: SmallVec<[FuncId; 2]>,
}

/// Whether an action happens on a path.
pub enum Decision {
    Yes,
    No,
    /// Something decides that the caller cannot see.
    Hidden,
    /// If the first condition holds; the second is what holds otherwise.
    If(TermId, TermId),
}

/// What the call is expected to make: the object that the search is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Wanted {
    pub call: InstId,
    pub block: BlockId,
}

impl Site<'_> {
    /// A moment of its own for one of several loads of the call.
    pub fn moment_of(&self, part: u32) -> Moment {
        let mut moment = self.moment.clone();
        moment.1.push(part);
        moment
    }
}

impl<'a> Machine<'a> {
    /// All ways a call may go. `wanted`: the object to follow from here on, if this is the call that makes it.
    pub fn call(&mut self, state: State, inst: InstId, wanted: Option<Wanted>) -> States {
        let frame = self.frame;
        let Some(call) = frame.body.insts[inst].call() else { return smallvec![state] };
        if call.flags.no_return {
            return smallvec![];
        }
        let site = self.site(&state, inst, call);
        let wanted = wanted.filter(|w| w.call == inst).map(|w| w.block);
        if let Some(effects) = self.guarded(&site, wanted.is_some()) {
            match wanted {
                None => return self.apply_effects(state, &site, &effects),
                Some(block) => {
                    if let Some(made) = self.make_by_effects(&state, &site, &effects, block) {
                        return made;
                    }
                }
            }
        }
        match self.effect(inst) {
            Some(effect) => self.apply_summary(state, &site, &effect, wanted),
            None => {
                let effect = CallEffect { summary: Default::default(), unknown: false };
                self.apply_summary(state, &site, &effect, None)
            }
        }
    }

    /// The guarded summaries of all functions that a call may reach, if there is one for each and they are few.
    fn guarded(&self, site: &Site<'_>, is_wanted: bool) -> Option<Vec<(FuncId, Arc<Effects>)>> {
        let is_special = self.world.analysis.special_call(self.frame.id, site.inst).is_some();
        if is_special || site.targets.is_empty() || site.targets.len() > self.world.config.max_targets {
            return None;
        }
        let asker = Asker { function: self.frame.id, in_cycles: self.asks_in_cycles };
        let asker = self.follows_all.then_some(asker);
        let of = |target: &FuncId| {
            // How the object comes to be is worth an execution of its own: loops end where constants say so.
            if is_wanted && let Some(special) = self.guarded_for_constants(site, *target, is_wanted) {
                return Some((*target, special));
            }
            let known = self.world.effects.get(self.world, *target, asker);
            if known.is_some() && self.world.effects.is_cycle(self.frame.id, *target) {
                self.has_asked_in_cycle.set(true);
            }
            Some((*target, known.or_else(|| self.guarded_for_constants(site, *target, is_wanted))?))
        };
        site.targets.iter().map(of).collect()
    }

    /// What a callee does with the constants it is given, where that matters most: whether it makes the object.
    fn guarded_for_constants(&self, site: &Site<'_>, target: FuncId, is_wanted: bool) -> Option<Arc<Effects>> {
        let is_made_for_all = self.follows_all && self.given.is_empty();
        if is_made_for_all || !(is_wanted || self.follows_all) {
            return None;
        }
        let constant = |(index, arg): (usize, &TermId)| Some((index as u32, self.pool.as_const(*arg)?));
        let given: Given = site.args.iter().enumerate().filter_map(constant).collect();
        if given.is_empty() {
            return None;
        }
        let asker = Asker { function: self.frame.id, in_cycles: true };
        self.world.effects.get_for(self.world, target, given, self.follows_all.then_some(asker))
    }

    /// The ways of a callee that make the wanted block, as its guarded summary tells. None: the summary lost sight of it.
    fn make_by_effects(
        &mut self,
        state: &State,
        site: &Site<'_>,
        effects: &[(FuncId, Arc<Effects>)],
        block: BlockId,
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
                let Some(value) = self.path_value(&after, site, result, place) else { continue };
                let root = self.root(value);
                match root.map(|r| (r, self.origin(r))) {
                    Some((root, Origin::Block(call))) if call == site.inst => object = object.or(Some(root)),
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
            if after.fate(object) == Some(Fate::Live) && self.keep_nonnull(&mut after, object) {
                self.leave_registries(&mut after, object);
                after.tracked = Some(object);
                after.trail.add(site.inst, Event::Allocated);
                made.push(after);
            }
        }
        (!made.is_empty() || !is_lost).then_some(made)
    }

    /// Whether a callee was taken to go a way on which an argument is null that is not known to be. Whoever may give an object
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
        let is_registry = |content: &Content| {
            let holder = content.holder.filter(|holder| *holder != object);
            self.cell_points_to(content, object) && holder.is_some_and(|h| self.reached_from(h, &[]).is_some())
        };
        let cells: Vec<Key> = state.memory.iter().filter(|(_, c)| is_registry(c)).map(|(key, _)| key).collect();
        for key in cells {
            state.memory_mut().remove(key);
        }
    }

    /// What stage one knows of a call, looked up once.
    fn effect(&mut self, inst: InstId) -> Option<Rc<CallEffect<'a>>> {
        let (world, id) = (self.world, self.frame.id);
        self.known_effects.entry(inst).or_insert_with(|| world.call_effect(id, inst).map(Rc::new)).clone()
    }

    fn site<'c>(&mut self, state: &State, inst: InstId, call: &'c CallData) -> Site<'c> {
        let args = call.args.iter().map(|a| self.operand(state, *a)).collect();
        let mut targets: SmallVec<[FuncId; 2]> = SmallVec::new();
        if let Callee::Indirect(pointer) = call.callee {
            let pointer = self.operand(state, pointer);
            if let Origin::Function(function) = self.origin(pointer) {
                targets.push(function);
            }
        }
        if targets.is_empty()
            && let Some(site) = self.frame.program.call_site(self.frame.id, inst)
        {
            targets.extend_from_slice(self.frame.program.targets(site));
        }
        Site { inst, call, args, moment: self.moment(state, inst), targets }
    }

    pub fn apply_summary(
        &mut self,
        mut state: State,
        site: &Site<'_>,
        effect: &CallEffect<'_>,
        wanted: Option<BlockId>,
    ) -> States {
        let summary = &*effect.summary;
        if summary.no_return {
            return smallvec![];
        }
        let result = self.result_of(&state, site, summary);
        if (summary.nonnull_result || site.call.flags.nonnull_result)
            && let Some(result) = result
            && self.assume(&mut state, result, Relation::NONZERO) == Verdict::Contradiction
        {
            return smallvec![];
        }
        if let Some(result) = result
            && summary.ensures.iter().any(|r| self.assume(&mut state, result, *r) == Verdict::Contradiction)
        {
            return smallvec![];
        }
        if effect.unknown {
            self.give_away(&mut state, site);
        }
        let has_room = self.has_room(site, summary);
        let mut states: States = smallvec![state];
        for action in &summary.actions {
            let Subject::Value(path) = &action.subject else { continue };
            let action = &match action.guard {
                Guard::Told(..) if has_room => Action { guard: Guard::Always, ..action.clone() },
                _ => action.clone(),
            };
            let mut next: States = SmallVec::new();
            for state in states {
                self.take_part(state, site, result, action, path, &mut next);
            }
            states = next;
        }
        if self.follows_all {
            states = self.split_by_blocks(states, site, result, summary);
        }
        states
            .into_iter()
            .filter_map(|state| self.finish(state, site, result, summary, effect.unknown, wanted))
            .collect()
    }

    /// Whether something is put into a container that was made with room for it: that does not fail.
    fn has_room(&mut self, site: &Site<'_>, summary: &Summary) -> bool {
        let container = (summary.room == Some(Room::Used)).then(|| site.args.first()).flatten();
        let origin = container.and_then(|c| self.root(*c)).map(|root| self.origin(root));
        let Some(Origin::Block(maker)) = origin else { return false };
        self.effect(maker).is_some_and(|made| made.summary.room == Some(Room::Made))
    }

    /// What the call gives back.
    fn result_of(&mut self, state: &State, site: &Site<'_>, summary: &Summary) -> Option<TermId> {
        let ty = site.call.ret;
        if ty == Type::Void {
            return None;
        }
        let width = width_of(ty).unwrap_or(64);
        let returned =
            |a: &&Action| matches!(&a.to, Destination::Store(to) if to.root == PathRoot::Return && to.steps.is_empty());
        let inside = summary.result_inside.and_then(|index| site.args.get(index as usize));
        let mut origin = match inside.and_then(|argument| self.root(*argument)) {
            Some(root) => Origin::Derived(root),
            None => Origin::Result(site.inst),
        };
        for action in summary.actions.iter().filter(returned) {
            match &action.subject {
                Subject::Alloc(_) => {
                    origin = Origin::Block(site.inst);
                    break;
                }
                Subject::Value(path) => {
                    let root = self.path_value(state, site, None, path).and_then(|v| self.root(v));
                    if let Some(root) = root {
                        origin = Origin::Derived(root);
                        if state.tracked == Some(root) {
                            break;
                        }
                    }
                }
            }
        }
        if let Some(result) = self.pure_result(state, site, summary, width) {
            return Some(result);
        }
        let is_pointer = is_pointer(ty) || origin != Origin::Result(site.inst);
        Some(self.symbols.at(&mut self.pool, site.moment.clone(), Part::Value, width, origin, is_pointer))
    }

    /// A function without side effects gives the same for the same arguments and the same memory.
    fn pure_result(&mut self, state: &State, site: &Site<'_>, summary: &Summary, width: u8) -> Option<TermId> {
        let [target] = site.targets.as_slice() else { return None };
        if summary.impure || !summary.actions.is_empty() || self.world.analysis.summary(*target).impure {
            return None;
        }
        let key = (*target, site.args.clone(), state.version);
        if let Some(known) = self.pure_results.get(&key)
            && self.pool.width(*known) == width
        {
            return Some(*known);
        }
        let origin = Origin::Result(site.inst);
        let result =
            self.symbols.at(&mut self.pool, site.moment.clone(), Part::Value, width, origin, is_pointer(site.call.ret));
        self.pure_results.insert(key, result);
        Some(result)
    }

    /// Nobody knows the callee: it may keep and change whatever it can reach.
    fn give_away(&mut self, state: &mut State, site: &Site<'_>) {
        for &arg in &site.args {
            match state.tracked {
                Some(object) if self.leads_to(state, arg, object) => self.settle(state, Fate::Kept),
                None => drop(self.root(arg).map(|root| state.fates.set(root, Fate::Kept))),
                _ => {}
            }
        }
    }

    /// An action on a value the caller had, if that is the object or leads to it. Without an object to follow, every value is one.
    fn take_part(
        &mut self,
        mut state: State,
        site: &Site<'_>,
        result: Option<TermId>,
        action: &Action,
        path: &AccessPath,
        out: &mut States,
    ) {
        let is_alias = matches!(&action.to, Destination::Store(to) if to.root == PathRoot::Return);
        let Some(value) = self.path_value(&state, site, result, path).filter(|_| !is_alias) else {
            return out.push(state);
        };
        let concerns = match state.tracked {
            Some(object) => self.is_live(&state) && self.leads_to(&state, value, object),
            None => self.root(value).is_some(),
        };
        if !concerns {
            return out.push(state);
        }
        let decision = self.decide(&state, site, result, &action.guard);
        // Where it was stored for certain it can be found there; `finish` sees to that.
        let is_seen = state.tracked.is_none() && matches!(action.to, Destination::Store(_));
        if is_seen && !matches!(decision, Decision::Hidden) {
            return out.push(state);
        }
        match decision {
            Decision::No => out.push(state),
            Decision::Yes => {
                self.perform(&mut state, site, result, value, &action.to);
                out.push(state);
            }
            // Whether it is gone the caller cannot know, so it is.
            Decision::Hidden => match state.tracked {
                Some(_) => self.settle(&mut state, Fate::Kept),
                None => {
                    if let Some(root) = self.root(value) {
                        state.fates.set(root, Fate::Kept);
                    }
                    out.push(state);
                }
            },
            Decision::If(condition, otherwise) => {
                let mut taken = state.clone();
                if taken.facts.assume(&mut self.pool, condition) == Verdict::Consistent {
                    self.perform(&mut taken, site, result, value, &action.to);
                    out.push(taken);
                }
                if state.facts.assume(&mut self.pool, otherwise) == Verdict::Consistent {
                    state.trail.add(site.inst, Event::NotTaken);
                    out.push(state);
                }
            }
        }
    }

    fn perform(&mut self, state: &mut State, site: &Site<'_>, result: Option<TermId>, value: TermId, to: &Destination) {
        let is_object = state.tracked.is_some_and(|object| self.points_to(value, object));
        match to {
            Destination::Keep | Destination::Unknown => match state.tracked {
                Some(_) => self.settle(state, Fate::Kept),
                None => drop(self.root(value).map(|root| state.fates.set(root, Fate::Kept))),
            },
            Destination::Free { .. } if is_object => self.settle(state, Fate::Freed),
            // What else was done to what the holder holds, nobody said.
            Destination::Free { deep: true } if state.tracked.is_some() => self.settle(state, Fate::Freed),
            Destination::Free { deep } => {
                if let Some(root) = self.root(value) {
                    // What is in it went elsewhere before, or was freed too: none of it is the caller's any more.
                    state.fates.set(root, if *deep { Fate::Kept } else { Fate::Freed });
                    state.trail.add(site.inst, Event::FreedWithHolder);
                }
            }
            Destination::Store(to) => match self.place_for(state, site, result, to) {
                Some((address, class)) => self.store(state, address, value, Type::Ptr, class, site.inst),
                None => self.settle(state, Fate::Kept),
            },
        }
    }

    /// What the call wrote and gave back. None: the path cannot be.
    fn finish(
        &mut self,
        mut state: State,
        site: &Site<'_>,
        result: Option<TermId>,
        summary: &Summary,
        unknown: bool,
        wanted: Option<BlockId>,
    ) -> Option<State> {
        let mut written: Vec<(TermId, Class, Option<TermId>)> = Vec::new();
        for action in &summary.actions {
            let Destination::Store(to) = &action.to else { continue };
            match action.subject {
                Subject::Alloc(block) => {
                    let is_wanted = wanted == Some(block);
                    if is_wanted && !self.has_what_it_needs(&mut state, site, &summary.blocks[block.0 as usize]) {
                        return None;
                    }
                    let is_returned = summary.actions.iter().any(|a| returns_block(a, block));
                    if !self.make_block(&mut state, site, result, action, to, is_returned, block, wanted, &mut written)
                    {
                        return None;
                    }
                }
                Subject::Value(ref path) => self.move_value(&state, site, result, action, to, path, &mut written),
            }
        }
        for path in &summary.overwritten {
            written
                .extend(self.path_address(&state, site, result, path).map(|(address, class)| (address, class, None)));
        }
        if unknown || summary.impure {
            self.opaque.extend(site.targets.iter().filter(|t| self.frame.program.has_body(**t)));
            self.forget_modified(&mut state, site);
            self.touch(&mut state);
        }
        for (address, class, value) in written {
            match value {
                Some(value) => self.store(&mut state, address, value, Type::Ptr, class, site.inst),
                None => self.store_unknown(&mut state, site, address, class),
            }
        }
        if let Some(result) = result {
            state.set(site.inst, result);
        }
        Some(state)
    }

    /// A cell that was perhaps written to. Who may or may not hold the object goes on holding it.
    fn store_unknown(&mut self, state: &mut State, site: &Site<'_>, address: TermId, class: Class) {
        let key = self.key(address);
        let object = state.tracked;
        let holds = state.memory.overlapping(key, 8).any(|(_, c)| object.is_some_and(|o| self.cell_points_to(c, o)));
        if !holds {
            let value = self.unknown(&site.moment, Part::Written(key.offset), Type::Ptr);
            self.store(state, address, value, Type::Ptr, class, site.inst);
        }
    }

    /// Without an object to follow, whether a block was made for the caller is worth two paths.
    fn split_by_blocks(
        &mut self,
        states: States,
        site: &Site<'_>,
        result: Option<TermId>,
        summary: &Summary,
    ) -> States {
        let mut states = states;
        for action in &summary.actions {
            let (Subject::Alloc(_), Destination::Store(to)) = (&action.subject, &action.to) else { continue };
            if to.steps.is_empty() {
                continue;
            }
            let mut next = States::new();
            for mut state in states {
                if let Decision::If(condition, otherwise) = self.decide(&state, site, result, &action.guard) {
                    let mut made = state.clone();
                    if made.facts.assume(&mut self.pool, condition) == Verdict::Consistent {
                        next.push(made);
                    }
                    if state.facts.assume(&mut self.pool, otherwise) == Verdict::Contradiction {
                        continue;
                    }
                }
                next.push(state);
            }
            states = next;
        }
        states
    }

    /// A block the callee made and put somewhere. False: it was wanted, and cannot be.
    #[expect(clippy::too_many_arguments, reason = "one step of finish()")]
    fn make_block(
        &mut self,
        state: &mut State,
        site: &Site<'_>,
        result: Option<TermId>,
        action: &Action,
        to: &AccessPath,
        is_returned: bool,
        block: BlockId,
        wanted: Option<BlockId>,
        written: &mut Vec<(TermId, Class, Option<TermId>)>,
    ) -> bool {
        let is_wanted = wanted == Some(block)
            && state.tracked.is_none_or(|t| Some(t) == self.block_address(site, result, is_returned, block));
        let decision = self.decide(state, site, result, &action.guard);
        let happens = match (is_wanted, decision) {
            (true, Decision::If(condition, _)) => {
                if state.facts.assume(&mut self.pool, condition) == Verdict::Contradiction {
                    return false;
                }
                true
            }
            (true, Decision::No) => return false,
            (true, _) | (false, Decision::Yes) => true,
            // The result is the block or null; asking later tells.
            (false, Decision::If(..)) if to.steps.is_empty() => true,
            (false, _) => false,
        };
        let Some(address) = self.block_address(site, result, is_returned, block) else { return true };
        if to.steps.is_empty() {
            state.allocations.push((site.inst, address));
        } else if let Some((place, class)) = self.path_address(state, site, result, to) {
            written.push((place, class, happens.then_some(address)));
        }
        if happens {
            state.fates.set_first(address, Fate::Live);
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

    /// Assumes what must have been given for a block to exist. False when it was not.
    fn has_what_it_needs(&mut self, state: &mut State, site: &Site<'_>, block: &Block) -> bool {
        block.needs.iter().all(|(path, relation)| match self.path_value(state, site, None, path) {
            // Whoever may give an object to be used does not want a new one, unless it is known that there is none.
            Some(value) if *relation == Relation::ZERO && self.root(value).is_some() => {
                let is_null = self.relation(value, *relation);
                state.facts.implied(&self.pool, is_null) == Some(true)
            }
            Some(value) => self.assume(state, value, *relation) != Verdict::Contradiction,
            None => true,
        })
    }

    fn keep_nonnull(&mut self, state: &mut State, address: TermId) -> bool {
        self.assume(state, address, Relation::NONZERO) == Verdict::Consistent
    }

    /// The address of a block: what the call returns if it is that, else a symbol of its own.
    fn block_address(
        &mut self,
        site: &Site<'_>,
        result: Option<TermId>,
        is_returned: bool,
        block: BlockId,
    ) -> Option<TermId> {
        if is_returned {
            return result;
        }
        let origin = Origin::Block(site.inst);
        Some(self.symbols.at(&mut self.pool, site.moment.clone(), Part::Block(block.0), 64, origin, true))
    }

    /// A value that the callee put somewhere else; what concerns the object was done by `take_part`.
    #[expect(clippy::too_many_arguments, reason = "one step of finish()")]
    fn move_value(
        &mut self,
        state: &State,
        site: &Site<'_>,
        result: Option<TermId>,
        action: &Action,
        to: &AccessPath,
        path: &AccessPath,
        written: &mut Vec<(TermId, Class, Option<TermId>)>,
    ) {
        if to.steps.is_empty() {
            return;
        }
        let Some(value) = self.path_value(state, site, result, path) else { return };
        if state.tracked.is_some_and(|object| self.leads_to(state, value, object)) {
            return;
        }
        let Some((address, class)) = self.place_for(state, site, result, to) else { return };
        match self.decide(state, site, result, &action.guard) {
            Decision::No => {}
            Decision::Yes => written.push((address, class, Some(value))),
            Decision::Hidden | Decision::If(..) => written.push((address, class, None)),
        }
    }
}

fn returns_block(action: &Action, block: BlockId) -> bool {
    let is_it = action.subject == Subject::Alloc(block);
    is_it && matches!(&action.to, Destination::Store(to) if to.root == PathRoot::Return && to.steps.is_empty())
}
