//! The numbers a function returns, where they are few: a caller that has excluded all but one knows which one it was.

use caulk_ir::{Constant, Inst, InstId, Operand, Type};
use caulk_memory::Relation;
use rustc_hash::FxHashSet;

use crate::bounds::BOUNDS;
use crate::function::View;

/// What the returned number always is: between the least and the greatest, and none of those between that are never returned.
pub(super) fn always_returned(view: &View<'_>) -> Vec<Relation> {
    let Some(mut results) = constants(view) else { return Vec::new() };
    results.sort_unstable();
    results.dedup();
    let (Some(first), Some(last)) = (results.first().copied(), results.last().copied()) else { return Vec::new() };
    let is_narrow = last.checked_sub(first).is_some_and(|span| span <= BOUNDS.results as i64);
    if !is_narrow || results.len() > BOUNDS.results {
        return Vec::new();
    }
    let gaps = (first..last).filter(|number| !results.contains(number)).map(Relation::Ne);
    [Relation::Range(first, last)].into_iter().chain(gaps).collect()
}

/// All numbers that are returned; None if one of them is computed.
fn constants(view: &View<'_>) -> Option<Vec<i64>> {
    let body = view.body;
    let mut found = Vec::new();
    let mut seen: FxHashSet<InstId> = FxHashSet::default();
    let mut work: Vec<Operand> = Vec::new();
    for inst in body.insts.values() {
        if let Inst::Return { value } = inst {
            work.push((*value)?);
        }
    }
    while let Some(operand) = work.pop() {
        let Operand::Value(value) = operand else {
            found.push(number(body.constant(operand)?)?);
            continue;
        };
        if !seen.insert(value) {
            continue;
        }
        match &body.insts[value] {
            Inst::Phi { ty: Type::Int(_), incoming } => work.extend(incoming.iter().map(|(_, operand)| *operand)),
            Inst::Select { ty: Type::Int(_), then, other, .. } => work.extend([*then, *other]),
            Inst::Call(_) => found.extend(given_by_callee(view, value)?),
            _ => return None,
        }
    }
    Some(found)
}

/// The few numbers that a callee returns, if it is always the same one: `return read_key(key, file);`.
fn given_by_callee(view: &View<'_>, call: InstId) -> Option<Vec<i64>> {
    let site = view.program.call_site(view.id, call)?;
    let [_] = view.program.targets(site) else { return None };
    let ensures = &view.calls[call].as_ref()?.summary.ensures;
    let range = |relation: &Relation| match *relation {
        Relation::Range(first, last) if last.checked_sub(first)? <= BOUNDS.results as i64 => Some((first, last)),
        _ => None,
    };
    let (first, last) = ensures.iter().find_map(range)?;
    let is_returned = |number: &i64| ensures.iter().all(|relation| relation.holds(*number));
    Some((first..=last).filter(is_returned).collect())
}

/// A truth value of one bit has no sign.
fn number(constant: Constant) -> Option<i64> {
    match constant {
        Constant::Int { bits: 1, .. } => None,
        other => other.as_signed(),
    }
}
