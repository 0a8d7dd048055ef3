//! Types whose objects count their references.
//!
//! A type is counted when some function takes one from a field of it and asks whether that was the last. Links to such an
//! object hold nothing by themselves: every list of vim sits in a global list from its birth, and still the code that made it
//! must release it (the design's "Ownership, not mere reach").

use caulk_ir::{BinaryOp, Body, Constant, Inst, InstId, Operand, Step};
use caulk_memory::{Offset, ValueId};
use caulk_program::{FuncId, GlobalVarId, Program, TypeId, UnitId};

use crate::function::View;

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

/// Whether what a field held is given to a function, before another block takes its place, that counts one reference less.
pub(crate) fn gives_up_reference(view: &View<'_>, old: ValueId, store: InstId) -> bool {
    let place = |inst: InstId| (view.order[view.homes[inst]], inst);
    view.program.call_sites(view.id).iter().filter(|site| place(site.inst) < place(store)).any(|site| {
        let is_old = view
            .argument(site.inst, 0)
            .and_then(|first| view.values.of_operand(first))
            .is_some_and(|cell| cell.base == old && cell.offset == Offset::ZERO);
        is_old && view.program.targets(site).iter().any(|target| counts_down(view.program, *target))
    })
}

/// Calls between a function that gives up a reference and the one that counts: `data->deref()` counts in a part of its own.
const MAX_COUNTING_CALLS: u32 = 2;

/// Whether a function takes one from a count, by itself or in a function that it calls, and asks whether that was the last.
fn counts_down(program: &Program, function: FuncId) -> bool {
    counts_down_within(program, function, MAX_COUNTING_CALLS)
}

fn counts_down_within(program: &Program, function: FuncId, calls: u32) -> bool {
    let Some(body) = program.body(function) else { return false };
    let counts = |inst: &Inst| {
        let Inst::Store { value: Operand::Value(new), address, .. } = inst else { return false };
        let is_read = |old: InstId| matches!(&body.insts[old], Inst::Load { address: from, .. } if from == address);
        decremented(&body, *new).is_some_and(|old| is_read(old) && is_compared_with_zero(&body, *new, old))
    };
    // `std::atomic` has functions of its own.
    let is_atomic = |callee: FuncId| {
        let name = program.function(callee).name;
        let is_member = name.starts_with("std::__atomic_base<") || name.starts_with("std::atomic<");
        is_member && (name.ends_with("::fetch_sub") || name.ends_with("::operator--"))
    };
    body.insts.values().any(counts)
        || program.callees(function).any(is_atomic)
        || (calls > 0 && program.callees(function).any(|callee| counts_down_within(program, callee, calls - 1)))
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
