//! The runs of one finding: one after the other until the leak is seen, and the best of them.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use caulk_harness::{Built, Ended, Outcome, Plan, Reason, Run, Wanted};
use caulk_report::shown_path;

use super::Session;
use super::calls::Calls;

/// Runs with the same memory in which calls are left out or made that were not before.
const MAX_CHANGES: usize = 12;
/// How near runs came: the memory was lost, or so it is if stubs do what the analysis says.
const CONFIRMED: u8 = 10;
const CONFIRMED_BY_TRUST: u8 = 9;

pub(crate) struct Search<'s, 'a> {
    session: &'s Session<'a>,
    built: &'s Built,
    wanted: &'s Wanted,
    pub runs: usize,
    overdue: usize,
    /// What runs showed, by their plans: those whose stubs were never asked are the same whatever these return.
    known: BTreeMap<String, Run>,
    /// How near it came, what that says, and with which inputs.
    pub best: Option<(u8, Outcome, Plan)>,
}

/// Which calls of the function are left out, as far as runs have shown.
#[derive(Clone, Debug)]
pub(crate) struct Choice {
    pub unmade: BTreeSet<usize>,
    /// They were given the memory that is lost: what they do with it matters.
    pinned: BTreeSet<usize>,
}

impl Choice {
    pub(crate) fn new(unmade: BTreeSet<usize>) -> Self {
        Self { unmade, pinned: BTreeSet::new() }
    }

    /// Goes by what a run showed; false if there is nothing to change.
    fn change(&mut self, run: &Run, calls: &Calls) -> bool {
        let given: Vec<usize> = run.handed_to.iter().chain(&run.trusted).copied().collect();
        if given.iter().any(|call| self.unmade.remove(call)) {
            self.pinned.extend(given);
            return true;
        }
        // Structures that were made from types alone are not what a callee expects.
        let failed = match run.ended {
            Ended::Crashed { call, .. } | Ended::Exited { call } => call,
            _ => None,
        };
        let can_be = |call: &usize| calls.calls.get(*call).is_some_and(|call| call.can_be_left_out);
        match failed.filter(can_be).filter(|call| !self.pinned.contains(call)) {
            Some(call) => self.unmade.insert(call),
            None => false,
        }
    }
}

impl<'s, 'a> Search<'s, 'a> {
    pub(crate) fn new(session: &'s Session<'a>, built: &'s Built, wanted: &'s Wanted) -> Self {
        Self { session, built, wanted, runs: 0, overdue: 0, known: BTreeMap::new(), best: None }
    }

    /// Whether the memory was lost, and no stub was given it.
    pub(crate) fn is_confirmed(&self) -> bool {
        self.best.as_ref().is_some_and(|(rank, ..)| *rank >= CONFIRMED)
    }

    /// Whether the memory was lost, if what the analysis says of stubs is right.
    pub(crate) fn is_confirmed_by_trust(&self) -> bool {
        self.best.as_ref().is_some_and(|(rank, ..)| *rank >= CONFIRMED_BY_TRUST)
    }

    /// Runs with the same memory: calls that crash are left out, and those that are given what is lost are made. The last run and its plan; None
    /// when no more are to be made.
    pub(crate) fn run_with(&mut self, plan: &Plan, choice: &mut Choice, calls: &Calls) -> Option<(Run, Plan)> {
        let mut last = None;
        for _ in 0..MAX_CHANGES {
            let mut plan = plan.clone();
            plan.unmade.clone_from(&choice.unmade);
            let run = self.run(&plan)?;
            let goes_on = !self.is_confirmed() && choice.change(&run, calls);
            last = Some((run, plan));
            if !goes_on {
                break;
            }
        }
        last
    }

    /// One run; None when no more are to be made.
    pub(crate) fn run(&mut self, plan: &Plan) -> Option<Run> {
        let effort = &self.session.effort;
        let (whole, part) = (plan.text(), plan.text_without_defaults());
        if let Some(run) = self.known.get(&whole).or_else(|| self.known.get(&part)) {
            return Some(run.clone());
        }
        if self.runs >= effort.max_runs || self.overdue >= effort.max_overdue || self.is_confirmed() {
            return None;
        }
        self.runs += 1;
        let lifeline = &self.session.runner.lifeline;
        match self.built.run(plan, self.wanted, &effort.limits, lifeline) {
            Ok(run) => {
                self.overdue += usize::from(run.ended == Ended::TimedOut);
                self.known.insert(if run.used_defaults { whole } else { part }, run.clone());
                let (rank, outcome) = self.judge(&run);
                self.note(rank, outcome, plan);
                (!matches!(run.ended, Ended::Sanitizer(_))).then_some(run)
            }
            Err(reason) => {
                self.note(0, Outcome::NotConfirmed(reason), plan);
                None
            }
        }
    }

    fn note(&mut self, rank: u8, outcome: Outcome, plan: &Plan) {
        if self.best.as_ref().is_none_or(|(best, ..)| rank > *best) {
            self.best = Some((rank, outcome, plan.clone()));
        }
    }

    /// What a run shows, and how near it came.
    fn judge(&self, run: &Run) -> (u8, Outcome) {
        if let Some(bytes) = run.lost {
            let names = |numbers: &BTreeSet<usize>| -> Vec<String> {
                let names: BTreeSet<String> = self.built.stubs_of(numbers).map(|stub| stub.symbol.clone()).collect();
                names.into_iter().collect()
            };
            let rank = if run.trusted.is_empty() { CONFIRMED } else { CONFIRMED_BY_TRUST };
            return (rank, Outcome::Confirmed { bytes, stubs: names(&run.called), trusted: names(&run.trusted) });
        }
        let (rank, reason) = match &run.ended {
            _ if run.handed_to.is_some() => {
                let stub = run.handed_to.and_then(|number| self.built.stubs.get(number));
                (8, Reason::HandedToStub(stub.map_or_else(String::new, |stub| format!("{}()", stub.symbol))))
            }
            Ended::Sanitizer(said) => (7, Reason::NoSanitizer(said.clone())),
            Ended::Returned { .. } => (6, Reason::NotLost),
            Ended::Exited { .. } => (5, Reason::Exited),
            Ended::Crashed { at, .. } => (4, Reason::Crashed(self.place(*at))),
            Ended::TimedOut => (3, Reason::TimedOut(self.session.effort.limits.time.as_secs())),
            Ended::Failed(why) => (2, Reason::Failed(why.clone())),
        };
        (rank, Outcome::NotConfirmed(reason))
    }

    fn place(&self, offset: u64) -> String {
        if offset == 0 {
            return "before the function was called, or in LeakSanitizer".to_owned();
        }
        let root = &self.session.checked.analysed.read.root;
        let shown = |file: &Path, line: u32| format!("at {}:{line}", shown_path(&file.to_string_lossy(), root));
        self.built.place(offset).map_or_else(|| "outside of the project".to_owned(), |(file, line)| shown(&file, line))
    }
}
