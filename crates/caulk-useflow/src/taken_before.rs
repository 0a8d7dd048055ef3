//! Calls that take a structure apart and give back what it held: `text = s->str; g_string_free(s, FALSE);`.
//!
//! Where the result is not used, the code may have read the same thing from the structure before. It has it then by that name.

use caulk_ir::{Inst, InstId, Type};
use caulk_memory::{PathRoot, ValueId};
use caulk_summary::{AllocId, Destination, Subject, Summary};

use crate::function::View;
use crate::objects::is_only_returned;

/// Whether a block of a call is what the function has read, before the call, from a structure that the call frees.
pub(crate) fn is_taken_before(view: &View<'_>, call: InstId, summary: &Summary, block: AllocId) -> bool {
    if view.is_used(call) || !is_only_returned(summary, block) {
        return false;
    }
    let freed = summary.actions.iter().filter(|action| matches!(action.to, Destination::Free { .. }));
    let bases = freed.filter_map(|action| match &action.subject {
        Subject::Value(path) if path.steps.is_empty() => match path.root {
            PathRoot::Param(index) => view.argument(call, index),
            _ => None,
        },
        _ => None,
    });
    bases.filter_map(|operand| view.values.of_operand(operand)).any(|cell| reads_pointer_of(view, cell.base, call))
}

/// Whether a pointer is read from a structure on a way to a call, and is used.
fn reads_pointer_of(view: &View<'_>, structure: ValueId, call: InstId) -> bool {
    let place = |inst: InstId| (view.order[view.homes[inst]], inst);
    view.body.insts.iter().any(|(inst, kind)| {
        let Inst::Load { address, ty: Type::Ptr, .. } = kind else { return false };
        let is_of = view.values.of_operand(*address).is_some_and(|cell| cell.base == structure);
        is_of && view.is_used(inst) && place(inst) < place(call)
    })
}
