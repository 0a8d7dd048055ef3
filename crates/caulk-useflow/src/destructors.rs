//! Destructors that do not see to all they should: a field that is lost with its structure, a field that is passed over, a
//! structure whose fields are freed and that nothing frees.
//!
//! Which fields own what they hold is known over the whole program ([`crate::slots`]). Functions that end a structure are looked at
//! once more, with the final summaries: what an owning field held on entry is followed as an object.

use caulk_ir::InstId;
use caulk_memory::{Cell, Offset, ValueId, ValueNode};
use caulk_models::{is_deallocation, is_self_contained, is_template_of};
use caulk_program::{FuncId, Program, Resolution, TypeId};
use caulk_rules::Rule;
use caulk_summary::{Depth, Destination, Guard, Subject};
use rayon::prelude::*;

use crate::alternative::Status;
use crate::bounds::BOUNDS;
use crate::candidate::{Candidate, Loss};
use crate::classes::{Flows, class_of, with_destructors};
use crate::ground::Ground;
use crate::objects::{given_start, is_out_pointer};
use crate::propagate::{Propagation, Start};
use crate::released::Released;
use crate::schedule::Analysis;
use crate::slot_table::SlotTable;
use crate::slots::{AllocationLine, Destroyed, OwnedFields, SeenTo, Slot, structure_at};
use crate::summarize::{Ownership, Summarizer, World};
use crate::unfreed::unfreed_structures;

/// Candidates of all destructors.
pub(crate) fn unseen_by_destructors(
    world: &World<'_>,
    analysis: &Analysis,
    table: &SlotTable,
    flows: &Flows,
) -> Vec<Candidate> {
    let owned = table.by_type();
    let mut raw = owned.clone();
    let classes = with_destructors(world.program);
    raw.retain(|ty, _| !world.config.rules.applies(Rule::OwnDestructors, classes.contains(ty)));
    let concerns = |f: &FuncId| {
        let slots = &analysis.reports[*f].slots;
        let is_owned = |ty: &TypeId| owned.contains_key(ty);
        slots.destroyed.iter().any(|d| is_owned(&d.ty)) || slots.released.iter().any(|r| is_owned(&r.ty))
    };
    let functions: Vec<FuncId> = world.program.functions().filter(concerns).collect();
    let found: Vec<Vec<Candidate>> = functions
        .par_iter()
        .with_max_len(4)
        .map(|f| of_function(world, analysis, table, flows, (&owned, &raw), *f))
        .collect();
    let mut candidates: Vec<Candidate> = found.into_iter().flatten().collect();
    candidates.extend(unfreed_structures(world, analysis));
    candidates
}

fn of_function(
    world: &World<'_>,
    analysis: &Analysis,
    table: &SlotTable,
    flows: &Flows,
    (owned, raw): (&OwnedFields, &OwnedFields),
    function: FuncId,
) -> Vec<Candidate> {
    let Some(body) = world.program.body(function) else { return Vec::new() };
    let summary_of = |f: FuncId| Some(analysis.summary(f));
    let mut summarizer = Summarizer::new(world, function, &body, &summary_of, analysis.special(function));
    let rules = &world.config.rules;
    let mut candidates =
        rules.all(Rule::MissedFields, || missed_fields(&mut summarizer, world, analysis, table, flows, raw));
    for released in &analysis.reports[function].slots.released {
        let found = || passed_over(&mut summarizer, world, analysis, table, owned, released);
        candidates.extend(rules.all(Rule::PassedOver, found));
    }
    candidates
}

/// Owning fields that are lost where their structure is freed.
fn missed_fields(
    summarizer: &mut Summarizer<'_>,
    world: &World<'_>,
    analysis: &Analysis,
    table: &SlotTable,
    flows: &Flows,
    owned: &OwnedFields,
) -> Vec<Candidate> {
    let function = summarizer.view.id;
    let mut candidates = Vec::new();
    let destroyed = analysis.reports[function].slots.destroyed.iter();
    let is_new = |destroyed: &&Destroyed| comes_from_maker(world.program, analysis, function, destroyed);
    for destroyed in destroyed.filter(|destroyed| !is_new(destroyed)) {
        let Some(fields) = owned.get(&destroyed.ty) else { continue };
        let base = given_structure(summarizer, destroyed);
        // Only the fields of a structure that was there on entry are followed through calls.
        if base.is_none() && destroyed.seen_to != SeenTo::Nothing {
            continue;
        }
        let mut missed: Vec<(Slot, AllocationLine)> = fields.clone();
        missed.retain(|(slot, _)| {
            // What nothing frees at all may be another's, where the contents go elsewhere.
            let is_owning = table.is_freed(slot) || (destroyed.frees_fields && !flows.is_taken(*slot));
            is_owning
                && destroyed.seen_to.leaves(slot.1)
                // A callee that sees to other parts may free what they share with this one.
                && (destroyed.seen_to == SeenTo::Nothing || (table.is_freed(slot) && !flows.is_taken(*slot)))
                && !is_head(world.program, analysis, function, slot)
                && is_lost_with_its_structure(summarizer, destroyed, *slot)
        });
        let freed = fields_freed(analysis, function, destroyed.ty);
        // A function that frees fewer fields than it leaves is not the one that sees to them: one is named, for a reader to judge.
        let sees_to_fields = freed > 0 && missed.len() <= freed;
        if !sees_to_fields {
            missed.truncate(1);
        }
        for (slot, origin) in missed {
            let is_callers = is_freed_by_callers(world, analysis, function, &slot);
            // Which destructor of very many runs there, nothing tells.
            let site = world.program.call_site(function, destroyed.call);
            let is_any = site.is_some_and(|site| site.outcome == Resolution::Many);
            // Who fills the field as well makes such structures again, and may know that the old ones are empty.
            let is_filled = analysis.reports[function].slots.filled.iter().any(|(filled, _)| *filled == slot);
            let may_be_new = is_filled || (base.is_none() && destroyed.may_be_new);
            let hidden = is_callers
                || is_any
                || may_be_new
                // Who fills a container with structures sees to their fields, as far as they are freed at all.
                || (table.is_freed(&slot) && is_element_buffer(world.program, function, destroyed))
                // What the function uses as well, it knows to be there.
                || (table.is_emptied(&slot) && !(sees_to_fields && destroyed.touched.contains(&slot.1)))
                || table.is_emptied_before(world.program, function, &slot);
            let ground = match (sees_to_fields, table.is_freed(&slot)) {
                (true, true) => Ground::FreesOthers,
                (false, true) => Ground::FreesHolder,
                (true, false) => Ground::FreesOthersAlone,
                (false, false) => Ground::FreesHolderAlone,
            };
            let ground = (!hidden).then_some(ground);
            candidates.push(Candidate::of_structure(function, destroyed.call, Loss::MissedField(slot), origin, ground));
        }
    }
    candidates
}

/// Whether a function frees a field of nodes that lead to each other: then what it frees without that is the head of their list, which
/// holds nothing else.
pub(crate) fn is_head(program: &Program, analysis: &Analysis, function: FuncId, slot: &Slot) -> bool {
    let leads_on = |field: &caulk_program::FieldInfo| field.target == Some(slot.0);
    let is_freed = analysis.reports[function].slots.freed.contains(slot);
    is_freed && program.type_info(slot.0).fields.iter().any(leads_on)
}

/// Whether a structure that a function frees came from one that makes such structures: it may have no more in it than its maker puts
/// there.
pub(crate) fn comes_from_maker(
    program: &Program,
    analysis: &Analysis,
    function: FuncId,
    destroyed: &Destroyed,
) -> bool {
    let site = destroyed.found_by.and_then(|call| program.call_site(function, call));
    let targets = site.map(|site| program.targets(site)).unwrap_or_default();
    let makes = |f: &FuncId| analysis.reports[*f].slots.made.iter().any(|(ty, _)| *ty == destroyed.ty);
    targets.iter().any(makes)
}

/// Whether a caller of a function frees the field itself.
fn is_freed_by_callers(world: &World<'_>, analysis: &Analysis, function: FuncId, slot: &Slot) -> bool {
    world.program.callers(function).any(|f| analysis.reports[f].slots.freed.contains(slot))
}

/// Whether a structure is freed by a container, as one of the elements in its buffer.
fn is_element_buffer(program: &Program, function: FuncId, destroyed: &Destroyed) -> bool {
    let site = program.call_site(function, destroyed.call);
    let holds = |target: &FuncId| {
        let container = class_of(program, *target).map(|class| program.type_name(class));
        let name = program.function(*target).name;
        is_self_contained(name)
            || is_deallocation(name)
            || container.is_some_and(|name| is_template_of(name, program.type_name(destroyed.ty)))
    };
    is_deallocation(program.function(function).name)
        || site.is_some_and(|site| matches!(program.targets(site), [target] if holds(target)))
}

/// How many fields of a structure a function frees.
fn fields_freed(analysis: &Analysis, function: FuncId, ty: TypeId) -> usize {
    analysis.reports[function].slots.freed.iter().filter(|slot| slot.0 == ty).count()
}

/// The structure that is freed, if it was there on entry.
fn given_structure(summarizer: &mut Summarizer<'_>, destroyed: &Destroyed) -> Option<ValueId> {
    freed_structure(summarizer, destroyed.call).filter(|base| is_given(summarizer, *base))
}

/// Whether what a field holds goes with its structure, as far as the function tells.
pub(crate) fn is_lost_with_its_structure(summarizer: &mut Summarizer<'_>, destroyed: &Destroyed, slot: Slot) -> bool {
    match given_structure(summarizer, destroyed) {
        Some(base) => is_lost_with(summarizer, base, slot.1, destroyed.call),
        None => !destroyed.touched.contains(&slot.1),
    }
}

/// The structure that a call frees for certain.
fn freed_structure(summarizer: &mut Summarizer<'_>, call: InstId) -> Option<ValueId> {
    let effect = summarizer.view.calls[call].clone()?;
    effect.summary.actions.iter().find_map(|action| match (&action.subject, &action.to) {
        (Subject::Value(path), Destination::Free { deep: Depth::Shallow })
            if action.guard == Guard::Always && (path.steps.is_empty() || is_out_pointer(path)) =>
        {
            structure_at(&mut summarizer.view, call, path).map(|(base, _)| base)
        }
        _ => None,
    })
}

/// Whether a value was there on entry, under one name.
fn is_given(summarizer: &Summarizer<'_>, base: ValueId) -> bool {
    let values = &summarizer.view.values;
    matches!(values.root(base), ValueNode::Param(_)) && values.is_exact(summarizer.view.body, base)
}

/// Whether what a field held on entry goes with its structure at a call, and is freed, kept or moved on no way.
fn is_lost_with(summarizer: &mut Summarizer<'_>, base: ValueId, offset: u64, call: InstId) -> bool {
    let cell = Cell { base, offset: Offset::Known(offset as i64) };
    let Some(exits) = follow(summarizer, cell) else { return false };
    let is_taken = exits.iter().any(|(_, a)| matches!(a.status, Status::Freed | Status::Kept | Status::Unknown));
    let mut is_lost = false;
    for exit in &exits {
        let lost_here = exit.1.status == Status::Live && exit.1.lost == Some((call, true));
        is_lost |= lost_here && matches!(summarizer.ownership(exit, Some(cell)), Ownership::Leaked);
    }
    is_lost && !is_taken
}

type Exits = Vec<(InstId, crate::alternative::Alternative)>;

/// Follows what a cell held on entry to the returns.
fn follow(summarizer: &mut Summarizer<'_>, cell: Cell) -> Option<Exits> {
    let held = summarizer.view.values.loaded(cell)?;
    let first = given_start(&mut summarizer.view, &mut summarizer.history, held);
    let flow = Propagation::run(&mut summarizer.view, &mut summarizer.history, Start::Entry, vec![first]);
    (!flow.is_incomplete).then_some(flow.exits)
}

/// Owning fields that a function leaves alone which frees most of the others.
fn passed_over(
    summarizer: &mut Summarizer<'_>,
    world: &World<'_>,
    analysis: &Analysis,
    table: &SlotTable,
    owned: &OwnedFields,
    released: &Released,
) -> Vec<Candidate> {
    let function = summarizer.view.id;
    let owning = || owned.get(&released.ty).into_iter().flatten().filter(|(slot, _)| table.is_freed(slot));
    let freed = owning().filter(|(slot, _)| released.fields.contains(&slot.1)).count();
    let left: Vec<(Slot, AllocationLine)> =
        owning().filter(|(s, _)| !released.fields.contains(&s.1)).copied().collect();
    if freed < BOUNDS.fields_of_released
        || left.len() * BOUNDS.share_of_released > freed
        || fills(analysis, function, released.ty)
    {
        return Vec::new();
    }
    let base = summarizer.view.values.parameter(released.param);
    let mut candidates = Vec::new();
    let leading = table.leading_to(world.program, function);
    for (slot, origin) in left {
        // What frees only what belongs to one item leaves the rest to who ends the structure.
        let is_callers = leading.iter().any(|f| analysis.reports[*f].slots.freed.contains(&slot));
        let cell = base.map(|base| Cell { base, offset: Offset::Known(released.start + slot.1 as i64) });
        if let Some(cell) = cell
            && !is_callers
            && stays(summarizer, cell)
        {
            let hidden = table.is_emptied_before(world.program, function, &slot);
            let ground = (!hidden).then_some(Ground::FreesMost);
            candidates.push(Candidate::of_structure(function, released.last, Loss::PassedOver(slot), origin, ground));
        }
    }
    candidates
}

/// Whether a function puts fresh blocks into fields of a type.
pub(crate) fn fills(analysis: &Analysis, function: FuncId, ty: TypeId) -> bool {
    analysis.reports[function].slots.filled.iter().any(|(slot, _)| slot.0 == ty)
}

/// Whether a field holds at every return what it held on entry.
pub(crate) fn stays(summarizer: &mut Summarizer<'_>, cell: Cell) -> bool {
    let Some(exits) = follow(summarizer, cell) else { return false };
    !exits.is_empty() && exits.iter().all(|(_, a)| a.status == Status::Live && a.cells.as_slice() == [cell])
}
