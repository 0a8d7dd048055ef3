//! Types whose objects count their references.
//!
//! A type is counted when some function takes one from a field of it, asks whether that was the last, and gives the object to a
//! function then (a number of attempts that are left is no count). Links to such an
//! object hold nothing by themselves: every list of vim sits in a global list from its birth, and still the code that made it
//! must release it (the design's "Ownership, not mere reach").

use caulk_ir::{BinaryOp, Body, CompareOp, Constant, DominatorTree, Inst, InstId, Operand, Step};
use caulk_program::{FuncId, GlobalVarId, Program, TypeId, UnitId};

/// Types of which this function releases a reference, `if (--p->count <= 0)`, and the globals that it names.
pub(crate) fn released_types(program: &Program, function: FuncId, body: &Body) -> Vec<(TypeId, Vec<GlobalVarId>)> {
    let unit = program.function(function).unit;
    let mut found = Vec::new();
    for inst in body.insts.values() {
        let Inst::Store { value: Operand::Value(new), address: Operand::Value(to), .. } = inst else { continue };
        let (Some(old), Some((base, ty, offset))) = (decremented(body, *new), field(body, *to)) else { continue };
        let Inst::Load { address: Operand::Value(from), .. } = body.insts[old] else { continue };
        if field(body, from) == Some((base, ty, offset)) && is_last_asked(body, base, *new, old) {
            found.push((program.resolve_struct(unit, ty), named_globals(program, unit, body)));
        }
    }
    found
}

fn named_globals(program: &Program, unit: UnitId, body: &Body) -> Vec<GlobalVarId> {
    let global = |constant: &Constant| match constant {
        Constant::Global { global, .. } => program.resolve_global(unit, *global).first().copied(),
        _ => None,
    };
    body.consts.values().filter_map(global).collect()
}

/// The value that is one more than this one.
fn decremented(body: &Body, value: InstId) -> Option<InstId> {
    let Inst::Binary { op, lhs: Operand::Value(old), rhs, .. } = body.insts[value] else { return None };
    match (op, body.constant(rhs).and_then(Constant::as_signed)) {
        (BinaryOp::Add, Some(-1)) | (BinaryOp::Sub, Some(1)) => Some(old),
        _ => None,
    }
}

/// The field an address is of: what it is based on, the structure and the offset.
fn field(body: &Body, address: InstId) -> Option<(Operand, caulk_ir::StructId, u64)> {
    match &body.insts[address] {
        Inst::Address { base, steps } => match steps.as_slice() {
            [Step::Field { ty, offset }] => Some((*base, *ty, *offset)),
            _ => None,
        },
        _ => None,
    }
}

/// `--n == 0`, `--n <= 0`, or `n-- == 1`, and then the object goes to a function.
fn is_last_asked(body: &Body, base: Operand, new: InstId, old: InstId) -> bool {
    body.insts.iter().any(|(id, inst)| match inst {
        Inst::Compare { op, lhs: Operand::Value(v), rhs, .. } => {
            let Some(limit) = body.constant(*rhs).and_then(Constant::as_signed) else { return false };
            let is_asked = (*v == new && matches!(limit, 0 | 1)) || (*v == old && limit == 1);
            is_asked && is_given_away(body, base, id, holds(*op, i64::from(*v == old), limit))
        }
        _ => false,
    })
}

/// Whether a comparison holds where the count has just become zero.
fn holds(op: CompareOp, count: i64, limit: i64) -> bool {
    match op {
        CompareOp::Eq | CompareOp::Float => count == limit,
        CompareOp::Ne => count != limit,
        CompareOp::ULt | CompareOp::SLt => count < limit,
        CompareOp::ULe | CompareOp::SLe => count <= limit,
        CompareOp::UGt | CompareOp::SGt => count > limit,
        CompareOp::UGe | CompareOp::SGe => count >= limit,
    }
}

/// Whether a function is given the object where a comparison has one outcome. What is not branched on may lead there.
fn is_given_away(body: &Body, base: Operand, compare: InstId, outcome: bool) -> bool {
    let branches = body.insts.values().filter_map(|inst| match inst {
        Inst::Branch { cond: Operand::Value(cond), then, other } if *cond == compare => {
            Some(if outcome { *then } else { *other })
        }
        _ => None,
    });
    let mut targets = branches.peekable();
    if targets.peek().is_none() {
        return true;
    }
    let (tree, homes) = (DominatorTree::new(body), body.inst_blocks());
    let mut gifts = body.insts.iter().filter(|(_, inst)| {
        inst.call().is_some_and(|call| call.args.iter().any(|argument| is_same(body, *argument, base)))
    });
    let targets: Vec<_> = targets.collect();
    gifts.any(|(gift, _)| targets.iter().any(|target| tree.dominates(*target, homes[gift])))
}

/// Whether two operands are one value, or are read from one address.
fn is_same(body: &Body, a: Operand, b: Operand) -> bool {
    let address = |operand: Operand| match body.insts[operand.value()?] {
        Inst::Load { address, .. } => Some(address),
        _ => None,
    };
    a == b || address(a).is_some_and(|at| address(b) == Some(at))
}
