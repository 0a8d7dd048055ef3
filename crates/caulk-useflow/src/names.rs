//! What the source calls values, places in memory and the functions that are called.

use caulk_ir::cpp_names::shortened;
use caulk_ir::{Body, Inst, InstId, Operand, Pointee, VarId};
use caulk_memory::{Cell, Offset, PathStep, ValueId, ValueNode, ValueTable};
use caulk_program::{FuncId, Program, TypeId, UnitId};
use caulk_summary::print;
use rustc_hash::FxHashMap;

use crate::alternative::Alternative;
use crate::bounds::BOUNDS;
use crate::declared::declared_name;

/// A place as declarations name it, behind the name of what holds its address.
enum Declared {
    Field(String),
    /// An element of an array, and what is meant of it.
    Element(u64, String),
}

/// What an address leads to: the structure behind so many pointers; 1 for its own address.
struct Pointed {
    depth: u8,
    target: Option<TypeId>,
}

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

    /// A place in memory, as the source would write it: `menu->items`, `config.log.file`.
    pub(crate) fn cell(&self, values: &ValueTable, cell: Cell) -> Option<String> {
        let (base, is_address) = self.value(values, cell.base)?;
        let field = values.field(cell);
        let declared = self.declared(values, cell, field).filter(|_| !self.is_hidden_in_variable(values, cell, field));
        Some(match declared {
            Some(Declared::Field(name)) if is_address => format!("{base}.{name}"),
            Some(Declared::Field(name)) => format!("{base}->{name}"),
            Some(Declared::Element(index, name)) => format!("{base}[{index}]{name}"),
            None => print::step(self.program, base, is_address, &PathStep { offset: cell.offset, field }),
        })
    }

    /// What a library hides at the start of a local variable has the variable's name.
    fn is_hidden_in_variable(&self, values: &ValueTable, cell: Cell, field: Option<(TypeId, u64)>) -> bool {
        field.is_none() && cell.offset == Offset::ZERO && matches!(values.node(cell.base), ValueNode::Local(_))
    }

    /// A place by the structure that what holds its address is declared to be or to point to. `field`: what the code steps into there.
    fn declared(&self, values: &ValueTable, cell: Cell, field: Option<(TypeId, u64)>) -> Option<Declared> {
        let Offset::Known(offset) = cell.offset else { return None };
        let offset = u64::try_from(offset).ok()?;
        let Pointed { depth, target } = self.pointed(values, cell.base)?;
        if depth > 1 {
            // Pointers in a row.
            let word = u64::from(self.program.unit(self.program.function(self.function).unit).pointer_bytes.max(1));
            let is_element = offset > 0 && offset % word == 0 && field.is_none();
            return is_element.then(|| Declared::Element(offset / word, String::new()));
        }
        let ty = target?;
        let size = self.program.type_info(ty).size;
        if size == 0 || (offset < size && !self.is_array(values, cell.base, size)) {
            return declared_name(self.program, ty, offset, field).map(Declared::Field);
        }
        let name = declared_name(self.program, ty, offset % size, field)?;
        Some(Declared::Element(offset / size, format!(".{name}")))
    }

    /// Whether a local variable has several structures of a size.
    fn is_array(&self, values: &ValueTable, base: ValueId, size: u64) -> bool {
        let ValueNode::Local(local) = values.node(base) else { return false };
        matches!(self.body.insts[local], Inst::Local { size: all, count: None, .. } if all > size)
    }

    /// What lies at the address that a value is, by declarations.
    fn pointed(&self, values: &ValueTable, base: ValueId) -> Option<Pointed> {
        let info = self.program.function(self.function);
        let of = |unit: UnitId, pointee: Pointee| Pointed {
            depth: pointee.depth,
            target: pointee.target.map(|target| self.program.resolve_struct(unit, target)),
        };
        match values.node(base) {
            ValueNode::Load(holder, at) => {
                let (ty, at) = values.field(Cell { base: holder, offset: at })?;
                let field = self.program.type_info(ty).fields.iter().find(|field| field.offset == at)?;
                Some(Pointed { depth: field.pointee.depth, target: field.target }).filter(|p| p.depth > 0)
            }
            ValueNode::Opaque(inst) => {
                Some(of(info.unit, self.body.vars[*self.bound.get(&inst)?].pointee)).filter(|p| p.depth > 0)
            }
            ValueNode::Param(index) => {
                let param = info.declaration.params.get(index as usize)?;
                Some(of(info.unit, param.pointee)).filter(|p| p.depth > 0)
            }
            // A variable is at its own address.
            ValueNode::Global(global) => {
                let global = self.program.global(global);
                let pointed = of(global.unit, global.declaration.pointee);
                Some(Pointed { depth: pointed.depth + 1, ..pointed })
            }
            ValueNode::Local(local) => {
                let Inst::Local { var: Some(var), .. } = self.body.insts[local] else { return None };
                let pointed = of(info.unit, self.body.vars[var].pointee);
                Some(Pointed { depth: pointed.depth + 1, ..pointed })
            }
            ValueNode::Nothing => None,
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
