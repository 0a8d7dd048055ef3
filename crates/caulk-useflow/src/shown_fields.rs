//! Fields that a class shows: what a method returns that its callers only look at.
//!
//! A getter gives its callers no more than a view, as long as none of them, wherever the result goes, frees it, stores it or gives it to code
//! that may.

use caulk_program::FuncId;
use rustc_hash::FxHashSet;

use crate::schedule::Analysis;
use crate::slots::Slot;

/// Fields that functions return whose results something may end or keep.
pub(crate) fn given_by_results(analysis: &Analysis) -> FxHashSet<Slot> {
    let slots = || analysis.reports.values().map(|report| &report.slots);
    let ended = slots().flat_map(|s| s.shelves.ended.iter().chain(&s.traffic.stored_results).copied());
    let mut ended: FxHashSet<FuncId> = ended.collect();
    let mut work: Vec<FuncId> = ended.iter().copied().collect();
    // Who ends what a function passes on ends what it was given.
    while let Some(function) = work.pop() {
        for &giver in &analysis.reports[function].slots.traffic.passed_results {
            if ended.insert(giver) {
                work.push(giver);
            }
        }
    }
    let is_ended = |index: usize| ended.contains(&FuncId(index as u32));
    let returning = slots().enumerate().filter(|(index, _)| is_ended(*index));
    returning.flat_map(|(_, s)| s.traffic.returned.iter().copied()).collect()
}
