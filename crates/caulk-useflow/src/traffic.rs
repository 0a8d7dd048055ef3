//! How the contents of fields come and go: what tells whether a structure alone owns what its field holds.

use caulk_ir::{CallData, Inst, InstId, Operand, Param, Type};
use caulk_memory::{AccessPath, Cell, Offset, PathRoot, ValueId, ValueNode};
use caulk_program::{CallKind, FuncId, Program};
use caulk_rules::Rule;
use caulk_summary::{Destination, Guard, Subject};
use serde::{Deserialize, Serialize};

use crate::adopted::{Adoptions, adopted_parameter, note_given};
use crate::call_effect::CallEffect;
use crate::function::View;
use crate::indexed::{field_of_address, field_of_loaded};
use crate::slots::Slot;

/// What a function does with the contents of fields, besides allocating and freeing them. All sorted.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Traffic {
    /// Fields that receive something that is neither a fresh block, null, nor a constructor's parameter: it may be another's.
    pub foreign: Vec<Slot>,
    /// Fields whose contents are stored somewhere, or given to code that frees or keeps them, or may.
    pub lent: Vec<Slot>,
    /// Fields whose contents are returned.
    pub returned: Vec<Slot>,
    /// Fields that are set to null.
    pub nulled: Vec<Slot>,
    /// Fields that are set to point into the structure itself: to a buffer there, say, that is no block.
    pub inside: Vec<Slot>,
    /// Of those whose contents are lent, the ones that code may have which nothing tells of.
    pub taken: Vec<Slot>,
    /// Of these, the ones that are stored elsewhere or moved out by the function itself.
    pub moved: Vec<Slot>,
    /// Fields whose contents are stored in another field as well: both.
    pub shared: Vec<(Slot, Slot)>,
    /// Fields that constructors take over.
    pub adoptions: Adoptions,
    /// Fields that are set to a parameter, with its index.
    pub borrowed: Vec<(Slot, u32)>,
    /// Functions whose results are stored somewhere.
    pub stored_results: Vec<FuncId>,
    /// Functions whose results are returned.
    pub passed_results: Vec<FuncId>,
}

pub(crate) fn traffic(view: &View<'_>) -> Traffic {
    let mut traffic = Traffic::default();
    for (id, inst) in view.body.insts.iter() {
        match inst {
            Inst::Store { value, address, ty: Type::Ptr, .. } => {
                // A head of a list that points to itself is held by nothing else.
                let is_inside = is_into_itself(view, *value, *address);
                let stored = match is_inside {
                    true => Vec::new(),
                    false => fields_behind(view, *value),
                };
                traffic.lent.extend(&stored);
                traffic.stored_results.extend(givers(view, *value));
                match place_of(view, *address) {
                    StoredTo::Local => {}
                    StoredTo::Field(to) => traffic.shared.extend(stored.into_iter().map(|from| (from, to))),
                    StoredTo::Callers => traffic.returned.extend(stored),
                    StoredTo::Other => traffic.moved.extend(stored),
                }
                // A local structure that is searched with owns nothing, and says nothing of those that do.
                let is_local = |c: &Cell| matches!(view.values.node(c.base), ValueNode::Local(_));
                let cell = view.values.of_operand(*address).filter(|c| !is_local(c));
                let field = cell.and_then(|c| match c.offset {
                    Offset::Any => field_of_address(view, *address),
                    Offset::Known(_) => view.values.own_field(c),
                });
                traffic.inside.extend(field.filter(|_| is_inside));
                traffic.borrowed.extend(field.zip(parameter(view, *value)));
                if let Some(index) = adopted_parameter(view, *value, *address) {
                    traffic.adoptions.adopted.extend(field.map(|field| (field, index)));
                } else if !is_fresh_or_null(view, *value) {
                    traffic.foreign.extend(field);
                } else if view.body.constant(*value).is_some() {
                    traffic.nulled.extend(field);
                }
            }
            Inst::Copy { dst, .. } => traffic.foreign.extend(fields_of_copy(view, *dst)),
            Inst::Return { value: Some(value) } => {
                traffic.returned.extend(fields_behind(view, *value));
                traffic.passed_results.extend(givers(view, *value));
            }
            _ => {
                let given = given_away(view, id, inst);
                traffic.lent.extend(&given);
                traffic.taken.extend(given);
            }
        }
    }
    // What is returned by a function that empties the field is the caller's from there on.
    let moved: Vec<Slot> = traffic.returned.iter().filter(|slot| traffic.nulled.contains(slot)).copied().collect();
    traffic.lent.extend(&moved);
    traffic.moved.extend(moved);
    traffic.taken.extend(&traffic.moved);
    note_given(view, &mut traffic.adoptions);
    let Traffic { foreign, lent, returned, nulled, inside, taken, moved, shared, .. } = &mut traffic;
    for list in [foreign, lent, returned, nulled, inside, taken, moved] {
        list.sort_unstable();
        list.dedup();
    }
    shared.sort_unstable();
    shared.dedup();
    traffic.borrowed.sort_unstable();
    traffic.borrowed.dedup();
    for list in [&mut traffic.stored_results, &mut traffic.passed_results] {
        list.sort_unstable();
        list.dedup();
    }
    traffic
}

/// The functions whose results a value may be.
fn givers(view: &View<'_>, value: Operand) -> Vec<FuncId> {
    let targets = |base: ValueId| match view.values.node(base) {
        ValueNode::Opaque(inst) => {
            view.program.call_site(view.id, inst).map(|site| view.program.targets(site)).unwrap_or_default()
        }
        _ => &[],
    };
    bases(view, value).into_iter().flat_map(targets).copied().collect()
}

/// The parameter that a value is.
fn parameter(view: &View<'_>, value: Operand) -> Option<u32> {
    let cell = view.values.of_operand(value).filter(|cell| cell.offset == Offset::ZERO)?;
    match view.values.node(cell.base) {
        ValueNode::Param(index) => Some(index),
        _ => None,
    }
}

/// Whether a pointer is stored into what it points to.
fn is_into_itself(view: &View<'_>, value: Operand, address: Operand) -> bool {
    match (view.values.of_operand(value), view.values.of_operand(address)) {
        (Some(value), Some(address)) => value.base == address.base,
        _ => false,
    }
}

/// Where the contents of a field are stored as well.
enum StoredTo {
    Field(Slot),
    /// What a parameter points to: `*name = item->name`.
    Callers,
    /// A part of a variable of the function, which lasts no longer than the function.
    Local,
    Other,
}

fn place_of(view: &View<'_>, address: Operand) -> StoredTo {
    let Some(cell) = view.values.of_operand(address) else { return StoredTo::Other };
    match (view.values.own_field(cell), view.values.node(cell.base)) {
        (Some(_), ValueNode::Local(_)) => StoredTo::Local,
        (Some(slot), _) => StoredTo::Field(slot),
        (None, ValueNode::Param(_)) if cell.offset == Offset::ZERO => StoredTo::Callers,
        _ => StoredTo::Other,
    }
}

/// The fields that a value may have been read from.
fn fields_behind(view: &View<'_>, value: Operand) -> Vec<Slot> {
    let field = |base: ValueId| match view.values.node(base) {
        ValueNode::Load(_, Offset::Any) => field_of_loaded(view, value),
        ValueNode::Load(base, offset) => view.values.own_field(Cell { base, offset }),
        _ => None,
    };
    bases(view, value).into_iter().filter_map(field).collect()
}

/// What a value points to; for a choice, what it is chosen from.
fn bases(view: &View<'_>, value: Operand) -> Vec<ValueId> {
    let Some(cell) = view.values.of_operand(value) else { return Vec::new() };
    let choices = view.values.choices(view.body, cell.base);
    if choices.is_empty() { vec![cell.base] } else { choices.into_iter().map(|c| c.base).collect() }
}

fn is_fresh_or_null(view: &View<'_>, value: Operand) -> bool {
    let is_made = |inst: InstId| view.calls[inst].as_ref().is_some_and(|e| e.summary.returns_fresh());
    let is_own = |base: ValueId| match view.values.node(base) {
        ValueNode::Nothing => true,
        ValueNode::Opaque(inst) => is_made(inst),
        ValueNode::Load(local, offset) => is_fresh_in_local(view, Cell { base: local, offset }, &is_made),
        _ => false,
    };
    view.body.constant(value).is_some() || bases(view, value).into_iter().all(is_own)
}

/// Whether a local variable holds nothing but what callees have put there by its address, or what was made for it:
/// `asprintf(&text, ...)`.
fn is_fresh_in_local(view: &View<'_>, cell: Cell, is_made: &dyn Fn(InstId) -> bool) -> bool {
    if !matches!(view.values.node(cell.base), ValueNode::Local(_)) {
        return false;
    }
    let is_fresh = |value: Operand| {
        let is_own = |base: ValueId| match view.values.node(base) {
            ValueNode::Nothing => true,
            ValueNode::Opaque(inst) => is_made(inst),
            _ => false,
        };
        view.body.constant(value).is_some() || bases(view, value).into_iter().all(is_own)
    };
    let are_stores_fresh = view.body.insts.values().all(|inst| match inst {
        Inst::Store { value, address, .. } => view.values.of_operand(*address) != Some(cell) || is_fresh(*value),
        _ => true,
    });
    let is_filled = || view.body.insts.keys().any(|call| filled_out_pointers(view, call).contains(&cell));
    are_stores_fresh && is_filled()
}

/// The places behind out-pointers that a callee surely fills with a block, or says so by its result.
pub(crate) fn filled_out_pointers(view: &View<'_>, call: InstId) -> Vec<Cell> {
    let (Some(data), Some(effect)) = (view.body.insts[call].call(), view.calls[call].as_ref()) else {
        return Vec::new();
    };
    let filled =
        effect.summary.actions.iter().filter_map(|action| match (&action.subject, &action.to, &action.guard) {
            (Subject::Alloc(_), Destination::Store(to), Guard::Always | Guard::ByResult(..)) => {
                match (to.root, to.steps.as_slice()) {
                    (PathRoot::Param(index), [only]) if only.field.is_none() && only.offset == Offset::ZERO => {
                        Some(index)
                    }
                    _ => None,
                }
            }
            _ => None,
        });
    filled.filter_map(|index| view.values.of_operand(*data.args.get(index as usize)?)).collect()
}

/// The pointers in a structure that is copied into as a whole.
fn fields_of_copy(view: &View<'_>, dst: Operand) -> Vec<Slot> {
    let Some(cell) = view.values.of_operand(dst).filter(|cell| cell.offset == Offset::ZERO) else { return Vec::new() };
    let Some(ty) = view.values.structure(cell.base) else { return Vec::new() };
    let fields = view.program.type_info(ty).fields.iter().filter(|field| field.pointee.depth > 0);
    fields.map(|field| (ty, field.offset)).collect()
}

/// Fields whose contents, or whose address, a call is given that does, or may do, something to them that lasts.
fn given_away(view: &View<'_>, id: InstId, inst: &Inst) -> Vec<Slot> {
    let (Some(call), Some(effect)) = (inst.call(), view.calls[id].as_ref()) else { return Vec::new() };
    // An object is given to its own methods without a thought of who owns it.
    let is_method = view.program.call_site(view.id, id).is_some_and(|site| {
        let targets = view.program.targets(site);
        let are_methods = || targets.iter().all(|target| is_method(view.program, *target));
        site.kind == CallKind::Virtual || (!targets.is_empty() && are_methods())
    });
    // `depth`: what is taken is the argument, or what a reference that is the argument refers to.
    let takes = |index: usize, depth: usize| {
        let root = PathRoot::Param(index as u32);
        effect.summary.actions.iter().any(|action| {
            let is_whole = |path: &AccessPath| path.steps.iter().all(|step| step.offset == Offset::ZERO);
            let is_argument = matches!(&action.subject, Subject::Value(path)
                if path.root == root && path.steps.len() == depth && is_whole(path));
            is_argument
                && match &action.to {
                    // What is freed is noted with the other slots that are.
                    Destination::Free { .. } | Destination::Renew => false,
                    Destination::Store(to) => to.root != PathRoot::Return,
                    Destination::Unknown => !is_only_cut(view, id, effect, index),
                    Destination::Keep => true,
                }
        })
    };
    let is_lent = |index: usize| (takes(index, 0) || effect.unknown) && !(is_method && index == 0);
    let mut fields = Vec::new();
    for (_, argument) in call.args.iter().enumerate().filter(|(index, _)| is_lent(*index)) {
        fields.extend(fields_behind(view, *argument));
        fields.extend(field_at(view, *argument));
    }
    // `list.push_back(item->name)` is given the address of the field.
    let referred = call.args.iter().enumerate().filter(|(index, _)| takes(*index, 1));
    fields.extend(referred.filter_map(|(_, argument)| field_at(view, *argument)));
    fields.extend(freed_by_choice(view, call, effect));
    fields
}

/// Whether nothing but a bound says that a callee may take an argument, which it has by its type or may not change.
fn is_only_cut(view: &View<'_>, call: InstId, effect: &CallEffect<'_>, index: usize) -> bool {
    let targets = view.program.call_site(view.id, call).map(|site| view.program.targets(site)).unwrap_or_default();
    let is_known = |f: &FuncId| {
        let param = view.program.function(*f).declaration.params.get(index);
        let is_typed = |param: &Param| param.pointee.is_const || (effect.summary.cut && param.pointee.target.is_some());
        view.program.has_body(*f) && param.is_some_and(is_typed)
    };
    let is_cut = !effect.unknown && !targets.is_empty() && targets.iter().all(is_known);
    view.config.rules.applies(Rule::CutCallees, is_cut)
}

/// The field whose address a value is. A pointer to the structure is none, though its first field has the same address.
fn field_at(view: &View<'_>, value: Operand) -> Option<Slot> {
    let is_address = value.value().is_some_and(|v| matches!(view.body.insts[v], Inst::Address { .. }));
    let cell = view.values.of_operand(value).filter(|_| is_address)?;
    view.values.own_field(cell)
}

/// Fields that what a call frees may have been read from, among others.
fn freed_by_choice(view: &View<'_>, call: &CallData, effect: &CallEffect<'_>) -> Vec<Slot> {
    let freed = effect.summary.actions.iter().filter_map(|action| match (&action.subject, &action.to) {
        (Subject::Value(path), Destination::Free { .. }) if path.steps.is_empty() => match path.root {
            PathRoot::Param(index) => call.args.get(index as usize),
            _ => None,
        },
        _ => None,
    });
    let is_choice = |argument: &&Operand| bases(view, **argument).len() > 1;
    freed.filter(is_choice).flat_map(|argument| fields_behind(view, *argument)).collect()
}

/// Whether a function is called on an object. Where parameters have no names, only references and `this` are never null.
fn is_method(program: &Program, function: FuncId) -> bool {
    let info = program.function(function);
    let first = info.declaration.params.first().filter(|_| info.symbol.starts_with("_ZN"));
    first.is_some_and(|param| match param.name {
        Some(name) => program.unit(info.unit).str(name) == "this",
        None => param.flags.nonnull && !param.flags.struct_return,
    })
}
