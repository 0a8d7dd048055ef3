//! Counters that a loop only ever adds to: `list.len++` beside a block that `list.data` holds, `list[len++] = block`.

use caulk_ir::{BinaryOp, BlockId, Inst, InstId, Operand, Type};
use caulk_memory::{Class, Relation};
use caulk_program::Resolution;
use caulk_rules::Rule;
use caulk_solver::TermId;

use crate::machine::Machine;
use crate::search::Search;
use crate::state::State;
use crate::symbols::{Key, Origin};

impl Machine<'_> {
    /// Whether a part of a variable is a number that is above zero on both of two paths that become one.
    pub(crate) fn counts_on_both(&mut self, one: &State, other: &State, key: Key) -> bool {
        let is_variable = one.tracked.is_some() && matches!(self.origin(key.base), Origin::Local(_));
        is_variable
            && [one, other].into_iter().all(|state| {
                let number =
                    state.memory.get(key).filter(|content| content.points.is_none()).map(|content| content.value);
                number.is_some_and(|number| self.is_counted(state, number))
            })
    }

    /// Whether a number is known to be above zero: `n + 1` is, if `n` is not below zero.
    pub(crate) fn is_counted(&mut self, state: &State, number: TermId) -> bool {
        let is_counted = self.relation(number, Relation::at_least(1));
        if state.facts.implied(&self.pool, is_counted) == Some(true) {
            return true;
        }
        let one = self.pool.constant(self.pool.width(number), 1);
        let before = self.pool.sub(number, one);
        let was_counted = self.relation(before, Relation::at_least(0));
        let is_more = state.facts.implied(&self.pool, was_counted) == Some(true);
        self.world.config.rules.applies(Rule::NoOverflow, is_more)
    }
}

impl Search<'_, '_> {
    /// Of the values in which two paths differ, the counters that are above zero on both, each with an unknown for the path that they become.
    pub(crate) fn counted_on_both(
        &mut self,
        one: &State,
        other: &State,
        differing: &[InstId],
    ) -> Vec<(InstId, TermId)> {
        if one.tracked.is_none() {
            return Vec::new();
        }
        let mut counted = Vec::new();
        for &inst in differing {
            if !self.is_counter(inst) {
                continue;
            }
            let numbers = one.get(inst).zip(other.get(inst));
            if let Some((a, b)) = numbers
                && self.machine.pool.width(a) == self.machine.pool.width(b)
                && self.machine.is_counted(one, a)
                && self.machine.is_counted(other, b)
            {
                let machine = &mut self.machine;
                let width = machine.pool.width(a);
                counted.push((inst, machine.symbols.make(&mut machine.pool, width, Origin::Unknown, false)));
            }
        }
        counted
    }

    /// `n + 1`, or a variable that may be set to that.
    fn is_counter(&self, value: InstId) -> bool {
        let body = self.machine.frame.body;
        let is_sum = |v: InstId| match &body.insts[v] {
            Inst::Binary { op: BinaryOp::Add, rhs, .. } => {
                body.constant(*rhs).and_then(|c| c.as_signed()).is_some_and(|step| step > 0)
            }
            _ => false,
        };
        match &body.insts[value] {
            Inst::Phi { incoming, ty: Type::Int(_) } => incoming.iter().any(|(_, operand)| {
                let from = operand.value();
                let is_choice = |v: InstId| {
                    matches!(&body.insts[v], Inst::Phi { incoming, .. }
                    if incoming.iter().any(|(_, inner)| inner.value().is_some_and(is_sum)))
                };
                from.is_some_and(|v| is_sum(v) || is_choice(v))
            }),
            _ => is_sum(value),
        }
    }

    /// Whether a loop does nothing to a part of a variable but add to it.
    pub(crate) fn only_counts_up(&self, header: BlockId, key: Key, class: Class) -> bool {
        let root = self.machine.root(key.base).map(|root| self.machine.origin(root));
        let Some(Origin::Local(variable)) = root else { return false };
        let frame = self.machine.frame;
        let blocks = frame.body.blocks.iter().filter(|(block, _)| frame.loops[*block].contains(&header));
        blocks.into_iter().all(|(_, range)| range.insts().all(|inst| !self.may_lessen(inst, variable, class)))
    }

    /// Whether an instruction may set a part of a variable to something other than what it held and more.
    fn may_lessen(&self, inst: InstId, variable: InstId, class: Class) -> bool {
        let frame = self.machine.frame;
        match &frame.body.insts[inst] {
            Inst::Store { address, value, .. } => {
                frame.class_of(*address) == class && !self.is_increment(*value, class)
            }
            Inst::Copy { dst, .. } | Inst::Fill { dst, .. } => self.is_in(*dst, variable),
            kind => kind.call().is_some_and(|call| {
                let Some(site) = frame.program.call_site(frame.id, inst) else { return false };
                let targets = frame.program.targets(site);
                let is_given = call.args.iter().any(|arg| self.is_in(*arg, variable));
                let is_unread =
                    site.outcome != Resolution::Resolved || targets.iter().any(|t| !frame.program.has_body(*t));
                (is_given && is_unread) || self.machine.world.any_writes(targets, class)
            }),
        }
    }

    /// `len + 1`
    fn is_increment(&self, value: Operand, class: Class) -> bool {
        let body = self.machine.frame.body;
        let Some(Inst::Binary { op: BinaryOp::Add, lhs, rhs, .. }) = value.value().map(|v| &body.insts[v]) else {
            return false;
        };
        let is_added = body.constant(*rhs).and_then(|c| c.as_signed()).is_some_and(|step| step >= 0);
        let is_same = |v: InstId| matches!(&body.insts[v], Inst::Load { address, .. } if self.machine.frame.class_of(*address) == class);
        is_added && lhs.value().is_some_and(is_same)
    }

    /// Whether an address is one of a variable or its parts.
    fn is_in(&self, address: Operand, variable: InstId) -> bool {
        let mut at = address;
        while let Operand::Value(value) = at {
            match &self.machine.frame.body.insts[value] {
                Inst::Address { base, .. } => at = *base,
                _ => return value == variable,
            }
        }
        false
    }
}
