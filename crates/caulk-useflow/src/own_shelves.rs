//! Shelves that are no containers of the standard library: arrays of pointers that are fields (`Item **items`), and fields of a
//! template of the program's own (`Array<Item *> items`).
//!
//! What a member of such a template does with elements its summary and its signature tell, never its name.

use caulk_ir::{Inst, Type};
use caulk_memory::{Cell, Offset, PathRoot, ValueId, ValueNode};
use caulk_models::{container_member, is_own_pointer_template};
use caulk_program::{CallSite, FuncId, Program, TypeId};
use caulk_summary::{Destination, Subject};

use crate::classes::class_of;
use crate::function::View;
use crate::slots::Slot;

/// What a member of a container of the program's own does with elements.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum OwnUse {
    /// It stores an argument in the container.
    Adds,
    /// It may give elements out, or do anything to them.
    Looks,
    /// It has nothing to give them to.
    Leaves,
}

/// A call of a member of a container of the program's own that is a field: where the container is, and what it is.
pub(crate) fn own_member(view: &View<'_>, site: &CallSite) -> Option<(Cell, Slot, OwnUse)> {
    let [target] = view.program.targets(site) else { return None };
    let cell = view.values.of_operand(view.argument(site.inst, 0)?)?;
    let slot = view.values.own_field(cell)?;
    let class = embedded_class(view.program, slot)?;
    let is_own = is_own_pointer_template(view.program.type_name(class));
    (is_own && class_of(view.program, *target) == Some(class)).then(|| (cell, slot, use_of(view, site, *target)))
}

/// The class of a field that is an object itself.
pub(crate) fn embedded_class(program: &Program, slot: Slot) -> Option<TypeId> {
    let field = program.type_info(slot.0).fields.iter().find(|field| field.offset == slot.1)?;
    field.embedded()
}

fn use_of(view: &View<'_>, site: &CallSite, target: FuncId) -> OwnUse {
    let info = view.program.function(target);
    let signature = &info.declaration.signature;
    let gives = signature.ret == Type::Ptr || info.declaration.params.iter().any(|param| param.flags.struct_return);
    // A template of its own may be given a function that does anything.
    let is_template = info.name.rsplit("::").next().unwrap_or_default().contains('<');
    let Some(effect) = view.calls[site.inst].as_ref().filter(|effect| !effect.unknown && !gives && !is_template) else {
        return OwnUse::Looks;
    };
    let takes_in = effect.summary.actions.iter().any(|action| {
        let is_argument =
            matches!(&action.subject, Subject::Value(path) if matches!(path.root, PathRoot::Param(index) if index > 0));
        is_argument && matches!(&action.to, Destination::Store(to) if to.root == PathRoot::Param(0))
    });
    let is_given_pointer = signature.params.iter().skip(1).any(|param| *param == Type::Ptr);
    match (takes_in, is_given_pointer) {
        (true, _) => OwnUse::Adds,
        (false, true) => OwnUse::Looks,
        (false, false) => OwnUse::Leaves,
    }
}

/// Whether the function puts something into a container of the program's own that is no field it knows.
pub(crate) fn fills_other_container(view: &View<'_>) -> bool {
    view.program.call_sites(view.id).iter().any(|site| {
        let [target] = view.program.targets(site) else { return false };
        let class = class_of(view.program, *target).filter(|_| view.calls[site.inst].is_some());
        let is_own = class.is_some_and(|class| is_own_pointer_template(view.program.type_name(class)));
        let is_std = container_member(view.program.function(*target).name).is_some();
        is_own && !is_std && own_member(view, site).is_none() && use_of(view, site, *target) == OwnUse::Adds
    })
}

/// The container of the program's own whose elements a value leads to: `this->items` owns the array that `this->items.data` is.
pub(crate) fn container_around(view: &View<'_>, array: ValueId) -> Option<Slot> {
    let ValueNode::Load(holder, Offset::Known(at)) = view.values.node(array) else { return None };
    let members = view.program.call_sites(view.id).iter().filter_map(|site| own_member(view, site));
    members.filter(|(_, _, used)| *used == OwnUse::Adds).find_map(|(cell, slot, _)| {
        let Offset::Known(start) = cell.offset else { return None };
        let size = view.program.type_info(embedded_class(view.program, slot)?).size as i64;
        (cell.base == holder && (start..start + size).contains(&at)).then_some(slot)
    })
}

/// The field that holds an array of pointers, if a value is that array.
pub(crate) fn array_field(view: &View<'_>, array: ValueId) -> Option<Slot> {
    let ValueNode::Load(base, offset) = view.values.node(array) else { return None };
    let slot = view.values.own_field(Cell { base, offset })?;
    is_array_field(view.program, slot).then_some(slot)
}

/// Whether a field is declared as a pointer to pointers.
pub(crate) fn is_array_field(program: &Program, slot: Slot) -> bool {
    let field = program.type_info(slot.0).fields.iter().find(|field| field.offset == slot.1);
    field.is_some_and(|field| field.pointee.depth == 2 && !field.pointee.is_function)
}

/// What a function does with arrays of pointers that are fields.
#[derive(Default)]
pub(crate) struct ArrayUse {
    /// Something is stored in them that is no fresh block.
    pub foreign: Vec<Slot>,
    /// Elements are read.
    pub looked: Vec<Slot>,
    /// The array as a whole goes elsewhere.
    pub shown: Vec<Slot>,
}

pub(crate) fn array_use(view: &View<'_>) -> ArrayUse {
    let mut used = ArrayUse::default();
    let array_at = |operand| array_field(view, view.values.of_operand(operand)?.base);
    for (id, inst) in view.body.insts.iter() {
        match inst {
            Inst::Store { value, address, .. } => {
                used.foreign.extend(array_at(*address).filter(|_| !is_fresh_or_null(view, *value)));
                used.shown.extend(array_at(*value));
            }
            Inst::Load { address, .. } => used.looked.extend(array_at(*address)),
            Inst::Return { value: Some(value) } => used.shown.extend(array_at(*value)),
            Inst::Phi { incoming, .. } => {
                used.shown.extend(incoming.iter().filter_map(|(_, operand)| array_at(*operand)))
            }
            Inst::Copy { dst, src, .. } => used.shown.extend([*dst, *src].into_iter().filter_map(array_at)),
            _ => {
                let Some(data) = inst.call() else { continue };
                let given = data.args.iter().enumerate().filter(|(index, _)| !is_only_freed(view, id, *index));
                used.shown.extend(given.filter_map(|(_, argument)| array_at(*argument)));
            }
        }
    }
    used
}

/// Whether a call frees an argument, and nothing of what it leads to.
fn is_only_freed(view: &View<'_>, call: caulk_ir::InstId, index: usize) -> bool {
    let Some(effect) = view.calls[call].as_ref().filter(|effect| !effect.unknown) else { return false };
    let root = PathRoot::Param(index as u32);
    let mut actions = effect.summary.actions.iter().filter_map(|action| match &action.subject {
        Subject::Value(path) if path.root == root => {
            Some(path.steps.is_empty() && matches!(action.to, Destination::Free { .. }))
        }
        _ => None,
    });
    actions.next() == Some(true) && actions.all(|is_free| is_free)
}

fn is_fresh_or_null(view: &View<'_>, value: caulk_ir::Operand) -> bool {
    let Some(cell) = view.values.of_operand(value) else { return view.body.constant(value).is_some() };
    match view.values.node(cell.base) {
        ValueNode::Opaque(inst) => view.calls[inst].as_ref().is_some_and(|e| e.summary.returns_fresh()),
        ValueNode::Nothing => true,
        _ => view.body.constant(value).is_some(),
    }
}
