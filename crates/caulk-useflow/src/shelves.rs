//! Containers of pointers that are fields of a class ("shelves"): what goes in, and whether anything takes it out.
//!
//! A container frees none of the pointers in it. Where a class puts fresh blocks into one, and no function that comes by its elements
//! frees one of them or passes one on, they are lost with the container.

use caulk_ir::{Inst, InstId, Operand, Type};
use caulk_memory::{Cell, Offset, PathRoot, ValueId, ValueNode};
use caulk_models::{Member, container_member, mapped_type, member_name};
use caulk_program::{FuncId, Program, TypeId};
use caulk_rules::Rule;
use caulk_summary::{Destination, Subject};
use rustc_hash::FxHashSet;
use serde::{Deserialize, Serialize};

use crate::classes::class_of;
use crate::function::View;
use crate::handed_elements::{added_parameter, handed_over};
use crate::own_shelves::{
    ArrayUse, OwnUse, array_field, array_use, container_around, embedded_class, fills_other_container, is_array_field,
    own_member,
};
use crate::slots::{Slot, type_at};

/// What a function does with containers that are fields. All sorted.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ShelfUse {
    /// Containers that receive a fresh block which nothing else holds, with the line of the allocation.
    pub filled: Vec<(Slot, u32)>,
    /// Containers that receive something else.
    pub foreign: Vec<Slot>,
    /// Containers that receive a parameter of the function, with its index.
    pub adopted: Vec<(Slot, u32)>,
    /// Functions that put a parameter into a container, which are given a fresh block here that nothing else has, with the line.
    pub handed: Vec<((FuncId, u32), u32)>,
    /// Those that are given something else.
    pub lent: Vec<(FuncId, u32)>,
    /// Containers whose elements may be freed, taken out or passed on here.
    pub taken: Vec<Slot>,
    /// Containers that others are given as a whole.
    pub shown: Vec<Slot>,
    /// Containers of which the function may return an element.
    pub returned: Vec<Slot>,
    /// Functions whose results are freed here, kept, or given to unknown code.
    pub ended: Vec<FuncId>,
    /// Containers whose elements are freed here.
    pub released: Vec<Slot>,
    /// Containers whose elements the function comes by.
    pub looked: Vec<Slot>,
    /// Structures that are freed here after they were found in memory.
    pub freed_types: Vec<TypeId>,
    /// Calls that empty a container whose elements the function does not look at.
    pub dropped: Vec<(Slot, InstId)>,
    /// Calls that take elements out of a container which the function found there and does nothing with.
    pub removed: Vec<(Slot, InstId)>,
    /// Containers that the function takes elements out of.
    pub emptied: Vec<Slot>,
}

/// The container that alone holds an object somewhere in a structure, if the function comes by one container of it only.
pub(crate) fn shelf_of(view: &View<'_>, cells: &[Cell]) -> Option<Slot> {
    if !view.config.rules.is_on(Rule::OwnShelves) || cells.iter().any(|cell| cell.offset != Offset::Any) {
        return std_shelf(view, cells);
    }
    let own = |cell: &Cell| container_around(view, cell.base).or_else(|| array_field(view, cell.base));
    std_shelf(view, cells).or_else(|| only(cells.iter().filter_map(own).collect()))
}

fn std_shelf(view: &View<'_>, cells: &[Cell]) -> Option<Slot> {
    let [Cell { base, offset: Offset::Any }] = *cells else { return None };
    let filled = std_calls(view).filter(|call| call.base == base && call.puts_in());
    only(filled.map(|call| call.slot).collect())
}

fn only(slots: Vec<Slot>) -> Option<Slot> {
    match sorted(slots).as_slice() {
        [only] => Some(*only),
        _ => None,
    }
}

/// Fills in all but what is filled.
pub(crate) fn note_shelves(view: &mut View<'_>, shelves: &mut ShelfUse) {
    shelves.filled.sort_unstable();
    shelves.filled.dedup();
    let calls: Vec<ShelfCall> = calls(view);
    let arrays = if view.config.rules.is_on(Rule::OwnShelves) { array_use(view) } else { ArrayUse::default() };
    let is_filled = |slot: &Slot| shelves.filled.iter().any(|(filled, _)| filled == slot);
    let mut foreign = Vec::new();
    for call in calls.iter().filter(|c| c.member.adds()) {
        match added_parameter(view, call.inst).filter(|_| view.config.rules.is_on(Rule::OwnShelves)) {
            Some(index) => shelves.adopted.push((call.slot, index)),
            None if !is_filled(&call.slot) => foreign.push(call.slot),
            None => {}
        }
    }
    (shelves.handed, shelves.lent) = handed_over(view);
    shelves.foreign = sorted(foreign.into_iter().chain(arrays.foreign).collect());
    let looked = calls.iter().filter(|call| call.looks_in()).map(|call| call.slot);
    let arrays_looked: FxHashSet<Slot> = arrays.looked.iter().copied().collect();
    let looks: FxHashSet<Slot> = looked.chain(arrays.looked).collect();
    let takes_out = |slot: &Slot| calls.iter().any(|c| c.slot == *slot && c.takes_out);
    let mut ended_results = Vec::new();
    let ended = ended(view, &mut ended_results);
    let moves = fills_another(view) || fills_other_container(view);
    let program = view.program;
    let ends = |slot: Slot| ended.iter().any(|(ty, _)| ty.is_none_or(|ty| may_hold(program, slot, ty)));
    // What has no type is an element of the only container there is.
    let frees = |slot: &Slot| {
        ended.iter().any(|(ty, freed)| *freed && ty.map_or(looks.len() == 1, |ty| may_hold(program, *slot, ty)))
    };
    let taken = looks.iter().copied().filter(|slot| moves || takes_out(slot) || ends(*slot));
    shelves.taken = sorted(taken.collect());
    shelves.released = sorted(looks.iter().copied().filter(frees).collect());
    shelves.looked = sorted(looks.iter().copied().collect());
    let returns_pointer = view.program.function(view.id).declaration.signature.ret == Type::Ptr;
    let stays = |call: &&ShelfCall| !moves && !ends(call.slot);
    let is_looked_at = |call: &ShelfCall| {
        let is_same = |other: &ShelfCall| other.slot == call.slot && other.base == call.base && other.looks_in();
        calls.iter().any(is_same) || arrays_looked.contains(&call.slot)
    };
    let is_dropped = |call: &&ShelfCall| (call.empties || call.by_key) && !is_looked_at(call) && stays(call);
    shelves.dropped = sorted(calls.iter().filter(is_dropped).map(|call| (call.slot, call.inst)).collect());
    let is_given = |slot: Slot| returns_pointer || takes_element(view, slot) || stores_found(view);
    let is_removed = |call: &&ShelfCall| {
        let goes = call.takes_out || call.empties && is_looked_at(call);
        goes && stays(call) && !is_given(call.slot) && !calls.iter().any(ShelfCall::puts_in)
    };
    let removed = calls.iter().filter(is_removed).map(|call| (call.slot, call.inst));
    shelves.removed = sorted(removed.filter(|call| !shelves.dropped.contains(call)).collect());
    shelves.emptied = sorted(calls.iter().filter(|c| c.takes_out || c.empties).map(|c| c.slot).collect());
    shelves.returned = sorted(looks.into_iter().filter(|_| returns_pointer).collect());
    shelves.shown = sorted(escaping(view).into_iter().chain(arrays.shown).collect());
    shelves.freed_types = sorted(ended.iter().filter(|(_, freed)| *freed).filter_map(|(ty, _)| *ty).collect());
    shelves.ended = sorted(ended_results);
}

/// Whether the elements of a container are pointers to a structure, by the name of its type.
pub(crate) fn may_hold(program: &Program, slot: Slot, ty: TypeId) -> bool {
    let field = program.type_info(slot.0).fields.iter().find(|field| field.offset == slot.1);
    if is_array_field(program, slot) {
        return field.and_then(|field| field.target).is_none_or(|target| target == ty);
    }
    let Some(container) = field.and_then(|field| field.embedded()) else { return true };
    holds_pointers_to(program.type_name(container), program.type_name(ty))
}

/// Whether a container, by the names of the types, is one of pointers to a structure.
pub(crate) fn holds_pointers_to(container: &str, element: &str) -> bool {
    // The keys of a map are not what it holds.
    let container = mapped_type(container).unwrap_or(container);
    container.contains(&format!("{element} *")) || container.contains(&format!("{element}*"))
}

fn sorted<T: Ord>(mut list: Vec<T>) -> Vec<T> {
    list.sort_unstable();
    list.dedup();
    list
}

/// A call of a member of a container that is a field.
struct ShelfCall {
    base: ValueId,
    slot: Slot,
    member: Member,
    /// It removes elements.
    takes_out: bool,
    /// What it gives is an address to store to.
    is_index: bool,
    /// It removes elements without giving them.
    empties: bool,
    /// It removes the element of a key, which it does not give.
    by_key: bool,
    inst: InstId,
}

impl ShelfCall {
    fn puts_in(&self) -> bool {
        self.member.adds() || self.is_index
    }

    /// Whether elements can be reached by what the call gives.
    fn looks_in(&self) -> bool {
        matches!(self.member, Member::Gives | Member::Other | Member::Copies) && !self.empties
    }
}

/// Whether a member of this name removes elements without giving them.
fn is_emptying(member: &str) -> bool {
    matches!(member, "clear" | "pop" | "pop_back" | "pop_front")
}

/// Whether a function calls a member that empties a container of pointers, be it only that.
pub(crate) fn empties_container(program: &Program, function: FuncId) -> bool {
    program.call_sites(function).iter().any(|site| match program.targets(site) {
        [target] => {
            let name = program.function(*target).name;
            is_emptying(member_name(name)) && container_member(name).is_some()
        }
        _ => false,
    })
}

fn calls(view: &View<'_>) -> Vec<ShelfCall> {
    let own = view.program.call_sites(view.id).iter().filter_map(|site| {
        let (cell, slot, used) = own_member(view, site)?;
        let member = match used {
            OwnUse::Adds => Member::Adds,
            OwnUse::Looks => Member::Other,
            OwnUse::Leaves => Member::Leaves,
        };
        let (takes_out, is_index, empties, by_key) = (false, false, false, false);
        Some(ShelfCall { base: cell.base, slot, member, takes_out, is_index, empties, by_key, inst: site.inst })
    });
    std_calls(view).chain(own.filter(|_| view.config.rules.is_on(Rule::OwnShelves))).collect()
}

fn std_calls<'v>(view: &'v View<'_>) -> impl Iterator<Item = ShelfCall> + 'v {
    view.program.call_sites(view.id).iter().filter_map(|site| {
        let [target] = view.program.targets(site) else { return None };
        let name = view.program.function(*target).name;
        let member = container_member(name)?;
        let object = view.argument(site.inst, 0)?;
        let cell = view.values.of_operand(object)?;
        let slot = view.values.own_field(cell).or_else(|| got(view, object))?;
        let last = member_name(name);
        let takes_out = last.starts_with("pop") || last == "erase";
        let (is_index, empties) = (last == "operator[]", is_emptying(last));
        let by_key = last == "erase" && is_given_key(view.program, *target, name);
        Some(ShelfCall { base: cell.base, slot, member, takes_out, is_index, empties, by_key, inst: site.inst })
    })
}

/// Whether a member of a map that takes an element out is given its key: a reference to a constant, which no iterator is.
fn is_given_key(program: &Program, member: FuncId, name: &str) -> bool {
    let class = name.rsplit_once("::").map(|(class, _)| class).unwrap_or_default();
    let key = program.function(member).declaration.params.get(1);
    let is_reference = key.is_some_and(|param| param.pointee.is_const && param.pointee.depth == 1);
    mapped_type(class).is_some() && is_reference
}

/// The field whose address a getter of the class has given: `group.members().size()`.
fn got(view: &View<'_>, object: Operand) -> Option<Slot> {
    let call = object.value().filter(|value| view.body.insts[*value].call().is_some())?;
    let site = view.program.call_site(view.id, call)?;
    let [getter] = view.program.targets(site) else { return None };
    let (0, Offset::Known(offset)) = view.calls[call].as_ref()?.summary.result_inside? else { return None };
    let slot = (class_of(view.program, *getter)?, u64::try_from(offset).ok()?);
    embedded_class(view.program, slot).map(|_| slot)
}

/// Whether all that a function does with a container is to give its address, to callers that are all known.
fn is_getter(view: &View<'_>) -> bool {
    let info = view.program.function(view.id);
    !info.address_taken && view.body.insts.values().all(|inst| inst.call().is_none())
}

/// Whether the function may have been given elements of a container, or a place in it: its callers see to them.
fn takes_element(view: &View<'_>, slot: Slot) -> bool {
    let info = view.program.function(view.id);
    let is_method = class_of(view.program, view.id) == Some(slot.0);
    info.declaration.params.iter().skip(usize::from(is_method)).any(|param| {
        let Some(ty) = param.pointee.target.map(|ty| view.program.resolve_struct(info.unit, ty)) else {
            return param.pointee.depth > 0 && !param.pointee.is_const;
        };
        may_hold(view.program, slot, ty) || view.program.type_name(ty).contains("iterator")
    })
}

/// Whether the function stores a pointer that it has read from memory somewhere else.
fn stores_found(view: &View<'_>) -> bool {
    view.body.insts.values().any(|inst| match inst {
        Inst::Store { value, address, .. } => {
            let holder = view.values.of_operand(*address).map(|cell| view.values.node(cell.base));
            let is_local = matches!(holder, Some(ValueNode::Local(_)));
            !is_local && view.body.operand_type(*value) == Type::Ptr && is_found(view, *value)
        }
        _ => false,
    })
}

/// What calls free, keep or may do anything to, of what the function found in memory: its type, where that is known, whether it is freed, and
/// the functions that gave it.
fn ended(view: &mut View<'_>, results_of: &mut Vec<FuncId>) -> Vec<(Option<TypeId>, bool)> {
    let calls: Vec<InstId> = view.calls.iter().filter(|(_, c)| c.is_some()).map(|(inst, _)| inst).collect();
    let mut found = Vec::new();
    for call in calls {
        let Some(effect) = view.calls[call].clone() else { continue };
        if is_container_call(view, call) {
            continue;
        }
        for action in &effect.summary.actions {
            let Subject::Value(path) = &action.subject else { continue };
            let lasts = matches!(action.to, Destination::Free { .. } | Destination::Keep | Destination::Unknown);
            let PathRoot::Param(index) = path.root else { continue };
            let Some(argument) = view.argument(call, index).filter(|argument| lasts && is_found(view, *argument))
            else {
                continue;
            };
            results_of.extend(givers(view, argument));
            let is_freed = matches!(action.to, Destination::Free { .. });
            found.push((type_at(view, call, path).filter(|_| path.steps.is_empty()), is_freed));
        }
        let arguments = view.body.insts[call].call().map(|data| data.args.as_slice()).unwrap_or_default();
        for argument in arguments.iter().filter(|argument| effect.unknown && is_found(view, **argument)) {
            results_of.extend(givers(view, *argument));
            found.push((None, false));
        }
    }
    found
}

fn is_container_call(view: &View<'_>, call: InstId) -> bool {
    let targets = view.program.call_site(view.id, call).map(|site| view.program.targets(site)).unwrap_or_default();
    matches!(targets, [target] if container_member(view.program.function(*target).name).is_some())
}

fn is_own_member_call(view: &View<'_>, call: InstId) -> bool {
    view.program.call_site(view.id, call).is_some_and(|site| own_member(view, site).is_some())
}

/// The functions whose result a value is.
fn givers<'v>(view: &'v View<'_>, value: Operand) -> &'v [FuncId] {
    let cell = view.values.of_operand(value);
    match cell.map(|cell| view.values.node(cell.base)) {
        Some(ValueNode::Opaque(inst)) => {
            view.program.call_site(view.id, inst).map(|site| view.program.targets(site)).unwrap_or_default()
        }
        _ => &[],
    }
}

/// Whether a value was read from memory or given by a call that did not make it.
fn is_found(view: &View<'_>, value: Operand) -> bool {
    let Some(cell) = view.values.of_operand(value) else { return false };
    match view.values.node(cell.base) {
        ValueNode::Load(..) => true,
        ValueNode::Opaque(inst) => !view.calls[inst].as_ref().is_some_and(|e| e.summary.returns_fresh()),
        ValueNode::Param(_) | ValueNode::Global(_) | ValueNode::Local(_) | ValueNode::Nothing => false,
    }
}

/// Whether the function puts elements into more than one container, or into one it was given: they may have moved.
fn fills_another(view: &View<'_>) -> bool {
    let adds = view.program.call_sites(view.id).iter().filter(|site| {
        let targets = view.program.targets(site);
        matches!(targets, [target] if container_member(view.program.function(*target).name).is_some_and(Member::adds))
    });
    adds.count() > std_calls(view).filter(|call| call.member.adds()).count()
}

/// Containers whose address leaves the function other than as the object of their own members.
fn escaping(view: &View<'_>) -> Vec<Slot> {
    let container = |operand: Operand| {
        // The address of an object is also that of its first field.
        let names_field = matches!(view.body.insts[operand.value()?], Inst::Address { .. });
        let field = view.values.own_field(view.values.of_operand(operand)?).filter(|_| names_field);
        let slot = field.or_else(|| got(view, operand))?;
        embedded_class(view.program, slot).map(|_| slot)
    };
    let mut found = Vec::new();
    let is_getter = is_getter(view);
    for (id, inst) in view.body.insts.iter() {
        match inst {
            Inst::Return { value: Some(_) } if is_getter => {}
            Inst::Return { value: Some(value) } => found.extend(container(*value)),
            Inst::Store { value, .. } => found.extend(container(*value)),
            _ => {
                let Some(data) = inst.call() else { continue };
                let own = usize::from(is_container_call(view, id) || is_own_member_call(view, id));
                found.extend(data.args.iter().skip(own).filter_map(|argument| container(*argument)));
            }
        }
    }
    found
}
