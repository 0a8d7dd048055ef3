//! Fields of a class that a method sets to null while they hold a block: `stream->close(); stream = nullptr;`.
//!
//! The class alone owns what such a field holds ([`crate::classes`]), so nothing can free it afterwards. The method must have found the
//! field not null, or have used what it points to, and free it on no path.

use caulk_ir::{Constant, Inst, InstId};
use caulk_memory::{Cell, ValueNode};
use caulk_program::{FuncId, is_constructor};
use rayon::prelude::*;

use crate::alternative::Status;
use crate::candidate::{Candidate, Loss};
use crate::classes::Flows;
use crate::function::View;
use crate::ground::Ground;
use crate::objects::given_start;
use crate::propagate::{Propagation, Start};
use crate::schedule::Analysis;
use crate::slot_table::SlotTable;
use crate::slots::Slot;
use crate::summarize::{Ownership, Summarizer, World};

/// Candidates of all methods that set owned fields to null.
pub(crate) fn emptied_fields(
    world: &World<'_>,
    analysis: &Analysis,
    table: &SlotTable,
    flows: &Flows,
) -> Vec<Candidate> {
    let program = world.program;
    let is_owned = |slot: &Slot| table.is_filled(slot) && flows.is_private(program, *slot);
    let concerns = |f: &FuncId| {
        let symbol = program.function(*f).symbol;
        symbol.starts_with("_ZN") && !is_constructor(symbol) && nulled(analysis, *f).iter().any(is_owned)
    };
    let methods: Vec<FuncId> = program.functions().filter(concerns).collect();
    let found: Vec<Vec<Candidate>> = methods
        .par_iter()
        .with_max_len(4)
        .map(|f| of_method(world, analysis, *f, &is_owned, &|slot| table.origin(slot)))
        .collect();
    found.into_iter().flatten().collect()
}

fn nulled(analysis: &Analysis, function: FuncId) -> &[Slot] {
    &analysis.reports[function].slots.traffic.nulled
}

fn of_method(
    world: &World<'_>,
    analysis: &Analysis,
    function: FuncId,
    is_owned: &dyn Fn(&Slot) -> bool,
    origin: &dyn Fn(&Slot) -> (FuncId, u32),
) -> Vec<Candidate> {
    let Some(body) = world.program.body(function) else { return Vec::new() };
    let summary_of = |f: FuncId| Some(analysis.summary(f));
    let mut summarizer = Summarizer::new(world, function, &body, &summary_of, analysis.special(function));
    let mut cells: Vec<(Cell, Slot)> = nulled_cells(&summarizer.view).filter(|(_, slot)| is_owned(slot)).collect();
    cells.sort();
    cells.dedup();
    let mut found = Vec::new();
    for (cell, slot) in cells {
        if let Some(store) = lost_at(&mut summarizer, cell) {
            found.push(Candidate::of_structure(
                function,
                store,
                Loss::OverwrittenField(slot),
                origin(&slot),
                Some(Ground::EmptiedMember),
            ));
        }
    }
    found
}

/// Fields of the method's own object that it sets to null.
fn nulled_cells<'v>(view: &'v View<'_>) -> impl Iterator<Item = (Cell, Slot)> + 'v {
    view.body.insts.values().filter_map(|inst| {
        let Inst::Store { value, address, .. } = inst else { return None };
        let cell = view.values.of_operand(*address).filter(|_| view.body.constant(*value) == Some(Constant::Null))?;
        let is_own = matches!(view.values.node(cell.base), ValueNode::Param(0));
        Some((cell, view.values.own_field(cell).filter(|_| is_own)?))
    })
}

/// The store of null that loses what the field surely held, if nothing in the method frees or takes it.
fn lost_at(summarizer: &mut Summarizer<'_>, cell: Cell) -> Option<InstId> {
    let old = summarizer.view.values.loaded(cell)?;
    let first = given_start(&mut summarizer.view, &mut summarizer.history, old);
    let flow = Propagation::run(&mut summarizer.view, &mut summarizer.history, Start::Entry, vec![first]);
    let mut lost = None;
    for exit in flow.exits {
        let alternative = &exit.1;
        if alternative.status != Status::Live {
            return None;
        }
        if !alternative.cells.contains(&cell)
            && let Some((place, true)) = alternative.lost
            && is_null_store(&summarizer.view, place)
            && matches!(summarizer.ownership(&exit, Some(cell)), Ownership::Leaked)
        {
            lost = lost.or(Some(place));
        }
    }
    lost.filter(|store| summarizer.is_full_at(cell, *store))
}

fn is_null_store(view: &View<'_>, place: InstId) -> bool {
    matches!(view.body.insts[place], Inst::Store { value, .. } if view.body.constant(value) == Some(Constant::Null))
}
