//! A callee's guards and access paths in the caller's terms.

use caulk_ir::{CompareOp, Type};
use caulk_memory::{AccessPath, Offset, PathRoot, PathStep, Relation};
use caulk_solver::{TermId, Verdict};
use caulk_summary::Guard;

use crate::call::{Decision, Site};
use crate::frame::{Class, field_class};
use crate::machine::Machine;
use crate::state::State;
use crate::symbols::{Moment, Origin, Part};

impl Machine<'_> {
    pub fn decide(&mut self, state: &State, site: &Site<'_>, result: Option<TermId>, guard: &Guard) -> Decision {
        let (condition, otherwise) = match guard {
            Guard::Always => return Decision::Yes,
            Guard::Hidden | Guard::Unsure => return Decision::Hidden,
            Guard::Limited(path, relation) => {
                let value = self.path_value(state, site, result, path);
                let condition = value.map(|value| self.relation(value, *relation));
                let is_excluded = condition.is_some_and(|c| state.facts.implied(&self.pool, c) == Some(false));
                return if is_excluded { Decision::No } else { Decision::Hidden };
            }
            Guard::Told(relation, otherwise) => {
                let Some(result) = result else { return Decision::Hidden };
                // Inserting into a tree gives back the element that was there already; who ignores that knows of none.
                if site.call.ret == Type::Ptr && !self.frame.is_used[site.inst] {
                    return Decision::Hidden;
                }
                let condition = self.relation(result, *relation);
                let otherwise = otherwise.map(|other| self.relation(result, other));
                (condition, otherwise)
            }
            Guard::Given(path, relation) => {
                let Some(value) = self.path_value(state, site, result, path) else { return Decision::Hidden };
                let condition = self.relation(value, *relation);
                let is_known = path.steps.is_empty() || state.facts.implied(&self.pool, condition).is_some();
                if !is_known {
                    return Decision::Hidden;
                }
                (condition, None)
            }
        };
        match state.facts.implied(&self.pool, condition) {
            Some(true) => Decision::Yes,
            Some(false) => Decision::No,
            None => {
                let otherwise = otherwise.unwrap_or_else(|| self.pool.not(condition));
                Decision::If(condition, otherwise)
            }
        }
    }

    pub fn assume(&mut self, state: &mut State, value: TermId, relation: Relation) -> Verdict {
        let condition = self.relation(value, relation);
        state.facts.assume(&mut self.pool, condition)
    }

    /// A comparison with a constant, as a term. Numbers are signed.
    pub fn relation(&mut self, value: TermId, relation: Relation) -> TermId {
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
            Relation::Range(low, high) => {
                let (from, to) = (constant(low.max(smallest)), constant(high.min(largest)));
                let above = if low <= smallest { self.pool.boolean(true) } else { self.pool.sge(value, from) };
                let below = if high >= largest { self.pool.boolean(true) } else { self.pool.sle(value, to) };
                self.pool.and(above, below)
            }
        }
    }

    /// The value of a callee's path, before the call.
    pub fn path_value(
        &mut self,
        state: &State,
        site: &Site<'_>,
        result: Option<TermId>,
        path: &AccessPath,
    ) -> Option<TermId> {
        let mut value = self.path_root(site, result, path)?;
        for step in &path.steps {
            let (address, class) = self.step_address(site, value, step);
            value = self.load_any(state, address, class, &site.moment);
        }
        Some(value)
    }

    /// The address of the last cell of a path.
    pub fn path_address(
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
            value = self.load_any(state, address, class, &site.moment);
        }
        self.root(value)?;
        Some(self.step_address(site, value, last))
    }

    /// Where a callee puts a value: of several that it puts among the elements of one holder, none takes the place of another.
    pub fn place_for(
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
                address = self.derived(&site.moment_of(part), Part::Element, root, Type::Ptr);
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

    fn step_address(&mut self, site: &Site<'_>, base: TermId, step: &PathStep) -> (TermId, Class) {
        let class = match (step.field, self.origin(base)) {
            (Some((ty, offset)), _) => field_class(self.frame.program, ty, offset),
            (None, Origin::Global(global)) => Class::Global(global),
            (None, Origin::Local(local)) => Class::Local(local),
            _ => Class::Other,
        };
        match step.offset {
            Offset::Known(offset) => (self.pool.offset(base, offset, true), class),
            // Some element, not known which.
            Offset::Any => {
                let root = self.root(base).unwrap_or(base);
                (self.derived(&site.moment, Part::Element, root, Type::Ptr), class)
            }
        }
    }

    /// What a cell holds, whatever its width is.
    fn load_any(&mut self, state: &State, address: TermId, class: Class, moment: &Moment) -> TermId {
        let key = self.key(address);
        if let Some(content) = state.memory.get(key) {
            return content.value;
        }
        let known = self.symbols.initial_cells().iter().find(|cell| cell.key == key).map(|cell| cell.value);
        match known {
            Some(term) if !state.memory.is_zeroed(key, 1) => term,
            _ => self.load(state, address, Type::Ptr, class, moment),
        }
    }
}
