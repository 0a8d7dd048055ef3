//! Counters beside the object: `s.len` beside `s.buf`.
//!
//! A callee that puts a block into a structure and counts there has counted something. What it adds is often the length of a text,
//! of which nothing is known; still no code that finds the counter at zero has the block.

use caulk_memory::Class;
use caulk_program::FuncId;
use caulk_rules::Rule;
use caulk_solver::{Consistency, TermId};
use smallvec::SmallVec;

use crate::call::Wanted;
use crate::machine::Machine;
use crate::search::{Goal, Search};
use crate::state::State;
use crate::symbols::Key;

impl Search<'_, '_> {
    /// Conditions of which none becomes true on a path that goes on: that a counter beside the object is zero, where that is not
    /// known already.
    pub(crate) fn empty_beside(&mut self, state: &State) -> SmallVec<[TermId; 2]> {
        let Goal::Leaks { wanted, .. } = self.goal else { return SmallVec::new() };
        let machine = &mut self.machine;
        let mut empty: SmallVec<[TermId; 2]> = SmallVec::new();
        if !machine.is_live(state) || !machine.is_put_by_callee(wanted) {
            return empty;
        }
        let mut counters = machine.counters_beside(state, wanted);
        counters.extend(machine.counters_given(state, wanted));
        for counter in counters {
            let zero = machine.pool.constant(machine.pool.width(counter), 0);
            let is_zero = machine.pool.eq(counter, zero);
            if state.facts.implied(&machine.pool, is_zero).is_none() {
                empty.push(is_zero);
            }
        }
        empty
    }

    /// Whether a path has just learnt one of them.
    pub(crate) fn finds_empty(&mut self, state: &State, empty: &[TermId]) -> bool {
        let machine = &mut self.machine;
        let mut is_known = |is_zero: TermId| match state.facts.implied(&machine.pool, is_zero) {
            Some(known) => known,
            // A count that was chosen (`room > n ? room : n`) is zero by what decided the choice as well.
            None => {
                let is_some = machine.pool.not(is_zero);
                state.facts.clone().assume(&mut machine.pool, is_some) != Consistency::Consistent
            }
        };
        let is_found = empty.iter().any(|is_zero| is_known(*is_zero));
        machine.world.config.rules.applies(Rule::Counters, is_found)
    }
}

impl Machine<'_> {
    /// Whether the object is put into memory by the call that makes it, and not returned.
    pub(crate) fn is_put_by_callee(&mut self, wanted: Wanted) -> bool {
        self.effect(wanted.call).is_some_and(|effect| !effect.summary.returns_block(wanted.block))
    }

    /// What the numbers hold whose addresses the call that makes the object is given, and that it may make larger: `grow(&items, &room)`.
    fn counters_given(&mut self, state: &State, wanted: Wanted) -> SmallVec<[TermId; 2]> {
        let mut found: SmallVec<[TermId; 2]> = SmallVec::new();
        let frame = self.frame;
        let Some(site) = frame.program.call_site(frame.id, wanted.call) else { return found };
        let targets = frame.program.targets(site);
        let args = frame.body.insts[wanted.call].call().map_or(&[][..], |call| &call.args);
        for (index, arg) in args.iter().enumerate() {
            if targets.iter().any(|t| self.world.analysis.survey.is_counted_param(*t, index as u32)) {
                let address = self.operand(state, *arg);
                let key = self.key(address);
                found.extend(state.memory.get(key).map(|content| content.value));
            }
        }
        found
    }

    /// What counters hold that lie in one structure with the object and that the call which makes it may write.
    fn counters_beside(&self, state: &State, wanted: Wanted) -> SmallVec<[TermId; 2]> {
        let mut found: SmallVec<[TermId; 2]> = SmallVec::new();
        let Some(object) = state.tracked else { return found };
        let Some(site) = self.frame.program.call_site(self.frame.id, wanted.call) else { return found };
        let targets: &[FuncId] = self.frame.program.targets(site);
        for (key, content) in state.memory.iter().filter(|(_, c)| self.cell_points_to(c, object)) {
            let Class::Field(ty, filled) = content.class else { continue };
            for field in &self.frame.program.type_info(ty).fields {
                let is_counter = self.world.analysis.survey.is_counter((ty, field.offset));
                if !is_counter || !self.world.any_writes(targets, Class::Field(ty, field.offset)) {
                    continue;
                }
                let offset = key.offset.wrapping_sub(filled as i64).wrapping_add(field.offset as i64);
                let beside = Key { offset, ..key };
                let known = state.memory.get(beside).map(|c| c.value);
                found.extend(known.or_else(|| self.symbols.initial_value(beside)));
            }
        }
        found
    }
}
