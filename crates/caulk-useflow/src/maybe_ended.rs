//! Which structures a call may free, or give to code that may free them.
//!
//! A callee of the program that is given a structure by its type reports for itself what it frees: that a bound kept its summary from
//! telling is no reason to think that it frees the structure. Nor does a library free what it is given for a callback of the program.

use caulk_ir::{CallData, Constant, InstId, Operand};
use caulk_memory::{AccessPath, PathRoot};
use caulk_program::FuncId;
use caulk_rules::Rule;
use caulk_summary::{Action, Destination, Subject};

use crate::function::View;

/// What an action of a call may end, as a path from the call's arguments.
pub(crate) fn may_end<'p>(view: &View<'_>, call: InstId, action: &'p Action) -> Option<&'p AccessPath> {
    let Subject::Value(path) = &action.subject else { return None };
    let is_told = match action.to {
        // What callees read from fields they free themselves, by the type of the field.
        Destination::Free { .. } => has_field(path) && is_told_by_callees(view, call, path),
        Destination::Unknown => is_told_by_callees(view, call, path) || is_for_callback(view, call),
        _ => return None,
    };
    (!view.config.rules.applies(Rule::TypedEnds, is_told)).then_some(path)
}

/// Whether a path ends with a field that has a name, and so a type.
fn has_field(path: &AccessPath) -> bool {
    path.steps.last().is_some_and(|step| step.field.is_some())
}

/// Whether all callees have code here and know the structure by its type.
fn is_told_by_callees(view: &View<'_>, call: InstId, path: &AccessPath) -> bool {
    let PathRoot::Param(index) = path.root else { return false };
    let targets = view.program.call_site(view.id, call).map(|site| view.program.targets(site)).unwrap_or_default();
    let knows_type = |f: &FuncId| {
        let param = view.program.function(*f).declaration.params.get(index as usize);
        let is_typed = param.is_some_and(|param| param.pointee.target.is_some());
        // What it reads from a field it knows by the field's type.
        view.program.has_body(*f) && (is_typed || has_field(path))
    };
    !targets.is_empty() && targets.iter().all(knows_type)
}

/// Whether a call is given a function of the program, which gets the structure back.
fn is_for_callback(view: &View<'_>, call: InstId) -> bool {
    let unit = view.program.function(view.id).unit;
    let is_own = |operand: &Operand| match view.body.constant(*operand) {
        Some(Constant::Function(function)) => {
            view.program.resolve_function(unit, function).iter().all(|f| view.program.has_body(*f))
        }
        _ => false,
    };
    let arguments = |data: &CallData| data.args.iter().any(is_own);
    view.body.insts[call].call().is_some_and(arguments)
}
