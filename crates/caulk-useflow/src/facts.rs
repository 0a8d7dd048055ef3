//! What a path has learnt: comparisons of values with constants, kept while they hold.
//!
//! This is what tells an error path from a normal one without following paths one by one (as in Das et al., "ESP"): an
//! alternative of an object carries the facts of the way it came, a branch that contradicts them is not taken, and where
//! two paths with the same status meet only the facts they share remain.

use caulk_ir::{BinaryOp, BlockId, Body, CastOp, CompareOp, Constant, Inst, InstId, Operand, SecondaryMap};
use caulk_memory::{Cell, Relation, ValueId, ValueTable};
use caulk_program::FuncId;
use rustc_hash::FxHashMap;
use smallvec::SmallVec;

use crate::bounds::BOUNDS;
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

    pub(crate) fn intern(&mut self, key: Key) -> KeyId {
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
        if depth < BOUNDS.condition_depth {
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

    fn is_number_just_asked(&self, body: &Body, call: InstId) -> bool {
        matches!(self.asked.get(&call), Some((_, None))) && self.is_just_before(body, call)
    }

    /// Whether nothing is written between a call and the instruction that is being looked at.
    pub(crate) fn is_just_before(&self, body: &Body, call: InstId) -> bool {
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

/// The number a constant stands for; null is 0.
pub(crate) fn number_of(constant: Constant) -> Option<i64> {
    match constant {
        Constant::Null => Some(0),
        Constant::Pointer(value) => Some(value as i64),
        Constant::Int { .. } => constant.as_signed(),
        _ => None,
    }
}
