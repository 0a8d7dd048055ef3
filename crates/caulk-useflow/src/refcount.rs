//! Types whose objects count their references.
//!
//! A type is counted when some function takes one from a field of it, asks whether that was the last, and gives the object to a
//! function then (a number of attempts that are left is no count). Links to such an
//! object hold nothing by themselves: every list of vim sits in a global list from its birth, and still the code that made it
//! must release it (the design's "Ownership, not mere reach").

use caulk_ir::{AddressStep, BinaryOp, Body, CompareOp, Constant, Inst, InstId, Operand, Outline};
use caulk_memory::{Offset, ValueId};
use caulk_program::{FuncId, GlobalVarId, Program, TypeId, UnitId};

use crate::bounds::BOUNDS;
use crate::function::View;

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

/// Whether a function takes one from a count, by itself or in a function that it calls, and asks whether that was the last.
fn counts_down(program: &Program, function: FuncId) -> bool {
    counts_down_within(program, function, BOUNDS.counting_calls)
}

fn counts_down_within(program: &Program, function: FuncId, calls: u32) -> bool {
    let Some(body) = program.body(function) else { return false };
    let counts = |inst: &Inst| {
        let Inst::Store { value: Operand::Value(new), address, .. } = inst else { return false };
        let is_read = |old: InstId| matches!(&body.insts[old], Inst::Load { address: from, .. } if from == address);
        decremented(&body, *new).is_some_and(|old| is_read(old) && questions(&body, *new, old).next().is_some())
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
            [AddressStep::Field { ty, offset }] => Some((*base, *ty, *offset)),
            _ => None,
        },
        _ => None,
    }
}

/// `--n == 0`, `--n <= 0`, or `n-- == 1`, and then the object goes to a function.
fn is_last_asked(body: &Body, base: Operand, new: InstId, old: InstId) -> bool {
    questions(body, new, old).any(|(compare, outcome)| is_given_away(body, base, compare, outcome))
}

/// Comparisons that ask whether a reference was the last, and their outcome where it was.
fn questions(body: &Body, new: InstId, old: InstId) -> impl Iterator<Item = (InstId, bool)> + '_ {
    body.insts.iter().filter_map(move |(id, inst)| {
        let Inst::Compare { op, lhs: Operand::Value(v), rhs, .. } = inst else { return None };
        let limit = body.constant(*rhs).and_then(Constant::as_signed)?;
        let is_asked = (*v == new && matches!(limit, 0 | 1)) || (*v == old && limit == 1);
        is_asked.then(|| (id, holds(*op, i64::from(*v == old), limit)))
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
    let outline = Outline::new(body);
    let mut gifts = body.insts.iter().filter(|(_, inst)| {
        inst.call().is_some_and(|call| call.args.iter().any(|argument| is_same(body, *argument, base)))
    });
    let targets: Vec<_> = targets.collect();
    gifts.any(|(gift, _)| targets.iter().any(|target| outline.dominators().dominates(*target, outline.homes[gift])))
}

/// Whether two operands are one value, or are read from one address.
fn is_same(body: &Body, a: Operand, b: Operand) -> bool {
    let address = |operand: Operand| match body.insts[operand.value()?] {
        Inst::Load { address, .. } => Some(address),
        _ => None,
    };
    a == b || address(a).is_some_and(|at| address(b) == Some(at))
}
