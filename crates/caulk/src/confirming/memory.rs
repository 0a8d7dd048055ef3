//! From what a path needs, and from types, to the memory that a harness starts with.
//!
//! A parameter that is a pointer gets a block of the size of what it points to, with blocks of its own for the pointers in it, some levels
//! deep; all else is zero. What the path needs is then put on top of that.

use std::collections::BTreeMap;

use caulk_explore::{InputPlace, InputValue};
use caulk_harness::{Kind, Plan, Word};
use caulk_ir::{Function, InstId, Pointee, Type};
use caulk_program::{GlobalVarId, Program, TypeId, UnitId};

use super::texts::NeededText;

/// Room for what a pointer points to, when its type says nothing.
const PLAIN_BYTES: u64 = 4096;
/// After a structure: many end in an array whose length no type tells.
const SPARE_BYTES: u64 = 256;
/// Elements of an array of pointers that lead somewhere.
const MAX_ELEMENTS: u64 = 2;
/// The same for an array of texts: the words of a command line or of a line of a configuration, which a loop takes one after the other.
const MAX_WORDS: u64 = 8;
/// Structures inside of structures.
const MAX_NESTING: u32 = 12;
/// Blocks of one plan.
const MAX_BLOCKS: usize = 4_000;

/// How the memory that no path speaks of is filled.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Filling<'a> {
    /// Pointers that are followed from a parameter; those beyond are null.
    pub depth: u32,
    /// Numbers that are parameters.
    pub number: u64,
    /// Whether variables are filled too.
    pub variables: bool,
    /// Text in memory of no known type.
    pub text: &'a str,
}

/// Whether something points to texts, as far as types tell: to pointers to no structure.
fn is_texts(pointee: Pointee) -> bool {
    pointee.target.is_none() && pointee.depth == 2 && !pointee.is_function
}

fn is_words(declaration: &Function, index: usize) -> bool {
    declaration.params.get(index).is_some_and(|param| is_texts(param.pointee))
}

/// A plan in the making.
pub(crate) struct Memory<'a> {
    program: &'a Program,
    filling: Filling<'a>,
    /// Variables that the harness can name.
    variables: &'a [GlobalVarId],
    pub plan: Plan,
    arguments: Vec<Option<Word>>,
    /// What calls return that must lead to memory which the path speaks of.
    results: BTreeMap<(u32, InstId), usize>,
    /// What callees leave in variables of the function.
    locals: Vec<LocalCell>,
    /// Types that are being filled, so that lists end.
    outer: Vec<TypeId>,
}

/// A piece of a variable of the function, as some callee leaves it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct LocalCell {
    pub local: InstId,
    pub offset: u64,
    pub bytes: u8,
    pub word: Word,
}

/// Something that has an address.
#[derive(Clone, Copy)]
enum Holder {
    Block(usize),
    Variable(usize),
    Local(InstId),
}

impl<'a> Memory<'a> {
    pub(crate) fn new(program: &'a Program, variables: &'a [GlobalVarId], filling: Filling<'a>) -> Self {
        let (plan, arguments, outer) = (Plan::default(), Vec::new(), Vec::new());
        let (results, locals) = (BTreeMap::new(), Vec::new());
        Self { program, filling, variables, plan, arguments, results, locals, outer }
    }

    /// Makes the arguments of a function, and fills variables where that is wanted.
    pub(crate) fn fill(&mut self, unit: UnitId, declaration: &Function, kinds: &[Kind]) {
        for (index, kind) in kinds.iter().enumerate() {
            let param = declaration.params.get(index).map(|param| param.pointee).unwrap_or_default();
            let is_pointer = declaration.signature.params.get(index) == Some(&Type::Ptr);
            let word = match kind {
                Kind::Bytes(size) => self.plan.block(*size).map(Word::Block),
                _ if is_pointer => Some(self.pointer(unit, param, self.filling.depth + 1)),
                // `int argc, char **argv`.
                _ if self.filling.number == 0 && is_words(declaration, index + 1) => Some(Word::Number(MAX_WORDS)),
                _ => Some(Word::Number(self.filling.number)),
            };
            self.arguments.push(word);
        }
        if self.filling.variables {
            (0..self.variables.len()).for_each(|at| self.fill_variable(at));
        }
    }

    /// What the result of a call leads to, by its type.
    pub(crate) fn fill_result(&mut self, call: InstId, unit: UnitId, pointee: Pointee) {
        if let Word::Block(block) = self.pointer(unit, pointee, self.filling.depth + 1) {
            self.results.insert((0, call), block);
        }
    }

    /// What a call that is left out may leave where an argument points: memory by the type of that.
    pub(crate) fn fill_argument(&mut self, call: usize, argument: usize, unit: UnitId, pointee: Pointee) {
        let inner = Pointee { depth: pointee.depth - 1, ..pointee };
        if let word @ Word::Block(_) = self.pointer(unit, inner, self.filling.depth) {
            self.plan.fill(call, argument, word);
        }
    }

    fn fill_variable(&mut self, at: usize) {
        let info = self.program.global(self.variables[at]);
        let (unit, pointee, size) = (info.unit, info.declaration.pointee, info.declaration.size);
        if info.declaration.is_const || !matches!(info.declaration.init, caulk_ir::Initialiser::Zero) {
            return;
        }
        if pointee.depth > 0 && size == 8 {
            let word = self.pointer(unit, pointee, self.filling.depth);
            self.plan.variable(at, 0, 8, word);
        } else if let Some(target) = pointee.target.filter(|_| pointee.depth == 0) {
            let ty = self.program.resolve_struct(unit, target);
            // An array of structures has its first one filled.
            if self.program.type_info(ty).size <= size {
                self.fill_type(Holder::Variable(at), 0, ty, self.filling.depth, 0);
            }
        }
    }

    /// A pointer to something new, or null where no more pointers are followed.
    fn pointer(&mut self, unit: UnitId, pointee: Pointee, depth: u32) -> Word {
        let target = pointee.target.map(|target| self.program.resolve_struct(unit, target));
        self.pointer_to(pointee, target, depth)
    }

    fn pointer_to(&mut self, pointee: Pointee, target: Option<TypeId>, depth: u32) -> Word {
        if depth == 0 || self.plan.blocks() >= MAX_BLOCKS {
            return Word::Number(0);
        }
        if pointee.is_function && pointee.depth <= 1 {
            return Word::Function;
        }
        let size = target.filter(|_| pointee.depth <= 1).map_or(0, |ty| self.program.type_info(ty).size);
        let is_plain = size == 0;
        let Some(block) = self.plan.block(if is_plain { PLAIN_BYTES } else { size + SPARE_BYTES }) else {
            return Word::Number(0);
        };
        match target {
            // A list of things like this one ends here.
            Some(ty) if !is_plain && self.outer.contains(&ty) => {}
            Some(ty) if !is_plain => self.fill_type(Holder::Block(block), 0, ty, depth - 1, 0),
            _ if pointee.depth > 1 => {
                // The end of an array of pointers is a null pointer.
                let inner = Pointee { depth: pointee.depth - 1, ..pointee };
                let elements = if is_texts(pointee) { MAX_WORDS } else { MAX_ELEMENTS };
                for element in 0..elements {
                    let word = self.pointer_to(inner, target, depth - 1);
                    self.plan.set(block, element * 8, 8, word);
                }
                // Some programs end their words with an empty one.
                for element in elements..if is_texts(pointee) { 2 * MAX_WORDS } else { elements } {
                    let word = self.plan.block(PLAIN_BYTES).map_or(Word::Number(0), Word::Block);
                    self.plan.set(block, element * 8, 8, word);
                }
            }
            _ => {
                for (at, byte) in (0..).zip(self.filling.text.bytes()) {
                    self.plan.set(block, at, 1, Word::Number(byte.into()));
                }
            }
        }
        Word::Block(block)
    }

    fn fill_type(&mut self, holder: Holder, base: u64, ty: TypeId, depth: u32, nesting: u32) {
        if let Holder::Block(block) = holder
            && self.is_ring(ty)
        {
            let links = self.program.type_info(ty).fields.iter().map(|field| base + field.offset).collect::<Vec<_>>();
            links.into_iter().for_each(|link| self.put(holder, link, 8, Word::Inside(block, base)));
            return;
        }
        if depth == 0 || nesting > MAX_NESTING {
            return;
        }
        self.outer.push(ty);
        let info = self.program.type_info(ty);
        let fields = if info.is_union { &info.fields[..info.fields.len().min(1)] } else { &info.fields[..] };
        for field in fields {
            let place = base + field.offset;
            if let Some(inner) = field.embedded() {
                let is_known = self.program.type_info(inner).size > 0;
                if is_known && !self.outer.contains(&inner) {
                    self.fill_type(holder, place, inner, depth, nesting + 1);
                }
            } else if field.pointee.depth > 0 && !field.is_vptr {
                // A list of things like this one ends here.
                let is_link =
                    field.pointee.depth == 1 && field.target.is_some_and(|target| self.outer.contains(&target));
                let elements = (field.size / 8).clamp(1, MAX_ELEMENTS);
                for element in (0..elements).filter(|_| !is_link) {
                    let word = self.pointer_to(field.pointee, field.target, depth);
                    self.put(holder, place + element * 8, 8, word);
                }
            }
        }
        self.outer.pop();
    }

    /// Whether a structure has nothing but links to others of its kind: an empty list of such leads to itself.
    fn is_ring(&self, ty: TypeId) -> bool {
        let info = self.program.type_info(ty);
        let is_link = |field: &caulk_program::FieldInfo| field.pointee.depth == 1 && field.target == Some(ty);
        !info.is_union && info.fields.len() > 1 && info.fields.iter().all(is_link)
    }

    fn put(&mut self, holder: Holder, offset: u64, bytes: u8, word: Word) {
        match holder {
            Holder::Block(block) => self.plan.set(block, offset, bytes, word),
            Holder::Variable(variable) => self.plan.variable(variable, offset, bytes, word),
            Holder::Local(local) => {
                self.locals.retain(|cell| (cell.local, cell.offset) != (local, offset));
                self.locals.push(LocalCell { local, offset, bytes, word });
            }
        }
    }

    /// Makes a value what the path needs. Results of calls are not memory; what cannot be reached is left out.
    pub(crate) fn need(&mut self, place: &InputPlace, value: InputValue) {
        match (place, value) {
            (_, InputValue::NotNull) if matches!(self.word(place), Some(Word::Function | Word::Inside(..))) => {}
            (InputPlace::Param(index), InputValue::NotNull) => _ = self.pointed_to(&InputPlace::Param(*index)),
            (InputPlace::Param(index), InputValue::Null) => self.set_argument(*index, Word::Number(0)),
            (InputPlace::Param(index), InputValue::Number(_, number)) => {
                self.set_argument(*index, Word::Number(number))
            }
            (InputPlace::Cell { .. }, InputValue::NotNull) => _ = self.pointed_to(place),
            (InputPlace::Cell { holder, offset }, value) => {
                let Some(holder) = self.pointed_to(holder) else { return };
                let Ok(offset) = u64::try_from(*offset) else { return };
                let (bytes, number) = match value {
                    InputValue::Number(bits, number) => ((bits / 8).max(1).next_power_of_two(), number),
                    _ => (8, 0),
                };
                self.put(holder, offset, bytes, Word::Number(number));
            }
            (InputPlace::Global(_) | InputPlace::Local(_) | InputPlace::Result { .. }, _) => {}
        }
    }

    /// Puts a text where a path needs it, with the zero at its end.
    pub(crate) fn need_text(&mut self, text: &NeededText) {
        let Some(holder) = self.pointed_to(&text.place) else { return };
        for (at, byte) in (text.offset..).zip(text.bytes.iter().copied().chain([0])) {
            self.put(holder, at, 1, Word::Number(byte.into()));
        }
    }

    fn set_argument(&mut self, index: u32, word: Word) {
        if let Some(argument) = self.arguments.get_mut(index as usize) {
            *argument = Some(word);
        }
    }

    /// What a value is, as far as it was decided.
    fn word(&mut self, place: &InputPlace) -> Option<Word> {
        match place {
            InputPlace::Param(index) => *self.arguments.get(*index as usize)?,
            InputPlace::Global(_) | InputPlace::Local(_) | InputPlace::Result { .. } => None,
            InputPlace::Cell { holder, offset } => {
                let offset = u64::try_from(*offset).ok()?;
                match self.pointed_to(holder)? {
                    Holder::Block(block) => self.plan.word(block, offset),
                    Holder::Variable(variable) => self.plan.variable_word(variable, offset),
                    Holder::Local(local) => {
                        let mut cells = self.locals.iter();
                        cells.find(|cell| (cell.local, cell.offset) == (local, offset)).map(|cell| cell.word)
                    }
                }
            }
        }
    }

    /// What a value points to; a block is made where it is null.
    fn pointed_to(&mut self, place: &InputPlace) -> Option<Holder> {
        if let InputPlace::Global(global) = place {
            return self.variables.iter().position(|own| own == global).map(Holder::Variable);
        }
        if let InputPlace::Local(local) = place {
            return Some(Holder::Local(*local));
        }
        if let InputPlace::Result { nth, call } = place {
            return self.result(*nth, *call).map(Holder::Block);
        }
        if let Some(Word::Block(block)) = self.word(place) {
            return Some(Holder::Block(block));
        }
        match place {
            InputPlace::Param(index) => {
                let block = self.plan.block(PLAIN_BYTES)?;
                self.set_argument(*index, Word::Block(block));
                Some(Holder::Block(block))
            }
            InputPlace::Global(_) | InputPlace::Local(_) | InputPlace::Result { .. } => None,
            InputPlace::Cell { holder, offset } => {
                let holder = self.pointed_to(holder)?;
                let offset = u64::try_from(*offset).ok()?;
                let block = self.plan.block(PLAIN_BYTES)?;
                self.put(holder, offset, 8, Word::Block(block));
                Some(Holder::Block(block))
            }
        }
    }

    /// The block that the result of a call points to.
    fn result(&mut self, nth: u32, call: InstId) -> Option<usize> {
        if let Some(block) = self.results.get(&(nth, call)) {
            return Some(*block);
        }
        let block = self.plan.block(PLAIN_BYTES)?;
        self.results.insert((nth, call), block);
        Some(block)
    }

    /// The plan, the blocks that results of calls point to, and what callees leave in variables of the function.
    pub(crate) fn finish(mut self) -> (Plan, BTreeMap<(u32, InstId), usize>, Vec<LocalCell>) {
        for (index, word) in self.arguments.iter().enumerate() {
            self.plan.argument(index, word.unwrap_or(Word::Number(0)));
        }
        (self.plan, self.results, self.locals)
    }
}
