//! Fields that only ever hold what was made for them, and that are lost where their structure is freed.
//!
//! What such a field holds nothing else leads to. So if no function frees it for good, the one that frees the structure loses it,
//! whether or not it frees other fields; and if one function that frees the structure frees it, another should too.

use caulk_ir::InstId;
use caulk_program::{FuncId, Program, TypeId};
use rustc_hash::{FxHashMap, FxHashSet};

use crate::candidate::{Candidate, Loss};
use crate::classes::Flows;
use crate::destructors::{candidate, comes_from_maker};
use crate::schedule::Analysis;
use crate::slots::{Destroyed, Origin, Slot, SlotTable};

/// A function that frees this many fields of a structure should free the others too.
const MIN_RELEASED: usize = 2;

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
    program: &Program,
    analysis: &Analysis,
    table: &SlotTable,
    flows: &Flows,
    known: &[Candidate],
) -> Vec<Candidate> {
    let owned = table.by_type();
    let shown: FxHashSet<Slot> = known.iter().filter(|c| !c.hidden).filter_map(|c| c.loss.slot()).collect();
    let mut missed: FxHashMap<(Slot, Origin), Vec<Miss>> = FxHashMap::default();
    // Classes have destructors, which are judged apart.
    let is_method = |f: &FuncId| program.function(*f).symbol.starts_with("_Z");
    for function in program.functions().filter(|f| !is_method(f)) {
        let slots = &analysis.reports[function.0 as usize].slots;
        let may_be_new = |d: &Destroyed| d.may_be_new || comes_from_maker(program, analysis, function, d);
        let destroyed = slots.destroyed.iter().filter(|d| !d.is_given_away && !may_be_new(d));
        let released = slots.released.iter().filter(|released| released.is_left_dangling);
        let ends: Vec<(TypeId, InstId, bool)> =
            destroyed.map(|d| (d.ty, d.call, true)).chain(released.map(|r| (r.ty, r.last, false))).collect();
        for (ty, call, is_freed) in ends {
            // Who makes such structures frees those that are not complete.
            if slots.made.iter().any(|(made, _)| *made == ty) {
                continue;
            }
            let freed = slots.freed.iter().filter(|slot| slot.0 == ty).count();
            for &(slot, origin) in owned.get(&ty).into_iter().flatten() {
                let is_owned = flows.is_sole_owner(program, table, slot) && !shown.contains(&slot);
                if is_owned && !sees_to(analysis, function, slot) {
                    missed.entry((slot, origin)).or_default().push(Miss { function, call, freed, is_freed });
                }
            }
        }
    }
    let mut missed: Vec<((Slot, Origin), Vec<Miss>)> = missed.into_iter().collect();
    missed.sort_by_key(|(key, _)| *key);
    let mut candidates = Vec::new();
    for ((slot, origin), misses) in missed {
        candidates.extend(judge(program, analysis, table, flows, slot, origin, &misses));
    }
    candidates
}

/// Whether a function that frees a structure does anything to a field of it by which its contents may live on or be freed.
fn sees_to(analysis: &Analysis, function: FuncId, slot: Slot) -> bool {
    let slots = &analysis.reports[function.0 as usize].slots;
    let traffic = &slots.traffic;
    let is_filled = slots.filled.iter().any(|(filled, _)| *filled == slot);
    is_filled || slots.freed.contains(&slot) || traffic.returned.contains(&slot)
}

fn judge(
    program: &Program,
    analysis: &Analysis,
    table: &SlotTable,
    flows: &Flows,
    slot: Slot,
    origin: Origin,
    misses: &[Miss],
) -> Vec<Candidate> {
    let lost = |miss: &Miss| {
        let loss = if miss.is_freed { Loss::MissedField(slot) } else { Loss::PassedOver(slot) };
        candidate(miss.function, miss.call, loss, origin, false)
    };
    let ends_it: Vec<FuncId> = program.functions().filter(|f| frees_for_good(analysis, *f, slot)).collect();
    if ends_it.is_empty() {
        // Nothing ever frees it: named once, where most of the structure is freed.
        // What is freed to be set again is the field's own, whatever else frees such structures.
        let is_ended_otherwise = !table.is_freed(&slot) && flows.is_target_ended(program, slot);
        let first = misses.iter().max_by_key(|miss| (miss.freed, miss.is_freed, std::cmp::Reverse(miss.function.0)));
        return first.filter(|_| !is_ended_otherwise).map(lost).into_iter().collect();
    }
    // Another function that frees the structure frees the field too.
    let ends_structure = |f: &FuncId| analysis.reports[f.0 as usize].slots.ended.contains(&slot.0);
    let is_near = |miss: &Miss| table.is_emptied_before(program, miss.function, &slot);
    let is_told = ends_it.iter().all(ends_structure);
    misses
        .iter()
        .filter(|miss| is_told && miss.is_freed && miss.freed >= MIN_RELEASED && !is_near(miss))
        .map(lost)
        .collect()
}

/// Whether a function frees what a field holds and does not fill the field again.
fn frees_for_good(analysis: &Analysis, function: FuncId, slot: Slot) -> bool {
    let slots = &analysis.reports[function.0 as usize].slots;
    slots.freed.contains(&slot) && !slots.filled.iter().any(|(filled, _)| *filled == slot)
}
