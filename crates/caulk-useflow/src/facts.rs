//! What a path has learnt: comparisons of values with constants, kept while they hold.
//!
//! This is what tells an error path from a normal one without following paths one by one (as in Das et al., "ESP"): an
//! alternative of an object carries the facts of the way it came, a branch that contradicts them is not taken, and where
//! two ways with the same status meet only the facts they share remain.

use caulk_ir::{BinaryOp, BlockId, Body, CastOp, CompareOp, Constant, Inst, InstId, Operand, SecondaryMap, Type};
use caulk_memory::{Cell, Relation, ValueId, ValueTable};
use caulk_program::FuncId;
use rustc_hash::FxHashMap;
use smallvec::SmallVec;

use crate::saved::SavedLoads;
use crate::which_way::Ways;

/// A value that facts are about.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct KeyId(pub u32);

/// Set in the number of a key that is computed from a parameter: the bits of `flags` are as lasting as `flags`.
const OF_PARAMETER: u32 = 1 << 31;

impl KeyId {
    /// Whether it is a parameter, or a computation of one with a constant: it never changes, and functions ask for it again.
    pub(crate) fn is_of_parameter(self) -> bool {
        self.0 < PARAMETER_KEYS || self.0 & OF_PARAMETER != 0
    }

    pub(crate) fn index(self) -> usize {
        (self.0 & !OF_PARAMETER) as usize
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Key {
    /// The value of an instruction.
    Inst(InstId),
    /// What a place in memory holds, until it is written.
    Loaded(Cell),
    /// What a place in memory held when the function was entered, once it has been written.
    Initial(Cell),
    /// Whether a comparison of two values holds.
    Compare(CompareOp, KeyId, KeyId),
    /// A computation with a constant, such as a mask.
    Binary(BinaryOp, KeyId, i64),
    /// What a function without side effects returns for these arguments.
    Pure(FuncId, PureArguments),
}

/// The arguments of a pure call, as many as are compared.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct PureArguments([Option<Argument>; 3]);

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Argument {
    Key(KeyId),
    Number(i64),
    /// The address of something, such as a string.
    At(Cell),
}

#[derive(Debug)]
pub(crate) struct Keys {
    keys: Vec<Key>,
    index: FxHashMap<Key, KeyId>,
    /// Those of instructions, by instruction.
    of_insts: SecondaryMap<InstId, Option<KeyId>>,
    /// The function a call reaches, where that has no side effects.
    pure_calls: FxHashMap<InstId, FuncId>,
    /// Calls that ask for a number in memory, see [`crate::numbers`]: where it is, and what the result says of it.
    pub asked: FxHashMap<InstId, (Cell, Option<Relation>)>,
    pub saved: SavedLoads,
    pub ways: Ways,
    /// Where the function is being looked at: what a value was read from may have been written since.
    pub here: (BlockId, InstId),
}

pub(crate) type Fact = (KeyId, Relation);
/// Room for more without an allocation would be copied wherever the list goes, and most lists are longer anyway.
pub(crate) type FactList = SmallVec<[Fact; 1]>;

/// The first keys are those of the parameters. Facts about them are kept longest: what a function was given it asks for
/// again, often at its end.
pub(crate) const PARAMETER_KEYS: u32 = 16;

/// Conditions are taken apart this deep.
const MAX_DEPTH: usize = 8;

impl Default for Keys {
    fn default() -> Self {
        let keys: Vec<Key> = (0..PARAMETER_KEYS).map(|i| Key::Inst(InstId(i))).collect();
        let mut of_insts = SecondaryMap::new();
        (0..PARAMETER_KEYS).for_each(|id| of_insts[InstId(id)] = Some(KeyId(id)));
        Self {
            keys,
            index: FxHashMap::default(),
            of_insts,
            pure_calls: FxHashMap::default(),
            asked: FxHashMap::default(),
            saved: SavedLoads::default(),
            ways: Ways::default(),
            here: (Body::ENTRY, InstId(0)),
        }
    }
}

impl Keys {
    pub(crate) fn get(&self, id: KeyId) -> Key {
        self.keys[id.index()]
    }

    fn intern(&mut self, key: Key) -> KeyId {
        if let Key::Inst(inst) = key {
            return self.of_inst(inst);
        }
        if let Some(&id) = self.index.get(&key) {
            return id;
        }
        let is_lasting = matches!(key, Key::Binary(_, of, _) if of.is_of_parameter());
        let number = self.keys.len() as u32;
        let id = KeyId(if is_lasting { number | OF_PARAMETER } else { number });
        self.keys.push(key);
        self.index.insert(key, id);
        id
    }

    pub(crate) fn set_pure(&mut self, call: InstId, function: FuncId) {
        self.pure_calls.insert(call, function);
    }

    /// The key of the result of a pure call: the same for the same function and arguments.
    fn of_pure_call(&mut self, body: &Body, values: &ValueTable, inst: InstId, depth: usize) -> Option<KeyId> {
        let function = *self.pure_calls.get(&inst)?;
        let args = &body.insts[inst].call()?.args;
        let mut known = [None; 3];
        if args.is_empty() || args.len() > known.len() {
            return None;
        }
        for (slot, arg) in known.iter_mut().zip(args) {
            *slot = Some(match body.constant(*arg) {
                Some(constant) => match number_of(constant) {
                    Some(number) => Argument::Number(number),
                    None => Argument::At(values.of_operand(*arg)?),
                },
                None => Argument::Key(self.of_operand_at_depth(body, values, *arg, depth + 1)?),
            });
        }
        Some(self.intern(Key::Pure(function, PureArguments(known))))
    }

    pub(crate) fn of_inst(&mut self, inst: InstId) -> KeyId {
        if let Some(known) = self.of_insts[inst] {
            return known;
        }
        let id = KeyId(self.keys.len() as u32);
        self.keys.push(Key::Inst(inst));
        self.of_insts[inst] = Some(id);
        id
    }

    /// What a cell held when the function was entered.
    pub(crate) fn of_initial(&mut self, cell: Cell) -> KeyId {
        self.intern(Key::Initial(cell))
    }

    /// The cells of an object that facts may be about.
    pub(crate) fn cells_of(&self, base: ValueId) -> Vec<(KeyId, Cell)> {
        let cell = |(index, key): (usize, &Key)| match key {
            Key::Loaded(cell) if cell.base == base => Some((KeyId(index as u32), *cell)),
            _ => None,
        };
        self.keys.iter().enumerate().filter_map(cell).collect()
    }

    pub(crate) fn of_cell(&mut self, cell: Cell) -> KeyId {
        self.intern(Key::Loaded(cell))
    }

    /// The key of an operand; None for constants.
    pub(crate) fn of_operand(&mut self, body: &Body, values: &ValueTable, operand: Operand) -> Option<KeyId> {
        self.of_operand_at_depth(body, values, operand, 0)
    }

    fn of_operand_at_depth(
        &mut self,
        body: &Body,
        values: &ValueTable,
        operand: Operand,
        depth: usize,
    ) -> Option<KeyId> {
        let inst = operand.value()?;
        if depth < MAX_DEPTH {
            match &body.insts[inst] {
                Inst::Cast { op: CastOp::SignExtend | CastOp::ZeroExtend | CastOp::Bits, value, .. } => {
                    return self.of_operand_at_depth(body, values, *value, depth + 1);
                }
                Inst::Load { address, volatile: false, .. } => {
                    if let Some(cell) = values.of_operand(*address)
                        && !self.saved.is_stale(inst, self.here)
                    {
                        return Some(self.intern(Key::Loaded(cell)));
                    }
                }
                Inst::Call(_) | Inst::Invoke { .. } if self.is_number_just_asked(body, inst) => {
                    return self.asked.get(&inst).map(|(cell, _)| *cell).map(|cell| self.intern(Key::Loaded(cell)));
                }
                Inst::Call(_) => {
                    if let Some(key) = self.of_pure_call(body, values, inst, depth) {
                        return Some(key);
                    }
                }
                Inst::Binary { op: op @ (BinaryOp::And | BinaryOp::LShr), lhs, rhs, .. } => {
                    if let Some(constant) = body.constant(*rhs).and_then(Constant::as_signed)
                        && let Some(inner) = self.of_operand_at_depth(body, values, *lhs, depth + 1)
                    {
                        return Some(self.intern(Key::Binary(*op, inner, constant)));
                    }
                }
                _ => {}
            }
        }
        Some(self.intern(Key::Inst(inst)))
    }

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

    /// A value of which some bit is set is not zero.
    fn of_masked(&self, (key, relation): Fact) -> Option<Fact> {
        match self.get(key) {
            Key::Binary(BinaryOp::And | BinaryOp::LShr, value, _) if relation.implies(Relation::NONZERO) => {
                Some((value, Relation::NONZERO))
            }
            _ => None,
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
        if depth < MAX_DEPTH {
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

    fn is_number_just_asked(&self, body: &Body, call: InstId) -> bool {
        matches!(self.asked.get(&call), Some((_, None))) && self.is_just_before(body, call)
    }

    /// Whether nothing is written between a call and the instruction that is being looked at.
    fn is_just_before(&self, body: &Body, call: InstId) -> bool {
        let (block, here) = self.here;
        let within = body.blocks[block].first..body.blocks[block].end;
        let from = match body.insts[call] {
            Inst::Invoke { normal, .. } if normal == block => within.start,
            Inst::Call(_) if within.contains(&call) => InstId(call.0 + 1),
            _ => return false,
        };
        let writes = |inst: &Inst| {
            inst.call().is_some() || matches!(inst, Inst::Store { .. } | Inst::Copy { .. } | Inst::Fill { .. })
        };
        within.contains(&here) && from <= here && (from.0..here.0).all(|inst| !writes(&body.insts[InstId(inst)]))
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
            && depth < MAX_DEPTH
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

    /// Visits a key and all it is made of.
    pub(crate) fn depends_on(&self, id: KeyId, visit: &mut dyn FnMut(Key)) {
        let key = self.get(id);
        visit(key);
        match key {
            Key::Compare(_, a, b) => {
                self.depends_on(a, visit);
                self.depends_on(b, visit);
            }
            Key::Binary(_, a, _) => self.depends_on(a, visit),
            Key::Pure(_, PureArguments(args)) => {
                for arg in args.into_iter().flatten() {
                    if let Argument::Key(key) = arg {
                        self.depends_on(key, visit);
                    }
                }
            }
            _ => {}
        }
    }
}

fn is_true(body: &Body, operand: Operand) -> bool {
    matches!(body.constant(operand), Some(Constant::Int { value: 1, .. }))
}

/// The truth value behind a chain of widenings, as `__builtin_expect` and stored comparisons make them.
fn widened_truth(body: &Body, mut operand: Operand) -> Option<Operand> {
    for _ in 0..MAX_DEPTH {
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

/// The number a constant stands for; null is 0.
pub(crate) fn number_of(constant: Constant) -> Option<i64> {
    match constant {
        Constant::Null => Some(0),
        Constant::Pointer(value) => Some(value as i64),
        Constant::Int { .. } => constant.as_signed(),
        _ => None,
    }
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
