//! Guarded summaries: what a callee does, part by part, each with the condition under which it does it.
//!
//! They are worked out on demand, for callees small enough, by executing the callee on symbols of its own. A part keeps the
//! end of one path (or of several that do the same): conditions over what the callee was given, memory written, objects
//! freed or kept, and the value returned. `apply.rs` puts a caller's values in place of the callee's symbols.

use std::collections::BTreeSet;

use caulk_program::FuncId;
use caulk_solver::{Facts, TermId, TermPool};
use smallvec::SmallVec;

use crate::effect_cache::Given;
use crate::frame::Frame;
use crate::machine::Machine;
use crate::memory::{Content, Zeroes};
use crate::refused::Edge;
use crate::search::{End, Goal, Search};
use crate::state::{Ownership, State};
use crate::symbols::{Key, Origin, Symbols};
use crate::world::World;

/// One way a function may go.
#[derive(Clone, Debug)]
pub(crate) struct EffectsPart {
    pub literals: Vec<TermId>,
    pub result: Option<TermId>,
    /// Cells that callers can see, in the order of their keys.
    pub writes: Vec<(Key, Content)>,
    /// Runs of bytes of callers, or of blocks for them, that were cleared before `writes`.
    pub zeroes: Vec<ClearedRun>,
    /// Runs of bytes copied from what the function was given, before `writes`: where to, where from, how many.
    pub copies: Vec<(Key, Key, TermId)>,
    /// The outcome of the function's own blocks, and of what it was given.
    pub ownerships: Vec<(TermId, Ownership)>,
    /// An allocation failed on this way.
    pub failed: bool,
    /// The branches of a path that goes this way, or those that all of several share: what a reader is told of it.
    pub edges: Vec<Edge>,
    /// Arguments that are null on this way, and that other paths take.
    absent: Vec<TermId>,
    /// What was stored where it cannot be told: under an unknown address, or at one place on one way and elsewhere on another.
    held_somewhere: BTreeSet<TermId>,
}

/// Bytes that a function cleared.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct ClearedRun {
    pub base: TermId,
    pub from: i64,
    pub to: i64,
    /// They are still zero, except for what is told cell by cell. Otherwise nothing is known of them.
    pub is_still_zero: bool,
}

/// All outcomes of a function, in terms of its own pool.
#[derive(Debug)]
pub(crate) struct Effects {
    pub pool: TermPool,
    pub symbols: Symbols,
    pub parts: Vec<EffectsPart>,
    /// Functions it calls that were taken by their summaries: what they write is known only by class.
    pub opaque: Vec<FuncId>,
    /// Places behind which functions without a body may have written, and whether they may have in what the contents lead to as well.
    pub filled: Vec<(Key, bool)>,
}

/// Executes a function on symbols of its own. `given`: constants in place of some of its parameters. None: it goes too many
/// ways. `steps` counts the instructions executed.
pub(crate) fn work_out(
    world: &World<'_>,
    function: FuncId,
    given: &Given,
    max_steps: usize,
    steps: &mut usize,
) -> Option<Effects> {
    let body = world.program.body(function)?;
    // What is returned tells callers, so it matters wherever it is decided.
    let decides = |inst| body.insts[inst].is_terminator() || world.depends_on_arguments(function, inst);
    let frame = Frame::new(world.program, function, &body, &decides);
    let (mut search, is_whole) = search_all(world, &frame, given, max_steps, steps);
    // Paths that variables distinguish may be too many where the others are not.
    let plain;
    if !is_whole {
        plain = Frame::new(world.program, function, &body, &decides).without_choices()?;
        let (again, is_whole) = search_all(world, &plain, given, max_steps, steps);
        if !is_whole {
            return None;
        }
        search = again;
    }
    let ends = std::mem::take(&mut search.ends);
    let mut machine = search.machine;
    let taken = machine.arguments_taken(ends.iter().map(|end| &end.state));
    let mut parts: Vec<(EffectsPart, Facts)> = Vec::new();
    for end in ends {
        let absent = machine.absent_arguments(&end.state, &taken);
        let effect = EffectsPart { absent, ..effect_of(&mut machine, &end) };
        parts.push((effect, end.state.facts));
    }
    for likeness in [Likeness::All, Likeness::ResultAndOwnerships, Likeness::Ownerships] {
        parts = merge_parts(&mut machine, parts, likeness);
        if parts.len() <= world.config.max_effects {
            break;
        }
    }
    if parts.len() > world.config.max_effects {
        return None;
    }
    let finish = |(mut effect, facts): (EffectsPart, Facts)| {
        keep_what_is_held(&machine, &mut effect);
        leave_views(&machine, &mut effect, &world.analysis.summary(function).views);
        EffectsPart { literals: facts.literals().to_vec(), ..effect }
    };
    let parts: Vec<EffectsPart> = parts.into_iter().map(finish).collect();
    let mut opaque: Vec<FuncId> = std::mem::take(&mut machine.opaque).into_iter().collect();
    // What the function may write, its callees included, is known as well: less exact, and as short as can be.
    if opaque.len() > world.config.max_opaque {
        opaque = vec![function];
    }
    let (filled, inside) = (std::mem::take(&mut machine.filled), std::mem::take(&mut machine.filled_inside));
    let places: BTreeSet<Key> = filled.union(&inside).copied().collect();
    let filled = places.into_iter().map(|key| (key, inside.contains(&key))).take(world.config.max_opaque).collect();
    Some(Effects { pool: machine.pool, symbols: machine.symbols, parts, opaque, filled })
}

/// Executes a function, and says whether all its paths were seen, each by itself.
fn search_all<'f>(
    world: &'f World<'f>,
    frame: &'f Frame<'f>,
    given: &Given,
    max_steps: usize,
    steps: &mut usize,
) -> (Search<'f, 'f>, bool) {
    let mut run = |asks_in_cycles: bool| {
        let mut machine = Machine::new(world, frame);
        machine.asks_in_cycles = asks_in_cycles;
        machine.given = given.clone();
        let mut search = Search::new(machine, Goal::Effects, max_steps);
        search.run();
        *steps += search.machine.steps;
        search
    };
    let is_whole = |search: &Search<'_, '_>| !search.cut && !search.ends.iter().any(|end| end.state.is_merged);
    let mut search = run(true);
    // With all that callees tell there may be too many outcomes to keep apart; with less there are fewer.
    if !is_whole(&search) && search.machine.has_asked_in_cycle.get() {
        search = run(false);
    }
    let is_whole = is_whole(&search);
    (search, is_whole)
}

/// What parts must have in common to become one.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Likeness {
    All,
    /// What differs in memory becomes unknown.
    ResultAndOwnerships,
    /// The result becomes unknown too.
    Ownerships,
}

fn merge_parts(
    machine: &mut Machine<'_>,
    parts: Vec<(EffectsPart, Facts)>,
    likeness: Likeness,
) -> Vec<(EffectsPart, Facts)> {
    let is_alike = |a: &EffectsPart, b: &EffectsPart| {
        let memory = a.writes == b.writes && a.copies == b.copies && a.zeroes == b.zeroes;
        let result = a.result == b.result;
        // A way that finds nothing to take says nothing of what the others do with what is there.
        let presence = a.absent == b.absent;
        let is_exact = memory && presence;
        a.ownerships == b.ownerships
            && (result || likeness == Likeness::Ownerships)
            && (is_exact || likeness != Likeness::All)
    };
    let mut merged: Vec<(EffectsPart, Facts)> = Vec::new();
    for (effect, facts) in parts {
        match merged.iter_mut().find(|(known, _)| is_alike(known, &effect)) {
            Some((known, shared)) => {
                *shared = shared.join(&facts, &mut machine.pool);
                merge_into(machine, known, effect);
            }
            None => merged.push((effect, facts)),
        }
    }
    merged
}

fn merge_into(machine: &mut Machine<'_>, known: &mut EffectsPart, other: EffectsPart) {
    known.failed &= other.failed;
    known.zeroes = merge_runs(&known.zeroes, &other.zeroes);
    known.held_somewhere.extend(other.held_somewhere);
    known.edges.retain(|edge| other.edges.contains(edge));
    if known.result != other.result
        && let Some(result) = known.result
    {
        known.result = Some(machine.renewed(result));
    }
    for copy in other.copies {
        if !known.copies.contains(&copy) {
            known.copies.push(copy);
        }
    }
    let mut writes: Vec<(Key, Content)> = Vec::new();
    for (key, content) in known.writes.iter().chain(&other.writes) {
        if writes.iter().any(|(at, _)| at == key) {
            continue;
        }
        let find = |list: &[(Key, Content)]| list.iter().find(|(at, _)| at == key).map(|(_, c)| *c);
        let is_same = find(&known.writes) == find(&other.writes);
        if !is_same {
            // Where it is on one of the paths cannot be said any more, but there it is held.
            let lost = [&known.writes, &other.writes].map(|writes| find(writes).and_then(|c| c.points));
            known.held_somewhere.extend(lost.into_iter().flatten());
        }
        let value = if is_same { content.value } else { machine.renewed(content.value) };
        writes.push((*key, machine.content(*key, value, content.bytes, content.class)));
    }
    writes.sort_by_key(|(key, _)| *key);
    known.writes = writes;
}

/// What was cleared on one of two paths is not known to be zero after either.
fn merge_runs(some: &[ClearedRun], others: &[ClearedRun]) -> Vec<ClearedRun> {
    let in_both = |run: &ClearedRun| some.contains(run) && others.contains(run);
    let merged = |run: &ClearedRun| ClearedRun { is_still_zero: run.is_still_zero && in_both(run), ..*run };
    let mut runs: Vec<ClearedRun> = some.iter().chain(others).map(merged).collect();
    runs.sort_unstable();
    runs.dedup();
    runs
}

/// Objects of callers, or made for them, of which only so much is known that they have an owner.
fn keep_what_is_held(machine: &Machine<'_>, effect: &mut EffectsPart) {
    let held = std::mem::take(&mut effect.held_somewhere);
    let is_object = |root: &TermId| matches!(machine.origin(*root), Origin::Block(_) | Origin::Param(_));
    for root in held.into_iter().filter(is_object) {
        match effect.ownerships.iter_mut().find(|(of, _)| *of == root) {
            Some((_, ownership)) if *ownership == Ownership::Live => *ownership = Ownership::Kept,
            Some(_) => {}
            None => effect.ownerships.push((root, Ownership::Kept)),
        }
    }
    effect.ownerships.sort_unstable();
}

/// What the function only looks at by its declaration is kept nowhere.
fn leave_views(machine: &Machine<'_>, effect: &mut EffectsPart, views: &[u32]) {
    let is_view = |root: TermId| matches!(machine.origin(root), Origin::Param(index) if views.contains(&index));
    if !views.is_empty() {
        effect.ownerships.retain(|(root, ownership)| *ownership != Ownership::Kept || !is_view(*root));
        effect.writes.retain(|(_, content)| !content.points.is_some_and(is_view));
    }
}

fn effect_of(machine: &mut Machine<'_>, end: &End) -> EffectsPart {
    let state = &end.state;
    let mut writes = Vec::new();
    // A store to an unknown address counts as an owner.
    let mut held_somewhere: BTreeSet<TermId> = BTreeSet::new();
    for (key, content) in state.memory.iter() {
        let root = machine.root(key.base);
        if root.is_none() {
            held_somewhere.extend(content.points);
        }
        let is_own = root.is_none_or(|r| matches!(machine.origin(r), Origin::Local(_)));
        let is_unchanged = machine.symbols.origin(&machine.pool, content.value) == Some(Origin::Initial(key));
        if !is_own && !is_unchanged {
            writes.push((key, *content));
        }
    }
    let kept: SmallVec<[TermId; 1]> = end.result.into_iter().collect();
    let holds_something = |root: TermId| state.memory.iter().any(|(_, c)| c.holder == Some(root) && c.points.is_some());
    let matters = |root: &TermId, ownership: &Ownership| match (machine.origin(*root), ownership) {
        (Origin::Local(_), _) => false,
        // What has no owner is lost inside, and does not concern callers.
        (Origin::Block(_), Ownership::Live) => machine.is_held(state, *root, &kept, false),
        (Origin::Block(_), Ownership::Kept) => machine.is_held(state, *root, &kept, false) || holds_something(*root),
        (Origin::Block(_), Ownership::Freed) => false,
        _ => true,
    };
    let ownerships: Vec<(TermId, Ownership)> = state.ownerships.iter().filter(|(r, f)| matters(r, f)).collect();
    let zero = machine.pool.constant(64, 0);
    let mut failed = !state.failures.is_empty();
    for (call, result) in &state.allocations {
        if machine.pool.width(*result) == 64 {
            let is_null = machine.pool.eq(*result, zero);
            failed |= state.facts.implied(&machine.pool, is_null) == Some(true) && !machine.may_refuse(*call);
        }
    }
    let copies = state.copies.to_vec();
    let edges = state.trail.edges(0);
    let zeroes = zeroes_for_callers(machine, state);
    EffectsPart {
        literals: Vec::new(),
        result: end.result,
        writes,
        zeroes,
        copies,
        ownerships,
        failed,
        edges,
        absent: Vec::new(),
        held_somewhere,
    }
}

/// Memory of callers, and blocks for them, that the function cleared: what it has written there since is told cell by cell.
fn zeroes_for_callers(machine: &Machine<'_>, state: &State) -> Vec<ClearedRun> {
    let is_seen = |base: TermId| {
        let origin = machine.root(base).map(|root| machine.origin(root));
        matches!(origin, Some(Origin::Block(_) | Origin::Param(_) | Origin::Initial(_) | Origin::Global(_)))
    };
    let run = |run: &Zeroes| {
        let is_still_zero = run.since.is_empty();
        ClearedRun { base: run.base, from: run.from, to: run.to, is_still_zero }
    };
    let runs = state.memory.all_zeroes().iter();
    let mut zeroes: Vec<ClearedRun> = runs.filter(|run| is_seen(run.base)).map(run).collect();
    zeroes.sort_unstable();
    zeroes
}
