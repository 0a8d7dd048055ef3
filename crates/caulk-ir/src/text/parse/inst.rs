//! One instruction, behind its `%name =`.

use smallvec::SmallVec;

use crate::constant::Constant;
use crate::inst::{AddressStep, ArithFlags, CallData, CallFlags, Callee, Inst, Operand};
use crate::text::error::Parsed;
use crate::text::lexer::Token;
use crate::text::print_body::{BOOL, BYTE, LENGTH};
use crate::text::words::{BINARY_OPS, CALL_FLAGS, CAST_OPS, COMPARE_OPS, UNKNOWN_REASONS, meaning};
use crate::types::Type;
use crate::unit::Signature;

use super::Declared;
use super::body::BodyParser;
use super::cursor::{Label, List};

impl BodyParser<'_, '_> {
    pub(super) fn operation(&mut self) -> Parsed<Inst> {
        let start = self.parser.cursor.position();
        let Token::Word(word) = *self.parser.cursor.peek() else {
            return self.parser.cursor.expected("an instruction");
        };
        self.parser.cursor.advance();
        for group in [Self::arithmetic, Self::memory, Self::terminator] {
            if let Some(inst) = group(self, word)? {
                return Ok(inst);
            }
        }
        self.parser.cursor.error_at(start, format!("expected an instruction, found `{word}`"))
    }

    fn comma(&mut self) -> Parsed<()> {
        self.parser.cursor.expect(",")
    }

    fn pointer(&mut self) -> Parsed<Operand> {
        self.operand(Some(Type::Ptr))
    }

    fn next_operand(&mut self, context: Type) -> Parsed<Operand> {
        self.comma()?;
        self.operand(Some(context))
    }

    /// Instructions that make a value out of others.
    fn arithmetic(&mut self, word: &str) -> Parsed<Option<Inst>> {
        if let Some(op) = meaning(BINARY_OPS, word) {
            let no_signed_wrap = self.parser.cursor.eat_word("nsw");
            let flags = ArithFlags { no_signed_wrap, no_unsigned_wrap: self.parser.cursor.eat_word("nuw") };
            let ty = self.parser.ty()?;
            let (lhs, rhs) = (self.operand(Some(ty))?, self.next_operand(ty)?);
            return Ok(Some(Inst::Binary { op, ty, lhs, rhs, flags }));
        }
        if let Some(op) = meaning(COMPARE_OPS, word) {
            let ty = self.parser.ty()?;
            let (lhs, rhs) = (self.operand(Some(ty))?, self.next_operand(ty)?);
            return Ok(Some(Inst::Compare { op, ty, lhs, rhs }));
        }
        if let Some(op) = meaning(CAST_OPS, word) {
            let from = self.parser.ty()?;
            let value = self.operand(Some(from))?;
            self.parser.cursor.expect_word("to")?;
            return Ok(Some(Inst::Cast { op, from, to: self.parser.ty()?, value }));
        }
        Ok(Some(match word {
            "select" => {
                let ty = self.parser.ty()?;
                let cond = self.operand(Some(BOOL))?;
                Inst::Select { ty, cond, then: self.next_operand(ty)?, other: self.next_operand(ty)? }
            }
            "phi" => self.phi()?,
            "extract" => {
                let ty = self.parser.ty()?;
                Inst::Extract { ty, aggregate: self.operand(None)?, offset: self.part()? }
            }
            "insert" => {
                let ty = self.parser.ty()?;
                let aggregate = self.operand(Some(ty))?;
                self.comma()?;
                Inst::Insert { ty, aggregate, value: self.operand(None)?, offset: self.part()? }
            }
            "landing_pad" => Inst::LandingPad { ty: self.parser.ty()? },
            "unknown" => self.unknown()?,
            _ => return Ok(None),
        }))
    }

    /// `at 8`
    fn part(&mut self) -> Parsed<u32> {
        self.parser.cursor.expect_word("at")?;
        self.parser.cursor.number("an offset in bytes")
    }

    /// `phi i32 [block1: 0, block2: %3]`
    fn phi(&mut self) -> Parsed<Inst> {
        let ty = self.parser.ty()?;
        let mut incoming = SmallVec::new();
        self.parser.cursor.expect("[")?;
        let mut list = List::until("]");
        while self.parser.cursor.more(&mut list)? {
            let block = self.block()?;
            self.parser.cursor.expect(":")?;
            incoming.push((block, self.operand(Some(ty))?));
        }
        Ok(Inst::Phi { ty, incoming })
    }

    /// `unknown i32 intrinsic(%1)`
    fn unknown(&mut self) -> Parsed<Inst> {
        let ty = self.parser.ty()?;
        let reason = match *self.parser.cursor.peek() {
            Token::Word(word) => meaning(UNKNOWN_REASONS, word),
            _ => None,
        };
        let Some(reason) = reason else { return self.parser.cursor.expected("why the value is unknown") };
        self.parser.cursor.advance();
        let mut operands = SmallVec::new();
        self.parser.cursor.expect("(")?;
        let mut list = List::until(")");
        while self.parser.cursor.more(&mut list)? {
            operands.push(self.operand(None)?);
        }
        Ok(Inst::Unknown { ty, reason, operands })
    }

    /// Instructions on memory and variables, and calls.
    fn memory(&mut self, word: &str) -> Parsed<Option<Inst>> {
        Ok(Some(match word {
            "local" => {
                let size = self.parser.cursor.number("a size in bytes")?;
                let count = if self.parser.cursor.eat("*") { Some(self.operand(Some(LENGTH))?) } else { None };
                let var = if self.parser.cursor.eat_word("var") { Some(self.var()?) } else { None };
                Inst::Local { size, count, var }
            }
            "scope_start" => Inst::ScopeStart { local: self.value()? },
            "scope_end" => Inst::ScopeEnd { local: self.value()? },
            "bind" => {
                let var = self.var()?;
                self.comma()?;
                Inst::Bind { var, value: self.operand(None)? }
            }
            "unbind" => Inst::Unbind { var: self.var()? },
            "load" => {
                let volatile = self.parser.cursor.eat_word("volatile");
                Inst::Load { ty: self.parser.ty()?, address: self.pointer()?, volatile }
            }
            "store" => {
                let volatile = self.parser.cursor.eat_word("volatile");
                let ty = self.parser.ty()?;
                let value = self.operand(Some(ty))?;
                Inst::Store { ty, value, address: self.next_operand(Type::Ptr)?, volatile }
            }
            "address" => {
                let base = self.pointer()?;
                let mut steps = SmallVec::new();
                while self.parser.cursor.eat(",") {
                    steps.push(self.step()?);
                }
                Inst::Address { base, steps }
            }
            "copy" => {
                let dst = self.pointer()?;
                Inst::Copy { dst, src: self.next_operand(Type::Ptr)?, len: self.next_operand(LENGTH)? }
            }
            "fill" => {
                let dst = self.pointer()?;
                Inst::Fill { dst, byte: self.next_operand(BYTE)?, len: self.next_operand(LENGTH)? }
            }
            "call" => Inst::Call(Box::new(self.call()?)),
            _ => return Ok(None),
        }))
    }

    /// `+8`, `-8`, `+8 by 3`, `[2 * 16]`, `[%i * 16]`, `node.next` or `node+8`.
    fn step(&mut self) -> Parsed<AddressStep> {
        if self.parser.cursor.sees("+") || self.parser.cursor.sees("-") {
            let offset = self.parser.offset()?;
            let stride =
                if self.parser.cursor.eat_word("by") { self.parser.cursor.number("a size in bytes")? } else { 1 };
            return Ok(AddressStep::Bytes { offset, stride });
        }
        if self.parser.cursor.eat("[") {
            return self.element();
        }
        self.field()
    }

    fn element(&mut self) -> Parsed<AddressStep> {
        let sign = usize::from(self.parser.cursor.sees("-"));
        // A number with a type is an operand, one without is counted in bytes at once.
        let plain = matches!(self.parser.cursor.look(sign), Token::Integer { .. })
            && *self.parser.cursor.look(sign + 1) == Token::Mark("*");
        let step = if plain {
            let position = self.parser.cursor.position();
            let index = self.parser.cursor.signed("an index")?;
            let stride = self.stride()?;
            let Some(offset) = index.checked_mul(i128::from(stride)).and_then(|o| i64::try_from(o).ok()) else {
                return self.parser.cursor.error_at(position, "the offset is too large for 64 bits");
            };
            AddressStep::Bytes { offset, stride }
        } else {
            AddressStep::Index { index: self.operand(None)?, stride: self.stride()? }
        };
        self.parser.cursor.expect("]")?;
        Ok(step)
    }

    fn stride(&mut self) -> Parsed<u64> {
        self.parser.cursor.expect("*")?;
        self.parser.cursor.number("the size of an element in bytes")
    }

    fn field(&mut self) -> Parsed<AddressStep> {
        let start = self.parser.cursor.position();
        let ty = self.parser.struct_ref()?;
        if self.parser.cursor.eat("+") {
            return Ok(AddressStep::Field { ty, offset: self.parser.cursor.number("an offset in bytes")? });
        }
        self.parser.cursor.expect(".")?;
        let name = self.parser.cursor.name("the name of a field")?;
        let unit = &self.parser.unit;
        let mut found = unit.structs[ty].fields.iter().filter(|f| f.name.is_some_and(|n| unit.str(n) == name));
        match (found.next(), found.next()) {
            (Some(field), None) => Ok(AddressStep::Field { ty, offset: field.offset }),
            (None, _) => {
                let name = format!("{}.{name}", unit.str(unit.structs[ty].name));
                self.parser.cursor.error_at(start, format!("there is no field {name}: declare it, or give its offset"))
            }
            _ => self.parser.cursor.error_at(start, format!("several fields are called {name}: give the offset")),
        }
    }

    /// `ptr @malloc(i64 32) no_unwind`
    fn call(&mut self) -> Parsed<CallData> {
        let ret = self.parser.ty()?;
        let position = self.parser.cursor.position();
        let callee = self.callee()?;
        let mut call = CallData {
            callee: Callee::Indirect(Operand::Value(crate::InstId(0))),
            args: SmallVec::new(),
            arg_types: SmallVec::new(),
            ret,
            variadic: false,
            flags: CallFlags::default(),
            by_value: SmallVec::new(),
        };
        self.parser.cursor.expect("(")?;
        let mut list = List::until(")");
        while self.parser.cursor.more(&mut list)? {
            self.argument(&mut call)?;
        }
        while self.parser.flag(CALL_FLAGS, &mut call.flags) {}
        call.callee = match callee {
            Target::Known(callee) => callee,
            Target::Undeclared(label) if label.1 == 1 => {
                let signature = Signature { params: call.arg_types.to_vec(), ret, variadic: call.variadic };
                Callee::Direct(self.parser.declare_function_as(label, signature))
            }
            Target::Undeclared(label) => {
                return self.parser.cursor.error_at(position, format!("there is no function @{}#{}", label.0, label.1));
            }
        };
        Ok(call)
    }

    fn callee(&mut self) -> Parsed<Target> {
        if self.parser.cursor.eat_word("asm") {
            let text = self.parser.cursor.text("the text of the assembly")?;
            return Ok(Target::Known(Callee::Assembly(self.parser.intern(&text))));
        }
        if !matches!(self.parser.cursor.peek(), Token::Symbol(_)) {
            return Ok(Target::Known(Callee::Indirect(self.pointer()?)));
        }
        let label = self.parser.cursor.symbol_label()?;
        Ok(match self.parser.symbols.get(&label).copied() {
            Some(Declared::Function(function)) => Target::Known(Callee::Direct(function)),
            Some(Declared::Global(global)) => {
                let constant: Constant = self.parser.global_offset(global)?;
                Target::Known(Callee::Indirect(self.intern_constant(constant)))
            }
            None => Target::Undeclared(label),
        })
    }

    /// `i32 3`, `ptr by_value %2` or `...`
    fn argument(&mut self, call: &mut CallData) -> Parsed<()> {
        if self.parser.cursor.eat("...") {
            call.variadic = true;
            return Ok(());
        }
        let ty = self.parser.ty()?;
        if self.parser.cursor.eat_word("by_value") {
            match u16::try_from(call.args.len()) {
                Ok(index) => call.by_value.push(index),
                Err(_) => return self.parser.cursor.error("too many arguments before one passed by value"),
            }
        }
        let arg = self.operand(Some(ty))?;
        call.args.push(arg);
        call.arg_types.push(ty);
        Ok(())
    }

    fn terminator(&mut self, word: &str) -> Parsed<Option<Inst>> {
        Ok(Some(match word {
            "jump" => Inst::Jump { target: self.block()? },
            "branch" => {
                let cond = self.operand(Some(BOOL))?;
                self.comma()?;
                let then = self.block()?;
                self.comma()?;
                Inst::Branch { cond, then, other: self.block()? }
            }
            "switch" => self.switch()?,
            "indirect_jump" => {
                let address = self.pointer()?;
                let mut targets = Vec::new();
                self.parser.cursor.expect("[")?;
                let mut list = List::until("]");
                while self.parser.cursor.more(&mut list)? {
                    targets.push(self.block()?);
                }
                Inst::IndirectJump { address, targets }
            }
            "return" => {
                let ends = matches!(self.parser.cursor.peek(), Token::Newline | Token::End | Token::Mark("@" | "}"));
                Inst::Return { value: if ends { None } else { Some(self.operand(Some(self.ret))?) } }
            }
            "invoke" => {
                let call = Box::new(self.call()?);
                self.parser.cursor.expect_word("to")?;
                let normal = self.block()?;
                self.parser.cursor.expect_word("unwind")?;
                Inst::Invoke { call, normal, unwind: self.block()? }
            }
            "resume" => Inst::Resume { value: self.operand(None)? },
            "unreachable" => Inst::Unreachable,
            _ => return Ok(None),
        }))
    }

    /// `switch i32 %3 { 1 -> block1, else -> block2 }`
    fn switch(&mut self) -> Parsed<Inst> {
        let ty = self.parser.ty()?;
        let bits = if let Type::Int(bits @ 1..) = ty { bits } else { u64::BITS as u16 };
        let value = self.operand(Some(ty))?;
        let (mut cases, mut default) = (Vec::new(), None);
        self.parser.cursor.expect("{")?;
        let mut list = List::until("}");
        while self.parser.cursor.more(&mut list)? {
            let case = if self.parser.cursor.eat_word("else") { None } else { Some(self.parser.bits(bits, true)?) };
            self.parser.cursor.expect("->")?;
            let target = self.block()?;
            match case {
                Some(case) => cases.push((case, target)),
                None => default = Some(target),
            }
        }
        match default {
            Some(default) => Ok(Inst::Switch { ty, value, cases, default }),
            None => self.parser.cursor.expected("an `else` in the switch"),
        }
    }
}

/// What is called.
enum Target {
    Known(Callee),
    /// Declared by this call, once its arguments are known.
    Undeclared(Label),
}
