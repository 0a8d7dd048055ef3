//! Recognises virtual calls in a body, and what is known there of the object they are made on.

use caulk_ir::{AddressStep, Callee, Inst, InstId, Operand, Type};

use crate::bounds::BOUNDS;
use crate::facts::VirtualCall;
use crate::ids::{FuncId, TypeId};
use crate::locate::{Location, Reader, Root};
use crate::virtual_calls::is_constructor;

/// `(*object)[slot]`, where nothing says that `*object` is anything but the table of virtual functions.
pub(crate) fn virtual_call(reader: &Reader<'_>, id: FuncId, target: Operand) -> Option<VirtualCall> {
    call_in_chain(reader, id, target, BOUNDS.chained_calls)
}

fn call_in_chain(reader: &Reader<'_>, id: FuncId, target: Operand, depth: u32) -> Option<VirtualCall> {
    let body = reader.body;
    let load = |operand: Operand| match &body.insts[operand.value()?] {
        Inst::Load { ty: Type::Ptr, address, .. } => Some(*address),
        _ => None,
    };
    let entry = load(target)?;
    let word = i64::from(reader.unit.pointer_bytes.max(1));
    let (table, slot) = match &body.insts[entry.value()?] {
        Inst::Address { base, steps } => match steps.as_slice() {
            [] => (*base, 0),
            [AddressStep::Bytes { offset, .. }] if *offset >= 0 && offset % word == 0 => (*base, offset / word),
            _ => return None,
        },
        _ => (entry, 0),
    };
    let object = load(table)?;
    let location = reader.locate(object);
    let types = &reader.world.types;
    if let Some((ty, offset)) = location.ty {
        let field = types.field(types.spot(ty, offset));
        if field.is_some_and(|f| !f.is_vptr) {
            return None;
        }
    }
    let is_this = |value: InstId| matches!(body.insts[value], Inst::Param { index: 0, .. });
    let method = matches!(location.root, Root::Value(v) if is_this(v) && location.offset == 0).then_some(id);
    let class = object_class(reader, object);
    let made_as = made_as(reader, &location).map(|ty| (ty, location.offset));
    let is_unknown = class.is_none() && method.is_none();
    let given_by = if is_unknown { giver(reader, id, object, depth).map(Box::new) } else { None };
    Some(VirtualCall { slot: u32::try_from(slot).ok()?, class, method, made_as, given_by })
}

/// The virtual call whose result an object is.
fn giver(reader: &Reader<'_>, id: FuncId, object: Operand, depth: u32) -> Option<VirtualCall> {
    let depth = depth.checked_sub(1)?;
    match reader.body.insts[object.value()?].call()?.callee {
        Callee::Indirect(target) => call_in_chain(reader, id, target, depth),
        _ => None,
    }
}

/// The class whose constructor this function calls on the object; none where it calls several.
fn made_as(reader: &Reader<'_>, object: &Location) -> Option<TypeId> {
    let body = reader.body;
    match object.root {
        Root::Local(_) => {}
        Root::Value(value) if body.insts[value].call().is_some() => {}
        _ => return None,
    }
    let mut made = body.insts.values().filter_map(|inst| {
        let call = inst.call()?;
        let Callee::Direct(function) = call.callee else { return None };
        let this = reader.locate(*call.args.first()?);
        let is_object = this.root == object.root && this.offset == 0;
        (is_object && is_constructor(reader.unit.symbol(function))).then_some(function)
    });
    let (first, more) = (made.next()?, made.next());
    let this = reader.unit.functions[first].params.first()?.pointee;
    let ty = this.target.filter(|_| this.depth == 1 && more.is_none())?;
    Some(reader.map.structs[ty])
}

/// The class of an object, without the step to the pointer to its table.
fn object_class(reader: &Reader<'_>, object: Operand) -> Option<TypeId> {
    let location = reader.locate(object);
    match location.ty {
        // `address %this, Foo._vptr`: the step names the class itself.
        Some((ty, 0)) => Some(ty),
        _ => reader.class_at(object),
    }
}
