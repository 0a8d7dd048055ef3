//! Which of several variables that lead to an object names it: the one that owns it, not one that walks over it.
//!
//! `for (it = list; it; it++)` leaves `it` as the last variable that was set to the block, and `second = first + n` one that points into it. Neither
//! can be freed, so neither is what a reader looks for.

use caulk_ir::{AddressStep, Body, Inst, InstId, Operand, VarId};

/// The variable that has what another one walks over or points into, if there is one.
pub(crate) fn owner_of(body: &Body, walker: VarId) -> Option<VarId> {
    if !is_walker(body, walker) {
        return None;
    }
    let starts = values_of(body, walker).map(|value| start(body, value));
    let mut owners = starts.flat_map(|value| variables_of(body, value));
    owners.find(|var| *var != walker && !is_walker(body, *var))
}

/// Whether a variable is only ever set to places within what other values point to, so that it owns nothing.
pub(crate) fn points_inside(body: &Body, var: VarId) -> bool {
    let is_inside =
        |value: InstId| matches!(&body.insts[value], Inst::Address { steps, .. } if steps.iter().any(is_away));
    let mut values = values_of(body, var).peekable();
    values.peek().is_some() && values.all(is_inside)
}

/// Whether a variable is set, anywhere, to a place within what some value points to, or to what a block that it walks over leads to.
fn is_walker(body: &Body, var: VarId) -> bool {
    values_of(body, var).any(|value| match &body.insts[value] {
        Inst::Address { steps, .. } => steps.iter().any(is_away),
        Inst::Load { address, .. } => {
            let from = address.value().map(|address| start(body, address));
            from.is_some_and(|from| is_choice_of(body, from, value))
        }
        _ => false,
    })
}

fn is_away(step: &AddressStep) -> bool {
    match step {
        AddressStep::Field { offset, .. } => *offset != 0,
        AddressStep::Bytes { offset, .. } => *offset != 0,
        AddressStep::Index { .. } => true,
    }
}

/// Whether a value is a choice that a loaded value goes into: `node = node->next`.
fn is_choice_of(body: &Body, choice: InstId, loaded: InstId) -> bool {
    let Inst::Phi { incoming, .. } = &body.insts[choice] else { return false };
    incoming.iter().any(|(_, value)| value.value() == Some(loaded))
}

/// The value that addresses are computed from.
fn start(body: &Body, value: InstId) -> InstId {
    let mut at = value;
    while let Inst::Address { base: Operand::Value(base), .. } = body.insts[at] {
        at = base;
    }
    at
}

fn values_of(body: &Body, var: VarId) -> impl Iterator<Item = InstId> + '_ {
    body.insts.values().filter_map(move |inst| match inst {
        Inst::Bind { var: v, value: Operand::Value(value) } if *v == var => Some(*value),
        _ => None,
    })
}

fn variables_of(body: &Body, value: InstId) -> impl Iterator<Item = VarId> + '_ {
    body.insts.values().filter_map(move |inst| match inst {
        Inst::Bind { var, value: Operand::Value(v) } if *v == value => Some(*var),
        _ => None,
    })
}
