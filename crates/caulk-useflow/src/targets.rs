//! Calls that may reach several functions: one effect of what each of them does.

use std::collections::{BTreeMap, BTreeSet};

use caulk_memory::{AccessPath, PathRoot, Relation};
use caulk_rules::{Rule, Rules};
use caulk_summary::{Action, Alloc, AllocId, Case, Destination, Guard, Subject, Summary};
use smallvec::SmallVec;

use crate::bounds::BOUNDS;
use crate::objects::is_out_pointer;

/// The effect of a call that may reach several functions: what all do is certain; what some do takes the argument all the
/// same. If there are too many to tell what each does, what some of them take is given to unknown code.
pub(crate) fn combine(summaries: &[&Summary], many: bool, rules: &Rules) -> Summary {
    // After the call, only what those did counts that come back.
    let returning: SmallVec<[&Summary; 4]> = summaries.iter().copied().filter(|s| !s.no_return).collect();
    let taken_by_throws: BTreeSet<u32> = summaries.iter().flat_map(|s| s.taken_by_throws.iter().copied()).collect();
    let summaries = if returning.is_empty() { summaries } else { &returning };
    let (first, rest) = match summaries {
        [] => return Summary::default(),
        [first, rest @ ..] => (*first, rest),
    };
    let mut result = Summary {
        no_return: summaries.iter().all(|s| s.no_return),
        throws: summaries.iter().map(|s| s.throws).min().unwrap_or_default(),
        taken_by_throws: taken_by_throws.into_iter().collect(),
        nonnull_result: summaries.iter().all(|s| s.nonnull_result),
        null_otherwise: summaries.iter().any(|s| s.null_otherwise),
        written_blindly: first
            .written_blindly
            .iter()
            .copied()
            .filter(|i| rest.iter().all(|s| s.written_blindly.contains(i)))
            .collect(),
        result_inside: first.result_inside.filter(|known| rest.iter().all(|s| s.result_inside == Some(*known))),
        impure: true,
        cut: summaries.iter().any(|s| s.cut),
        loosely_told: summaries.iter().any(|s| s.loosely_told),
        ..Summary::default()
    };
    let shared = |action: &Action| rest.iter().all(|s| s.actions.iter().any(|a| like(a, action)));
    // One block in several places (`begin`, `end`) stays one.
    let mut blocks: BTreeMap<AllocId, AllocId> = BTreeMap::new();
    for action in &first.actions {
        if let Subject::Alloc(block) = action.subject {
            // Only an allocation that every target makes is one the caller must see to.
            if shared(action) {
                let id = *blocks.entry(block).or_insert_with(|| result.blocks.push(first.blocks[block].clone()));
                result.actions.push(Action { subject: Subject::Alloc(id), ..action.clone() });
            }
        } else if shared(action) {
            result.actions.push(action.clone());
        }
    }
    if many {
        give_rest_to_unknown(summaries, &mut result);
    } else {
        for summary in summaries {
            for action in &summary.actions {
                let taken =
                    matches!(action.subject, Subject::Value(_)) && !result.actions.iter().any(|a| like(a, action));
                if taken {
                    result.actions.push(Action { guard: Guard::Unsure, ..action.clone() });
                }
            }
        }
    }
    if rules.is_on(Rule::CommonOutPointers) {
        let added = add_common(summaries, &mut result, |to, guard| is_out_pointer(to) && *guard != Guard::Unsure);
        rules.note(Rule::CommonOutPointers, added);
    }
    result.actions.sort();
    result.actions.dedup();
    result
}

/// Adds the block that most of the methods return which a virtual call may reach. Gives their number.
pub(crate) fn add_common_results(summaries: &[&Summary], result: &mut Summary) -> usize {
    let is_result = |to: &AccessPath| to.root == PathRoot::Return && to.steps.is_empty();
    let added = add_common(summaries, result, |to, guard| is_result(to) && !guard.is_hidden());
    result.actions.sort();
    added
}

/// Adds the blocks that most of the functions may put into a variable of the caller, `table[i].parse(args, &message)`, or return. Whether the
/// one that is called does so nothing tells, but the cases say what it then returns. Gives their number.
fn add_common(summaries: &[&Summary], result: &mut Summary, is_wanted: impl Fn(&AccessPath, &Guard) -> bool) -> usize {
    let mut makers: BTreeMap<PathRoot, Vec<(&Summary, &Action)>> = BTreeMap::new();
    for summary in summaries {
        for action in &summary.actions {
            let (Subject::Alloc(_), Destination::Store(to)) = (&action.subject, &action.to) else { continue };
            if is_wanted(to, &action.guard) {
                makers.entry(to.root).or_default().push((summary, action));
            }
        }
    }
    let mut added = 0;
    for made in makers.values() {
        let Destination::Store(to) = &made[0].1.to else { continue };
        let is_told = |a: &Action| matches!((&a.subject, &a.to), (Subject::Alloc(_), Destination::Store(t)) if t == to);
        let count =
            made.iter().enumerate().filter(|(i, (s, _))| !made[..*i].iter().any(|m| std::ptr::eq(m.0, *s))).count();
        if 2 * count <= summaries.len() || result.actions.iter().any(is_told) {
            continue;
        }
        let blocks: Vec<(&Alloc, &Guard)> =
            made.iter().filter_map(|(s, a)| Some((block_of(s, a)?, &a.guard))).collect();
        let Some((first, _)) = blocks.first() else { continue };
        let told: Vec<Vec<Case>> =
            blocks.iter().map(|(block, guard)| block.cases.iter().map(|case| guarded(case, guard)).collect()).collect();
        let cases = usual_cases(told);
        let doubt = blocks.iter().map(|(block, _)| block.doubt).min().unwrap_or_default();
        let block = Alloc { doubt, is_zeroed: false, cases: Case::merge(cases, BOUNDS.cases), ..(*first).clone() };
        let id = result.blocks.push(block);
        result.actions.push(Action {
            subject: Subject::Alloc(id),
            to: Destination::Store(to.clone()),
            guard: Guard::Opaque,
        });
        added += 1;
    }
    added
}

/// The cases of functions behind one pointer that most of them share. Where most say by their result that there is a block, one that is
/// there when a few others fail is theirs alone: a caller tests what the usual function tells.
fn usual_cases(of_makers: Vec<Vec<Case>>) -> Vec<Case> {
    let tells = |cases: &&Vec<Case>| cases.iter().all(|case| case.result().is_some());
    let tellers: Vec<&Vec<Case>> = of_makers.iter().filter(tells).collect();
    let agrees =
        |result: Relation, cases: &[Case]| cases.iter().filter_map(Case::result).any(|other| result.implies(other));
    let is_usual = |case: &Case| {
        case.result().is_some_and(|result| {
            let agreeing = tellers.iter().filter(|cases| agrees(result, cases)).count();
            2 * agreeing > tellers.len()
        })
    };
    let usual: Vec<Case> = of_makers.iter().flatten().filter(|case| is_usual(case)).cloned().collect();
    match 2 * tellers.len() > of_makers.len() && !usual.is_empty() {
        true => usual,
        false => of_makers.into_iter().flatten().collect(),
    }
}

fn block_of<'s>(summary: &'s Summary, action: &Action) -> Option<&'s Alloc> {
    match action.subject {
        Subject::Alloc(id) => summary.blocks.get(id),
        Subject::Value(_) => None,
    }
}

/// A case with what the guard of the action says besides.
fn guarded(case: &Case, guard: &Guard) -> Case {
    let mut case = case.clone();
    match guard {
        Guard::ByResult(relation, _) if case.result().is_none() => {
            case.needs.push((AccessPath::root(PathRoot::Return), *relation));
        }
        Guard::ByArgument(path, relation) if !case.needs.iter().any(|known| known.0 == *path) => {
            case.needs.push((path.clone(), *relation));
        }
        _ => {}
    }
    case
}

/// What only some targets do to an argument, in one action for each.
fn give_rest_to_unknown(summaries: &[&Summary], result: &mut Summary) {
    let is_said = |action: &Action| result.actions.iter().any(|a| like(a, action));
    let root = |action: &Action| match &action.subject {
        Subject::Value(path) if !is_said(action) => Some(path.root),
        _ => None,
    };
    let roots: BTreeSet<PathRoot> = summaries.iter().flat_map(|s| s.actions.iter().filter_map(root)).collect();
    result.actions.extend(roots.into_iter().map(|root| Action {
        subject: Subject::Value(AccessPath::root(root)),
        to: Destination::Unknown,
        guard: Guard::Unsure,
    }));
}

fn like(a: &Action, b: &Action) -> bool {
    match (&a.subject, &b.subject) {
        (Subject::Alloc(_), Subject::Alloc(_)) => a.to == b.to,
        (Subject::Value(x), Subject::Value(y)) => {
            let same = match (&a.to, &b.to) {
                (Destination::Free { .. }, Destination::Free { .. }) => true,
                (x, y) => x == y,
            };
            x.same_place(y) && same
        }
        _ => false,
    }
}
