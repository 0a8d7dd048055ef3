//! Functions that compute a number from numbers alone: `error(code)`, which packs a code and where it comes from into one value.
//!
//! They are evaluated where they are called with constants, so that a code which a callee returns and one that its caller compares with
//! are the same number. Where some arguments are not known, it may still be known that a zero stays a zero.

use caulk_ir::constant::{sign_extend, truncate};
use caulk_ir::{BinaryOp, BlockId, Body, Callee, CastOp, CompareOp, Constant, FunctionId, Inst, InstId, Operand, Type};
use rustc_hash::FxHashMap;

use crate::bounds::BOUNDS;
use crate::ids::FuncId;

/// The body of a function that nothing but its arguments decides, and that does nothing but return.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Formula {
    body: Box<Body>,
    /// What its own calls reach.
    callees: Vec<(FunctionId, FuncId)>,
}

/// The formulas of a program.
#[derive(Debug, Default)]
pub(crate) struct Formulas(FxHashMap<FuncId, Formula>);

impl Formulas {
    pub(crate) fn new(all: impl Iterator<Item = (FuncId, Formula)>) -> Self {
        Self(all.collect())
    }

    pub(crate) fn get(&self, function: FuncId) -> Option<&Formula> {
        self.0.get(&function)
    }

    /// What a function returns for these arguments, as far as they are known.
    pub(crate) fn value(&self, function: FuncId, args: &[Option<u64>]) -> Option<u64> {
        self.value_at(function, args, 0)
    }

    fn value_at(&self, function: FuncId, args: &[Option<u64>], depth: usize) -> Option<u64> {
        let formula = self.get(function)?;
        let mut run = Run { formula, body: &formula.body, values: FxHashMap::default(), all: self, depth };
        for (inst, data) in formula.body.insts.iter() {
            let Inst::Param { index, ty: Type::Int(bits) } = data else { continue };
            let known = args.get(*index as usize).copied().flatten();
            run.values.extend(known.map(|value| (inst, truncate(value, *bits))));
        }
        run.result()
    }
}

impl Formula {
    /// `meant`: the function that a name of the unit stands for, where it is only one.
    pub(crate) fn new(body: &Body, meant: impl Fn(FunctionId) -> Option<FuncId>) -> Option<Self> {
        let is_small = body.insts.len() <= BOUNDS.formula_insts && body.blocks.len() <= BOUNDS.formula_blocks;
        let returns_number = || body.insts.values().any(|i| matches!(i, Inst::Return { value: Some(_) }));
        if !is_small || !returns_number() || !body.insts.values().all(is_computation) {
            return None;
        }
        let named = body.insts.values().filter_map(|inst| match inst.call()?.callee {
            Callee::Direct(function) => Some((function, meant(function)?)),
            _ => None,
        });
        let callees = named.collect();
        let (vars, places, inst_places) = Default::default();
        Some(Self { body: Box::new(Body { vars, places, inst_places, ..body.clone() }), callees })
    }

    pub(crate) fn callees(&self) -> impl Iterator<Item = FuncId> + '_ {
        self.callees.iter().map(|(_, callee)| *callee)
    }
}

fn is_computation(inst: &Inst) -> bool {
    let is_number = |ty: &Type| matches!(ty, Type::Int(bits) if *bits <= 64);
    match inst {
        Inst::Param { ty, .. } | Inst::Phi { ty, .. } | Inst::Select { ty, .. } => is_number(ty),
        Inst::Binary { op, ty, .. } => *op != BinaryOp::Float && is_number(ty),
        Inst::Compare { ty, .. } => is_number(ty),
        Inst::Cast { from, to, .. } => is_number(from) && is_number(to),
        Inst::Call(call) => {
            let is_plain = matches!(call.callee, Callee::Direct(_)) && !call.variadic && is_number(&call.ret);
            is_plain && call.arg_types.iter().all(is_number)
        }
        Inst::Bind { .. } | Inst::Unbind { .. } | Inst::Jump { .. } | Inst::Branch { .. } => true,
        Inst::Switch { .. } | Inst::Return { value: Some(_) } | Inst::Unreachable => true,
        _ => false,
    }
}

struct Run<'a> {
    formula: &'a Formula,
    body: &'a Body,
    values: FxHashMap<InstId, u64>,
    all: &'a Formulas,
    depth: usize,
}

impl Run<'_> {
    fn result(&mut self) -> Option<u64> {
        let (mut from, mut block) = (None, Body::ENTRY);
        let mut steps = 0;
        loop {
            self.enter(from, block);
            for inst in self.body.blocks[block].insts() {
                steps += 1;
                if let Some(value) = self.compute(inst) {
                    self.values.insert(inst, value);
                } else if !matches!(self.body.insts[inst], Inst::Phi { .. }) {
                    self.values.remove(&inst);
                }
            }
            if steps > BOUNDS.formula_steps {
                return None;
            }
            from = Some(block);
            block = match self.body.terminator(block) {
                Inst::Jump { target } => *target,
                Inst::Branch { cond, then, other } => {
                    if self.known(*cond)? != 0 {
                        *then
                    } else {
                        *other
                    }
                }
                Inst::Switch { value, cases, default, .. } => {
                    let value = self.known(*value)?;
                    cases.iter().find(|(case, _)| *case == value).map_or(*default, |(_, target)| *target)
                }
                Inst::Return { value: Some(value) } => return self.known(*value),
                _ => return None,
            };
        }
    }

    /// All choices of a block are made at once.
    fn enter(&mut self, from: Option<BlockId>, block: BlockId) {
        let phis = self.body.blocks[block].insts().filter_map(|inst| match &self.body.insts[inst] {
            Inst::Phi { incoming, .. } => Some((inst, incoming.iter().find(|(at, _)| Some(*at) == from)?.1)),
            _ => None,
        });
        let chosen: Vec<(InstId, Option<u64>)> = phis.map(|(inst, value)| (inst, self.known(value))).collect();
        for (inst, value) in chosen {
            match value {
                Some(value) => self.values.insert(inst, value),
                None => self.values.remove(&inst),
            };
        }
    }

    fn known(&self, operand: Operand) -> Option<u64> {
        match operand {
            Operand::Value(value) => self.values.get(&value).copied(),
            Operand::Const(c) => match self.body.consts[c] {
                Constant::Int { value, .. } => Some(value),
                _ => None,
            },
        }
    }

    fn compute(&self, inst: InstId) -> Option<u64> {
        match &self.body.insts[inst] {
            Inst::Binary { op, ty: Type::Int(bits), lhs, rhs, .. } => {
                compute_binary(*op, *bits, self.known(*lhs), self.known(*rhs)).map(|value| truncate(value, *bits))
            }
            Inst::Compare { op, ty: Type::Int(bits), lhs, rhs } => {
                compute_comparison(*op, *bits, self.known(*lhs)?, self.known(*rhs)?).map(u64::from)
            }
            Inst::Cast { op, from: Type::Int(from), to: Type::Int(to), value } => {
                let value = self.known(*value)?;
                match op {
                    CastOp::SignExtend => Some(truncate(sign_extend(value, *from) as u64, *to)),
                    CastOp::ZeroExtend | CastOp::Truncate | CastOp::Bits => Some(truncate(value, *to)),
                    _ => None,
                }
            }
            Inst::Select { cond, then, other, .. } => self.known(if self.known(*cond)? != 0 { *then } else { *other }),
            Inst::Call(call) if self.depth < BOUNDS.formula_calls => {
                let Callee::Direct(function) = call.callee else { return None };
                let args: Vec<Option<u64>> = call.args.iter().map(|arg| self.known(*arg)).collect();
                let (_, callee) = self.formula.callees.iter().find(|(name, _)| *name == function)?;
                self.all.value_at(*callee, &args, self.depth + 1)
            }
            _ => None,
        }
    }
}

/// The value of an operation on numbers of so many bits, as far as they are known.
pub fn compute_binary(op: BinaryOp, bits: u16, a: Option<u64>, b: Option<u64>) -> Option<u64> {
    if matches!(op, BinaryOp::And | BinaryOp::Mul) && (a == Some(0) || b == Some(0)) {
        return Some(0);
    }
    let (a, b) = (a?, b?);
    let shift = u32::try_from(b).ok().filter(|by| *by < u32::from(bits));
    match op {
        BinaryOp::Add => Some(a.wrapping_add(b)),
        BinaryOp::Sub => Some(a.wrapping_sub(b)),
        BinaryOp::Mul => Some(a.wrapping_mul(b)),
        BinaryOp::And => Some(a & b),
        BinaryOp::Or => Some(a | b),
        BinaryOp::Xor => Some(a ^ b),
        BinaryOp::Shl => Some(a.wrapping_shl(shift?)),
        BinaryOp::LShr => Some(a >> shift?),
        BinaryOp::AShr => Some((sign_extend(a, bits) >> shift?) as u64),
        _ => None,
    }
}

/// The outcome of a comparison of numbers of so many bits.
pub fn compute_comparison(op: CompareOp, bits: u16, a: u64, b: u64) -> Option<bool> {
    let (x, y) = (sign_extend(a, bits), sign_extend(b, bits));
    Some(match op {
        CompareOp::Eq => a == b,
        CompareOp::Ne => a != b,
        CompareOp::ULt => a < b,
        CompareOp::ULe => a <= b,
        CompareOp::UGt => a > b,
        CompareOp::UGe => a >= b,
        CompareOp::SLt => x < y,
        CompareOp::SLe => x <= y,
        CompareOp::SGt => x > y,
        CompareOp::SGe => x >= y,
        _ => return None,
    })
}
