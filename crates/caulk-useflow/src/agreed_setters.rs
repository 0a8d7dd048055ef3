//! A function that fills a field and does not free it first, where most others that fill the field do.
//!
//! Whether the field is full there no path tells: the structure has gone through callees that may have done anything to it. That the
//! others free it first says that it may be.

use std::collections::BTreeMap;

use caulk_ir::{Inst, InstId, Operand};
use caulk_memory::{Cell, ValueNode};
use caulk_program::{FuncId, is_constructor};
use rayon::prelude::*;
use rustc_hash::{FxHashMap, FxHashSet};

use crate::bounds::BOUNDS;
use crate::candidate::{Candidate, Loss};
use crate::classes::Flows;
use crate::fresh_values::{is_fresh, is_renewed};
use crate::function::View;
use crate::ground::Ground;
use crate::holders::holder_of;
use crate::schedule::Analysis;
use crate::slot_table::SlotTable;
use crate::slots::Slot;
use crate::summarize::{Summarizer, World};

/// Candidates of functions that do not do as the others. `known`: what was found before.
pub(crate) fn careless_setters(
    world: &World<'_>,
    analysis: &Analysis,
    table: &SlotTable,
    flows: &Flows,
    known: &[Candidate],
) -> Vec<Candidate> {
    let careless = careless_functions(world, analysis, flows);
    let told: FxHashSet<(FuncId, Slot)> =
        known.iter().filter(|c| !c.hidden).filter_map(|c| Some((c.function, c.loss.slot()?))).collect();
    let found: Vec<Vec<Candidate>> = careless
        .par_iter()
        .with_max_len(4)
        .map(|(function, slots)| of_function(world, analysis, table, *function, slots))
        .collect();
    let is_new = |c: &Candidate| c.loss.slot().is_some_and(|slot| !told.contains(&(c.function, slot)));
    found.into_iter().flatten().filter(is_new).collect()
}

/// What functions do with the fields that they fill in structures which they have not made.
#[derive(Default)]
struct Setters {
    /// Those that free the field as well.
    careful: FxHashMap<Slot, Vec<FuncId>>,
    /// Those that do not free it, not even by a callee.
    careless: FxHashMap<Slot, Vec<FuncId>>,
}

impl Setters {
    fn new(world: &World<'_>, analysis: &Analysis) -> Self {
        let mut found = Self::default();
        for (function, report) in analysis.reports.iter() {
            let slots = &report.slots;
            if is_constructor(world.program.function(function).symbol) {
                continue;
            }
            let is_maker = |slot: &Slot| slots.made.iter().any(|(ty, _)| *ty == slot.0);
            let mut filled: Vec<Slot> = slots.filled.iter().map(|(slot, _)| *slot).collect();
            filled.dedup();
            for slot in filled.into_iter().filter(|slot| !is_maker(slot)) {
                if slots.freed_here.contains(&slot) {
                    found.careful.entry(slot).or_default().push(function);
                } else if !slots.freed.contains(&slot) {
                    found.careless.entry(slot).or_default().push(function);
                }
            }
        }
        found
    }
}

/// Functions that fill fields which others free first, with these fields. In the order of the functions.
fn careless_functions(world: &World<'_>, analysis: &Analysis, flows: &Flows) -> Vec<(FuncId, Vec<Slot>)> {
    let setters = Setters::new(world, analysis);
    let is_enough =
        |careful: &[FuncId], careless: &[FuncId]| careful.len() >= BOUNDS.careful_setters.max(careless.len());
    let careful_of = |slot: &Slot| setters.careful.get(slot).map(Vec::as_slice).unwrap_or_default();
    let all = setters.careless.iter().map(|(slot, careless)| (*slot, careful_of(slot), careless.as_slice()));
    let is_suspect = |(slot, careful, careless): &(Slot, &[FuncId], &[FuncId])| {
        is_enough(careful, careless) && !flows.may_point_inside(*slot)
    };
    let mut suspects: Vec<(Slot, &[FuncId], &[FuncId])> = all.filter(is_suspect).collect();
    suspects.sort_unstable_by_key(|(slot, ..)| *slot);
    // A function that frees the field only where something fails after it was filled is no example.
    let is_exception = |(slot, careful, careless): &&(Slot, &[FuncId], &[FuncId])| {
        let first: Vec<FuncId> =
            careful.iter().copied().filter(|f| frees_before_it_fills(world, analysis, *f, *slot)).collect();
        is_enough(&first, careless)
    };
    let exceptions: Vec<_> = suspects.par_iter().with_max_len(4).filter(is_exception).collect();
    let mut by_function: BTreeMap<FuncId, Vec<Slot>> = BTreeMap::new();
    for (slot, _, careless) in exceptions {
        careless.iter().for_each(|f| by_function.entry(*f).or_default().push(*slot));
    }
    by_function.into_iter().collect()
}

/// Whether a call that frees what a field holds comes before the field is filled.
fn frees_before_it_fills(world: &World<'_>, analysis: &Analysis, function: FuncId, slot: Slot) -> bool {
    let Some(body) = world.program.body(function) else { return false };
    let summary_of = |f: FuncId| Some(analysis.summary(f));
    let summarizer = Summarizer::new(world, function, &body, &summary_of, analysis.special(function));
    let view = &summarizer.view;
    let place = |inst: InstId| (view.order[view.homes[inst]], inst);
    let is_freed_before = |store: InstId, cell: Cell| {
        view.body.insts.iter().filter(|(inst, _)| place(*inst) < place(store)).any(|(inst, kind)| {
            let (Some(call), Some(effect)) = (kind.call(), &view.calls[inst]) else { return false };
            let is_old = |argument: &Operand| {
                let base = view.values.of_operand(*argument).map(|c| view.values.node(c.base));
                base == Some(ValueNode::Load(cell.base, cell.offset))
            };
            effect.summary.frees() && call.args.iter().any(is_old)
        })
    };
    fills_of(view, slot).any(|(store, cell)| is_freed_before(store, cell))
}

fn of_function(
    world: &World<'_>,
    analysis: &Analysis,
    table: &SlotTable,
    function: FuncId,
    slots: &[Slot],
) -> Vec<Candidate> {
    let Some(body) = world.program.body(function) else { return Vec::new() };
    let summary_of = |f: FuncId| Some(analysis.summary(f));
    let summarizer = Summarizer::new(world, function, &body, &summary_of, analysis.special(function));
    let view = &summarizer.view;
    let mut candidates = Vec::new();
    for slot in slots.iter().filter(|slot| !table.is_emptied_around(world.program, function, slot)) {
        let is_told = |cell: Cell| summarizer.is_asked(cell) || summarizer.is_compared(cell) || is_cleared(view, cell);
        let store = fills_of(view, *slot).find(|(_, cell)| !is_told(*cell));
        let ground = Some(Ground::CarelessSetter);
        candidates.extend(store.map(|(store, _)| {
            Candidate::of_structure(function, store, Loss::OverwrittenField(*slot), table.origin(slot), ground)
        }));
    }
    candidates
}

/// Stores of fresh blocks into a field of structures that are not the function's own.
fn fills_of<'v>(view: &'v View<'_>, slot: Slot) -> impl Iterator<Item = (InstId, Cell)> + 'v {
    view.body.insts.iter().filter_map(move |(inst, kind)| {
        let Inst::Store { value, address, .. } = kind else { return None };
        let cell = view.values.of_operand(*address).filter(|_| is_fresh(view, *value))?;
        let is_renewed = is_renewed(view, *value, cell);
        let is_field = view.values.own_field(cell) == Some(slot);
        let is_older = view.values.is_exact(view.body, cell.base) && holder_of(view, cell.base).is_some();
        let is_variable = matches!(view.values.node(cell.base), ValueNode::Global(_));
        (is_field && is_older && !is_variable && !is_renewed).then_some((inst, cell))
    })
}

/// Whether the function clears the structure, or sets the field to null as well.
fn is_cleared(view: &View<'_>, cell: Cell) -> bool {
    let is_cell = |address: Operand| view.values.of_operand(address) == Some(cell);
    let is_structure = |address: Operand| view.values.of_operand(address).is_some_and(|at| at.base == cell.base);
    view.body.insts.values().any(|inst| match inst {
        Inst::Store { value, address, .. } => view.body.constant(*value).is_some() && is_cell(*address),
        Inst::Fill { dst, .. } | Inst::Copy { dst, .. } => is_structure(*dst),
        _ => false,
    })
}
