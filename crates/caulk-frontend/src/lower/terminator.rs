//! Instructions that end a block.

use caulk_ir::{BlockId, Inst, Type, UnknownReason};
use smallvec::SmallVec;

use super::function::FunctionLowering;
use crate::llvm::{Opcode, Value};

impl<'m> FunctionLowering<'_, 'm> {
    pub(crate) fn lower_terminator(&mut self, inst: Value<'m>) {
        use Opcode::*;
        let targets: SmallVec<[BlockId; 2]> = inst.successors().into_iter().map(|b| self.blocks[&b]).collect();
        let lowered = match inst.opcode() {
            LLVMRet if inst.operand_count() == 0 => Inst::Return { value: None },
            LLVMRet => Inst::Return { value: Some(self.operand_with_parts(inst.operand(0))) },
            LLVMBr if inst.is_conditional() => {
                let cond = self.operand(inst.operand(0));
                Inst::Branch { cond, then: targets[0], other: targets[1] }
            }
            LLVMBr => Inst::Jump { target: targets[0] },
            // Cases beyond 64 bits have no form in core IR: which one is taken is unknown.
            LLVMSwitch if !self.is_narrow(inst.operand(0)) => return self.jump_to_any(targets),
            LLVMSwitch => self.lower_switch(inst, &targets),
            LLVMIndirectBr => {
                let address = self.operand(inst.operand(0));
                if targets.is_empty() {
                    Inst::Unreachable
                } else {
                    Inst::IndirectJump { address, targets: targets.into_vec() }
                }
            }
            LLVMResume => Inst::Resume { value: self.operand(inst.operand(0)) },
            LLVMUnreachable => Inst::Unreachable,
            // `asm goto`, and exception handling of other platforms: some successor is taken, which one is unknown.
            opcode => {
                let reason = if opcode == LLVMCallBr { UnknownReason::Instruction } else { UnknownReason::Exception };
                self.lower_unknown(inst, reason);
                return self.jump_to_any(targets);
            }
        };
        self.emit(lowered);
    }

    fn is_narrow(&self, number: Value<'m>) -> bool {
        matches!(self.unit.lower_type(number.ty()), Type::Int(..=64))
    }

    fn jump_to_any(&mut self, targets: SmallVec<[BlockId; 2]>) {
        let address = self.draft.constant(caulk_ir::Constant::Undef(Type::Ptr));
        let jump = match targets.as_slice() {
            [] => Inst::Unreachable,
            [only] => Inst::Jump { target: *only },
            _ => Inst::IndirectJump { address, targets: targets.into_vec() },
        };
        self.emit(jump);
    }

    fn lower_switch(&mut self, inst: Value<'m>, targets: &[BlockId]) -> Inst {
        // Operands: value, default, then case and target in turn; successors: default, then the targets.
        let ty = self.unit.lower_type(inst.operand(0).ty());
        let value = self.operand(inst.operand(0));
        let cases = (1..targets.len()).map(|i| (inst.operand(2 * i as u32).int_value(), targets[i])).collect();
        Inst::Switch { ty, value, cases, default: targets[0] }
    }
}
