//! The values of one function by what they are: two loads from one place are one value until something is written there.

use caulk_ir::{AddressStep, Body, CastOp, ConstId, Constant, EntityVec, Inst, InstId, Operand, entity};
use caulk_program::{GlobalVarId, Program, TypeId, UnitId};
use rustc_hash::FxHashMap;

use crate::access_path::{AccessPath, PathRoot};
use crate::bounds::BOUNDS;
use crate::offset::Offset;

entity!(
    /// A pointer value of a function: what it is, not where it is computed.
    ValueId, "value");

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ValueNode {
    Param(u32),
    /// The address of a global variable.
    Global(GlobalVarId),
    /// The address of a local.
    Local(InstId),
    /// The value of an instruction that is known by nothing better: the result of a call, a choice between several.
    Opaque(InstId),
    /// What is loaded from an offset of another value.
    Load(ValueId, Offset),
    /// A constant that points to no object: null, a number, a function.
    Nothing,
}

/// A place in memory: an offset from what a value points to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Cell {
    pub base: ValueId,
    pub offset: Offset,
}

#[derive(Debug, Default)]
pub struct ValueTable {
    nodes: EntityVec<ValueId, ValueNode>,
    depths: EntityVec<ValueId, u8>,
    index: FxHashMap<ValueNode, ValueId>,
    /// What each instruction's value points to, and at which offset into it.
    of_inst: EntityVec<InstId, Option<Cell>>,
    of_const: EntityVec<ConstId, Option<Cell>>,
    /// The structure field a cell was reached through, for names.
    fields: FxHashMap<(ValueId, Offset), (TypeId, u64)>,
    /// The same, as summaries of callees have it.
    told_fields: FxHashMap<(ValueId, Offset), (TypeId, u64)>,
    /// Parts of locals that hold the address of another local and nothing else: what a lambda captures by reference.
    references: FxHashMap<(InstId, i64), InstId>,
}

impl ValueTable {
    /// `inside`: the argument of a call that its result points into, and where, if that is known.
    pub fn new(program: &Program, unit: UnitId, body: &Body, inside: &dyn Fn(InstId) -> Option<(u32, Offset)>) -> Self {
        let mut table = ValueTable {
            of_inst: vec![None; body.insts.len()].into(),
            references: references(body),
            ..ValueTable::default()
        };
        table.intern(ValueNode::Nothing, 0);
        let mut builder = Builder { program, unit, body, inside, table: &mut table };
        for constant in body.consts.keys() {
            let cell = builder.constant(body.consts[constant]);
            builder.table.of_const.push(cell);
        }
        for inst in body.insts.keys() {
            let cell = builder.inst(inst);
            builder.table.of_inst[inst] = cell;
        }
        table
    }

    fn intern(&mut self, node: ValueNode, depth: u8) -> ValueId {
        if let Some(&id) = self.index.get(&node) {
            return id;
        }
        let id = self.nodes.push(node);
        self.depths.push(depth);
        self.index.insert(node, id);
        id
    }

    pub fn node(&self, id: ValueId) -> ValueNode {
        self.nodes[id]
    }

    /// The value of a parameter that is a pointer, if anything uses it.
    pub fn parameter(&self, index: u32) -> Option<ValueId> {
        self.index.get(&ValueNode::Param(index)).copied()
    }

    /// How many loads lead from the root to a value.
    pub fn depth(&self, id: ValueId) -> u8 {
        self.depths[id]
    }

    pub fn len(&self) -> usize {
        self.nodes.len()
    }

    pub fn is_empty(&self) -> bool {
        self.nodes.is_empty()
    }

    /// Where an instruction's value points to: an object by the value that leads to it, and the offset into it.
    pub fn of_inst(&self, inst: InstId) -> Option<Cell> {
        self.of_inst[inst]
    }

    /// Where an operand points to.
    pub fn of_operand(&self, operand: Operand) -> Option<Cell> {
        match operand {
            Operand::Value(v) => self.of_inst(v),
            Operand::Const(c) => self.of_const[c],
        }
    }

    /// The value a cell holds, made when first asked for; None when the loads nest too deep.
    pub fn loaded(&mut self, cell: Cell) -> Option<ValueId> {
        if let Some(local) = self.referred(cell) {
            return Some(self.intern(ValueNode::Local(local), 0));
        }
        let depth = self.depths[cell.base];
        if depth >= BOUNDS.loads || matches!(self.node(cell.base), ValueNode::Nothing) {
            return None;
        }
        Some(self.intern(ValueNode::Load(cell.base, cell.offset), depth + 1))
    }

    /// The local whose address a cell holds, where it never holds anything else.
    fn referred(&self, cell: Cell) -> Option<InstId> {
        match (self.node(cell.base), cell.offset) {
            (ValueNode::Local(local), Offset::Known(offset)) => self.references.get(&(local, offset)).copied(),
            _ => None,
        }
    }

    /// What a choice between pointers (a phi, a select) was chosen from, other choices looked through. Empty for all else.
    pub fn choices(&self, body: &Body, id: ValueId) -> Vec<Cell> {
        let mut found: Vec<Cell> = Vec::new();
        let mut seen = vec![id];
        let mut work = vec![Cell { base: id, offset: Offset::ZERO }];
        while let Some(at) = work.pop() {
            let ValueNode::Opaque(inst) = self.node(at.base) else { continue };
            let operands: Vec<Operand> = match &body.insts[inst] {
                Inst::Phi { incoming, .. } => incoming.iter().map(|(_, value)| *value).collect(),
                Inst::Select { then, other, .. } => vec![*then, *other],
                _ => continue,
            };
            for cell in operands.into_iter().filter_map(|o| self.of_operand(o)) {
                let cell = Cell { base: cell.base, offset: cell.offset.plus(at.offset) };
                if seen.contains(&cell.base) || matches!(self.node(cell.base), ValueNode::Nothing) {
                    continue;
                }
                seen.push(cell.base);
                found.push(cell);
                work.push(cell);
            }
        }
        found
    }

    /// The value a cell holds, if anything has asked for it yet.
    pub fn known_load(&self, cell: Cell) -> Option<ValueId> {
        self.index.get(&ValueNode::Load(cell.base, cell.offset)).copied()
    }

    /// The address of a global variable, made when first asked for.
    pub fn global(&mut self, global: GlobalVarId) -> ValueId {
        self.intern(ValueNode::Global(global), 0)
    }

    /// Whether a value means one object only: no element of an array, no choice, no iteration of a loop is on the way to it.
    pub fn is_exact(&self, body: &Body, mut id: ValueId) -> bool {
        loop {
            match self.node(id) {
                ValueNode::Load(_, Offset::Any) => return false,
                ValueNode::Load(base, Offset::Known(_)) => id = base,
                ValueNode::Opaque(inst) => {
                    let is_choice = matches!(body.insts[inst], Inst::Phi { .. } | Inst::Select { .. });
                    let is_exact = !is_choice && !matches!(body.insts[inst], Inst::Load { .. });
                    return is_exact || (is_choice && is_one_result(body, inst.into(), BOUNDS.choices));
                }
                _ => return true,
            }
        }
    }

    /// The value at the bottom of a chain of loads.
    pub fn root(&self, mut id: ValueId) -> ValueNode {
        loop {
            match self.node(id) {
                ValueNode::Load(base, _) => id = base,
                root => return root,
            }
        }
    }

    /// Whether `id` is `base` or loaded from it, over any number of steps.
    pub fn is_reached_from(&self, mut id: ValueId, base: ValueId) -> bool {
        loop {
            if id == base {
                return true;
            }
            match self.node(id) {
                ValueNode::Load(next, _) => id = next,
                _ => return false,
            }
        }
    }

    /// The value that is reached from `to` as `id` is from `from`. None when it is not, or when the loads nest too deep.
    pub fn moved_to(&mut self, id: ValueId, from: ValueId, to: ValueId) -> Option<ValueId> {
        if id == from {
            return Some(to);
        }
        let ValueNode::Load(base, offset) = self.node(id) else { return None };
        let base = self.moved_to(base, from, to)?;
        self.loaded(Cell { base, offset })
    }

    /// The field a cell is, for names.
    pub fn field(&self, cell: Cell) -> Option<(TypeId, u64)> {
        self.own_field(cell).or_else(|| self.told_fields.get(&(cell.base, cell.offset)).copied())
    }

    /// The field that the code of this function steps into. What callees say of a `void *` may be of another type.
    pub fn own_field(&self, cell: Cell) -> Option<(TypeId, u64)> {
        self.fields.get(&(cell.base, cell.offset)).copied()
    }

    /// Notes the field a cell is, where a callee's summary has a name for it and the code here has none.
    pub fn name_field(&mut self, cell: Cell, field: (TypeId, u64)) {
        self.told_fields.entry((cell.base, cell.offset)).or_insert(field);
    }

    /// The structure a value points to, as the fields that are addressed through it tell.
    pub fn structure(&self, base: ValueId) -> Option<TypeId> {
        let whole = |((at, offset), (ty, field)): (&(ValueId, Offset), &(TypeId, u64))| {
            (*at == base && *offset == Offset::Known(*field as i64)).then_some(*ty)
        };
        self.fields.iter().filter_map(whole).min()
    }

    /// Offsets of the fields of a structure that are addressed anywhere.
    pub fn touched_fields(&self, ty: TypeId) -> Vec<u64> {
        let mut offsets: Vec<u64> = self.fields.values().filter(|f| f.0 == ty).map(|f| f.1).collect();
        offsets.sort_unstable();
        offsets.dedup();
        offsets
    }

    /// The access path of a value that starts at a parameter or a global.
    pub fn path(&self, id: ValueId) -> Option<AccessPath> {
        match self.node(id) {
            ValueNode::Param(index) => Some(AccessPath::root(PathRoot::Param(index))),
            ValueNode::Global(global) => Some(AccessPath::root(PathRoot::Global(global))),
            ValueNode::Load(base, offset) => {
                let field = self.field(Cell { base, offset });
                Some(self.path(base)?.then(offset, field))
            }
            _ => None,
        }
    }

    /// The path of what a cell holds.
    pub fn cell_path(&self, cell: Cell) -> Option<AccessPath> {
        let field = self.field(cell);
        Some(self.path(cell.base)?.then(cell.offset, field))
    }
}

struct Builder<'a> {
    program: &'a Program,
    unit: UnitId,
    body: &'a Body,
    inside: &'a dyn Fn(InstId) -> Option<(u32, Offset)>,
    table: &'a mut ValueTable,
}

impl Builder<'_> {
    fn root(&mut self, node: ValueNode) -> Option<Cell> {
        Some(Cell { base: self.table.intern(node, 0), offset: Offset::ZERO })
    }

    fn operand(&mut self, operand: Operand) -> Option<Cell> {
        match operand {
            Operand::Value(v) => self.table.of_inst[v],
            Operand::Const(c) => self.table.of_const[c],
        }
    }

    fn constant(&mut self, constant: Constant) -> Option<Cell> {
        match constant {
            Constant::Global { global, offset } => {
                let global = *self.program.resolve_global(self.unit, global).first()?;
                let base = self.table.intern(ValueNode::Global(global), 0);
                Some(Cell { base, offset: Offset::Known(offset) })
            }
            constant if constant.ty() == caulk_ir::Type::Ptr => self.root(ValueNode::Nothing),
            _ => None,
        }
    }

    fn inst(&mut self, id: InstId) -> Option<Cell> {
        let is_pointer = |inst: &Inst| inst.result_type() == caulk_ir::Type::Ptr;
        match &self.body.insts[id] {
            Inst::Param { index, ty: caulk_ir::Type::Ptr } => self.root(ValueNode::Param(*index)),
            Inst::Local { .. } => self.root(ValueNode::Local(id)),
            Inst::Address { base, steps } => {
                let base = self.operand(*base)?;
                Some(self.address(base, steps))
            }
            // The integer form of a pointer is followed too: tags are or'ed into it and taken off again.
            Inst::Cast { op: CastOp::Bits | CastOp::PtrToInt | CastOp::IntToPtr, value, .. } => {
                let known = self.operand(*value);
                if known.is_none() && is_pointer(&self.body.insts[id]) {
                    return self.root(ValueNode::Opaque(id));
                }
                known
            }
            Inst::Load { ty: caulk_ir::Type::Ptr, address, .. } => {
                let cell = self.operand(*address)?;
                self.load(cell, id)
            }
            Inst::Phi { incoming, ty: caulk_ir::Type::Ptr } => {
                let incoming = incoming.clone();
                let mut same = None;
                for (_, value) in incoming {
                    let cell = match value {
                        // A value of a later block is not known yet: the phi of a loop stands for itself.
                        Operand::Value(v) if v >= id => None,
                        value => self.operand(value),
                    };
                    match (cell, same) {
                        (Some(cell), None) => same = Some(cell),
                        (Some(cell), Some(known)) if cell == known => {}
                        _ => return self.root(ValueNode::Opaque(id)),
                    }
                }
                same.or_else(|| self.root(ValueNode::Opaque(id)))
            }
            inst if is_pointer(inst) => match self.inside_argument(id) {
                Some(cell) => Some(cell),
                None => self.root(ValueNode::Opaque(id)),
            },
            _ => None,
        }
    }

    fn inside_argument(&mut self, id: InstId) -> Option<Cell> {
        let (index, offset) = (self.inside)(id)?;
        let argument = *self.body.insts[id].call()?.args.get(index as usize)?;
        let cell = self.operand(argument)?;
        Some(Cell { offset: cell.offset.plus(offset), ..cell })
    }

    fn address(&mut self, base: Cell, steps: &[AddressStep]) -> Cell {
        let mut cell = base;
        for step in steps {
            match *step {
                AddressStep::Field { ty, offset } => {
                    let field = (self.program.resolve_struct(self.unit, ty), offset);
                    cell.offset = cell.offset.plus(Offset::Known(offset as i64));
                    self.table.fields.entry((cell.base, cell.offset)).or_insert(field);
                }
                AddressStep::Bytes { offset, .. } => cell.offset = cell.offset.plus(Offset::Known(offset)),
                AddressStep::Index { .. } => cell.offset = Offset::Any,
            }
        }
        cell
    }

    fn load(&mut self, cell: Cell, id: InstId) -> Option<Cell> {
        if let Some(local) = self.table.referred(cell) {
            return self.root(ValueNode::Local(local));
        }
        let depth = self.table.depths[cell.base];
        if depth >= BOUNDS.loads || matches!(self.table.node(cell.base), ValueNode::Nothing) {
            return self.root(ValueNode::Opaque(id));
        }
        let base = self.table.intern(ValueNode::Load(cell.base, cell.offset), depth + 1);
        Some(Cell { base, offset: Offset::ZERO })
    }
}

/// Whether a value is the result of one of several calls that come before it and give new memory: what was allocated in one of two paths
/// is one block.
fn is_one_result(body: &Body, value: Operand, depth: u32) -> bool {
    let Operand::Value(inst) = value else { return body.constant(value) == Some(Constant::Null) };
    let has_one_result =
        |from: &Operand| from.value().is_none_or(|v| v < inst) && is_one_result(body, *from, depth - 1);
    match &body.insts[inst] {
        _ if depth == 0 => false,
        inst if inst.call().is_some() => inst.call().is_some_and(|call| call.flags.fresh_result),
        Inst::Cast { value, .. } => has_one_result(value),
        Inst::Phi { incoming, .. } => incoming.iter().all(|(_, from)| has_one_result(from)),
        Inst::Select { then, other, .. } => has_one_result(then) && has_one_result(other),
        _ => false,
    }
}

/// Parts of locals into which the address of one other local is stored, once, and nothing else.
fn references(body: &Body) -> FxHashMap<(InstId, i64), InstId> {
    let mut stored: FxHashMap<(InstId, i64), Option<InstId>> = FxHashMap::default();
    let mut copied: Vec<InstId> = Vec::new();
    for inst in body.insts.values() {
        match inst {
            Inst::Store { value, address, .. } => {
                let Some((local, offset)) = part_of_local(body, *address) else { continue };
                let of = value.value().filter(|v| matches!(body.insts[*v], Inst::Local { .. }) && *v != local);
                stored.entry((local, offset)).and_modify(|known| *known = None).or_insert(of);
            }
            Inst::Copy { dst, .. } | Inst::Fill { dst, .. } => {
                copied.extend(part_of_local(body, *dst).map(|(local, _)| local));
            }
            _ => {}
        }
    }
    let is_whole = |part: &(InstId, i64)| !copied.contains(&part.0);
    stored.into_iter().filter(|(part, _)| is_whole(part)).filter_map(|(part, of)| Some((part, of?))).collect()
}

/// The local and the offset into it that an address is.
fn part_of_local(body: &Body, address: Operand) -> Option<(InstId, i64)> {
    let (mut at, mut offset) = (address.value()?, 0i64);
    loop {
        match &body.insts[at] {
            Inst::Local { .. } => return Some((at, offset)),
            Inst::Address { base, steps } => {
                for step in steps {
                    offset = offset.wrapping_add(match step {
                        AddressStep::Field { offset, .. } => *offset as i64,
                        AddressStep::Bytes { offset, .. } => *offset,
                        AddressStep::Index { .. } => return None,
                    });
                }
                at = base.value()?;
            }
            _ => return None,
        }
    }
}
