//! Containers of pointers that are fields, emptied by a method that frees none of the elements: `items.clear()`.
//!
//! The destructor of the class frees them, so they are the container's own. A method that empties the container without having looked at its
//! elements loses them, unless its callers have seen to them before. So does one that looks an element up, takes it out, and does nothing else with it.

use caulk_program::{FuncId, Program, is_constructor, is_destructor};
use caulk_summary::{Destination, Subject};
use rustc_hash::FxHashSet;

use crate::bounds::BOUNDS;
use crate::candidate::{Candidate, Loss};
use crate::classes::{Flows, class_of};
use crate::ground::Ground;
use crate::schedule::Analysis;
use crate::shelves::ShelfUse;
use crate::slots::Slot;

pub(crate) fn dropped_elements(program: &Program, analysis: &Analysis, flows: &Flows) -> Vec<Candidate> {
    let around = Around::new(program, analysis);
    let mut found = Vec::new();
    for (function, shelves) in analysis.reports.iter().map(|(function, report)| (function, &report.slots.shelves)) {
        // A constructor finds its containers empty.
        let symbol = program.function(function).symbol;
        if is_destructor(symbol) || is_constructor(symbol) {
            continue;
        }
        let dropped = shelves.dropped.iter().filter(|(slot, _)| !around.sees_to(function, slot));
        let removed = shelves.removed.iter().filter(|(slot, _)| !around.sees_to_one(function, slot));
        for (slot, call) in dropped.chain(removed).filter(|(slot, _)| around.is_ended(slot)) {
            if let Some(origin) = flows.own_elements(*slot).filter(|_| !flows.may_go(program, *slot)) {
                let loss = Loss::Unlinked(*slot);
                found.push(Candidate::of_structure(function, *call, loss, origin, Some(Ground::DroppedElements)));
            }
        }
    }
    found
}

/// Whether a function of the standard library that is called here calls one of the program that frees an argument:
/// `items.erase(std::remove_if(items.begin(), items.end(), deletes_old), items.end())`.
fn gives_to_freeing(program: &Program, analysis: &Analysis, function: FuncId, depth: u32) -> bool {
    let frees_argument = |f: FuncId| {
        analysis.summary(f).actions.iter().any(|action| match (&action.subject, &action.to) {
            (Subject::Value(path), Destination::Free { .. }) => path.steps.is_empty(),
            _ => false,
        })
    };
    let is_library = |f: FuncId| is_of_standard_library(program.function(f).symbol);
    let calls_freeing = |library: FuncId| {
        let own = program.callees(library).any(|f| !is_library(f) && program.has_body(f) && frees_argument(f));
        own || (depth > 0 && gives_to_freeing(program, analysis, library, depth - 1))
    };
    program.callees(function).any(|callee| is_library(callee) && calls_freeing(callee))
}

/// Whether a symbol is in a namespace of the standard library, of libstdc++ or libc++.
fn is_of_standard_library(symbol: &str) -> bool {
    ["_ZNSt", "_ZNKSt", "_ZSt", "_ZN9__gnu_cxx", "_ZNK9__gnu_cxx"].iter().any(|start| symbol.starts_with(start))
}

/// What other functions do with elements of containers.
struct Around<'a> {
    program: &'a Program,
    analysis: &'a Analysis,
    /// Containers whose elements the destructor of their class frees.
    ended: FxHashSet<Slot>,
    /// Those of which some other function frees elements and leaves the container as it is: others are meant to empty it.
    left_stale: FxHashSet<Slot>,
}

impl<'a> Around<'a> {
    fn new(program: &'a Program, analysis: &'a Analysis) -> Self {
        let mut around = Self { program, analysis, ended: FxHashSet::default(), left_stale: FxHashSet::default() };
        for (function, report) in analysis.reports.iter() {
            let shelves = &report.slots.shelves;
            for slot in &shelves.released {
                if around.is_end_of(function, slot) {
                    around.ended.insert(*slot);
                } else if !shelves.emptied.contains(slot) {
                    around.left_stale.insert(*slot);
                }
            }
        }
        around
    }

    /// Whether a function is the destructor of a container's class, or a method that only leaves the work to another one.
    fn is_end_of(&self, function: FuncId, slot: &Slot) -> bool {
        let is_own =
            |f: FuncId| is_destructor(self.program.function(f).symbol) && class_of(self.program, f) == Some(slot.0);
        is_own(function) || self.program.callers(function).any(is_own)
    }

    fn is_ended(&self, slot: &Slot) -> bool {
        self.ended.contains(slot) && !self.left_stale.contains(slot)
    }

    fn shelves(&self, function: FuncId) -> &ShelfUse {
        &self.analysis.reports[function].slots.shelves
    }

    /// Whether functions around one may have freed the elements of a container before, or put them elsewhere.
    fn sees_to(&self, function: FuncId, slot: &Slot) -> bool {
        let uses = |other: FuncId| {
            let shelves = self.shelves(other);
            shelves.released.contains(slot) || shelves.taken.contains(slot)
        };
        self.program.callers(function).any(|caller| self.shelves(caller).looked.contains(slot))
            || self.program.callees(function).any(uses)
            || gives_to_freeing(self.program, self.analysis, function, BOUNDS.algorithm_calls)
    }

    /// The same of one element, which a caller may have looked up by another function.
    fn sees_to_one(&self, function: FuncId, slot: &Slot) -> bool {
        let finds = |caller: FuncId| self.program.callees(caller).any(|f| self.shelves(f).returned.contains(slot));
        self.sees_to(function, slot) || self.program.callers(function).any(finds)
    }
}
