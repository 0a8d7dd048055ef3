//! `s->data = realloc(s->data, n); if (!s->data) return -1;`: where `realloc()` fails it frees nothing, and what the field held is lost. It needs
//! no sign that the field was full, because a null pointer that is given to `realloc()` is nothing to lose.

use caulk_ir::{BlockId, Body, CompareOp, EntitySet, Inst, InstId, Operand};
use caulk_memory::{Cell, PathRoot, Relation, ValueNode};
use caulk_rules::Rule;
use caulk_summary::{Destination, Guard, Subject};

use crate::function::View;

/// Whether a store loses what a cell held because the call whose result is stored has failed, and the function asks whether it did.
pub(crate) fn is_failed_renewal(view: &View<'_>, store: InstId, cell: Cell) -> bool {
    let Inst::Store { value, .. } = view.body.insts[store] else { return false };
    let Some(ValueNode::Opaque(call)) = view.values.of_operand(value).map(|at| view.values.node(at.base)) else {
        return false;
    };
    let fails = frees_unless_null(view, call, cell) && is_asked(view, call, cell);
    view.config.rules.applies(Rule::FailedRenewals, fails)
}

/// Whether a call is given what a cell holds, and frees it if its result is not null and only then.
fn frees_unless_null(view: &View<'_>, call: InstId, cell: Cell) -> bool {
    let (Some(effect), Some(data)) = (view.calls[call].as_ref(), view.body.insts[call].call()) else { return false };
    let is_given = |index: u32| {
        let argument = data.args.get(index as usize).and_then(|argument| view.values.of_operand(*argument));
        argument.is_some_and(|at| view.values.node(at.base) == ValueNode::Load(cell.base, cell.offset))
    };
    effect.summary.actions.iter().any(|action| {
        let Subject::Value(path) = &action.subject else { return false };
        let PathRoot::Param(index) = path.root else { return false };
        path.steps.is_empty()
            && is_given(index)
            && matches!(action.to, Destination::Free { .. })
            && matches!(action.guard, Guard::ByResult(when, _) if when.implies(Relation::NONZERO))
    })
}

/// Whether the function compares the result of a call, or what a cell holds, with null, and goes on to return where it is null.
fn is_asked(view: &View<'_>, call: InstId, cell: Cell) -> bool {
    let is_null = |operand: Operand| view.body.constant(operand).is_some_and(|constant| constant.is_zero());
    let is_result = |operand: Operand| {
        let node = view.values.of_operand(operand).map(|at| view.values.node(at.base));
        node == Some(ValueNode::Opaque(call)) || node == Some(ValueNode::Load(cell.base, cell.offset))
    };
    let null_if = |operand: Operand| match view.body.insts[operand.value()?] {
        Inst::Compare { op: op @ (CompareOp::Eq | CompareOp::Ne), lhs, rhs, .. } => {
            let asks = (is_result(lhs) && is_null(rhs)) || (is_result(rhs) && is_null(lhs));
            asks.then_some(op == CompareOp::Eq)
        }
        _ => None,
    };
    view.body.insts.values().any(|inst| match inst {
        Inst::Branch { cond, then, other } => {
            null_if(*cond).is_some_and(|null| leads_to_return(view.body, if null { *then } else { *other }))
        }
        _ => false,
    })
}

/// Whether a return can be reached from a block.
fn leads_to_return(body: &Body, from: BlockId) -> bool {
    let mut seen = EntitySet::with_capacity(body.blocks.len());
    let mut work = vec![from];
    while let Some(block) = work.pop() {
        if !seen.insert(block) {
            continue;
        }
        let end = body.terminator(block);
        if matches!(end, Inst::Return { .. }) {
            return true;
        }
        work.extend(end.successors());
    }
    false
}
