//! What a function may write, itself or through what it calls: by class of cells, over the whole program.
//!
//! Callers use it to know which of the values they have read may be others after a call. Flow-insensitive: one set for each function.

use caulk_ir::{
    Body, Callee, Constant, Entity, EntitySet, EntitySets, EntityVec, Inst, InstId, Operand, Pointee, Step, Type,
    entity,
};
use caulk_memory::Class;
use caulk_program::reads::{Read, note};
use caulk_program::{CallKind, CallSite, FuncId, Names, Outcome, Program, TypeId, mark};
use rayon::prelude::*;
use rustc_hash::{FxHashMap, FxHashSet};

/// Fields of one structure that a copy of all of it is taken to write, nested ones included.
const MAX_FIELDS: usize = 512;
/// Longer chains of address arithmetic occur only in unreachable code that goes round in a circle.
const MAX_CHAIN: usize = 64;

/// Through a cycle of calls writes are followed so many calls deep. In large programs nearly everything can report an error,
/// and reporting an error can do nearly everything: without an end, every call would count as writing all there is.
const MAX_DEPTH_IN_CYCLE: usize = 3;

entity!(
    /// A class of cells that something in the program writes.
    ClassId, "class");

/// Cells of which classes each function may write.
#[derive(Debug, Default)]
pub struct Modified {
    classes: FxHashMap<Class, ClassId>,
    written: EntitySets<FuncId, ClassId>,
    /// By function: it calls something through a pointer that leads nowhere, or assembly.
    calls_unknown: EntitySet<FuncId>,
}

impl Modified {
    /// From what each function writes itself; `direct` is indexed by function.
    pub fn new(program: &Program, direct: &[Vec<Class>]) -> Self {
        let mut classes: FxHashMap<Class, ClassId> = FxHashMap::default();
        for class in direct.iter().flatten().chain([&Class::Other]) {
            let next = ClassId::from_index(classes.len());
            classes.entry(*class).or_insert(next);
        }
        let mut this = Self {
            written: EntitySets::new(direct.len(), classes.len()),
            classes,
            calls_unknown: EntitySet::with_capacity(direct.len()),
        };
        for (function, written) in direct.iter().enumerate() {
            let id = FuncId::from_index(function);
            for class in written {
                this.written.insert(id, this.classes[class]);
            }
            let may_write_any =
                |site: &CallSite| site.outcome == Outcome::Unresolved || site.kind == CallKind::Assembly;
            if program.call_sites(id).iter().any(may_write_any) {
                this.calls_unknown.insert(id);
            }
        }
        // Bottom-up, so that the sets of callees outside of a component are complete.
        for component in program.sccs() {
            match component.as_slice() {
                [only] => this.add_callees(program, *only, |callee| callee != *only),
                members => this.add_cycle(program, members),
            }
        }
        this
    }

    fn add_callees(&mut self, program: &Program, function: FuncId, counts: impl Fn(FuncId) -> bool) {
        for callee in program.callees(function).filter(|c| counts(*c)) {
            self.written.include(function, callee);
            if self.calls_unknown.contains(callee) {
                self.calls_unknown.insert(function);
            }
        }
    }

    fn add_cycle(&mut self, program: &Program, members: &[FuncId]) {
        let inside: FxHashSet<FuncId> = members.iter().copied().collect();
        for function in members {
            self.add_callees(program, *function, |callee| !inside.contains(&callee));
        }
        for _ in 0..MAX_DEPTH_IN_CYCLE {
            let before: FxHashMap<FuncId, Vec<u64>> =
                members.iter().map(|f| (*f, self.written.row(*f).to_vec())).collect();
            for function in members {
                for callee in program.callees(*function) {
                    let Some(set) = before.get(&callee) else { continue };
                    self.written.include_row(*function, set);
                }
            }
        }
    }

    /// What each function may write, as marks that do not depend on numbers.
    pub(crate) fn marks(&self, names: &Names) -> Vec<u64> {
        let mut names_of: EntityVec<ClassId, u64> = vec![0u64; self.classes.len()].into();
        let name = |class: &Class| match class {
            Class::Field(ty, offset) => mark(&(1, names.types.names[ty.index()], offset)),
            Class::Global(global) => mark(&(2, names.globals.names[global.index()])),
            Class::Other | Class::Local(_) => mark(&3),
        };
        self.classes.iter().for_each(|(class, number)| names_of[*number] = name(class));
        let of_function = |index: usize| {
            let function = FuncId::from_index(index);
            let mut sum = u64::from(self.calls_unknown.contains(function));
            for class in self.written.iter(function) {
                // Sums do not depend on the order of classes.
                sum = sum.wrapping_add(names_of[class]);
            }
            sum
        };
        (0..names.functions.names.len()).into_par_iter().map(of_function).collect()
    }

    /// The number of a class, for [`Modified::has`]; None when nothing in the program writes such cells.
    pub fn number(&self, class: Class) -> Option<ClassId> {
        self.classes.get(&class.for_others()).copied()
    }

    /// Whether a function may write cells of the class of this number.
    pub fn has(&self, function: FuncId, number: ClassId) -> bool {
        note(Read::Writes(function));
        self.written.contains(function, number)
    }

    /// Whether a function may write cells of a class.
    pub fn may_write(&self, function: FuncId, class: Class) -> bool {
        self.number(class).is_some_and(|number| self.has(function, number))
    }

    /// Whether a function may end up in unknown code.
    pub fn calls_unknown(&self, function: FuncId) -> bool {
        note(Read::Writes(function));
        self.calls_unknown.contains(function)
    }
}

/// What a function without a body writes: whatever it is given to write to.
pub fn of_declaration(program: &Program, function: FuncId) -> Vec<Class> {
    let declaration = program.function(function).declaration;
    let may_write = declaration.params.iter().enumerate().any(|(index, param)| {
        let is_pointer = declaration.signature.params.get(index) == Some(&Type::Ptr);
        is_pointer && !param.flags.read_only && !param.pointee.is_const
    });
    let is_quiet = declaration.flags.read_only || declaration.flags.no_memory;
    if is_quiet || !(may_write || declaration.signature.variadic) { Vec::new() } else { vec![Class::Other] }
}

/// What a body writes itself. Sorted.
pub fn of_body(program: &Program, function: FuncId, body: &Body) -> Vec<Class> {
    let mut writer = Writer { program, function, body, bound: None, written: Vec::new() };
    for inst in body.insts.values() {
        match inst {
            Inst::Store { address, ty: Type::Aggregate(bytes), .. } => writer.write(*address, Some(u64::from(*bytes))),
            Inst::Store { address, .. } => writer.write(*address, None),
            Inst::Copy { dst, len, .. } | Inst::Fill { dst, len, .. } => {
                let known = body.constant(*len).and_then(Constant::as_signed);
                writer.write(*dst, Some(known.and_then(|n| u64::try_from(n).ok()).unwrap_or(u64::MAX)));
            }
            _ => {}
        }
    }
    writer.written.sort_unstable();
    writer.written.dedup();
    writer.written
}

struct Writer<'a> {
    program: &'a Program,
    function: FuncId,
    body: &'a Body,
    /// The type of the variable each value was assigned to, made when first needed.
    bound: Option<FxHashMap<InstId, Pointee>>,
    written: Vec<Class>,
}

impl Writer<'_> {
    /// A write to an address: of one value, or of so many bytes.
    fn write(&mut self, address: Operand, bytes: Option<u64>) {
        let mut field: Option<(TypeId, u64)> = None;
        let mut after = 0i64;
        let mut at = address;
        for _ in 0..MAX_CHAIN {
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
            return match bytes {
                Some(bytes) => self.write_whole(ty, offset, bytes),
                None => self.write_field(ty, offset),
            };
        }
        let class = match at {
            Operand::Const(c) => self.global(self.body.consts[c]),
            Operand::Value(_) => Some(Class::Other),
        };
        self.written.extend(class);
    }

    /// The last field the steps go into, with the bytes after it added; the bytes alone when there is none.
    fn last_field(&self, steps: &[Step], mut after: i64) -> (Option<(TypeId, u64)>, i64) {
        for step in steps.iter().rev() {
            match *step {
                Step::Field { ty, offset } => {
                    let unit = self.program.function(self.function).unit;
                    let offset = offset.saturating_add_signed(after);
                    return (Some((self.program.resolve_struct(unit, ty), offset)), after);
                }
                Step::Bytes { offset, .. } => after = after.saturating_add(offset),
                Step::Index { .. } => {}
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

    fn write_field(&mut self, ty: TypeId, offset: u64) {
        let types = self.program.types();
        let spots = types.overlapping(types.spot(ty, offset));
        self.written.extend(spots.into_iter().map(|s| Class::Field(s.ty, s.offset)));
    }

    /// The first bytes of the structure at a place; the place alone when there is none.
    fn write_whole(&mut self, ty: TypeId, offset: u64, bytes: u64) {
        self.write_field(ty, offset);
        let Some(inner) = self.structure_at(ty, offset) else { return };
        let mut work = vec![(inner, 0)];
        let before = self.written.len();
        while let Some((ty, start)) = work.pop() {
            for field in self.program.type_info(ty).fields.iter().filter(|f| start + f.offset < bytes) {
                if self.written.len() - before > MAX_FIELDS {
                    return;
                }
                match field.embedded() {
                    Some(inner) if inner != ty => work.push((inner, start + field.offset)),
                    _ => self.written.push(Class::Field(ty, field.offset)),
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
