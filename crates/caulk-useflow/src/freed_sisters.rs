//! Fields that go where sisters of theirs go: buttons that a dialogue puts into its list of children, and deletes itself.
//!
//! A field whose contents other code is given too may be that code's to free. Not so where the destructor frees another field of the same
//! type that all this code is given as well: what has both frees neither.

use caulk_program::{FuncId, Program, TypeId};
use rustc_hash::FxHashMap;

use crate::schedule::Analysis;
use crate::slots::Slot;

/// Where the contents of fields go, function by function.
pub(crate) struct Lenders {
    /// The functions that give away the contents of a field, or store them somewhere.
    by: FxHashMap<Slot, Vec<FuncId>>,
    /// Other fields that the contents of a field are stored in.
    shared: FxHashMap<Slot, Vec<Slot>>,
}

impl Lenders {
    pub(crate) fn new(analysis: &Analysis) -> Self {
        let (mut by, mut shared) = (FxHashMap::default(), FxHashMap::default());
        for (function, report) in analysis.reports.iter() {
            let traffic = &report.slots.traffic;
            for slot in &traffic.lent {
                by.entry(*slot).or_insert_with(Vec::new).push(function);
            }
            for (from, to) in &traffic.shared {
                shared.entry(*from).or_insert_with(Vec::new).push(*to);
            }
        }
        Self { by, shared }
    }

    /// Whether all code that is given the contents of a field is given those of one of `freed` too, which is of its type.
    pub(crate) fn has_freed_sister(&self, program: &Program, slot: Slot, freed: &[Slot]) -> bool {
        let Some(target) = target_of(program, slot) else { return false };
        let is_sister =
            |other: &&Slot| **other != slot && other.0 == slot.0 && target_of(program, **other) == Some(target);
        let goes_along = |other: &Slot| is_within(&self.by, slot, *other) && is_within(&self.shared, slot, *other);
        freed.iter().filter(is_sister).any(goes_along)
    }
}

/// Whether all places that one field has in a table another one has too.
fn is_within<T: PartialEq>(places: &FxHashMap<Slot, Vec<T>>, one: Slot, other: Slot) -> bool {
    let of = |slot: Slot| places.get(&slot).map(Vec::as_slice).unwrap_or_default();
    of(one).iter().all(|place| of(other).contains(place))
}

fn target_of(program: &Program, slot: Slot) -> Option<TypeId> {
    let field = program.type_info(slot.0).fields.iter().find(|field| field.offset == slot.1)?;
    field.target.filter(|_| field.pointee.depth == 1)
}
