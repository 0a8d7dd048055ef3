//! The runs of one finding: one after the other until the leak is seen, and the best of them.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use caulk_harness::{Built, Ended, Outcome, Plan, Reason, Run, Wanted, Word};
use caulk_report::shown_path;

use super::calls::Calls;
use super::deciding::{Deciding, Need};
use super::route::Progress;
use super::subject::Subject;
use super::tries::Try;
use super::{PathOf, Session};

/// Runs with the same memory in which calls are left out or made that were not before.
const MAX_CHANGES: usize = 12;
/// Times that a search goes on from a run that came farther.
const MAX_TURNS: usize = 6;
/// How near runs came: the memory was lost, or so it is if stubs do what the analysis says.
const CONFIRMED: u8 = 10;
const CONFIRMED_BY_TRUST: u8 = 9;

pub(crate) struct Search<'s, 'a> {
    session: &'s Session<'a>,
    built: &'s Built,
    wanted: &'s Wanted,
    path: &'s PathOf,
    pub runs: usize,
    overdue: usize,
    /// What runs showed, by their plans: those whose stubs were never asked are the same whatever these return.
    known: BTreeMap<String, Run>,
    pub best: Option<Best>,
}

/// The run that came nearest.
pub(crate) struct Best {
    rank: u8,
    /// Among those of one rank.
    progress: usize,
    pub outcome: Outcome,
    pub plan: Plan,
}

/// Which calls of the function are left out, as far as runs have shown.
#[derive(Clone, Debug)]
pub(crate) struct Choice {
    pub unmade: BTreeSet<usize>,
    /// They were given the memory that is lost: what they do with it matters.
    pinned: BTreeSet<usize>,
    /// What calls return that are left out, where that brought runs farther than what the path says of them.
    results: BTreeMap<usize, Word>,
    /// Values of memory that brought runs farther.
    pub needs: Vec<Need>,
    /// How far the best run came with it, and at which branch that left the path.
    progress: Progress,
}

impl Choice {
    pub(crate) fn new(unmade: BTreeSet<usize>) -> Self {
        let (pinned, results, needs) = (BTreeSet::new(), BTreeMap::new(), Vec::new());
        Self { unmade, pinned, results, needs, progress: Progress::default() }
    }

    /// How far runs came with it.
    pub(crate) fn farthest(&self) -> usize {
        self.progress.count
    }

    /// The same with other answers to what decides a branch, one after the other.
    fn turned(&self, deciding: &Deciding, calls: &Calls) -> Vec<Self> {
        let by_calls = deciding.calls.iter().flat_map(|call| self.turned_call(*call, deciding, calls));
        let by_memory = deciding.needs().map(|needs| {
            let mut other = self.clone();
            // A callee that fills it would undo that.
            let fills = |need: &Need| need.0.local().is_some();
            if needs.iter().any(fills) {
                let may_be_left_out = |call: &usize| calls.calls.get(*call).is_some_and(|call| call.can_be_left_out);
                other.unmade.extend(deciding.calls.iter().copied().filter(may_be_left_out));
            }
            other.needs.extend(needs);
            other
        });
        by_calls.chain(by_memory).collect()
    }

    /// A call is made if it was left out, and left out with other results.
    fn turned_call(&self, call: usize, deciding: &Deciding, calls: &Calls) -> Vec<Self> {
        let about = calls.calls.get(call).filter(|about| about.can_be_left_out && !self.pinned.contains(&call));
        let Some(about) = about else { return Vec::new() };
        let mut all = Vec::new();
        if self.unmade.contains(&call) {
            let mut made = self.clone();
            made.unmade.remove(&call);
            made.results.remove(&call);
            all.push(made);
        } else if !about.allocates {
            let mut plain = self.clone();
            plain.unmade.insert(call);
            all.push(plain);
        }
        for result in deciding.numbers.iter().copied().filter(|number| about.may_return(*number)) {
            let mut other = self.clone();
            other.unmade.insert(call);
            other.results.insert(call, Word::Number(result));
            all.push(other);
        }
        all
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
    pub(crate) fn new(session: &'s Session<'a>, built: &'s Built, wanted: &'s Wanted, path: &'s PathOf) -> Self {
        Self { session, built, wanted, path, runs: 0, overdue: 0, known: BTreeMap::new(), best: None }
    }

    /// Whether the memory was lost, and no stub was given it.
    pub(crate) fn is_confirmed(&self) -> bool {
        self.best.as_ref().is_some_and(|best| best.rank >= CONFIRMED)
    }

    /// Whether the memory was lost, if what the analysis says of stubs is right.
    pub(crate) fn is_confirmed_by_trust(&self) -> bool {
        self.best.as_ref().is_some_and(|best| best.rank >= CONFIRMED_BY_TRUST)
    }

    /// Runs with the same memory: calls that crash are left out, and those that are given what is lost are made. The last run and its plan; None
    /// when no more are to be made.
    pub(crate) fn run_with(&mut self, plan: &Plan, choice: &mut Choice, calls: &Calls) -> Option<(Run, Plan)> {
        let mut last = None;
        for _ in 0..MAX_CHANGES {
            let mut plan = plan.clone();
            plan.unmade.clone_from(&choice.unmade);
            choice.results.iter().for_each(|(call, word)| plan.force(*call, *word));
            let run = self.run(&plan)?;
            let progress = self.progress(&run);
            let is_first = choice.progress.branch.is_none() && progress.count == choice.progress.count;
            if progress.count > choice.progress.count || is_first {
                choice.progress = progress;
            }
            let goes_on = !self.is_confirmed() && choice.change(&run, calls);
            last = Some((run, plan));
            if !goes_on {
                break;
            }
        }
        last
    }

    /// Goes on from a choice: what decides the branch at which its best run left the path gets other values, as long as runs come farther for it.
    /// None when no more are to be made.
    pub(crate) fn turn(
        &mut self,
        subject: &Subject<'_>,
        one: Try<'_>,
        choice: &mut Choice,
        calls: &Calls,
    ) -> Option<()> {
        let body = subject.body()?;
        for _ in 0..MAX_TURNS {
            let Some(branch) = choice.progress.branch else { break };
            let before = choice.progress.count;
            let unit = subject.program.function(subject.path.function).unit;
            let deciding = Deciding::of(subject.program, unit, &body, calls, branch);
            for mut turned in choice.turned(&deciding, calls) {
                let plan = subject.plan(one, &turned.needs);
                self.run_with(&plan, &mut turned, calls)?;
                if self.is_confirmed_by_trust() {
                    return None;
                }
                if turned.progress.count > before {
                    *choice = turned;
                    break;
                }
            }
            if choice.progress.count <= before {
                break;
            }
        }
        Some(())
    }

    /// After the leak was seen: functions of the project that were left out are called, all or one after the other, as long as it is seen then too. The
    /// fewer are left, the less rests on what the analysis says.
    pub(crate) fn strengthen(&mut self, calls: &Calls) {
        let Some(mut plan) = self.best.as_ref().filter(|_| self.is_confirmed_by_trust()).map(|best| best.plan.clone())
        else {
            return;
        };
        let is_own = |call: &usize| calls.calls.get(*call).is_some_and(|call| !call.is_foreign);
        let own: BTreeSet<usize> = plan.unmade.iter().copied().filter(is_own).collect();
        let each = own.iter().map(|call| BTreeSet::from([*call])).filter(|_| own.len() > 1);
        for made in std::iter::once(own.clone()).chain(each).take(MAX_CHANGES).filter(|made| !made.is_empty()) {
            if made.is_disjoint(&plan.unmade) {
                continue;
            }
            let mut fuller = plan.clone();
            fuller.unmade.retain(|call| !made.contains(call));
            self.runs += 1;
            let lifeline = &self.session.runner.lifeline;
            let run = self.built.run(&fuller, self.wanted, &self.session.effort.limits, lifeline);
            let Some(run) = run.ok().filter(|run| run.lost.is_some()) else { continue };
            let progress = self.progress(&run);
            let (rank, outcome) = self.judge(&run, &progress);
            if self.best.as_ref().is_some_and(|best| rank >= best.rank) {
                self.best = Some(Best { rank, progress: progress.count, outcome, plan: fuller.clone() });
                plan = fuller;
            }
        }
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
                let progress = self.progress(&run);
                let (rank, outcome) = self.judge(&run, &progress);
                self.note(rank, progress.count, outcome, plan);
                (!matches!(run.ended, Ended::Sanitizer(_))).then_some(run)
            }
            Err(reason) => {
                self.note(0, 0, Outcome::NotConfirmed(reason), plan);
                None
            }
        }
    }

    fn note(&mut self, rank: u8, progress: usize, outcome: Outcome, plan: &Plan) {
        if self.best.as_ref().is_none_or(|best| (rank, progress) > (best.rank, best.progress)) {
            self.best = Some(Best { rank, progress, outcome, plan: plan.clone() });
        }
    }

    /// How far a run followed the path.
    pub(crate) fn progress(&self, run: &Run) -> Progress {
        self.path.route.progress(self.built.marks(), &run.reached)
    }

    /// What a run shows, and how near it came.
    fn judge(&self, run: &Run, progress: &Progress) -> (u8, Outcome) {
        if let Some(bytes) = run.lost {
            let names = |numbers: &BTreeSet<usize>| -> Vec<String> {
                let names: BTreeSet<String> = self.built.stubs_of(numbers).map(|stub| stub.symbol.clone()).collect();
                names.into_iter().collect()
            };
            let rank = if run.trusted.is_empty() { CONFIRMED } else { CONFIRMED_BY_TRUST };
            let is_own = |number: &usize| self.built.stubs.get(*number).is_some_and(|stub| stub.is_replaced);
            let assumed = names(&run.called.iter().copied().filter(is_own).collect());
            let (stubs, trusted) = (names(&run.called), names(&run.trusted));
            return (rank, Outcome::Confirmed { bytes, stubs, trusted, assumed });
        }
        let (rank, reason) = match &run.ended {
            _ if run.handed_to.is_some() => {
                let stub = run.handed_to.and_then(|number| self.built.stubs.get(number));
                (8, Reason::HandedToStub(stub.map_or_else(String::new, |stub| format!("{}()", stub.symbol))))
            }
            Ended::Sanitizer(said) => (7, Reason::NoSanitizer(said.clone())),
            Ended::Returned { .. } => {
                let where_left = if self.built.has_calls() { progress.shown(&self.path.file) } else { String::new() };
                (6, Reason::NotLost(where_left))
            }
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
