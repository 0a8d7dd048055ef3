//! Releases that only a count of nothing prevents: `options_free(n, options)` returns at once where `n` is zero.
//!
//! The count was made together with the block, often in a loop of which nothing is known but that it was left. Who has the block
//! has counted it; only where the path knows that the count is zero is the block left.

use caulk_ir::{CompareOp, Inst, InstId, Operand, Type};
use caulk_memory::Relation;
use caulk_program::FuncId;
use caulk_solver::TermId;

use crate::call::Site;
use crate::machine::Machine;
use crate::state::{Ownership, State};
use crate::symbols::Origin;

impl Machine<'_> {
    /// Whether a callee leaves the object only because it was told a count of nothing, and nothing but that says so. `left` and
    /// `freed` are states after the call, on paths of the callee that leave the object and that free it.
    pub(crate) fn rests_on_empty_count(
        &mut self,
        before: &State,
        site: &Site<'_>,
        target: FuncId,
        left: &State,
        freed: &State,
    ) -> bool {
        let is_freed = before.tracked.is_some_and(|object| freed.ownership(object) == Some(Ownership::Freed));
        is_freed && (0..site.args.len()).any(|index| self.is_empty_count(before, site, target, index, left, freed))
    }

    fn is_empty_count(
        &mut self,
        before: &State,
        site: &Site<'_>,
        target: FuncId,
        index: usize,
        left: &State,
        freed: &State,
    ) -> bool {
        let count = site.args[index];
        let is_number = matches!(self.frame.body.operand_type(site.call.args[index]), Type::Int(_));
        if !is_number || self.pool.as_const(count).is_some() || self.is_own_argument(count) {
            return false;
        }
        let is_none = self.relation(count, Relation::at_most(0));
        let is_zero = self.relation(count, Relation::ZERO);
        let says = |machine: &Self, state: &State, answer: bool| {
            [is_none, is_zero].iter().any(|c| state.facts.implied(&machine.pool, *c) == Some(answer))
        };
        says(self, left, true) && says(self, freed, false) && !says(self, before, true) && self.counts(target, index)
    }

    /// Whether a number is what the function was given, or computed from nothing else.
    pub(crate) fn is_own_argument(&self, number: TermId) -> bool {
        let symbols = self.pool.symbols(number);
        let is_parameter = |symbol| matches!(self.symbols.origin_of(&self.pool, symbol), Origin::Param(_));
        symbols.into_iter().all(is_parameter)
    }

    /// Whether a function compares a parameter by size, itself or as the start of a variable: it counts something, and is no flag.
    fn counts(&self, function: FuncId, index: usize) -> bool {
        let Some(body) = self.frame.program.body(function) else { return false };
        let parameter = InstId(index as u32);
        let is_count = |operand: Operand| {
            operand.value().is_some_and(|value| match &body.insts[value] {
                _ if value == parameter => true,
                Inst::Phi { incoming, .. } => incoming.iter().any(|(_, from)| from.value() == Some(parameter)),
                Inst::Cast { value: Operand::Value(from), .. } => *from == parameter,
                _ => false,
            })
        };
        body.insts.values().any(|inst| match inst {
            Inst::Compare { op, lhs, rhs, .. } => {
                !matches!(op, CompareOp::Eq | CompareOp::Ne | CompareOp::Float) && (is_count(*lhs) || is_count(*rhs))
            }
            _ => false,
        })
    }
}
