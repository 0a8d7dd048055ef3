//! Types whose objects count their references.
//!
//! A type is counted when some function takes one from a field of it and asks whether that was the last. Links to such an
//! object hold nothing by themselves: every list of vim sits in a global list from its birth, and still the code that made it
//! must release it (the design's "Ownership, not mere reach").

use caulk_ir::{BinaryOp, Body, Constant, Inst, InstId, Operand, Step};
use caulk_program::{FuncId, GlobalVarId, Program, TypeId, UnitId};

/// Types of which this function releases a reference, `if (--p->count <= 0)`, and the globals that it names.
pub(crate) fn released_types(program: &Program, function: FuncId, body: &Body) -> Vec<(TypeId, Vec<GlobalVarId>)> {
    let unit = program.function(function).unit;
    let mut found = Vec::new();
    for inst in body.insts.values() {
        let Inst::Store { value: Operand::Value(new), address: Operand::Value(to), .. } = inst else { continue };
        let (Some(old), Some((base, ty, offset))) = (decremented(body, *new), field(body, *to)) else { continue };
        let Inst::Load { address: Operand::Value(from), .. } = body.insts[old] else { continue };
        if field(body, from) == Some((base, ty, offset)) && is_compared_with_zero(body, *new, old) {
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

/// `--n == 0`, `--n <= 0`, or `n-- == 1`.
fn is_compared_with_zero(body: &Body, new: InstId, old: InstId) -> bool {
    body.insts.values().any(|inst| match inst {
        Inst::Compare { lhs: Operand::Value(v), rhs, .. } => {
            let limit = body.constant(*rhs).and_then(Constant::as_signed);
            (*v == new && matches!(limit, Some(0 | 1))) || (*v == old && limit == Some(1))
        }
        _ => false,
    })
}
