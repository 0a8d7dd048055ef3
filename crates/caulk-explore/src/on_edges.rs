//! What branches say of the values that meet in a phi: a status that is tested before the next iteration is zero there, and the node that
//! a loop goes on to is there if the loop has asked.

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

    /// Whether an iteration of a loop sets a pointer only to what it has found not to be null: `while (node && node->next) node = node->next;`.
    /// That the place was not written in between is for the path to say.
    pub(crate) fn is_tested_on_way_back(&self, phi: InstId, header: BlockId) -> bool {
        let Inst::Phi { incoming, .. } = &self.body.insts[phi] else { return false };
        let mut back = incoming.iter().filter(|(from, _)| self.is_back_edge(*from, header)).peekable();
        back.peek().is_some()
            && back.all(|(from, operand)| {
                let is_tested = |value: InstId| value == phi || self.is_found_not_null(value, *from, header);
                operand.value().is_some_and(is_tested)
            })
    }

    /// Whether every way from a loop's header to a block comes past a branch by which a value, or what was in the place that it was loaded
    /// from, is not null.
    fn is_found_not_null(&self, value: InstId, at: BlockId, header: BlockId) -> bool {
        let is_on_way = |side: BlockId| {
            self.predecessors()[side].len() == 1 && self.dominators().dominates(side, at) && side != header
        };
        self.loops.iter().filter(|(_, headers)| headers.contains(&header)).any(|(block, _)| {
            let Inst::Branch { cond: Operand::Value(cond), then, other } = *self.body.terminator(block) else {
                return false;
            };
            let tells = |side: BlockId, outcome: bool| is_on_way(side) && self.tells_not_null(cond, outcome, value);
            then != other && (tells(then, true) || tells(other, false))
        })
    }

    /// Whether a condition with this outcome says that a value is not null.
    fn tells_not_null(&self, cond: InstId, outcome: bool, value: InstId) -> bool {
        match &self.body.insts[cond] {
            Inst::Compare { op, lhs: Operand::Value(asked), rhs, .. } => {
                let is_null = self.body.constant(*rhs).is_some_and(Constant::is_zero);
                let is_not = matches!((op, outcome), (CompareOp::Ne, true) | (CompareOp::Eq, false));
                is_null && is_not && (*asked == value || self.is_same_load(*asked, value))
            }
            // `a && b` holds if its last operand does: all other ways to it bring a constant.
            Inst::Phi { incoming, ty: Type::Int(1) } => {
                let is_other = |operand: &Operand| {
                    self.body.constant(*operand).and_then(Constant::as_signed).is_some_and(|c| (c != 0) != outcome)
                };
                let mut operands = incoming.iter().map(|(_, operand)| operand).filter(|operand| !is_other(operand));
                match (operands.next(), operands.next()) {
                    (Some(Operand::Value(last)), None) => self.tells_not_null(*last, outcome, value),
                    _ => false,
                }
            }
            _ => false,
        }
    }

    /// Whether two values are loaded from one place, as it is written.
    fn is_same_load(&self, one: InstId, other: InstId) -> bool {
        let address = |value: InstId| match &self.body.insts[value] {
            Inst::Load { address, .. } => Some(*address),
            _ => None,
        };
        let Some((one, other)) = address(one).zip(address(other)) else { return false };
        let place = |address: Operand| match &self.body.insts[address.value()?] {
            Inst::Address { base, steps } => Some((base, steps)),
            _ => None,
        };
        one == other || place(one).is_some_and(|place_of_one| Some(place_of_one) == place(other))
    }
}
