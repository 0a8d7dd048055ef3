//! Instructions other than calls, and the values they compute.

use std::rc::Rc;

use caulk_ir::{AddressStep, ArithFlags, BinaryOp, CastOp, CompareOp, Inst, InstId, Operand, Type, UnknownReason};
use caulk_memory::{Class, Relation};
use caulk_rules::Rule;
use caulk_solver::{BinaryOp as TermOp, Comparison, NoWrap, Node, TermId, TermPool};
use caulk_summary::Event;

use crate::frame::width_of;
use crate::machine::Machine;
use crate::state::{Ownership, State};
use crate::symbols::{Key, Origin, Part};

impl Machine<'_> {
    /// Executes an instruction that is no call, no phi and no terminator.
    pub(crate) fn step(&mut self, state: &mut State, inst: InstId) {
        let frame = self.frame;
        match &frame.body.insts[inst] {
            Inst::Local { .. } => {
                let address = self.symbols.local(&mut self.pool, inst);
                state.set(inst, address);
            }
            Inst::ScopeStart { local } | Inst::ScopeEnd { local } => self.scope(state, *local, inst),
            Inst::Load { ty, address, .. } => {
                let program_point = self.program_point(state, inst);
                let class = frame.class_of(*address);
                self.need_array(state, *address);
                let address = self.operand(state, *address);
                self.dereference(state, address);
                let value = self.load(state, address, *ty, class, &program_point);
                self.assume_error(state, inst, value);
                self.assume_hook(state, class, value);
                state.set(inst, value);
            }
            Inst::Store { ty, value, address, .. } => {
                let class = frame.class_of(*address);
                self.need_array(state, *address);
                let (value, address) = (self.operand(state, *value), self.operand(state, *address));
                self.dereference(state, address);
                self.store(state, address, value, *ty, class, inst);
            }
            Inst::Copy { dst, src, len } => {
                let (dst, src, len) = (self.operand(state, *dst), self.operand(state, *src), self.operand(state, *len));
                self.need_bytes(state, dst, Some(src), len);
                self.copy(state, dst, src, len, inst);
            }
            Inst::Fill { dst, byte, len } => {
                let (dst, byte, len) =
                    (self.operand(state, *dst), self.operand(state, *byte), self.operand(state, *len));
                self.need_bytes(state, dst, None, len);
                self.fill(state, dst, byte, len, inst);
            }
            Inst::Unknown { ty: Type::Int(1), reason: UnknownReason::Overflow, .. }
                if self.world.config.rules.applies(Rule::NoOverflow, true) =>
            {
                state.set(inst, TermPool::FALSE);
            }
            Inst::Unknown { ty, operands, .. } => {
                let parts: Vec<TermId> = operands.iter().map(|o| self.operand(state, *o)).collect();
                let program_point = self.program_point(state, inst);
                let value = self.unknown_from(state, &program_point, *ty, &parts);
                state.set(inst, value);
                if state.tracked.is_some_and(|t| parts.iter().any(|p| self.leads_to(state, *p, t))) {
                    self.settle(state, Ownership::Kept);
                }
            }
            kind if kind.result_type() != Type::Void => {
                let value = self.value(state, inst);
                state.set(inst, value);
            }
            _ => {}
        }
    }

    /// `rc = -errno`: there was an error, unless the path has just cleared it.
    fn assume_error(&mut self, state: &mut State, inst: InstId, value: TermId) {
        let is_copied = self.frame.copied_errnos.contains(&inst);
        if !self.world.config.rules.applies(Rule::CopiedErrors, is_copied) {
            return;
        }
        let is_error = self.relation(value, Relation::at_least(1));
        if state.facts.implied(&self.pool, is_error) != Some(false) {
            state.facts.assume(&mut self.pool, is_error);
        }
    }

    /// `if (method->free)`: every table has such a function. What the path has stored there is known better.
    fn assume_hook(&mut self, state: &mut State, class: Class, value: TermId) {
        let Class::Field(ty, offset) = class else { return };
        if self.pool.as_symbol(value).is_none() || !self.world.analysis.survey.is_set_hook((ty, offset)) {
            return;
        }
        let zero = self.pool.constant(self.pool.width(value), 0);
        let is_null = self.pool.eq(value, zero);
        let is_open = state.facts.implied(&self.pool, is_null).is_none();
        if self.world.config.rules.applies(Rule::SetHooks, is_open) {
            self.assume(state, value, Relation::NONZERO);
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
                        let program_point = self.program_point(state, inst);
                        self.unknown_from(state, &program_point, *ty, &[a, b])
                    }
                }
            }
            Inst::Compare { op, lhs, rhs, .. } => {
                let (mut a, b) = (self.operand(state, *lhs), self.operand(state, *rhs));
                // An element of an array is null where the array is.
                if frame.body.operand_type(*lhs) == Type::Ptr && self.pool.as_const(b) == Some(0) {
                    a = self.array_of(a).unwrap_or(a);
                }
                match *op {
                    op if op != CompareOp::Float && self.pool.width(a) == self.pool.width(b) => self.compare(op, a, b),
                    _ => {
                        let program_point = self.program_point(state, inst);
                        self.unknown(&program_point, Part::Value, Type::Int(1))
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
                        let program_point = self.program_point(state, inst);
                        self.unknown_from(state, &program_point, *ty, &[a, b])
                    }
                }
            }
            kind => {
                let mut parts: Vec<TermId> = Vec::new();
                kind.for_each_operand(|operand| parts.push(self.operand(state, *operand)));
                let program_point = self.program_point(state, inst);
                self.unknown_from(state, &program_point, kind.result_type(), &parts)
            }
        }
    }

    fn address(&mut self, state: &State, base: TermId, steps: &[AddressStep]) -> TermId {
        let mut address = base;
        for step in steps {
            address = match *step {
                AddressStep::Field { offset, .. } => self.pool.offset(address, offset as i64, true),
                AddressStep::Bytes { offset, .. } => self.pool.offset(address, offset, true),
                AddressStep::Index { index, stride } => {
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
                let program_point = self.program_point(state, inst);
                self.unknown_from(state, &program_point, to, &[value])
            }
        }
    }

    pub(crate) fn compare(&mut self, op: CompareOp, a: TermId, b: TermId) -> TermId {
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

    /// Equality, with what is known of addresses: an object is not null and no other object; a fresh block, or a variable of this call, is no
    /// pointer that was there before it.
    fn equal(&mut self, a: TermId, b: TermId) -> TermId {
        let ((x, dx), (y, dy)) = (self.pool.split_offset(a), self.pool.split_offset(b));
        let kind = |term: TermId| match self.symbols.origin(&self.pool, term) {
            Some(Origin::Local(_)) => Address::Own,
            Some(Origin::Global(_) | Origin::Function(_)) => Address::Object,
            Some(Origin::Block(_)) => Address::Block,
            Some(Origin::Param(_) | Origin::Initial(_)) => Address::Older,
            None if self.pool.as_const(term) == Some(0) => Address::Null,
            _ => Address::Any,
        };
        match (kind(x), kind(y)) {
            _ if x == y => self.pool.eq(a, b),
            (Address::Object | Address::Own, Address::Object | Address::Own | Address::Null | Address::Block)
            | (Address::Null | Address::Block, Address::Object | Address::Own)
            | (Address::Own, Address::Older)
            | (Address::Older, Address::Own) => self.pool.boolean(false),
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

    /// The pointer that an address is computed from by adding an index.
    fn array_of(&self, address: TermId) -> Option<TermId> {
        let (address, _) = self.pool.split_offset(address);
        let Node::Binary(TermOp::Add, _, x, y) = self.pool.node(address) else { return None };
        // Results and unknowns may be numbers as well.
        let is_pointer = |term: TermId| {
            let is_vague = matches!(self.origin(term), Origin::Result(_) | Origin::Unknown);
            self.root(term) == Some(term) && !is_vague
        };
        [x, y].into_iter().find(|term| is_pointer(*term))
    }

    /// A condition of a callee, with what the caller knows of addresses.
    pub(crate) fn evident(&mut self, condition: TermId) -> TermId {
        match self.pool.node(condition) {
            Node::Not(inner) => {
                let inner = self.evident(inner);
                self.pool.not(inner)
            }
            Node::Compare(Comparison::Eq, a, b) if self.pool.width(a) == 64 => self.equal(a, b),
            // What a callee was asked, as a number.
            Node::ZExt(inner) => {
                let width = self.pool.width(condition);
                let inner = self.evident(inner);
                self.pool.zext(inner, width)
            }
            _ => condition,
        }
    }

    /// The element of an array that is null is not there either, whatever its index.
    fn need_array(&mut self, state: &mut State, address: Operand) {
        let mut at = address;
        while let Operand::Value(value) = at
            && let Inst::Address { base, .. } = &self.frame.body.insts[value]
        {
            at = *base;
        }
        if at == address {
            return;
        }
        let (array, zero) = (self.operand(state, at), self.pool.constant(64, 0));
        let is_null = self.pool.eq(array, zero);
        if state.facts.implied(&self.pool, is_null) == Some(true) {
            state.facts.assume(&mut self.pool, TermPool::FALSE);
        }
    }

    /// Where bytes are written to is there, and where they are read from. Of an unknown number of bytes only the first is said: an empty
    /// buffer is null often, and `memcpy(new, old, 0)` reads nothing from it.
    fn need_bytes(&mut self, state: &mut State, dst: TermId, src: Option<TermId>, len: TermId) {
        let bytes = state.facts.value(&self.pool, len);
        if bytes == Some(0) {
            return;
        }
        if bytes.is_some() || self.world.config.rules.is_on(Rule::LibraryDemands) {
            self.dereference(state, dst);
        }
        if let Some(src) = src.filter(|_| bytes.is_some()) {
            self.dereference(state, src);
        }
    }

    /// What is read from or written to is there: its address is not null.
    pub(crate) fn dereference(&mut self, state: &mut State, address: TermId) {
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
    pub(crate) fn decided_by_dereference(&self, state: &State, condition: TermId) -> Option<bool> {
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
    /// Of a static variable or function: never null.
    Object,
    /// Of a variable of this call: never null.
    Own,
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
