//! Fields of the elements of an array: `list[i].name`.
//!
//! The table of values has one place for all elements of an array and for all that is in them. Which field of an element is meant only
//! the instruction tells that computes its address.

use std::ops::Range;

use caulk_ir::{AddressStep, Inst, Operand};
use caulk_memory::Offset;
use caulk_program::TypeId;

use crate::function::View;
use crate::slots::Slot;

/// The field that an address inside of an element is, by its last step. What an index leads to is an element of the field that the
/// array is: `&names->text[i]` is in `text`.
pub(crate) fn field_of_address(view: &View<'_>, address: Operand) -> Option<Slot> {
    let Inst::Address { base, steps } = &view.body.insts[address.value()?] else { return None };
    match steps.iter().rfind(|step| !matches!(step, AddressStep::Index { .. })) {
        Some(AddressStep::Field { ty, offset }) => Some((resolved(view, *ty), *offset)),
        Some(_) => None,
        None => field_of_address(view, *base),
    }
}

/// The field that a value was loaded from.
pub(crate) fn field_of_loaded(view: &View<'_>, value: Operand) -> Option<Slot> {
    match &view.body.insts[value.value()?] {
        Inst::Load { address, .. } => field_of_address(view, *address),
        Inst::Cast { value, .. } => field_of_loaded(view, *value),
        _ => None,
    }
}

/// The bytes, from the start of what the address leads into, that an array lies in which is a part of a structure: an element whose index is
/// not known is none of the other fields.
pub(crate) fn array_of_address(view: &View<'_>, address: Operand) -> Option<Range<i64>> {
    let mut parts = Vec::new();
    let mut at = address;
    while let Some(Inst::Address { base, steps }) = at.value().map(|inst| &view.body.insts[inst]) {
        parts.push(steps);
        at = *base;
    }
    let Offset::Known(mut offset) = view.values.of_operand(at)?.offset else { return None };
    let mut array = None;
    for step in parts.into_iter().rev().flatten() {
        match *step {
            AddressStep::Field { ty, offset: field } => {
                offset += i64::try_from(field).ok()?;
                let fields = &view.program.type_info(resolved(view, ty)).fields;
                let size = fields.iter().filter(|f| f.offset == field).map(|f| f.size).max()?;
                array = Some(offset..offset.checked_add(i64::try_from(size).ok()?)?);
            }
            AddressStep::Bytes { offset: bytes, .. } => offset += bytes,
            AddressStep::Index { .. } => return array,
        }
    }
    None
}

/// Offsets of the fields of a structure that a function steps into anywhere, those of elements too.
pub(crate) fn touched_fields(view: &View<'_>, ty: TypeId) -> Vec<u64> {
    let steps = view.body.insts.values().filter_map(|inst| match inst {
        Inst::Address { steps, .. } => Some(steps.iter()),
        _ => None,
    });
    let fields = steps.flatten().filter_map(|step| match step {
        AddressStep::Field { ty, offset } => Some((resolved(view, *ty), *offset)),
        _ => None,
    });
    let mut touched: Vec<u64> = fields.filter(|field| field.0 == ty).map(|field| field.1).collect();
    touched.extend(view.values.touched_fields(ty));
    touched.sort_unstable();
    touched.dedup();
    touched
}

fn resolved(view: &View<'_>, ty: caulk_ir::StructId) -> TypeId {
    view.program.resolve_struct(view.program.function(view.id).unit, ty)
}
