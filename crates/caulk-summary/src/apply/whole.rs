//! A call as a whole: what happens in which order, on all paths that come of it.

use caulk_memory::{AccessPath, Offset, PathRoot, Relation};

use super::{Domain, Paths, part_by_store, take_part};
use crate::{Action, Destination, Guard, Subject, Summary};

/// Does to a path what a call does to it. `is_unknown`: unknown code may be called as well. Paths that are split off are given to `others`. False:
/// nothing is left of the path itself.
///
/// What the callee decides by what it was given is decided by what was there before it wrote.
pub fn call<D: Domain>(
    domain: &mut D,
    summary: &Summary,
    is_unknown: bool,
    path: &mut D::Path,
    others: &mut Paths<D::Path>,
) -> bool {
    if !comes_back(domain, path, summary) {
        return false;
    }
    domain.begin(path);
    if !learn_result(domain, path, summary) {
        return false;
    }
    if is_unknown {
        domain.give_away(path);
    }
    let first = others.len();
    let goes_on = take_part(domain, summary, path, others);
    domain.end_actions(path, goes_on, others);
    let split: Paths<D::Path> = others.drain(first..).collect();
    for mut other in split {
        if store(domain, summary, &mut other, others) {
            others.push(other);
        }
    }
    goes_on && store(domain, summary, path, others)
}

/// Whether a call comes back on a path; learns what must hold for that.
pub(super) fn comes_back<D: Domain>(domain: &mut D, path: &mut D::Path, summary: &Summary) -> bool {
    let mut demands = summary.demands.iter();
    !summary.no_return && demands.all(|(param, relation)| domain.assume_argument(path, *param, *relation))
}

/// Learns what the call gives back for certain. False where that cannot be.
pub(super) fn learn_result<D: Domain>(domain: &mut D, path: &mut D::Path, summary: &Summary) -> bool {
    // A container that holds the object is not empty, and the length of a list that is there is not zero.
    let contents = summary.holding.filter(|_| domain.is_in_container(path));
    let is_list = summary.counts && domain.has_first_argument(path);
    let length = is_list.then_some(Relation::Range(1, i64::from(i32::MAX)));
    summary.ensured().chain(contents).chain(length).all(|relation| domain.assume_result(path, relation))
}

/// Applies what the callee stores.
fn store<D: Domain>(domain: &mut D, summary: &Summary, path: &mut D::Path, others: &mut Paths<D::Path>) -> bool {
    domain.begin_stores(path);
    store_from(domain, summary, 0, path, others)
}

/// Parts a path by each store that decides, from an action on, and writes what is written on each of the paths.
fn store_from<D: Domain>(
    domain: &mut D,
    summary: &Summary,
    first: usize,
    path: &mut D::Path,
    others: &mut Paths<D::Path>,
) -> bool {
    for index in first..summary.actions.len() {
        let Some(parted) = part_by_store(domain, path, summary, index) else { continue };
        if let (Some(mut stored), Destination::Store(to)) = (parted.stored, &summary.actions[index].to) {
            domain.overwrite(&mut stored, to);
            if store_from(domain, summary, index + 1, &mut stored, others) {
                others.push(stored);
            }
        }
        if !parted.may_be_left {
            return false;
        }
    }
    for case in 1..domain.cases() {
        let mut other = path.clone();
        if write(domain, summary, &mut other, case) {
            others.push(other);
        }
    }
    write(domain, summary, path, 0)
}

/// Writes what the callee writes, and learns what it leaves there for certain.
fn write<D: Domain>(domain: &mut D, summary: &Summary, path: &mut D::Path, case: usize) -> bool {
    let mut filled = summary.actions.iter().filter_map(surely_filled);
    domain.write(path, case) && filled.all(|place| domain.assume_left(path, place, Relation::NONZERO))
}

/// The place that an action fills with a fresh block whatever happens, if no load leads to it: it is the same before and after the call.
fn surely_filled(action: &Action) -> Option<&AccessPath> {
    match (&action.subject, &action.to) {
        (Subject::Alloc(_), Destination::Store(to)) if action.guard == Guard::Always => {
            let is_fixed = matches!(to.steps.as_slice(), [only] if only.offset != Offset::Any);
            (is_fixed && to.root != PathRoot::Return).then_some(to)
        }
        _ => None,
    }
}
