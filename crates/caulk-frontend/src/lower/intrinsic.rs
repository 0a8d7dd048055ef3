//! Calls of LLVM's intrinsics: debug info, scopes, copies, and the many that mean nothing to us.

use caulk_ir::{ArithFlags, BinaryOp, Body, Inst, Operand, Type, UnknownReason};
use rustc_hash::FxHashMap;
use smallvec::{SmallVec, smallvec};

use super::function::FunctionLowering;
use crate::llvm::Value;

/// What an intrinsic means to us, looked up by number once a unit.
#[derive(Clone, Copy)]
enum Meaning {
    DeclareVariable,
    VariableValue,
    ScopeStart,
    ScopeEnd,
    Copy,
    Fill,
    /// The result is the first argument.
    Same,
    Nothing,
    /// Does not come back.
    Trap,
    WithOverflow(BinaryOp),
    VarArgs,
    /// A result that has nothing to do with any pointer.
    Number,
    Unknown,
}

#[derive(Default)]
pub(super) struct IntrinsicTable(FxHashMap<u32, Meaning>);

impl IntrinsicTable {
    fn meaning(&mut self, id: u32) -> Meaning {
        *self.0.entry(id).or_insert_with(|| meaning_of(&Value::intrinsic_name(id)))
    }
}

fn meaning_of(full: &str) -> Meaning {
    let name = full.strip_prefix("llvm.").unwrap_or(full);
    let starts = |prefixes: &[&str]| prefixes.iter().any(|p| name.starts_with(p));
    match name {
        "dbg.declare" => Meaning::DeclareVariable,
        "dbg.value" => Meaning::VariableValue,
        "lifetime.start" => Meaning::ScopeStart,
        "lifetime.end" => Meaning::ScopeEnd,
        "sadd.with.overflow" | "uadd.with.overflow" => Meaning::WithOverflow(BinaryOp::Add),
        "ssub.with.overflow" | "usub.with.overflow" => Meaning::WithOverflow(BinaryOp::Sub),
        "smul.with.overflow" | "umul.with.overflow" => Meaning::WithOverflow(BinaryOp::Mul),
        "va_start" | "va_copy" => Meaning::VarArgs,
        "trap" | "ubsantrap" => Meaning::Trap,
        "threadlocal.address" | "ssa.copy" | "ptr.annotation" | "annotation" | "ptrmask" => Meaning::Same,
        _ if starts(&["memcpy", "memmove"]) => Meaning::Copy,
        _ if starts(&["memset"]) => Meaning::Fill,
        _ if starts(&["expect", "launder.invariant", "strip.invariant"]) => Meaning::Same,
        _ if starts(&["dbg.", "assume", "invariant.", "prefetch", "donothing", "experimental.noalias", "va_end"])
            || starts(&["var.annotation", "stackrestore", "debugtrap", "sideeffect"])
            || starts(&["pseudoprobe", "clear_cache", "instrprof", "eh.begin", "eh.end", "fake.use"]) =>
        {
            Meaning::Nothing
        }
        _ if starts(&["objectsize", "is.constant", "eh.typeid", "returnaddress", "frameaddress", "stacksave"])
            || starts(&[
                "addressofreturnaddress",
                "sponentry",
                "thread.pointer",
                "read_register",
                "bswap",
                "ctpop",
            ])
            || starts(&["ctlz", "cttz", "bitreverse", "fsh", "abs", "smax", "smin", "umax", "umin", "is.fpclass"])
            || starts(&[
                "fabs", "sqrt", "pow", "fma", "floor", "ceil", "trunc", "rint", "round", "lround", "llround",
            ])
            || starts(&[
                "nearbyint",
                "lrint",
                "llrint",
                "copysign",
                "maxnum",
                "minnum",
                "sin",
                "cos",
                "exp",
                "log",
            ])
            || starts(&["get.", "set.", "readcyclecounter", "canonicalize", "ldexp", "frexp", "tan"]) =>
        {
            Meaning::Number
        }
        _ => Meaning::Unknown,
    }
}

impl<'m> FunctionLowering<'_, 'm> {
    pub(crate) fn lower_intrinsic(&mut self, inst: Value<'m>, id: u32) {
        let args: SmallVec<[Value<'m>; 4]> = inst.args().collect();
        match self.unit.intrinsics.meaning(id) {
            Meaning::DeclareVariable => self.declare_variable(&args),
            Meaning::VariableValue => self.bind_variable(&args),
            Meaning::ScopeStart => self.scope_mark(&args, |local| Inst::ScopeStart { local }),
            Meaning::ScopeEnd => self.scope_mark(&args, |local| Inst::ScopeEnd { local }),
            Meaning::Copy => {
                let [dst, src] = [0, 1].map(|i| self.operand(args[i]));
                let len = self.int_operand(args[2]);
                self.emit(Inst::Copy { dst, src, len });
            }
            Meaning::Fill => {
                let [dst, byte] = [0, 1].map(|i| self.operand(args[i]));
                let len = self.int_operand(args[2]);
                self.emit(Inst::Fill { dst, byte, len });
            }
            Meaning::Same => {
                let same = self.operand(args[0]);
                self.forward(inst, same);
            }
            // Some have a result all the same, such as `invariant.start`, and a program may do anything with it.
            Meaning::Nothing if inst.is_used() => {
                self.define_unknown(inst, UnknownReason::Intrinsic, SmallVec::new());
            }
            Meaning::Nothing => {}
            Meaning::Trap => self.end_path(),
            Meaning::WithOverflow(op) => self.lower_with_overflow(inst, op, &args),
            Meaning::VarArgs => {
                let operands = self.pointer_args(&args);
                self.define_unknown(inst, UnknownReason::VarArg, operands);
            }
            Meaning::Number => self.define_unknown(inst, UnknownReason::Intrinsic, SmallVec::new()),
            Meaning::Unknown => {
                let operands = self.pointer_args(&args);
                self.define_unknown(inst, UnknownReason::Intrinsic, operands);
            }
        }
    }

    fn declare_variable(&mut self, args: &[Value<'m>]) {
        let (Some(slot), Some(node)) = (args[0].wrapped_value(), args[1].as_local_variable()) else { return };
        let Some(&local) = self.values.get(&slot) else { return };
        let variable = self.variable(node);
        match &mut self.draft.insts[local] {
            Inst::Local { var: var @ None, .. } => {
                *var = Some(variable);
                self.unit.join_types(slot.allocated_type(), self.draft.vars[variable].pointee);
            }
            // A structure passed in memory: the parameter points to the variable itself.
            Inst::Param { index, .. } => {
                let index = *index;
                self.name_param(index, variable);
            }
            _ => {}
        }
    }

    /// Bitcode that was optimised before it reached us says so what its variables hold.
    fn bind_variable(&mut self, args: &[Value<'m>]) {
        let (Some(value), Some(node)) = (args[0].wrapped_value(), args[1].as_local_variable()) else { return };
        let var = self.variable(node);
        let value = self.operand(value);
        self.emit(Inst::Bind { var, value });
        // The first variable that holds a parameter at the start is that parameter.
        if let Operand::Value(from) = value
            && let Inst::Param { index, .. } = self.draft.insts[from]
            && self.block == Body::ENTRY
            && self.unit.unit.functions[self.function].params[index as usize].name.is_none()
        {
            self.name_param(index, var);
        }
    }

    fn scope_mark(&mut self, args: &[Value<'m>], mark: fn(caulk_ir::InstId) -> Inst) {
        let Some(&local) = self.values.get(&args[1]) else { return };
        if matches!(self.draft.insts[local], Inst::Local { .. }) {
            self.emit(mark(local));
        }
    }

    fn lower_with_overflow(&mut self, inst: Value<'m>, op: BinaryOp, args: &[Value<'m>]) {
        let ty = self.unit.lower_type(args[0].ty());
        if !matches!(ty, Type::Int(_)) {
            return self.define_unknown(inst, UnknownReason::Vector, smallvec![]);
        }
        let (lhs, rhs) = (self.operand(args[0]), self.operand(args[1]));
        let result = Operand::Value(self.emit(Inst::Binary { op, ty, lhs, rhs, flags: ArithFlags::default() }));
        let overflow = Inst::Unknown { ty: Type::Int(1), reason: UnknownReason::Overflow, operands: smallvec![] };
        let overflow = Operand::Value(self.emit(overflow));
        let offset = self.second_part(inst);
        self.define_pair(inst, result, overflow, offset);
    }
}
