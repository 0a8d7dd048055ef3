//! Which structure of the source an LLVM type is, where its name does not tell: instances of one template, and
//! structures of one name in several functions.
//!
//! What a pointer is declared to point to tells it. Parameters are asked before any body is lowered, since that is where
//! methods get their object; all other values when code first steps into the type.

use caulk_ir::{Inst, Operand, Pointee, Step, StructId};

use super::function::FunctionLowering;
use super::unit::Lowering;
use crate::llvm::{Opcode, Ty, TypeKind, Value, ValueKind};

impl<'m> Lowering<'m> {
    /// Joins the types that functions step into through their parameters with what these are declared to point to.
    pub(super) fn join_types_of_params(&mut self) {
        let module = self.module;
        for function in module.functions() {
            let Some(&id) = self.functions.get(&function) else { continue };
            if function.is_declaration() {
                continue;
            }
            for (index, param) in function.params().into_iter().enumerate() {
                let pointee = self.unit.functions[id].params.get(index).map(|p| p.pointee).unwrap_or_default();
                if let Some(target) = pointed_to(pointee).filter(|t| self.shares_its_name(*t)) {
                    self.join_types_stepped_into(param, target);
                }
            }
        }
    }

    /// clang stores a parameter in a slot and loads it from there for every use.
    fn join_types_stepped_into(&mut self, param: Value<'m>, target: StructId) {
        let slots = param.users().filter(|u| is(*u, Opcode::LLVMStore) && u.operand(0) == param).map(|s| s.operand(1));
        let loads = slots.flat_map(Value::users).filter(|u| is(*u, Opcode::LLVMLoad));
        let steps = loads.flat_map(|load| load.users().filter(move |u| steps_from(*u, load)));
        for ty in steps.map(Value::gep_source_type).collect::<Vec<_>>() {
            self.join(ty, target);
        }
    }
}

impl<'m> FunctionLowering<'_, 'm> {
    /// Joins the type that an address computation steps into with what its base is declared to point to.
    pub(super) fn join_type_of_base(&mut self, address: Value<'m>) {
        let ty = address.gep_source_type();
        if matches!(ty.kind(), TypeKind::Struct)
            && !self.unit.is_joined(ty)
            && let Some(target) = self.declared_target(address.operand(0))
        {
            self.unit.join(ty, target);
        }
    }

    /// The structure that a value is declared to point to.
    fn declared_target(&self, value: Value<'m>) -> Option<StructId> {
        if value.kind() != ValueKind::LLVMInstructionValueKind {
            return None;
        }
        match value.opcode() {
            Opcode::LLVMLoad => pointed_to(self.declared_contents(value.operand(0))?),
            Opcode::LLVMCall | Opcode::LLVMInvoke => {
                let callee = self.unit.functions.get(&value.called_value())?;
                pointed_to(self.unit.unit.functions[*callee].ret_pointee)
            }
            _ => None,
        }
    }

    /// What the declaration of a variable or field says of its contents.
    fn declared_contents(&self, place: Value<'m>) -> Option<Pointee> {
        match &self.draft.insts[*self.values.get(&place)?] {
            Inst::Local { var: Some(variable), .. } => Some(self.draft.vars[*variable].pointee),
            Inst::Address { base: Operand::Value(_), steps } => {
                let Some(Step::Field { ty, offset }) = steps.last() else { return None };
                let fields = &self.unit.unit.structs[*ty].fields;
                fields.iter().find(|f| f.offset == *offset && f.pointee.depth > 0).map(|f| f.pointee)
            }
            _ => None,
        }
    }
}

fn pointed_to(pointee: Pointee) -> Option<StructId> {
    pointee.target.filter(|_| pointee.depth == 1)
}

fn is(value: Value<'_>, opcode: Opcode) -> bool {
    value.kind() == ValueKind::LLVMInstructionValueKind && value.opcode() == opcode
}

/// Whether a user of `base` steps from it into a structure.
fn steps_from<'m>(user: Value<'m>, base: Value<'m>) -> bool {
    is(user, Opcode::LLVMGetElementPtr) && user.operand(0) == base && is_struct(user.gep_source_type())
}

fn is_struct(ty: Ty<'_>) -> bool {
    matches!(ty.kind(), TypeKind::Struct)
}
