//! Pointers to functions that every table sets: `const struct method rsa = { "rsa", rsa_init, rsa_free };`.
//!
//! Where all variables of a structure have a function in a field, and nothing in the program writes that field, a test whether it is
//! null is a precaution. Entries of an array that are zero as a whole end it, and are no tables.

use caulk_ir::{Constant, Initialiser};
use caulk_memory::Class;
use caulk_program::{GlobalVarId, Program, TypeId};
use rustc_hash::{FxHashMap, FxHashSet};

use crate::modified::Modified;

/// Structures nest this deep.
const MAX_NESTING: usize = 3;

/// Longer arrays are not looked at: their fields may be null.
const MAX_ENTRIES: u64 = 1024;

/// A field that points to a function, and where it is in the outermost structure.
type Hook = ((TypeId, u64), u64);

/// The fields that are never null.
pub(crate) fn set_hooks(program: &Program, modified: &Modified) -> FxHashSet<(TypeId, u64)> {
    let mut are_set: FxHashMap<(TypeId, u64), bool> = FxHashMap::default();
    for id in program.globals() {
        for (slot, is_set) in set_by(program, id) {
            *are_set.entry(slot).or_insert(true) &= is_set;
        }
    }
    let is_written = |(ty, offset): (TypeId, u64)| modified.number(Class::Field(ty, offset)).is_some();
    are_set.into_iter().filter(|(slot, is_set)| *is_set && !is_written(*slot)).map(|(slot, _)| slot).collect()
}

/// The hooks of a variable, and whether it sets them.
fn set_by(program: &Program, id: GlobalVarId) -> Vec<((TypeId, u64), bool)> {
    let info = program.global(id);
    let pointee = info.declaration.pointee;
    let Some(target) = pointee.target.filter(|_| pointee.depth == 0) else { return Vec::new() };
    let ty = program.resolve_struct(info.unit, target);
    let mut hooks = Vec::new();
    hooks_of(program, ty, 0, MAX_NESTING, &mut hooks);
    let size = program.type_info(ty).size.max(1);
    let entries = info.declaration.size / size;
    let items = match &info.declaration.init {
        Initialiser::Items { items, .. } if entries <= MAX_ENTRIES => items,
        _ => return hooks.into_iter().map(|(slot, _)| (slot, false)).collect(),
    };
    let functions: FxHashSet<u64> =
        items.iter().filter(|item| matches!(item.value, Constant::Function(_))).map(|item| item.offset).collect();
    let used: FxHashSet<u64> = items.iter().map(|item| item.offset / size).collect();
    let of_entry = |entry: u64| {
        let functions = &functions;
        hooks.iter().map(move |(slot, at)| (*slot, functions.contains(&(entry * size + at))))
    };
    (0..entries).filter(|entry| used.contains(entry)).flat_map(of_entry).collect()
}

fn hooks_of(program: &Program, ty: TypeId, base: u64, depth: usize, found: &mut Vec<Hook>) {
    let info = program.type_info(ty);
    if info.is_union || depth == 0 {
        return;
    }
    for field in &info.fields {
        if field.pointee.is_function && field.pointee.depth == 1 {
            found.push(((ty, field.offset), base + field.offset));
        } else if let Some(inner) = field.embedded() {
            hooks_of(program, inner, base + field.offset, depth - 1, found);
        }
    }
}
