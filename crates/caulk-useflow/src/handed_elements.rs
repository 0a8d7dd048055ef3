//! Containers that are fields and take what a method is given: `void add(Item *item) { items.push_back(item); }`.
//!
//! The method alone does not tell whether the container owns its elements. Its callers do, as for constructors ([`crate::adopted`]).

use std::collections::BTreeMap;

use caulk_ir::{Inst, InstId, Operand, Type};
use caulk_memory::{Cell, Offset, PathRoot, ValueNode};
use caulk_program::FuncId;
use caulk_summary::{Destination, Subject};
use rustc_hash::{FxHashMap, FxHashSet};

use crate::adopted::is_given_only;
use crate::function::View;
use crate::schedule::Analysis;
use crate::slots::{AllocationLine, Slot};

/// A parameter of a function.
type Param = (FuncId, u32);

/// The parameter of the function that a call puts into a container, if it is that.
pub(crate) fn added_parameter(view: &View<'_>, call: InstId) -> Option<u32> {
    let element = *view.body.insts[call].call()?.args.last()?;
    parameter(view, element).or_else(|| {
        let cell = view.values.of_operand(element)?;
        let ValueNode::Local(_) = view.values.node(cell.base) else { return None };
        let mut stored = stores_to(view, cell);
        parameter(view, stored.next()?).filter(|_| stored.next().is_none())
    })
}

fn stores_to<'v>(view: &'v View<'_>, cell: Cell) -> impl Iterator<Item = Operand> + 'v {
    view.body.insts.values().filter_map(move |inst| match inst {
        Inst::Store { value, address, .. } if view.values.of_operand(*address) == Some(cell) => Some(*value),
        _ => None,
    })
}

/// The parameter that a value is, other than the object of a method.
fn parameter(view: &View<'_>, value: Operand) -> Option<u32> {
    let cell = view.values.of_operand(value).filter(|cell| cell.offset == Offset::ZERO)?;
    match view.values.node(cell.base) {
        ValueNode::Param(index) if index > 0 => Some(index),
        _ => None,
    }
}

/// What the function gives to functions that put it into a container: fresh blocks that nothing else has, and other things.
pub(crate) fn handed_over(view: &View<'_>) -> (Vec<(Param, u32)>, Vec<Param>) {
    let (mut handed, mut lent) = (Vec::new(), Vec::new());
    for site in view.program.call_sites(view.id) {
        let [target] = view.program.targets(site) else {
            // Each of several may be meant.
            lent.extend(
                taken_parameters(view, site.inst)
                    .flat_map(|index| view.program.targets(site).iter().map(move |target| (*target, index))),
            );
            continue;
        };
        for index in taken_parameters(view, site.inst) {
            let argument = view.argument(site.inst, index).filter(|o| view.body.operand_type(*o) == Type::Ptr);
            let Some(argument) = argument.filter(|argument| view.body.constant(*argument).is_none()) else { continue };
            let made = view.values.of_operand(argument).and_then(|cell| match view.values.node(cell.base) {
                ValueNode::Opaque(made) => Some(made),
                _ => None,
            });
            match made.filter(|made| is_given_only(view, *made, site.inst, index)) {
                Some(made) => handed.push(((*target, index), view.line_below(made))),
                None => lent.push((*target, index)),
            }
        }
    }
    lent.sort_unstable();
    lent.dedup();
    handed.sort_unstable();
    handed.dedup();
    (handed, lent)
}

/// Arguments that a call puts among the elements of something that it is called on.
fn taken_parameters<'v>(view: &'v View<'_>, call: InstId) -> impl Iterator<Item = u32> + 'v {
    let actions = view.calls[call].iter().flat_map(|effect| effect.summary.actions.iter());
    actions.filter_map(|action| match (&action.subject, &action.to) {
        (Subject::Value(path), Destination::Store(to)) if path.steps.is_empty() && to.root == PathRoot::Param(0) => {
            let is_element = to.steps.last().is_some_and(|step| step.offset == Offset::Any);
            match path.root {
                PathRoot::Param(index) if is_element && index > 0 => Some(index),
                _ => None,
            }
        }
        _ => None,
    })
}

/// Containers that take parameters, with the first block that they are given, if they are given nothing else.
pub(crate) fn adopted_elements(analysis: &Analysis) -> BTreeMap<Slot, Option<AllocationLine>> {
    let uses = || analysis.reports.iter().map(|(function, report)| (function, &report.slots.shelves));
    let lent: FxHashSet<Param> = uses().flat_map(|(_, s)| s.lent.iter().copied()).collect();
    let mut handed: FxHashMap<Param, AllocationLine> = FxHashMap::default();
    for (function, shelves) in uses() {
        for (param, line) in &shelves.handed {
            handed.entry(*param).or_insert((function, *line));
        }
    }
    let mut found: BTreeMap<Slot, Option<AllocationLine>> = BTreeMap::new();
    for (function, shelves) in uses() {
        for (slot, index) in &shelves.adopted {
            let param = (function, *index);
            let origin = handed.get(&param).copied().filter(|_| !lent.contains(&param));
            let known = found.entry(*slot).or_insert(origin);
            *known = known.and(origin).and(*known);
        }
    }
    found
}
