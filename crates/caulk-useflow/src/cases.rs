//! The cases in which a call hands out a block, each a start of its own for the object.

use caulk_ir::InstId;
use caulk_memory::{AccessPath, Cell, Class, Offset, Relation};
use caulk_summary::Case;
use caulk_summary::birth::{Maker, enter, leave};

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
    cases.iter().any(|case| enter(&mut ByArguments { view, call }, &mut (), case))
}

/// What must have been known before the call, and of its result. None: the case cannot be here. The second: it needs a null
/// that the function's own caller would have to give.
fn facts_of_case(
    view: &mut View<'_>,
    case: &Case,
    mut before: FactList,
    object: &mut Fresh,
) -> Option<(FactList, bool)> {
    let mut here = Here { view, object, is_choice: false };
    enter(&mut here, &mut before, case).then_some((before, here.is_choice))
}

/// What the constants and addresses that a call passes tell by themselves.
struct ByArguments<'v, 'a> {
    view: &'v mut View<'a>,
    call: InstId,
}

impl Maker for ByArguments<'_, '_> {
    type Path = ();

    fn number(&mut self, (): &(), value: &AccessPath) -> Option<i64> {
        number_given(self.view, self.call, value)
    }

    fn need(&mut self, (): &mut (), value: &AccessPath, relation: Relation) -> bool {
        let Some(Resolved::Operand(operand)) = self.view.resolve(self.call, value) else { return true };
        self.view.evident(operand).is_none_or(|known| !known.contradicts(relation))
    }

    fn find(&mut self, (): &mut (), _: &AccessPath, _: Relation) -> bool {
        true
    }
}

/// What is known where an object is made.
struct Here<'v, 'a> {
    view: &'v mut View<'a>,
    object: &'v mut Fresh,
    /// A null is needed that the function's own caller would have to give.
    is_choice: bool,
}

impl Maker for Here<'_, '_> {
    type Path = FactList;

    fn number(&mut self, _: &FactList, value: &AccessPath) -> Option<i64> {
        number_given(self.view, self.object.call, value)
    }

    fn need(&mut self, before: &mut FactList, value: &AccessPath, relation: Relation) -> bool {
        let Some(facts) = given(self.view, self.object.call, value, relation) else { return false };
        self.is_choice |= rests_on_null_parameter(self.view, &facts, before);
        facts.into_iter().all(|(key, relation)| {
            if let Key::Loaded(cell) = self.view.keys.get(key)
                && self.object.first.cells.contains(&cell)
            {
                note_filled(self.view, cell, relation, self.object);
            }
            learn(before, (key, relation), self.view.config.max_facts)
        })
    }

    fn find(&mut self, after: &mut FactList, place: &AccessPath, relation: Relation) -> bool {
        let Some(Resolved::Cell(cell)) = self.view.resolve(self.object.call, place) else { return true };
        if !self.object.first.cells.contains(&cell) {
            let key = self.view.keys.of_cell(cell);
            after.retain(|fact| fact.0 != key);
            learn(after, (key, relation), self.view.config.max_facts);
        }
        true
    }
}

/// The constant that a call passes.
fn number_given(view: &mut View<'_>, call: InstId, value: &AccessPath) -> Option<i64> {
    let Some(Resolved::Operand(operand)) = view.resolve(call, value) else { return None };
    view.body.constant(operand).and_then(number_of)
}

/// Remembers what the function's own caller must have left in the place that the object is put into.
fn note_filled(view: &mut View<'_>, cell: Cell, relation: Relation, object: &mut Fresh) {
    let here = (view.homes[object.call], object.call);
    let was_null = relation == Relation::ZERO && view.is_first_filled(cell);
    if (was_null || view.is_initial(cell, here))
        && let Some(path) = view.values.cell_path(cell)
        && !object.filled.iter().any(|known| known.0 == path && known.1 == relation)
    {
        object.filled.push((path, relation));
    }
}

/// What is known once the call is done.
fn after_call(view: &mut View<'_>, case: &Case, mut facts: FactList, object: &mut Fresh) -> FactList {
    view.forget_written(object.call, &mut facts);
    // What was there before is not there any more, where the object itself is put.
    let is_filled = |key| matches!(view.keys.get(key), Key::Loaded(cell) if object.first.cells.contains(&cell));
    facts.retain(|fact| !is_filled(fact.0));
    leave(&mut Here { view, object, is_choice: false }, &mut facts, case);
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
