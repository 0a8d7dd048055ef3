//! Fields that every constructor of a class fills: a method that sets one of them again finds it full.

use caulk_program::{FuncId, Program, TypeId, is_constructor, is_destructor};
use rustc_hash::{FxHashMap, FxHashSet};

use crate::bounds::BOUNDS;
use crate::classes::class_of;
use crate::schedule::Analysis;
use crate::slot_table::SlotTable;
use crate::slots::Slot;

/// What the constructors of each class fill, and what its destructor frees.
pub(crate) struct Constructed {
    /// Fields that all constructors fill with fresh blocks.
    filled: FxHashMap<TypeId, Vec<Slot>>,
    /// Fields that a destructor frees, or what it calls does.
    ended: FxHashSet<Slot>,
    /// Functions that make structures of a type.
    makers: FxHashMap<TypeId, Vec<FuncId>>,
}

impl Constructed {
    pub(crate) fn new(program: &Program, analysis: &Analysis) -> Self {
        let mut filled: FxHashMap<TypeId, Vec<Slot>> = FxHashMap::default();
        let mut ended = FxHashSet::default();
        let mut makers: FxHashMap<TypeId, Vec<FuncId>> = FxHashMap::default();
        for function in program.functions().filter(|f| program.has_body(*f)) {
            let symbol = program.function(function).symbol;
            let slots = &analysis.reports[function].slots;
            for (ty, _) in &slots.made {
                makers.entry(*ty).or_default().push(function);
            }
            if is_destructor(symbol) {
                ended.extend(slots.freed.iter().copied());
            }
            let Some(ty) = class_of(program, function).filter(|_| is_constructor(symbol)) else { continue };
            let fills = |slot: &Slot| slots.filled.iter().any(|(filled, _)| filled == slot);
            match filled.get_mut(&ty) {
                Some(known) => known.retain(fills),
                None => drop(filled.insert(ty, slots.filled.iter().map(|(slot, _)| *slot).collect())),
            }
        }
        Self { filled, ended, makers }
    }

    /// Whether a field of its own object surely, or as a rule, holds a block when a method sets it.
    pub(crate) fn is_full(&self, program: &Program, table: &SlotTable, function: FuncId, slot: Slot) -> bool {
        let by_constructors = self.filled.get(&slot.0).is_some_and(|slots| slots.contains(&slot));
        // What is assigned to was constructed before, and what its destructor frees it may have.
        let by_assignment = self.ended.contains(&slot) && is_assignment(program.function(function).symbol);
        (by_constructors && !table.is_emptied(&slot)) || by_assignment
    }
}

impl Constructed {
    /// Whether such structures are made by other functions, none of which calls this one to set one up.
    pub(crate) fn is_used_later(&self, program: &Program, function: FuncId, ty: TypeId) -> bool {
        let is_apart = |maker: &FuncId| *maker != function && !program.callees(*maker).any(|callee| callee == function);
        self.makers.get(&ty).is_some_and(|makers| makers.iter().all(is_apart))
    }
}

/// Whether only constructors call a method, themselves or through such methods: then the fields that it fills were empty.
pub(crate) fn only_sets_up(program: &Program, function: FuncId) -> bool {
    sets_up_within(program, function, BOUNDS.set_up_calls)
}

fn sets_up_within(program: &Program, function: FuncId, depth: u32) -> bool {
    let mut callers = program.callers(function).filter(|caller| *caller != function).peekable();
    depth > 0
        && callers.peek().is_some()
        && callers
            .all(|caller| is_constructor(program.function(caller).symbol) || sets_up_within(program, caller, depth - 1))
}

/// Whether a symbol is that of an assignment operator.
pub(crate) fn is_assignment(symbol: &str) -> bool {
    symbol.starts_with("_ZN") && (symbol.contains("aSERK") || symbol.contains("aSEOS"))
}

#[cfg(test)]
mod tests {
    use super::is_assignment;

    #[test]
    fn operators_that_assign() {
        assert!(is_assignment("_ZN4NameaSERKS_"));
        assert!(is_assignment("_ZN4NameaSEOS_"));
        assert!(!is_assignment("_ZN4Name3setEPKc"));
        assert!(!is_assignment("_ZN4NameC2ERKS_"));
    }
}
