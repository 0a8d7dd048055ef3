//! What branches say of the values that meet in a phi: a status that is tested before the next iteration is zero there.

use caulk_ir::{BlockId, CompareOp, Constant, Inst, InstId, Operand, Type};

use crate::bounds::BOUNDS;
use crate::frame::Frame;

impl Frame<'_> {
    /// The constants that a phi may be: those that it is set to, and those that branches compare what comes in with. What was never set
    /// may be anything, and counts as nothing. None: it may be another number.
    pub(crate) fn numbers_of(&self, phi: InstId) -> Option<Vec<i64>> {
        let Inst::Phi { ty: Type::Int(_), .. } = self.body.insts[phi] else { return None };
        let mut choices = vec![phi];
        let mut numbers = Vec::new();
        let mut next = 0;
        while let Some(&choice) = choices.get(next) {
            next += 1;
            let Inst::Phi { incoming, .. } = &self.body.insts[choice] else { return None };
            for (from, operand) in incoming {
                match *operand {
                    Operand::Value(value) => match self.number_on_edge(value, *from, self.homes[choice]) {
                        Some(number) => numbers.push(number),
                        None if choices.contains(&value) => {}
                        None if choices.len() < BOUNDS.loop_choices => choices.push(value),
                        None => return None,
                    },
                    Operand::Const(constant) => match self.body.consts[constant] {
                        Constant::Undef(_) => {}
                        constant => numbers.push(constant.as_signed()?),
                    },
                }
            }
        }
        Some(numbers)
    }

    /// The number that a value is known to be where an edge is taken, by the branches that every way there comes past.
    fn number_on_edge(&self, value: InstId, from: BlockId, to: BlockId) -> Option<i64> {
        let is_on_way = |side: BlockId| self.predecessors()[side].len() == 1 && self.dominators().dominates(side, from);
        let told_at = |block: BlockId| {
            let Inst::Branch { then, other, .. } = *self.body.terminator(block) else { return None };
            let mut sides = [then, other].into_iter();
            sides.find_map(|side| self.number_told(value, block, side).filter(|_| is_on_way(side)))
        };
        self.number_told(value, from, to).or_else(|| self.body.blocks.keys().find_map(told_at))
    }

    /// The number that a value is by the branch at the end of a block, if this side of it tells.
    fn number_told(&self, value: InstId, from: BlockId, to: BlockId) -> Option<i64> {
        let Inst::Branch { cond: Operand::Value(cond), then, other } = *self.body.terminator(from) else { return None };
        let Inst::Compare { op, lhs, rhs, .. } = self.body.insts[cond] else { return None };
        let is_equal = match op {
            CompareOp::Eq => to == then,
            CompareOp::Ne => to == other,
            _ => false,
        };
        let is_case = lhs == Operand::Value(value) && then != other && is_equal;
        is_case.then(|| self.body.constant(rhs).and_then(Constant::as_signed)).flatten()
    }
}
