//! Structures of parameters that live on while a function frees what their fields hold.

use caulk_ir::{Inst, InstId, Type};
use caulk_memory::{AccessPath, Cell, Offset, PathRoot, ValueNode};
use caulk_program::TypeId;
use caulk_summary::{Action, Destination, Guard, Subject, Summary};
use serde::{Deserialize, Serialize};

use crate::function::View;

/// A structure that a parameter points to, and of which a function frees fields.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Released {
    pub param: u32,
    pub ty: TypeId,
    /// Where it begins behind the parameter: it may be a part of a larger one.
    pub start: i64,
    /// Offsets of the fields that are freed. Sorted.
    pub fields: Vec<u64>,
    /// The last call that frees one.
    pub last: InstId,
    /// The fields still point to what was freed: the structure is of no use any more.
    pub is_left_dangling: bool,
    /// The function frees one of these fields by its own code.
    pub is_own: bool,
    /// A number in the structure is set after the last free: it goes on being used.
    pub is_used_on: bool,
}

impl Released {
    fn new(param: u32, ty: TypeId, start: i64, field: u64, last: InstId) -> Self {
        Self { param, ty, start, fields: vec![field], last, is_left_dangling: false, is_own: false, is_used_on: false }
    }
}

/// The structures of parameters that live on while several of their fields are freed.
pub(crate) fn released(view: &mut View<'_>, summary: &Summary) -> Vec<Released> {
    let mut found: Vec<Released> = Vec::new();
    for action in &summary.actions {
        let (Subject::Value(path), Destination::Free { .. }) = (&action.subject, &action.to) else { continue };
        let (PathRoot::Param(param), [step]) = (path.root, path.steps.as_slice()) else { continue };
        let Some((ty, offset)) = step.field.filter(|_| action.guard.is_own()) else { continue };
        let Some(start) = start_of(step.offset, offset) else { continue };
        match found.iter_mut().find(|known| known.param == param && known.ty == ty && known.start == start) {
            Some(known) => known.fields.push(offset),
            None => found.push(Released::new(param, ty, start, offset, InstId(0))),
        }
    }
    note_directly_freed(view, &mut found);
    // What is done to the structure itself is for others to see to.
    let is_left = |param: u32| {
        let is_of_param = |a: &&Action| matches!(&a.subject, Subject::Value(p) if p.root == PathRoot::Param(param) && p.steps.is_empty());
        !summary.actions.iter().any(|a| is_of_param(&a))
    };
    found.retain(|released| is_left(released.param));
    for released in &mut found {
        released.fields.sort_unstable();
        released.fields.dedup();
        released.last = last_free(view, released);
        released.is_left_dangling = leaves_dangling(view, released, summary);
        released.is_own = released.fields.iter().any(|field| is_given_to_free(view, released, *field));
        released.is_used_on = is_used_on(view, released);
    }
    found.retain(|released| released.last != InstId(0));
    found
}

/// Where the structure begins that has a field at an offset behind a parameter.
fn start_of(at: Offset, field: u64) -> Option<i64> {
    match at {
        Offset::Known(at) => Some(at - i64::try_from(field).ok()?),
        Offset::Any => None,
    }
}

/// Fields of parameters that calls of the function free, though the summary does not say so: what is taken out of a tree before counts
/// as held by the tree.
fn note_directly_freed(view: &View<'_>, found: &mut Vec<Released>) {
    for (inst, kind) in view.body.insts.iter() {
        let (Some(call), Some(effect)) = (kind.call(), &view.calls[inst]) else { continue };
        for (index, argument) in call.args.iter().enumerate() {
            let base = view.values.of_operand(*argument).map(|cell| view.values.node(cell.base));
            let Some(ValueNode::Load(holder, offset)) = base else { continue };
            let ValueNode::Param(param) = view.values.node(holder) else { continue };
            let Some((ty, field)) = view.values.own_field(Cell { base: holder, offset }) else { continue };
            if !surely_frees(&effect.summary, index) {
                continue;
            }
            let Some(start) = start_of(offset, field) else { continue };
            match found.iter_mut().find(|known| known.param == param && known.ty == ty && known.start == start) {
                Some(known) => known.fields.push(field),
                None => found.push(Released::new(param, ty, start, field, inst)),
            }
        }
    }
}

/// Whether a function gives fields to what frees them, one by one, and writes to none of them.
fn leaves_dangling(view: &mut View<'_>, released: &Released, summary: &Summary) -> bool {
    let given: Vec<u64> =
        released.fields.iter().copied().filter(|field| is_freed_here(view, released, *field)).collect();
    !given.is_empty() && !is_written(view, released, &given, summary)
}

/// Whether a number in the structure is set where the last field has been freed.
fn is_used_on(view: &View<'_>, released: &Released) -> bool {
    let place = |inst: InstId| (view.order[view.homes[inst]], inst);
    view.body.insts.iter().any(|(inst, kind)| {
        let Inst::Store { ty: Type::Int(_), address, .. } = kind else { return false };
        let base = view.values.of_operand(*address).map(|cell| view.values.node(cell.base));
        base == Some(ValueNode::Param(released.param)) && place(inst) > place(released.last)
    })
}

/// Whether some call is given what a field holds, and frees it for certain.
fn is_freed_here(view: &View<'_>, released: &Released, field: u64) -> bool {
    is_given_to(view, released, field, surely_frees)
}

/// Whether some call is given what a field holds, and frees it.
fn is_given_to_free(view: &View<'_>, released: &Released, field: u64) -> bool {
    is_given_to(view, released, field, |summary, index| {
        let argument = Subject::Value(AccessPath::root(PathRoot::Param(index as u32)));
        summary.actions.iter().any(|a| a.subject == argument && matches!(a.to, Destination::Free { .. }))
    })
}

fn is_given_to(
    view: &View<'_>,
    released: &Released,
    field: u64,
    frees_it: impl Fn(&Summary, usize) -> bool + Copy,
) -> bool {
    let frees = |(inst, kind): (InstId, &Inst)| {
        let (Some(call), Some(effect)) = (kind.call(), &view.calls[inst]) else { return false };
        call.args.iter().enumerate().any(|(index, argument)| {
            let base = view.values.of_operand(*argument).map(|cell| view.values.node(cell.base));
            let Some(ValueNode::Load(holder, offset)) = base else { return false };
            let slot = view.values.own_field(Cell { base: holder, offset });
            let is_field =
                view.values.node(holder) == ValueNode::Param(released.param) && slot == Some((released.ty, field));
            is_field && frees_it(&effect.summary, index)
        })
    };
    view.body.insts.iter().any(frees)
}

/// Whether a callee always frees an argument.
fn surely_frees(summary: &Summary, index: usize) -> bool {
    let argument = AccessPath::root(PathRoot::Param(index as u32));
    summary.actions.iter().any(|action| {
        let is_argument = matches!(&action.subject, Subject::Value(path) if *path == argument);
        is_argument && action.guard == Guard::Always && matches!(action.to, Destination::Free { .. })
    })
}

/// Whether a function, or what it calls, writes to some of the fields of a structure.
fn is_written(view: &View<'_>, released: &Released, fields: &[u64], summary: &Summary) -> bool {
    let is_given = |cell: Cell| view.values.node(cell.base) == ValueNode::Param(released.param);
    let is_field = |cell: Cell| {
        let slot = view.values.own_field(cell);
        is_given(cell) && slot.is_none_or(|(ty, field)| ty == released.ty && fields.contains(&field))
    };
    let by_itself = view.body.insts.values().any(|inst| match inst {
        Inst::Store { address, .. } => view.values.of_operand(*address).is_some_and(is_field),
        Inst::Fill { dst, .. } | Inst::Copy { dst, .. } => view.values.of_operand(*dst).is_some_and(is_given),
        _ => false,
    });
    let is_path_to_field = |path: &AccessPath| match path.steps.as_slice() {
        [step] if path.root == PathRoot::Param(released.param) => {
            step.field.is_none_or(|(ty, field)| ty == released.ty && fields.contains(&field))
        }
        _ => false,
    };
    let is_filled = |action: &Action| matches!(&action.to, Destination::Store(to) if is_path_to_field(to));
    by_itself || summary.overwritten.iter().any(is_path_to_field) || summary.actions.iter().any(is_filled)
}

/// The last call that frees a field of a parameter's structure.
fn last_free(view: &mut View<'_>, released: &Released) -> InstId {
    let calls: Vec<InstId> = view.calls.iter().filter(|(_, c)| c.is_some()).map(|(inst, _)| inst).collect();
    let mut last = InstId(0);
    for call in calls {
        let Some(effect) = view.calls[call].clone() else { continue };
        for action in &effect.summary.actions {
            let (Subject::Value(path), Destination::Free { .. }) = (&action.subject, &action.to) else { continue };
            let freed = view.resolve_value(call, path).map(|value| view.values.node(value));
            if let Some(ValueNode::Load(base, _)) = freed
                && view.values.node(base) == ValueNode::Param(released.param)
            {
                last = last.max(call);
            }
        }
    }
    last
}
