//! Structures that are copied to where they last.

use caulk_ir::{Body, Inst, InstId, Operand};
use caulk_memory::{AccessPath, Offset, PathRoot, ValueId, ValueNode};
use caulk_program::TypeId;
use caulk_summary::{Action, Destination, Guard, Subject};

use super::Summarizer;
use crate::bounds::BOUNDS;
use crate::facts::number_of;
use crate::function::View;
use crate::slots::structures_at;

impl Summarizer<'_> {
    /// A structure that is copied to where it lasts takes along all that it points to.
    pub(super) fn keep_what_is_copied(&mut self) {
        let body = self.view.body;
        for inst in body.insts.values() {
            let Inst::Copy { dst, src, len } = inst else { continue };
            // One pointer is followed to where it goes.
            if copied_pointer(&mut self.view, *src, *len).is_some() {
                continue;
            }
            let values = &self.view.values;
            let (Some(to), Some(from)) = (values.of_operand(*dst), values.of_operand(*src)) else { continue };
            let lasts = !matches!(values.root(to.base), ValueNode::Local(_) | ValueNode::Nothing);
            if !lasts || from.base == to.base {
                continue;
            }
            let Some(path) = given_by(&mut self.view, from.base) else { continue };
            let is_structure = has_pointers(&self.view, from.base);
            if !is_structure && !is_element(&self.view, from.base, *len) {
                continue;
            }
            let action = Action {
                subject: Subject::Value(path.then(Offset::Any, None)),
                to: Destination::Keep,
                // Callers follow an element through functions in between.
                guard: if is_structure { Guard::Opaque } else { Guard::Always },
            };
            if !self.report.summary.actions.contains(&action) {
                self.report.summary.actions.push(action);
            }
        }
    }
}

/// Whether as many bytes are copied as a pointer has.
pub(crate) fn copies_pointer(body: &Body, length: Operand) -> bool {
    const POINTER_SIZE: i64 = 8;
    body.constant(length).and_then(number_of) == Some(POINTER_SIZE)
}

/// The pointer that is all of a structure which is copied: compilers move smart pointers so.
pub(crate) fn copied_pointer(view: &mut View<'_>, from: Operand, length: Operand) -> Option<ValueId> {
    let cell = view.values.of_operand(from).filter(|_| copies_pointer(view.body, length))?;
    if !has_pointers(view, cell.base) {
        return None;
    }
    view.values.loaded(cell)
}

/// The caller's name for what is copied: an argument, what it leads to, or what a callee gives back of one.
fn given_by(view: &mut View<'_>, base: ValueId) -> Option<AccessPath> {
    let value = match view.values.node(base) {
        ValueNode::Opaque(call) => passed_on(view, call)?,
        _ => base,
    };
    view.values.path(value).filter(|path| matches!(path.root, PathRoot::Param(_)))
}

/// What a call gives back that it was given, if that is all it ever does.
fn passed_on(view: &mut View<'_>, call: InstId) -> Option<ValueId> {
    let result = AccessPath::root(PathRoot::Return);
    let actions = &view.calls[call].as_ref()?.summary.actions;
    let mut returned = actions.iter().filter(|action| action.to == Destination::Store(result.clone()));
    let (first, None) = (returned.next()?, returned.next()) else { return None };
    let Subject::Value(path) = &first.subject else { return None };
    let path = path.clone();
    view.resolve_value(call, &path)
}

/// Whether a parameter that may point to anything is copied by a size that is kept in memory: `memcpy(at(n), item, array->element_size)`. The
/// element may be a pointer.
fn is_element(view: &View<'_>, base: ValueId, length: Operand) -> bool {
    let ValueNode::Param(index) = view.values.node(base) else { return false };
    let params = &view.program.function(view.id).declaration.params;
    let is_untyped = params.get(index as usize).is_some_and(|p| p.pointee.depth == 1 && p.pointee.target.is_none());
    is_untyped && is_kept_size(view.body, length)
}

/// Whether a size was read from memory as it is.
pub(crate) fn is_kept_size(body: &Body, size: Operand) -> bool {
    from_memory(body, size, BOUNDS.casts)
}

fn from_memory(body: &Body, number: Operand, depth: usize) -> bool {
    let (Some(value), Some(depth)) = (number.value(), depth.checked_sub(1)) else { return false };
    match &body.insts[value] {
        Inst::Load { .. } => true,
        Inst::Cast { value, .. } => from_memory(body, *value, depth),
        _ => false,
    }
}

/// Whether a structure that a value points to has pointers: a copy of mere numbers holds none.
fn has_pointers(view: &View<'_>, base: ValueId) -> bool {
    let is_pointed_to_twice = match view.values.node(base) {
        ValueNode::Param(index) => {
            let params = &view.program.function(view.id).declaration.params;
            params.get(index as usize).is_some_and(|param| param.pointee.depth > 1)
        }
        _ => false,
    };
    let holds = |ty: &TypeId| {
        let fields = &view.program.type_info(*ty).fields;
        fields.iter().any(|field| field.pointee.depth > 0 || field.embedded().is_some())
    };
    is_pointed_to_twice || structures_at(view, base).iter().any(holds)
}
