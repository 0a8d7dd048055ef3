//! Static pointers as owners: a variable that receives nothing but fresh blocks, and whose contents no other place gets, loses its
//! block where it is filled again.
//!
//! As with fields ([`crate::overwrites`]), something has to tell that the variable was full: the function that fills it has used what it
//! held, another function that fills it frees it first, or input chooses what is filled and may choose it twice.

use caulk_ir::{Inst, InstId, Operand, Type};
use caulk_memory::{Cell, Offset, PathRoot, ValueId, ValueNode};
use caulk_program::{FuncId, GlobalVarId, Program};
use caulk_rules::Rule;
use caulk_summary::{Destination, Subject};
use rayon::prelude::*;
use rustc_hash::{FxHashMap, FxHashSet};
use serde::{Deserialize, Serialize};

use crate::candidate::{Candidate, Loss};
use crate::failed_renewal::is_failed_renewal;
use crate::fresh_values::{is_fresh, is_renewed};
use crate::function::View;
use crate::ground::Ground;
use crate::keywords::follows_keyword;
use crate::numbered::follows_number;
use crate::overwrites::lost_contents;
use crate::schedule::Analysis;
use crate::slots::AllocationLine;
use crate::summarize::{Summarizer, World};
use crate::traffic::filled_out_pointers;

/// What a function does with static pointers.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct StaticUse {
    /// Those that receive fresh blocks, with the line. Sorted.
    pub filled: Vec<(GlobalVarId, u32)>,
    /// Those that receive something else, or whose contents or address other code may keep. Sorted.
    pub shared: Vec<GlobalVarId>,
}

pub(crate) fn static_use(view: &View<'_>) -> StaticUse {
    let mut found = StaticUse::default();
    for (id, inst) in view.body.insts.iter() {
        match inst {
            Inst::Store { ty, value, address, .. } => note_store(view, id, (*ty, *value, *address), &mut found),
            Inst::Copy { dst, src, .. } => {
                found.shared.extend([*dst, *src].into_iter().filter_map(|at| variable_at(view, at)));
            }
            Inst::Fill { dst, .. } => found.shared.extend(variable_at(view, *dst)),
            _ => note_call(view, id, inst, &mut found),
        }
    }
    let rules = &view.config.rules;
    found.shared.extend(rules.all(Rule::StaticTails, || held_twice(view)));
    found.filled.sort_unstable();
    found.filled.dedup();
    found.shared.sort_unstable();
    found.shared.dedup();
    found
}

fn note_store(view: &View<'_>, id: InstId, (ty, value, address): (Type, Operand, Operand), found: &mut StaticUse) {
    let is_local = |cell: Cell| matches!(view.values.node(cell.base), ValueNode::Local(_));
    let to = view.values.of_operand(address);
    if let Some(variable) = to.and_then(|cell| variable(view, cell)) {
        let own = variables_behind(view, value);
        match to {
            Some(cell) if ty == Type::Ptr && cell.offset == Offset::ZERO => {
                if is_fresh(view, value) {
                    let made = value.value().filter(|made| view.calls[*made].is_some());
                    found.filled.push((variable, view.line_below(made.unwrap_or(id))));
                } else if view.body.constant(value).is_none() && own.as_slice() != [variable] {
                    found.shared.push(variable);
                }
            }
            _ => found.shared.push(variable),
        }
        found.shared.extend(own.into_iter().filter(|other| *other != variable));
    } else if !to.is_some_and(is_local) {
        found.shared.extend(variables_behind(view, value));
    }
    found.shared.extend(variable_at(view, value));
}

/// Variables that are set to a block which the function puts somewhere else as well: the tail of a list, whose nodes the list holds.
fn held_twice(view: &View<'_>) -> Vec<GlobalVarId> {
    let blocks = view.body.insts.values().filter_map(|inst| match inst {
        Inst::Store { value: Operand::Value(value), address, .. } => Some((variable_at(view, *address)?, *value)),
        _ => None,
    });
    let is_block = |(_, value): &(GlobalVarId, InstId)| is_fresh(view, (*value).into());
    blocks
        .filter(is_block)
        .filter(|(variable, value)| is_held_beside(view, *value, *variable))
        .map(|(v, _)| v)
        .collect()
}

/// Whether a block, by any pointer to it or into it, is stored in memory other than a variable, or given to a call that keeps it.
fn is_held_beside(view: &View<'_>, value: InstId, variable: GlobalVarId) -> bool {
    let is_beside = |address: Operand| {
        let cell = view.values.of_operand(address);
        let is_local = |cell: Cell| matches!(view.values.node(cell.base), ValueNode::Local(_) | ValueNode::Nothing);
        cell.is_some_and(|cell| !is_local(cell)) && variable_at(view, address) != Some(variable)
    };
    let block = view.values.of_inst(value).map(|cell| cell.base);
    let is_block = |operand: Operand| {
        operand == value.into() || (block.is_some() && view.values.of_operand(operand).map(|cell| cell.base) == block)
    };
    view.body.insts.iter().any(|(id, inst)| match inst {
        Inst::Store { value: stored, address, .. } => is_block(*stored) && is_beside(*address),
        _ => inst.call().is_some_and(|call| {
            let mut arguments = (0..).zip(&call.args);
            arguments.any(|(index, argument)| is_block(*argument) && keeps(view, id, index))
        }),
    })
}

/// A callee may keep what a variable holds, or its address.
fn note_call(view: &View<'_>, id: InstId, inst: &Inst, found: &mut StaticUse) {
    let Some(call) = inst.call() else { return };
    for cell in filled_out_pointers(view, id) {
        found.filled.extend(variable(view, cell).map(|variable| (variable, view.line_below(id))));
    }
    let filled = filled_out_pointers(view, id);
    for (index, argument) in call.args.iter().enumerate() {
        if view.values.of_operand(*argument).is_some_and(|cell| !filled.contains(&cell)) {
            found.shared.extend(variable_at(view, *argument));
        }
        if keeps(view, id, index as u32) {
            found.shared.extend(variables_behind(view, *argument));
        }
    }
}

/// Whether a call may put an argument where it stays.
fn keeps(view: &View<'_>, call: InstId, index: u32) -> bool {
    let Some(effect) = view.calls[call].as_ref() else { return false };
    effect.unknown
        || effect.summary.actions.iter().any(|action| {
            let is_argument = matches!(&action.subject, Subject::Value(path)
                if path.root == PathRoot::Param(index) && path.steps.is_empty());
            is_argument
                && match &action.to {
                    Destination::Free { .. } | Destination::Renew => false,
                    Destination::Store(to) => to.root != PathRoot::Return,
                    Destination::Unknown | Destination::Keep => true,
                }
        })
}

/// The variable whose address a value is.
fn variable_at(view: &View<'_>, value: Operand) -> Option<GlobalVarId> {
    variable(view, view.values.of_operand(value)?)
}

fn variable(view: &View<'_>, cell: Cell) -> Option<GlobalVarId> {
    match view.values.node(cell.base) {
        ValueNode::Global(variable) => Some(variable),
        _ => None,
    }
}

/// The variables that a value may have been read from.
fn variables_behind(view: &View<'_>, value: Operand) -> Vec<GlobalVarId> {
    let Some(cell) = view.values.of_operand(value) else { return Vec::new() };
    let read_from = |base: ValueId| match view.values.node(base) {
        ValueNode::Load(base, _) => variable(view, Cell { base, offset: Offset::ZERO }),
        _ => None,
    };
    let choices = view.values.choices(view.body, cell.base).into_iter().map(|choice| choice.base);
    let mut found: Vec<GlobalVarId> = choices.chain([cell.base]).filter_map(read_from).collect();
    found.sort_unstable();
    found.dedup();
    found
}

/// What one function does with what a variable held.
struct Filled {
    variable: GlobalVarId,
    /// Where it is lost. None: it is freed first.
    lost_at: Option<InstId>,
    ground: Option<Ground>,
}

/// Candidates of static pointers that are filled again.
pub(crate) fn overwritten_statics(world: &World<'_>, analysis: &Analysis) -> Vec<Candidate> {
    let owners = owners(world, analysis);
    let fills = |f: &FuncId| analysis.reports[*f].slots.statics.filled.iter().any(|(v, _)| owners.contains_key(v));
    let functions: Vec<FuncId> = world.program.functions().filter(fills).collect();
    let found: Vec<Vec<Filled>> =
        functions.par_iter().with_max_len(4).map(|f| filled_by(world, analysis, &owners, *f)).collect();
    let careful: FxHashSet<GlobalVarId> =
        found.iter().flatten().filter(|filled| filled.lost_at.is_none()).map(|filled| filled.variable).collect();
    let mut candidates = Vec::new();
    for (&function, filled) in functions.iter().zip(&found) {
        for Filled { variable, lost_at, ground } in filled {
            let is_later = || careful.contains(variable) && !starts_program(world.program, function);
            let others = || is_later().then_some(Ground::OthersFreeFirst);
            if let (Some(place), Some(ground)) = (*lost_at, ground.or_else(others)) {
                let loss = Loss::OverwrittenStatic(*variable);
                candidates.push(Candidate::of_structure(function, place, loss, owners[variable], Some(ground)));
            }
        }
    }
    candidates
}

/// Static pointers that own what they hold, and where they are filled first.
fn owners(world: &World<'_>, analysis: &Analysis) -> FxHashMap<GlobalVarId, AllocationLine> {
    let mut owners = FxHashMap::default();
    for (function, report) in analysis.reports.iter() {
        for (variable, line) in &report.slots.statics.filled {
            owners.entry(*variable).or_insert((function, *line));
        }
    }
    for (_, report) in analysis.reports.iter() {
        report.slots.statics.shared.iter().for_each(|variable| {
            owners.remove(variable);
        });
    }
    // What another program defines may be set there as well.
    owners.retain(|variable, _| world.program.global(*variable).is_defined);
    owners
}

fn filled_by(
    world: &World<'_>,
    analysis: &Analysis,
    owners: &FxHashMap<GlobalVarId, AllocationLine>,
    function: FuncId,
) -> Vec<Filled> {
    let Some(body) = world.program.body(function) else { return Vec::new() };
    let summary_of = |f: FuncId| Some(analysis.summary(f));
    let mut summarizer = Summarizer::new(world, function, &body, &summary_of, analysis.special(function));
    let mut found = Vec::new();
    for cell in filled_cells(&summarizer.view) {
        let Some(variable) = variable(&summarizer.view, cell).filter(|v| owners.contains_key(v)) else { continue };
        let is_renewed = is_renewed_here(&summarizer.view, cell);
        let (lost_at, is_freed) = lost_contents(&mut summarizer, cell, false);
        if is_renewed {
            let fails = lost_at.filter(|place| is_failed_renewal(&summarizer.view, *place, cell));
            let ground = Some(Ground::FailedRenewal);
            found.extend(fails.map(|place| Filled { variable, lost_at: Some(place), ground }));
            continue;
        }
        // Where some way frees it, the others may know that it is empty.
        if is_freed {
            found.push(Filled { variable, lost_at: None, ground: None });
        } else if let Some(place) = lost_at {
            let ground = ground(&mut summarizer, cell, place);
            found.push(Filled { variable, lost_at: Some(place), ground });
        }
    }
    found
}

/// Static pointers that a function fills, by a store or by a callee.
fn filled_cells(view: &View<'_>) -> Vec<Cell> {
    let mut cells = Vec::new();
    for (id, inst) in view.body.insts.iter() {
        match inst {
            Inst::Store { value, address, .. } if is_fresh(view, *value) => {
                cells.extend(view.values.of_operand(*address))
            }
            Inst::Call(_) | Inst::Invoke { .. } => cells.extend(filled_out_pointers(view, id)),
            _ => {}
        }
    }
    cells.retain(|cell| variable(view, *cell).is_some() && cell.offset == Offset::ZERO);
    cells.sort();
    cells.dedup();
    cells
}

/// Whether a function gives what a variable holds to a call, such as `realloc()`, whose result it puts there.
fn is_renewed_here(view: &View<'_>, cell: Cell) -> bool {
    view.body.insts.values().any(|inst| match inst {
        Inst::Store { value, address, .. } => {
            view.values.of_operand(*address) == Some(cell) && is_renewed(view, *value, cell)
        }
        _ => false,
    })
}

/// Whether a function runs once, when the program starts: `main`, and what only `main` calls.
fn starts_program(program: &Program, function: FuncId) -> bool {
    let is_main = |f: FuncId| program.function(f).symbol == "main";
    let mut callers = program.callers(function).peekable();
    is_main(function) || (callers.peek().is_some() && callers.all(is_main))
}

/// What the function itself tells of whether the variable was full.
fn ground(summarizer: &mut Summarizer<'_>, cell: Cell, place: InstId) -> Option<Ground> {
    if summarizer.is_full_at(cell, place) {
        return Some(Ground::FoundFull);
    }
    let view = &summarizer.view;
    let is_asked = summarizer.is_asked(cell) || summarizer.is_compared(cell);
    let is_numbered = || view.config.rules.applies(Rule::NumberedSettings, follows_number(view, place, cell));
    let is_named = !is_asked && (follows_keyword(view, place) || is_numbered());
    is_named.then_some(Ground::NamedSetting)
}
