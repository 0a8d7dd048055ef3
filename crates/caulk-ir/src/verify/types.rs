//! Types of operands, where a later part relies on them. A call may disagree with the function it calls: C allows it.

use std::fmt::Display;

use crate::constant::truncate;
use crate::entity::{BlockId, InstId};
use crate::inst::{AddressStep, CallData, Callee, Inst, Operand};
use crate::types::Type;

use super::BodyCheck;

pub(super) fn check(check: &mut BodyCheck<'_>) {
    let body = check.body;
    for block in body.blocks.keys() {
        for id in body.blocks[block].insts() {
            let mut typing = Typing { check, block, id };
            typing.values();
            typing.inst(&body.insts[id]);
        }
    }
}

/// One instruction under check.
struct Typing<'a, 'b> {
    check: &'a mut BodyCheck<'b>,
    block: BlockId,
    id: InstId,
}

impl Typing<'_, '_> {
    fn report(&mut self, problem: String) {
        self.check.report_inst(self.block, self.id, problem);
    }

    fn type_of(&self, operand: Operand) -> Type {
        self.check.body.operand_type(operand)
    }

    /// Instructions without a result cannot be operands.
    fn values(&mut self) {
        let mut void = Vec::new();
        self.check.body.insts[self.id]
            .for_each_operand(|o| void.extend((self.type_of(*o) == Type::Void).then_some(*o)));
        for value in void.into_iter().filter_map(Operand::value) {
            self.report(format!("{value} has no value"));
        }
    }

    fn expect(&mut self, what: impl Display, operand: Operand, expected: Type) {
        let found = self.type_of(operand);
        if found != expected {
            self.report(format!("{what} is {found}, not {expected}"));
        }
    }

    fn expect_int(&mut self, what: impl Display, operand: Operand) {
        let found = self.type_of(operand);
        if !matches!(found, Type::Int(_)) {
            self.report(format!("{what} is {found}, not an integer"));
        }
    }

    /// A condition may also be a vector of conditions, one for each element.
    fn expect_condition(&mut self, cond: Operand) {
        if !matches!(self.type_of(cond), Type::Vector(_)) {
            self.expect("the condition", cond, Type::Int(1));
        }
    }

    fn inst(&mut self, inst: &Inst) {
        match inst {
            Inst::Local { count: Some(count), .. } => self.expect_int("the count", *count),
            Inst::Load { address, .. } => self.expect("the address", *address, Type::Ptr),
            Inst::Store { ty, value, address, .. } => {
                self.expect("the value", *value, *ty);
                self.expect("the address", *address, Type::Ptr);
            }
            Inst::Address { base, steps } => {
                self.expect("the base", *base, Type::Ptr);
                for step in steps {
                    if let AddressStep::Index { index, .. } = step {
                        self.expect_int("the index", *index);
                    }
                }
            }
            Inst::Copy { dst, src, len } => {
                self.expect("the destination", *dst, Type::Ptr);
                self.expect("the source", *src, Type::Ptr);
                self.expect_int("the length", *len);
            }
            Inst::Fill { dst, byte, len } => {
                self.expect("the destination", *dst, Type::Ptr);
                self.expect("the byte", *byte, Type::Int(8));
                self.expect_int("the length", *len);
            }
            Inst::Binary { ty, lhs, rhs, .. } | Inst::Compare { ty, lhs, rhs, .. } => {
                self.expect("the left side", *lhs, *ty);
                self.expect("the right side", *rhs, *ty);
            }
            Inst::Cast { from, value, .. } => self.expect("the value", *value, *from),
            Inst::Select { ty, cond, then, other } => {
                self.expect_condition(*cond);
                self.expect("the first choice", *then, *ty);
                self.expect("the second choice", *other, *ty);
            }
            Inst::Phi { ty, incoming } => {
                for (from, value) in incoming {
                    self.expect(format_args!("the value from {from}"), *value, *ty);
                }
            }
            Inst::Insert { ty, aggregate, .. } => self.expect("the aggregate", *aggregate, *ty),
            Inst::Call(call) | Inst::Invoke { call, .. } => self.call(call),
            Inst::Branch { cond, .. } => self.expect("the condition", *cond, Type::Int(1)),
            Inst::Switch { ty, value, cases, .. } => {
                self.expect_int("the value", *value);
                self.expect("the value", *value, *ty);
                self.cases(*ty, cases);
            }
            Inst::IndirectJump { address, .. } => self.expect("the address", *address, Type::Ptr),
            Inst::Return { value } => self.returned(*value),
            _ => {}
        }
    }

    fn cases(&mut self, ty: Type, cases: &[(u64, BlockId)]) {
        let Type::Int(bits) = ty else { return };
        for (case, _) in cases.iter().filter(|(case, _)| truncate(*case, bits) != *case) {
            self.report(format!("the case {case:#x} does not fit into i{bits}"));
        }
    }

    fn call(&mut self, call: &CallData) {
        if let Callee::Indirect(target) = call.callee {
            self.expect("the called value", target, Type::Ptr);
        }
        for (index, (arg, ty)) in call.args.iter().zip(&call.arg_types).enumerate() {
            self.expect(format_args!("argument {index}"), *arg, *ty);
        }
        for index in &call.by_value {
            self.expect(format_args!("argument {index}, passed by value,"), call.args[usize::from(*index)], Type::Ptr);
        }
    }

    fn returned(&mut self, value: Option<Operand>) {
        match (value, self.check.function.signature.ret) {
            (None, Type::Void) => {}
            (None, ty) => self.report(format!("the function returns {ty}, and no value is given")),
            (Some(value), ty) => self.expect("the returned value", value, ty),
        }
    }
}
