//! What a condition that holds, or does not, says of the values that it is computed from: the facts behind a branch.

use caulk_ir::{BinaryOp, Body, CastOp, CompareOp, Constant, Inst, InstId, Operand, Type};
use caulk_memory::{Relation, ValueTable};

use crate::bounds::BOUNDS;
use crate::facts::{Fact, FactList, Key, KeyId, Keys, number_of};

impl Keys {
    /// What a relation of a widened comparison (`int flag = a > 1;`) says of what was compared, where that is one fact.
    pub(crate) fn of_truth(
        &mut self,
        body: &Body,
        values: &ValueTable,
        operand: Operand,
        relation: Relation,
    ) -> Option<Fact> {
        let condition = widened_truth(body, operand)?;
        let wanted = match (relation.holds(0), relation.holds(1)) {
            (false, true) => true,
            (true, false) => false,
            _ => return None,
        };
        match self.assume(body, values, &FactList::new(), condition, wanted)?.as_slice() {
            [only] => Some(*only),
            _ => None,
        }
    }

    /// Facts that hold when `condition` is `wanted`. None: it never is.
    pub(crate) fn assume(
        &mut self,
        body: &Body,
        values: &ValueTable,
        known: &FactList,
        condition: Operand,
        wanted: bool,
    ) -> Option<FactList> {
        let mut facts = FactList::new();
        if !self.assume_into(body, values, condition, wanted, &mut facts, 0) {
            return None;
        }
        let sides = facts.iter().filter_map(|fact| self.with_known_side(*fact, known));
        let learnt: FactList = sides.chain(facts.iter().filter_map(|fact| self.of_masked(*fact))).collect();
        facts.extend(learnt);
        Some(facts)
    }

    /// What a fact about some bits of a value says of the value: `(flags & 4) != 0`.
    fn of_masked(&self, (key, relation): Fact) -> Option<Fact> {
        let Key::Binary(op, of, number) = self.get(key) else { return None };
        let (value, mask) = match (op, self.get(of)) {
            // A bit field.
            (BinaryOp::And, Key::Binary(BinaryOp::LShr, value, by)) => (value, shifted_mask(number, by)),
            (BinaryOp::And, _) => (of, Some(number)),
            (BinaryOp::LShr, _) => (of, shifted_mask(-1, number)),
            _ => return None,
        };
        let is_only_bit = op == BinaryOp::And && number.count_ones() == 1;
        let is_some = match relation {
            Relation::ZERO => Some(false),
            Relation::Ne(excluded) if is_only_bit && excluded == number => Some(false),
            _ => relation.implies(Relation::NONZERO).then_some(true),
        };
        match (mask, is_some?) {
            (Some(mask), is_some) => Some((value, Relation::bits(mask, is_some))),
            (None, true) => Some((value, Relation::NONZERO)),
            (None, false) => None,
        }
    }

    /// A comparison of two values, one of which is known, is a fact about the other: `i < n` with i 0.
    fn with_known_side(&self, (key, truth): Fact, known: &FactList) -> Option<Fact> {
        let Key::Compare(op, a, b) = self.get(key) else { return None };
        let number = |key| {
            known.iter().find_map(|f| match f {
                (k, Relation::Eq(c)) if *k == key => Some(*c),
                _ => None,
            })
        };
        let (other, relation) = match (number(a), number(b)) {
            (Some(c), _) => (b, relation(swapped(op), c)?),
            (None, Some(c)) => (a, relation(op, c)?),
            (None, None) => return None,
        };
        let relation = if truth.holds(1) { Some(relation) } else { relation.negate() };
        relation.map(|r| (other, r))
    }

    fn assume_into(
        &mut self,
        body: &Body,
        values: &ValueTable,
        condition: Operand,
        wanted: bool,
        facts: &mut FactList,
        depth: usize,
    ) -> bool {
        if let Some(constant) = body.constant(condition) {
            return match constant {
                Constant::Int { value, .. } => (value != 0) == wanted,
                _ => true,
            };
        }
        let Some(inst) = condition.value() else { return true };
        if depth < BOUNDS.condition_depth {
            match &body.insts[inst] {
                Inst::Compare { op, lhs, rhs, ty } => {
                    return self.assume_compare(body, values, (*op, *lhs, *rhs, *ty), wanted, facts, depth)
                        && self.assume_way(body, values, inst, wanted, facts, depth);
                }
                Inst::Binary { op: BinaryOp::And, ty: Type::Int(1), lhs, rhs, .. } if wanted => {
                    return self.assume_into(body, values, *lhs, true, facts, depth + 1)
                        && self.assume_into(body, values, *rhs, true, facts, depth + 1);
                }
                Inst::Binary { op: BinaryOp::Or, ty: Type::Int(1), lhs, rhs, .. } if !wanted => {
                    return self.assume_into(body, values, *lhs, false, facts, depth + 1)
                        && self.assume_into(body, values, *rhs, false, facts, depth + 1);
                }
                Inst::Binary { op: BinaryOp::Xor, ty: Type::Int(1), lhs, rhs, .. } if is_true(body, *rhs) => {
                    return self.assume_into(body, values, *lhs, !wanted, facts, depth + 1);
                }
                // A truth value widened to an integer and back, as C does with every comparison it stores.
                Inst::Cast { op: CastOp::ZeroExtend | CastOp::SignExtend | CastOp::Truncate, value, from, to }
                    if *from == Type::Int(1) || *to == Type::Int(1) =>
                {
                    return self.assume_into(body, values, *value, wanted, facts, depth + 1);
                }
                _ => {}
            }
        }
        if let Some((cell, Some(whether))) = self.asked.get(&inst).copied()
            && self.is_just_before(body, inst)
            && let Some(relation) = if wanted { Some(whether) } else { whether.negate() }
        {
            facts.push((self.of_cell(cell), relation));
        }
        if let Some(key) = self.of_operand(body, values, condition) {
            facts.push((key, if wanted { Relation::NONZERO } else { Relation::ZERO }));
        }
        true
    }

    /// What held on the one way that a comparison leaves. What was read from memory may be another since.
    fn assume_way(
        &mut self,
        body: &Body,
        values: &ValueTable,
        comparison: InstId,
        wanted: bool,
        facts: &mut FactList,
        depth: usize,
    ) -> bool {
        for (condition, holds) in self.ways.implied(comparison, wanted) {
            let mut learnt = FactList::new();
            if !self.assume_into(body, values, condition, holds, &mut learnt, depth + 1) {
                return false;
            }
            learnt.retain(|(key, _)| self.is_lasting(*key));
            facts.extend(learnt);
        }
        true
    }

    /// Whether what a key stands for is computed from no memory.
    fn is_lasting(&self, key: KeyId) -> bool {
        let mut is_lasting = true;
        self.depends_on(key, &mut |key| is_lasting &= !matches!(key, Key::Loaded(_) | Key::Initial(_) | Key::Pure(..)));
        is_lasting
    }

    fn assume_compare(
        &mut self,
        body: &Body,
        values: &ValueTable,
        (op, lhs, rhs, _ty): (CompareOp, Operand, Operand, Type),
        wanted: bool,
        facts: &mut FactList,
        depth: usize,
    ) -> bool {
        let number = |operand| body.constant(operand).and_then(number_of);
        let (op, value, constant) = match (number(lhs), number(rhs)) {
            (Some(a), Some(b)) => return relation(op, b).is_none_or(|r| r.holds(a) == wanted),
            (None, Some(c)) => (op, lhs, c),
            (Some(c), None) => (swapped(op), rhs, c),
            (None, None) => {
                self.assume_pair(body, values, (op, lhs, rhs), wanted, facts);
                return true;
            }
        };
        // `(zext c) != 0` is c itself.
        if constant == 0
            && matches!(op, CompareOp::Eq | CompareOp::Ne)
            && let Some(inner) = widened_truth(body, value)
        {
            return self.assume_into(body, values, inner, (op == CompareOp::Ne) == wanted, facts, depth + 1);
        }
        let relation = relation(op, constant);
        let relation = if wanted { relation } else { relation.and_then(Relation::negate) };
        // `(a | b) == 0`: neither is set.
        if relation.is_some_and(|r| r.implies(Relation::ZERO))
            && depth < BOUNDS.condition_depth
            && let Some(Inst::Binary { op: BinaryOp::Or, lhs, rhs, .. }) = value.value().map(|v| &body.insts[v])
        {
            let zero = |this: &mut Self, side: Operand, facts: &mut FactList| {
                facts.extend(this.of_operand(body, values, side).map(|key| (key, Relation::ZERO)));
            };
            zero(self, *lhs, facts);
            zero(self, *rhs, facts);
        }
        if let (Some(key), Some(relation)) = (self.of_operand(body, values, value), relation) {
            facts.push((key, relation));
        }
        true
    }

    fn assume_pair(
        &mut self,
        body: &Body,
        values: &ValueTable,
        (op, lhs, rhs): (CompareOp, Operand, Operand),
        wanted: bool,
        facts: &mut FactList,
    ) {
        let (Some(a), Some(b)) = (self.of_operand(body, values, lhs), self.of_operand(body, values, rhs)) else {
            return;
        };
        // One spelling for each comparison, so that a later opposite one is seen as such.
        let (op, a, b, wanted) = match op {
            CompareOp::Ne => (CompareOp::Eq, a.min(b), a.max(b), !wanted),
            CompareOp::Eq => (CompareOp::Eq, a.min(b), a.max(b), wanted),
            CompareOp::SGt => (CompareOp::SLt, b, a, wanted),
            CompareOp::SLe => (CompareOp::SLt, b, a, !wanted),
            CompareOp::SGe => (CompareOp::SLt, a, b, !wanted),
            CompareOp::UGt => (CompareOp::ULt, b, a, wanted),
            CompareOp::ULe => (CompareOp::ULt, b, a, !wanted),
            CompareOp::UGe => (CompareOp::ULt, a, b, !wanted),
            op => (op, a, b, wanted),
        };
        let key = self.intern(Key::Compare(op, a, b));
        facts.push((key, Relation::Eq(i64::from(wanted))));
    }
}

fn is_true(body: &Body, operand: Operand) -> bool {
    matches!(body.constant(operand), Some(Constant::Int { value: 1, .. }))
}

/// The bits of a value that a mask leaves of it once it is shifted to the right.
fn shifted_mask(mask: i64, by: i64) -> Option<i64> {
    let by = u32::try_from(by).ok().filter(|by| *by < i64::BITS)?;
    let shifted = mask << by;
    (shifted >> by == mask && mask != 0).then_some(shifted)
}

/// The truth value behind a chain of widenings, as `__builtin_expect` and stored comparisons make them.
fn widened_truth(body: &Body, mut operand: Operand) -> Option<Operand> {
    for _ in 0..BOUNDS.condition_depth {
        let Inst::Cast { op, from, value, .. } = &body.insts[operand.value()?] else { return None };
        let keeps_zero = matches!(op, CastOp::ZeroExtend | CastOp::SignExtend | CastOp::Bits);
        if !keeps_zero {
            return None;
        }
        if *from == Type::Int(1) {
            return Some(*value);
        }
        operand = *value;
    }
    None
}

fn swapped(op: CompareOp) -> CompareOp {
    match op {
        CompareOp::ULt => CompareOp::UGt,
        CompareOp::ULe => CompareOp::UGe,
        CompareOp::UGt => CompareOp::ULt,
        CompareOp::UGe => CompareOp::ULe,
        CompareOp::SLt => CompareOp::SGt,
        CompareOp::SLe => CompareOp::SGe,
        CompareOp::SGt => CompareOp::SLt,
        CompareOp::SGe => CompareOp::SLe,
        op => op,
    }
}

/// The relation `value op constant`. Unsigned comparisons are given where they mean a range of signed numbers too.
pub(crate) fn relation(op: CompareOp, constant: i64) -> Option<Relation> {
    match op {
        CompareOp::Eq => Some(Relation::Eq(constant)),
        CompareOp::Ne => Some(Relation::Ne(constant)),
        CompareOp::SLt => Relation::less(constant),
        CompareOp::SLe => Some(Relation::at_most(constant)),
        CompareOp::SGt => Relation::greater(constant),
        CompareOp::SGe => Some(Relation::at_least(constant)),
        CompareOp::ULt if constant > 0 => Some(Relation::Range(0, constant - 1)),
        CompareOp::ULe if constant >= 0 => Some(Relation::Range(0, constant)),
        CompareOp::UGt if constant == 0 => Some(Relation::NONZERO),
        CompareOp::UGe if constant == 1 => Some(Relation::NONZERO),
        _ => None,
    }
}
