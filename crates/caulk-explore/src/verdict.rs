//! What stage two says of stage one's candidates.

use std::ops::AddAssign;
use std::sync::Arc;

use caulk_ir::{EntityVec, InstId};
use caulk_program::{FuncId, Marks, Program};
use caulk_rules::Rule;
use caulk_solver::SolverStats;
use caulk_summary::Event;
use caulk_useflow::{Analysis, Candidate, CandidateId, Loss, TableMarks, UseflowConfig};
use rayon::prelude::*;
use serde::{Deserialize, Serialize};

use crate::call::Wanted;
use crate::callers::given_by_callers;
use crate::config::ExploreConfig;
use crate::effect_cache::{EffectCache, Given, counted_apart};
use crate::essential::{essential, left_at};
use crate::example::freed_at;
use crate::found::Found;
use crate::frame::Frame;
use crate::inputs::Inputs;
use crate::kept::{Explored, Keeping, Kept};
use crate::machine::Machine;
use crate::refused::{Edge, Edges};
use crate::replay::Replay;
use crate::search::Search;
use crate::together::{Aim, search_together};
use crate::world::World;

/// Who found that a candidate cannot be.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub enum Layer {
    /// On every path that can be taken, the object is freed or has an owner.
    Ownership,
    /// Conditions contradict each other, as the cheap layers see.
    Conditions,
    /// Only Z3 saw the contradiction.
    Solver,
    /// Paths that were merged lose the object together, and none of them does so alone.
    Replay,
}

/// One event of a path.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Step {
    /// Of the candidate's function.
    pub inst: InstId,
    pub event: Event,
    /// A reader has to know it. The others follow, or change nothing.
    pub is_essential: bool,
}

/// A path that can be taken.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Witness {
    /// First to last.
    pub steps: Vec<Step>,
    /// Where the last holder of the object goes on this path.
    pub place: InstId,
    /// The last jump before the function's end: where the source has one return for several, the statement that goes there.
    pub left_at: Option<InstId>,
    /// A call of the function that frees the object on another path.
    pub freed_at: Option<InstId>,
    /// The path was executed alone, and holds. Else paths that differed were merged on the way.
    pub is_replayed: bool,
    /// The path goes through iterations of a loop of which only so much is known as holds for every one.
    pub is_general: bool,
    /// The solver gave up, or memory was forgotten on the way.
    pub is_doubtful: bool,
    /// Some other allocation has to fail for it.
    pub needs_alloc_failure: bool,
    /// The program asks whether it did.
    pub failure_tested: bool,
    /// What the path needs of the function's inputs; empty unless that is wanted.
    pub inputs: Inputs,
}

#[derive(Clone, Debug, Serialize, Deserialize)]
pub enum Verdict {
    Confirmed(Witness),
    Refuted(Layer),
    /// The budget ran out before all paths were seen.
    Cut,
    /// Not looked at: what it rests on is no path (an owning field that is not freed), or hidden.
    Unexamined,
}

/// Stage two's result: a verdict for each candidate.
#[derive(Debug, Default)]
pub struct Exploration {
    /// By function, in the order of its candidates.
    verdicts: EntityVec<FuncId, Vec<Verdict>>,
    pub statistics: Statistics,
    /// Instructions executed to search for the objects of each function that has candidates.
    pub searches: Vec<(FuncId, usize)>,
    /// Instructions executed for the guarded summaries of each callee that was asked for one.
    pub callees: Vec<(FuncId, usize)>,
}

impl Exploration {
    /// Every candidate of stage one with what stage two says of it, in the order of the program. There are no other verdicts.
    pub fn judged<'r>(
        &'r self,
        analysis: &'r Analysis,
    ) -> impl Iterator<Item = (CandidateId, &'r Candidate, &'r Verdict)> {
        analysis.reports.iter().flat_map(|(function, report)| self.judged_of(function, &report.candidates))
    }

    /// The same for the candidates of one function.
    pub fn judged_of<'r>(
        &'r self,
        function: FuncId,
        candidates: &'r [Candidate],
    ) -> impl Iterator<Item = (CandidateId, &'r Candidate, &'r Verdict)> {
        let verdicts = &self.verdicts[function];
        debug_assert_eq!(candidates.len(), verdicts.len(), "stage two judges what stage one lists");
        let judged = candidates.iter().zip(verdicts).enumerate();
        judged.map(move |(number, (candidate, verdict))| (CandidateId { function, number }, candidate, verdict))
    }

    fn add(&mut self, function: FuncId, verdicts: Vec<Verdict>, effort: Effort) {
        self.statistics.effort += effort;
        self.searches.push((function, effort.steps));
        verdicts.iter().for_each(|v| self.statistics.count(v));
        self.verdicts[function] = verdicts;
    }
}

#[derive(Clone, Copy, Debug, Default)]
pub struct Statistics {
    pub candidates: usize,
    pub confirmed: usize,
    pub refuted_by_ownership: usize,
    pub refuted_by_conditions: usize,
    pub refuted_by_solver: usize,
    pub refuted_by_replay: usize,
    /// Of those confirmed, how many were executed alone and hold.
    pub replayed: usize,
    pub cut: usize,
    pub unexamined: usize,
    pub effort: Effort,
}

/// What the search for the candidates of functions took; what their callees took is not in it.
#[derive(Clone, Copy, Debug, Default, Serialize, Deserialize)]
pub struct Effort {
    /// Instructions executed.
    pub steps: usize,
    pub solver: SolverStats,
}

impl AddAssign for Effort {
    fn add_assign(&mut self, other: Self) {
        self.steps += other.steps;
        self.solver += other.solver;
    }
}

impl Statistics {
    fn count(&mut self, verdict: &Verdict) {
        self.candidates += 1;
        self.replayed += usize::from(matches!(verdict, Verdict::Confirmed(witness) if witness.is_replayed));
        let counter = match verdict {
            Verdict::Confirmed(_) => &mut self.confirmed,
            Verdict::Refuted(Layer::Ownership) => &mut self.refuted_by_ownership,
            Verdict::Refuted(Layer::Conditions) => &mut self.refuted_by_conditions,
            Verdict::Refuted(Layer::Solver) => &mut self.refuted_by_solver,
            Verdict::Refuted(Layer::Replay) => &mut self.refuted_by_replay,
            Verdict::Cut => &mut self.cut,
            Verdict::Unexamined => &mut self.unexamined,
        };
        *counter += 1;
    }
}

/// Looks at every candidate of a program.
pub fn explore(program: &Program, useflow: &UseflowConfig, analysis: &Analysis, config: &ExploreConfig) -> Exploration {
    let mut exploration =
        Exploration { verdicts: vec![Vec::new(); analysis.reports.len()].into(), ..Exploration::default() };
    let functions: Vec<FuncId> = program.functions().filter(|f| !analysis.reports[*f].candidates.is_empty()).collect();
    if functions.is_empty() {
        return exploration;
    }
    let effects = EffectCache::new(program, analysis, config, &[]);
    let world = World::new(program, useflow, analysis, config, &effects);
    let results: Vec<(Vec<Verdict>, Vec<Vec<Edge>>, Effort)> =
        functions.par_iter().with_max_len(1).map(|f| explore_function(&world, *f, false)).collect();
    for (function, (verdicts, _, effort)) in functions.into_iter().zip(results) {
        exploration.add(function, verdicts, effort);
    }
    exploration.callees = effects.costs();
    exploration
}

/// Looks at every candidate and uses what was kept of the last run, in which the bounds must have been the same. The result is that of
/// [`explore`].
pub fn explore_keeping(
    program: &Program,
    useflow: &UseflowConfig,
    analysis: &Analysis,
    config: &ExploreConfig,
    (marks, tables): (&Marks, &TableMarks),
    kept: &mut Kept,
) -> Exploration {
    let mut exploration =
        Exploration { verdicts: vec![Vec::new(); analysis.reports.len()].into(), ..Exploration::default() };
    let functions: Vec<FuncId> = program.functions().filter(|f| !analysis.reports[*f].candidates.is_empty()).collect();
    let keeping = Keeping::new(marks, tables, analysis, std::mem::take(kept));
    let effects = EffectCache::new(program, analysis, config, keeping.givens());
    let world = World { keeping: Some(&keeping), ..World::new(program, useflow, analysis, config, &effects) };
    let explored = |function: FuncId| {
        let work = || {
            let ((verdicts, _, effort), counts) =
                counted_apart(&world, |world| explore_function(world, function, false));
            (verdicts, effort, counts)
        };
        (function, keeping.explored(&effects, function, work))
    };
    let results: Vec<(FuncId, Arc<Explored>)> = functions.par_iter().with_max_len(1).map(|f| explored(*f)).collect();
    for (function, explored) in &results {
        exploration.add(*function, explored.verdicts.clone(), explored.effort);
    }
    exploration.callees = effects.costs();
    let (now, counts) = keeping.end(&effects, &results);
    *kept = now;
    config.rules.add(&counts);
    exploration
}

/// Looks at the candidates of one function, and notes which branches make one that is refuted no leak.
pub fn explore_one(
    program: &Program,
    useflow: &UseflowConfig,
    analysis: &Analysis,
    config: &ExploreConfig,
    function: FuncId,
) -> Vec<(Verdict, Vec<Edge>)> {
    let effects = EffectCache::new(program, analysis, config, &[]);
    let world = World::new(program, useflow, analysis, config, &effects);
    let (verdicts, refused, _) = explore_function(&world, function, true);
    verdicts.into_iter().zip(refused).collect()
}

/// The verdicts of one function's candidates, the branches that refute them if wanted, and what that took.
fn explore_function(world: &World<'_>, function: FuncId, wants_edges: bool) -> (Vec<Verdict>, Vec<Vec<Edge>>, Effort) {
    let candidates = &world.analysis.reports[function].candidates;
    let mut verdicts = vec![Verdict::Unexamined; candidates.len()];
    let mut refused = vec![Vec::new(); candidates.len()];
    let Some(body) = world.program.body(function) else { return (verdicts, refused, Effort::default()) };
    let frame = Frame::new(world.program, function, &body, &|inst| world.depends_on_arguments(function, inst));
    let givens = world.config.rules.all(Rule::CallersConstants, || given_by_callers(world, &frame));
    let objects = objects_of(world, candidates, &mut verdicts);
    let chosen: Vec<Vec<&Candidate>> =
        objects.iter().map(|group| group.iter().map(|index| &candidates[*index]).collect()).collect();
    let aims: Vec<Aim<'_>> = chosen.iter().map(|group| Aim::new(&frame, wanted_by(group[0]), group)).collect();
    let mut effort = Effort::default();
    let Some(first) = aims.first() else { return (verdicts, refused, effort) };
    let mut search = Search::new(Machine::new(world, &frame), first.goal(), world.config.max_steps);
    search.edges = wants_edges.then(Edges::default);
    search.begin(&givens);
    search_together(search, &aims, &mut |mut search, number| {
        for (at, index) in objects[number].iter().enumerate() {
            verdicts[*index] = verdict(&mut search, at, chosen[number][at], &givens);
            if let (Verdict::Refuted(_), Some(edges)) = (&verdicts[*index], &search.edges) {
                refused[*index] = edges.refused(&frame, &candidates[*index]);
            }
        }
        effort += Effort { steps: search.machine.steps - search.counted_before, solver: search.machine.pool.stats };
    });
    leave_out_moved(candidates, &mut verdicts);
    (verdicts, refused, effort)
}

/// The candidates that are searched for, by object. Those are judged here that need no search.
fn objects_of(world: &World<'_>, candidates: &[Candidate], verdicts: &mut [Verdict]) -> Vec<Vec<usize>> {
    let mut objects: Vec<Vec<usize>> = Vec::new();
    let mut done = vec![false; candidates.len()];
    for first in 0..candidates.len() {
        if done[first] || !is_examined(&candidates[first]) {
            continue;
        }
        if candidates[first].loss == Loss::Question && !may_fail(world, &candidates[first]) {
            verdicts[first] = Verdict::Refuted(Layer::Ownership);
            continue;
        }
        let wanted = wanted_by(&candidates[first]);
        let is_same = |c: &Candidate| is_examined(c) && wanted_by(c) == wanted;
        let group: Vec<usize> = (first..candidates.len()).filter(|i| is_same(&candidates[*i])).collect();
        group.iter().for_each(|index| done[*index] = true);
        objects.push(group);
    }
    objects
}

/// A path that was found for one candidate may lose the object at the place of another one of the same allocation, which tells it better.
fn leave_out_moved(candidates: &[Candidate], verdicts: &mut [Verdict]) {
    let is_told = |index: usize| {
        let Verdict::Confirmed(witness) = &verdicts[index] else { return false };
        let candidate = &candidates[index];
        let is_same = |other: &Candidate| {
            (other.allocation, other.block) == (candidate.allocation, candidate.block) && other.place == witness.place
        };
        let is_confirmed = |verdict: &Verdict| matches!(verdict, Verdict::Confirmed(of) if of.place == witness.place);
        witness.place != candidate.place
            && candidates.iter().zip(&*verdicts).any(|(c, v)| is_same(c) && is_confirmed(v))
    };
    let told: Vec<usize> = (0..candidates.len()).filter(|index| is_told(*index)).collect();
    for index in told {
        verdicts[index] = Verdict::Refuted(Layer::Ownership);
    }
}

fn wanted_by(candidate: &Candidate) -> Wanted {
    Wanted { call: candidate.allocation, block: candidate.block }
}

/// Whether an allocation may fail in the callee that takes the object of a question.
fn may_fail(world: &World<'_>, candidate: &Candidate) -> bool {
    let is_taken = |event: &Event| matches!(event, Event::Kept | Event::Freed);
    let Some((call, _)) = candidate.trail.iter().rev().find(|(_, event)| is_taken(event)) else { return false };
    let site = world.program.call_site(candidate.function, *call);
    let mut targets = site.into_iter().flat_map(|site| world.program.targets(site));
    targets.any(|t| world.effects.get(world, *t, None).is_some_and(|effects| effects.parts.iter().any(|p| p.failed)))
}

fn is_examined(candidate: &Candidate) -> bool {
    candidate.loss.is_on_path() && (!candidate.hidden || candidate.loss == Loss::Question)
}

fn verdict(search: &mut Search<'_, '_>, index: usize, candidate: &Candidate, givens: &[Given]) -> Verdict {
    // What a callee may refuse for reasons that the caller knows better is no leak; that an allocation fails in it is one.
    let is_leak = |found: &&Found| candidate.loss != Loss::Question || found.needs_failure;
    if search.found[index].as_ref().filter(is_leak).is_some() && search.replay(index, givens) == Replay::Refuted {
        return Verdict::Refuted(Layer::Replay);
    }
    match search.found[index].clone().filter(|found| is_leak(&found)) {
        Some(found) => Verdict::Confirmed(Witness {
            steps: essential(&mut search.machine, &found.steps, candidate.allocation, candidate.place),
            freed_at: freed_at(&mut search.machine, candidate.allocation),
            left_at: left_at(search.machine.frame, &found.steps),
            place: found.place.unwrap_or(candidate.place),
            inputs: found.inputs,
            is_replayed: found.is_replayed,
            is_general: found.is_general,
            is_doubtful: found.is_merged || found.is_unproved,
            needs_alloc_failure: found.needs_failure,
            failure_tested: found.failure_tested,
        }),
        None if search.cut => Verdict::Cut,
        None if search.refuted_by_solver > 0 => Verdict::Refuted(Layer::Solver),
        None if search.reached_end => Verdict::Refuted(Layer::Ownership),
        None => Verdict::Refuted(Layer::Conditions),
    }
}
