//! Constants as operands.

use caulk_ir::{Constant, Inst, Operand, Type};

use super::function::FunctionLowering;
use super::unit::Lowering;
use crate::bounds::BOUNDS;
use crate::llvm::{Opcode, Ty, TypeKind, Value, ValueKind};

impl<'m> Lowering<'m> {
    /// A constant without parts, or the address of something.
    pub(crate) fn lower_constant(&self, value: Value<'m>) -> Constant {
        self.lower_constant_at_depth(value, 0)
    }

    fn lower_constant_at_depth(&self, value: Value<'m>, depth: usize) -> Constant {
        let ty = self.lower_type(value.ty());
        if depth > BOUNDS.expression_depth {
            return Constant::Opaque(ty);
        }
        let constant = self.lower_constant_of(value, ty, depth);
        // A cast between a vector and a number goes through here under the type of its operand.
        if constant.ty() == ty { constant } else { Constant::Opaque(ty) }
    }

    fn lower_constant_of(&self, value: Value<'m>, ty: Type, depth: usize) -> Constant {
        use ValueKind::*;
        match value.kind() {
            LLVMConstantIntValueKind => match ty {
                Type::Int(bits) if bits <= 64 => Constant::Int { bits, value: value.int_value() },
                _ if value.is_null() => Constant::Zero(ty),
                _ => Constant::Opaque(ty),
            },
            LLVMConstantFPValueKind => match ty {
                Type::Float(bits) => Constant::Float { bits, value: value.float_value().to_bits() },
                _ => Constant::Opaque(ty),
            },
            LLVMConstantPointerNullValueKind => Constant::Null,
            LLVMUndefValueValueKind | LLVMPoisonValueKind => Constant::Undef(ty),
            LLVMFunctionValueKind => match self.functions.get(&value) {
                Some(&f) => Constant::Function(f),
                None => Constant::Opaque(ty),
            },
            LLVMGlobalVariableValueKind => match self.globals.get(&value) {
                Some(&global) => Constant::Global { global, offset: 0 },
                None => Constant::Opaque(ty),
            },
            LLVMGlobalAliasValueKind => match (self.functions.get(&value), self.globals.get(&value)) {
                (Some(&f), _) => Constant::Function(f),
                (_, Some(&global)) => Constant::Global { global, offset: 0 },
                _ => Constant::Opaque(ty),
            },
            LLVMConstantExprValueKind => self.lower_expression(value, ty, depth),
            _ if value.is_null() => match ty {
                Type::Ptr => Constant::Null,
                _ => Constant::Zero(ty),
            },
            _ => Constant::Opaque(ty),
        }
    }

    fn lower_expression(&self, value: Value<'m>, ty: Type, depth: usize) -> Constant {
        let operand = |index| self.lower_constant_at_depth(value.operand(index), depth + 1);
        match value.const_opcode() {
            Opcode::LLVMGetElementPtr => match (operand(0), self.constant_offset(value)) {
                (Constant::Global { global, offset }, Some(more)) => {
                    Constant::Global { global, offset: offset.wrapping_add(more) }
                }
                (Constant::Null, Some(at)) => Constant::Pointer(at as u64),
                (Constant::Pointer(base), Some(more)) => Constant::Pointer(base.wrapping_add_signed(more)),
                (base @ Constant::Function(_), Some(0)) => base,
                _ => Constant::Opaque(ty),
            },
            Opcode::LLVMBitCast | Opcode::LLVMAddrSpaceCast => operand(0),
            Opcode::LLVMIntToPtr => match operand(0) {
                Constant::Int { value: 0, .. } => Constant::Null,
                Constant::Int { value, .. } => Constant::Pointer(value),
                _ => Constant::Opaque(ty),
            },
            Opcode::LLVMPtrToInt => match (operand(0), ty) {
                (Constant::Null, Type::Int(bits @ ..=64)) => Constant::Int { bits, value: 0 },
                (Constant::Pointer(value), Type::Int(bits @ ..=64)) => Constant::int(bits, value as i64),
                _ => Constant::Opaque(ty),
            },
            _ => Constant::Opaque(ty),
        }
    }

    /// The byte offset of a constant address computation.
    fn constant_offset(&self, gep: Value<'m>) -> Option<i64> {
        let mut ty = gep.gep_source_type();
        let mut offset = 0i64;
        for index in 1..gep.operand_count() {
            let operand = gep.operand(index);
            if operand.kind() != ValueKind::LLVMConstantIntValueKind {
                return None;
            }
            let by = operand.int_value_signed();
            let (at, part) = match ty.kind() {
                _ if by != 0 && !ty.has_layout(self.module) => return None,
                _ if index == 1 => (by.wrapping_mul(ty.size(self.module) as i64), ty),
                TypeKind::Struct => {
                    let (at, field) = ty.field(by as u32, self.module)?;
                    (at as i64, field)
                }
                TypeKind::Array { element, .. } => (by.wrapping_mul(element.size(self.module) as i64), element),
                _ => return None,
            };
            offset = offset.wrapping_add(at);
            ty = part;
        }
        Some(offset)
    }

    /// Parts of a constant structure or array with their offsets; None when there are more than `most`, when they are not
    /// written out (an array of zeros may claim any length), or when it is not known where they lie.
    pub(crate) fn constant_parts(&self, value: Value<'m>, ty: Ty<'m>, most: usize) -> Option<Vec<(u64, Value<'m>)>> {
        use ValueKind::*;
        let is_written_out = matches!(
            value.kind(),
            LLVMConstantArrayValueKind | LLVMConstantStructValueKind | LLVMConstantDataArrayValueKind
        );
        if !is_written_out || !ty.has_layout(self.module) {
            return None;
        }
        let count = match ty.kind() {
            TypeKind::Struct => ty.struct_fields().len() as u64,
            TypeKind::Array { length, .. } => length,
            _ => return None,
        };
        let offset = |index: u32| match ty.kind() {
            TypeKind::Array { element, .. } => Some(u64::from(index).wrapping_mul(element.size(self.module))),
            _ => ty.field(index, self.module).map(|(offset, _)| offset),
        };
        let count = u32::try_from(count).ok().filter(|count| *count as usize <= most)?;
        (0..count).map(|i| Some((offset(i)?, value.element(i)?))).collect()
    }
}

impl<'m> FunctionLowering<'_, 'm> {
    pub(crate) fn operand(&mut self, value: Value<'m>) -> Operand {
        if let Some(&id) = self.values.get(&value) {
            return Operand::Value(id);
        }
        let constant = self.unit.lower_constant(value);
        self.draft.constant(constant)
    }

    /// Like [`Self::operand`], but builds a constant structure part by part instead of making it opaque.
    pub(crate) fn operand_with_parts(&mut self, value: Value<'m>) -> Operand {
        let plain = self.operand(value);
        let Operand::Const(id) = plain else { return plain };
        let Constant::Opaque(ty @ Type::Aggregate(_)) = self.draft.consts[id] else { return plain };
        let Some(parts) = self.unit.constant_parts(value, value.ty(), BOUNDS.aggregate_parts) else { return plain };
        let mut aggregate = self.draft.constant(Constant::Undef(ty));
        for (offset, part) in parts {
            let part = self.operand(part);
            let offset = u32::try_from(offset).unwrap_or(u32::MAX);
            aggregate = Operand::Value(self.emit(Inst::Insert { ty, aggregate, value: part, offset }));
        }
        aggregate
    }
}
