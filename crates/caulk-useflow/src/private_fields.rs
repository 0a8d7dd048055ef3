//! Fields that only ever hold what was made for them, and that are lost where their structure is freed.
//!
//! What such a field holds nothing else leads to. So if no function frees it for good, the one that frees the structure loses it,
//! whether or not it frees other fields; and if one function that frees the structure frees it, another should too.

use caulk_ir::InstId;
use caulk_program::{FuncId, TypeId};
use caulk_rules::Rule;
use rustc_hash::{FxHashMap, FxHashSet};

use crate::bounds::BOUNDS;
use crate::candidate::{Candidate, Loss};
use crate::classes::{Flows, seen_elsewhere};
use crate::destructors::comes_from_maker;
use crate::ground::Ground;
use crate::released::Released;
use crate::schedule::Analysis;
use crate::slot_table::SlotTable;
use crate::slots::{AllocationLine, Destroyed, Slot};
use crate::summarize::World;
use crate::twins::twins;

/// A function that frees a structure, or leaves it unusable, and does nothing to a field of it.
#[derive(Clone, Copy)]
struct Miss {
    function: FuncId,
    call: InstId,
    /// How many fields of the structure it does free.
    freed: usize,
    /// It frees the structure itself.
    is_freed: bool,
}

/// Candidates of private fields. `known`: what was found before.
pub(crate) fn lost_with_structures(
    world: &World<'_>,
    analysis: &Analysis,
    table: &SlotTable,
    flows: &Flows,
    known: &[Candidate],
) -> Vec<Candidate> {
    let program = world.program;
    let owned = table.by_type();
    let shown: FxHashSet<Slot> = known.iter().filter(|c| !c.hidden).filter_map(|c| c.loss.slot()).collect();
    let mut missed: FxHashMap<(Slot, AllocationLine), Vec<Miss>> = FxHashMap::default();
    // Classes have destructors, which are judged apart.
    let is_method = |f: &FuncId| program.function(*f).symbol.starts_with("_Z");
    let by_value: FxHashSet<TypeId> =
        analysis.reports.values().flat_map(|r| r.slots.by_value.iter().copied()).collect();
    let parts_of = |ty: TypeId| match world.config.rules.is_on(Rule::EmbeddedFields) {
        true => table.embeddings().with_own_parts(ty),
        false => vec![ty],
    };
    for function in program.functions().filter(|f| !is_method(f)) {
        let slots = &analysis.reports[function].slots;
        let may_be_new = |d: &Destroyed| d.may_be_new || comes_from_maker(program, analysis, function, d);
        let destroyed = slots.destroyed.iter().filter(|d| !d.is_given_away && !may_be_new(d));
        // What frees several fields of a structure ends it, whether or not it clears them as well.
        let clears_many = |released: &Released| {
            // By its own code, and of what was allocated for them.
            let is_own = |field: &&u64| {
                let slot = (released.ty, **field);
                slots.freed_here.contains(&slot) && table.is_filled(&slot)
            };
            let freed = released.fields.iter().filter(is_own).count();
            let is_release = freed >= BOUNDS.fields_of_owner && !released.is_left_dangling;
            let fills = slots.filled.iter().any(|(slot, _)| slot.0 == released.ty);
            // Who declares such a structure may see to what is left in it.
            let is_variable = by_value.contains(&released.ty);
            world.config.rules.applies(Rule::ReleasedFields, is_release && !fills && !is_variable)
        };
        let released = slots.released.iter().filter(|released| released.is_left_dangling || clears_many(released));
        let ends: Vec<(TypeId, InstId, bool)> =
            destroyed.map(|d| (d.ty, d.call, true)).chain(released.map(|r| (r.ty, r.last, false))).collect();
        for (ty, call, is_freed) in ends {
            // Who makes such structures frees those that are not complete.
            if slots.made.iter().any(|(made, _)| *made == ty) {
                continue;
            }
            let parts = parts_of(ty);
            let freed = slots.freed.iter().filter(|slot| parts.contains(&slot.0)).count();
            for &(slot, origin) in parts.iter().filter_map(|part| owned.get(part)).flatten() {
                if !shown.contains(&slot) && !sees_to(analysis, function, &table.embeddings().names_of(slot)) {
                    missed.entry((slot, origin)).or_default().push(Miss { function, call, freed, is_freed });
                }
            }
        }
    }
    let mut missed: Vec<((Slot, AllocationLine), Vec<Miss>)> = missed.into_iter().collect();
    missed.sort_by_key(|(key, _)| *key);
    let mut candidates = Vec::new();
    let seen = seen_elsewhere(analysis, known);
    missed.retain(|((_, origin), _)| !seen.contains(origin));
    for ((slot, origin), misses) in missed {
        candidates.extend(judge(world, analysis, table, flows, (slot, origin), &misses));
    }
    candidates
}

/// Whether a function that frees a structure does anything to a field of it by which its contents may live on or be freed.
fn sees_to(analysis: &Analysis, function: FuncId, names: &[Slot]) -> bool {
    let slots = &analysis.reports[function].slots;
    let is_filled = slots.filled.iter().any(|(filled, _)| names.contains(filled));
    is_filled || names.iter().any(|name| slots.freed.contains(name) || slots.traffic.returned.contains(name))
}

fn judge(
    world: &World<'_>,
    analysis: &Analysis,
    table: &SlotTable,
    flows: &Flows,
    (slot, origin): (Slot, AllocationLine),
    misses: &[Miss],
) -> Vec<Candidate> {
    let program = world.program;
    let lost = |miss: &Miss, ground: Ground| {
        let loss = if miss.is_freed { Loss::MissedField(slot) } else { Loss::PassedOver(slot) };
        Candidate::of_structure(miss.function, miss.call, loss, origin, Some(ground))
    };
    let mut names = table.embeddings().names_of(slot);
    names.extend(world.config.rules.all(Rule::FirstParts, || twins(program, slot)));
    let is_sole_owner = names.iter().all(|name| flows.is_sole_owner(program, table, *name));
    let ends_it: Vec<FuncId> = program.functions().filter(|f| frees_for_good(analysis, *f, &names)).collect();
    if ends_it.is_empty() {
        // Nothing ever frees it: named once, where most of the structure is freed.
        // What is freed to be set again is the field's own, whatever else frees such structures.
        let is_ended_otherwise = !table.is_freed(&slot) && flows.is_target_ended(program, slot);
        let first = misses.iter().max_by_key(|miss| (miss.freed, miss.is_freed, std::cmp::Reverse(miss.function.0)));
        let first = first.filter(|_| is_sole_owner && !is_ended_otherwise);
        return first.map(|miss| lost(miss, Ground::NothingFrees)).into_iter().collect();
    }
    // Another function that frees the structure frees the field too.
    let around = table.embeddings().around(slot.0);
    let ends_structure = |f: &FuncId| around.iter().any(|ty| analysis.reports[*f].slots.ended.contains(ty));
    let is_near = |miss: &Miss| table.is_emptied_before(program, miss.function, &slot);
    let is_told = ends_it.iter().all(ends_structure);
    // All others that free the structure free the field, so it owns what it holds, wherever that came from.
    let is_agreed = is_told && ends_it.len() >= BOUNDS.agreeing_releases && misses.len() == 1;
    let ground = |miss: &Miss| {
        let is_release = is_sole_owner && miss.freed >= BOUNDS.fields_of_owner;
        let is_exception = is_agreed && miss.freed > 0;
        match is_told && miss.is_freed && !is_near(miss) {
            true if is_release => Some(Ground::OthersFreeIt),
            true if world.config.rules.applies(Rule::AgreedFields, is_exception) => Some(Ground::AgreedFields),
            _ => None,
        }
    };
    misses.iter().filter_map(|miss| Some(lost(miss, ground(miss)?))).collect()
}

/// Whether a function frees what a field holds and does not fill the field again.
fn frees_for_good(analysis: &Analysis, function: FuncId, names: &[Slot]) -> bool {
    let slots = &analysis.reports[function].slots;
    let is_freed = names.iter().any(|name| slots.freed.contains(name));
    is_freed && !slots.filled.iter().any(|(filled, _)| names.contains(filled))
}
