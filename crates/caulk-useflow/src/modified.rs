//! What a function may write, itself or through what it calls: by class of cells, over the whole program.
//!
//! Callers use it to know which of the values they have read may be others after a call. Flow-insensitive: one set for each function.

use std::collections::hash_map::Entry;

use caulk_ir::{
    AddressStep, Body, Callee, Constant, Entity, EntitySet, EntityVec, Inst, InstId, Operand, Pointee, Type, entity,
};
use caulk_memory::Class;
use caulk_program::reads::{Read, note};
use caulk_program::{CallKind, CallSite, FuncId, Names, Program, Resolution, TypeId, mark};
use rayon::prelude::*;
use rustc_hash::{FxHashMap, FxHashSet};

use crate::bit_writes::bit_writes;
use crate::bounds::BOUNDS;
use crate::first_fills::first_fills;
use crate::write_sets::WriteSets;

/// What one store writes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) enum Write {
    Class(Class),
    /// Besides the class: of this field only the bits of a mask.
    Bits(TypeId, u64, u64),
    /// Besides the class: all of this field. Kept for fields of which something else writes only some bits.
    Whole(TypeId, u64),
    /// Besides the class: this field, only where it is null.
    FirstFilled(TypeId, u64),
    /// Besides the class: this field whatever it holds. Kept for fields that something else fills only where they are null.
    Replaced(TypeId, u64),
}

entity!(
    /// What something in the program writes.
    WriteId, "write");

/// Cells of which classes each function may write.
#[derive(Debug, Default)]
pub struct Modified {
    writes: FxHashMap<Write, WriteId>,
    /// Fields of which some store writes only some bits: such writes, with their masks.
    bits: FxHashMap<(TypeId, u64), Vec<(WriteId, u64)>>,
    /// Fields that some store fills only where they are null.
    first_filled: FxHashSet<(TypeId, u64)>,
    written: WriteSets,
    /// By function: it calls something through a pointer that leads nowhere, or assembly.
    calls_unknown: EntitySet<FuncId>,
}

impl Modified {
    /// From what each function writes itself; `direct` is indexed by function.
    pub(crate) fn new(program: &Program, direct: &[Vec<Write>]) -> Self {
        let in_bits = |write: &Write| if let Write::Bits(ty, offset, _) = *write { Some((ty, offset)) } else { None };
        let written_in_bits: FxHashSet<(TypeId, u64)> = direct.iter().flatten().filter_map(in_bits).collect();
        let as_first = |write: &Write| if let Write::FirstFilled(ty, at) = *write { Some((ty, at)) } else { None };
        let first_filled: FxHashSet<(TypeId, u64)> = direct.iter().flatten().filter_map(as_first).collect();
        let matters = |write: &&Write| match **write {
            Write::Whole(ty, offset) => written_in_bits.contains(&(ty, offset)),
            Write::Replaced(ty, offset) => first_filled.contains(&(ty, offset)),
            Write::FirstFilled(..) => false,
            Write::Class(_) | Write::Bits(..) => true,
        };
        let mut writes: FxHashMap<Write, WriteId> = FxHashMap::default();
        let mut bits: FxHashMap<(TypeId, u64), Vec<(WriteId, u64)>> = FxHashMap::default();
        for write in direct.iter().flatten().filter(matters).chain([&Write::Class(Class::Other)]) {
            let next = WriteId::from_index(writes.len());
            if let Entry::Vacant(entry) = writes.entry(*write) {
                entry.insert(next);
                if let Write::Bits(ty, offset, mask) = *write {
                    bits.entry((ty, offset)).or_default().push((next, mask));
                }
            }
        }
        let numbers_of = |written: &Vec<Write>| {
            written.iter().filter(matters).map(|write| writes[write].index()).collect::<Vec<_>>()
        };
        let callees = |function: FuncId| program.callees(function);
        let direct = direct.iter().map(numbers_of);
        let written = WriteSets::new(direct, writes.len(), program.sccs().iter(), callees, BOUNDS.writes_in_cycle);
        Self { written, calls_unknown: calls_unknown(program), writes, bits, first_filled }
    }

    /// What each function may write, as marks that do not depend on numbers.
    pub(crate) fn marks(&self, names: &Names) -> Vec<u64> {
        let mut names_of: EntityVec<WriteId, u64> = vec![0u64; self.writes.len()].into();
        let name = |write: &Write| match write {
            Write::Class(Class::Field(ty, offset)) => mark(&(1, names.types.names[ty.index()], offset)),
            Write::Class(Class::Global(global)) => mark(&(2, names.globals.names[global.index()])),
            Write::Class(Class::Other | Class::Local(_)) => mark(&3),
            Write::Bits(ty, offset, bits) => mark(&(4, names.types.names[ty.index()], offset, bits)),
            Write::Whole(ty, offset) => mark(&(5, names.types.names[ty.index()], offset)),
            Write::FirstFilled(ty, offset) | Write::Replaced(ty, offset) => {
                mark(&(6, names.types.names[ty.index()], offset))
            }
        };
        self.writes.iter().for_each(|(write, number)| names_of[*number] = name(write));
        let of_function = |index: usize| {
            let function = FuncId::from_index(index);
            let mut sum = u64::from(self.calls_unknown.contains(function));
            for number in self.written.iter(function) {
                // Sums do not depend on the order of writes.
                sum = sum.wrapping_add(names_of[WriteId::from_index(number)]);
            }
            sum
        };
        (0..names.functions.names.len()).into_par_iter().map(of_function).collect()
    }

    /// The number of a class, for [`Modified::has`]; None when nothing in the program writes such cells.
    pub fn number(&self, class: Class) -> Option<WriteId> {
        self.writes.get(&Write::Class(class.for_others())).copied()
    }

    /// Whether a function may write cells of the class of this number.
    pub fn has(&self, function: FuncId, number: WriteId) -> bool {
        note(Read::Writes(function));
        self.written.contains(function, number.index())
    }

    /// Whether a function may write cells of a class.
    pub fn may_write(&self, function: FuncId, class: Class) -> bool {
        self.number(class).is_some_and(|number| self.has(function, number))
    }

    /// Whether some store of the program writes only some bits of a field.
    pub fn is_written_in_bits(&self, ty: TypeId, offset: u64) -> bool {
        self.bits.contains_key(&(ty, offset))
    }

    /// The bits of a field that a function leaves as they are.
    pub fn kept_bits(&self, function: FuncId, ty: TypeId, offset: u64) -> u64 {
        let writes = |write: Write| self.writes.get(&write).is_some_and(|number| self.has(function, *number));
        match self.bits.get(&(ty, offset)) {
            Some(parts) if !writes(Write::Whole(ty, offset)) => {
                let changed = parts.iter().filter(|(number, _)| self.has(function, *number));
                !changed.fold(0, |all, (_, mask)| all | mask)
            }
            Some(_) => 0,
            None if writes(Write::Class(Class::Field(ty, offset))) => 0,
            None => u64::MAX,
        }
    }

    /// Whether some store of the program fills a field only where it is null.
    pub fn is_first_filled(&self, ty: TypeId, offset: u64) -> bool {
        self.first_filled.contains(&(ty, offset))
    }

    /// Whether a function leaves a field as it is unless it is null.
    pub fn keeps_full(&self, function: FuncId, ty: TypeId, offset: u64) -> bool {
        let replaces = |number: &WriteId| self.has(function, *number);
        self.is_first_filled(ty, offset) && !self.writes.get(&Write::Replaced(ty, offset)).is_some_and(replaces)
    }

    /// Whether a function may end up in unknown code.
    pub fn calls_unknown(&self, function: FuncId) -> bool {
        note(Read::Writes(function));
        self.calls_unknown.contains(function)
    }
}

/// Functions that call something through a pointer that leads nowhere, or assembly, by themselves or through callees outside of their
/// cycle of calls.
fn calls_unknown(program: &Program) -> EntitySet<FuncId> {
    let may_write_any = |site: &CallSite| site.outcome == Resolution::Unresolved || site.kind == CallKind::Assembly;
    let mut unknown = EntitySet::with_capacity(program.functions().len());
    for function in program.functions() {
        if program.call_sites(function).iter().any(may_write_any) {
            unknown.insert(function);
        }
    }
    for component in program.sccs() {
        let inside: FxHashSet<FuncId> = component.iter().copied().collect();
        for function in component {
            if program.callees(*function).any(|callee| !inside.contains(&callee) && unknown.contains(callee)) {
                unknown.insert(*function);
            }
        }
    }
    unknown
}

/// What a function without a body writes: whatever it is given to write to.
pub(crate) fn of_declaration(program: &Program, function: FuncId) -> Vec<Write> {
    let declaration = program.function(function).declaration;
    let may_write = declaration.params.iter().enumerate().any(|(index, param)| {
        let is_pointer = declaration.signature.params.get(index) == Some(&Type::Ptr);
        is_pointer && !param.flags.read_only && !param.pointee.is_const
    });
    let is_quiet = declaration.flags.read_only || declaration.flags.no_memory;
    if is_quiet || !(may_write || declaration.signature.variadic) {
        Vec::new()
    } else {
        vec![Write::Class(Class::Other)]
    }
}

/// What a body writes itself. Sorted.
pub(crate) fn of_body(program: &Program, function: FuncId, body: &Body) -> Vec<Write> {
    let mut writer = Writer { program, function, body, bound: None, written: Vec::new() };
    let (bit_writes, first_fills) = (bit_writes(body), first_fills(body));
    for (id, inst) in body.insts.iter() {
        match inst {
            Inst::Store { address, ty: Type::Aggregate(bytes), .. } => {
                writer.write(*address, Size::Bytes(u64::from(*bytes)));
            }
            Inst::Store { address, .. } if first_fills.contains(&id) => writer.write(*address, Size::First),
            Inst::Store { address, .. } => {
                writer.write(*address, bit_writes.get(&id).map_or(Size::Value, |mask| Size::Bits(*mask)));
            }
            Inst::Copy { dst, len, .. } | Inst::Fill { dst, len, .. } => {
                let known = body.constant(*len).and_then(Constant::as_signed);
                writer.write(*dst, Size::Bytes(known.and_then(|n| u64::try_from(n).ok()).unwrap_or(u64::MAX)));
            }
            _ => {}
        }
    }
    writer.written.sort_unstable();
    writer.written.dedup();
    writer.written
}

/// How much is written.
#[derive(Clone, Copy)]
enum Size {
    Value,
    /// A value, where there was null.
    First,
    /// Of a value, only these bits.
    Bits(u64),
    Bytes(u64),
}

struct Writer<'a> {
    program: &'a Program,
    function: FuncId,
    body: &'a Body,
    /// The type of the variable each value was assigned to, made when first needed.
    bound: Option<FxHashMap<InstId, Pointee>>,
    written: Vec<Write>,
}

impl Writer<'_> {
    fn write(&mut self, address: Operand, size: Size) {
        let mut field: Option<(TypeId, u64)> = None;
        let mut after = 0i64;
        let mut at = address;
        for _ in 0..BOUNDS.address_chain {
            let Operand::Value(value) = at else { break };
            match &self.body.insts[value] {
                Inst::Address { base, steps } => {
                    if field.is_none() {
                        (field, after) = self.last_field(steps, after);
                    }
                    at = *base;
                }
                Inst::Local { .. } => return,
                _ => break,
            }
        }
        if let Some((ty, offset)) = field.or_else(|| self.pointed_to(at, after)) {
            return match size {
                Size::Bytes(bytes) => self.write_whole(ty, offset, bytes),
                Size::Value | Size::First | Size::Bits(_) => self.write_field(ty, offset, size),
            };
        }
        let class = match at {
            Operand::Const(c) => self.global(self.body.consts[c]),
            Operand::Value(_) => Some(Class::Other),
        };
        self.written.extend(class.map(Write::Class));
    }

    /// The last field the steps go into, with the bytes after it added; the bytes alone when there is none.
    fn last_field(&self, steps: &[AddressStep], mut after: i64) -> (Option<(TypeId, u64)>, i64) {
        for step in steps.iter().rev() {
            match *step {
                AddressStep::Field { ty, offset } => {
                    let unit = self.program.function(self.function).unit;
                    let offset = offset.saturating_add_signed(after);
                    return (Some((self.program.resolve_struct(unit, ty), offset)), after);
                }
                AddressStep::Bytes { offset, .. } => after = after.saturating_add(offset),
                AddressStep::Index { .. } => {}
            }
        }
        (None, after)
    }

    /// The structure that a value is declared to point to, for copies of all of it.
    fn pointed_to(&mut self, address: Operand, after: i64) -> Option<(TypeId, u64)> {
        let value = address.value()?;
        let info = self.program.function(self.function);
        let unit = self.program.unit(info.unit);
        let direct = match &self.body.insts[value] {
            Inst::Param { index, .. } => info.declaration.params.get(*index as usize).map(|p| p.pointee),
            Inst::Call(call) | Inst::Invoke { call, .. } => match call.callee {
                Callee::Direct(function) => Some(unit.functions[function].ret_pointee),
                _ => None,
            },
            _ => None,
        };
        let pointee = direct.filter(|p| p.target.is_some()).or_else(|| self.variable_of(value))?;
        let ty = pointee.target.filter(|_| pointee.depth == 1)?;
        Some((self.program.resolve_struct(info.unit, ty), u64::try_from(after).ok()?))
    }

    fn variable_of(&mut self, value: InstId) -> Option<Pointee> {
        let body = self.body;
        let bound = self.bound.get_or_insert_with(|| {
            let mut bound = FxHashMap::default();
            for inst in body.insts.values() {
                if let Inst::Bind { var, value: Operand::Value(value) } = inst {
                    bound.entry(*value).or_insert(body.vars[*var].pointee);
                }
            }
            bound
        });
        bound.get(&value).copied()
    }

    fn global(&self, constant: Constant) -> Option<Class> {
        let Constant::Global { global, .. } = constant else { return None };
        let unit = self.program.function(self.function).unit;
        self.program.resolve_global(unit, global).first().map(|g| Class::Global(*g))
    }

    /// A field, and what overlaps it in a union.
    fn write_field(&mut self, ty: TypeId, offset: u64, size: Size) {
        let types = self.program.types();
        let written = types.spot(ty, offset);
        for spot in types.overlapping(written) {
            self.written.push(Write::Class(Class::Field(spot.ty, spot.offset)));
            self.written.push(match size {
                Size::Bits(mask) if spot == written => Write::Bits(spot.ty, spot.offset, mask),
                _ => Write::Whole(spot.ty, spot.offset),
            });
            self.written.push(match size {
                Size::First if spot == written => Write::FirstFilled(spot.ty, spot.offset),
                _ => Write::Replaced(spot.ty, spot.offset),
            });
        }
    }

    /// The first bytes of the structure at a place; the place alone when there is none.
    fn write_whole(&mut self, ty: TypeId, offset: u64, bytes: u64) {
        self.write_field(ty, offset, Size::Value);
        let Some(inner) = self.structure_at(ty, offset) else { return };
        let mut work = vec![(inner, 0)];
        let before = self.written.len();
        while let Some((ty, start)) = work.pop() {
            for field in self.program.type_info(ty).fields.iter().filter(|f| start + f.offset < bytes) {
                if self.written.len() - before > 3 * BOUNDS.copied_fields {
                    return;
                }
                match field.embedded() {
                    Some(inner) if inner != ty => work.push((inner, start + field.offset)),
                    _ => {
                        self.written.push(Write::Class(Class::Field(ty, field.offset)));
                        self.written.push(Write::Whole(ty, field.offset));
                        self.written.push(Write::Replaced(ty, field.offset));
                    }
                }
            }
        }
    }

    /// The structure that begins at an offset of another.
    fn structure_at(&self, ty: TypeId, offset: u64) -> Option<TypeId> {
        if offset == 0 {
            return Some(ty);
        }
        let fields = &self.program.type_info(ty).fields;
        fields.iter().find(|f| f.offset == offset).and_then(|f| f.embedded())
    }
}
