//! The cases in which a call hands out a block, each a start of its own for the object.

use caulk_ir::InstId;
use caulk_memory::{AccessPath, Cell, Class, Offset, Relation};
use caulk_summary::Case;

use crate::fact_list::learn;
use crate::facts::{FactList, Key, number_of};
use crate::function::{Resolved, View};
use crate::objects::{Fresh, given, rests_on_null_parameter};

/// Gives the object one start for each case that may be here. None at all: the call makes no such object here. `before`: what is
/// known when the call is reached.
pub(crate) fn start_in_cases(view: &mut View<'_>, cases: &[Case], before: FactList, object: &mut Fresh) {
    let mut is_callers_choice = true;
    for case in cases {
        let Some((facts, is_choice)) = facts_of_case(view, case, before.clone(), object) else { continue };
        is_callers_choice &= is_choice;
        let mut start = object.first.clone();
        start.facts = after_call(view, case, facts, object);
        start.facts.extend(object.first.facts.iter().copied());
        object.starts.push(start);
    }
    object.is_callers_choice |= is_callers_choice && !object.starts.is_empty();
    let told = std::mem::take(&mut object.first.facts);
    object.first.facts = after_call(view, &Case::default(), before, object);
    object.first.facts.extend(told);
}

/// Whether some case in which a call hands out a block is possible, as far as the arguments of the call tell by themselves.
pub(crate) fn may_be_made(view: &mut View<'_>, call: InstId, cases: &[Case]) -> bool {
    cases.iter().any(|case| {
        let is_excluded = |(path, relation): &(AccessPath, Relation)| {
            let Some(Resolved::Operand(operand)) = view.resolve(call, path) else { return false };
            view.evident(operand).is_some_and(|known| known.contradicts(*relation))
        };
        !case.needs.iter().any(is_excluded) && !case.masks.iter().any(|mask| excludes(view, call, mask))
    })
}

/// What must have been known before the call, and of its result. None: the case cannot be here. The second: it needs a null
/// that the function's own caller would have to give.
fn facts_of_case(
    view: &mut View<'_>,
    case: &Case,
    mut before: FactList,
    object: &mut Fresh,
) -> Option<(FactList, bool)> {
    let call = object.call;
    if case.masks.iter().any(|mask| excludes(view, call, mask)) {
        return None;
    }
    let mut is_choice = false;
    for (path, relation) in &case.needs {
        let facts = given(view, call, path, *relation)?;
        is_choice |= rests_on_null_parameter(view, &facts, &before);
        for (key, relation) in facts {
            if let Key::Loaded(cell) = view.keys.get(key)
                && object.first.cells.contains(&cell)
            {
                note_filled(view, cell, relation, object);
            }
            if !learn(&mut before, (key, relation), view.config.max_facts) {
                return None;
            }
        }
    }
    Some((before, is_choice))
}

/// Whether the constant that a call passes has not the bits that are needed.
fn excludes(view: &mut View<'_>, call: InstId, (path, mask, relation): &(AccessPath, i64, Relation)) -> bool {
    let Some(Resolved::Operand(operand)) = view.resolve(call, path) else { return false };
    let number = view.body.constant(operand).and_then(number_of);
    number.is_some_and(|number| !relation.holds(number & mask))
}

/// Remembers what the function's own caller must have left in the place that the object is put into.
fn note_filled(view: &mut View<'_>, cell: Cell, relation: Relation, object: &mut Fresh) {
    let here = (view.homes[object.call], object.call);
    if view.is_initial(cell, here)
        && let Some(path) = view.values.cell_path(cell)
        && !object.filled.iter().any(|known| known.0 == path && known.1 == relation)
    {
        object.filled.push((path, relation));
    }
}

/// What is known once the call is done.
fn after_call(view: &mut View<'_>, case: &Case, mut facts: FactList, object: &Fresh) -> FactList {
    view.forget_written(object.call, &mut facts);
    // What was there before is not there any more, where the object itself is put.
    let is_filled = |key| matches!(view.keys.get(key), Key::Loaded(cell) if object.first.cells.contains(&cell));
    facts.retain(|fact| !is_filled(fact.0));
    for (path, relation) in &case.leaves {
        let Some(Resolved::Cell(cell)) = view.resolve(object.call, path) else { continue };
        if !object.first.cells.contains(&cell) {
            let key = view.keys.of_cell(cell);
            facts.retain(|f| f.0 != key);
            learn(&mut facts, (key, *relation), view.config.max_facts);
        }
    }
    if object.is_opaque {
        count_what_is_filled(view, object.call, &object.first.cells, &mut facts);
    }
    facts
}

/// Counters beside the place that is filled are not zero then, where the callee counts: see [`crate::counters`].
pub(crate) fn count_what_is_filled(view: &mut View<'_>, call: InstId, cells: &[Cell], facts: &mut FactList) {
    let Some(site) = view.program.call_site(view.id, call) else { return };
    let program = view.program;
    let targets = program.targets(site);
    for &cell in cells {
        let (Some((ty, at)), Offset::Known(filled)) = (view.values.field(cell), cell.offset) else { continue };
        for field in &program.type_info(ty).fields {
            let sibling = Cell { offset: Offset::Known(filled - at as i64 + field.offset as i64), ..cell };
            let is_counter = view.survey.is_counter((ty, field.offset));
            if !is_counter || view.values.own_field(sibling).is_none() {
                continue;
            }
            let place = Class::of_field(program, ty, field.offset);
            let key = view.keys.of_cell(sibling);
            let is_counted = targets.iter().any(|target| view.modified.may_write(*target, place));
            if is_counted && !facts.iter().any(|fact| fact.0 == key) {
                learn(facts, (key, Relation::NONZERO), view.config.max_facts);
            }
        }
    }
}
