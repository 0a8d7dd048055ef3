//! Instructions that compute: one arm for each of LLVM's, the larger ones in files of their own.

use caulk_ir::{ArithFlags, BinaryOp, CastOp, CompareOp, Constant, Inst, Operand, Type, UnknownReason};
use smallvec::SmallVec;

use super::function::FunctionLowering;
use super::signature::may_hold_pointer;
use crate::llvm::{Opcode, Predicate, TypeKind, Value};

impl<'m> FunctionLowering<'_, 'm> {
    pub(crate) fn lower_instruction(&mut self, inst: Value<'m>) {
        use Opcode::*;
        match inst.opcode() {
            LLVMRet | LLVMBr | LLVMSwitch | LLVMIndirectBr | LLVMUnreachable | LLVMResume | LLVMCleanupRet
            | LLVMCatchRet | LLVMCatchSwitch | LLVMCallBr => self.lower_terminator(inst),
            LLVMCall | LLVMInvoke => self.lower_call(inst),
            LLVMAlloca | LLVMLoad | LLVMStore | LLVMGetElementPtr | LLVMAtomicRMW | LLVMAtomicCmpXchg | LLVMFence => {
                self.lower_memory(inst);
            }
            LLVMAdd | LLVMSub | LLVMMul | LLVMUDiv | LLVMSDiv | LLVMURem | LLVMSRem | LLVMShl | LLVMLShr | LLVMAShr
            | LLVMAnd | LLVMOr | LLVMXor => self.lower_arithmetic(inst),
            LLVMFAdd | LLVMFSub | LLVMFMul | LLVMFDiv | LLVMFRem => self.lower_float_arithmetic(inst),
            LLVMICmp | LLVMFCmp => self.lower_compare(inst),
            LLVMTrunc | LLVMZExt | LLVMSExt | LLVMFPToUI | LLVMFPToSI | LLVMUIToFP | LLVMSIToFP | LLVMFPTrunc
            | LLVMFPExt | LLVMPtrToInt | LLVMIntToPtr | LLVMBitCast | LLVMAddrSpaceCast => self.lower_cast(inst),
            LLVMPHI => self.lower_phi(inst),
            LLVMSelect => self.lower_select(inst),
            LLVMFreeze => {
                let value = self.operand(inst.operand(0));
                self.forward(inst, value);
            }
            LLVMExtractValue => self.lower_extract(inst),
            LLVMInsertValue => self.lower_insert(inst),
            LLVMLandingPad => {
                let ty = self.unit.lower_type(inst.ty());
                self.define(inst, Inst::LandingPad { ty });
            }
            LLVMFNeg => self.lower_negation(inst),
            LLVMVAArg => self.lower_unknown(inst, UnknownReason::VarArg),
            LLVMExtractElement | LLVMInsertElement | LLVMShuffleVector => {
                self.lower_unknown(inst, UnknownReason::Vector);
            }
            LLVMCatchPad | LLVMCleanupPad => self.lower_unknown(inst, UnknownReason::Exception),
            _ => self.lower_unknown(inst, UnknownReason::Instruction),
        }
    }

    /// An unknown value made from whatever could carry a pointer.
    pub(crate) fn lower_unknown(&mut self, inst: Value<'m>, reason: UnknownReason) {
        let operands = self.pointer_operands(inst);
        self.define_unknown(inst, reason, operands);
    }

    fn pointer_operands(&mut self, inst: Value<'m>) -> SmallVec<[Operand; 2]> {
        let is_call = inst.opcode() == Opcode::LLVMCallBr;
        let operands: Vec<Value<'m>> = if is_call { inst.args().collect() } else { inst.operands().collect() };
        let carrying = operands.into_iter().filter(|o| {
            use TypeKind::*;
            matches!(o.ty().kind(), Pointer | Struct | Array { .. } | Vector | Opaque)
        });
        let carrying: Vec<_> = carrying.collect();
        carrying.into_iter().map(|o| self.operand(o)).collect()
    }

    fn lower_arithmetic(&mut self, inst: Value<'m>) {
        use Opcode::*;
        let opcode = inst.opcode();
        let op = match opcode {
            LLVMAdd => BinaryOp::Add,
            LLVMSub => BinaryOp::Sub,
            LLVMMul => BinaryOp::Mul,
            LLVMUDiv => BinaryOp::UDiv,
            LLVMSDiv => BinaryOp::SDiv,
            LLVMURem => BinaryOp::URem,
            LLVMSRem => BinaryOp::SRem,
            LLVMShl => BinaryOp::Shl,
            LLVMLShr => BinaryOp::LShr,
            LLVMAShr => BinaryOp::AShr,
            LLVMAnd => BinaryOp::And,
            LLVMOr => BinaryOp::Or,
            _ => BinaryOp::Xor,
        };
        let may_wrap = matches!(opcode, LLVMAdd | LLVMSub | LLVMMul | LLVMShl);
        let flags = ArithFlags {
            no_signed_wrap: may_wrap && inst.no_signed_wrap(),
            no_unsigned_wrap: may_wrap && inst.no_unsigned_wrap(),
        };
        self.lower_binary(inst, op, flags);
    }

    fn lower_float_arithmetic(&mut self, inst: Value<'m>) {
        self.lower_binary(inst, BinaryOp::Float, ArithFlags::default());
    }

    fn lower_negation(&mut self, inst: Value<'m>) {
        let ty = self.unit.lower_type(inst.ty());
        if matches!(ty, Type::Vector(_)) {
            return self.lower_unknown(inst, UnknownReason::Vector);
        }
        let (lhs, rhs) = (self.draft.constant(Constant::Zero(ty)), self.operand(inst.operand(0)));
        self.define(inst, Inst::Binary { op: BinaryOp::Float, ty, lhs, rhs, flags: ArithFlags::default() });
    }

    fn lower_binary(&mut self, inst: Value<'m>, op: BinaryOp, flags: ArithFlags) {
        let ty = self.unit.lower_type(inst.ty());
        if matches!(ty, Type::Vector(_)) {
            return self.lower_unknown(inst, UnknownReason::Vector);
        }
        let (lhs, rhs) = (self.operand(inst.operand(0)), self.operand(inst.operand(1)));
        self.define(inst, Inst::Binary { op, ty, lhs, rhs, flags });
    }

    fn lower_compare(&mut self, inst: Value<'m>) {
        use Predicate::*;
        let ty = self.unit.lower_type(inst.operand(0).ty());
        if matches!(ty, Type::Vector(_)) {
            return self.lower_unknown(inst, UnknownReason::Vector);
        }
        let op = if inst.opcode() == Opcode::LLVMFCmp {
            CompareOp::Float
        } else {
            match inst.predicate() {
                LLVMIntEQ => CompareOp::Eq,
                LLVMIntNE => CompareOp::Ne,
                LLVMIntUGT => CompareOp::UGt,
                LLVMIntUGE => CompareOp::UGe,
                LLVMIntULT => CompareOp::ULt,
                LLVMIntULE => CompareOp::ULe,
                LLVMIntSGT => CompareOp::SGt,
                LLVMIntSGE => CompareOp::SGe,
                LLVMIntSLT => CompareOp::SLt,
                LLVMIntSLE => CompareOp::SLe,
            }
        };
        let (lhs, rhs) = (self.operand(inst.operand(0)), self.operand(inst.operand(1)));
        self.define(inst, Inst::Compare { op, ty, lhs, rhs });
    }

    fn lower_cast(&mut self, inst: Value<'m>) {
        use Opcode::*;
        let (from, to) = (self.unit.lower_type(inst.operand(0).ty()), self.unit.lower_type(inst.ty()));
        let has_vector = matches!(from, Type::Vector(_)) || matches!(to, Type::Vector(_));
        if has_vector && inst.opcode() != LLVMBitCast {
            return self.lower_unknown(inst, UnknownReason::Vector);
        }
        let op = match inst.opcode() {
            LLVMTrunc => CastOp::Truncate,
            LLVMZExt => CastOp::ZeroExtend,
            LLVMSExt => CastOp::SignExtend,
            LLVMPtrToInt => CastOp::PtrToInt,
            LLVMIntToPtr => CastOp::IntToPtr,
            LLVMBitCast | LLVMAddrSpaceCast => CastOp::Bits,
            _ => CastOp::Float,
        };
        let value = self.operand(inst.operand(0));
        self.define(inst, Inst::Cast { op, from, to, value });
    }

    fn lower_phi(&mut self, inst: Value<'m>) {
        let ty = self.unit.lower_type(inst.ty());
        let edges: Vec<_> = inst.phi_incoming().collect();
        let mut incoming = SmallVec::with_capacity(edges.len());
        for (block, value) in edges {
            let from = self.blocks[&block];
            // A switch with two cases to one block has two equal edges in LLVM, one in core IR.
            if incoming.iter().all(|(known, _)| *known != from) {
                incoming.push((from, self.operand(value)));
            }
        }
        self.define(inst, Inst::Phi { ty, incoming });
    }

    fn lower_select(&mut self, inst: Value<'m>) {
        if !matches!(inst.operand(0).ty().kind(), TypeKind::Int(_)) {
            return self.lower_unknown(inst, UnknownReason::Vector);
        }
        let ty = self.unit.lower_type(inst.ty());
        let [cond, then, other] = [0, 1, 2].map(|i| self.operand(inst.operand(i)));
        self.define(inst, Inst::Select { ty, cond, then, other });
    }

    fn lower_extract(&mut self, inst: Value<'m>) {
        let ty = self.unit.lower_type(inst.ty());
        let Some(offset) = self.aggregate_offset(inst.operand(0).ty(), inst.aggregate_indices()) else {
            return self.lower_unknown(inst, UnknownReason::Vector);
        };
        let aggregate = self.operand_with_parts(inst.operand(0));
        match self.inserted(aggregate, offset) {
            Some(part) => self.define(inst, Inst::Cast { op: CastOp::Bits, from: ty, to: ty, value: part }),
            None => self.define(inst, Inst::Extract { ty, aggregate, offset }),
        }
    }

    /// The part that an aggregate was given at an offset, where it was built just for this.
    fn inserted(&self, mut aggregate: Operand, offset: u32) -> Option<Operand> {
        while let Operand::Value(whole) = aggregate
            && let Inst::Insert { aggregate: rest, value, offset: at, .. } = self.draft.insts[whole]
        {
            if at == offset {
                return Some(value);
            }
            aggregate = rest;
        }
        None
    }

    fn lower_insert(&mut self, inst: Value<'m>) {
        let ty = self.unit.lower_type(inst.ty());
        let Some(offset) = self.aggregate_offset(inst.ty(), inst.aggregate_indices()) else {
            return self.lower_unknown(inst, UnknownReason::Vector);
        };
        let aggregate = self.operand_with_parts(inst.operand(0));
        let value = self.operand(inst.operand(1));
        self.define(inst, Inst::Insert { ty, aggregate, value, offset });
    }

    /// Where a part lies in an aggregate; None when its layout is not known.
    fn aggregate_offset(&self, mut ty: crate::llvm::Ty<'m>, indices: &[u32]) -> Option<u32> {
        if !ty.has_layout(self.unit.module) {
            return None;
        }
        let mut offset = 0u64;
        for &index in indices {
            let (at, part) = match ty.kind() {
                TypeKind::Array { element, .. } => {
                    (u64::from(index).wrapping_mul(element.size(self.unit.module)), element)
                }
                _ => ty.field(index, self.unit.module)?,
            };
            offset = offset.wrapping_add(at);
            ty = part;
        }
        Some(u32::try_from(offset).unwrap_or(u32::MAX))
    }

    /// Arguments of an intrinsic that could carry a pointer.
    pub(crate) fn pointer_args(&mut self, args: &[Value<'m>]) -> SmallVec<[Operand; 2]> {
        let carries =
            |a: &Value<'m>| !matches!(a.ty().kind(), TypeKind::Other) && may_hold_pointer(self.unit.lower_type(a.ty()));
        let carrying: Vec<_> = args.iter().copied().filter(carries).collect();
        carrying.into_iter().map(|a| self.operand(a)).collect()
    }
}
