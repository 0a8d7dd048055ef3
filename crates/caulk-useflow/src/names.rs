//! What the source calls values, places in memory and the functions that are called.

use caulk_ir::cpp_names::shortened;
use caulk_ir::{Body, Inst, InstId, Operand, Pointee, VarId};
use caulk_memory::{Cell, Offset, PathStep, ValueId, ValueNode, ValueTable};
use caulk_program::{FieldInfo, FuncId, Program, TypeId, UnitId};
use caulk_summary::print;
use rustc_hash::FxHashMap;

use crate::alternative::Alternative;
use crate::bounds::BOUNDS;

pub(crate) struct Names<'a> {
    program: &'a Program,
    function: FuncId,
    body: &'a Body,
    /// The first variable each value is assigned to.
    bound: FxHashMap<InstId, VarId>,
}

impl<'a> Names<'a> {
    pub(crate) fn new(program: &'a Program, function: FuncId, body: &'a Body) -> Self {
        let mut bound = FxHashMap::default();
        for inst in body.insts.values() {
            if let Inst::Bind { var, value: Operand::Value(value) } = inst {
                bound.entry(*value).or_insert(*var);
            }
        }
        Self { program, function, body, bound }
    }

    pub(crate) fn variable(&self, var: VarId) -> &'a str {
        let unit = self.program.unit(self.program.function(self.function).unit);
        unit.str(self.body.vars[var].name)
    }

    /// The variable a value is assigned to.
    pub(crate) fn result(&self, inst: InstId) -> Option<&'a str> {
        self.bound.get(&inst).map(|var| self.variable(*var))
    }

    /// What holds an object: the variable its call's result is assigned to, or a place in memory.
    pub(crate) fn holder(&self, values: &ValueTable, alternative: &Alternative) -> Option<String> {
        let result = alternative.names.iter().find_map(|name| self.result(*name));
        result.map(str::to_owned).or_else(|| alternative.cells.iter().find_map(|cell| self.cell(values, *cell)))
    }

    /// A place in memory, as the source would write it: `menu->items`.
    pub(crate) fn cell(&self, values: &ValueTable, cell: Cell) -> Option<String> {
        let (base, is_address) = self.value(values, cell.base)?;
        let field = values.field(cell);
        match field.is_none().then(|| self.declared_field(values, cell)).flatten() {
            Some(name) => Some(format!("{base}{}{name}", if is_address { "." } else { "->" })),
            None => Some(print::step(self.program, base, is_address, &PathStep { offset: cell.offset, field })),
        }
    }

    /// A field that no access in this function names: by the structure that what holds its address is declared to be or to point to.
    fn declared_field(&self, values: &ValueTable, cell: Cell) -> Option<String> {
        let Offset::Known(offset) = cell.offset else { return None };
        let info = self.program.function(self.function);
        let structure = |unit: UnitId, pointee: Pointee, depth: u8| {
            let target = pointee.target.filter(|_| pointee.depth == depth)?;
            Some(self.program.resolve_struct(unit, target))
        };
        let ty = match values.node(cell.base) {
            ValueNode::Load(base, at) => {
                let (holder, at) = values.field(Cell { base, offset: at })?;
                let field = self.program.type_info(holder).fields.iter().find(|field| field.offset == at)?;
                field.target.filter(|_| field.pointee.depth == 1)?
            }
            ValueNode::Opaque(inst) => structure(info.unit, self.body.vars[*self.bound.get(&inst)?].pointee, 1)?,
            ValueNode::Global(global) => {
                let global = self.program.global(global);
                structure(global.unit, global.declaration.pointee, 0)?
            }
            // What a library hides in a variable has the variable's name.
            ValueNode::Local(_) | ValueNode::Param(_) | ValueNode::Nothing => return None,
        };
        self.name_at(ty, u64::try_from(offset).ok()?)
    }

    /// What the source calls a place in a structure: `address.street`.
    fn name_at(&self, ty: TypeId, offset: u64) -> Option<String> {
        let is_around = |f: &&FieldInfo| f.offset <= offset && offset < f.offset + f.size && !f.is_base && !f.is_vptr;
        let field = self.program.type_info(ty).fields.iter().find(is_around)?;
        let (unit, structure) = self.program.struct_type(ty);
        let name = unit.str(structure.field_at(field.offset)?.name?);
        match field.embedded() {
            Some(inner) => Some(format!("{name}.{}", self.name_at(inner, offset - field.offset)?)),
            None if field.offset == offset => Some(name.to_owned()),
            None => Some(format!("{name}[*]")),
        }
    }

    /// A value, and whether its text stands for a variable whose address the value is.
    fn value(&self, values: &ValueTable, id: ValueId) -> Option<(String, bool)> {
        match values.node(id) {
            ValueNode::Global(global) => Some((self.program.global(global).name.to_owned(), true)),
            ValueNode::Local(local) => match self.body.insts[local] {
                Inst::Local { var: Some(var), .. } => Some((self.variable(var).to_owned(), true)),
                _ => None,
            },
            ValueNode::Param(_) => Some((print::path(self.program, self.function, &values.path(id)?), false)),
            ValueNode::Opaque(inst) => Some((self.result(inst)?.to_owned(), false)),
            ValueNode::Load(base, offset) => Some((self.cell(values, Cell { base, offset })?, false)),
            ValueNode::Nothing => None,
        }
    }

    /// Where a store or a call puts something.
    pub(crate) fn stored_to(&self, values: &ValueTable, inst: InstId) -> Option<String> {
        match &self.body.insts[inst] {
            Inst::Store { address, .. } => self.cell(values, values.of_operand(*address)?),
            _ => None,
        }
    }

    /// The function that a call calls: `free()`.
    pub(crate) fn callee(&self, call: InstId) -> Option<String> {
        let site = self.program.call_site(self.function, call)?;
        let names: Vec<String> = self
            .program
            .targets(site)
            .iter()
            .map(|t| format!("{}()", shortened(self.program.function(*t).name)))
            .collect();
        Some(match names.as_slice() {
            [] => "a function pointer".to_owned(),
            [only] => only.clone(),
            several if several.len() <= BOUNDS.named_callees => several.join(" or "),
            several => format!("{} or {} others", several[0], several.len() - 1),
        })
    }
}
