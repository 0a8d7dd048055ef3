//! Member functions of C++ containers: their summaries come from what the standard says of them.
//!
//! To an analysis of one element a container is an object that holds it at some offset or other.

use crate::summarize::Report;
use caulk_ir::{EntityVec, Type};
use caulk_memory::{AccessPath, Offset, PathRoot, Relation};
use caulk_models::{Member, container_member, is_iterator_member, is_self_contained, makes_node, member_name};
use caulk_program::{FuncId, Program};
use caulk_summary::{Action, Destination, Guard, Subject, Summary, Throws};

/// What is said of a member function, if it is one.
pub(crate) enum Told {
    /// All there is to know.
    Everything(Box<Summary>),
    /// What it does besides what its body says.
    Besides(Vec<Action>),
}

pub(crate) fn told(program: &Program, function: FuncId) -> Option<Told> {
    let info = program.function(function);
    // Only members of `std` and of Qt's classes have such symbols, and most programs have none of them.
    let has_start = |start: &&str| info.symbol.strip_prefix(*start).is_some_and(is_container_start);
    if !["_ZN", "_ZNK"].iter().any(has_start) {
        return None;
    }
    // The place of a result that is a structure comes last, and is nothing that the caller gives.
    let has_result = info.declaration.params.last().is_some_and(|p| p.flags.struct_return);
    let all = info.declaration.signature.params.as_slice();
    let params = &all[..all.len() - usize::from(has_result)];
    let is_pointer = |index: usize| params.get(index) == Some(&Type::Ptr);
    let class = |index: usize| info.declaration.params.get(index).and_then(|p| p.pointee.target);
    let mut summary = Summary { impure: true, is_model: true, ..Summary::default() };
    match container_member(info.name)? {
        Member::Leaves => {}
        // No container holds so much that an `int` could not count it: sizes are often passed on as one.
        Member::Counts => summary.holding = Some(Relation::Range(1, i64::from(i32::MAX))),
        Member::AsksEmpty => summary.holding = Some(Relation::ZERO),
        Member::Makes if params.len() == 1 => {}
        Member::Makes if class(0).is_some() && class(0) == class(1) => summary.actions.push(moved(elements(1))),
        Member::Adds if params.len() > 1 && is_pointer(params.len() - 1) => {
            let element = AccessPath::root(PathRoot::Param(params.len() as u32 - 1)).then(Offset::ZERO, None);
            summary.actions.push(moved(element));
        }
        Member::AddsPair if params.len() > 1 && is_pointer(params.len() - 1) => {
            summary.actions.push(moved(elements(params.len() - 1)));
        }
        // The element itself stays the caller's: `list.push_back(*item)` copies it.
        Member::Copies if params.len() > 1 && is_pointer(params.len() - 1) => {
            return Some(Told::Besides(vec![kept(params.len() - 1)]));
        }
        Member::Gives if is_pointer(0) => summary.result_inside = Some((0, Offset::Any)),
        _ => return Some(Told::Besides((0..params.len()).filter(|i| is_pointer(*i)).map(kept).collect())),
    }
    Some(Told::Everything(Box::new(summary)))
}

/// `St`, or the name of a class of four or more letters that begins with `Q`: `5QList`.
fn is_container_start(rest: &str) -> bool {
    rest.starts_with("St") || rest.trim_start_matches(|c: char| c.is_ascii_digit()).starts_with('Q')
}

/// Takes out of a summary what a container or string allocates for itself: it frees that itself, whatever its code looks like.
pub(crate) fn hide_own_memory(program: &Program, function: FuncId, report: &mut Report) {
    let info = program.function(function);
    let is_member =
        ["_ZNSt", "_ZNKSt", "_ZN9__gnu_cxx", "_ZNK9__gnu_cxx"].iter().any(|start| info.symbol.starts_with(start));
    let summary = &mut report.summary;
    if is_member && is_iterator_member(info.name) {
        summary.actions.retain(|action| action.to != Destination::Keep);
    }
    if !is_member || !is_self_contained(info.name) {
        return;
    }
    // Nodes lead back to the container, and last as long as it does.
    let is_this = |subject: &Subject| *subject == Subject::Value(AccessPath::root(PathRoot::Param(0)));
    // So do positions in it; only what always returns it returns its object.
    let is_own = |action: &Action| match &action.to {
        Destination::Keep => true,
        Destination::Store(to) => to.root != PathRoot::Return || action.guard != Guard::Always,
        _ => false,
    };
    summary.actions.retain(|action| !(is_this(&action.subject) && is_own(action)));
    summary.is_model |= makes_node(info.name);
    summary.actions.retain(|action| !matches!(action.subject, Subject::Alloc(_)));
    summary.blocks = EntityVec::new();
    report.candidates.clear();
    // Positions that are given to `substr` and its like were mostly found in the same string.
    let member = member_name(info.name);
    if !["at", "_M_range_check"].contains(&member) {
        summary.throws = Throws::No;
    }
}

/// The elements of a container.
fn elements(index: usize) -> AccessPath {
    AccessPath::root(PathRoot::Param(index as u32)).then(Offset::Any, None)
}

fn moved(what: AccessPath) -> Action {
    Action { subject: Subject::Value(what), to: Destination::Store(elements(0)), guard: Guard::Always }
}

fn kept(index: usize) -> Action {
    Action { subject: Subject::Value(elements(index)), to: Destination::Keep, guard: Guard::Always }
}
