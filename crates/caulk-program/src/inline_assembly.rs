//! What inline assembly is given: pointers that it may keep, or only numbers and the places of numbers, as with atomic counters.

use caulk_ir::{AddressStep, Body, CallData, CastOp, Inst, Operand, Type, Unit};

/// Whether some operand may be a pointer, or a place that holds one.
pub(crate) fn takes_pointers(unit: &Unit, body: &Body, call: &CallData) -> bool {
    let is_number = |(argument, ty): (&Operand, &Type)| match ty {
        Type::Ptr => is_place_of_number(unit, body, *argument),
        Type::Int(_) => !is_cast_pointer(body, *argument),
        _ => false,
    };
    call.args.len() != call.arg_types.len() || !call.args.iter().zip(&call.arg_types).all(is_number)
}

/// The address of a field that is declared as a number.
fn is_place_of_number(unit: &Unit, body: &Body, address: Operand) -> bool {
    let Some(Inst::Address { steps, .. }) = address.value().map(|value| &body.insts[value]) else { return false };
    let Some(AddressStep::Field { ty, offset }) = steps.last() else { return false };
    let mut fields = unit.structs[*ty].fields.iter().filter(|field| field.offset == *offset).peekable();
    fields.peek().is_some() && fields.all(|field| field.pointee.depth == 0 && field.pointee.target.is_none())
}

fn is_cast_pointer(body: &Body, value: Operand) -> bool {
    let inst = value.value().map(|value| &body.insts[value]);
    matches!(inst, Some(Inst::Cast { op: CastOp::PtrToInt, .. }))
}
