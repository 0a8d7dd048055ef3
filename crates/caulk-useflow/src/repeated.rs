//! Methods that are called again and again on one object: `for (...) reader.section(...)`.
//!
//! A method that fills an owning field without looking at it loses what an earlier call has put there. Whether there is an earlier
//! call, its callers tell: one that calls it in a loop, on an object that stays the same, and empties the field nowhere in that
//! loop, calls it more than once.

use caulk_ir::{BlockId, Body, Inst, InstId, Operand};
use caulk_program::{FuncId, Program};
use rustc_hash::FxHashSet;

use crate::schedule::Analysis;
use crate::slots::Slot;

/// Whether some caller calls a function in a loop on a structure that it was itself given, and leaves a field of it alone there.
pub(crate) fn is_called_again(program: &Program, analysis: &Analysis, function: FuncId, slot: Slot) -> bool {
    program.callers(function).any(|caller| repeats(program, analysis, caller, function, slot))
}

fn repeats(program: &Program, analysis: &Analysis, caller: FuncId, function: FuncId, slot: Slot) -> bool {
    let Some(body) = program.body(caller).filter(|_| !empties(analysis, caller, slot)) else { return false };
    let homes = body.inst_blocks();
    let sites = program.call_sites(caller).iter();
    let calls = sites.filter(|site| program.targets(site) == [function]).map(|site| site.inst);
    calls.into_iter().filter(|call| is_on_given(&body, *call)).any(|call| {
        let around = cycle_through(&body, homes[call]);
        let inside = program.call_sites(caller).iter().filter(|site| around.contains(&homes[site.inst]));
        let mut callees = inside.flat_map(|site| program.targets(site));
        !around.is_empty() && !callees.any(|callee| *callee != function && empties(analysis, *callee, slot))
    })
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

/// The blocks on the ways from a block back to itself. Empty where it is in no loop.
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
