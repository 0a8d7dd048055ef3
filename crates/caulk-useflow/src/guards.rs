//! From the exits of a function to the guard of an effect: told, given or hidden (the design's "Guards").

use caulk_ir::{Inst, InstId, Operand};
use caulk_memory::{AccessPath, PathRoot, Relation, ValueNode};
use caulk_summary::Guard;

use crate::alternative::{Alternative, Status};
use crate::facts::{Key, KeyId, cover, number_of};
use crate::function::View;

/// What is known of the returned value at an exit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Class {
    Known(Relation),
    Unknown,
}

/// The guard of an effect that happened at some exits and not at others.
pub fn guard(view: &mut View<'_>, did: &[(InstId, Alternative)], did_not: &[(InstId, Alternative)]) -> Guard {
    if did_not.is_empty() {
        return Guard::Always;
    }
    if let Some((relation, otherwise)) = told(view, did, did_not) {
        return Guard::Told(relation, otherwise);
    }
    given(view, did, did_not).unwrap_or(Guard::Hidden)
}

/// The guard of handing out a block as the result. That it may be null the caller sees anyway, so only the other ways that
/// do not hand it out have to be told apart.
pub fn guard_of_result(
    view: &mut View<'_>,
    did: &[(InstId, Alternative)],
    mut did_not: Vec<(InstId, Alternative)>,
) -> Guard {
    let before = did_not.len();
    did_not.retain(|(inst, a)| class(view, *inst, a) != Class::Known(Relation::ZERO));
    match guard(view, did, &did_not) {
        Guard::Always if did_not.len() < before => Guard::Told(Relation::NONZERO, None),
        guard => guard,
    }
}

fn told(
    view: &mut View<'_>,
    did: &[(InstId, Alternative)],
    did_not: &[(InstId, Alternative)],
) -> Option<(Relation, Option<Relation>)> {
    let mut classes = |exits: &[(InstId, Alternative)]| -> Option<Vec<Relation>> {
        let known = |(inst, alternative): &(InstId, Alternative)| match class(view, *inst, alternative) {
            Class::Known(relation) => Some(relation),
            Class::Unknown => None,
        };
        exits.iter().map(known).collect()
    };
    let (yes, no) = (classes(did)?, classes(did_not)?);
    let usual = [Relation::ZERO, Relation::NONZERO];
    let exact = yes.iter().copied().filter(|r| matches!(r, Relation::Eq(_)));
    let signs = [Relation::at_most(-1), Relation::at_least(0), Relation::at_least(1), Relation::at_most(0)];
    // The exact value says most; a caller may test for just that.
    let mut candidates = exact.chain(usual).chain(signs);
    let when = candidates.find(|r| yes.iter().all(|y| y.implies(*r)) && no.iter().all(|n| n.contradicts(*r)))?;
    let otherwise = no.into_iter().map(Some).reduce(|a, b| cover(a?, b?)).flatten();
    Some((when, otherwise))
}

fn class(view: &mut View<'_>, exit: InstId, alternative: &Alternative) -> Class {
    let Inst::Return { value: Some(value) } = view.body.insts[exit] else { return Class::Unknown };
    if let Some(constant) = view.body.constant(value) {
        return number_of(constant).map_or(Class::Unknown, |n| Class::Known(Relation::Eq(n)));
    }
    let is_live = alternative.status == Status::Live;
    if is_live && value.value().is_some_and(|v| alternative.has_name(v)) {
        return Class::Known(Relation::NONZERO);
    }
    if let Some(cell) = view.values.of_operand(value)
        && matches!(view.values.node(cell.base), ValueNode::Local(_) | ValueNode::Global(_))
    {
        return Class::Known(Relation::NONZERO);
    }
    view.keys.here = (view.homes[exit], exit);
    let Some(key) = view.keys.of_operand(view.body, &view.values, value) else { return Class::Unknown };
    let known = alternative.facts.iter().filter(|f| f.0 == key).map(|f| f.1);
    let best = known.min_by_key(|r| match r {
        Relation::Eq(_) => 0,
        Relation::Range(..) => 1,
        Relation::Ne(_) => 2,
    });
    best.map_or(Class::Unknown, Class::Known)
}

fn given(view: &mut View<'_>, did: &[(InstId, Alternative)], did_not: &[(InstId, Alternative)]) -> Option<Guard> {
    let (_, first) = did.first()?;
    for &(key, relation) in &first.facts {
        let Some(path) = caller_path(view, key) else { continue };
        let holds = |a: &Alternative| a.facts.iter().any(|f| f.0 == key && f.1.implies(relation));
        let fails = |a: &Alternative| a.facts.iter().any(|f| f.0 == key && f.1.contradicts(relation));
        if did.iter().all(|(_, a)| holds(a)) && did_not.iter().all(|(_, a)| fails(a)) {
            return Some(Guard::Given(path, relation));
        }
    }
    None
}

/// What a caller calls the value a fact is about. What is loaded from memory the caller may not have written is hidden.
fn caller_path(view: &View<'_>, key: KeyId) -> Option<AccessPath> {
    match view.keys.get(key) {
        Key::Inst(inst) => match view.body.insts[inst] {
            Inst::Param { index, .. } => Some(AccessPath::root(PathRoot::Param(index))),
            _ => None,
        },
        Key::Loaded(cell) => match view.values.root(cell.base) {
            ValueNode::Param(_) => view.values.cell_path(cell),
            _ => None,
        },
        _ => None,
    }
}

/// The value returned at an exit.
pub fn returned(view: &View<'_>, exit: InstId) -> Option<Operand> {
    match view.body.insts[exit] {
        Inst::Return { value } => value,
        _ => None,
    }
}
