//! Owning slots that are overwritten: a function puts a fresh block into a field of a structure that was there before, and what
//! the field held is neither freed nor moved.
//!
//! Whether the field may have held anything is not known from the function alone. What other writers of the field do tells:
//! where they free first, it is usually full. Functions are looked at once more, with the final summaries.

use caulk_ir::{Inst, InstId, Operand};
use caulk_memory::{Cell, PathRoot, ValueId, ValueNode};
use caulk_models::FamilyId;
use caulk_program::FuncId;
use caulk_summary::{BlockId, Destination, Subject};
use rayon::prelude::*;
use rustc_hash::{FxHashMap, FxHashSet};

use crate::alternative::Status;
use crate::candidate::{Candidate, Kind, Loss};
use crate::function::View;
use crate::holders::{Holder, Holders};
use crate::objects::given_start;
use crate::propagate::{Propagation, Start};
use crate::schedule::Analysis;
use crate::slots::{Slot, SlotTable};
use crate::summarize::{Fate, Summarizer, World};

/// What a function that fills a slot does with what was there before.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Manner {
    FreesFirst,
    /// Loses it at a store. `is_setup`: the function puts the structure into its first state, or is likely to.
    Overwrites {
        store: InstId,
        holder: Holder,
        is_setup: bool,
    },
}

/// Candidates of owning slots that are overwritten.
pub(crate) fn overwritten_slots(world: &World<'_>, analysis: &Analysis, table: &SlotTable) -> Vec<Candidate> {
    let fills_owned = |f: &FuncId| analysis.reports[f.0 as usize].slots.filled.iter().any(|(s, _)| table.is_owning(s));
    let writers: Vec<FuncId> = world.program.functions().filter(fills_owned).collect();
    let found: Vec<Vec<(Slot, Manner)>> =
        writers.par_iter().with_max_len(4).map(|f| manners(world, analysis, table, *f)).collect();
    let mut careful: FxHashMap<Slot, FxHashSet<FuncId>> = FxHashMap::default();
    for (function, manners) in writers.iter().zip(&found) {
        for (slot, _) in manners.iter().filter(|(_, m)| *m == Manner::FreesFirst) {
            careful.entry(*slot).or_default().insert(*function);
        }
    }
    let mut holders = Holders::new(world.program, analysis);
    let mut candidates = Vec::new();
    for (&function, manners) in writers.iter().zip(&found) {
        for &(slot, manner) in manners {
            let Manner::Overwrites { store, holder, is_setup } = manner else { continue };
            let others_free = careful.get(&slot).is_some_and(|by| by.iter().any(|f| *f != function));
            let is_full = others_free && !is_setup && !table.is_emptied(&slot) && holders.existed(function, holder);
            candidates.push(candidate(function, store, slot, table.origin(&slot), !is_full));
        }
    }
    candidates
}

fn candidate(function: FuncId, store: InstId, slot: Slot, origin: (FuncId, u32), hidden: bool) -> Candidate {
    Candidate {
        function,
        allocation: store,
        block: BlockId(0),
        family: FamilyId::FREE,
        chain: vec![origin],
        place: store,
        exit: store,
        kind: Kind::Lost,
        variable: None,
        loss: Loss::OverwrittenField(slot),
        hidden,
        is_part: false,
        trail: Vec::new(),
    }
}

/// What a function does with the old contents of the owning slots it fills.
fn manners(world: &World<'_>, analysis: &Analysis, table: &SlotTable, function: FuncId) -> Vec<(Slot, Manner)> {
    let Some(body) = world.program.body(function) else { return Vec::new() };
    let summary_of = |f: FuncId| Some(analysis.summary(f));
    let mut summarizer = Summarizer::new(world, function, &body, &summary_of, analysis.special(function));
    let mut found = Vec::new();
    for cell in filled_cells(&summarizer.view, table) {
        let Some(slot) = summarizer.view.values.own_field(cell) else { continue };
        if let Some(manner) = manner(&mut summarizer, cell)
            && !found.contains(&(slot, manner))
        {
            found.push((slot, manner));
        }
    }
    found
}

/// Owning fields of structures that the function did not make itself, into which it stores a fresh block. Sorted.
fn filled_cells(view: &View<'_>, table: &SlotTable) -> Vec<Cell> {
    let mut cells: Vec<Cell> = view
        .body
        .insts
        .values()
        .filter_map(|inst| match inst {
            Inst::Store { value, address, .. } if is_fresh(view, *value) => view.values.of_operand(*address),
            _ => None,
        })
        .filter(|cell| view.values.own_field(*cell).is_some_and(|slot| table.is_owning(&slot)))
        .filter(|cell| view.values.is_exact(view.body, cell.base))
        .collect();
    cells.sort();
    cells.dedup();
    cells
}

/// Whether a value is what a call has just allocated.
fn is_fresh(view: &View<'_>, value: Operand) -> bool {
    let Some(ValueNode::Opaque(inst)) = view.values.of_operand(value).map(|c| view.values.node(c.base)) else {
        return false;
    };
    let is_result = |to: &Destination| matches!(to, Destination::Store(path) if path.root == PathRoot::Return && path.steps.is_empty());
    view.calls[inst].as_ref().is_some_and(|effect| {
        effect.summary.actions.iter().any(|a| matches!(a.subject, Subject::Alloc(_)) && is_result(&a.to))
    })
}

fn manner(summarizer: &mut Summarizer<'_>, cell: Cell) -> Option<Manner> {
    let holder = holder_of(&summarizer.view, cell.base)?;
    let old = summarizer.view.values.loaded(cell)?;
    let first = given_start(&mut summarizer.view, &mut summarizer.history, old);
    let flow = Propagation::run(&mut summarizer.view, &mut summarizer.history, Start::Entry, vec![first]);
    let mut is_freed = false;
    let mut lost_at = None;
    for exit in flow.exits {
        let alternative = &exit.1;
        is_freed |= alternative.status == Status::Freed;
        let is_lost = alternative.status == Status::Live && !alternative.cells.contains(&cell);
        if is_lost
            && let Some((place, true)) = alternative.lost
            && is_fill(&summarizer.view, place)
            && matches!(summarizer.fate(&exit, Some(cell)), Fate::Leaked)
        {
            lost_at = lost_at.or(Some(place));
        }
    }
    match lost_at {
        Some(store) => {
            Some(Manner::Overwrites { store, holder, is_setup: sets_up(&summarizer.view, cell.base) || is_freed })
        }
        None => is_freed.then_some(Manner::FreesFirst),
    }
}

fn is_fill(view: &View<'_>, place: InstId) -> bool {
    matches!(view.body.insts[place], Inst::Store { value, .. } if is_fresh(view, value))
}

/// Whose structure a value leads to. None: the function's own, which it has just made.
fn holder_of(view: &View<'_>, base: ValueId) -> Option<Holder> {
    match (view.values.node(base), view.values.root(base)) {
        (ValueNode::Param(index), _) => Some(Holder::Given(index)),
        (ValueNode::Global(_), _) => Some(Holder::Static),
        (_, ValueNode::Local(_) | ValueNode::Nothing) => None,
        (_, ValueNode::Opaque(inst)) => {
            let is_made = view.calls[inst].as_ref().is_none_or(|e| e.unknown || e.summary.allocates());
            (!is_made).then_some(Holder::Existing)
        }
        _ => Some(Holder::Existing),
    }
}

/// Whether a function clears the structure, or sets other pointers in it to null: it is giving it its first state.
fn sets_up(view: &View<'_>, base: ValueId) -> bool {
    let is_of_base = |address: &Operand| view.values.of_operand(*address).is_some_and(|c| c.base == base);
    view.body.insts.values().any(|inst| match inst {
        Inst::Fill { dst, .. } | Inst::Copy { dst, .. } => is_of_base(dst),
        Inst::Store { value, address, ty: caulk_ir::Type::Ptr, .. } => {
            is_of_base(address) && view.body.constant(*value).is_some()
        }
        _ => false,
    })
}
