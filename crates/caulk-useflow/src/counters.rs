//! Fields that count: somewhere in the program something is added to what they hold, or it is multiplied (`s->len += n`, `s->room *= 2`).
//!
//! A callee that fills a buffer under unknown conditions and counts beside it has counted something when it has filled it: who
//! finds the count at zero finds no buffer either.

use caulk_ir::{BinaryOp, Body, Inst, Operand, Step};
use caulk_program::{FuncId, Program, TypeId};

/// Fields that a body adds to. Sorted.
pub(crate) fn counted_fields(program: &Program, function: FuncId, body: &Body) -> Vec<(TypeId, u64)> {
    let unit = program.function(function).unit;
    let field = |address: Operand| {
        let Inst::Address { steps, .. } = &body.insts[address.value()?] else { return None };
        match steps.last()? {
            Step::Field { ty, offset } => Some((program.resolve_struct(unit, *ty), *offset)),
            _ => None,
        }
    };
    let loaded = |operand: Operand| match body.insts[operand.value()?] {
        Inst::Load { address, .. } => field(address),
        _ => None,
    };
    let counted = |inst: &Inst| {
        let Inst::Store { value: Operand::Value(value), address, .. } = inst else { return None };
        let Inst::Binary { op: BinaryOp::Add | BinaryOp::Mul | BinaryOp::Shl, lhs, rhs, .. } = body.insts[*value]
        else {
            return None;
        };
        let place = field(*address)?;
        [lhs, rhs].into_iter().any(|side| loaded(side) == Some(place)).then_some(place)
    };
    let mut fields: Vec<(TypeId, u64)> = body.insts.values().filter_map(counted).collect();
    fields.sort_unstable();
    fields.dedup();
    fields
}
