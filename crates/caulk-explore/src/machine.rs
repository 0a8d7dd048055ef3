//! One execution of a function on symbols: values, addresses and memory. Calls are in `call.rs`, paths in `search.rs`.

use std::rc::Rc;

use caulk_ir::{ArithFlags, BinaryOp, CastOp, CompareOp, Constant, Initialiser, Inst, InstId, Operand, Step, Type};
use caulk_program::FuncId;
use caulk_solver::{BinaryOp as TermOp, Comparison, NoWrap, Node, Solver, TermId, TermPool};
use caulk_useflow::CallEffect;
use rustc_hash::FxHashMap;
use smallvec::SmallVec;

use crate::frame::{Class, Frame, bytes_of, is_pointer, width_of};
use crate::memory::Content;
use crate::state::{Fate, State};
use crate::symbols::{Key, Moment, Origin, Symbols};
use crate::witness::Event;
use crate::world::World;

/// Unknowns that merges of paths leave are numbered from here on.
const FIRST_SERIAL: u32 = 1 << 24;

/// A pure call is known by its function, its arguments, and the memory it saw.
pub type PureCall = (FuncId, SmallVec<[TermId; 4]>, u32);

pub struct Machine<'a> {
    pub world: &'a World<'a>,
    pub frame: &'a Frame<'a>,
    pub pool: TermPool,
    pub solver: Solver,
    pub symbols: Symbols,
    pub pure_results: FxHashMap<PureCall, TermId>,
    /// Versions of memory are numbered over all paths.
    pub versions: u32,
    pub steps: usize,
    pub known_effects: FxHashMap<InstId, Option<Rc<CallEffect<'a>>>>,
    /// There is no object to follow: every block and every value given matters.
    pub follows_all: bool,
    /// Functions taken by their summaries: what they write is known only by class.
    pub opaque: Vec<FuncId>,
}

impl<'a> Machine<'a> {
    pub fn new(world: &'a World<'a>, frame: &'a Frame<'a>) -> Self {
        Self {
            world,
            frame,
            pool: TermPool::new(world.config.solver.clone()),
            solver: Solver::new(),
            symbols: Symbols::default(),
            pure_results: FxHashMap::default(),
            versions: 0,
            steps: 0,
            known_effects: FxHashMap::default(),
            follows_all: false,
            opaque: Vec::new(),
        }
    }

    pub fn start(&mut self) -> State {
        let mut state = State::new(self.frame.body.insts.len());
        for (inst, kind) in self.frame.body.insts.iter() {
            let Inst::Param { index, ty } = kind else { break };
            let width = width_of(*ty).unwrap_or(64);
            let term = self.symbols.param(&mut self.pool, *index, width, is_pointer(*ty));
            state.set(inst, term);
        }
        state
    }

    pub fn moment(&self, state: &State, inst: InstId) -> Moment {
        let headers = &self.frame.loops[self.frame.homes[inst]];
        (inst, headers.iter().map(|h| state.round(*h)).collect())
    }

    /// Any value of a type.
    pub fn unknown(&mut self, moment: &Moment, part: u32, ty: Type) -> TermId {
        let width = width_of(ty).unwrap_or(64);
        self.symbols.at(&mut self.pool, moment.clone(), part, width, Origin::Unknown, is_pointer(ty))
    }

    /// Any value of a type that may have been made from the object, if one of its parts was.
    fn unknown_from(&mut self, state: &State, moment: &Moment, ty: Type, parts: &[TermId]) -> TermId {
        match state.tracked.filter(|t| parts.iter().any(|p| self.points_to(*p, *t))) {
            Some(object) => self.derived(moment, 0, object, ty),
            None => self.unknown(moment, 0, ty),
        }
    }

    /// An unknown of its own in place of a value.
    pub fn anew(&mut self, value: TermId) -> TermId {
        let width = self.pool.width(value);
        self.symbols.make(&mut self.pool, width, Origin::Unknown, width == 64)
    }

    pub fn derived(&mut self, moment: &Moment, part: u32, root: TermId, ty: Type) -> TermId {
        let width = width_of(ty).unwrap_or(64);
        self.symbols.at(&mut self.pool, moment.clone(), part, width, Origin::Derived(root), true)
    }

    pub fn points_to(&self, value: TermId, object: TermId) -> bool {
        self.symbols.points_to(&self.pool, value, object)
    }

    /// Whether a cell holds a pointer into an object.
    pub fn cell_points_to(&self, content: &Content, object: TermId) -> bool {
        content.points == Some(object)
            || (content.points.is_some()
                && matches!(self.pool.node(content.value), Node::Ite(..))
                && self.points_to(content.value, object))
    }

    pub fn content(&self, key: Key, value: TermId, bytes: u64, class: Class) -> Content {
        Content { value, bytes, class, holder: self.root(key.base), points: self.root(value) }
    }

    pub fn root(&self, value: TermId) -> Option<TermId> {
        self.symbols.root(&self.pool, value)
    }

    pub fn origin(&self, root: TermId) -> Origin {
        self.symbols.origin(&self.pool, root).unwrap_or(Origin::Unknown)
    }

    pub fn operand(&mut self, state: &State, operand: Operand) -> TermId {
        match operand {
            Operand::Value(v) => match state.get(v) {
                Some(term) => term,
                None => {
                    let moment = self.moment(state, v);
                    self.unknown(&moment, FIRST_SERIAL + state.serial, self.frame.body.insts[v].result_type())
                }
            },
            Operand::Const(c) => self.constant(self.frame.body.consts[c]),
        }
    }

    pub fn constant(&mut self, constant: Constant) -> TermId {
        match constant {
            Constant::Int { bits, value } if (1..=64).contains(&bits) => self.pool.constant(bits as u8, value),
            Constant::Null | Constant::Zero(_) => self.pool.constant(64, 0),
            Constant::Pointer(value) | Constant::Float { value, .. } => self.pool.constant(64, value),
            Constant::Global { global, offset } => {
                match self.frame.program.resolve_global(self.frame.unit, global).first() {
                    Some(global) => {
                        let base = self.symbols.global(&mut self.pool, *global);
                        self.pool.offset(base, offset, true)
                    }
                    None => self.anything(constant.ty()),
                }
            }
            Constant::Function(function) => {
                match self.frame.program.resolve_function(self.frame.unit, function).first() {
                    Some(function) => self.symbols.function(&mut self.pool, *function),
                    None => self.anything(Type::Ptr),
                }
            }
            other => self.anything(other.ty()),
        }
    }

    /// A constant without meaning: the same unknown each time does no harm, since nothing is learnt of it.
    fn anything(&mut self, ty: Type) -> TermId {
        self.unknown(&(InstId(u32::MAX), SmallVec::new()), 0, ty)
    }

    // -----------------------------------------------------------------------------------------------------------------
    // Memory

    pub fn key(&self, address: TermId) -> Key {
        let (base, offset) = self.pool.split_offset(address);
        Key { base, offset: offset as i64 }
    }

    pub fn load(&mut self, state: &State, address: TermId, ty: Type, class: Class, moment: &Moment) -> TermId {
        let key = self.key(address);
        let bytes = bytes_of(ty);
        let Some(width) = width_of(ty) else {
            let parts: Vec<TermId> = state.memory.overlapping(key, bytes).map(|(_, c)| c.value).collect();
            return self.unknown_from(state, moment, ty, &parts);
        };
        if let Some(content) = state.memory.get(key) {
            let known = self.pool.width(content.value);
            if known == width {
                return content.value;
            }
            if known > width {
                return self.pool.trunc(content.value, width);
            }
        }
        let parts: Vec<TermId> = state.memory.overlapping(key, bytes).map(|(_, c)| c.value).collect();
        if !parts.is_empty() {
            return self.unknown_from(state, moment, ty, &parts);
        }
        if let Some(object) = self.may_hold_elsewhere(state, key, class) {
            return self.derived(moment, 0, object, ty);
        }
        if state.memory.is_zeroed(key, bytes) {
            return self.pool.constant(width, 0);
        }
        if let Some(value) = self.constant_contents(key, ty) {
            return value;
        }
        self.symbols.initial(&mut self.pool, key, width, class, is_pointer(ty))
    }

    /// The object, if a cell that may be the one at `key` (another element of the same array, say) holds it.
    fn may_hold_elsewhere(&self, state: &State, key: Key, class: Class) -> Option<TermId> {
        let object = state.tracked?;
        let root = self.root(key.base)?;
        let meets = |(at, content): (Key, &Content)| {
            at.base != key.base
                && content.class.meets(class)
                && self.cell_points_to(content, object)
                && content.holder == Some(root)
        };
        state.memory.iter().any(meets).then_some(object)
    }

    /// What a constant global holds.
    fn constant_contents(&mut self, key: Key, ty: Type) -> Option<TermId> {
        let Origin::Global(global) = self.origin(key.base) else { return None };
        let info = self.frame.program.global(global);
        if !info.declaration.is_const {
            return None;
        }
        let width = width_of(ty)?;
        match &info.declaration.init {
            Initialiser::Zero => Some(self.pool.constant(width, 0)),
            Initialiser::Items { items, complete } => {
                let item = items.iter().find(|item| i64::try_from(item.offset) == Ok(key.offset));
                match item.map(|item| item.value) {
                    Some(Constant::Int { bits, value }) if bits == u16::from(width) => {
                        Some(self.pool.constant(width, value))
                    }
                    Some(Constant::Null) => Some(self.pool.constant(width, 0)),
                    Some(_) => None,
                    None => complete.then(|| self.pool.constant(width, 0)),
                }
            }
            _ => None,
        }
    }

    pub fn store(&mut self, state: &mut State, address: TermId, value: TermId, ty: Type, class: Class, inst: InstId) {
        let key = self.key(address);
        let bytes = bytes_of(ty);
        if let Some(object) = state.tracked {
            let held = state.memory.overlapping(key, bytes).any(|(_, c)| self.cell_points_to(c, object));
            let holds = self.points_to(value, object);
            if held && !holds {
                state.trail.add(inst, Event::Overwritten);
            }
            if holds {
                state.trail.add(inst, Event::Stored);
            }
        }
        if self.is_relinked(state, key, bytes, value, inst) {
            self.settle(state, Fate::Kept);
        }
        self.forget_siblings(state, key, class, inst);
        if state.memory.len() < self.world.config.max_cells {
            let content = self.content(key, value, bytes, class);
            state.memory_mut().set(key, content);
        } else {
            state.is_blurred = true;
        }
        if !self.root(key.base).is_some_and(|r| matches!(self.origin(r), Origin::Local(_))) {
            self.touch(state);
        }
    }

    /// A callee puts something else where memory of others led to the object. A list that is appended to moves its tail on, and
    /// what it does with the rest is the list's affair.
    fn is_relinked(&self, state: &State, key: Key, bytes: u64, value: TermId, inst: InstId) -> bool {
        let Some(object) = state.tracked.filter(|_| self.frame.body.insts[inst].call().is_some()) else { return false };
        let is_others =
            self.root(key.base).is_some_and(|r| !matches!(self.origin(r), Origin::Local(_) | Origin::Block(_)));
        let led = |content: &Content| content.points.is_some() && self.leads_to(state, content.value, object);
        is_others && state.memory.overlapping(key, bytes).any(|(_, c)| led(c)) && !self.leads_to(state, value, object)
    }

    /// Memory that others see has changed.
    pub fn touch(&mut self, state: &mut State) {
        self.versions += 1;
        state.version = self.versions;
    }

    /// Other elements of an array that may be the one that is written to.
    fn forget_siblings(&mut self, state: &mut State, key: Key, class: Class, inst: InstId) {
        let Some(root) = self.root(key.base) else { return };
        let is_element = self.pool.as_symbol(key.base).is_none();
        let is_sibling = |machine: &Self, at: Key, c: Class, holder: Option<TermId>| {
            holder == Some(root)
                && at.base != key.base
                && c.meets(class)
                && (is_element || machine.pool.as_symbol(at.base).is_none())
        };
        self.forget_where(state, inst, is_sibling);
    }

    /// Cells chosen hold something unknown from now on, except where they hold the object: who may or may not hold it goes on
    /// holding it.
    pub fn forget_where(
        &mut self,
        state: &mut State,
        inst: InstId,
        choose: impl Fn(&Self, Key, Class, Option<TermId>) -> bool,
    ) {
        let mut chosen: Vec<(Key, Class, u8)> = Vec::new();
        for (key, content) in state.memory.iter() {
            let holds = match state.tracked {
                Some(object) => self.cell_points_to(content, object),
                // Any caller's object may be the one that matters.
                None => self.follows_all && content.points.is_some_and(|root| self.is_object(root)),
            };
            if !holds && choose(self, key, content.class, content.holder) {
                chosen.push((key, content.class, self.pool.width(content.value)));
            }
        }
        for cell in self.symbols.initial_cells() {
            if choose(self, cell.key, cell.class, cell.holder) && state.memory.get(cell.key).is_none() {
                chosen.push((cell.key, cell.class, self.pool.width(cell.value)));
            }
        }
        if chosen.is_empty() {
            return;
        }
        let moment = self.moment(state, inst);
        for (part, (key, class, width)) in chosen.into_iter().enumerate() {
            let ty = if width == 64 { Type::Ptr } else { Type::Int(u16::from(width)) };
            let value = self.unknown(&moment, 1000 + part as u32, ty);
            let content = self.content(key, value, bytes_of(ty), class);
            state.memory_mut().set(key, content);
        }
    }

    /// A block of this function, or something it was given.
    fn is_object(&self, root: TermId) -> bool {
        matches!(self.origin(root), Origin::Block(_) | Origin::Param(_))
    }

    /// Forgets what lies in a run of bytes; None: at any offset.
    pub fn forget_range(&mut self, state: &mut State, address: TermId, bytes: Option<u64>, inst: InstId) {
        let key = self.key(address);
        let end = bytes.map(|b| key.offset.saturating_add(b.min(i64::MAX as u64) as i64));
        state.memory_mut().forget_zeroes(key.base);
        let inside = |_: &Self, at: Key, _: Class, _: Option<TermId>| {
            at.base == key.base && end.is_none_or(|end| key.offset <= at.offset && at.offset < end)
        };
        self.forget_where(state, inst, inside);
    }

    /// Memory that the function did not make itself: what is in it callers know better.
    fn is_callers(&self, key: Key) -> bool {
        let root = self.root(key.base).map(|root| self.origin(root));
        matches!(root, Some(Origin::Param(_) | Origin::Initial(_)))
    }

    pub fn copy(&mut self, state: &mut State, dst: TermId, src: TermId, len: TermId, inst: InstId) {
        let (from, to) = (self.key(src), self.key(dst));
        let bytes = state.facts.value(&self.pool, len);
        let Some(bytes) = bytes else {
            // How much goes over is not known: what held the object may hold it twice now.
            let holds = state.tracked.is_some_and(|object| {
                state.memory.iter().any(|(at, c)| at.base == from.base && self.cell_points_to(c, object))
            });
            if holds && from.base != to.base {
                self.settle(state, Fate::Kept);
            }
            return self.forget_range(state, dst, None, inst);
        };
        let mut carried: Vec<(Key, Content)> = state.memory.overlapping(from, bytes).map(|(at, c)| (at, *c)).collect();
        for cell in self.symbols.initial_cells() {
            let end = from.offset.saturating_add(bytes as i64);
            if cell.key.base == from.base
                && (from.offset..end).contains(&cell.key.offset)
                && !carried.iter().any(|(known, _)| *known == cell.key)
            {
                let bytes = u64::from(self.pool.width(cell.value)).div_ceil(8);
                carried.push((cell.key, self.content(cell.key, cell.value, bytes, cell.class)));
            }
        }
        if self.follows_all && self.is_callers(from) {
            Rc::make_mut(&mut state.copies).push((to, from, bytes));
        }
        let zeroed = state.memory.is_zeroed(from, bytes);
        if let Some(object) = state.tracked
            && state.memory.overlapping(to, bytes).any(|(_, c)| self.cell_points_to(c, object))
        {
            state.trail.add(inst, Event::Overwritten);
        }
        let gone: Vec<Key> = state.memory.overlapping(to, bytes).map(|(at, _)| at).collect();
        for at in gone {
            state.memory_mut().remove(at);
        }
        self.forget_range(state, dst, Some(bytes), inst);
        if zeroed {
            state.memory_mut().zero(to, bytes);
        }
        for (at, content) in carried {
            let offset = to.offset.saturating_add(at.offset.saturating_sub(from.offset));
            let key = Key { base: to.base, offset };
            let content = self.content(key, content.value, content.bytes, content.class);
            state.memory_mut().set(key, content);
        }
        self.touch(state);
    }

    fn fill(&mut self, state: &mut State, dst: TermId, byte: TermId, len: TermId, inst: InstId) {
        let zero = self.pool.as_const(byte) == Some(0);
        let bytes = state.facts.value(&self.pool, len);
        let key = self.key(dst);
        if let Some(object) = state.tracked
            && state.memory.overlapping(key, bytes.unwrap_or(1)).any(|(_, c)| self.cell_points_to(c, object))
        {
            state.trail.add(inst, Event::Overwritten);
        }
        match bytes {
            Some(bytes) if zero => state.memory_mut().zero(key, bytes),
            bytes => self.forget_range(state, dst, bytes, inst),
        }
        self.touch(state);
    }

    // -----------------------------------------------------------------------------------------------------------------
    // Values

    /// Executes an instruction that is no call, no phi and no terminator.
    pub fn step(&mut self, state: &mut State, inst: InstId) {
        let frame = self.frame;
        match &frame.body.insts[inst] {
            Inst::Local { .. } => {
                let address = self.symbols.local(&mut self.pool, inst);
                state.set(inst, address);
            }
            Inst::ScopeStart { local } | Inst::ScopeEnd { local } => self.scope(state, *local, inst),
            Inst::Load { ty, address, .. } => {
                let moment = self.moment(state, inst);
                let class = frame.class_of(*address);
                let address = self.operand(state, *address);
                self.dereference(state, address);
                let value = self.load(state, address, *ty, class, &moment);
                state.set(inst, value);
            }
            Inst::Store { ty, value, address, .. } => {
                let class = frame.class_of(*address);
                let (value, address) = (self.operand(state, *value), self.operand(state, *address));
                self.dereference(state, address);
                self.store(state, address, value, *ty, class, inst);
            }
            Inst::Copy { dst, src, len } => {
                let (dst, src, len) = (self.operand(state, *dst), self.operand(state, *src), self.operand(state, *len));
                self.copy(state, dst, src, len, inst);
            }
            Inst::Fill { dst, byte, len } => {
                let (dst, byte, len) =
                    (self.operand(state, *dst), self.operand(state, *byte), self.operand(state, *len));
                self.fill(state, dst, byte, len, inst);
            }
            Inst::Unknown { ty, operands, .. } => {
                let parts: Vec<TermId> = operands.iter().map(|o| self.operand(state, *o)).collect();
                let moment = self.moment(state, inst);
                let value = self.unknown_from(state, &moment, *ty, &parts);
                state.set(inst, value);
                if state.tracked.is_some_and(|t| parts.iter().any(|p| self.leads_to(state, *p, t))) {
                    self.settle(state, Fate::Kept);
                }
            }
            kind if kind.result_type() != Type::Void => {
                let value = self.value(state, inst);
                state.set(inst, value);
            }
            _ => {}
        }
    }

    /// A local's contents are gone when its scope begins or ends.
    fn scope(&mut self, state: &mut State, local: InstId, inst: InstId) {
        let base = self.symbols.local(&mut self.pool, local);
        let cells: Vec<(Key, TermId)> =
            state.memory.iter().filter(|(at, _)| at.base == base).map(|(at, c)| (at, c.value)).collect();
        if let Some(object) = state.tracked
            && cells.iter().any(|(_, value)| self.points_to(*value, object))
        {
            let ends = matches!(self.frame.body.insts[inst], Inst::ScopeEnd { .. });
            state.trail.add(inst, if ends { Event::OutOfScope } else { Event::Overwritten });
        }
        if !cells.is_empty() {
            let memory = state.memory_mut();
            cells.iter().for_each(|(at, _)| memory.remove(*at));
            memory.forget_zeroes(base);
        }
    }

    fn value(&mut self, state: &State, inst: InstId) -> TermId {
        let frame = self.frame;
        match &frame.body.insts[inst] {
            Inst::Address { base, steps } => {
                let base = self.operand(state, *base);
                self.address(state, base, steps)
            }
            Inst::Binary { op, ty, lhs, rhs, flags } => {
                let (a, b) = (self.operand(state, *lhs), self.operand(state, *rhs));
                match (term_op(*op), width_of(*ty)) {
                    (Some(op), Some(width)) if self.pool.width(a) == width && self.pool.width(b) == width => {
                        self.pool.binary(op, no_wrap(op, *flags), a, b)
                    }
                    _ => {
                        let moment = self.moment(state, inst);
                        self.unknown_from(state, &moment, *ty, &[a, b])
                    }
                }
            }
            Inst::Compare { op, lhs, rhs, .. } => {
                let (a, b) = (self.operand(state, *lhs), self.operand(state, *rhs));
                match *op {
                    op if op != CompareOp::Float && self.pool.width(a) == self.pool.width(b) => self.compare(op, a, b),
                    _ => {
                        let moment = self.moment(state, inst);
                        self.unknown(&moment, 0, Type::Int(1))
                    }
                }
            }
            Inst::Cast { op, to, value, .. } => {
                let value = self.operand(state, *value);
                self.cast(state, inst, *op, *to, value)
            }
            Inst::Select { ty, cond, then, other } => {
                let (cond, a, b) =
                    (self.operand(state, *cond), self.operand(state, *then), self.operand(state, *other));
                match state.facts.implied(&self.pool, cond) {
                    Some(true) => a,
                    Some(false) => b,
                    None if self.pool.width(a) == self.pool.width(b) && self.pool.width(cond) == 1 => {
                        self.pool.ite(cond, a, b)
                    }
                    None => {
                        let moment = self.moment(state, inst);
                        self.unknown_from(state, &moment, *ty, &[a, b])
                    }
                }
            }
            kind => {
                let mut parts: Vec<TermId> = Vec::new();
                kind.for_each_operand(|operand| parts.push(self.operand(state, *operand)));
                let moment = self.moment(state, inst);
                self.unknown_from(state, &moment, kind.result_type(), &parts)
            }
        }
    }

    fn address(&mut self, state: &State, base: TermId, steps: &[Step]) -> TermId {
        let mut address = base;
        for step in steps {
            address = match *step {
                Step::Field { offset, .. } => self.pool.offset(address, offset as i64, true),
                Step::Bytes { offset, .. } => self.pool.offset(address, offset, true),
                Step::Index { index, stride } => {
                    let index = self.operand(state, index);
                    let wide = if self.pool.width(index) < 64 { self.pool.sext(index, 64) } else { index };
                    let stride = self.pool.constant(64, stride);
                    let bytes = self.pool.mul(wide, stride);
                    self.pool.add(address, bytes)
                }
            };
        }
        address
    }

    fn cast(&mut self, state: &State, inst: InstId, op: CastOp, to: Type, value: TermId) -> TermId {
        let from = self.pool.width(value);
        match (op, width_of(to)) {
            (CastOp::Truncate, Some(width)) if width <= from => self.pool.trunc(value, width),
            (CastOp::SignExtend, Some(width)) if from <= width => self.pool.sext(value, width),
            (CastOp::ZeroExtend | CastOp::PtrToInt | CastOp::IntToPtr | CastOp::Bits, Some(width)) => {
                if width >= from {
                    self.pool.zext(value, width)
                } else {
                    self.pool.trunc(value, width)
                }
            }
            _ => {
                let moment = self.moment(state, inst);
                self.unknown_from(state, &moment, to, &[value])
            }
        }
    }

    pub fn compare(&mut self, op: CompareOp, a: TermId, b: TermId) -> TermId {
        let pool = &mut self.pool;
        match op {
            CompareOp::Eq => self.equal(a, b),
            CompareOp::Ne => {
                let equal = self.equal(a, b);
                self.pool.not(equal)
            }
            CompareOp::ULt => pool.ult(a, b),
            CompareOp::ULe => pool.ule(a, b),
            CompareOp::UGt => pool.ugt(a, b),
            CompareOp::UGe => pool.uge(a, b),
            CompareOp::SLt => pool.compare(Comparison::Slt, a, b),
            CompareOp::SLe => pool.sle(a, b),
            CompareOp::SGt => pool.sgt(a, b),
            CompareOp::SGe => pool.sge(a, b),
            CompareOp::Float => pool.boolean(false),
        }
    }

    /// Equality, with what is known of addresses: an object is not null and no other object, and a fresh block is no pointer that
    /// was there before it.
    fn equal(&mut self, a: TermId, b: TermId) -> TermId {
        let ((x, dx), (y, dy)) = (self.pool.split_offset(a), self.pool.split_offset(b));
        let kind = |term: TermId| match self.symbols.origin(&self.pool, term) {
            Some(Origin::Local(_) | Origin::Global(_) | Origin::Function(_)) => Address::Object,
            Some(Origin::Block(_)) => Address::Block,
            Some(Origin::Param(_) | Origin::Initial(_)) => Address::Older,
            None if self.pool.as_const(term) == Some(0) => Address::Null,
            _ => Address::Any,
        };
        match (kind(x), kind(y)) {
            _ if x == y => self.pool.eq(a, b),
            (Address::Object, Address::Object | Address::Null | Address::Block)
            | (Address::Null | Address::Block, Address::Object) => self.pool.boolean(false),
            // Both may be null, and only then they are equal.
            (Address::Block, Address::Block | Address::Older) | (Address::Older, Address::Block)
                if dx == 0 && dy == 0 =>
            {
                let zero = self.pool.constant(64, 0);
                let (first, second) = (self.pool.eq(x, zero), self.pool.eq(y, zero));
                self.pool.and(first, second)
            }
            _ => self.pool.eq(a, b),
        }
    }

    /// A condition of a callee, with what the caller knows of addresses.
    pub fn evident(&mut self, condition: TermId) -> TermId {
        match self.pool.node(condition) {
            Node::Not(inner) => {
                let inner = self.evident(inner);
                self.pool.not(inner)
            }
            Node::Compare(Comparison::Eq, a, b) if self.pool.width(a) == 64 => self.equal(a, b),
            _ => condition,
        }
    }

    /// What is read from or written to is there: its address is not null.
    fn dereference(&mut self, state: &mut State, address: TermId) {
        /// No object lies below this address.
        const FIRST_PAGE: u64 = 4096;
        let (base, _) = self.pool.split_offset(address);
        if self.pool.as_const(base).is_some_and(|address| address < FIRST_PAGE) {
            state.facts.assume(&mut self.pool, TermPool::FALSE);
            return;
        }
        let is_open = match self.symbols.origin(&self.pool, base) {
            Some(Origin::Local(_) | Origin::Global(_) | Origin::Function(_)) | None => false,
            Some(_) => !state.dereferenced.contains(&base),
        };
        if !is_open {
            return;
        }
        let zero = self.pool.constant(64, 0);
        let is_null = self.pool.eq(base, zero);
        match state.facts.implied(&self.pool, is_null) {
            // The program would have ended here.
            Some(true) => drop(state.facts.assume(&mut self.pool, TermPool::FALSE)),
            Some(false) => {}
            None => {
                let known = Rc::make_mut(&mut state.dereferenced);
                let at = known.partition_point(|b| *b < base);
                known.insert(at, base);
            }
        }
    }

    /// Whether a condition is decided by what was read from or written to before.
    pub fn decided_by_dereference(&self, state: &State, condition: TermId) -> Option<bool> {
        let (atom, value) = match self.pool.node(condition) {
            Node::Not(atom) => (atom, true),
            _ => (condition, false),
        };
        let Node::Compare(Comparison::Eq, a, b) = self.pool.node(atom) else { return None };
        let is_known = |x: TermId| state.dereferenced.binary_search(&x).is_ok();
        let is_null = |x: TermId| self.pool.as_const(x) == Some(0);
        ((is_null(b) && is_known(a)) || (is_null(a) && is_known(b))).then_some(value)
    }
}

/// What kind of pointer a term is.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Address {
    /// Of a variable or function: never null.
    Object,
    /// Made by a call of this function, or null.
    Block,
    /// Was there when the function was entered.
    Older,
    Null,
    Any,
}

fn term_op(op: BinaryOp) -> Option<TermOp> {
    Some(match op {
        BinaryOp::Add => TermOp::Add,
        BinaryOp::Sub => TermOp::Sub,
        BinaryOp::Mul => TermOp::Mul,
        BinaryOp::UDiv => TermOp::UDiv,
        BinaryOp::SDiv => TermOp::SDiv,
        BinaryOp::URem => TermOp::URem,
        BinaryOp::SRem => TermOp::SRem,
        BinaryOp::Shl => TermOp::Shl,
        BinaryOp::LShr => TermOp::LShr,
        BinaryOp::AShr => TermOp::AShr,
        BinaryOp::And => TermOp::And,
        BinaryOp::Or => TermOp::Or,
        BinaryOp::Xor => TermOp::Xor,
        BinaryOp::Float => return None,
    })
}

fn no_wrap(op: TermOp, flags: ArithFlags) -> NoWrap {
    match op {
        TermOp::Add | TermOp::Sub | TermOp::Mul | TermOp::Shl => {
            NoWrap { signed: flags.no_signed_wrap, unsigned: flags.no_unsigned_wrap }
        }
        _ => NoWrap::NONE,
    }
}
