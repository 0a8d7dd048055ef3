//! Status objects: numbers that small methods ask for (`status.ok()`), and that constructors and assignments set.
//!
//! A function that gives back an object of a class tells by a field of it how it went. What sets that field, and what asks for it, are
//! methods; here their bodies are read for just that.

use caulk_ir::{AddressStep, BinaryOp, Body, CastOp, Constant, Inst, InstId, Operand, Outline, Type};
use caulk_program::FuncId;
use caulk_rules::Rule;
use caulk_summary::{Asked, Assigned, Source, Summary};

use crate::bounds::BOUNDS;
use crate::conditions::relation;
use crate::facts::number_of;
use crate::summarize::World;

type SummaryAt<'s> = dyn Fn(InstId) -> Option<&'s Summary> + 's;

/// Notes which numbers in its caller's memory a function asks for and sets.
pub(crate) fn note_numbers<'a>(
    world: &World<'_>,
    function: FuncId,
    body: &Body,
    summary_of: &dyn Fn(FuncId) -> Option<&'a Summary>,
    summary: &mut Summary,
) {
    let program = world.program;
    let is_cxx = program.function(function).symbol.starts_with("_Z");
    if !is_cxx || !world.config.rules.is_on(Rule::StatusObjects) {
        return;
    }
    let summary_at = |call: InstId| match program.targets(program.call_site(function, call)?) {
        [only] => summary_of(*only),
        _ => None,
    };
    summary.asks = asks(body, &summary_at);
    summary.assigns = assigns(body, &summary_at);
}

/// The number of its object that a function gives back or tests.
pub(crate) fn asks(body: &Body, summary_at: &SummaryAt<'_>) -> Option<Asked> {
    if body.blocks.len() != 1 || body.insts.len() > BOUNDS.asking_method_insts {
        return None;
    }
    let Inst::Return { value: Some(value) } = body.terminator(Body::ENTRY) else { return None };
    let is_plain = |inst: &Inst| !matches!(inst, Inst::Store { .. } | Inst::Copy { .. } | Inst::Fill { .. });
    if !body.insts.values().all(is_plain) || body.insts.values().filter(|inst| inst.call().is_some()).count() > 1 {
        return None;
    }
    asked(body, summary_at, *value)
}

fn asked(body: &Body, summary_at: &SummaryAt<'_>, value: Operand) -> Option<Asked> {
    let inst = value.value()?;
    match &body.insts[inst] {
        Inst::Load { address, volatile: false, .. } => match place(body, *address)? {
            (0, offset) => Some(Asked { offset, whether: None }),
            _ => None,
        },
        Inst::Cast { op: CastOp::ZeroExtend | CastOp::SignExtend | CastOp::Bits, value, .. } => {
            asked(body, summary_at, *value)
        }
        // A truth value that lies in a byte.
        Inst::Cast { op: CastOp::Truncate, to: Type::Int(1), value, .. } => asked(body, summary_at, *value),
        Inst::Compare { op, lhs, rhs, .. } => {
            let Asked { offset, whether: None } = asked(body, summary_at, *lhs)? else { return None };
            let whether = relation(*op, body.constant(*rhs).and_then(number_of)?)?;
            Some(Asked { offset, whether: Some(whether) })
        }
        Inst::Binary { op: BinaryOp::Xor, ty: Type::Int(1), lhs, rhs, .. }
            if matches!(body.constant(*rhs), Some(Constant::Int { value: 1, .. })) =>
        {
            let Asked { offset, whether: Some(whether) } = asked(body, summary_at, *lhs)? else { return None };
            Some(Asked { offset, whether: Some(whether.negate()?) })
        }
        other => {
            let asked = summary_at(inst)?.asks?;
            match place(body, *other.call()?.args.first()?)? {
                (0, offset) => Some(Asked { offset: asked.offset + offset, ..asked }),
                _ => None,
            }
        }
    }
}

/// The parameter that an address is computed from, and the offset.
fn place(body: &Body, address: Operand) -> Option<(u32, i64)> {
    let (mut at, mut offset) = (address.value()?, 0i64);
    loop {
        match &body.insts[at] {
            Inst::Param { index, ty: Type::Ptr, .. } => return Some((*index, offset)),
            Inst::Address { base, steps } => {
                for step in steps {
                    offset += match step {
                        AddressStep::Field { offset, .. } => i64::try_from(*offset).ok()?,
                        AddressStep::Bytes { offset, .. } => *offset,
                        AddressStep::Index { .. } => return None,
                    };
                }
                at = base.value()?;
            }
            Inst::Cast { op: CastOp::Bits, value, .. } => at = value.value()?,
            _ => return None,
        }
    }
}

/// Something is written to what a parameter points to. `offset` None: any part of it. `from` None: something unknown.
struct Write {
    inst: InstId,
    param: u32,
    offset: Option<i64>,
    from: Option<Source>,
}

/// Numbers that are always left in what parameters point to.
pub(crate) fn assigns(body: &Body, summary_at: &SummaryAt<'_>) -> Vec<Assigned> {
    if body.insts.len() > BOUNDS.number_method_insts {
        return Vec::new();
    }
    let writes = writes(body, summary_at);
    if writes.iter().all(|write| write.from.is_none()) {
        return Vec::new();
    }
    let outline = Outline::new(body);
    let ends = || body.insts.iter().filter(|(_, inst)| matches!(inst, Inst::Return { .. })).map(|(id, _)| id);
    let is_last = |write: &Write| {
        let concerns =
            |other: &&Write| other.param == write.param && other.offset.is_none_or(|o| Some(o) == write.offset);
        ends().all(|end| outline.comes_before(write.inst, end))
            && writes.iter().filter(concerns).all(|o| outline.comes_before(o.inst, write.inst))
    };
    let is_untouched = |source: Source| match source {
        Source::Memory(param, offset) => {
            !writes.iter().any(|write| write.param == param && write.offset.is_none_or(|o| o == offset))
        }
        Source::Number(_) | Source::Argument(_) => true,
    };
    let assigned = |write: &Write| {
        let from = write.from.filter(|from| is_untouched(*from))?;
        is_last(write).then_some(Assigned { param: write.param, offset: write.offset?, from })
    };
    let mut all: Vec<Assigned> = writes.iter().filter_map(assigned).collect();
    all.sort_unstable();
    all.dedup();
    all.dedup_by_key(|assigned| (assigned.param, assigned.offset));
    all.truncate(BOUNDS.assigned_numbers);
    all
}

fn writes(body: &Body, summary_at: &SummaryAt<'_>) -> Vec<Write> {
    let mut writes = Vec::new();
    for (inst, kind) in body.insts.iter() {
        match kind {
            Inst::Store { value, address, ty, .. } => {
                let Some((param, offset)) = place(body, *address) else { continue };
                let is_number = matches!(ty, Type::Int(_)) || body.constant(*value) == Some(Constant::Null);
                let from = source(body, *value).filter(|_| is_number);
                writes.push(Write { inst, param, offset: Some(offset), from });
            }
            Inst::Copy { dst: address, .. } | Inst::Fill { dst: address, .. } => {
                writes.extend(place(body, *address).map(|(param, _)| Write { inst, param, offset: None, from: None }));
            }
            _ => {
                let Some(call) = kind.call() else { continue };
                let summary = summary_at(inst);
                if summary.is_some_and(|summary| !summary.impure) {
                    continue;
                }
                let given = call.args.iter().filter_map(|argument| place(body, *argument));
                writes.extend(given.map(|(param, _)| Write { inst, param, offset: None, from: None }));
                for assigned in summary.map(|summary| summary.assigns.as_slice()).unwrap_or_default() {
                    let to = call.args.get(assigned.param as usize).and_then(|argument| place(body, *argument));
                    let Some((param, at)) = to else { continue };
                    let from = passed(body, &call.args, assigned.from);
                    writes.push(Write { inst, param, offset: Some(at + assigned.offset), from });
                }
            }
        }
    }
    writes
}

/// What a number that is stored comes from.
fn source(body: &Body, value: Operand) -> Option<Source> {
    if let Some(number) = body.constant(value).and_then(number_of) {
        return Some(Source::Number(number));
    }
    match &body.insts[value.value()?] {
        Inst::Param { index, ty: Type::Int(_), .. } => Some(Source::Argument(*index)),
        Inst::Load { address, volatile: false, .. } => {
            place(body, *address).map(|(param, offset)| Source::Memory(param, offset))
        }
        Inst::Cast { op: CastOp::ZeroExtend | CastOp::SignExtend | CastOp::Bits, value, .. } => source(body, *value),
        _ => None,
    }
}

/// What a callee takes a number from, in terms of what the function itself was given.
fn passed(body: &Body, arguments: &[Operand], from: Source) -> Option<Source> {
    match from {
        Source::Number(_) => Some(from),
        Source::Argument(index) => source(body, *arguments.get(index as usize)?),
        Source::Memory(index, offset) => {
            let (param, at) = place(body, *arguments.get(index as usize)?)?;
            Some(Source::Memory(param, at + offset))
        }
    }
}
