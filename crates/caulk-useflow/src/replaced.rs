//! Pointers that are replaced where they are null: after `if (!p) p = malloc(n);` only a failed allocation leaves them null.

use caulk_ir::{BlockId, Inst, Operand};
use caulk_memory::Relation;
use caulk_rules::Rule;

use crate::facts::FactList;
use crate::function::View;

/// Whether a pointer is a choice between allocations and values that the branch to the choice found not to be null.
pub(crate) fn is_replaced_null(view: &mut View<'_>, pointer: Operand) -> bool {
    let Some(choice) = pointer.value() else { return false };
    let body = view.body;
    let Inst::Phi { incoming, .. } = &body.insts[choice] else { return false };
    let home = view.homes[choice];
    let is_made = |view: &View<'_>, value: Operand| {
        let effect = value.value().and_then(|inst| view.calls[inst].as_ref());
        effect.is_some_and(|effect| effect.summary.returns_fresh())
    };
    let makes_any = incoming.iter().any(|(_, value)| is_made(view, *value));
    let is_replaced =
        makes_any && incoming.iter().all(|(from, value)| is_made(view, *value) || is_tested(view, *from, home, *value));
    view.config.rules.applies(Rule::ReplacedNulls, is_replaced)
}

/// Whether the branch from one block to another is taken only where a value is not null.
fn is_tested(view: &mut View<'_>, from: BlockId, to: BlockId, value: Operand) -> bool {
    let body = view.body;
    let Inst::Branch { cond, then, other } = body.terminator(from) else { return false };
    if then == other {
        return false;
    }
    let facts = view.keys.assume(body, &view.values, &FactList::new(), *cond, *then == to);
    let key = view.keys.of_operand(body, &view.values, value);
    facts.zip(key).is_some_and(|(facts, key)| facts.iter().any(|f| f.0 == key && f.1.implies(Relation::NONZERO)))
}
