//! Which slots own what they hold: what all functions report of them ([`crate::slots`]), put together.

use caulk_program::{FuncId, Program, is_destructor};
use rustc_hash::{FxHashMap, FxHashSet};

use crate::adopted::Adopted;
use crate::bounds::BOUNDS;
use crate::embedded::Embeddings;
use crate::schedule::Analysis;
use crate::slots::{OwnedFields, Slot};

/// Which slots own what they hold, over the whole program.
#[derive(Debug, Default)]
pub(crate) struct SlotTable {
    /// Where each slot that receives fresh blocks is filled first.
    filled: FxHashMap<Slot, (FuncId, u32)>,
    freed: FxHashSet<Slot>,
    /// Slots that are freed while their structure goes on without them, and by which functions.
    emptied: FxHashMap<Slot, Vec<FuncId>>,
    /// Slots that functions free by their own code.
    freed_here: FxHashSet<Slot>,
    /// Those of these functions that neither fill the slot again nor end its structure.
    emptied_here: FxHashMap<Slot, Vec<FuncId>>,
    /// Slots that some function frees by its own code which does not fill them.
    freed_by_others: FxHashSet<Slot>,
    /// Slots that some function leaves full.
    left_full: FxHashSet<Slot>,
    embeddings: Embeddings,
    /// The functions that give one by its name to others, so that it is called later.
    named_by: FxHashMap<FuncId, Vec<FuncId>>,
}

impl SlotTable {
    pub(crate) fn new(program: &Program, analysis: &Analysis, adopted: &Adopted) -> Self {
        let mut table = Self { embeddings: Embeddings::new(program, analysis), ..Self::default() };
        for (giver, given) in analysis.survey.given.iter() {
            given.iter().for_each(|function| table.named_by.entry(*function).or_default().push(giver));
        }
        for (function, report) in analysis.reports.iter() {
            for (slot, line) in &report.slots.filled {
                table.filled.entry(*slot).or_insert((function, *line));
            }
            table.freed.extend(&report.slots.freed);
            table.left_full.extend(&report.slots.left_full);
            let fills = |slot: &Slot| report.slots.filled.iter().any(|(filled, _)| filled == slot);
            table.freed_by_others.extend(report.slots.freed_here.iter().filter(|slot| !fills(slot)));
            for slot in &report.slots.freed_here {
                table.freed_here.insert(*slot);
                if report.slots.empties(*slot) {
                    table.emptied_here.entry(*slot).or_default().push(function);
                }
            }
            // Called by one that ends the structure, it is a part of the destructor.
            // So it is if the structure is a part of the one that is ended.
            let ends = |caller: FuncId, slot: &Slot| {
                let ended = &analysis.reports[caller].slots.ended;
                !ended.is_empty() && table.embeddings.around(slot.0).iter().any(|ty| ended.contains(ty))
            };
            let is_destructor = is_destructor(program.function(function).symbol);
            let is_part = |slot: &Slot| is_destructor || program.callers(function).any(|caller| ends(caller, slot));
            // By its own code: who calls what ends the structure frees all that is in it, too.
            let emptied: Vec<Slot> = report
                .slots
                .freed_here
                .iter()
                .filter(|slot| report.slots.empties(**slot) && !is_part(slot))
                .copied()
                .collect();
            for slot in emptied {
                table.emptied.entry(slot).or_default().push(function);
            }
        }
        for (slot, origin) in adopted.owned() {
            table.filled.entry(slot).or_insert(origin);
        }
        table
    }

    /// Which structures lie inside of which.
    pub(crate) fn embeddings(&self) -> &Embeddings {
        &self.embeddings
    }

    /// Whether a slot somewhere receives fresh memory and somewhere is freed.
    pub(crate) fn is_owning(&self, slot: &Slot) -> bool {
        self.filled.contains_key(slot) && self.freed.contains(slot)
    }

    /// Whether a slot somewhere receives fresh memory.
    pub(crate) fn is_filled(&self, slot: &Slot) -> bool {
        self.filled.contains_key(slot)
    }

    pub(crate) fn is_emptied(&self, slot: &Slot) -> bool {
        self.emptied.contains_key(slot)
    }

    /// Whether a function other than a given one frees a slot of a structure that lives on.
    pub(crate) fn is_emptied_by_other(&self, slot: &Slot, function: FuncId) -> bool {
        self.emptied.get(slot).is_some_and(|by| by.iter().any(|other| *other != function))
    }

    /// Whether a slot may be empty when a function ends its structure: who calls that function empties it as well, or is called by
    /// one that does; or what leads there over some calls, or by giving the function to be called later, empties it.
    pub(crate) fn is_emptied_before(&self, program: &Program, function: FuncId, slot: &Slot) -> bool {
        let Some(emptiers) = self.emptied_here.get(slot) else { return false };
        let is_near =
            |caller: FuncId| emptiers.contains(&caller) || program.callees(caller).any(|f| emptiers.contains(&f));
        program.callers(function).any(is_near)
            || self.leading_to(program, function).iter().any(|f| emptiers.contains(f))
    }

    /// What leads to a function over a few calls, or by giving it to be called later. Without itself.
    pub(crate) fn leading_to(&self, program: &Program, function: FuncId) -> FxHashSet<FuncId> {
        let mut found: FxHashSet<FuncId> = FxHashSet::default();
        let mut last = vec![function];
        for _ in 0..BOUNDS.steps_up {
            let mut next = Vec::new();
            for at in last {
                let namers = self.named_by.get(&at).into_iter().flatten().copied();
                next.extend(program.callers(at).chain(namers).filter(|f| *f != function && found.insert(*f)));
            }
            last = next;
        }
        found
    }

    /// Whether callers of a function empty a slot by their own code, or by another function that they call.
    pub(crate) fn is_emptied_around(&self, program: &Program, function: FuncId, slot: &Slot) -> bool {
        let Some(by) = self.emptied_here.get(slot) else { return false };
        let is_near = |caller: FuncId| by.contains(&caller) || program.callees(caller).any(|f| by.contains(&f));
        program.callers(function).any(is_near)
    }

    /// Whether some function frees a slot by its own code.
    pub(crate) fn is_freed_by_some(&self, slot: &Slot) -> bool {
        self.freed_here.contains(slot)
    }

    /// Whether only functions that fill a slot free it, and one of them leaves it full.
    pub(crate) fn is_left_by_fillers(&self, slot: &Slot) -> bool {
        self.left_full.contains(slot) && self.freed_here.contains(slot) && !self.freed_by_others.contains(slot)
    }

    /// Owning slots of each type with where they are filled first, in the order of their offsets.
    pub(crate) fn by_type(&self) -> OwnedFields {
        let mut filled: Vec<(Slot, (FuncId, u32))> =
            self.filled.iter().map(|(slot, origin)| (*slot, *origin)).collect();
        filled.sort();
        let mut by_type = OwnedFields::default();
        for (slot, origin) in filled {
            by_type.entry(slot.0).or_default().push((slot, origin));
        }
        by_type
    }

    pub(crate) fn is_freed(&self, slot: &Slot) -> bool {
        self.freed.contains(slot)
    }

    /// Where an owning slot is filled first.
    pub(crate) fn origin(&self, slot: &Slot) -> (FuncId, u32) {
        self.filled[slot]
    }
}
