//! From the exits of a function to the guard of an effect: told, given or hidden (the design's "Guards").

use caulk_ir::{BinaryOp, Body, CastOp, Constant, Inst, InstId, Operand, Type};
use caulk_memory::{AccessPath, Cell, PathRoot, Relation, ValueNode};
use caulk_rules::Rule;
use caulk_summary::{Case, Guard, Known};
use smallvec::SmallVec;

use crate::alternative::{Alternative, Status};
use crate::bounds::BOUNDS;
use crate::dereferenced::is_dereferenced;
use crate::facts::{FactList, Key, number_of};
use crate::function::View;

/// What is known of the returned value at an exit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum ResultClass {
    Known(Relation),
    Unknown,
}

impl ResultClass {
    /// What is known of a truth value whose byte is known so.
    fn as_truth(self) -> ResultClass {
        match self {
            ResultClass::Known(Relation::ZERO) => self,
            ResultClass::Known(relation) if relation.implies(Relation::NONZERO) => {
                ResultClass::Known(Relation::NONZERO)
            }
            _ => ResultClass::Unknown,
        }
    }
}

/// The guard of an effect that happened at some exits and not at others.
pub(crate) fn guard(view: &mut View<'_>, did: &[(InstId, Alternative)], did_not: &[(InstId, Alternative)]) -> Guard {
    if did_not.is_empty() {
        return Guard::Always;
    }
    if let Some((relation, otherwise)) = told(view, did, did_not) {
        return Guard::ByResult(relation, otherwise);
    }
    given(view, did, did_not).unwrap_or(Guard::Opaque)
}

/// The same, where it may also be told loosely.
pub(crate) fn loose_guard(
    view: &mut View<'_>,
    did: &[(InstId, Alternative)],
    did_not: &[(InstId, Alternative)],
) -> Guard {
    match guard(view, did, did_not) {
        // Told by a result that was told loosely itself, most likely.
        Guard::ByResult(relation, otherwise) => {
            view.loosely_told |= view.calls.values().flatten().any(|effect| effect.summary.loosely_told);
            Guard::ByResult(relation, otherwise)
        }
        Guard::Always => Guard::Always,
        Guard::ByArgument(path, relation) if path.steps.is_empty() => Guard::ByArgument(path, relation),
        // A caller seldom knows what is in memory; it knows the result.
        other => match told_when_not(view, did, did_not) {
            Some((relation, otherwise)) => {
                view.loosely_told = true;
                Guard::ByResult(relation, otherwise)
            }
            None if other == Guard::Opaque => limited(view, did).unwrap_or(other),
            None => other,
        },
    }
}

/// Two guards of an effect that one does not tell: where the result says so, or else where an argument does. A `realloc()` of the
/// program's own frees the old block where it gives a new one, and where no bytes are asked for.
pub(crate) fn two_guards(
    view: &mut View<'_>,
    did: &[(InstId, Alternative)],
    did_not: &[(InstId, Alternative)],
) -> Option<[Guard; 2]> {
    let result_is = |view: &mut View<'_>, (exit, alternative): &(InstId, Alternative), wanted: Relation| matches!(class(view, *exit, alternative), ResultClass::Known(known) if known.implies(wanted));
    for wanted in [Relation::NONZERO, Relation::ZERO] {
        let (by_result, rest): (Vec<_>, Vec<_>) = did.iter().cloned().partition(|exit| result_is(view, exit, wanted));
        let others: Vec<_> = rest.iter().chain(did_not).cloned().collect();
        if let Some((relation, otherwise)) = told(view, &by_result, &others).filter(|_| !by_result.is_empty())
            && let Some(Guard::ByArgument(path, of)) = given(view, &rest, did_not)
            && path.steps.is_empty()
        {
            return Some([Guard::ByResult(relation, otherwise), Guard::ByArgument(path, of)]);
        }
    }
    None
}

/// What hidden effects have in common: a number the caller gives without which none of them happens.
fn limited(view: &mut View<'_>, did: &[(InstId, Alternative)]) -> Option<Guard> {
    let (first, rest) = did.split_first()?;
    let mut shared = facts_of_caller(view, first.0, &first.1);
    let is_number = |path: &AccessPath| match path.root {
        PathRoot::Param(index) => {
            path.steps.is_empty() && matches!(view.body.insts[InstId(index)], Inst::Param { ty: Type::Int(_), .. })
        }
        _ => false,
    };
    shared.retain(|(path, _)| is_number(path));
    for exit in rest {
        let facts = facts_of_caller(view, exit.0, &exit.1);
        shared.retain(|(path, relation)| facts.iter().any(|f| f.0 == *path && f.1.implies(*relation)));
    }
    let (path, relation) = shared.into_iter().min()?;
    Some(Guard::Limited(path, relation))
}

/// The guard of handing out a block as the result. That it may be null the caller sees anyway, so only the other paths that
/// do not hand it out have to be distinguished.
pub(crate) fn guard_of_result(
    view: &mut View<'_>,
    did: &[(InstId, Alternative)],
    mut did_not: Vec<(InstId, Alternative)>,
) -> Guard {
    let before = did_not.len();
    did_not.retain(|(inst, a)| class(view, *inst, a) != ResultClass::Known(Relation::ZERO));
    match guard(view, did, &did_not) {
        Guard::Always if did_not.len() < before => Guard::ByResult(Relation::NONZERO, None),
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
            ResultClass::Known(relation) => Some(relation),
            ResultClass::Unknown => None,
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
    let otherwise = no.into_iter().map(Some).reduce(|a, b| a?.cover(b?)).flatten();
    Some((when, otherwise))
}

/// Where nothing is said of the result after the effect, all paths without it may still give a result of their own:
/// `if (is_full(q)) return FAIL; ...; return grow(q);`. A caller that sees that result must reckon with the effect not done.
fn told_when_not(
    view: &mut View<'_>,
    did: &[(InstId, Alternative)],
    did_not: &[(InstId, Alternative)],
) -> Option<(Relation, Option<Relation>)> {
    let mut no: SmallVec<[Relation; 4]> = SmallVec::new();
    for (exit, alternative) in did_not {
        match class(view, *exit, alternative) {
            ResultClass::Known(relation) => no.push(relation),
            ResultClass::Unknown => return None,
        }
    }
    let exact = no.iter().copied().filter(|r| matches!(r, Relation::Eq(_)));
    let mut candidates = exact.chain([Relation::ZERO, Relation::at_most(-1), Relation::at_least(1)]);
    let not = candidates.find(|r| no.iter().all(|n| n.implies(*r)))?;
    let may_differ = |class: ResultClass| match class {
        ResultClass::Known(relation) => relation.contradicts(not),
        ResultClass::Unknown => true,
    };
    for (inst, alternative) in did {
        if !may_differ(class(view, *inst, alternative)) {
            return None;
        }
    }
    Some((not.negate()?, Some(not)))
}

fn class(view: &mut View<'_>, exit: InstId, alternative: &Alternative) -> ResultClass {
    let Inst::Return { value: Some(value) } = view.body.insts[exit] else { return ResultClass::Unknown };
    match stored_truth(view.body, value) {
        Some(variable) => class_of(view, exit, variable, alternative).as_truth(),
        None => class_of(view, exit, value, alternative),
    }
}

/// The variable behind a returned truth value: `bool done = false; ... return done;` reads a byte and takes its lowest bit.
fn stored_truth(body: &Body, value: Operand) -> Option<Operand> {
    match body.insts[value.value()?] {
        Inst::Cast { op: CastOp::Truncate, to: Type::Int(1), value, .. } => Some(value),
        _ => None,
    }
}

fn class_of(view: &mut View<'_>, exit: InstId, value: Operand, alternative: &Alternative) -> ResultClass {
    if let Some(constant) = view.body.constant(value) {
        return number_of(constant).map_or(ResultClass::Unknown, |n| ResultClass::Known(Relation::Eq(n)));
    }
    let is_live = alternative.status == Status::Live;
    if is_live && value.value().is_some_and(|v| alternative.has_name(v)) {
        return ResultClass::Known(Relation::NONZERO);
    }
    if let Some(cell) = view.values.of_operand(value)
        && matches!(view.values.node(cell.base), ValueNode::Local(_) | ValueNode::Global(_))
    {
        return ResultClass::Known(Relation::NONZERO);
    }
    if let Some(relation) = error_number(view, value) {
        return ResultClass::Known(relation);
    }
    view.keys.here = (view.homes[exit], exit);
    if points_into_known(view, value, alternative) {
        return ResultClass::Known(Relation::NONZERO);
    }
    let Some(key) = view.keys.of_operand(view.body, &view.values, value) else { return ResultClass::Unknown };
    let known = alternative.facts.iter().filter(|f| f.0 == key).map(|f| f.1);
    let best = known.min_by_key(|r| match r {
        Relation::Eq(_) => 0,
        Relation::Range(..) => 1,
        Relation::Ne(_) => 2,
        Relation::SomeBits(_) | Relation::NoBits(_) => 3,
    });
    match best {
        Some(relation) => ResultClass::Known(only_constant(view.body, value, relation).unwrap_or(relation)),
        None if view.has_set_part(value, &alternative.facts) => ResultClass::Known(Relation::NONZERO),
        None if gives_back_used(view, exit, value) => ResultClass::Known(Relation::NONZERO),
        None => ResultClass::Unknown,
    }
}

/// Whether a parameter is given back that the function has read or written through by then: `s->length = 0; ... return s;`.
fn gives_back_used(view: &View<'_>, exit: InstId, value: Operand) -> bool {
    let is_parameter = value.value().is_some_and(|v| matches!(view.body.insts[v], Inst::Param { .. }));
    is_parameter && is_dereferenced(view, exit, value)
}

/// `errno`, which is the number of an error where it is returned, or its negative.
fn error_number(view: &View<'_>, value: Operand) -> Option<Relation> {
    let is_copied = |operand: Operand| operand.value().is_some_and(|load| view.copied_errnos.contains(&load));
    let relation = match view.body.insts[value.value()?] {
        Inst::Binary { op: BinaryOp::Sub, lhs, rhs, .. } if is_copied(rhs) => {
            let is_zero = view.body.constant(lhs).and_then(number_of) == Some(0);
            is_zero.then_some(Relation::at_most(-1))
        }
        _ => is_copied(value).then_some(Relation::at_least(1)),
    };
    relation.filter(|_| view.config.rules.applies(Rule::CopiedErrors, true))
}

/// The one of the constants that are all a value can be for which a relation holds: `found = 1`, and `found` is not 0.
fn only_constant(body: &Body, value: Operand, relation: Relation) -> Option<Relation> {
    let numbers = body.constants_of(value.value()?)?;
    let mut possible = numbers.into_iter().filter(|number| relation.holds(*number));
    let first = possible.next()?;
    possible.all(|number| number == first).then_some(Relation::Eq(first))
}

/// Whether a value is the address of an element or field of something that is known to be there.
fn points_into_known(view: &mut View<'_>, value: Operand, alternative: &Alternative) -> bool {
    let mut at = value;
    while let Some(inst) = at.value()
        && let Inst::Address { base, .. } = view.body.insts[inst]
    {
        at = base;
    }
    let key = (at != value).then(|| view.keys.of_operand(view.body, &view.values, at)).flatten();
    key.is_some_and(|key| alternative.facts.iter().any(|f| f.0 == key && f.1.implies(Relation::NONZERO)))
}

fn given(view: &mut View<'_>, did: &[(InstId, Alternative)], did_not: &[(InstId, Alternative)]) -> Option<Guard> {
    let mut known = |exits: &[(InstId, Alternative)]| -> Vec<Vec<(AccessPath, Relation)>> {
        exits.iter().map(|(exit, alternative)| facts_of_caller(view, *exit, alternative)).collect()
    };
    let (yes, no) = (known(did), known(did_not));
    for (path, relation) in yes.first()? {
        let holds = |facts: &Vec<(AccessPath, Relation)>| facts.iter().any(|f| f.0 == *path && f.1.implies(*relation));
        let fails =
            |facts: &Vec<(AccessPath, Relation)>| facts.iter().any(|f| f.0 == *path && f.1.contradicts(*relation));
        if yes.iter().all(holds) && no.iter().all(fails) {
            return Some(Guard::ByArgument(path.clone(), *relation));
        }
    }
    None
}

/// The cases in which a block is handed out: what the caller must have given and gets back, and what it finds in its memory.
pub(crate) fn cases(view: &mut View<'_>, handed: &[(InstId, Alternative)]) -> Vec<Case> {
    let mut case = |exit| Case { needs: needs(view, exit), leaves: leaves(view, exit), masks: masks(view, exit) };
    let cases: Vec<Case> = handed.iter().map(&mut case).collect();
    let is_split = view.config.rules.applies(Rule::SeparateCases, cases.len() > 1);
    Case::merge(cases, if is_split { BOUNDS.cases } else { 1 })
}

/// What is known at an exit of what the caller gave, and of the result.
fn needs(view: &mut View<'_>, (exit, alternative): &(InstId, Alternative)) -> Vec<Known> {
    let mut needs = Vec::new();
    let result = match class(view, *exit, alternative) {
        ResultClass::Known(relation) => Some(relation),
        // What ends an iteration is the constant null, and no element.
        ResultClass::Unknown if gives_element(view, *exit) => {
            view.config.rules.applies(Rule::ElementResults, true).then_some(Relation::NONZERO)
        }
        // Where failure is told by a negative number, what is computed is none.
        ResultClass::Unknown => {
            let is_told = tells_failure_by_sign(view, *exit);
            view.config.rules.applies(Rule::FailureBySign, is_told).then_some(Relation::at_least(0))
        }
    };
    needs.extend(result.map(|relation| (AccessPath::root(PathRoot::Return), relation)));
    let exclusions = excluded_results(view, *exit, alternative).into_iter();
    let excluded = exclusions.map(|relation| (AccessPath::root(PathRoot::Return), relation));
    needs.extend(excluded.filter(|(_, relation)| result.is_some_and(|known| !known.implies(*relation))));
    for known in facts_of_caller(view, *exit, alternative) {
        if !needs.contains(&known) {
            needs.push(known);
        }
    }
    needs.truncate(BOUNDS.case_conditions);
    needs
}

/// The constants that a result is known not to be at an exit: `fork()` gave neither 0 nor -1.
fn excluded_results(view: &mut View<'_>, exit: InstId, alternative: &Alternative) -> Vec<Relation> {
    let Inst::Return { value: Some(value) } = view.body.insts[exit] else { return Vec::new() };
    view.keys.here = (view.homes[exit], exit);
    let Some(key) = view.keys.of_operand(view.body, &view.values, value) else { return Vec::new() };
    let of_result = alternative.facts.iter().filter(|fact| fact.0 == key).map(|fact| fact.1);
    of_result.filter(|relation| matches!(relation, Relation::Ne(_))).collect()
}

/// What is known at an exit of bits of the arguments.
fn masks(view: &View<'_>, (_, alternative): &(InstId, Alternative)) -> Vec<(AccessPath, i64, Relation)> {
    let mask = |(key, relation): &crate::facts::Fact| {
        let Key::Binary(BinaryOp::And, of, mask) = view.keys.get(*key) else { return None };
        let Key::Inst(inst) = view.keys.get(of) else { return None };
        match view.body.insts[inst] {
            Inst::Param { index, .. } => Some((AccessPath::root(PathRoot::Param(index)), mask, *relation)),
            _ => None,
        }
    };
    alternative.facts.iter().filter_map(mask).take(BOUNDS.case_conditions).collect()
}

/// Whether some return of the function gives back a negative constant, and this one does not.
/// Whether a function gives back a pointer at an exit that it has read from memory, and the constant null at another.
fn gives_element(view: &View<'_>, exit: InstId) -> bool {
    let returned = |inst: &Inst| match inst {
        Inst::Return { value } => *value,
        _ => None,
    };
    let is_null = |value: Operand| matches!(view.body.constant(value), Some(Constant::Null));
    let is_read = |value: InstId| matches!(view.body.insts[value], Inst::Load { ty: Type::Ptr, .. });
    returned(&view.body.insts[exit]).and_then(Operand::value).is_some_and(is_read)
        && view.body.insts.values().filter_map(returned).any(is_null)
}

fn tells_failure_by_sign(view: &View<'_>, exit: InstId) -> bool {
    let constant = |inst: &Inst| match inst {
        Inst::Return { value: Some(value) } => view.body.constant(*value).and_then(number_of),
        _ => None,
    };
    let is_number = match view.body.insts[exit] {
        Inst::Return { value: Some(value) } => matches!(view.body.operand_type(value), Type::Int(_)),
        _ => false,
    };
    is_number && view.body.insts.values().filter_map(constant).any(|number| number < 0)
}

/// Whether in every case a block needs something of the arguments that is known not to hold at an exit.
pub(crate) fn lacks(view: &mut View<'_>, cases: &[Case], exit: &(InstId, Alternative)) -> bool {
    let is_argument = |path: &AccessPath| path.steps.is_empty() && matches!(path.root, PathRoot::Param(_));
    let facts = facts_of_caller(view, exit.0, &exit.1);
    let is_excluded = |(path, relation): &Known| {
        is_argument(path) && facts.iter().any(|f| f.0 == *path && f.1.contradicts(*relation))
    };
    !cases.is_empty() && cases.iter().all(|case| case.needs.iter().any(is_excluded))
}

/// What is known of each argument wherever the function returns.
pub(crate) fn known_at_all(view: &mut View<'_>, exits: &[(InstId, Alternative)]) -> Vec<(u32, Relation)> {
    let mut known: Option<Vec<Known>> = None;
    for (exit, alternative) in exits {
        let mut facts = facts_of_caller(view, *exit, alternative);
        facts.retain(|(path, _)| path.steps.is_empty());
        match &mut known {
            None => known = Some(facts),
            Some(known) => known.retain(|k| facts.iter().any(|f| f.0 == k.0 && f.1.implies(k.1))),
        }
    }
    let argument = |(path, relation): Known| match path.root {
        PathRoot::Param(index) => Some((index, relation)),
        _ => None,
    };
    let mut arguments: Vec<(u32, Relation)> = known.into_iter().flatten().filter_map(argument).collect();
    arguments.sort();
    arguments.dedup();
    arguments
}

/// What a caller finds in its memory at an exit, where the function has written there.
fn leaves(view: &mut View<'_>, (exit, alternative): &(InstId, Alternative)) -> Vec<Known> {
    let here = (view.homes[*exit], *exit);
    let mut leaves = Vec::new();
    for &(key, relation) in &alternative.facts {
        let Key::Loaded(cell) = view.keys.get(key) else { continue };
        let is_parameters = matches!(view.values.root(cell.base), ValueNode::Param(_));
        if is_parameters && (is_in_result(view, cell) || !view.is_initial(cell, here)) {
            leaves.extend(view.values.cell_path(cell).map(|path| (path, relation)));
        }
    }
    leaves.sort();
    leaves.dedup();
    leaves.truncate(BOUNDS.case_conditions);
    leaves
}

/// What is known at an exit of values as the caller gave them. What is loaded from memory the caller may not have written is
/// hidden.
fn facts_of_caller(view: &mut View<'_>, exit: InstId, alternative: &Alternative) -> Vec<(AccessPath, Relation)> {
    known_on_entry(view, exit, &alternative.facts)
}

/// Which facts at an instruction are about values as the caller gave them.
pub(crate) fn known_on_entry(view: &mut View<'_>, at: InstId, known: &FactList) -> Vec<Known> {
    let here = (view.homes[at], at);
    let mut facts = Vec::new();
    for &(key, relation) in known {
        let path = match view.keys.get(key) {
            Key::Inst(inst) => match view.body.insts[inst] {
                Inst::Param { index, .. } => Some(AccessPath::root(PathRoot::Param(index))),
                // Read before the function wrote there.
                Inst::Load { address, .. } => {
                    let cell = view.values.of_operand(address);
                    let before = (view.homes[inst], inst);
                    cell.filter(|cell| view.is_initial(*cell, before)).and_then(|cell| view.values.cell_path(cell))
                }
                _ => None,
            },
            Key::Loaded(cell) if view.is_initial(cell, here) => view.values.cell_path(cell),
            Key::Loaded(cell) if relation == Relation::ZERO && view.is_first_filled(cell) => {
                view.values.cell_path(cell)
            }
            Key::Initial(cell) => view.values.cell_path(cell),
            _ => None,
        };
        facts.extend(path.filter(|path| !is_result(view, path)).map(|path| (path, relation)));
    }
    facts
}

/// Whether a cell is in the object that the function gives back by value. Its caller has given nothing there.
fn is_in_result(view: &View<'_>, cell: Cell) -> bool {
    matches!(view.values.root(cell.base), ValueNode::Param(index) if view.is_result(index))
}

fn is_result(view: &View<'_>, path: &AccessPath) -> bool {
    matches!(path.root, PathRoot::Param(index) if view.is_result(index))
}

/// The value returned at an exit.
pub(crate) fn returned(view: &View<'_>, exit: InstId) -> Option<Operand> {
    match view.body.insts[exit] {
        Inst::Return { value } => value,
        _ => None,
    }
}
