//! Calls by stage one's summaries: what a callee does to the object, what it writes, and what it gives back.

use caulk_ir::Type;
use caulk_memory::{AccessPath, Class, Offset, PathRoot, Relation};
use caulk_program::FuncId;
use caulk_solver::{Consistency, TermId};
use caulk_summary::apply::call;
use caulk_summary::birth::{enter, leave};
use caulk_summary::{Action, AllocId, Case, Decision, Depth, Destination, Guard, Subject, Summary};
use caulk_useflow::CallEffect;
use smallvec::smallvec;

use crate::at_site::AtSite;
use crate::call::{Site, States};
use crate::frame::{is_pointer, width_of};
use crate::machine::Machine;
use crate::made::Making;
use crate::memory::Content;
use crate::state::{Ownership, State};
use crate::symbols::{Key, Origin, Part};

/// What a callee leaves at a place; None where it may have been left as it was.
pub(crate) struct Written {
    pub address: TermId,
    pub class: Class,
    pub ty: Type,
    pub value: Option<TermId>,
}

/// The program point, among those of a call, at which it gives back what it was given.
const GIVEN_BACK: u32 = u32::MAX;

impl Machine<'_> {
    pub(crate) fn apply_summary(
        &mut self,
        mut state: State,
        site: &Site<'_>,
        effect: &CallEffect<'_>,
        wanted: Option<AllocId>,
    ) -> States {
        let summary = &*effect.summary;
        for param in &summary.looks_behind {
            if let Some(argument) = site.args.get(*param as usize) {
                self.dereference(&mut state, *argument);
            }
        }
        let result = self.result_of(&state, site, summary);
        if let Some(result) = result.filter(|_| self.world.config.wants_inputs) {
            self.symbols.note_given(result, &site.args);
        }
        if let Some(result) = result.filter(|_| site.call.flags.nonnull_result)
            && self.assume(&mut state, result, Relation::NONZERO) == Consistency::Contradiction
        {
            return smallvec![];
        }
        // In a cycle of calls a block may have gone from the summary since the candidate was found.
        let made = wanted.and_then(|block| Some((block, summary.blocks.get(block)?.cases.as_slice())));
        let mut states = States::new();
        let mut at_site = AtSite::new(self, site, result, effect, made);
        if call(&mut at_site, summary, effect.unknown, &mut state, &mut states) {
            states.push(state);
        }
        states
    }

    /// Assumes that what `realloc` made has a size: where it is zero, the old block is freed and there is no new one. False when that cannot
    /// be.
    fn has_a_size(&mut self, state: &mut State, site: &Site<'_>, summary: &Summary) -> bool {
        let freed_by = |action: &Action| match (&action.to, &action.guard) {
            (Destination::Free { .. }, Guard::ByArgument(size, Relation::ZERO)) => Some(size.clone()),
            _ => None,
        };
        let sizes: Vec<AccessPath> = summary.actions.iter().filter_map(freed_by).collect();
        sizes.iter().all(|size| match self.path_value(state, site, None, size) {
            Some(value) => self.assume(state, value, Relation::NONZERO) != Consistency::Contradiction,
            None => true,
        })
    }

    /// Whether the first argument, a container, holds the object.
    pub(crate) fn holds_object(&self, state: &State, site: &Site<'_>) -> bool {
        let container = site.args.first().and_then(|arg| self.root(*arg));
        let Some((object, container)) = state.tracked.zip(container) else { return false };
        self.is_live(state)
            && state.memory.iter().any(|(_, c)| c.holder == Some(container) && self.cell_points_to(c, object))
    }

    /// Whether the first argument is known not to be null.
    pub(crate) fn has_first_argument(&mut self, state: &State, site: &Site<'_>) -> bool {
        let Some(&first) = site.args.first() else { return false };
        let zero = self.pool.constant(self.pool.width(first), 0);
        let is_null = self.pool.eq(first, zero);
        state.facts.implied(&self.pool, is_null) == Some(false)
    }

    /// What the call gives back.
    fn result_of(&mut self, state: &State, site: &Site<'_>, summary: &Summary) -> Option<TermId> {
        let ty = site.call.ret;
        if ty == Type::Void {
            return None;
        }
        let width = width_of(ty).unwrap_or(64);
        let inside = summary.result_inside.and_then(|(index, offset)| Some((*site.args.get(index as usize)?, offset)));
        if let Some((argument, Offset::Known(offset))) = inside
            && self.pool.width(argument) == width
        {
            let offset = self.pool.constant(width, offset as u64);
            return Some(self.pool.add(argument, offset));
        }
        let mut origin = match inside.and_then(|(argument, _)| self.root(argument)) {
            Some(root) => Origin::Derived(root),
            None => Origin::Result(site.inst),
        };
        for action in summary.actions.iter().filter(|a| a.is_returned()) {
            let decision = self.decide(state, site, None, &action.guard);
            match &action.subject {
                _ if decision == Decision::No => {}
                Subject::Alloc(_) => {
                    origin = Origin::Block(site.inst);
                    break;
                }
                Subject::Value(path) => {
                    let value = self.path_value(state, site, None, path);
                    // A pointer into nothing is none.
                    let is_null = value.is_some_and(|value| self.pool.as_const(value) == Some(0));
                    if is_null && decision == Decision::Yes && is_pointer(ty) {
                        return value;
                    }
                    if let Some(root) = value.and_then(|v| self.root(v)) {
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
        Some(self.symbols.at(&mut self.pool, site.program_point.clone(), Part::Value, width, origin, is_pointer))
    }

    /// What the call gives back where that is the object that is followed: a callee may give back what it was given or a new block, and this path
    /// is one on which it is not the block.
    fn given_back(
        &mut self,
        state: &mut State,
        site: &Site<'_>,
        result: Option<TermId>,
        summary: &Summary,
    ) -> Option<TermId> {
        let object =
            state.tracked.filter(|object| self.is_live(state) && self.origin(*object) != Origin::Block(site.inst))?;
        let result = result.filter(|result| !self.points_to(*result, object))?;
        let gives_object = |machine: &mut Self, action: &Action| match &action.subject {
            Subject::Value(path) if action.is_returned() => {
                let root = machine.path_value(state, site, Some(result), path).and_then(|value| machine.root(value));
                root == Some(object) && machine.decide(state, site, Some(result), &action.guard) == Decision::Yes
            }
            _ => false,
        };
        let is_given = summary.actions.iter().any(|action| gives_object(self, action));
        let derived =
            is_given.then(|| self.derived(&site.program_point_of(GIVEN_BACK), Part::Value, object, site.call.ret))?;
        (self.assume(state, derived, Relation::NONZERO) != Consistency::Contradiction).then_some(derived)
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
        let result = self.symbols.at(
            &mut self.pool,
            site.program_point.clone(),
            Part::Value,
            width,
            origin,
            is_pointer(site.call.ret),
        );
        self.pure_results.insert(key, result);
        Some(result)
    }

    /// The callee is not known: it may keep and change whatever it can reach.
    pub(crate) fn give_away(&mut self, state: &mut State, site: &Site<'_>) {
        for &arg in &site.args {
            match state.tracked {
                Some(object) if self.leads_to(state, arg, object) => self.settle(state, Ownership::Kept),
                None => drop(self.root(arg).map(|root| state.ownerships.set(root, Ownership::Kept))),
                _ => {}
            }
        }
    }

    /// Whether a path starts at an argument that is null.
    pub(crate) fn is_no_place(&self, site: &Site<'_>, path: &AccessPath) -> bool {
        let PathRoot::Param(index) = path.root else { return false };
        let argument = site.args.get(index as usize).filter(|_| !path.steps.is_empty());
        argument.is_some_and(|argument| self.pool.as_const(*argument) == Some(0))
    }

    /// Whether a callee that frees what holds the object does not get to it.
    pub(crate) fn is_left_inside(&self, state: &State, freed: TermId, deep: &Depth) -> bool {
        let (Some(object), Some(holder)) = (state.tracked, self.root(freed)) else { return false };
        let start = self.key(freed);
        // A pointer that the callee may have followed, or of which it is not known where it lies, must not lead to the object.
        let is_left = |key: Key, content: &Content| {
            let is_seen = start.base != key.base || deep.reaches(Offset::Known(key.offset.wrapping_sub(start.offset)));
            !is_seen || !self.leads_to(state, content.value, object)
        };
        match deep {
            Depth::Shallow => true,
            Depth::Fields(_) => {
                state.memory.iter().filter(|(_, c)| c.holder == Some(holder)).all(|(key, c)| is_left(key, c))
            }
            Depth::Deep => false,
        }
    }

    /// What the call writes and gives back. `made`: the object that it makes, and in which case. False: the path cannot be.
    pub(crate) fn write_by_summary(
        &mut self,
        state: &mut State,
        site: &Site<'_>,
        result: Option<TermId>,
        effect: &CallEffect<'_>,
        made: Option<(AllocId, &Case)>,
    ) -> bool {
        let summary = &*effect.summary;
        let wanted = made.map(|(block, _)| block);
        let has_body = |target: &FuncId| self.frame.program.has_body(*target);
        if made.is_some() && !site.targets.iter().any(has_body) && !self.has_a_size(state, site, summary) {
            return false;
        }
        if let Some((block, case)) = made {
            let mut making = Making { machine: self, site, result, instead: summary.instead_of(block) };
            if !enter(&mut making, state, case) {
                return false;
            }
        }
        let result = self.given_back(state, site, result, summary).or(result);
        self.fill_arguments(state, site, summary);
        let mut written: Vec<Written> = Vec::new();
        // What was there before is gone, whatever is put there then.
        for path in &summary.overwritten {
            let Some((address, class)) = self.path_address(state, site, result, path) else { continue };
            let program_point = site.program_point_of(written.len() as u32);
            // Of elements it is not known which were written.
            let names_one_cell = path.steps.last().is_some_and(|step| step.offset != Offset::Any);
            let value = names_one_cell
                .then(|| self.unknown(&program_point, Part::Written(self.key(address).offset), Type::Ptr));
            written.push(Written { address, class, ty: Type::Ptr, value });
        }
        for action in &summary.actions {
            let Destination::Store(to) = &action.to else { continue };
            match action.subject {
                Subject::Alloc(block) => {
                    if !self.make_block(state, site, result, summary, (block, action, to), wanted, &mut written) {
                        return false;
                    }
                }
                Subject::Value(ref path) => {
                    let before = written.len();
                    self.move_value(state, site, result, action, to, path, &mut written);
                    for moved in written.iter_mut().skip(before) {
                        moved.value = moved.value.map(|value| self.moved(site, summary, to, value));
                    }
                }
            }
        }
        if effect.unknown || summary.impure {
            self.opaque.extend(site.targets.iter().filter(|t| self.frame.program.has_body(**t)));
            self.forget_modified(state, site);
            self.touch(state);
        }
        for Written { address, class, ty, value } in written {
            match value {
                Some(value) => self.store(state, address, value, ty, class, site.inst),
                None => self.store_unknown(state, site, (address, ty), class),
            }
        }
        if let Some(result) = result {
            state.set(site.inst, result);
        }
        match made {
            Some((_, case)) => {
                let mut making = Making { machine: self, site, result, instead: Vec::new() };
                leave(&mut making, state, case)
            }
            None => true,
        }
    }

    /// A cell that was perhaps written to. Who may or may not hold the object goes on holding it.
    fn store_unknown(&mut self, state: &mut State, site: &Site<'_>, (address, ty): (TermId, Type), class: Class) {
        let key = self.key(address);
        let object = state.tracked;
        let size = width_of(ty).map_or(8, |width| u64::from(width) / 8);
        let holds = state.memory.overlapping(key, size).any(|(_, c)| object.is_some_and(|o| self.cell_points_to(c, o)));
        if !holds {
            let value = self.unknown(&site.program_point, Part::Written(key.offset), ty);
            self.store(state, address, value, ty, class, site.inst);
        }
    }

    /// A value that the callee put somewhere else; what concerns the object was done before.
    #[expect(clippy::too_many_arguments, reason = "one step of finish()")]
    fn move_value(
        &mut self,
        state: &State,
        site: &Site<'_>,
        result: Option<TermId>,
        action: &Action,
        to: &AccessPath,
        path: &AccessPath,
        written: &mut Vec<Written>,
    ) {
        if to.steps.is_empty() {
            return;
        }
        let Some(value) = self.path_value(state, site, result, path) else { return };
        if state.tracked.is_some_and(|object| self.leads_to(state, value, object)) {
            return;
        }
        let Some((address, class)) = self.place_for(state, site, result, to) else { return };
        let value = match self.decide(state, site, result, &action.guard) {
            Decision::No => return,
            Decision::Yes => Some(value),
            Decision::Hidden(_) | Decision::If(..) => None,
        };
        written.push(Written { address, class, ty: Type::Ptr, value });
    }
}
