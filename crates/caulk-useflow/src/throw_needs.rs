//! Exceptions that leave a function only where something holds that its callers know: `if (closed) throw Closed();`.

use caulk_ir::{Inst, InstId};
use caulk_memory::PathRoot;
use caulk_rules::Rule;
use caulk_summary::{Known, Throws};

use crate::bounds::BOUNDS;
use crate::exceptions::is_caught;
use crate::fact_list::learn;
use crate::facts::FactList;
use crate::function::View;
use crate::guards::known_on_entry;
use crate::history::History;
use crate::objects::given;
use crate::propagate::Propagation;

/// Drops calls that what is known on every way to them keeps from throwing, and says what must hold on entry for one of the others
/// to let an exception out.
pub(crate) fn limit_throws(view: &mut View<'_>, history: &mut History) -> Vec<Known> {
    let is_asked = view.throwing.values().any(|throws| *throws >= Throws::Check);
    if !is_asked || !view.config.rules.is_on(Rule::GuardedThrows) {
        return Vec::new();
    }
    let flow = Propagation::ends(view, history);
    if flow.is_incomplete || view.is_over_budget() {
        // Under which condition one is thrown a bound kept us from finding out: that is no reason for a finding.
        view.throwing.values_mut().for_each(|throws| *throws = (*throws).min(Throws::Check));
        return Vec::new();
    }
    let mut calls: Vec<InstId> =
        view.throwing.keys().copied().filter(|call| flow.facts_at.contains_key(call)).collect();
    calls.sort_unstable();
    let before = calls.len();
    calls.retain(|call| !view.excludes_throw(*call, &flow.facts_at[call]));
    view.config.rules.note(Rule::GuardedThrows, before - calls.len());
    // One that no way leads to throws nothing either.
    view.throwing.retain(|call, _| calls.binary_search(call).is_ok());
    needed_by_all(view, &calls, |call| &flow.facts_at[&call])
}

/// What holds on entry wherever an exception leaves.
fn needed_by_all<'f>(view: &mut View<'_>, calls: &[InstId], facts_at: impl Fn(InstId) -> &'f FactList) -> Vec<Known> {
    let mut all: Option<Vec<Known>> = None;
    for &call in calls.iter().filter(|call| leaves(view, **call)).collect::<Vec<_>>() {
        let mut facts = facts_at(call).clone();
        for fact in view.needs_of_throw(call) {
            learn(&mut facts, fact, view.config.max_facts);
        }
        let mut needed = known_on_entry(view, call, &facts);
        needed.retain(|(path, _)| path.root != PathRoot::Return);
        match &mut all {
            None => all = Some(needed),
            Some(all) => all.retain(|known| needed.iter().any(|n| n.0 == known.0 && n.1.implies(known.1))),
        }
    }
    let mut all = all.unwrap_or_default();
    all.sort();
    all.dedup();
    all.truncate(BOUNDS.throw_needs);
    all
}

fn leaves(view: &View<'_>, call: InstId) -> bool {
    match view.body.insts[call] {
        Inst::Invoke { unwind, .. } => !is_caught(view.program, view.id, view.body, unwind),
        _ => true,
    }
}

impl View<'_> {
    /// Whether what is known at a call keeps the callee from throwing.
    pub(crate) fn excludes_throw(&mut self, call: InstId, facts: &FactList) -> bool {
        let Some(effect) = self.calls[call].clone() else { return false };
        let needs = &effect.summary.throw_needs;
        self.keys.here = (self.homes[call], call);
        needs.iter().any(|(path, relation)| match given(self, call, path, *relation) {
            None => true,
            Some(needed) => needed.iter().any(|n| facts.iter().any(|f| f.0 == n.0 && f.1.contradicts(n.1))),
        })
    }

    /// What must be known at a call for the callee to throw.
    fn needs_of_throw(&mut self, call: InstId) -> Vec<crate::facts::Fact> {
        let Some(effect) = self.calls[call].clone() else { return Vec::new() };
        self.keys.here = (self.homes[call], call);
        let needs = effect.summary.throw_needs.iter();
        needs.filter_map(|(path, relation)| given(self, call, path, *relation)).flatten().collect()
    }
}
