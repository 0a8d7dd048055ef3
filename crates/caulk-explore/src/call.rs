//! Calls: by the callees' guarded summaries where there are any, else by what stage one knows of them.

use std::borrow::Cow;
use std::rc::Rc;
use std::sync::Arc;

use caulk_ir::{AddressStep, CallData, Callee, Inst, InstId, Operand, Type};
use caulk_memory::{AccessPath, PathRoot};
use caulk_program::{FuncId, Resolution};
use caulk_rules::Rule;
use caulk_solver::TermId;
use caulk_summary::{Action, AllocId, Destination, Subject, Summary};
use caulk_useflow::CallEffect;
use smallvec::{SmallVec, smallvec};

use crate::effect_cache::Given;
use crate::effects::Effects;
use crate::machine::Machine;
use crate::order::Asker;
use crate::state::State;
use crate::symbols::{Origin, ProgramPoint};

pub(crate) type States = SmallVec<[State; 2]>;

/// A call that is being executed.
pub(crate) struct Site<'c> {
    pub inst: InstId,
    pub call: &'c CallData,
    pub args: SmallVec<[TermId; 4]>,
    pub program_point: ProgramPoint,
    pub targets: SmallVec<[FuncId; 2]>,
    /// No others than these are called.
    are_all_targets: bool,
}

/// What the call is expected to make: the object that the search is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Wanted {
    pub call: InstId,
    pub block: AllocId,
}

impl Site<'_> {
    /// A program point of its own for one of several loads of the call.
    pub(crate) fn program_point_of(&self, part: u32) -> ProgramPoint {
        let mut program_point = self.program_point.clone();
        program_point.1.push(part);
        program_point
    }
}

impl<'a> Machine<'a> {
    /// All outcomes of a call. `wanted`: the object to follow from here on, if this is the call that makes it.
    pub(crate) fn call(&mut self, state: State, inst: InstId, wanted: Option<Wanted>) -> States {
        let frame = self.frame;
        let Some(call) = frame.body.insts[inst].call() else { return smallvec![state] };
        if call.flags.no_return {
            return smallvec![];
        }
        let site = self.site(&state, inst, call);
        let mut state = state;
        self.assume_structures(&mut state, call);
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
        if wanted.is_some() && self.is_sealed_off(&site) {
            return smallvec![];
        }
        match self.effect(inst) {
            Some(effect) => self.apply_summary(state, &site, &effect, wanted),
            // It moves no pointers, but it may write numbers.
            None => {
                let has_body = |target: &FuncId| self.frame.program.has_body(*target);
                let writes = site.targets.is_empty() || site.targets.iter().any(has_body);
                let summary = Summary { impure: writes, ..self.fills_of(&site) };
                let effect = CallEffect { summary: Cow::Owned(summary), unknown: false };
                self.apply_summary(state, &site, &effect, None)
            }
        }
    }

    /// `&p->field` is given: then there is a structure at `p`.
    fn assume_structures(&mut self, state: &mut State, call: &CallData) {
        let frame = self.frame;
        for argument in &call.args {
            let Operand::Value(value) = *argument else { continue };
            let Inst::Address { base, steps } = &frame.body.insts[value] else { continue };
            let is_field = matches!(steps.as_slice(), [AddressStep::Field { .. }, ..]);
            if self.world.config.rules.applies(Rule::FieldAddresses, is_field) {
                let base = self.operand(state, *base);
                self.dereference(state, base);
            }
        }
    }

    /// The guarded summaries of all functions that a call may reach, if there is one for each and they are few.
    fn guarded(&self, site: &Site<'_>, is_wanted: bool) -> Option<Vec<(FuncId, Arc<Effects>)>> {
        let is_special = self.world.analysis.special_call(self.frame.id, site.inst).is_some();
        if is_special
            || !site.are_all_targets
            || site.targets.is_empty()
            || site.targets.len() > self.world.config.max_targets
            || site.targets.iter().any(|target| self.takes_further_arguments(site, *target))
        {
            return None;
        }
        let asker = Asker { function: self.frame.id, in_cycles: self.asks_in_cycles };
        let asker = self.follows_all.then_some(asker);
        let of = |target: &FuncId| {
            let special = || self.guarded_for_constants(site, *target, is_wanted);
            // How the object comes to be is worth an execution of its own: loops end where constants say so.
            let made = if is_wanted { special() } else { None };
            if let Some(made) = made {
                return Some((*target, made));
            }
            let known = self.world.effects.get(self.world, *target, asker);
            if known.is_some() && self.world.effects.is_cycle(self.frame.id, *target) {
                self.has_asked_in_cycle.set(true);
            }
            Some((*target, known.or_else(|| if is_wanted { None } else { special() })?))
        };
        site.targets.iter().map(of).collect()
    }

    /// Whether a variadic callee takes one of the arguments that it has no parameters for. Its execution does not show that.
    fn takes_further_arguments(&self, site: &Site<'_>, target: FuncId) -> bool {
        let named = self.frame.program.function(target).declaration.signature.params.len();
        let is_further = |path: &AccessPath| matches!(path.root, PathRoot::Param(index) if index as usize >= named);
        let actions = &self.world.analysis.summary(target).actions;
        site.args.len() > named && actions.iter().any(|a| matches!(&a.subject, Subject::Value(p) if is_further(p)))
    }

    /// What a callee does with the constants it is given, where that matters most: whether it makes the object.
    fn guarded_for_constants(&self, site: &Site<'_>, target: FuncId, is_wanted: bool) -> Option<Arc<Effects>> {
        let is_made_for_all = self.follows_all && self.given.is_empty();
        if is_made_for_all || !(is_wanted || self.follows_all) {
            return None;
        }
        let given = self.constants(site);
        if given.is_empty() {
            return None;
        }
        let asker = Asker { function: self.frame.id, in_cycles: true };
        self.world.effects.get_for(self.world, target, given, self.follows_all.then_some(asker))
    }

    fn constants(&self, site: &Site<'_>) -> Given {
        let constant = |(index, arg): (usize, &TermId)| Some((index as u32, self.pool.as_const(*arg)?));
        site.args.iter().enumerate().filter_map(constant).collect()
    }

    /// Whether a call makes no block, whatever its result is, because of the constants that it gives.
    fn is_sealed_off(&self, site: &Site<'_>) -> bool {
        let given = self.constants(site);
        // The object is asked for on every path, mostly with the same constants.
        let makes_none = |target: &FuncId| {
            let mut sealed = self.sealed.borrow_mut();
            *sealed.entry((*target, given.clone())).or_insert_with(|| self.world.makes_no_block(*target, &given))
        };
        let is_special = self.world.analysis.special_call(self.frame.id, site.inst).is_some();
        !is_special && site.are_all_targets && !site.targets.is_empty() && site.targets.iter().all(makes_none)
    }

    /// What stage one knows of a call, looked up once.
    pub(crate) fn effect(&mut self, inst: InstId) -> Option<Rc<CallEffect<'a>>> {
        let (world, id) = (self.world, self.frame.id);
        self.known_effects.entry(inst).or_insert_with(|| world.call_effect(id, inst).map(Rc::new)).clone()
    }

    /// Whether the result of a call names the block that it makes: a pointer does, and so does a descriptor.
    pub(crate) fn names_block(&mut self, inst: InstId) -> bool {
        match self.frame.body.insts[inst].result_type() {
            Type::Ptr => true,
            Type::Int(32) => self.effect(inst).is_some_and(|effect| {
                let is_result = |path: &AccessPath| path.root == PathRoot::Return && path.steps.is_empty();
                let is_made = |action: &Action| matches!(action.subject, Subject::Alloc(_));
                let gives = |action: &Action| matches!(&action.to, Destination::Store(path) if is_result(path));
                effect.summary.actions.iter().any(|action| is_made(action) && gives(action))
            }),
            _ => false,
        }
    }

    pub(crate) fn site<'c>(&mut self, state: &State, inst: InstId, call: &'c CallData) -> Site<'c> {
        let args = call.args.iter().map(|a| self.operand(state, *a)).collect();
        let mut targets: SmallVec<[FuncId; 2]> = SmallVec::new();
        if let Callee::Indirect(pointer) = call.callee {
            let pointer = self.operand(state, pointer);
            if let Origin::Function(function) = self.origin(pointer) {
                targets.push(function);
            }
        }
        let mut are_all_targets = true;
        if targets.is_empty()
            && let Some(site) = self.frame.program.call_site(self.frame.id, inst)
        {
            targets.extend_from_slice(self.frame.program.targets(site));
            are_all_targets = site.outcome == Resolution::Resolved;
        }
        Site { inst, call, args, program_point: self.program_point(state, inst), targets, are_all_targets }
    }
}
