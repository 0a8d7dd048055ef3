//! Owning slots: fields that somewhere receive fresh memory and somewhere are freed, over the whole program.
//!
//! A function that frees a structure and never looks at such a field of it loses what the field holds: a destructor that
//! misses a field. The table is built from what every function reports; no function is looked at twice.

use std::borrow::Cow;

use caulk_ir::{Inst, InstId, Operand};
use caulk_memory::{AccessPath, Cell, Offset, PathRoot, ValueId, ValueNode};
use caulk_program::{FuncId, TypeId};
use caulk_rules::Rule;
use caulk_summary::{Depth, Destination, Guard, Subject, Summary};
use rustc_hash::FxHashMap;
use serde::{Deserialize, Serialize};

use crate::exceptions::is_destructor_call;
use crate::function::{Resolved, View};
use crate::indexed::{field_of_loaded, touched_fields};
use crate::maybe_ended::may_end;
use crate::never_deleted::{ObjectUse, object_use};
use crate::objects::is_out_pointer;
use crate::released::Released;
use crate::shelves::{ShelfUse, note_shelves};
use crate::statics::{StaticUse, static_use};
use crate::traffic::{Traffic, traffic};

/// A field of a structure.
pub type Slot = (TypeId, u64);

/// Where an owning slot is filled first: a function, and a line as `Program::line_of` takes it.
pub(crate) type AllocationLine = (FuncId, u32);

/// Owning slots by the type of their structure.
pub(crate) type OwnedFields = FxHashMap<TypeId, Vec<(Slot, AllocationLine)>>;

/// What a function does with slots.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct SlotUse {
    /// Slots that receive fresh blocks, with the line of the allocation.
    pub filled: Vec<(Slot, u32)>,
    /// Those that hold such a block where the function returns or throws. Sorted.
    pub left_full: Vec<Slot>,
    /// Structures that are allocated, with the line.
    pub made: Vec<(TypeId, u32)>,
    /// Slots whose contents are freed.
    pub freed: Vec<Slot>,
    /// Those of them that the function gives to what frees it, by its own code. Sorted.
    pub freed_here: Vec<Slot>,
    /// Those of them that only destructors free which the function calls: their structure ends there.
    pub destructed: Vec<Slot>,
    /// Types of structures that are freed, wherever their contents are freed.
    pub ended: Vec<TypeId>,
    /// Structures that are freed themselves.
    pub destroyed: Vec<Destroyed>,
    /// Structures that live on, and of which several fields are freed.
    pub released: Vec<Released>,
    /// Types of what may be freed by some call, or given to unknown code.
    pub maybe_ended: Vec<TypeId>,
    /// Types of variables that are structures themselves.
    pub by_value: Vec<TypeId>,
    /// Bytes are set to a value somewhere: a structure may be cleared.
    pub clears: bool,
    /// A callee writes over what some structure holds.
    pub resets: bool,
    /// How the contents of fields come and go, besides being allocated and freed.
    pub traffic: Traffic,
    /// Containers that are fields.
    pub shelves: ShelfUse,
    /// Static pointers.
    pub statics: StaticUse,
    /// Objects that fields are set to, and objects that are deleted.
    pub objects: ObjectUse,
}

impl SlotUse {
    /// Whether a function frees what a field holds, and neither fills the field again nor ends its structure: the structure
    /// goes on without it, so a later destructor may rightly pass the field over.
    pub(crate) fn empties(&self, slot: Slot) -> bool {
        let is_filled = self.filled.iter().any(|(filled, _)| *filled == slot);
        !is_filled && !self.ends(slot) && !self.destructed.contains(&slot)
    }

    /// Whether a function frees a structure that has the field.
    fn ends(&self, slot: Slot) -> bool {
        self.ended.contains(&slot.0)
    }
}

/// A structure of known type that a call frees, and nothing that it holds with it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Destroyed {
    pub call: InstId,
    pub ty: TypeId,
    /// Fields of that type the function looks at, through any pointer.
    pub touched: Vec<u64>,
    /// Some field of the structure is freed before.
    pub frees_fields: bool,
    /// What other calls that are given the structure, or a part of it, may free of it.
    pub seen_to: SeenTo,
    /// Another call that is given the structure may do anything to it.
    pub is_given_away: bool,
    /// The function may have just made it.
    pub may_be_new: bool,
    /// The call that it came from, if any.
    pub found_by: Option<InstId>,
}

/// Fields of a structure that other calls see to before it is freed.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum SeenTo {
    #[default]
    Nothing,
    /// Offsets of fields.
    Fields(Vec<i64>),
    Anything,
}

impl SeenTo {
    /// Whether nothing but the function's own paths decides about a field.
    pub(crate) fn leaves(&self, field: u64) -> bool {
        match self {
            SeenTo::Nothing => true,
            SeenTo::Fields(offsets) => !offsets.contains(&(field as i64)),
            SeenTo::Anything => false,
        }
    }
}

/// What the calls of a function free.
pub(crate) fn freed_slots(view: &mut View<'_>, slots: &mut SlotUse) {
    let calls: Vec<InstId> = view.calls.iter().filter(|(_, c)| c.is_some()).map(|(inst, _)| inst).collect();
    for call in calls {
        let Some(effect) = view.calls[call].clone() else { continue };
        for action in &effect.summary.actions {
            let Subject::Value(path) = &action.subject else { continue };
            if let Some(path) = may_end(view, call, action) {
                slots.maybe_ended.extend(types_at(view, call, path));
            }
            let Destination::Free { deep } = &action.to else { continue };
            let is_of_destroyed = !path.steps.is_empty() && is_destructor_call(view.program, view.id, call);
            let freed = without_header(view, path);
            match is_of_destroyed {
                true => slots.destructed.extend(slot_of(view, call, path)),
                false => slots.freed.extend(slot_of(view, call, &freed)),
            }
            let is_own = path.steps.is_empty() || frees_pointed_to(view, path);
            if is_own {
                slots.freed_here.extend(slot_of(view, call, path));
            }
            if *deep == Depth::Shallow && action.guard == Guard::Always && is_own {
                slots.ended.extend(ended_structure(view, call, path));
                slots.destroyed.extend(destroyed(view, call, path));
            }
        }
    }
    slots.clears = view.body.insts.values().any(|inst| matches!(inst, Inst::Fill { .. }));
    slots.resets = view.calls.values().flatten().any(|effect| !effect.summary.overwritten.is_empty());
    let unit = view.program.function(view.id).unit;
    let variables = view.body.vars.values().filter(|var| var.pointee.depth == 0).filter_map(|var| var.pointee.target);
    slots.by_value = variables.map(|ty| view.program.resolve_struct(unit, ty)).collect();
    slots.traffic = traffic(view);
    slots.statics = static_use(view);
    note_shelves(view, &mut slots.shelves);
    slots.objects = object_use(view);
    let freed = std::mem::take(&mut slots.freed);
    slots.destructed.retain(|slot| !freed.contains(slot));
    slots.freed = [freed.as_slice(), slots.destructed.as_slice()].concat();
    slots.freed.sort();
    slots.freed.dedup();
    slots.freed_here.sort();
    slots.freed_here.dedup();
    slots.maybe_ended.sort();
    slots.maybe_ended.dedup();
    let freed = &slots.freed;
    for destroyed in &mut slots.destroyed {
        destroyed.frees_fields = freed.iter().any(|(ty, _)| *ty == destroyed.ty);
    }
}

/// What is freed by the address that stands before it.
fn without_header<'p>(view: &View<'_>, path: &'p AccessPath) -> Cow<'p, AccessPath> {
    match view.config.rules.applies(Rule::BlockHeaders, is_header_of_block(path)) {
        true => Cow::Owned(AccessPath { steps: path.steps[..path.steps.len() - 1].into(), ..path.clone() }),
        false => Cow::Borrowed(path),
    }
}

/// Whether a path ends before a block, and in no field.
pub(crate) fn is_header_of_block(path: &AccessPath) -> bool {
    path.steps.last().is_some_and(|step| matches!(step.offset, Offset::Known(..0)) && step.field.is_none())
}

/// The type of the structure that a value points to, as far as anything tells.
pub(crate) fn type_at(view: &mut View<'_>, call: InstId, path: &AccessPath) -> Option<TypeId> {
    match view.resolve(call, path)? {
        Resolved::Operand(operand) => {
            let base = view.values.of_operand(operand)?.base;
            view.values.structure(base).or_else(|| declared_structure(view, base)).or_else(|| pointee_of(view, base))
        }
        Resolved::Cell(cell) => pointee_in(view, cell),
    }
}

/// All structures that a value may be taken for: as its fields are used, and as variables, fields and parameters are declared.
fn types_at(view: &mut View<'_>, call: InstId, path: &AccessPath) -> Vec<TypeId> {
    match view.resolve(call, path) {
        Some(Resolved::Operand(operand)) => {
            let Some(base) = view.values.of_operand(operand).map(|cell| cell.base) else { return Vec::new() };
            structures_at(view, base)
        }
        Some(Resolved::Cell(cell)) => pointee_in(view, cell).into_iter().collect(),
        None => Vec::new(),
    }
}

/// All structures that a value may point to.
pub(crate) fn structures_at(view: &View<'_>, base: ValueId) -> Vec<TypeId> {
    let mut types = declared_structures(view, base);
    types.extend(view.values.structure(base));
    types.extend(pointee_of(view, base));
    types
}

/// The structure that a parameter, or the field that a value was read from, is declared to point to.
fn pointee_of(view: &View<'_>, base: ValueId) -> Option<TypeId> {
    match view.values.node(base) {
        ValueNode::Load(base, offset) => pointee_in(view, Cell { base, offset }),
        ValueNode::Param(index) => {
            let info = view.program.function(view.id);
            let pointee = info.declaration.params.get(index as usize)?.pointee;
            let ty = pointee.target.filter(|_| pointee.depth == 1)?;
            Some(view.program.resolve_struct(info.unit, ty))
        }
        _ => None,
    }
}

/// The structure that what is in a cell is declared to point to: a field, what a `T **` points to, or a variable.
fn pointee_in(view: &View<'_>, cell: Cell) -> Option<TypeId> {
    let info = view.program.function(view.id);
    let (pointee, depth) = match view.values.node(cell.base) {
        ValueNode::Param(index) => (info.declaration.params.get(index as usize)?.pointee, 2),
        ValueNode::Local(inst) => match view.body.insts[inst] {
            Inst::Local { var: Some(var), .. } => (view.body.vars[var].pointee, 1),
            _ => return pointee_of_field(view, cell),
        },
        _ => return pointee_of_field(view, cell),
    };
    match pointee.target {
        Some(ty) if pointee.depth == depth && cell.offset == Offset::Known(0) => {
            Some(view.program.resolve_struct(info.unit, ty))
        }
        _ => pointee_of_field(view, cell),
    }
}

fn pointee_of_field(view: &View<'_>, cell: Cell) -> Option<TypeId> {
    let (ty, offset) = view.values.field(cell)?;
    let field = view.program.type_info(ty).fields.iter().find(|field| field.offset == offset)?;
    field.target.filter(|_| field.pointee.depth == 1)
}

/// The slot a freed value was loaded from.
fn slot_of(view: &mut View<'_>, call: InstId, path: &AccessPath) -> Option<Slot> {
    if let Some(step) = path.steps.last()
        && step.field.is_some()
    {
        return step.field;
    }
    let cell = match view.resolve(call, path)? {
        Resolved::Cell(cell) => cell,
        Resolved::Operand(operand) => match view.values.node(view.values.of_operand(operand)?.base) {
            ValueNode::Load(_, Offset::Any) => return field_of_loaded(view, operand),
            ValueNode::Load(base, offset) => Cell { base, offset },
            _ => return None,
        },
    };
    view.values.own_field(cell)
}

fn destroyed(view: &mut View<'_>, call: InstId, path: &AccessPath) -> Option<Destroyed> {
    let (base, ty) = structure_at(view, call, path)?;
    if is_made_here(view, base) {
        return None;
    }
    let touched = touched_fields(view, ty);
    let seen_to = seen_to_by_others(view, call, base);
    // Fields of the elements of an array have no names of their own.
    let is_array = view.values.own_field(Cell { base, offset: Offset::Any }).is_some();
    let is_moved = view.config.rules.applies(Rule::MovedStructures, is_copied_whole(view, base));
    let is_given_away = is_array || is_moved || (seen_to != SeenTo::Nothing && is_given_away(view, call, base));
    let may_be_new =
        is_kept_here(view, base) || choices(view, base).into_iter().any(|choice| is_made_here(view, choice));
    let found_by = match view.values.root(base) {
        ValueNode::Opaque(inst) => Some(inst).filter(|inst| view.body.insts[*inst].call().is_some()),
        _ => None,
    };
    Some(Destroyed { call, ty, touched, frees_fields: false, seen_to, is_given_away, may_be_new, found_by })
}

/// The structure that a call frees for certain: what an argument points to, or the variable does whose address it is given.
fn ended_structure(view: &mut View<'_>, call: InstId, path: &AccessPath) -> Option<TypeId> {
    if let Some((_, ty)) = structure_at(view, call, path) {
        return Some(ty);
    }
    match view.resolve(call, path)? {
        Resolved::Cell(cell) if matches!(view.values.node(cell.base), ValueNode::Local(_)) => pointee_in(view, cell),
        _ => None,
    }
}

/// Whether a callee frees what a pointer points to whose address it is given, as in `void release(void *at) { free(*(void **)at); }`: its
/// callers free by it as others do by `free()`.
fn frees_pointed_to(view: &View<'_>, path: &AccessPath) -> bool {
    view.config.rules.applies(Rule::FreedByAddress, is_out_pointer(path))
}

/// The structure that an argument points to, or what the argument is the address of.
pub(crate) fn structure_at(view: &mut View<'_>, call: InstId, path: &AccessPath) -> Option<(ValueId, TypeId)> {
    let base = match view.resolve(call, path)? {
        Resolved::Operand(operand) => view.values.of_operand(operand)?.base,
        Resolved::Cell(cell) if is_out_pointer(path) && view.is_initial(cell, (view.homes[call], call)) => {
            view.values.loaded(cell)?
        }
        Resolved::Cell(_) => return None,
    };
    let ty = whole_structure(view, base)?;
    Some((base, ty))
}

/// The structure that a value points to: as its fields are used, or as the variable is declared that holds it. Both are right where the
/// one begins with the other: a node of a list, say, that begins with its links.
pub(crate) fn whole_structure(view: &View<'_>, base: ValueId) -> Option<TypeId> {
    let (used, declared) = (view.values.structure(base), declared_structure(view, base));
    let begins_with = |whole: TypeId, part: TypeId| {
        let fields = &view.program.type_info(whole).fields;
        fields.iter().any(|field| field.offset == 0 && field.embedded() == Some(part))
    };
    match (used, declared) {
        (Some(used), Some(declared)) if begins_with(declared, used) => Some(declared),
        (used, declared) => used.or(declared),
    }
}

/// The structure a variable that holds the value is declared to point to.
fn declared_structure(view: &View<'_>, base: ValueId) -> Option<TypeId> {
    declared_structures(view, base).first().copied()
}

/// The structures that all variables which hold the value are declared to point to.
fn declared_structures(view: &View<'_>, base: ValueId) -> Vec<TypeId> {
    let unit = view.program.function(view.id).unit;
    let values = choices(view, base);
    let declared = |inst: &Inst| match inst {
        Inst::Bind { var, value } if view.values.of_operand(*value).is_some_and(|c| values.contains(&c.base)) => {
            let pointee = view.body.vars[*var].pointee;
            pointee.target.filter(|_| pointee.depth == 1).map(|ty| view.program.resolve_struct(unit, ty))
        }
        _ => None,
    };
    view.body.insts.values().filter_map(declared).collect()
}

/// A value, and those it is chosen from: the variable of a loop is assigned before the loop and at the end of each iteration.
fn choices(view: &View<'_>, base: ValueId) -> Vec<ValueId> {
    let mut values = vec![base];
    let mut next = 0;
    while let Some(&value) = values.get(next) {
        next += 1;
        let ValueNode::Opaque(inst) = view.values.node(value) else { continue };
        let Inst::Phi { incoming, .. } = &view.body.insts[inst] else { continue };
        for (_, operand) in incoming {
            if let Some(cell) = view.values.of_operand(*operand)
                && !values.contains(&cell.base)
                && view.values.node(cell.base) != ValueNode::Nothing
            {
                values.push(cell.base);
            }
        }
    }
    values
}

/// A structure that the function has just made may not have been filled yet.
fn is_made_here(view: &View<'_>, base: ValueId) -> bool {
    match view.values.root(base) {
        ValueNode::Opaque(inst) => view.calls[inst].as_ref().is_some_and(|e| e.summary.allocates()),
        ValueNode::Local(_) | ValueNode::Nothing => true,
        _ => false,
    }
}

/// A structure that is read from where the function itself stores one may be the same.
fn is_kept_here(view: &View<'_>, base: ValueId) -> bool {
    let ValueNode::Load(holder, offset) = view.values.node(base) else { return false };
    let place = Cell { base: holder, offset };
    let is_null = |value: Operand| view.body.constant(value).is_some();
    view.body.insts.values().any(|inst| match inst {
        Inst::Store { value, address, .. } => !is_null(*value) && view.values.of_operand(*address) == Some(place),
        _ => false,
    })
}

/// Whether a structure is copied as a whole: `*to = *from; free(from);` moves all that it holds.
fn is_copied_whole(view: &View<'_>, base: ValueId) -> bool {
    view.body.insts.values().any(|inst| match inst {
        Inst::Copy { src, .. } => {
            view.values.of_operand(*src).is_some_and(|cell| cell.base == base && cell.offset == Offset::ZERO)
        }
        _ => false,
    })
}

/// What other calls that are given the structure, or a part of it, may free.
fn seen_to_by_others(view: &View<'_>, call: InstId, base: ValueId) -> SeenTo {
    let mut fields: Vec<i64> = Vec::new();
    for (inst, kind) in view.body.insts.iter().filter(|(inst, _)| *inst != call) {
        let (Some(data), Some(effect)) = (kind.call(), &view.calls[inst]) else { continue };
        for (index, argument) in data.args.iter().enumerate() {
            let Some(at) = view.values.of_operand(*argument).filter(|cell| cell.base == base) else { continue };
            if effect.unknown || effect.summary.cut {
                return SeenTo::Anything;
            }
            match freed_behind(&effect.summary, index as u32, at.offset) {
                Some(found) => fields.extend(found),
                None => return SeenTo::Anything,
            }
        }
    }
    fields.sort_unstable();
    fields.dedup();
    if fields.is_empty() { SeenTo::Nothing } else { SeenTo::Fields(fields) }
}

/// The fields through which a callee frees, or gives to unknown code, what a part of a structure holds that it is given. None: it may do so
/// with the whole structure.
fn freed_behind(summary: &Summary, index: u32, start: Offset) -> Option<Vec<i64>> {
    let mut fields = Vec::new();
    for action in &summary.actions {
        let (Subject::Value(path), Destination::Free { .. } | Destination::Unknown) = (&action.subject, &action.to)
        else {
            continue;
        };
        if path.root == PathRoot::Param(index) {
            match (start, path.steps.first().map(|step| step.offset)) {
                (Offset::Known(start), Some(Offset::Known(field))) => fields.push(start + field),
                _ => return None,
            }
        }
    }
    Some(fields)
}

/// Whether another call that is given the structure itself may do anything to it, or keeps it. What a callee does to single fields is
/// known by their slots.
fn is_given_away(view: &View<'_>, call: InstId, base: ValueId) -> bool {
    let is_structure = |operand: &Operand| {
        view.values.of_operand(*operand).is_some_and(|c| c.base == base && c.offset == Offset::ZERO)
    };
    view.body.insts.iter().filter(|(inst, _)| *inst != call).any(|(inst, kind)| {
        let (Some(data), Some(effect)) = (kind.call(), &view.calls[inst]) else { return false };
        let takes = |index: usize| {
            let root = PathRoot::Param(index as u32);
            effect.summary.actions.iter().any(|action| {
                let is_given =
                    matches!(&action.subject, Subject::Value(path) if path.root == root && path.steps.is_empty());
                let is_taken = match &action.to {
                    Destination::Unknown => may_end(view, inst, action).is_some(),
                    Destination::Free { deep } => *deep != Depth::Shallow,
                    _ => false,
                };
                is_given && is_taken
            })
        };
        let mut given = data.args.iter().enumerate().filter(|(_, argument)| is_structure(argument));
        given.any(|(index, _)| effect.unknown || takes(index))
    })
}
