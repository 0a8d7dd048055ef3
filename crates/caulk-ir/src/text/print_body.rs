//! Prints the body of a function.

use std::fmt::{self, Write};

use crate::body::{Body, Variable};
use crate::entity::{BlockId, Entity, FileId, FunctionId, InstId, PlaceId, StructId, VarId};
use crate::inst::{AddressStep, ArithFlags, CallData, Callee, Inst, Operand};
use crate::place::Place;
use crate::types::Type;

use super::label::{Name, Ordinal, Ordinals, Quoted, string};
use super::print::{Printer, integer};
use super::words::{BINARY_OPS, CALL_FLAGS, CAST_OPS, COMPARE_OPS, UNKNOWN_REASONS, flag_words, word};

/// Places begin in this column, so that the code reads undisturbed.
const PLACE_COLUMN: usize = 46;

/// Lengths and counts are nearly always of this type.
pub(super) const LENGTH: Type = Type::Int(64);
pub(super) const BYTE: Type = Type::Int(8);
pub(super) const BOOL: Type = Type::Int(1);

pub(crate) struct BodyPrinter<'a> {
    printer: &'a Printer<'a>,
    body: &'a Body,
    vars: Vec<u32>,
    ret: Type,
    /// The file of places that name none.
    file: FileId,
}

impl<'a> BodyPrinter<'a> {
    pub(crate) fn new(printer: &'a Printer<'a>, function: FunctionId, body: &'a Body) -> Self {
        let mut names = Ordinals::default();
        let vars = body.vars.values().map(|v| names.next(string(printer.unit, v.name))).collect();
        let function = printer.unit.functions.get(function);
        Self {
            printer,
            body,
            vars,
            ret: function.map_or(Type::Void, |f| f.signature.ret),
            file: function.and_then(|f| f.file).unwrap_or(FileId(0)),
        }
    }

    pub(crate) fn print(&self, out: &mut dyn Write) -> fmt::Result {
        for (id, var) in self.body.vars.iter() {
            writeln!(out, "  {}", self.variable(id, var))?;
        }
        for (id, block) in self.body.blocks.iter() {
            writeln!(out, "{id}:")?;
            let end = block.end.index().min(self.body.insts.len());
            for inst in (block.first.index()..end).map(InstId::from_index) {
                let place = self.place(inst);
                if place.is_empty() {
                    writeln!(out, "  {}", self.inst(inst))?;
                } else {
                    writeln!(out, "  {:<PLACE_COLUMN$}{place}", self.inst(inst))?;
                }
            }
        }
        Ok(())
    }

    fn variable(&self, id: VarId, var: &Variable) -> String {
        let param = var.param.map_or(String::new(), |p| format!(" param {p}"));
        let line = if var.line == 0 { String::new() } else { format!(" line {}", var.line) };
        format!("var {}{param}{line}{}", self.var(id), self.printer.pointee(var.pointee))
    }

    pub(crate) fn param_place(&self, index: usize) -> String {
        match self.body.insts.as_slice().get(index) {
            Some(Inst::Param { .. }) => self.place(InstId::from_index(index)),
            _ => String::new(),
        }
    }

    /// ` @ 9:22`, or nothing for the place that says nothing.
    fn place(&self, inst: InstId) -> String {
        let Some(place) = self.body.inst_places.get(inst).and_then(|p| self.body.places.get(*p)) else {
            return " @ <no place>".to_owned();
        };
        let unknown = Place { file: self.file, line: 0, column: 0, inlined: None };
        if *place == unknown { String::new() } else { format!(" @ {}", self.place_chain(place)) }
    }

    fn place_chain(&self, place: &Place) -> String {
        let mut text = self.position(place);
        let mut inlined = place.inlined;
        // Longer than the table, a chain goes round in a circle.
        for _ in 0..=self.body.places.len() {
            let Some(call) = inlined else { return text };
            let function = Name(string(self.printer.unit, call.function));
            let Some(at) = self.body.places.get(call.at) else {
                return format!("{text} inlined {function} at <no {}>", PlaceId(call.at.0));
            };
            text += &format!(" inlined {function} at {}", self.position(at));
            inlined = at.inlined;
        }
        text + " <circle>"
    }

    fn position(&self, place: &Place) -> String {
        let file = if place.file == self.file { String::new() } else { format!("{}:", place.file.0) };
        format!("{file}{}:{}", place.line, place.column)
    }

    pub(crate) fn inst(&self, id: InstId) -> String {
        let Some(inst) = self.body.insts.get(id) else { return format!("<no {id}>") };
        let text = self.operation(inst);
        if inst.result_type() == Type::Void { text } else { format!("{id} = {text}") }
    }

    fn operation(&self, inst: &Inst) -> String {
        match inst {
            Inst::Param { index, ty } => format!("param {index} {ty}"),
            Inst::Local { size, count, var } => {
                let count = count.map_or(String::new(), |c| format!(" * {}", self.operand(c, LENGTH)));
                let var = var.map_or(String::new(), |v| format!(" var {}", self.var(v)));
                format!("local {size}{count}{var}")
            }
            Inst::ScopeStart { local } => format!("scope_start {local}"),
            Inst::ScopeEnd { local } => format!("scope_end {local}"),
            Inst::Bind { var, value } => format!("bind {}, {}", self.var(*var), self.typed_operand(*value)),
            Inst::Unbind { var } => format!("unbind {}", self.var(*var)),
            Inst::Load { ty, address, volatile } => {
                format!("load {}{ty} {}", volatile_word(*volatile), self.pointer(*address))
            }
            Inst::Store { ty, value, address, volatile } => {
                let value = self.operand(*value, *ty);
                format!("store {}{ty} {value}, {}", volatile_word(*volatile), self.pointer(*address))
            }
            Inst::Address { base, steps } => {
                let steps: String = steps.iter().map(|s| format!(", {}", self.step(s))).collect();
                format!("address {}{steps}", self.pointer(*base))
            }
            Inst::Copy { dst, src, len } => {
                format!("copy {}, {}, {}", self.pointer(*dst), self.pointer(*src), self.operand(*len, LENGTH))
            }
            Inst::Fill { dst, byte, len } => {
                format!("fill {}, {}, {}", self.pointer(*dst), self.operand(*byte, BYTE), self.operand(*len, LENGTH))
            }
            Inst::Call(call) => format!("call {}", self.call(call)),
            Inst::Binary { op, ty, lhs, rhs, flags } => {
                let (op, flags) = (word(BINARY_OPS, *op), arith_flags(*flags));
                format!("{op}{flags} {ty} {}, {}", self.operand(*lhs, *ty), self.operand(*rhs, *ty))
            }
            Inst::Compare { op, ty, lhs, rhs } => {
                let op = word(COMPARE_OPS, *op);
                format!("{op} {ty} {}, {}", self.operand(*lhs, *ty), self.operand(*rhs, *ty))
            }
            Inst::Cast { op, from, to, value } => {
                format!("{} {from} {} to {to}", word(CAST_OPS, *op), self.operand(*value, *from))
            }
            Inst::Select { ty, cond, then, other } => {
                let (then, other) = (self.operand(*then, *ty), self.operand(*other, *ty));
                format!("select {ty} {}, {then}, {other}", self.operand(*cond, BOOL))
            }
            Inst::Phi { ty, incoming } => {
                let arms = incoming.iter().map(|(block, v)| format!("{block}: {}", self.operand(*v, *ty)));
                format!("phi {ty} [{}]", list(arms))
            }
            Inst::Extract { ty, aggregate, offset } => {
                format!("extract {ty} {} at {offset}", self.typed_operand(*aggregate))
            }
            Inst::Insert { ty, aggregate, value, offset } => {
                let value = self.typed_operand(*value);
                format!("insert {ty} {}, {value} at {offset}", self.operand(*aggregate, *ty))
            }
            Inst::LandingPad { ty } => format!("landing_pad {ty}"),
            Inst::Unknown { ty, reason, operands } => {
                let operands = list(operands.iter().map(|o| self.typed_operand(*o)));
                format!("unknown {ty} {}({operands})", word(UNKNOWN_REASONS, *reason))
            }
            _ => self.terminator(inst),
        }
    }

    fn terminator(&self, inst: &Inst) -> String {
        match inst {
            Inst::Jump { target } => format!("jump {target}"),
            Inst::Branch { cond, then, other } => format!("branch {}, {then}, {other}", self.operand(*cond, BOOL)),
            Inst::Switch { ty, value, cases, default } => {
                let bits = if let Type::Int(bits) = ty { *bits } else { u64::BITS as u16 };
                let cases: String = cases.iter().map(|(v, to)| format!("{} -> {to}, ", integer(bits, *v))).collect();
                format!("switch {ty} {} {{ {cases}else -> {default} }}", self.operand(*value, *ty))
            }
            Inst::IndirectJump { address, targets } => {
                format!("indirect_jump {} [{}]", self.pointer(*address), list(targets.iter().map(BlockId::to_string)))
            }
            Inst::Return { value: None } => "return".to_owned(),
            Inst::Return { value: Some(value) } => format!("return {}", self.operand(*value, self.ret)),
            Inst::Invoke { call, normal, unwind } => {
                format!("invoke {} to {normal} unwind {unwind}", self.call(call))
            }
            Inst::Resume { value } => format!("resume {}", self.typed_operand(*value)),
            Inst::Unreachable => "unreachable".to_owned(),
            _ => unreachable!("all other instructions are printed by `operation`"),
        }
    }

    fn call(&self, call: &CallData) -> String {
        let callee = match call.callee {
            Callee::Direct(function) => self.printer.function_label(function),
            Callee::Indirect(target) => self.pointer(target),
            Callee::Assembly(text) => format!("asm {}", Quoted(string(self.printer.unit, text))),
        };
        let mut args = Vec::new();
        for (index, arg) in call.args.iter().enumerate() {
            let by_value = if call.by_value.iter().any(|b| usize::from(*b) == index) { "by_value " } else { "" };
            args.push(match call.arg_types.get(index) {
                Some(ty) => format!("{ty} {by_value}{}", self.operand(*arg, *ty)),
                None => format!("<no type> {by_value}{}", self.typed_operand(*arg)),
            });
        }
        if call.variadic {
            args.push("...".to_owned());
        }
        format!("{} {callee}({}){}", call.ret, args.join(", "), flag_words(CALL_FLAGS, &call.flags))
    }

    fn step(&self, step: &AddressStep) -> String {
        match step {
            AddressStep::Field { ty, offset } => self.field(*ty, *offset),
            AddressStep::Bytes { offset, stride: 1 } => format!("{offset:+}"),
            AddressStep::Bytes { offset, stride } => {
                let (wide, by) = (i128::from(*offset), i128::from(*stride));
                if by != 0 && wide % by == 0 {
                    format!("[{} * {stride}]", wide / by)
                } else {
                    format!("{offset:+} by {stride}")
                }
            }
            // With its type, a constant index cannot be taken for a number of bytes.
            AddressStep::Index { index, stride } => format!("[{} * {stride}]", self.typed_operand(*index)),
        }
    }

    /// By name when one named field alone begins there (in a union it is anyone's guess which is meant), and no other
    /// has its name.
    fn field(&self, id: StructId, offset: u64) -> String {
        let label = self.printer.struct_label(id);
        let fields = self.printer.unit.structs.get(id).map_or(&[][..], |s| &s.fields);
        let mut here = fields.iter().filter(|f| f.offset == offset).filter_map(|f| f.name);
        match (here.next(), here.next()) {
            (Some(name), None) if fields.iter().filter(|f| f.name == Some(name)).count() == 1 => {
                format!("{label}.{}", Name(string(self.printer.unit, name)))
            }
            _ => format!("{label}+{offset}"),
        }
    }

    fn var(&self, id: VarId) -> String {
        match (self.body.vars.get(id), self.vars.get(id.index())) {
            (Some(var), Some(n)) => format!("{}{}", Name(string(self.printer.unit, var.name)), Ordinal(*n)),
            _ => format!("<no {id}>"),
        }
    }

    fn pointer(&self, operand: Operand) -> String {
        self.operand(operand, Type::Ptr)
    }

    fn operand(&self, operand: Operand, context: Type) -> String {
        self.operand_in(operand, Some(context))
    }

    /// Where nothing tells the type, a number says it itself.
    fn typed_operand(&self, operand: Operand) -> String {
        self.operand_in(operand, None)
    }

    fn operand_in(&self, operand: Operand, context: Option<Type>) -> String {
        match operand {
            Operand::Value(value) => value.to_string(),
            Operand::Const(id) => match self.body.consts.get(id) {
                Some(constant) => self.printer.constant(*constant, context),
                None => format!("<no {id}>"),
            },
        }
    }
}

fn list(items: impl Iterator<Item = String>) -> String {
    items.collect::<Vec<_>>().join(", ")
}

fn volatile_word(volatile: bool) -> &'static str {
    if volatile { "volatile " } else { "" }
}

fn arith_flags(flags: ArithFlags) -> String {
    let signed = if flags.no_signed_wrap { " nsw" } else { "" };
    let unsigned = if flags.no_unsigned_wrap { " nuw" } else { "" };
    format!("{signed}{unsigned}")
}
