//! Methods that are called again and again on one object: `for (...) reader.section(...)`.
//!
//! A method that fills an owning field without looking at it loses what an earlier call has put there. Whether there is an earlier
//! call, its callers tell: one that calls it in a loop, on an object that stays the same, and neither looks at the field nor empties
//! it in that loop, calls it more than once.

use caulk_ir::{BlockId, Body, Inst, InstId, Operand, Step};
use caulk_program::{CallSite, FuncId, Program};
use rustc_hash::FxHashSet;

use crate::function::View;
use crate::keywords::{follows_entry, follows_keyword};
use crate::schedule::Analysis;
use crate::slots::Slot;
use crate::summarize::{Summarizer, World};

/// Whether some caller calls a function in a loop on a structure that it was itself given, and leaves a field of it alone there.
pub(crate) fn is_called_again(world: &World<'_>, analysis: &Analysis, function: FuncId, slot: Slot) -> bool {
    world.program.callers(function).any(|caller| repeats(world, analysis, caller, function, slot))
}

fn repeats(world: &World<'_>, analysis: &Analysis, caller: FuncId, function: FuncId, slot: Slot) -> bool {
    let program = world.program;
    let Some(body) = program.body(caller).filter(|_| !empties(analysis, caller, slot)) else { return false };
    let homes = body.inst_blocks();
    let sites = program.call_sites(caller).iter();
    let calls = sites.filter(|site| program.targets(site) == [function]).map(|site| site.inst);
    calls.into_iter().filter(|call| is_on_given(&body, *call)).any(|call| {
        let around = cycle_through(&body, homes[call]);
        let inside = program.call_sites(caller).iter().filter(|site| around.contains(&homes[site.inst]));
        let mut callees = inside.flat_map(|site| program.targets(site));
        !around.is_empty()
            // `check(part); if (error) return;` ends the loop when the field is set.
            && !body.insts.iter().any(|(id, inst)| around.contains(&homes[id]) && names_field(program, caller, inst, slot))
            && !callees.any(|callee| *callee != function && empties(analysis, *callee, slot))
            && !with_view(world, analysis, caller, &body, |view| follows_entry(view, call))
    })
}

/// Whether some caller calls a function in a loop, where a text of its input equals a constant, on a structure that is not changed for
/// another there, and neither looks at a field of it in that loop nor empties it. `index`: the parameter that the structure is.
pub(crate) fn is_set_in_loop(world: &World<'_>, analysis: &Analysis, function: FuncId, index: u32, slot: Slot) -> bool {
    world.program.callers(function).any(|caller| {
        let Some(body) = world.program.body(caller).filter(|_| !empties(analysis, caller, slot)) else { return false };
        let sites = world.program.call_sites(caller).iter().filter(|site| world.program.targets(site) == [function]);
        let calls: Vec<InstId> = sites.map(|site| site.inst).collect();
        calls.into_iter().any(|call| {
            let is_repeated = is_repeated(world.program, analysis, caller, &body, (call, index), slot);
            is_repeated && with_view(world, analysis, caller, &body, |view| follows_keyword(view, call))
        })
    })
}

/// Asks something of a caller with all that stage one knows of it. A call that is made only where a text of the input equals a constant may be
/// made twice; a loop over the entries of a table may mean one of them.
fn with_view(
    world: &World<'_>,
    analysis: &Analysis,
    caller: FuncId,
    body: &Body,
    ask: impl Fn(&View<'_>) -> bool,
) -> bool {
    let summary_of = |f: FuncId| Some(analysis.summary(f));
    let summarizer = Summarizer::new(world, caller, body, &summary_of, analysis.special(caller));
    ask(&summarizer.view)
}

/// Whether a call is in a loop that leaves a structure and a field of it alone.
fn is_repeated(
    program: &Program,
    analysis: &Analysis,
    caller: FuncId,
    body: &Body,
    (call, index): (InstId, u32),
    slot: Slot,
) -> bool {
    let homes = body.inst_blocks();
    let around = cycle_through(body, homes[call]);
    let is_in_loop = |inst: InstId| around.contains(&homes[inst]);
    let structure = body.insts[call].call().and_then(|call| call.args.get(index as usize)).copied();
    let Some(structure) = structure else { return false };
    let is_structure = |operand: &Operand| origin(body, *operand) == origin(body, structure);
    let touches = |inst: &Inst| match inst {
        Inst::Address { .. } => names_field(program, caller, inst, slot),
        Inst::Fill { dst, .. } | Inst::Copy { dst, .. } => is_structure(dst),
        _ => false,
    };
    let is_emptied_by = |site: &CallSite| {
        let mut arguments = body.insts[site.inst].call().into_iter().flat_map(|call| &call.args);
        let is_given = arguments.any(is_structure);
        let may_clear = |f: &FuncId| is_given && analysis.reports[*f].slots.clears;
        program.targets(site).iter().any(|f| empties(analysis, *f, slot) || may_clear(f))
    };
    let mut others = program.call_sites(caller).iter().filter(|site| site.inst != call && is_in_loop(site.inst));
    !around.is_empty()
        && stays_the_same(body, structure, is_in_loop)
        && !body.insts.iter().any(|(id, inst)| is_in_loop(id) && touches(inst))
        && !others.any(is_emptied_by)
}

/// Whether an instruction of a function computes the address of a field.
fn names_field(program: &Program, function: FuncId, inst: &Inst, slot: Slot) -> bool {
    let unit = program.function(function).unit;
    let is_field = |step: &Step| match *step {
        Step::Field { ty, offset } => offset == slot.1 && program.resolve_struct(unit, ty) == slot.0,
        _ => false,
    };
    matches!(inst, Inst::Address { steps, .. } if steps.iter().any(is_field))
}

/// The pointer that the address of a part was computed from.
fn origin(body: &Body, mut pointer: Operand) -> Operand {
    while let Operand::Value(value) = pointer {
        pointer = match &body.insts[value] {
            Inst::Address { base, .. } => *base,
            Inst::Cast { value, .. } => *value,
            _ => break,
        };
    }
    pointer
}

/// Whether a pointer leads to the same structure in every iteration of a loop.
fn stays_the_same(body: &Body, pointer: Operand, is_in_loop: impl Fn(InstId) -> bool) -> bool {
    let mut pointer = pointer;
    while let Operand::Value(value) = pointer {
        pointer = match &body.insts[value] {
            Inst::Address { base, steps } if !steps.iter().any(|step| matches!(step, Step::Index { .. })) => *base,
            Inst::Cast { value, .. } => *value,
            Inst::Param { .. } => return true,
            // A variable of the loop's own is another one in each iteration.
            Inst::Local { .. } => {
                let starts = |(id, inst): (InstId, &Inst)| {
                    matches!(inst, Inst::ScopeStart { local } if *local == value) && is_in_loop(id)
                };
                return !body.insts.iter().any(starts);
            }
            _ => return !is_in_loop(value),
        };
    }
    false
}

/// Whether a function frees what a field holds, or sets the field to null.
fn empties(analysis: &Analysis, function: FuncId, slot: Slot) -> bool {
    let slots = &analysis.reports[function].slots;
    slots.freed.contains(&slot) || slots.traffic.nulled.contains(&slot)
}

/// Whether the first argument of a call is what the caller was given, or a part of it.
fn is_on_given(body: &Body, call: InstId) -> bool {
    let mut object = body.insts[call].call().and_then(|call| call.args.first()).copied();
    while let Some(Operand::Value(value)) = object {
        object = match &body.insts[value] {
            Inst::Address { base, .. } => Some(*base),
            Inst::Cast { value, .. } => Some(*value),
            inst => return matches!(inst, Inst::Param { .. }),
        };
    }
    false
}

/// The blocks on the paths from a block back to itself. Empty where it is in no loop.
fn cycle_through(body: &Body, block: BlockId) -> FxHashSet<BlockId> {
    let predecessors = body.predecessors();
    let after = reached(body.terminator(block).successors(), |b| body.terminator(b).successors().into_iter().collect());
    let before = reached(predecessors[block].iter().copied(), |b| predecessors[b].clone());
    after.intersection(&before).copied().filter(|_| after.contains(&block)).collect()
}

fn reached(starts: impl IntoIterator<Item = BlockId>, next: impl Fn(BlockId) -> Vec<BlockId>) -> FxHashSet<BlockId> {
    let mut seen = FxHashSet::default();
    let mut work: Vec<BlockId> = starts.into_iter().collect();
    while let Some(block) = work.pop() {
        if seen.insert(block) {
            work.extend(next(block));
        }
    }
    seen
}
