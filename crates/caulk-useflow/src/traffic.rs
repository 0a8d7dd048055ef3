//! How the contents of fields come and go: what tells whether a structure alone owns what its field holds.

use caulk_ir::{Constant, Inst, InstId, Operand, Type};
use caulk_memory::{Cell, Offset, PathRoot, ValueId, ValueNode};
use caulk_program::{CallKind, FuncId, Program};
use caulk_summary::{Destination, Subject};

use crate::function::View;
use crate::slots::Slot;

/// What a function does with the contents of fields, besides allocating and freeing them. All sorted.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Traffic {
    /// Fields that receive something that is neither a fresh block nor null: it may be another's.
    pub foreign: Vec<Slot>,
    /// Fields whose contents are stored somewhere, or given to code that frees or keeps them, or may.
    pub lent: Vec<Slot>,
    /// Fields whose contents are returned.
    pub returned: Vec<Slot>,
    /// Fields that are set to null.
    pub nulled: Vec<Slot>,
}

pub(crate) fn traffic(view: &View<'_>) -> Traffic {
    let mut traffic = Traffic::default();
    for (id, inst) in view.body.insts.iter() {
        match inst {
            Inst::Store { value, address, ty: Type::Ptr, .. } => {
                traffic.lent.extend(fields_behind(view, *value));
                if view.body.constant(*value) == Some(Constant::Null) {
                    traffic.nulled.extend(view.values.of_operand(*address).and_then(|c| view.values.own_field(c)));
                }
                if !is_fresh_or_null(view, *value) {
                    traffic.foreign.extend(view.values.of_operand(*address).and_then(|c| view.values.own_field(c)));
                }
            }
            Inst::Copy { dst, .. } => traffic.foreign.extend(fields_of_copy(view, *dst)),
            Inst::Return { value: Some(value) } => traffic.returned.extend(fields_behind(view, *value)),
            _ => traffic.lent.extend(given_away(view, id, inst)),
        }
    }
    for list in [&mut traffic.foreign, &mut traffic.lent, &mut traffic.returned, &mut traffic.nulled] {
        list.sort_unstable();
        list.dedup();
    }
    traffic
}

/// The fields that a value may have been read from.
fn fields_behind(view: &View<'_>, value: Operand) -> Vec<Slot> {
    let field = |base: ValueId| match view.values.node(base) {
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
        _ => false,
    };
    view.body.constant(value).is_some() || bases(view, value).into_iter().all(is_own)
}

/// The pointers in a structure that is copied into as a whole.
fn fields_of_copy(view: &View<'_>, dst: Operand) -> Vec<Slot> {
    let Some(cell) = view.values.of_operand(dst).filter(|cell| cell.offset == Offset::ZERO) else { return Vec::new() };
    let Some(ty) = view.values.structure(cell.base) else { return Vec::new() };
    let fields = view.program.type_info(ty).fields.iter().filter(|field| field.pointee.depth > 0);
    fields.map(|field| (ty, field.offset)).collect()
}

/// Fields whose contents a call is given that does, or may do, something to them that lasts.
fn given_away(view: &View<'_>, id: InstId, inst: &Inst) -> Vec<Slot> {
    let (Some(call), Some(effect)) = (inst.call(), view.calls[id].as_ref()) else { return Vec::new() };
    // An object is given to its own methods without a thought of who owns it.
    let is_method = view.program.call_site(view.id, id).is_some_and(|site| {
        let targets = view.program.targets(site);
        let are_methods = || targets.iter().all(|target| is_method(view.program, *target));
        site.kind == CallKind::Virtual || (!targets.is_empty() && are_methods())
    });
    let takes = |index: usize| {
        let root = PathRoot::Param(index as u32);
        effect.summary.actions.iter().any(|action| {
            let is_argument =
                matches!(&action.subject, Subject::Value(path) if path.root == root && path.steps.is_empty());
            is_argument
                && match &action.to {
                    // What is freed is noted with the other slots that are.
                    Destination::Free { .. } | Destination::Renew => false,
                    Destination::Store(to) => to.root != PathRoot::Return,
                    Destination::Keep | Destination::Unknown => true,
                }
        })
    };
    let is_lent = |index: usize| (takes(index) || effect.unknown) && !(is_method && index == 0);
    let given = call.args.iter().enumerate().filter(|(index, _)| is_lent(*index));
    given.flat_map(|(_, argument)| fields_behind(view, *argument)).collect()
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
