//! Calls.

use caulk_ir::{CallData, CallFlags, Callee, Inst, Operand, Type};
use smallvec::SmallVec;

use super::function::FunctionLowering;
use super::signature::writes;
use crate::llvm::{Attribute, AttributeSite, Opcode, Value, ValueKind};

impl<'m> FunctionLowering<'_, 'm> {
    pub(crate) fn lower_call(&mut self, inst: Value<'m>) {
        let target = inst.called_value();
        let id = match target.kind() {
            ValueKind::LLVMFunctionValueKind => target.intrinsic_id(),
            _ => 0,
        };
        if id != 0 {
            self.lower_intrinsic(inst, id);
            // An intrinsic that is invoked goes on as if it had been called.
            if inst.opcode() == Opcode::LLVMInvoke {
                let normal = self.blocks[&inst.successors()[0]];
                self.emit(Inst::Jump { target: normal });
            }
            return;
        }
        let call = Box::new(self.call_data(inst, target));
        if inst.opcode() == Opcode::LLVMInvoke {
            let targets = inst.successors();
            let (normal, unwind) = (self.blocks[&targets[0]], self.blocks[&targets[1]]);
            self.define(inst, Inst::Invoke { call, normal, unwind });
        } else {
            self.define(inst, Inst::Call(call));
        }
    }

    fn call_data(&mut self, inst: Value<'m>, target: Value<'m>) -> CallData {
        let args: SmallVec<[Value<'m>; 8]> = inst.args().collect();
        let ty = inst.called_type();
        let arg_types: SmallVec<[Type; 4]> = args.iter().map(|a| self.unit.lower_type(a.ty())).collect();
        // Only pointers can have the attribute, and asking LLVM takes longer than looking at the type.
        let by_value = (0..args.len() as u16).filter(|&i| {
            let site = AttributeSite::Param(u32::from(i));
            arg_types[usize::from(i)] == Type::Ptr
                && inst.call_attribute(site, Attribute::ByVal, &self.unit.attributes).is_some()
        });
        CallData {
            by_value: by_value.collect(),
            callee: self.callee(target),
            args: args.into_iter().map(|a| self.operand(a)).collect::<SmallVec<[Operand; 4]>>(),
            arg_types,
            ret: self.unit.lower_type(inst.ty()),
            variadic: ty.is_variadic(),
            flags: self.call_flags(inst),
        }
    }

    fn callee(&mut self, target: Value<'m>) -> Callee {
        if target.kind() == ValueKind::LLVMInlineAsmValueKind {
            let text = target.assembly_text();
            return Callee::Assembly(self.unit.intern(&text));
        }
        match self.unit.functions.get(&target) {
            Some(&function) => Callee::Direct(function),
            None => Callee::Indirect(self.operand(target)),
        }
    }

    fn call_flags(&self, inst: Value<'m>) -> CallFlags {
        let of = |site, a| inst.call_attribute(site, a, &self.unit.attributes);
        let memory = of(AttributeSite::Function, Attribute::Memory);
        CallFlags {
            no_return: of(AttributeSite::Function, Attribute::NoReturn).is_some(),
            no_unwind: of(AttributeSite::Function, Attribute::NoUnwind).is_some(),
            fresh_result: of(AttributeSite::Return, Attribute::NoAlias).is_some(),
            nonnull_result: of(AttributeSite::Return, Attribute::NonNull).is_some(),
            read_only: memory.is_some_and(|m| !writes(m)),
            no_memory: memory == Some(0),
        }
    }
}
