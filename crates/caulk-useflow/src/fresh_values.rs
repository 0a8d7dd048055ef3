//! Values that calls have just allocated.

use caulk_ir::{Inst, InstId, Operand};
use caulk_memory::{Cell, ValueId, ValueNode};
use caulk_program::FuncId;

use crate::function::View;

/// Whether a value is what a call has just allocated, whichever of several calls that is.
pub(crate) fn is_fresh(view: &View<'_>, value: Operand) -> bool {
    let Some(cell) = view.values.of_operand(value) else { return false };
    let is_made = |base: ValueId| match view.values.node(base) {
        ValueNode::Opaque(inst) => view.calls[inst].as_ref().is_some_and(|effect| effect.summary.returns_fresh()),
        _ => false,
    };
    let choices = view.values.choices(view.body, cell.base);
    let are_made =
        || !choices.is_empty() && choices.iter().all(|choice| is_made(choice.base) || is_choice(view, choice.base));
    is_made(cell.base) || are_made()
}

fn is_choice(view: &View<'_>, base: ValueId) -> bool {
    let ValueNode::Opaque(inst) = view.values.node(base) else { return false };
    matches!(view.body.insts[inst], Inst::Phi { .. } | Inst::Select { .. })
}

/// Whether a value comes from a call that is given what a cell holds, and may change it: `list->data = insert(list->data, item)` renews.
pub(crate) fn is_renewed(view: &View<'_>, value: Operand, cell: Cell) -> bool {
    let Some(at) = view.values.of_operand(value) else { return false };
    let mut bases = vec![at.base];
    bases.extend(view.values.choices(view.body, at.base).into_iter().map(|choice| choice.base));
    bases.into_iter().any(|base| match view.values.node(base) {
        ValueNode::Opaque(call) => takes_old(view, call, cell),
        _ => false,
    })
}

fn takes_old(view: &View<'_>, call: InstId, cell: Cell) -> bool {
    let Some(data) = view.body.insts[call].call() else { return false };
    let targets = view.program.call_site(view.id, call).map(|site| view.program.targets(site)).unwrap_or_default();
    let may_change = |index: usize| {
        let is_const = |f: &FuncId| {
            let param = view.program.function(*f).declaration.params.get(index);
            param.is_some_and(|param| param.pointee.is_const)
        };
        targets.is_empty() || !targets.iter().all(is_const)
    };
    let is_old = |argument: &Operand| {
        let base = view.values.of_operand(*argument).map(|c| view.values.node(c.base));
        base == Some(ValueNode::Load(cell.base, cell.offset))
    };
    data.args.iter().enumerate().any(|(index, argument)| is_old(argument) && may_change(index))
}
