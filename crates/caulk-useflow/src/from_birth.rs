//! Fields that are full as long as their structure lives: every function that makes such a structure fills the field, and nothing ever empties it.
//!
//! A function that finds such a structure in memory and fills the field again loses what it held.

use caulk_program::{FuncId, TypeId};
use rustc_hash::{FxHashMap, FxHashSet};

use crate::schedule::Analysis;
use crate::slot_table::SlotTable;
use crate::slots::Slot;

/// Answers for the whole program.
pub(crate) struct FromBirth<'a> {
    analysis: &'a Analysis,
    makers: FxHashMap<TypeId, Vec<FuncId>>,
    /// Fields that some function sets to null or takes the contents of.
    emptied: FxHashSet<Slot>,
}

impl<'a> FromBirth<'a> {
    pub(crate) fn new(analysis: &'a Analysis) -> Self {
        let mut makers: FxHashMap<TypeId, Vec<FuncId>> = FxHashMap::default();
        let mut emptied = FxHashSet::default();
        for (function, report) in analysis.reports.iter() {
            for (ty, _) in &report.slots.made {
                makers.entry(*ty).or_default().push(function);
            }
            // A maker that fills the field may well set it to null first.
            let is_filled = |slot: &&Slot| report.slots.filled.iter().any(|(filled, _)| filled == *slot);
            let is_maker = |slot: &&Slot| report.slots.made.iter().any(|(ty, _)| *ty == slot.0);
            let nulled = report.slots.traffic.nulled.iter().filter(|slot| !(is_maker(slot) && is_filled(slot)));
            emptied.extend(nulled.chain(&report.slots.traffic.moved).copied());
        }
        Self { analysis, makers, emptied }
    }

    pub(crate) fn is_full(&self, table: &SlotTable, slot: Slot) -> bool {
        let Some(makers) = self.makers.get(&slot.0) else { return false };
        let fills = |f: &FuncId| {
            let filled = &self.analysis.reports[*f].slots.filled;
            filled.iter().any(|(filled, _)| *filled == slot)
        };
        let may_be_empty = self.emptied.contains(&slot) || table.is_emptied(&slot);
        !may_be_empty && makers.iter().all(fills)
    }
}
