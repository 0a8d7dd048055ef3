//! Containers of pointers that are fields, emptied by a method that frees none of the elements: `items.clear()`.
//!
//! The destructor of the class frees them, so they are the container's own. A method that empties the container without having looked at its
//! elements loses them, unless its callers have seen to them before.

use caulk_program::{FuncId, Program, is_destructor};
use rustc_hash::FxHashSet;

use crate::candidate::{Candidate, Loss};
use crate::classes::{Flows, class_of};
use crate::ground::Ground;
use crate::schedule::Analysis;
use crate::slots::Slot;

pub(crate) fn dropped_elements(program: &Program, analysis: &Analysis, flows: &Flows) -> Vec<Candidate> {
    let uses = || analysis.reports.iter().map(|(function, report)| (function, &report.slots.shelves));
    let looks = |function: FuncId, slot: &Slot| analysis.reports[function].slots.shelves.looked.contains(slot);
    let is_own_destructor = |function: FuncId, slot: &Slot| {
        is_destructor(program.function(function).symbol) && class_of(program, function) == Some(slot.0)
    };
    let mut ended: FxHashSet<Slot> = FxHashSet::default();
    // Where some other function frees elements and leaves the container as it is, others are meant to empty it.
    let mut left_stale: FxHashSet<Slot> = FxHashSet::default();
    for (function, shelves) in uses() {
        for slot in &shelves.released {
            match is_own_destructor(function, slot) {
                true => ended.insert(*slot),
                false => left_stale.insert(*slot),
            };
        }
    }
    let is_lost = |function: FuncId, slot: &Slot| {
        // Those may have freed the elements, or put them elsewhere.
        let is_seen_around = program.callers(function).any(|caller| looks(caller, slot))
            || program.callees(function).any(|callee| looks(callee, slot));
        ended.contains(slot) && !left_stale.contains(slot) && !is_seen_around
    };
    let mut found = Vec::new();
    for (function, shelves) in uses() {
        let is_end = is_destructor(program.function(function).symbol);
        for (slot, call) in shelves.dropped.iter().filter(|_| !is_end) {
            if let Some(origin) = flows.own_elements(*slot).filter(|_| is_lost(function, slot)) {
                found.push(Candidate::of_structure(
                    function,
                    *call,
                    Loss::Unlinked(*slot),
                    origin,
                    Some(Ground::DroppedElements),
                ));
            }
        }
    }
    found
}
