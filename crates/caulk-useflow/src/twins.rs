//! Structures that begin with all fields of another one, as a macro or an included list of fields makes them.

use caulk_ir::Entity;
use caulk_program::{Program, TypeId};

use crate::bounds::BOUNDS;
use crate::slots::Slot;

/// The same field in structures that are the first part of this one: what frees it there frees it here.
pub(crate) fn twins(program: &Program, (ty, offset): Slot) -> Vec<Slot> {
    let all = (0..program.types().len()).map(TypeId::from_index);
    all.filter(|base| *base != ty && is_first_part(program, *base, ty, offset)).map(|base| (base, offset)).collect()
}

/// Whether all fields of one structure, one at that offset among them, are the first fields of the other.
fn is_first_part(program: &Program, base: TypeId, whole: TypeId, offset: u64) -> bool {
    let (few, many) = (program.type_info(base), program.type_info(whole));
    let is_candidate = few.fields.len() >= BOUNDS.twin_fields && few.fields.len() < many.fields.len() && !few.is_union;
    if !is_candidate || few.size > many.size || !few.fields.iter().any(|field| field.offset == offset) {
        return false;
    }
    let ((few_unit, few), (many_unit, many)) = (program.struct_type(base), program.struct_type(whole));
    few.fields.iter().zip(&many.fields).all(|(a, b)| {
        let same_name = a.name.map(|name| few_unit.str(name)) == b.name.map(|name| many_unit.str(name));
        same_name && (a.offset, a.size, a.pointee.depth) == (b.offset, b.size, b.pointee.depth)
    })
}
