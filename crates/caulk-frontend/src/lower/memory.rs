//! Instructions that touch memory or compute addresses.

use caulk_ir::{ArithFlags, BinaryOp, CompareOp, Constant, Inst, Operand, Step, Type, UnknownReason};
use smallvec::SmallVec;

use super::function::FunctionLowering;
use crate::llvm::{AtomicOp, Opcode, TypeKind, Value, ValueKind};

impl<'m> FunctionLowering<'_, 'm> {
    pub(crate) fn lower_memory(&mut self, inst: Value<'m>) {
        match inst.opcode() {
            Opcode::LLVMAlloca => self.lower_alloca(inst),
            Opcode::LLVMLoad => {
                let ty = self.unit.lower_type(inst.ty());
                let address = self.operand(inst.operand(0));
                self.define(inst, Inst::Load { ty, address, volatile: inst.is_volatile() });
            }
            Opcode::LLVMStore => {
                let ty = self.unit.lower_type(inst.operand(0).ty());
                let value = self.operand_with_parts(inst.operand(0));
                let address = self.operand(inst.operand(1));
                self.define(inst, Inst::Store { ty, value, address, volatile: inst.is_volatile() });
            }
            Opcode::LLVMGetElementPtr => self.lower_address(inst),
            Opcode::LLVMAtomicRMW => self.lower_atomic_update(inst),
            Opcode::LLVMAtomicCmpXchg => self.lower_compare_exchange(inst),
            // A fence orders what other threads see; one thread's leaks do not depend on it.
            _ => {}
        }
    }

    fn lower_alloca(&mut self, inst: Value<'m>) {
        let element = inst.allocated_type().size(self.unit.module);
        let count = inst.operand(0);
        let (size, count) = if count.kind() == ValueKind::LLVMConstantIntValueKind {
            (element.saturating_mul(count.int_value()), None)
        } else {
            (element, Some(self.int_operand(count)))
        };
        self.define(inst, Inst::Local { size, count, var: None });
    }

    fn lower_address(&mut self, inst: Value<'m>) {
        if !matches!(inst.ty().kind(), TypeKind::Pointer) {
            return self.lower_unknown(inst, UnknownReason::Vector);
        }
        let base = self.operand(inst.operand(0));
        match self.address_steps(inst) {
            Some(steps) => self.define(inst, Inst::Address { base, steps }),
            None => self.lower_unknown(inst, UnknownReason::Instruction),
        }
    }

    /// The steps of an address computation; None when a type on the way has no layout known here.
    fn address_steps(&mut self, inst: Value<'m>) -> Option<SmallVec<[Step; 1]>> {
        self.join_type_of_base(inst);
        let mut steps: SmallVec<[Step; 1]> = SmallVec::new();
        let mut ty = inst.gep_source_type();
        for number in 1..inst.operand_count() {
            let index = inst.operand(number);
            let element = match ty.kind() {
                _ if number == 1 => ty,
                TypeKind::Struct => {
                    let (offset, field) = ty.field(index.int_value() as u32, self.unit.module)?;
                    steps.push(match self.unit.struct_of_llvm(ty) {
                        Some(id) => Step::Field { ty: id, offset },
                        None => Step::Bytes { offset: offset as i64, stride: 1 },
                    });
                    ty = field;
                    continue;
                }
                TypeKind::Array { element, .. } => element,
                TypeKind::Vector => ty.element(),
                _ => return None,
            };
            // Without an index it does not matter how large the element is.
            let stays = index.kind() == ValueKind::LLVMConstantIntValueKind && index.is_null();
            if !stays && !element.has_layout(self.unit.module) {
                return None;
            }
            let stride = element.size(self.unit.module);
            steps.extend(self.index_step(index, stride));
            ty = element;
        }
        Some(steps)
    }

    fn index_step(&mut self, index: Value<'m>, stride: u64) -> Option<Step> {
        if index.kind() == ValueKind::LLVMConstantIntValueKind {
            let offset = index.int_value_signed().wrapping_mul(stride as i64);
            return (offset != 0).then_some(Step::Bytes { offset, stride });
        }
        Some(Step::Index { index: self.int_operand(index), stride })
    }

    /// A number that counts something. One too wide for core IR is any number.
    pub(crate) fn int_operand(&mut self, value: Value<'m>) -> Operand {
        match self.unit.lower_type(value.ty()) {
            Type::Int(_) => self.operand(value),
            _ => self.unknown_value(Type::Int(64), UnknownReason::Instruction),
        }
    }

    /// Read, compute, write: atomicity makes no difference to what one thread does.
    fn lower_atomic_update(&mut self, inst: Value<'m>) {
        use AtomicOp::*;
        let ty = self.unit.lower_type(inst.ty());
        let (address, value) = (self.operand(inst.operand(0)), self.operand(inst.operand(1)));
        let volatile = inst.is_volatile();
        self.define(inst, Inst::Load { ty, address, volatile });
        let Some(&old) = self.values.get(&inst) else { return };
        let is_number = matches!(ty, Type::Int(_));
        let op = match inst.atomic_op() {
            LLVMAtomicRMWBinOpXchg => None,
            LLVMAtomicRMWBinOpAdd if is_number => Some(BinaryOp::Add),
            LLVMAtomicRMWBinOpSub if is_number => Some(BinaryOp::Sub),
            LLVMAtomicRMWBinOpAnd if is_number => Some(BinaryOp::And),
            LLVMAtomicRMWBinOpOr if is_number => Some(BinaryOp::Or),
            LLVMAtomicRMWBinOpXor if is_number => Some(BinaryOp::Xor),
            _ => {
                let result = self.unknown_value(ty, UnknownReason::Instruction);
                self.emit(Inst::Store { ty, value: result, address, volatile });
                return;
            }
        };
        let new = match op {
            None => value,
            Some(op) => {
                let lhs = Operand::Value(old);
                Operand::Value(self.emit(Inst::Binary { op, ty, lhs, rhs: value, flags: ArithFlags::default() }))
            }
        };
        self.emit(Inst::Store { ty, value: new, address, volatile });
    }

    pub(crate) fn unknown_value(&mut self, ty: Type, reason: UnknownReason) -> Operand {
        *self.unit.unit.unknowns.entry(reason).or_insert(0) += 1;
        Operand::Value(self.emit(Inst::Unknown { ty, reason, operands: SmallVec::new() }))
    }

    /// The result is the pair of the old value and whether it was the expected one.
    fn lower_compare_exchange(&mut self, inst: Value<'m>) {
        let [address, expected, new] = [0, 1, 2].map(|i| self.operand(inst.operand(i)));
        let ty = self.unit.lower_type(inst.operand(1).ty());
        let volatile = inst.is_volatile();
        let old = Operand::Value(self.emit(Inst::Load { ty, address, volatile }));
        let same = match ty {
            Type::Vector(_) => self.unknown_value(Type::Int(1), UnknownReason::Vector),
            _ => Operand::Value(self.emit(Inst::Compare { op: CompareOp::Eq, ty, lhs: old, rhs: expected })),
        };
        let kept = Operand::Value(self.emit(Inst::Select { ty, cond: same, then: new, other: old }));
        self.emit(Inst::Store { ty, value: kept, address, volatile });
        let flag_offset = self.second_part(inst);
        self.define_pair(inst, old, same, flag_offset);
    }

    /// Where the second part of a pair lies.
    pub(crate) fn second_part(&self, pair: Value<'m>) -> u32 {
        let offset = pair.ty().field(1, self.unit.module).map_or(0, |(offset, _)| offset);
        u32::try_from(offset).unwrap_or(u32::MAX)
    }

    /// Defines a value that is a pair of two others.
    pub(crate) fn define_pair(&mut self, inst: Value<'m>, first: Operand, second: Operand, second_offset: u32) {
        let ty = self.unit.lower_type(inst.ty());
        let empty = self.draft.constant(Constant::Undef(ty));
        let half = Operand::Value(self.emit(Inst::Insert { ty, aggregate: empty, value: first, offset: 0 }));
        self.define(inst, Inst::Insert { ty, aggregate: half, value: second, offset: second_offset });
    }
}
