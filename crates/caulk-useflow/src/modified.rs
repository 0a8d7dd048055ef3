//! What a function may write, itself or through what it calls: by place, over the whole program.
//!
//! A place is a field of a structure type (whichever object it is in) or a global variable. Callers use it to know which of
//! the values they have read may be others after a call. Flow-insensitive: one set for each function.

use caulk_ir::{Body, Callee, Constant, Entity, EntitySet, Inst, InstId, Operand, Pointee, Step, Type};
use caulk_program::reads::{Read, note};
use caulk_program::{CallKind, CallSite, FuncId, GlobalVarId, Names, Outcome, Program, TypeId, mark};
use rayon::prelude::*;
use rustc_hash::{FxHashMap, FxHashSet};
use std::collections::hash_map::Entry;

use crate::bit_writes::bit_writes;

/// A place that is distinguished from others over the whole program.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Place {
    /// A field of a structure type: the innermost structure and the offset in it. Elements of an array are one.
    Field(TypeId, u64),
    Global(GlobalVarId),
    /// Memory of no known structure: what an `int *` or a `char *` points to.
    Plain,
}

/// What one store writes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) enum Write {
    Place(Place),
    /// Besides its place: of this field only the bits of a mask.
    Bits(TypeId, u64, u64),
    /// Besides its place: all of this field.
    Whole(TypeId, u64),
}

/// Fields of one structure that a copy of all of it is taken to write, nested ones included.
const MAX_FIELDS: usize = 512;
/// Longer chains of address arithmetic occur only in unreachable code that goes round in a circle.
const MAX_CHAIN: usize = 64;

/// Through a cycle of calls writes are followed so many calls deep. In large programs nearly everything can report an error,
/// and reporting an error can do nearly everything: without an end, every call would count as writing all there is.
const MAX_DEPTH_IN_CYCLE: usize = 3;

/// Which places each function may write.
#[derive(Debug, Default)]
pub struct Modified {
    places: FxHashMap<Write, u32>,
    /// Fields of which some store writes only some bits: the numbers of such writes, with their masks.
    bits: FxHashMap<(TypeId, u64), Vec<(u32, u64)>>,
    /// A set of places for each function, `words` long each.
    sets: Vec<u64>,
    words: usize,
    /// By function: it calls something through a pointer that leads nowhere, or assembly.
    calls_unknown: EntitySet<FuncId>,
}

impl Modified {
    /// From what each function writes itself; `direct` is indexed by function.
    pub(crate) fn new(program: &Program, direct: &[Vec<Write>]) -> Self {
        let in_bits = |write: &Write| if let Write::Bits(ty, offset, _) = *write { Some((ty, offset)) } else { None };
        let written_in_bits: FxHashSet<(TypeId, u64)> = direct.iter().flatten().filter_map(in_bits).collect();
        let matters = |write: &Write| match *write {
            Write::Whole(ty, offset) => written_in_bits.contains(&(ty, offset)),
            Write::Place(_) | Write::Bits(..) => true,
        };
        let mut places: FxHashMap<Write, u32> = FxHashMap::default();
        let mut bits: FxHashMap<(TypeId, u64), Vec<(u32, u64)>> = FxHashMap::default();
        for write in direct.iter().flatten().filter(|w| matters(w)).chain([&Write::Place(Place::Plain)]) {
            let next = places.len() as u32;
            if let Entry::Vacant(entry) = places.entry(*write) {
                entry.insert(next);
                if let Write::Bits(ty, offset, mask) = *write {
                    bits.entry((ty, offset)).or_default().push((next, mask));
                }
            }
        }
        let words = places.len().div_ceil(64);
        let mut this = Self {
            places,
            bits,
            sets: vec![0; words * direct.len()],
            words,
            calls_unknown: EntitySet::with_capacity(direct.len()),
        };
        for (function, written) in direct.iter().enumerate() {
            for write in written.iter().filter(|w| matters(w)) {
                let bit = this.places[write] as usize;
                this.sets[function * words + bit / 64] |= 1 << (bit % 64);
            }
            let id = FuncId::from_index(function);
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
            let (into, from) = (function.index() * self.words, callee.index() * self.words);
            for word in 0..self.words {
                self.sets[into + word] |= self.sets[from + word];
            }
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
            let before: FxHashMap<FuncId, Vec<u64>> = members.iter().map(|f| (*f, self.set(*f).to_vec())).collect();
            for function in members {
                for callee in program.callees(*function) {
                    let Some(set) = before.get(&callee) else { continue };
                    let into = function.index() * self.words;
                    self.sets[into..into + self.words].iter_mut().zip(set).for_each(|(a, b)| *a |= b);
                }
            }
        }
    }

    /// What each function may write, as marks that do not depend on numbers.
    pub(crate) fn marks(&self, names: &Names) -> Vec<u64> {
        let mut places = vec![0u64; self.places.len()];
        let name = |write: &Write| match write {
            Write::Place(Place::Field(ty, offset)) => mark(&(1, names.types.names[ty.index()], offset)),
            Write::Place(Place::Global(global)) => mark(&(2, names.globals.names[global.index()])),
            Write::Place(Place::Plain) => mark(&3),
            Write::Bits(ty, offset, bits) => mark(&(4, names.types.names[ty.index()], offset, bits)),
            Write::Whole(ty, offset) => mark(&(5, names.types.names[ty.index()], offset)),
        };
        self.places.iter().for_each(|(write, number)| places[*number as usize] = name(write));
        let of_function = |index: usize| {
            let function = FuncId::from_index(index);
            let mut sum = u64::from(self.calls_unknown.contains(function));
            for (at, word) in self.set(function).iter().enumerate() {
                let mut word = *word;
                while word != 0 {
                    // Sums do not depend on the order of places.
                    sum = sum.wrapping_add(places[at * 64 + word.trailing_zeros() as usize]);
                    word &= word - 1;
                }
            }
            sum
        };
        (0..names.functions.names.len()).into_par_iter().map(of_function).collect()
    }

    fn set(&self, function: FuncId) -> &[u64] {
        let start = function.index() * self.words;
        &self.sets[start..start + self.words]
    }

    /// The number of a place, for [`Modified::has`]; None when nothing in the program writes it.
    pub fn number(&self, place: Place) -> Option<u32> {
        self.places.get(&Write::Place(place)).copied()
    }

    /// Whether a function may write the place of this number.
    pub fn has(&self, function: FuncId, number: u32) -> bool {
        note(Read::Writes(function));
        let bit = number as usize;
        self.set(function)[bit / 64] & (1 << (bit % 64)) != 0
    }

    /// Whether a function may write a place.
    pub fn may_write(&self, function: FuncId, place: Place) -> bool {
        self.number(place).is_some_and(|number| self.has(function, number))
    }

    /// Whether some store of the program writes only some bits of a field.
    pub fn is_written_in_bits(&self, ty: TypeId, offset: u64) -> bool {
        self.bits.contains_key(&(ty, offset))
    }

    /// The bits of a field that a function leaves as they are.
    pub fn kept_bits(&self, function: FuncId, ty: TypeId, offset: u64) -> u64 {
        let writes = |write: Write| self.places.get(&write).is_some_and(|number| self.has(function, *number));
        match self.bits.get(&(ty, offset)) {
            Some(parts) if !writes(Write::Whole(ty, offset)) => {
                let changed = parts.iter().filter(|(number, _)| self.has(function, *number));
                !changed.fold(0, |all, (_, mask)| all | mask)
            }
            Some(_) => 0,
            None if writes(Write::Place(Place::Field(ty, offset))) => 0,
            None => u64::MAX,
        }
    }

    /// Whether a function may end up in unknown code.
    pub fn calls_unknown(&self, function: FuncId) -> bool {
        note(Read::Writes(function));
        self.calls_unknown.contains(function)
    }
}

/// The place a field is, whatever structure around it the code went through.
pub fn field_place(program: &Program, ty: TypeId, offset: u64) -> Place {
    let spot = program.types().spot(ty, offset);
    Place::Field(spot.ty, spot.offset)
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
        vec![Write::Place(Place::Plain)]
    }
}

/// What a body writes itself. Sorted.
pub(crate) fn of_body(program: &Program, function: FuncId, body: &Body) -> Vec<Write> {
    let mut writer = Writer { program, function, body, bound: None, written: Vec::new() };
    let bit_writes = bit_writes(body);
    for (id, inst) in body.insts.iter() {
        match inst {
            Inst::Store { address, ty: Type::Aggregate(bytes), .. } => {
                writer.write(*address, Size::Bytes(u64::from(*bytes)));
            }
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
            return match size {
                Size::Bytes(bytes) => self.write_whole(ty, offset, bytes),
                Size::Value => self.write_field(ty, offset, None),
                Size::Bits(mask) => self.write_field(ty, offset, Some(mask)),
            };
        }
        let place = match at {
            Operand::Const(c) => self.global(self.body.consts[c]),
            Operand::Value(_) => Some(Place::Plain),
        };
        self.written.extend(place.map(Write::Place));
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

    fn global(&self, constant: Constant) -> Option<Place> {
        let Constant::Global { global, .. } = constant else { return None };
        let unit = self.program.function(self.function).unit;
        self.program.resolve_global(unit, global).first().map(|g| Place::Global(*g))
    }

    /// A field, and what overlaps it in a union.
    fn write_field(&mut self, ty: TypeId, offset: u64, bits: Option<u64>) {
        let types = self.program.types();
        let written = types.spot(ty, offset);
        for spot in types.overlapping(written) {
            self.written.push(Write::Place(Place::Field(spot.ty, spot.offset)));
            self.written.push(match bits {
                Some(mask) if spot == written => Write::Bits(spot.ty, spot.offset, mask),
                _ => Write::Whole(spot.ty, spot.offset),
            });
        }
    }

    /// The first bytes of the structure at a place; the place alone when there is none.
    fn write_whole(&mut self, ty: TypeId, offset: u64, bytes: u64) {
        self.write_field(ty, offset, None);
        let Some(inner) = self.structure_at(ty, offset) else { return };
        let mut work = vec![(inner, 0)];
        let before = self.written.len();
        while let Some((ty, start)) = work.pop() {
            for field in self.program.type_info(ty).fields.iter().filter(|f| start + f.offset < bytes) {
                if self.written.len() - before > 2 * MAX_FIELDS {
                    return;
                }
                match field.embedded() {
                    Some(inner) if inner != ty => work.push((inner, start + field.offset)),
                    _ => {
                        self.written.push(Write::Place(Place::Field(ty, field.offset)));
                        self.written.push(Write::Whole(ty, field.offset));
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
