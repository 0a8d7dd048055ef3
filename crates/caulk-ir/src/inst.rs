//! Instructions. Every instruction has an [`InstId`], which is also the name of the value it produces.

use serde::{Deserialize, Serialize};
use smallvec::SmallVec;

use crate::entity::{BlockId, ConstId, FunctionId, InstId, StrId, StructId, VarId};
use crate::types::Type;

/// What an instruction works on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub enum Operand {
    Value(InstId),
    Const(ConstId),
}

impl Operand {
    pub fn value(self) -> Option<InstId> {
        match self {
            Operand::Value(v) => Some(v),
            Operand::Const(_) => None,
        }
    }
}

impl From<InstId> for Operand {
    fn from(v: InstId) -> Self {
        Operand::Value(v)
    }
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Inst {
    /// The value of a parameter. The first instructions of a body, one for each parameter, outside of all blocks.
    Param {
        index: u32,
        ty: Type,
    },
    /// A piece of stack: a local variable that was not promoted to values, or `alloca`.
    /// `count` is the number of `size`-byte elements when it is not known at compile time.
    Local {
        size: u64,
        count: Option<Operand>,
        var: Option<VarId>,
    },
    /// The local's scope begins: its contents are undefined. `local` is an [`Inst::Local`].
    ScopeStart {
        local: InstId,
    },
    /// The local's scope ends: whatever it held is gone.
    ScopeEnd {
        local: InstId,
    },
    /// From here on the promoted variable `var` holds `value` (an assignment in the source).
    Bind {
        var: VarId,
        value: Operand,
    },
    /// The promoted variable's scope ends.
    Unbind {
        var: VarId,
    },
    Load {
        ty: Type,
        address: Operand,
        volatile: bool,
    },
    Store {
        ty: Type,
        value: Operand,
        address: Operand,
        volatile: bool,
    },
    /// Address arithmetic: `base` plus all steps.
    Address {
        base: Operand,
        steps: SmallVec<[AddressStep; 1]>,
    },
    /// Copies `len` bytes; what pointers lie in them travel along.
    Copy {
        dst: Operand,
        src: Operand,
        len: Operand,
    },
    /// Sets `len` bytes to `byte`.
    Fill {
        dst: Operand,
        byte: Operand,
        len: Operand,
    },
    Call(Box<CallData>),
    Binary {
        op: BinaryOp,
        ty: Type,
        lhs: Operand,
        rhs: Operand,
        flags: ArithFlags,
    },
    Compare {
        op: CompareOp,
        ty: Type,
        lhs: Operand,
        rhs: Operand,
    },
    Cast {
        op: CastOp,
        from: Type,
        to: Type,
        value: Operand,
    },
    Select {
        ty: Type,
        cond: Operand,
        then: Operand,
        other: Operand,
    },
    Phi {
        ty: Type,
        incoming: SmallVec<[(BlockId, Operand); 2]>,
    },
    /// The part of an aggregate value that begins at a byte offset.
    Extract {
        ty: Type,
        aggregate: Operand,
        offset: u32,
    },
    /// An aggregate value with the part at a byte offset replaced.
    Insert {
        ty: Type,
        aggregate: Operand,
        value: Operand,
        offset: u32,
    },
    /// The exception that arrives at an unwind block.
    LandingPad {
        ty: Type,
    },
    /// Something with no meaning for the analysis: any value of type `ty`, made from `operands`, which it may keep.
    Unknown {
        ty: Type,
        reason: UnknownReason,
        operands: SmallVec<[Operand; 2]>,
    },

    // Terminators: exactly one at the end of each block.
    Jump {
        target: BlockId,
    },
    Branch {
        cond: Operand,
        then: BlockId,
        other: BlockId,
    },
    Switch {
        ty: Type,
        value: Operand,
        cases: Vec<(u64, BlockId)>,
        default: BlockId,
    },
    /// Computed goto.
    IndirectJump {
        address: Operand,
        targets: Vec<BlockId>,
    },
    Return {
        value: Option<Operand>,
    },
    /// A call that may throw.
    Invoke {
        call: Box<CallData>,
        normal: BlockId,
        unwind: BlockId,
    },
    /// Continues unwinding into the caller.
    Resume {
        value: Operand,
    },
    Unreachable,
}

/// One step of address arithmetic, in bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum AddressStep {
    /// Into the field of a structure that begins at `offset`.
    Field { ty: StructId, offset: u64 },
    /// By a constant number of bytes: a constant index, or pointer arithmetic. Negative going back. `stride` is the
    /// size of the element stepped over (1 for plain bytes).
    Bytes { offset: i64, stride: u64 },
    /// To an element whose index is not a constant: `index * stride` bytes.
    Index { index: Operand, stride: u64 },
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct CallData {
    pub callee: Callee,
    pub args: SmallVec<[Operand; 4]>,
    pub arg_types: SmallVec<[Type; 4]>,
    pub ret: Type,
    /// The called function type takes further arguments after the named ones.
    pub variadic: bool,
    pub flags: CallFlags,
    /// Arguments passed as a copy of the structure they point to.
    pub by_value: SmallVec<[u16; 2]>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Callee {
    Direct(FunctionId),
    Indirect(Operand),
    /// Inline assembly; the text is kept for messages.
    Assembly(StrId),
}

/// Facts the compiler knows of one call.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct CallFlags {
    pub no_return: bool,
    pub no_unwind: bool,
    /// The result aliases nothing else (`malloc`).
    pub fresh_result: bool,
    pub nonnull_result: bool,
    /// Reads memory at most.
    pub read_only: bool,
    /// Does not touch memory.
    pub no_memory: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum BinaryOp {
    Add,
    Sub,
    Mul,
    UDiv,
    SDiv,
    URem,
    SRem,
    Shl,
    LShr,
    AShr,
    And,
    Or,
    Xor,
    /// Any arithmetic on floating-point numbers.
    Float,
}

/// No-wrap facts of an arithmetic instruction.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct ArithFlags {
    pub no_signed_wrap: bool,
    pub no_unsigned_wrap: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum CompareOp {
    Eq,
    Ne,
    ULt,
    ULe,
    UGt,
    UGe,
    SLt,
    SLe,
    SGt,
    SGe,
    /// Any comparison of floating-point numbers.
    Float,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum CastOp {
    Truncate,
    ZeroExtend,
    SignExtend,
    PtrToInt,
    IntToPtr,
    /// Same bits, other type.
    Bits,
    /// To, from or between floating-point numbers.
    Float,
}

/// Why a value is unknown; counted, so that a user sees what was not understood.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub enum UnknownReason {
    /// Vector arithmetic.
    Vector,
    /// Reading a variadic argument.
    VarArg,
    /// A compiler intrinsic without a meaning for us.
    Intrinsic,
    /// Whether a sum or product is too large for its type.
    Overflow,
    /// Exception handling of another platform.
    Exception,
    /// A value used where it is not defined, such as an uninitialised local.
    Undefined,
    /// An instruction not known to the front end.
    Instruction,
}

impl Inst {
    pub fn is_terminator(&self) -> bool {
        matches!(
            self,
            Inst::Jump { .. }
                | Inst::Branch { .. }
                | Inst::Switch { .. }
                | Inst::IndirectJump { .. }
                | Inst::Return { .. }
                | Inst::Invoke { .. }
                | Inst::Resume { .. }
                | Inst::Unreachable
        )
    }

    /// The call of a call instruction, whether it may throw or not.
    pub fn call(&self) -> Option<&CallData> {
        match self {
            Inst::Call(call) | Inst::Invoke { call, .. } => Some(call),
            _ => None,
        }
    }

    /// The type of the value produced; `Void` when there is none.
    pub fn result_type(&self) -> Type {
        match self {
            Inst::Param { ty, .. }
            | Inst::Load { ty, .. }
            | Inst::Binary { ty, .. }
            | Inst::Select { ty, .. }
            | Inst::Phi { ty, .. }
            | Inst::Extract { ty, .. }
            | Inst::Insert { ty, .. }
            | Inst::LandingPad { ty }
            | Inst::Unknown { ty, .. } => *ty,
            Inst::Cast { to, .. } => *to,
            Inst::Local { .. } | Inst::Address { .. } => Type::Ptr,
            Inst::Compare { ty, .. } => match ty {
                Type::Vector(bytes) => Type::Vector(*bytes),
                _ => Type::Int(1),
            },
            Inst::Call(call) | Inst::Invoke { call, .. } => call.ret,
            _ => Type::Void,
        }
    }

    /// The blocks a terminator may go to, in order, with repeats.
    pub fn successors(&self) -> SmallVec<[BlockId; 2]> {
        match self {
            Inst::Jump { target } => SmallVec::from_slice(&[*target]),
            Inst::Branch { then, other, .. } => SmallVec::from_slice(&[*then, *other]),
            Inst::Switch { cases, default, .. } => cases.iter().map(|c| c.1).chain([*default]).collect(),
            Inst::IndirectJump { targets, .. } => targets.iter().copied().collect(),
            Inst::Invoke { normal, unwind, .. } => SmallVec::from_slice(&[*normal, *unwind]),
            _ => SmallVec::new(),
        }
    }

    /// Calls `visit` on each target block, so that a pass can rewrite the control flow.
    pub fn for_each_successor_mut(&mut self, mut visit: impl FnMut(&mut BlockId)) {
        match self {
            Inst::Jump { target } => visit(target),
            Inst::Branch { then, other, .. } => {
                visit(then);
                visit(other);
            }
            Inst::Switch { cases, default, .. } => {
                cases.iter_mut().for_each(|c| visit(&mut c.1));
                visit(default);
            }
            Inst::IndirectJump { targets, .. } => targets.iter_mut().for_each(visit),
            Inst::Invoke { normal, unwind, .. } => {
                visit(normal);
                visit(unwind);
            }
            _ => {}
        }
    }

    /// Calls `visit` on every operand, in order.
    pub fn for_each_operand(&self, mut visit: impl FnMut(&Operand)) {
        visit_operands!(self, visit);
    }

    /// Calls `visit` on every operand, in order, so that a pass can rewrite them.
    pub fn for_each_operand_mut(&mut self, mut visit: impl FnMut(&mut Operand)) {
        visit_operands!(self, visit, mut);
    }
}

/// One list of operands for the reading and the writing visitor, so that they cannot drift apart.
macro_rules! visit_operands {
    ($inst:expr, $visit:ident $(, $mut:tt)?) => {
        match $inst {
            Inst::Param { .. }
            | Inst::ScopeStart { .. }
            | Inst::ScopeEnd { .. }
            | Inst::Unbind { .. }
            | Inst::LandingPad { .. }
            | Inst::Jump { .. }
            | Inst::Unreachable => {}
            Inst::Local { count: value, .. } | Inst::Return { value } => {
                if let Some(value) = value {
                    $visit(value);
                }
            }
            Inst::Bind { value, .. }
            | Inst::Cast { value, .. }
            | Inst::Resume { value }
            | Inst::Load { address: value, .. }
            | Inst::IndirectJump { address: value, .. }
            | Inst::Extract { aggregate: value, .. }
            | Inst::Branch { cond: value, .. }
            | Inst::Switch { value, .. } => $visit(value),
            Inst::Store { value: a, address: b, .. }
            | Inst::Binary { lhs: a, rhs: b, .. }
            | Inst::Compare { lhs: a, rhs: b, .. }
            | Inst::Insert { aggregate: a, value: b, .. } => {
                $visit(a);
                $visit(b);
            }
            Inst::Copy { dst: a, src: b, len: c }
            | Inst::Fill { dst: a, byte: b, len: c }
            | Inst::Select { cond: a, then: b, other: c, .. } => {
                $visit(a);
                $visit(b);
                $visit(c);
            }
            Inst::Address { base, steps } => {
                $visit(base);
                for step in steps {
                    if let AddressStep::Index { index, .. } = step {
                        $visit(index);
                    }
                }
            }
            Inst::Call(call) | Inst::Invoke { call, .. } => {
                if let Callee::Indirect(target) = & $($mut)? call.callee {
                    $visit(target);
                }
                for arg in & $($mut)? call.args {
                    $visit(arg);
                }
            }
            Inst::Phi { incoming, .. } => {
                for (_, value) in incoming {
                    $visit(value);
                }
            }
            Inst::Unknown { operands, .. } => {
                for operand in operands {
                    $visit(operand);
                }
            }
        }
    };
}
use visit_operands;
