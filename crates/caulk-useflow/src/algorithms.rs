//! Elements that a function gives to an algorithm of the standard library: `std::for_each(all.begin(), all.end(), Delete())`.
//!
//! What the algorithm does with them is up to a function object of the program, a few calls further down.

use caulk_program::{FuncId, Program};
use rustc_hash::FxHashSet;

use crate::schedule::Analysis;
use crate::shelves::may_hold;
use crate::slots::Slot;

/// Containers whose elements are freed that way.
pub(crate) fn taken_by_algorithms(program: &Program, analysis: &Analysis) -> Vec<Slot> {
    let mut taken = Vec::new();
    for (function, report) in analysis.reports.iter() {
        let looked = &report.slots.shelves.looked;
        if looked.is_empty() {
            continue;
        }
        let called = called_by_library(program, function);
        let frees = |f: &FuncId, slot: Slot| {
            let slots = &analysis.reports[*f].slots;
            slots.ended.iter().chain(&slots.shelves.freed_types).any(|ty| may_hold(program, slot, *ty))
        };
        taken.extend(looked.iter().filter(|slot| called.iter().any(|f| frees(f, **slot))).copied());
    }
    taken
}

/// The program's functions that functions of the standard library call for a function.
fn called_by_library(program: &Program, function: FuncId) -> FxHashSet<FuncId> {
    let is_library = |f: &FuncId| {
        let symbol = program.function(*f).symbol;
        symbol.starts_with("_ZSt") || symbol.starts_with("_ZNSt") || symbol.starts_with("_ZN9__gnu_cxx")
    };
    let mut work: Vec<FuncId> = program.callees(function).filter(is_library).collect();
    let (mut seen, mut found) = (FxHashSet::default(), FxHashSet::default());
    while let Some(library) = work.pop() {
        if !seen.insert(library) {
            continue;
        }
        for callee in program.callees(library) {
            if is_library(&callee) {
                work.push(callee);
            } else {
                found.insert(callee);
            }
        }
    }
    found
}
