//! Owning slots that are overwritten: a function puts a fresh block into a field of a structure that was there before, or clears
//! the structure, and what the field held is neither freed nor moved.
//!
//! Whether the field may have held anything is judged over the whole program ([`crate::full_before`]). Functions are looked at once more, with
//! the final summaries.

use caulk_ir::{Constant, Inst, InstId, Operand, Type};
use caulk_memory::{Cell, Offset, PathRoot, ValueId, ValueNode};
use caulk_program::{FuncId, TypeId, is_constructor};
use caulk_rules::Rule;
use rayon::prelude::*;

use crate::alternative::Status;
use crate::candidate::{Candidate, Loss};
use crate::classes::Flows;
use crate::constructed::is_assignment;
use crate::facts::number_of;
use crate::failed_renewal::is_failed_renewal;
use crate::first_state::{initialises, sets_up};
use crate::fresh_values::{is_fresh, is_renewed};
use crate::full_before::FullBefore;
use crate::function::{Resolved, View};
use crate::holders::{Holder, holder_of};
use crate::keywords::follows_keyword;
use crate::numbered::follows_number;
use crate::objects::given_start;
use crate::propagate::{Propagation, Start};
use crate::refcount::gives_up_reference;
use crate::schedule::Analysis;
use crate::sisters::Known;
use crate::slot_table::SlotTable;
use crate::slots::Slot;
use crate::summarize::{Ownership, Summarizer, World};
use crate::traffic::filled_out_pointers;

/// What a function that fills a slot does with what was there before.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Manner {
    FreesFirst,
    /// Loses it at a store.
    Overwrites {
        store: InstId,
        holder: Holder,
        sign: Sign,
    },
}

/// What the function itself tells about whether the slot held anything.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Sign {
    /// It puts the structure into its first state, or is likely to.
    SetsUp,
    None,
    /// It clears a structure of which it frees other fields.
    Clears,
    /// It has found the field not null.
    Full,
    /// What makes the block larger has failed, and left the field's contents where they were.
    FailedRenewal,
}

/// A slot that a function fills.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Filled {
    pub(crate) slot: Slot,
    /// The structure as a whole, and how the function knows it.
    pub(crate) of: (TypeId, Known),
    /// Other fields of the structure are asked about.
    pub(crate) asks_sibling: bool,
    /// It is set to null, not filled.
    pub(crate) is_emptied: bool,
    /// The function frees other fields of the same structure.
    pub(crate) frees_siblings: bool,
    /// The structure comes from a function that makes such structures.
    pub(crate) is_new: bool,
    /// It is filled because a text of the input says so.
    pub(crate) is_named: bool,
    /// The function compares what it held with something.
    pub(crate) is_compared: bool,
    pub(crate) manner: Manner,
}

/// Candidates of owning slots that are overwritten.
pub(crate) fn overwritten_slots(
    world: &World<'_>,
    analysis: &Analysis,
    table: &SlotTable,
    flows: &Flows,
) -> Vec<Candidate> {
    let is_emptied = |slot: &Slot| table.is_filled(slot) && flows.is_owner(world.program, table, *slot);
    let uses_owned = |f: &FuncId| {
        let slots = &analysis.reports[*f].slots;
        slots.clears
            || slots.filled.iter().any(|(s, _)| table.is_owning(s) || is_emptied(s))
            || slots.traffic.nulled.iter().any(is_emptied)
    };
    // What a constructor puts into the fields of its object overwrites nothing.
    let is_constructor = |f: &FuncId| is_constructor(world.program.function(*f).symbol);
    let resets = |f: &FuncId| analysis.reports[*f].slots.resets;
    let writers = world.program.functions().filter(|f| uses_owned(f) || resets(f));
    let writers: Vec<FuncId> = writers.filter(|f| !is_constructor(f)).collect();
    let found: Vec<Vec<Filled>> = writers
        .par_iter()
        .with_max_len(4)
        .map(|f| filled_by(world, analysis, table, flows, (*f, uses_owned(f))))
        .collect();
    let mut judge = FullBefore::new(world, analysis, table, flows);
    for (&function, filled) in writers.iter().zip(&found).filter(|(f, _)| uses_owned(f)) {
        judge.learn(function, filled);
    }
    let mut candidates = Vec::new();
    for (&function, filled) in writers.iter().zip(&found) {
        for filled in filled {
            if let Manner::Overwrites { store, holder, sign } = filled.manner {
                let slot = filled.slot;
                let ground = judge.ground(function, filled, holder, sign).filter(|_| !flows.may_point_inside(slot));
                candidates.push(Candidate::of_structure(
                    function,
                    store,
                    Loss::OverwrittenField(slot),
                    table.origin(&slot),
                    ground,
                ));
            }
        }
    }
    candidates
}

/// Whether a structure is the result of a function that makes such structures, or of one that calls it.
fn comes_from_maker(view: &View<'_>, analysis: &Analysis, base: ValueId, ty: TypeId) -> bool {
    let ValueNode::Opaque(call) = view.values.root(base) else { return false };
    let targets = view.program.call_site(view.id, call).map(|site| view.program.targets(site)).unwrap_or_default();
    let is_maker =
        |f: FuncId| makes(analysis, f, ty) || view.program.callees(f).any(|callee| makes(analysis, callee, ty));
    targets.iter().any(|f| is_maker(*f))
}

/// Whether a function makes structures of a type.
pub(crate) fn makes(analysis: &Analysis, function: FuncId, ty: TypeId) -> bool {
    analysis.reports[function].slots.made.iter().any(|(made, _)| *made == ty)
}

/// What a function does with the old contents of the owning slots it fills or clears. `uses_owned`: it does so itself, not only by callees.
fn filled_by(
    world: &World<'_>,
    analysis: &Analysis,
    table: &SlotTable,
    flows: &Flows,
    (function, uses_owned): (FuncId, bool),
) -> Vec<Filled> {
    let Some(body) = world.program.body(function) else { return Vec::new() };
    let summary_of = |f: FuncId| Some(analysis.summary(f));
    let mut summarizer = Summarizer::new(world, function, &body, &summary_of, analysis.special(function));
    let mut found = Vec::new();
    let rules = &world.config.rules;
    let mut cells = Vec::new();
    if uses_owned {
        cells.extend(filled_cells(&summarizer.view, table, flows));
        cells.extend(cells_filled_by_callees(&summarizer.view, table, flows));
        cells.extend(rules.all(Rule::ClearedStructures, || cleared_cells(&summarizer.view, table)));
    }
    let filled = cells.clone();
    // Who frees a field and has its structure set up again by a callee says nothing about those who fill it.
    cells.extend(rules.all(Rule::ClearedStructures, || cells_cleared_by_callees(&mut summarizer.view, table)));
    let emptied = match uses_owned {
        true => rules.all(Rule::EmptiedFields, || emptied_cells(&summarizer.view, table, flows)),
        false => Vec::new(),
    };
    cells.extend(&emptied);
    cells.sort();
    cells.dedup();
    for cell in cells {
        let view = &summarizer.view;
        let Some(slot) = slot_at(view, cell) else { continue };
        let of = (view.values.structure(cell.base).unwrap_or(slot.0), Known::new(view, cell.base));
        let Some(manner) = manner(&mut summarizer, cell, emptied.contains(&cell)) else { continue };
        // Who frees a field and clears it says nothing about those who fill it.
        let is_emptied = match manner {
            Manner::Overwrites { store, .. } => sets_null(&summarizer.view, store),
            Manner::FreesFirst => !filled.contains(&cell),
        };
        // Who sets a field to a block or to null, whichever it has, puts it into its first state.
        let is_emptied = is_emptied && !fills_in_place(&summarizer.view, cell, manner);
        let frees_siblings = is_emptied && !summarizer.all_freed_siblings(cell).is_empty();
        let asks_sibling = summarizer.asks_sibling(cell);
        let is_new = comes_from_maker(&summarizer.view, analysis, cell.base, slot.0);
        let is_named = match manner {
            Manner::Overwrites { store, .. } => {
                let is_numbered = || follows_number(&summarizer.view, store, cell);
                follows_keyword(&summarizer.view, store) || (rules.is_on(Rule::NumberedSettings) && is_numbered())
            }
            Manner::FreesFirst => false,
        };
        let is_compared = summarizer.is_compared(cell);
        let found_here =
            Filled { slot, of, asks_sibling, is_emptied, frees_siblings, is_new, is_named, is_compared, manner };
        if !found.contains(&found_here) {
            found.push(found_here);
        }
    }
    found
}

/// Owning fields of structures that the function did not make itself, into which it stores a fresh block.
fn filled_cells(view: &View<'_>, table: &SlotTable, flows: &Flows) -> Vec<Cell> {
    let stores = view.body.insts.values().filter_map(|inst| match inst {
        Inst::Store { value, address, .. } if is_fresh(view, *value) => view.values.of_operand(*address),
        _ => None,
    });
    stores
        .filter(|cell| view.values.own_field(*cell).is_some_and(|slot| is_owning(view, table, flows, slot)))
        .filter(|cell| view.values.is_exact(view.body, cell.base))
        .collect()
}

/// Owning fields whose address a call is given that puts a fresh block there: `asprintf(&item->name, ...)`.
fn cells_filled_by_callees(view: &View<'_>, table: &SlotTable, flows: &Flows) -> Vec<Cell> {
    let calls: Vec<InstId> = view.calls.iter().filter(|(_, c)| c.is_some()).map(|(inst, _)| inst).collect();
    let mut cells: Vec<Cell> = calls.into_iter().flat_map(|call| filled_out_pointers(view, call)).collect();
    cells.retain(|cell| view.values.own_field(*cell).is_some_and(|slot| is_owning(view, table, flows, slot)));
    cells.retain(|cell| view.values.is_exact(view.body, cell.base));
    cells
}

/// Whether a field owns what it holds: some code frees it, or nothing else leads to it.
fn is_owning(view: &View<'_>, table: &SlotTable, flows: &Flows, slot: Slot) -> bool {
    let is_sole_owner = || table.is_filled(&slot) && flows.is_sole_owner(view.program, table, slot);
    table.is_owning(&slot) || (view.config.rules.is_on(Rule::EmptiedFields) && is_sole_owner())
}

/// Fields that the function sets to null, of which nothing else has the contents.
fn emptied_cells(view: &View<'_>, table: &SlotTable, flows: &Flows) -> Vec<Cell> {
    let stores = view.body.insts.values().filter_map(|inst| match inst {
        Inst::Store { value, address, ty: Type::Ptr, .. } if is_null(view, *value) => view.values.of_operand(*address),
        _ => None,
    });
    stores
        .filter(|cell| {
            let slot = view.values.own_field(*cell);
            slot.is_some_and(|slot| table.is_filled(&slot) && flows.is_owner(view.program, table, slot))
        })
        .filter(|cell| view.values.is_exact(view.body, cell.base))
        .collect()
}

fn is_null(view: &View<'_>, value: Operand) -> bool {
    view.body.constant(value) == Some(Constant::Null)
}

/// Owning fields of structures that the function sets to zero as a whole.
fn cleared_cells(view: &View<'_>, table: &SlotTable) -> Vec<Cell> {
    let mut cells = Vec::new();
    for inst in view.body.insts.values() {
        let Some((cell, length)) = cleared(view, inst) else { continue };
        let Some(ty) = cleared_structure(view, cell, length) else { continue };
        let owned = view.program.type_info(ty).fields.iter().filter(|f| table.is_filled(&(ty, f.offset)));
        cells.extend(owned.map(|f| Cell { offset: cell.offset.plus(Offset::Known(f.offset as i64)), ..cell }));
    }
    cells
}

/// Owning fields of structures that a callee writes over as a whole: `list_init(&server->clients)`.
fn cells_cleared_by_callees(view: &mut View<'_>, table: &SlotTable) -> Vec<Cell> {
    let calls: Vec<InstId> = view.calls.iter().filter(|(_, c)| c.is_some()).map(|(inst, _)| inst).collect();
    let mut cells = Vec::new();
    for call in calls {
        let paths = view.calls[call].as_ref().map(|effect| effect.summary.overwritten.clone()).unwrap_or_default();
        for path in &paths {
            if let Some(Resolved::Cell(cell)) = view.resolve(call, path)
                && holder_of(view, cell.base).is_some()
                && view.values.own_field(cell).is_some_and(|slot| table.is_filled(&slot))
                && view.values.is_exact(view.body, cell.base)
            {
                cells.push(cell);
            }
        }
    }
    cells
}

/// Whether a callee writes over what a cell held.
fn is_cleared_by_callee(view: &View<'_>, call: InstId, cell: Cell) -> bool {
    let (Some(effect), Some(data)) = (view.calls[call].as_ref(), view.body.insts[call].call()) else { return false };
    effect.summary.overwritten.iter().any(|path| {
        let (PathRoot::Param(index), [step]) = (path.root, path.steps.as_slice()) else { return false };
        let argument = data.args.get(index as usize).and_then(|argument| view.values.of_operand(*argument));
        argument.is_some_and(|at| at.base == cell.base && at.offset.plus(step.offset) == cell.offset)
    })
}

/// `memset(structure, 0, n)` of one structure that is not the function's own.
fn cleared(view: &View<'_>, inst: &Inst) -> Option<(Cell, u64)> {
    let Inst::Fill { dst, byte, len } = inst else { return None };
    let number = |operand: Operand| view.body.constant(operand).and_then(number_of);
    let length = number(*len).filter(|_| number(*byte) == Some(0))?;
    let cell = view.values.of_operand(*dst).filter(|cell| cell.offset == Offset::ZERO)?;
    let is_known = view.values.is_exact(view.body, cell.base) && holder_of(view, cell.base).is_some();
    is_known.then_some((cell, u64::try_from(length).ok()?))
}

/// The structure that is cleared, if it is cleared as a whole.
fn cleared_structure(view: &View<'_>, cell: Cell, length: u64) -> Option<TypeId> {
    let ty = view.values.structure(cell.base)?;
    (view.program.type_info(ty).size == length).then_some(ty)
}

/// The field that a cell is: as the code names it, or as the type of its structure says.
fn slot_at(view: &View<'_>, cell: Cell) -> Option<Slot> {
    let by_type = || {
        let ty = view.values.structure(cell.base)?;
        match cell.offset {
            Offset::Known(offset) => Some((ty, u64::try_from(offset).ok()?)),
            Offset::Any => None,
        }
    };
    view.values.own_field(cell).or_else(by_type)
}

fn manner(summarizer: &mut Summarizer<'_>, cell: Cell, may_be_emptied: bool) -> Option<Manner> {
    let holder = holder_of(&summarizer.view, cell.base)?;
    let (lost_at, is_freed) = lost_contents(summarizer, cell, may_be_emptied);
    let rules = &summarizer.view.config.rules;
    if let (Some(old), Some(store)) = (summarizer.view.values.known_load(cell), lost_at)
        && rules.applies(Rule::CountedContents, gives_up_reference(&summarizer.view, old, store))
    {
        return None;
    }
    match lost_at {
        Some(store) => Some(Manner::Overwrites { store, holder, sign: sign(summarizer, cell, store, is_freed) }),
        None => is_freed.then_some(Manner::FreesFirst),
    }
}

/// Where what a cell held on entry is lost by being filled again, cleared, or set to null; and whether some way frees it.
pub(crate) fn lost_contents(
    summarizer: &mut Summarizer<'_>,
    cell: Cell,
    may_be_emptied: bool,
) -> (Option<InstId>, bool) {
    let Some(old) = summarizer.view.values.loaded(cell) else { return (None, false) };
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
            && (is_fill(&summarizer.view, place, cell) || (may_be_emptied && sets_null(&summarizer.view, place)))
            && matches!(summarizer.ownership(&exit, Some(cell)), Ownership::Leaked)
        {
            lost_at = lost_at.or(Some(place));
        }
    }
    (lost_at, is_freed)
}

fn sign(summarizer: &mut Summarizer<'_>, cell: Cell, store: InstId, is_freed: bool) -> Sign {
    let clears = matches!(summarizer.view.body.insts[store], Inst::Fill { .. })
        || is_cleared_by_callee(&summarizer.view, store, cell);
    if let Inst::Store { value, .. } = summarizer.view.body.insts[store]
        && is_renewed(&summarizer.view, value, cell)
    {
        return if is_failed_renewal(&summarizer.view, store, cell) { Sign::FailedRenewal } else { Sign::SetsUp };
    }
    if is_freed {
        let is_uneven = fills_elsewhere(&summarizer.view, cell, store) && !summarizer.is_compared(cell);
        // Too weak for normal rank by itself: vim fills a register that it emptied by another name before.
        let may_be_full = summarizer.view.config.rules.applies(Rule::UnevenSetters, is_uneven);
        return if may_be_full { Sign::None } else { Sign::SetsUp };
    }
    if summarizer.is_full_at(cell, store) {
        return Sign::Full;
    }
    if clears && summarizer.frees_sibling(cell, store) {
        return Sign::Clears;
    }
    let is_asked = !clears && !summarizer.is_compared(cell) && summarizer.may_be_full_at(cell, store);
    if summarizer.view.config.rules.applies(Rule::AskedFields, is_asked) {
        return Sign::None;
    }
    // An object that is assigned to was constructed before.
    let view = &summarizer.view;
    if view.values.node(cell.base) == ValueNode::Param(0) && is_assignment(view.program.function(view.id).symbol) {
        return Sign::None;
    }
    let is_whole = initialises(&summarizer.view, cell);
    if summarizer.view.config.rules.applies(Rule::WholeInitialisers, is_whole) {
        return Sign::SetsUp;
    }
    let freed = summarizer.all_freed_siblings(cell);
    if clears || sets_up(&summarizer.view, cell, store, &freed) { Sign::SetsUp } else { Sign::None }
}

/// Whether a function that sets a field to null at a store fills it at another place.
fn fills_in_place(view: &View<'_>, cell: Cell, manner: Manner) -> bool {
    matches!(manner, Manner::Overwrites { store, .. } if fills_elsewhere(view, cell, store))
}

/// Whether a function fills a field at another place as well.
fn fills_elsewhere(view: &View<'_>, cell: Cell, store: InstId) -> bool {
    let is_filled = |inst: &Inst| match inst {
        Inst::Store { value, address, .. } => view.values.of_operand(*address) == Some(cell) && is_fresh(view, *value),
        _ => false,
    };
    let is_filled_by_call = |inst: InstId| filled_out_pointers(view, inst).contains(&cell);
    view.body.insts.iter().any(|(id, inst)| id != store && (is_filled(inst) || is_filled_by_call(id)))
}

/// Whether a field is lost by being filled again or cleared, not by what else may overwrite it.
fn is_fill(view: &View<'_>, place: InstId, cell: Cell) -> bool {
    match &view.body.insts[place] {
        Inst::Store { value, .. } => is_fresh(view, *value),
        Inst::Call(_) | Inst::Invoke { .. } => {
            filled_out_pointers(view, place).contains(&cell) || is_cleared_by_callee(view, place, cell)
        }
        inst => cleared(view, inst).is_some_and(|(at, _)| at.base == cell.base),
    }
}

fn sets_null(view: &View<'_>, place: InstId) -> bool {
    matches!(&view.body.insts[place], Inst::Store { value, .. } if is_null(view, *value))
}
