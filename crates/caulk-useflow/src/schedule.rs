//! The whole program, bottom-up over the call graph, side by side where nothing depends on anything.
//!
//! Components are put into waves: a wave needs only summaries of earlier ones. Within a component every iteration works from
//! the results of the round before, so the outcome does not depend on threads.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::{Duration, Instant};

use caulk_ir::{EntitySet, EntityVec, InstId};
use caulk_memory::{AccessPath, PathRoot};
use caulk_models::{Family, Models, Resource};
use caulk_program::reads::{Read, note};
use caulk_program::{FuncId, Marks, Names, Program};
use caulk_rules::Rule;
use caulk_summary::{Action, Guard, Subject, Summary};
use rayon::prelude::*;
use rustc_hash::FxHashSet;
use serde::{Deserialize, Serialize};

use crate::adopted::Adopted;
use crate::agreed_setters::careless_setters;
use crate::callbacks::{Special, calls_parameters, special, special_calls};
use crate::candidate::Candidate;
use crate::classes::{Flows, missed_by_classes};
use crate::config::UseflowConfig;
use crate::containers::{self, Told};
use crate::contract::rely_on_contract;
use crate::destructors::unseen_by_destructors;
use crate::dropped_elements::dropped_elements;
use crate::emptied::emptied_fields;
use crate::exceptions::{in_order, lets_out, throwing_calls};
use crate::kept::{Keeping, Kept};
use crate::library;
use crate::numbers::note_numbers;
use crate::overwrites::overwritten_slots;
use crate::private_fields::lost_with_structures;
use crate::relevance::{is_impure, is_relevant};
use crate::shelves::empties_container;
use crate::slot_table::SlotTable;
use crate::statics::overwritten_statics;
use crate::summarize::{Report, World, summarize};
use crate::survey::{Survey, survey};
use crate::table_marks::TableMarks;
use crate::uncaught::drop_uncaught;
use crate::unlinked::left_nodes;
use crate::variadic::add_taken_arguments;
use crate::waves::{component_levels, waves};

/// Stage one's result for a whole program.
#[derive(Debug, Default)]
pub struct Analysis {
    pub reports: EntityVec<FuncId, Report>,
    pub survey: Survey,
    /// Whether what a family is made of is opened, and not memory alone: a file that is not there is no lack of memory.
    pub opened: Vec<bool>,
    /// Whether a family is named by numbers of four bytes, as descriptors are.
    pub numbered: Vec<bool>,
    pub statistics: Statistics,
}

#[derive(Clone, Copy, Debug, Default)]
pub struct Statistics {
    pub analysed: usize,
    /// Functions that call nothing with an effect and move no pointers.
    pub skipped: usize,
    pub cut: usize,
    pub largest_component: usize,
    pub iterations: usize,
    /// What the component that took longest took.
    pub longest_component: Duration,
}

/// Analyses a program.
pub fn analyse(program: &Program, models: &Models, config: &UseflowConfig) -> Analysis {
    let survey = survey(program, models, &config.rules);
    let (reports, statistics) = bottom_up(&World { program, models, config, survey: &survey }, None);
    whole_program(program, models, config, Analysis { reports, survey, statistics, ..Analysis::default() })
}

/// Analyses a program and uses what was kept of the last run, in which models and bounds must have been the same. The result is that of
/// [`analyse`].
pub fn analyse_keeping(
    program: &Program,
    models: &Models,
    config: &UseflowConfig,
    marks: &Marks,
    kept: &mut Kept,
) -> (Analysis, TableMarks) {
    let survey = survey(program, models, &config.rules);
    let keeping = Keeping::new(marks, &survey, std::mem::take(kept));
    let (reports, statistics) = bottom_up(&World { program, models, config, survey: &survey }, Some(&keeping));
    let (now, tables) = keeping.end();
    *kept = now;
    (whole_program(program, models, config, Analysis { reports, survey, statistics, ..Analysis::default() }), tables)
}

/// What each function does, by its own code and its callees' summaries.
fn bottom_up(world: &World<'_>, keeping: Option<&Keeping<'_>>) -> (EntityVec<FuncId, Report>, Statistics) {
    let World { program, models, config, survey } = *world;
    let count = program.functions().len();
    let mut reports: EntityVec<FuncId, Report> = vec![Report::default(); count].into();
    let mut known = EntitySet::with_capacity(count);
    let bodiless: Vec<FuncId> = program.functions().filter(|f| !program.has_body(*f)).collect();
    for function in bodiless {
        let mut summary = library::summary_of(program, models, function);
        if let Some(family) = survey.learned.get(&function) {
            library::give_result(&mut summary, *family);
        }
        let has_demands = !summary.demands.is_empty() || !summary.looks_behind.is_empty();
        if has_demands && !config.rules.applies(Rule::LibraryDemands, true) {
            summary.demands.clear();
            summary.looks_behind.clear();
        }
        reports[function].summary = summary;
        known.insert(function);
    }
    let mut statistics = Statistics::default();
    let looker = Looker { world, keeping };
    for wave in waves(program, &survey.given) {
        let (large, small): (Vec<_>, Vec<_>) = wave.into_iter().partition(|c| c.len() > 1);
        let results: Vec<(FuncId, Looked)> = small
            .par_iter()
            .with_max_len(4)
            .map(|component| (component[0], looker.look(component[0], &reports, &known)))
            .collect();
        for (function, outcome) in results {
            record(&mut reports, &mut known, &mut statistics, function, outcome);
        }
        for component in large {
            let start = Instant::now();
            statistics.largest_component = statistics.largest_component.max(component.len());
            analyse_component(&looker, component, &mut reports, &mut known, &mut statistics);
            statistics.longest_component = statistics.longest_component.max(start.elapsed());
        }
    }
    (reports, statistics)
}

/// What only the whole program shows.
fn whole_program(program: &Program, models: &Models, config: &UseflowConfig, mut analysis: Analysis) -> Analysis {
    analysis.opened = models.families().iter().map(|family| family.resource.is_some()).collect();
    let is_numbered = |family: &Family| family.resource == Some(Resource::Descriptor);
    analysis.numbered = models.families().iter().map(is_numbered).collect();
    let world = World { program, models, config, survey: &analysis.survey };
    let adopted = Adopted::new(program, &analysis, config.rules.is_on(Rule::AdoptedFields));
    config.rules.note(Rule::AdoptedFields, adopted.owned().len());
    let table = SlotTable::new(program, &analysis, &adopted);
    let flows = Flows::new(program, &analysis, adopted);
    let mut of_slots = unseen_by_destructors(&world, &analysis, &table, &flows);
    of_slots.extend(config.rules.all(Rule::OverwrittenSlots, || overwritten_slots(&world, &analysis, &table, &flows)));
    of_slots.extend(config.rules.all(Rule::OverwrittenStatics, || overwritten_statics(&world, &analysis)));
    let careless =
        config.rules.all(Rule::CarelessSetters, || careless_setters(&world, &analysis, &table, &flows, &of_slots));
    of_slots.extend(careless);
    of_slots.extend(config.rules.all(Rule::UnlinkedNodes, || left_nodes(program, &config.rules, &analysis)));
    let private =
        config.rules.all(Rule::PrivateFields, || lost_with_structures(&world, &analysis, &table, &flows, &of_slots));
    of_slots.extend(private);
    let missed =
        config.rules.all(Rule::ClassFields, || missed_by_classes(&world, &analysis, &table, &flows, &of_slots));
    of_slots.extend(missed);
    of_slots.extend(config.rules.all(Rule::DroppedElements, || dropped_elements(program, &analysis, &flows)));
    let mut emptied = config.rules.all(Rule::EmptiedMembers, || emptied_fields(&world, &analysis, &table, &flows));
    // What the overwritten fields have told already.
    let is_told = |new: &Candidate| {
        let is_same = |old: &Candidate| (old.function, old.place, old.loss) == (new.function, new.place, new.loss);
        of_slots.iter().any(is_same)
    };
    emptied.retain(|candidate| !is_told(candidate));
    of_slots.extend(emptied);
    drop_uncaught(&world, &mut analysis.reports);
    for candidate in of_slots {
        analysis.reports[candidate.function].candidates.push(candidate);
    }
    analysis
}

#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) enum Looked {
    Analysed(Box<Report>),
    /// Nothing to do; the report only says whether the function is pure.
    Skipped(Box<Report>),
}

fn record(
    reports: &mut EntityVec<FuncId, Report>,
    known: &mut EntitySet<FuncId>,
    statistics: &mut Statistics,
    function: FuncId,
    outcome: Looked,
) {
    known.insert(function);
    match outcome {
        Looked::Skipped(report) => {
            statistics.skipped += 1;
            reports[function] = *report;
        }
        Looked::Analysed(report) => {
            statistics.analysed += 1;
            statistics.cut += usize::from(report.summary.cut);
            reports[function] = *report;
        }
    }
}

/// Looks at functions, or knows from the last run what is to be seen.
#[derive(Clone, Copy)]
struct Looker<'l> {
    world: &'l World<'l>,
    keeping: Option<&'l Keeping<'l>>,
}

impl Looker<'_> {
    fn look(&self, function: FuncId, reports: &EntityVec<FuncId, Report>, known: &EntitySet<FuncId>) -> Looked {
        let work = |world: &World<'_>| analyse_one(world, function, reports, known);
        match self.keeping {
            Some(keeping) => keeping.look(self.world, function, reports, known, work),
            None => work(self.world),
        }
    }

    /// The summary of a function is another now.
    fn note_change(&self, function: FuncId) {
        if let Some(keeping) = self.keeping {
            keeping.note_change(function);
        }
    }
}

fn analyse_one(
    world: &World<'_>,
    function: FuncId,
    reports: &EntityVec<FuncId, Report>,
    known: &EntitySet<FuncId>,
) -> Looked {
    let program = world.program;
    let summary_of = |f: FuncId| {
        note(Read::Summary(f));
        known.contains(f).then(|| &reports[f].summary)
    };
    let calls_matter = program.call_sites(function).iter().any(|site| {
        let targets = program.targets(site);
        // Where more may be called than was found, they may do anything.
        let is_open = site.outcome != caulk_program::Resolution::Resolved;
        let matters = |s: &Summary| !s.is_empty() || !s.throw_needs.is_empty();
        is_open || targets.is_empty() || targets.iter().any(|t| summary_of(*t).is_some_and(matters))
    });
    let told = containers::told(program, function).filter(|_| world.config.rules.applies(Rule::Containers, true));
    let besides = match told {
        Some(Told::Everything(summary)) => {
            return Looked::Analysed(Box::new(Report { summary: *summary, ..Report::default() }));
        }
        Some(Told::Besides(actions)) => actions,
        None => Vec::new(),
    };
    let Some(body) = program.body(function) else { return Looked::Skipped(Box::default()) };
    let impure = is_impure(program, function, &body, &summary_of);
    if !is_relevant(&body, calls_matter) && !calls_parameters(&body) && !empties_container(program, function) {
        let mut report = Report::default();
        report.summary.actions = besides;
        rely_on_contract(world, function, &body, &mut report.summary);
        world.survey.own_arenas.rely_on(function, &mut report.summary);
        report.summary.impure = impure;
        let throwing = throwing_calls(program, function, &body, &summary_of, &world.config.rules);
        report.summary.throws = lets_out(program, function, &body, &throwing, &world.config.rules);
        report.throwing = in_order(&throwing);
        note_numbers(world, function, &body, &summary_of, &mut report.summary);
        return Looked::Skipped(Box::new(report));
    }
    let special = special_calls(world, function, &body, &summary_of);
    let mut report = summarize(world, function, &body, &summary_of, &special);
    report.special = special;
    containers::hide_own_memory(program, function, &mut report);
    report.summary.actions.extend(besides);
    let rules = &world.config.rules;
    if rules.is_on(Rule::VariadicArguments) {
        let taken = add_taken_arguments(program, function, &body, &summary_of, &mut report.summary);
        rules.note(Rule::VariadicArguments, taken);
    }
    report.summary.actions.sort();
    report.summary.actions.dedup();
    rely_on_contract(world, function, &body, &mut report.summary);
    world.survey.own_arenas.rely_on(function, &mut report.summary);
    report.summary.impure = impure;
    note_numbers(world, function, &body, &summary_of, &mut report.summary);
    Looked::Analysed(Box::new(report))
}

/// A cycle of the call graph: summaries start at "no effect" and grow, iteration after iteration. An iteration goes bottom-up as far as
/// a cycle has a bottom, so that an effect passes through a long chain of calls in one iteration.
fn analyse_component(
    looker: &Looker<'_>,
    component: &[FuncId],
    reports: &mut EntityVec<FuncId, Report>,
    known: &mut EntitySet<FuncId>,
    statistics: &mut Statistics,
) {
    let program = looker.world.program;
    let levels = component_levels(program, component);
    let members: FxHashSet<FuncId> = component.iter().copied().collect();
    let mut cycle = Cycle { looker, levels, members: &members, settled: FxHashSet::default() };
    let mut pending = cycle.iterations(members.clone(), reports, known, statistics);
    let is_cut: FxHashSet<FuncId> = pending.clone();
    let mut outdated: FxHashSet<FuncId> = FxHashSet::default();
    // What still changed when the iterations were over may be incomplete. So that what is missing is not taken for a promise, it is
    // replaced by less, which does not change any more; functions that depend on that are looked at again.
    while !pending.is_empty() {
        for function in sorted(&pending) {
            settle(program, function, &mut reports[function].summary);
            looker.note_change(function);
            cycle.settled.insert(function);
        }
        let callers: Vec<FuncId> = pending.iter().flat_map(|f| program.callers(*f)).collect();
        pending.extend(callers.into_iter().filter(|c| members.contains(c)));
        pending = cycle.iterations(pending, reports, known, statistics);
        outdated.extend(pending.iter().copied().filter(|f| cycle.settled.contains(f)));
        pending.retain(|f| !cycle.settled.contains(f));
    }
    // Nothing changes any more; what these lose is still to be found with what their callees do now.
    for function in sorted(&outdated) {
        let (Looked::Skipped(report) | Looked::Analysed(report)) = looker.look(function, reports, known);
        let known = &mut reports[function];
        let summary = std::mem::take(&mut known.summary);
        let block_runs = report.block_runs.saturating_add(known.block_runs);
        *known = Report { summary, block_runs, ..*report };
    }
    for &function in component {
        statistics.analysed += 1;
        let report = &mut reports[function];
        report.summary.cut |= is_cut.contains(&function);
        looker.note_change(function);
        statistics.cut += usize::from(report.summary.cut);
    }
}

/// A cycle of the call graph that is being analysed.
struct Cycle<'c> {
    looker: &'c Looker<'c>,
    levels: Vec<Vec<FuncId>>,
    members: &'c FxHashSet<FuncId>,
    /// Functions whose summaries do not change any more.
    settled: FxHashSet<FuncId>,
}

impl Cycle<'_> {
    /// Goes over the functions that wait, and those that depend on what changes, until nothing does or the iterations are over. Gives
    /// those that still wait.
    fn iterations(
        &self,
        mut pending: FxHashSet<FuncId>,
        reports: &mut EntityVec<FuncId, Report>,
        known: &mut EntitySet<FuncId>,
        statistics: &mut Statistics,
    ) -> FxHashSet<FuncId> {
        let (looker, world) = (self.looker, self.looker.world);
        let program = world.program;
        let not_known = Summary { impure: true, ..Summary::default() };
        for iteration in 0..world.config.max_iterations {
            statistics.iterations = statistics.iterations.max(iteration + 1);
            let mut waiting: FxHashSet<FuncId> = FxHashSet::default();
            for level in &self.levels {
                // What has cost too much is not done a third time.
                let is_worth = |f: &FuncId| iteration < 2 || !reports[*f].is_over_budget;
                let now: Vec<FuncId> = level.iter().copied().filter(|f| is_worth(f) && pending.remove(f)).collect();
                // These see all that has changed so far.
                for function in &now {
                    waiting.remove(function);
                }
                let results: Vec<(FuncId, Looked)> =
                    now.par_iter().with_max_len(4).map(|f| (*f, looker.look(*f, reports, known))).collect();
                for (function, outcome) in results {
                    let (Looked::Skipped(mut report) | Looked::Analysed(mut report)) = outcome;
                    if self.settled.contains(&function) {
                        report.summary = reports[function].summary.clone();
                    }
                    // Callers took what was not known yet for a function without effects that is not pure.
                    let before = if known.contains(function) { &reports[function].summary } else { &not_known };
                    let changed = report.summary != *before;
                    known.insert(function);
                    report.block_runs = report.block_runs.saturating_add(reports[function].block_runs);
                    reports[function] = *report;
                    looker.note_change(function);
                    if changed {
                        // Callers further up are still to come in this iteration; the others wait for the next.
                        waiting.extend(program.callers(function).filter(|c| self.members.contains(c)));
                    }
                }
                if iteration > 0 {
                    pending.extend(waiting.iter().copied());
                }
            }
            pending = waiting;
            if pending.is_empty() {
                break;
            }
        }
        pending
    }
}

fn sorted(functions: &FxHashSet<FuncId>) -> Vec<FuncId> {
    let mut all: Vec<FuncId> = functions.iter().copied().collect();
    all.sort_unstable();
    all
}

/// What is done to an argument that is not freed, kept or stored for certain is not known.
fn settle(program: &Program, function: FuncId, summary: &mut Summary) {
    let is_certain = |root: PathRoot| {
        let is_said = |a: &Action| matches!(&a.subject, Subject::Value(path) if *path == AccessPath::root(root));
        summary.actions.iter().any(|a| is_said(a) && a.guard == Guard::Always)
    };
    let params = program.function(function).declaration.params.iter().enumerate();
    let pointers = params.filter(|(_, p)| p.pointee.depth > 0).map(|(index, _)| PathRoot::Param(index as u32));
    let unsaid: BTreeSet<PathRoot> = pointers.filter(|root| !is_certain(*root)).collect();
    summary.give_to_unknown(&unsaid);
}

/// The summaries alone.
impl Analysis {
    pub fn summary(&self, function: FuncId) -> &Summary {
        note(Read::Summary(function));
        &self.reports[function].summary
    }

    pub(crate) fn special(&self, function: FuncId) -> &Special {
        note(Read::Special(function));
        &self.reports[function].special
    }

    /// What a call does that is given functions by name, if that is known better than what its targets do in general.
    pub fn special_call(&self, function: FuncId, call: InstId) -> Option<&Summary> {
        special(self.special(function), call).map(|summary| &**summary)
    }

    /// The marks of a function's summary, and of what its calls do that are given functions by name.
    pub fn marks(&self, names: &Arc<Names>, function: FuncId) -> (u64, u64) {
        let report = &self.reports[function];
        let special: Vec<(InstId, &Summary)> =
            report.special.iter().map(|(inst, summary)| (*inst, &**summary)).collect();
        (names.mark(&report.summary), if special.is_empty() { 0 } else { names.mark(&special) })
    }
}
