//! Functions without a body: their models and attributes, turned into summaries.

use std::ops::Range;

use caulk_ir::{Function, Type, Unit};
use caulk_memory::{AccessPath, Offset, PathRoot, Relation};
use caulk_models::{
    Atom, Comparison, Condition, DeclAttributes, EffectKind, FamilyId, Model, ModelPath, ModelRoot, Models, Operator,
    ParamAttributes, Pointer, Purity, Varargs,
};
use caulk_program::{FuncId, Program, is_constructor};
use caulk_summary::{Action, Alloc, Case, Depth, Destination, Guard, ParamCall, Subject, Summary};

use crate::bounds::BOUNDS;

/// The summary of a function that has no body.
pub(crate) fn summary_of(program: &Program, models: &Models, function: FuncId) -> Summary {
    let info = program.function(function);
    let unit = program.unit(info.unit);
    if let Some(model) = models.get(info.symbol) {
        return from_model(model, info.declaration);
    }
    match models.from_attributes(&declared(unit, info.declaration)) {
        Some(model) => from_model(&model, info.declaration),
        None => {
            let mut summary = unknown(info.declaration);
            spare_this(&mut summary, info.symbol, info.declaration);
            summary
        }
    }
}

/// What is known of a member function from its kind alone. A destructor ends its object and what that owns, but frees its memory
/// only where `delete` calls it. A constructor that is given nothing it could change has nowhere to leave its object. A
/// `const` member takes nothing of its object away.
fn spare_this(summary: &mut Summary, symbol: &str, declaration: &Function) {
    let this = AccessPath::root(PathRoot::Param(0));
    let is_member = symbol.starts_with("_ZN") && declaration.signature.params.first() == Some(&Type::Ptr);
    let others = || declaration.params.iter().skip(1).filter(|p| p.pointee.depth > 0);
    let to = if !is_member {
        return;
    } else if symbol.ends_with("D0Ev") {
        Some((this.clone(), Destination::Free { deep: Depth::Deep }))
    } else if symbol.ends_with("D1Ev") || symbol.ends_with("D2Ev") {
        Some((this.clone().then(Offset::Any, None), Destination::Unknown))
    } else if symbol.starts_with("_ZNK") || (is_constructor(symbol) && others().all(|p| p.pointee.is_const)) {
        None
    } else {
        return;
    };
    summary.actions.retain(|action| action.subject != Subject::Value(this.clone()));
    summary.actions.extend(to.map(|(path, to)| Action { subject: Subject::Value(path), to, guard: Guard::Always }));
    summary.actions.sort();
}

/// Nothing is known: every pointer given may be kept.
fn unknown(declaration: &Function) -> Summary {
    let mut summary = Summary { impure: true, ..Summary::default() };
    for (index, ty) in declaration.signature.params.iter().enumerate() {
        if *ty == Type::Ptr {
            give_away(&mut summary, index);
        }
    }
    if declaration.signature.variadic {
        give_away_variadic(&mut summary, declaration);
    }
    summary
}

fn give_away_variadic(summary: &mut Summary, declaration: &Function) {
    variadic_places(declaration).for_each(|i| give_away(summary, i as usize));
}

/// The numbers of variadic arguments, which go on from the named ones.
pub(crate) fn variadic_places(declaration: &Function) -> Range<u32> {
    let named = declaration.signature.params.len() as u32;
    named..named + BOUNDS.variadic_arguments
}

fn give_away(summary: &mut Summary, index: usize) {
    let value = AccessPath::root(PathRoot::Param(index as u32));
    summary.actions.push(Action { subject: Subject::Value(value), to: Destination::Unknown, guard: Guard::Always });
}

fn declared(unit: &Unit, declaration: &Function) -> DeclAttributes {
    let param = |(index, p): (usize, &caulk_ir::Param)| ParamAttributes {
        pointer: declaration.signature.params.get(index) == Some(&Type::Ptr),
        nocapture: p.flags.no_capture,
        readonly: p.flags.read_only,
        pointer_to_const: p.pointee.depth >= 1 && p.pointee.is_const,
        returned: p.flags.returned,
    };
    let mut attributes = DeclAttributes {
        params: declaration.params.iter().enumerate().map(param).collect(),
        varargs: declaration.signature.variadic,
        malloc: declaration.flags.fresh_result,
        returns_nonnull: declaration.flags.nonnull_result,
        noreturn: declaration.flags.no_return,
        purity: match (declaration.flags.no_memory, declaration.flags.read_only) {
            (true, _) => Purity::Values,
            (_, true) => Purity::Memory,
            _ => Purity::Impure,
        },
        ..DeclAttributes::default()
    };
    for annotation in &declaration.annotations {
        annotate(&mut attributes, unit.str(*annotation));
    }
    attributes
}

/// `ownership_takes(malloc, 1)`; indices count from 1 in the source.
fn annotate(attributes: &mut DeclAttributes, annotation: &str) {
    let Some((name, rest)) = annotation.split_once('(') else { return };
    let mut words = rest.trim_end_matches(')').split(',').map(str::trim);
    let group = words.next().unwrap_or_default().to_owned();
    let indices = words.filter_map(|w| w.parse::<u8>().ok()?.checked_sub(1));
    match name {
        "ownership_returns" => attributes.ownership_returns = Some(group),
        "ownership_takes" => attributes.ownership_takes.extend(indices),
        "ownership_holds" => attributes.ownership_holds.extend(indices),
        _ => {}
    }
}

pub(crate) fn from_model(model: &Model, declaration: &Function) -> Summary {
    let mut summary = Summary {
        no_return: model.never_returns(),
        nonnull_result: model.returns_nonnull(),
        impure: model.purity == Purity::Impure,
        counts: model.counts,
        null_otherwise: model.refuses,
        ensures: ensured(model),
        ..Summary::default()
    };
    add_demands(&mut summary, model, declaration);
    for effect in &model.effects {
        if let EffectKind::Acquire { holder, at, family } = effect.kind {
            let (guard, needs) = guard_of_block(model, &effect.when);
            let block = new_block(&mut summary, family, needs);
            summary.actions.push(Action { subject: block, to: Destination::Store(inside(&holder, at)), guard });
            continue;
        }
        if let EffectKind::Alloc { into, family, zeroed, .. } = effect.kind {
            let (guard, needs) = guard_of_block(model, &effect.when);
            let block = new_block(&mut summary, family, needs);
            summary.blocks.values_mut().last().into_iter().for_each(|block| block.is_zeroed = zeroed);
            summary.actions.push(Action { subject: block, to: Destination::Store(path(&into)), guard });
            continue;
        }
        let guard = match effect.kind {
            EffectKind::Alias { into, .. } => guard_of_pointer(model, into, &effect.when),
            _ => guard_of(model, &effect.when),
        };
        add_effect(&mut summary, model, &effect.kind, guard);
    }
    if model.varargs == Some(Varargs::Keeps) {
        give_away_variadic(&mut summary, declaration);
    }
    summary.fills_further = model.varargs == Some(Varargs::Writes);
    summary.fills.sort_unstable();
    summary.fills_inside.sort_unstable();
    return_filled_places(&mut summary);
    leave_counts(&mut summary, model);
    summary.actions.sort();
    summary.actions.dedup();
    summary
}

/// Says what a call leaves in its caller's memory wherever it makes a block: the count beside it. Counts are small, so that they
/// are as large in a number of any width.
fn leave_counts(summary: &mut Summary, model: &Model) {
    let left = |comparison: &Comparison| match (comparison.place.derefs, guard_of_comparison(*comparison)) {
        (1.., Guard::ByArgument(path, relation)) if relation == Relation::at_least(1) => {
            Some((path, Relation::Range(1, i64::from(i32::MAX))))
        }
        (1.., Guard::ByArgument(path, relation)) => Some((path, relation)),
        _ => None,
    };
    let leaves: Vec<(AccessPath, Relation)> = model.ensures.iter().filter_map(left).collect();
    for case in summary.blocks.values_mut().flat_map(|block| &mut block.cases) {
        case.leaves.extend(leaves.iter().cloned());
    }
}

fn ensured(model: &Model) -> Vec<Relation> {
    let relation = |guard| match guard {
        Guard::ByResult(relation, _) => Some(relation),
        _ => None,
    };
    model.ensures.iter().filter_map(|comparison| relation(guard_of_comparison(*comparison))).collect()
}

/// Says what is given whenever the call returns: pointers that lead somewhere, numbers in a range.
fn add_demands(summary: &mut Summary, model: &Model, declaration: &Function) {
    for comparison in &model.ensures {
        let (ModelPath { root: ModelRoot::Param(param), derefs: 0, .. }, Guard::ByArgument(_, relation)) =
            (comparison.place, guard_of_comparison(*comparison))
        else {
            continue;
        };
        let is_pointer = declaration.signature.params.get(usize::from(param)) == Some(&Type::Ptr);
        match is_pointer && relation == Relation::NONZERO {
            true => summary.looks_behind.push(u32::from(param)),
            false => summary.demands.push((u32::from(param), relation)),
        }
    }
}

/// A function that gives back what is in a place gives back the block that it puts there: `d2i_X509(&x, ...)`.
fn return_filled_places(summary: &mut Summary) {
    let given_back = |to: &AccessPath| {
        let is_of_param = |a: &&Action| {
            a.subject == Subject::Value(to.clone()) && a.to == Destination::Store(AccessPath::root(PathRoot::Return))
        };
        summary.actions.iter().any(|a| is_of_param(&a))
    };
    let is_filled = |a: &&Action| match (&a.subject, &a.to) {
        (Subject::Alloc(_), Destination::Store(to)) => !to.steps.is_empty() && given_back(to),
        _ => false,
    };
    let returned = |a: &Action| Action { to: Destination::Store(AccessPath::root(PathRoot::Return)), ..a.clone() };
    let filled: Vec<Action> = summary.actions.iter().filter(is_filled).map(returned).collect();
    summary.actions.extend(filled);
}

fn add_effect(summary: &mut Summary, model: &Model, kind: &EffectKind, guard: Guard) {
    let value = |place: &ModelPath| Subject::Value(path(place));
    let action = |subject, to, guard| Action { subject, to, guard };
    match kind {
        EffectKind::Free { what, element, .. } => {
            let to = Destination::Free { deep: if element.is_some() { Depth::Deep } else { Depth::Shallow } };
            summary.actions.push(action(value(what), to, guard));
        }
        EffectKind::Resize { from, into, family, zero, .. } => {
            let guard = match (&guard, model.comparison(Atom::Success)) {
                (Guard::Always, Some(success)) => guard_of_comparison(success),
                _ => guard,
            };
            let block = new_block(summary, *family, Vec::new());
            summary.actions.push(action(block, Destination::Store(path(into)), guard.clone()));
            // What the old block held is in the new one now.
            summary.actions.push(action(value(from), Destination::Free { deep: Depth::Deep }, guard));
            let is_nothing = |size: &ModelPath| Guard::ByArgument(path(size), Relation::ZERO);
            let freed = |size| action(value(from), Destination::Free { deep: Depth::Deep }, is_nothing(size));
            summary.actions.extend(zero.iter().map(freed));
        }
        EffectKind::Alias { into, of: of @ (Pointer::Value(place) | Pointer::Inside(place)) } => {
            if matches!(of, Pointer::Inside(_)) && !into.is_ret() {
                summary.somewhere_inside.push(path(into));
            }
            summary.actions.push(action(value(place), Destination::Store(path(into)), guard));
        }
        EffectKind::Write { what: ModelPath { root: ModelRoot::Param(param), derefs: 0, .. } } => {
            summary.fills.push(u32::from(*param));
        }
        EffectKind::Write { what: ModelPath { root: ModelRoot::Param(param), derefs: 1, .. } } => {
            summary.fills_inside.push(u32::from(*param));
        }
        EffectKind::Keep { what, holder: None } | EffectKind::Store { what, .. } => {
            summary.actions.push(action(value(what), Destination::Keep, guard));
        }
        EffectKind::Keep { what, holder: Some(holder) } => {
            let to = path(holder).then(Offset::Any, None);
            summary.actions.push(action(value(what), Destination::Store(to), guard));
        }
        EffectKind::Call {
            function: ModelPath { root: ModelRoot::Param(param), derefs: 0, .. },
            with,
            later: false,
        } => {
            let args = with.iter().map(passed).collect();
            summary.calls.push(ParamCall { param: u32::from(*param), args, open: true });
        }
        EffectKind::Release { holder, at, .. } => {
            let held = Subject::Value(inside(holder, *at));
            summary.actions.push(action(held, Destination::Free { deep: Depth::Shallow }, guard));
        }
        EffectKind::Alloc { .. }
        | EffectKind::Acquire { .. }
        | EffectKind::Alias { .. }
        | EffectKind::Copy { .. }
        | EffectKind::Write { .. }
        | EffectKind::Call { .. } => {}
    }
}

/// What a library function passes to a function it is given, where the caller has a name for it.
fn passed(pointer: &Pointer) -> Option<AccessPath> {
    match pointer {
        Pointer::Value(place) => Some(path(place)),
        // Whatever is in it, over any number of links.
        Pointer::Reachable(place) => Some(path(place).then(Offset::Any, None)),
        _ => None,
    }
}

/// What a function gives back is a new block of the caller's, unless it is null.
pub(crate) fn give_result(summary: &mut Summary, family: FamilyId) {
    let result = AccessPath::root(PathRoot::Return);
    if summary.actions.iter().any(|action| action.to == Destination::Store(result.clone())) {
        return;
    }
    let subject = new_block(summary, family, Vec::new());
    summary.actions.push(Action {
        subject,
        to: Destination::Store(result),
        guard: Guard::ByResult(Relation::NONZERO, None),
    });
    summary.actions.sort();
}

fn new_block(summary: &mut Summary, family: FamilyId, needs: Vec<(AccessPath, Relation)>) -> Subject {
    let cases = vec![Case { needs, ..Case::default() }];
    Subject::Alloc(summary.blocks.push(Alloc { family, chain: Vec::new(), doubt: 0, is_zeroed: false, cases }))
}

/// The pointer in an object that leads to its hidden memory.
fn inside(holder: &ModelPath, at: u32) -> AccessPath {
    path(holder).then(Offset::Known(i64::from(at)), None)
}

fn path(place: &ModelPath) -> AccessPath {
    let root = match place.root {
        ModelRoot::Param(index) => PathRoot::Param(u32::from(index)),
        ModelRoot::Ret => PathRoot::Return,
    };
    let offset = |step| if step + 1 == place.derefs { Offset::Known(i64::from(place.offset)) } else { Offset::ZERO };
    (0..place.derefs).fold(AccessPath::root(root), |path, step| path.then(offset(step), None))
}

/// A conjunction becomes the one atom that decides most: what the caller gives (`realpath(p, NULL)`), else what it is told.
fn guard_of(model: &Model, when: &Condition) -> Guard {
    let comparisons: Vec<Comparison> = when.atoms.iter().filter_map(|atom| model.comparison(*atom)).collect();
    let given = comparisons.iter().find(|c| c.place.root != ModelRoot::Ret);
    match given.or(comparisons.first()) {
        Some(comparison) => guard_of_comparison(*comparison),
        None => Guard::Always,
    }
}

/// A new block is there if the caller is told so, and only if the caller gave what it needs: `i2d_X509(x, &p)` makes one where
/// `p` is null.
fn guard_of_block(model: &Model, when: &Condition) -> (Guard, Vec<(AccessPath, Relation)>) {
    let comparisons: Vec<Comparison> = when.atoms.iter().filter_map(|atom| model.comparison(*atom)).collect();
    let Some(told) = comparisons.iter().find(|c| c.place.is_ret()) else { return (guard_of(model, when), Vec::new()) };
    let guards = comparisons.iter().map(|c| guard_of_comparison(*c));
    let given = guards.filter_map(|guard| match guard {
        Guard::ByArgument(path, relation) => Some((path, relation)),
        _ => None,
    });
    (guard_of_comparison(*told), given.collect())
}

/// What is given back and may be null is so if it is not null, whatever else decides; who finds null knows nothing of the rest.
fn guard_of_pointer(model: &Model, into: ModelPath, when: &Condition) -> Guard {
    let mut comparisons = when.atoms.iter().filter_map(|atom| model.comparison(*atom));
    let deciding = match into.is_ret() {
        true => comparisons.find(|c| c.place.is_ret()),
        // `strtol(s, NULL, 10)` stores nothing.
        false => comparisons.find(|c| !c.place.is_ret()),
    };
    deciding.map_or(Guard::Always, guard_of_comparison)
}

/// Functions of C that tell success by a result that is not negative tell failure by -1; where it is positive, by 0.
fn failure_of(success: Relation) -> Option<Relation> {
    let is_positive = [Relation::Eq(1), Relation::at_least(1)].contains(&success);
    match success == Relation::at_least(0) {
        true => Some(Relation::Eq(-1)),
        false => is_positive.then_some(Relation::ZERO),
    }
}

fn guard_of_comparison(comparison: Comparison) -> Guard {
    let value = comparison.value;
    let relation = match comparison.operator {
        Operator::Eq => Some(Relation::Eq(value)),
        Operator::Ne => Some(Relation::Ne(value)),
        Operator::Lt => Relation::less(value),
        Operator::Le => Some(Relation::at_most(value)),
        Operator::Gt => Relation::greater(value),
        Operator::Ge => Some(Relation::at_least(value)),
    };
    match (relation, comparison.place.root, comparison.place.derefs) {
        (Some(relation), ModelRoot::Ret, 0) => Guard::ByResult(relation, failure_of(relation)),
        (Some(relation), ModelRoot::Param(_), _) => Guard::ByArgument(path(&comparison.place), relation),
        _ => Guard::Opaque,
    }
}
