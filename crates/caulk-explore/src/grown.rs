//! Counters in memory that a loop only ever adds to: `list.len++` beside a block that `list.data` holds.

use caulk_ir::{BinaryOp, BlockId, Inst, InstId, Operand};
use caulk_memory::{Class, Relation};
use caulk_program::Outcome;

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
                number.is_some_and(|number| {
                    let is_counted = self.relation(number, Relation::at_least(1));
                    state.facts.implied(&self.pool, is_counted) == Some(true)
                })
            })
    }
}

impl Search<'_, '_> {
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
                    site.outcome != Outcome::Resolved || targets.iter().any(|t| !frame.program.has_body(*t));
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
