//! One finding for one cause: leaks that one change of the source fixes are one finding, with the others listed in it.
//!
//! - What one statement loses of one variable is one mistake, whichever allocation the variable came from; the fields of a structure
//!   that is a variable count as that variable.
//! - Fields that one destructor misses, or that are lost when one structure is freed, are one mistake.
//! - Where every caller of a function loses what it hands out, the function is at fault and not each of its callers.
//! - Where one function loses what one callee hands out to one variable, again and again, the use of that callee is the mistake:
//!   a buffer that is made larger at thirty places is lost at all of them or at none. So is one that a macro makes larger there by
//!   `p = realloc(p, size)`.
//!
//! The surest leak stands for the others. What is suppressed or known already is never merged with what is not.

use std::cmp::Reverse;
use std::collections::BTreeMap;

use crate::finding::{BaselineState, Call, Cause, Finding, Kind, RelatedLeak, Site};
use crate::suppress::Suppression;

/// Leaking callers below which each is a mistake of its own.
const MIN_CALLERS: usize = 3;

/// Leaking calls of one callee for one variable below which each is a mistake of its own.
const MIN_CALLS: usize = 3;

/// What leaks of one statement have in common.
#[derive(PartialEq, Eq, PartialOrd, Ord)]
struct Statement {
    place: Site,
    /// None for fields that go with their structure: there the structure is what matters.
    variable: Option<String>,
    kind: Kind,
    suppression: Option<Suppression>,
    baseline: Option<BaselineState>,
}

/// What leaks have in common that a callee may be to blame for: the call inside of it that makes the block.
#[derive(PartialEq, Eq, PartialOrd, Ord)]
struct LosingCallee {
    name: String,
    inside: Call,
    kind: Kind,
    suppression: Option<Suppression>,
    baseline: Option<BaselineState>,
}

/// What leaks have in common that one function makes with one callee.
#[derive(PartialEq, Eq, PartialOrd, Ord)]
struct Use {
    callee: LosingCallee,
    file: String,
    function: String,
    variable: String,
}

/// Findings of one cause become one. The order of the result is not defined.
pub(crate) fn merge(findings: Vec<Finding>) -> Vec<Finding> {
    let (named, mut result) = findings.into_iter().partition::<Vec<_>, _>(|finding| statement(finding).is_some());
    let mut statements: BTreeMap<Option<Statement>, Vec<Finding>> = BTreeMap::new();
    for finding in named {
        statements.entry(statement(&finding)).or_default().push(finding);
    }
    result.extend(statements.into_values().filter_map(one));
    merge_uses(merge_callers(result))
}

fn merge_uses(findings: Vec<Finding>) -> Vec<Finding> {
    let mut uses: BTreeMap<Option<Use>, Vec<Finding>> = BTreeMap::new();
    for finding in findings {
        uses.entry(use_of_callee(&finding)).or_default().push(finding);
    }
    let mut result = uses.remove(&None).unwrap_or_default();
    for group in uses.into_values() {
        match group.len() >= MIN_CALLS {
            true => result.extend(one(group)),
            false => result.extend(group),
        }
    }
    result
}

fn use_of_callee(finding: &Finding) -> Option<Use> {
    Some(Use {
        callee: callee(finding).or_else(|| failing_renewal(finding))?,
        file: finding.loss.file.clone(),
        function: finding.loss.function.clone(),
        variable: finding.variable.clone()?,
    })
}

/// What statements such as `p = realloc(p, size)` have in common, which lose the block where they fail.
fn failing_renewal(finding: &Finding) -> Option<LosingCallee> {
    let (made, lost) = (&finding.allocation, &finding.loss);
    let is_renewal = finding.needs_alloc_failure && (&made.site.file, made.site.line) == (&lost.file, lost.line);
    is_renewal.then(|| LosingCallee {
        name: made.callee.clone(),
        inside: Call { site: Site { line: 0, column: 0, ..lost.clone() }, callee: made.callee.clone() },
        kind: finding.kind,
        suppression: finding.suppression.clone(),
        baseline: finding.baseline,
    })
}

fn statement(finding: &Finding) -> Option<Statement> {
    let is_holder = matches!(finding.cause, Cause::HolderFreed | Cause::FieldMissed | Cause::FieldPassedOver);
    if !is_holder && finding.variable.is_none() {
        return None;
    }
    Some(Statement {
        place: finding.loss.clone(),
        variable: finding.variable.as_deref().filter(|_| !is_holder).map(whole),
        kind: finding.kind,
        suppression: finding.suppression.clone(),
        baseline: finding.baseline,
    })
}

/// `s` for `s.name`.
fn whole(variable: &str) -> String {
    variable.split('.').next().unwrap_or(variable).to_owned()
}

fn merge_callers(findings: Vec<Finding>) -> Vec<Finding> {
    let (called, mut result) = findings.into_iter().partition::<Vec<_>, _>(|finding| callee(finding).is_some());
    let mut callees: BTreeMap<Option<LosingCallee>, Vec<Finding>> = BTreeMap::new();
    for finding in called {
        callees.entry(callee(&finding)).or_default().push(finding);
    }
    for group in callees.into_values() {
        if is_callees_fault(&group) {
            result.extend(one(group));
        } else {
            result.extend(group);
        }
    }
    result
}

fn callee(finding: &Finding) -> Option<LosingCallee> {
    Some(LosingCallee {
        name: finding.allocation.callee.clone(),
        inside: finding.chain.first()?.clone(),
        kind: finding.kind,
        suppression: finding.suppression.clone(),
        baseline: finding.baseline,
    })
}

/// Whether all functions that call it lose what it hands out: where one of them frees it, the others forgot to.
fn is_callees_fault(group: &[Finding]) -> bool {
    let mut leaking: Vec<&Site> = group.iter().map(|finding| &finding.loss).collect();
    leaking.sort_by_key(|site| (&site.file, &site.function));
    leaking.dedup_by_key(|site| (&site.file, &site.function));
    let callers = group.iter().map(|finding| finding.callers).max().unwrap_or(0);
    leaking.len() >= MIN_CALLERS && leaking.len() >= callers
}

/// The surest of a group, with the others in it.
fn one(mut group: Vec<Finding>) -> Option<Finding> {
    group.sort_by_cached_key(|f| (f.loss.clone(), f.variable.clone(), f.allocation.clone(), f.chain.clone()));
    let worth = |i: &usize| (Reverse(group[*i].confidence), group[*i].needs_alloc_failure, *i);
    let best = (0..group.len()).min_by_key(worth)?;
    let mut finding = group.remove(best);
    for mut other in group {
        let further = std::mem::take(&mut other.same_cause);
        finding.same_cause.push(related(other));
        finding.same_cause.extend(further);
    }
    Some(finding)
}

fn related(finding: Finding) -> RelatedLeak {
    RelatedLeak {
        kind: finding.kind,
        variable: finding.variable,
        loss: finding.loss,
        reason: finding.reason,
        allocation: finding.allocation,
        confidence: finding.confidence,
        needs_alloc_failure: finding.needs_alloc_failure,
        fingerprint: finding.fingerprint,
        shape: finding.shape,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::finding::example;

    fn at(function: &str, line: u32) -> Site {
        Site { file: "a.c".to_owned(), line, column: 1, function: function.to_owned() }
    }

    fn leak(made: u32, lost: u32, variable: &str) -> Finding {
        let allocation = Call { site: at("f", made), callee: "malloc()".to_owned() };
        Finding { variable: Some(variable.to_owned()), loss: at("f", lost), allocation, ..example() }
    }

    /// Line of loss, and the lines of allocation of all leaks in it.
    fn merged(findings: Vec<Finding>) -> Vec<(u32, Vec<u32>)> {
        let mut all: Vec<(u32, Vec<u32>)> = merge(findings)
            .iter()
            .map(|f| {
                let others = f.same_cause.iter().map(|other| other.allocation.site.line);
                (f.loss.line, [f.allocation.site.line].into_iter().chain(others).collect())
            })
            .collect();
        all.sort();
        all
    }

    #[test]
    fn one_variable_lost_by_one_statement() {
        let findings = vec![leak(1, 9, "p"), leak(2, 9, "p"), leak(3, 9, "q"), leak(1, 12, "p")];
        assert_eq!(merged(findings), [(9, vec![1, 2]), (9, vec![3]), (12, vec![1])]);
    }

    #[test]
    fn what_has_no_name_is_not_merged() {
        let nameless = |made| Finding { variable: None, ..leak(made, 9, "") };
        assert_eq!(merged(vec![nameless(1), nameless(2)]), [(9, vec![1]), (9, vec![2])]);
    }

    #[test]
    fn fields_of_one_destructor() {
        let field = |made, name| Finding { cause: Cause::FieldMissed, kind: Kind::Lost, ..leak(made, 9, name) };
        assert_eq!(merged(vec![field(1, "s.a"), field(2, "s.b")]), [(9, vec![1, 2])]);
    }

    #[test]
    fn what_is_known_is_not_merged_with_what_is_new() {
        let known = Finding { baseline: Some(BaselineState::Unchanged), ..leak(1, 9, "p") };
        let new = Finding { baseline: Some(BaselineState::New), ..leak(2, 9, "p") };
        assert_eq!(merged(vec![known, new]), [(9, vec![1]), (9, vec![2])]);
    }

    fn caller(number: u32, callers: usize) -> Finding {
        let chain = vec![Call { site: at("make", 3), callee: "malloc()".to_owned() }];
        let loss = at(&format!("f{number}"), number);
        Finding { loss, chain, callers, ..leak(number, number, "p") }
    }

    #[test]
    fn a_callee_that_all_callers_lose_the_block_of() {
        let lines = |count: u32, callers| merged((10..10 + count).map(|n| caller(n, callers)).collect()).len();
        assert_eq!(lines(4, 4), 1);
        assert_eq!(lines(4, 5), 4);
        assert_eq!(lines(2, 2), 2);
    }

    #[test]
    fn one_variable_that_one_callee_fills_again_and_again() {
        let filled = |line: u32, variable: &str| {
            let chain = vec![Call { site: at("grow", 3), callee: "malloc()".to_owned() }];
            Finding { chain, callers: 1, ..leak(line, line, variable) }
        };
        assert_eq!(merged(vec![filled(1, "p"), filled(2, "p"), filled(3, "p"), filled(4, "q")]).len(), 2);
        assert_eq!(merged(vec![filled(1, "p"), filled(2, "p"), filled(3, "q")]).len(), 3);
        assert_eq!(merged(vec![leak(1, 1, "p"), leak(2, 2, "p"), leak(3, 3, "p")]).len(), 3);
        let renewed = |line| Finding { needs_alloc_failure: true, ..leak(line, line, "p") };
        assert_eq!(merged(vec![renewed(1), renewed(2), renewed(3)]).len(), 1);
    }

    #[test]
    fn the_surest_stands_for_the_others() {
        let unsure = Finding { confidence: crate::finding::Confidence::Medium, ..leak(1, 9, "p") };
        assert_eq!(merged(vec![unsure, leak(2, 9, "p")]), [(9, vec![2, 1])]);
    }
}
