//! A callee's guards and access paths in the caller's terms.

use caulk_ir::{CompareOp, Type};
use caulk_memory::{AccessPath, Class, Offset, PathRoot, PathStep, Relation};
use caulk_rules::Rule;
use caulk_solver::{Consistency, TermId};
use caulk_summary::{Action, Answer, Caller, Decision, Guard};

use crate::call::Site;
use crate::machine::Machine;
use crate::state::State;
use crate::symbols::{Origin, Part, ProgramPoint};

/// A call on one path, for the question whether something happens there.
pub(crate) struct OnPath<'m, 'a, 's> {
    pub machine: &'m mut Machine<'a>,
    pub state: &'s State,
    pub site: &'s Site<'s>,
    pub result: Option<TermId>,
}

impl OnPath<'_, '_, '_> {
    fn answer(&mut self, condition: TermId, otherwise: Option<TermId>) -> Answer<TermId> {
        match self.state.facts.implied(&self.machine.pool, condition) {
            Some(true) => Answer::Holds,
            Some(false) => Answer::Fails,
            None => Answer::Open(condition, Some(otherwise.unwrap_or_else(|| self.machine.pool.not(condition)))),
        }
    }
}

impl Caller for OnPath<'_, '_, '_> {
    type Condition = TermId;

    fn gives_pointer(&self) -> bool {
        self.site.call.ret == Type::Ptr
    }

    fn uses_result(&self) -> bool {
        self.machine.frame.is_used(self.site.inst)
    }

    fn is_loosely_told(&mut self) -> bool {
        self.machine.effect(self.site.inst).is_some_and(|effect| effect.summary.loosely_told)
    }

    fn trusts_unasked_release(&self) -> bool {
        self.machine.world.config.rules.applies(Rule::UnaskedRelease, true)
    }

    fn trusts_count(&mut self, path: &AccessPath) -> bool {
        let value = self.machine.path_value(self.state, self.site, self.result, path);
        let is_found = value.is_some_and(|value| !self.machine.is_own_argument(value));
        self.machine.world.config.rules.applies(Rule::CountedReleases, is_found)
    }

    fn ask_result(&mut self, relation: Relation, otherwise: Option<Relation>) -> Answer<TermId> {
        let Some(result) = self.result else { return Answer::Unseen };
        let condition = self.machine.relation(result, relation);
        let otherwise = otherwise.map(|other| self.machine.relation(result, other));
        self.answer(condition, otherwise)
    }

    fn ask(&mut self, path: &AccessPath, relation: Relation) -> Answer<TermId> {
        let value = self.machine.path_value(self.state, self.site, self.result, path);
        let Some(value) = value else { return Answer::Unseen };
        let condition = self.machine.relation(value, relation);
        match self.answer(condition, None) {
            // Others may have written there.
            Answer::Open(..) if !path.steps.is_empty() => Answer::Unseen,
            answer => answer,
        }
    }
}

impl Machine<'_> {
    pub(crate) fn decide(
        &mut self,
        state: &State,
        site: &Site<'_>,
        result: Option<TermId>,
        guard: &Guard,
    ) -> Decision<TermId> {
        caulk_summary::decide(&mut OnPath { machine: self, state, site, result }, guard)
    }

    pub(crate) fn decide_action(
        &mut self,
        state: &State,
        site: &Site<'_>,
        result: Option<TermId>,
        action: &Action,
    ) -> Decision<TermId> {
        caulk_summary::decide_action(&mut OnPath { machine: self, state, site, result }, action)
    }

    pub(crate) fn assume(&mut self, state: &mut State, value: TermId, relation: Relation) -> Consistency {
        let condition = self.relation(value, relation);
        state.facts.assume(&mut self.pool, condition)
    }

    /// A comparison with a constant, as a term. Numbers are signed.
    pub(crate) fn relation(&mut self, value: TermId, relation: Relation) -> TermId {
        let width = self.pool.width(value);
        let smallest = i64::MIN >> (64 - u32::from(width));
        let largest = i64::MAX >> (64 - u32::from(width));
        let mut constant = |c: i64| self.pool.constant(width, c as u64);
        match relation {
            Relation::Eq(c) => {
                let c = constant(c);
                self.compare(CompareOp::Eq, value, c)
            }
            Relation::Ne(c) => {
                let c = constant(c);
                self.compare(CompareOp::Ne, value, c)
            }
            Relation::SomeBits(mask) | Relation::NoBits(mask) => {
                let (mask, zero) = (constant(mask), constant(0));
                let bits = self.pool.and(value, mask);
                let op = if matches!(relation, Relation::SomeBits(_)) { CompareOp::Ne } else { CompareOp::Eq };
                self.compare(op, bits, zero)
            }
            Relation::Range(low, high) => {
                let (from, to) = (constant(low.max(smallest)), constant(high.min(largest)));
                let above = if low <= smallest { self.pool.boolean(true) } else { self.pool.sge(value, from) };
                let below = if high >= largest { self.pool.boolean(true) } else { self.pool.sle(value, to) };
                self.pool.and(above, below)
            }
        }
    }

    /// The value of a callee's path, before the call.
    pub(crate) fn path_value(
        &mut self,
        state: &State,
        site: &Site<'_>,
        result: Option<TermId>,
        path: &AccessPath,
    ) -> Option<TermId> {
        let mut value = self.path_root(site, result, path)?;
        for step in &path.steps {
            let (address, class) = self.step_address(site, value, step);
            value = self.load_any(state, address, class, &site.program_point);
        }
        Some(value)
    }

    /// The address of the last cell of a path.
    pub(crate) fn path_address(
        &mut self,
        state: &State,
        site: &Site<'_>,
        result: Option<TermId>,
        path: &AccessPath,
    ) -> Option<(TermId, Class)> {
        let mut value = self.path_root(site, result, path)?;
        let (last, before) = path.steps.split_last()?;
        for step in before {
            let (address, class) = self.step_address(site, value, step);
            value = self.load_any(state, address, class, &site.program_point);
        }
        self.root(value)?;
        Some(self.step_address(site, value, last))
    }

    /// Where a callee puts a value: of several that it puts among the elements of one holder, none takes the place of another.
    pub(crate) fn place_for(
        &mut self,
        state: &State,
        site: &Site<'_>,
        result: Option<TermId>,
        path: &AccessPath,
    ) -> Option<(TermId, Class)> {
        let (mut address, class) = self.path_address(state, site, result, path)?;
        if path.steps.last().is_some_and(|step| step.offset == Offset::Any) {
            let mut part = 0;
            while state.memory.get(self.key(address)).is_some() {
                part += 1;
                let root = self.root(address).unwrap_or(address);
                address = self.derived(&site.program_point_of(part), Part::Element, root, Type::Ptr);
            }
        }
        Some((address, class))
    }

    fn path_root(&mut self, site: &Site<'_>, result: Option<TermId>, path: &AccessPath) -> Option<TermId> {
        match path.root {
            PathRoot::Param(index) => site.args.get(index as usize).copied(),
            PathRoot::Return => result,
            PathRoot::Global(global) => Some(self.symbols.global(&mut self.pool, global)),
        }
    }

    pub(crate) fn step_address(&mut self, site: &Site<'_>, base: TermId, step: &PathStep) -> (TermId, Class) {
        let class = match (step.field, self.origin(base)) {
            (Some((ty, offset)), _) => Class::of_field(self.frame.program, ty, offset),
            (None, Origin::Global(global)) => Class::Global(global),
            (None, Origin::Local(local)) => Class::Local(local),
            _ => Class::Other,
        };
        match step.offset {
            Offset::Known(offset) => (self.pool.offset(base, offset, true), class),
            // Some element, not known which.
            Offset::Any => {
                let root = self.root(base).unwrap_or(base);
                (self.derived(&site.program_point, Part::Element, root, Type::Ptr), class)
            }
        }
    }

    /// What a cell holds, whatever its width is.
    fn load_any(&mut self, state: &State, address: TermId, class: Class, program_point: &ProgramPoint) -> TermId {
        let key = self.key(address);
        if let Some(content) = state.memory.get(key) {
            return content.value;
        }
        let known = self.symbols.initial_cells().iter().find(|cell| cell.key == key).map(|cell| cell.value);
        match known {
            Some(term) if !state.memory.is_zeroed(key, 1) => term,
            _ => self.load(state, address, self.type_of_class(class), class, program_point),
        }
    }

    /// What a cell holds, by its declaration: a number as wide as its field, else a pointer.
    fn type_of_class(&self, class: Class) -> Type {
        let Class::Field(ty, offset) = class else { return Type::Ptr };
        let fields = &self.frame.program.type_info(ty).fields;
        let number = fields.iter().find(|f| f.offset == offset && f.pointee.depth == 0 && f.target.is_none());
        match number.map(|field| field.size) {
            Some(bytes @ (1 | 2 | 4)) => Type::Int(8 * bytes as u16),
            _ => Type::Ptr,
        }
    }
}
