//! What goes wrong with memory that is freed: freed twice, used or reachable afterwards, or freed though nothing allocated it.
//!
//! Stage two looks for leaks and leaves an object alone once it is freed. Here the paths of a function go on, and what each call
//! frees is remembered with the path. The check of a proposed fix asks for it (before and after), nothing else does: an object
//! that is *perhaps* freed counts as freed, which is right for refusing a fix and too strict for a finding.

use std::collections::BTreeSet;
use std::rc::Rc;

use caulk_ir::{Inst, InstId, Operand};
use caulk_program::{FuncId, Program};
use caulk_solver::TermId;
use caulk_summary::{Action, Decision, Depth, Destination, Subject};
use caulk_useflow::{Analysis, UseflowConfig};
use rayon::prelude::*;

use crate::call::Site;
use crate::config::ExploreConfig;
use crate::effect_cache::EffectCache;
use crate::frame::Frame;
use crate::machine::Machine;
use crate::search::{Goal, Search};
use crate::state::{Ownership, State};
use crate::symbols::Origin;
use crate::world::World;

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum MisuseKind {
    FreedTwice,
    UsedAfterFree,
    /// Where the function ends, its caller can still reach what was freed.
    Reachable,
    /// A variable, a constant or the middle of a block is freed.
    NotAllocated,
    /// What is freed was never set.
    NeverSet,
    /// What is freed was given to an owner before.
    GivenAway,
    /// What is freed came from the caller. No mistake as such: the asker knows whether it is meant.
    Callers,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Misuse {
    pub function: FuncId,
    pub inst: InstId,
    pub kind: MisuseKind,
}

/// What the paths of some functions do wrong.
#[derive(Clone, Debug, Default)]
pub struct Misused {
    /// Sorted, without repeats.
    pub found: Vec<Misuse>,
    /// Functions of which not all paths were seen.
    pub cut: Vec<FuncId>,
}

pub(crate) type Misuses = BTreeSet<(InstId, MisuseKind)>;

/// What a path remembers for it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Watched {
    /// Objects that were freed.
    freed: BTreeSet<TermId>,
    /// Local variables whose address was given to a call, which may have set them.
    shown: BTreeSet<TermId>,
}

impl Watched {
    pub(crate) fn freed(&self) -> impl Iterator<Item = TermId> {
        self.freed.iter().copied()
    }

    /// One path for two: what was freed on either counts.
    pub(crate) fn join(&mut self, other: &Self) {
        self.freed.extend(&other.freed);
        self.shown.extend(&other.shown);
    }
}

/// Executes functions, and says what they do wrong with freed memory on the paths that were explored.
pub fn misuses(
    program: &Program,
    useflow: &UseflowConfig,
    analysis: &Analysis,
    config: &ExploreConfig,
    functions: &[FuncId],
) -> Misused {
    let effects = EffectCache::new(program, analysis, config, &[]);
    let world = World::new(program, useflow, analysis, config, &effects);
    let each: Vec<(Misuses, bool)> = functions.par_iter().with_max_len(1).map(|f| of_function(&world, *f)).collect();
    let mut misused = Misused::default();
    for (&function, (found, cut)) in functions.iter().zip(each) {
        misused.found.extend(found.into_iter().map(|(inst, kind)| Misuse { function, inst, kind }));
        misused.cut.extend(cut.then_some(function));
    }
    misused.found.sort_unstable();
    misused.found.dedup();
    misused
}

fn of_function(world: &World<'_>, function: FuncId) -> (Misuses, bool) {
    let Some(body) = world.program.body(function) else { return Default::default() };
    let frame = Frame::new(world.program, function, &body, &|inst| world.depends_on_arguments(function, inst));
    let mut search = Search::new(Machine::new(world, &frame), Goal::Effects, world.config.max_misuse_steps);
    search.misuses = Some(Misuses::new());
    search.run();
    (search.misuses.take().unwrap_or_default(), search.cut)
}

/// A value that a call may free, as it was before the call.
pub(crate) struct Freeing {
    value: TermId,
    action: Action,
    /// It was given to an owner before.
    is_given_away: bool,
}

impl Search<'_, '_> {
    fn note(&mut self, inst: InstId, kind: MisuseKind) {
        if let Some(misuses) = &mut self.misuses {
            misuses.insert((inst, kind));
        }
    }

    /// What a call frees; and whether it is given what is freed already.
    pub(crate) fn freed_by(&mut self, state: &State, inst: InstId) -> Vec<Freeing> {
        let Some(call) = self.machine.frame.body.insts[inst].call().filter(|_| self.misuses.is_some()) else {
            return Vec::new();
        };
        let site = self.machine.site(state, inst, call);
        let freeing = self.machine.freeing(state, &site);
        let frees = |root: Option<TermId>| freeing.iter().any(|f| self.machine.root(f.value) == root);
        let given = site.args.iter().filter(|arg| self.machine.is_freed(state, **arg));
        let is_used = given.copied().filter(|arg| !frees(self.machine.root(*arg))).collect::<Vec<_>>();
        if is_used.into_iter().any(|arg| self.machine.may_be_set(state, arg)) {
            self.note(inst, MisuseKind::UsedAfterFree);
        }
        freeing
    }

    /// After a call: what it has freed on this path.
    pub(crate) fn note_freed(&mut self, freeing: &[Freeing], state: &mut State, inst: InstId) {
        let Some(call) = self.machine.frame.body.insts[inst].call().filter(|_| self.misuses.is_some()) else { return };
        let site = self.machine.site(state, inst, call);
        // One call may free something for several reasons; that is once.
        let before = state.watched.clone();
        for Freeing { value, action, is_given_away } in freeing {
            let result = state.get(inst);
            let is_sure = match self.machine.decide_action(state, &site, result, action) {
                Decision::No => continue,
                Decision::Yes => true,
                Decision::If(..) | Decision::Hidden(_) => false,
            };
            if !self.machine.may_be_set(state, *value) {
                continue;
            }
            if is_sure {
                for kind in self.machine.wrong_to_free(&before, *value) {
                    self.note(inst, kind);
                }
                if *is_given_away {
                    self.note(inst, MisuseKind::GivenAway);
                }
            }
            self.machine.mark_freed(state, *value, &action.to);
        }
        let locals = site.args.iter().filter_map(|arg| self.machine.root(*arg));
        let locals: Vec<TermId> = locals.filter(|r| matches!(self.machine.origin(*r), Origin::Local(_))).collect();
        if !locals.is_empty() {
            Rc::make_mut(&mut state.watched).shown.extend(locals);
        }
    }

    /// Whether an instruction reads or writes what is freed.
    pub(crate) fn note_use(&mut self, state: &State, inst: InstId) {
        if self.misuses.is_none() || state.watched.freed.is_empty() {
            return;
        }
        let addresses: &[Operand] = match &self.machine.frame.body.insts[inst] {
            Inst::Load { address, .. } | Inst::Store { address, .. } => &[*address],
            Inst::Copy { dst, src, .. } => &[*dst, *src],
            Inst::Fill { dst, .. } => &[*dst],
            _ => &[],
        };
        for address in addresses {
            let address = self.machine.operand(state, *address);
            if self.machine.is_freed(state, address) && self.machine.may_be_set(state, address) {
                self.note(inst, MisuseKind::UsedAfterFree);
            }
        }
    }

    /// At the end of a path: what was freed must be out of reach.
    pub(crate) fn note_dangling(&mut self, state: &State, inst: InstId, result: Option<TermId>) {
        if self.misuses.is_none() {
            return;
        }
        let is_reachable = |object: TermId| self.machine.is_reachable(state, object, result);
        if state.watched.freed().any(is_reachable) {
            self.note(inst, MisuseKind::Reachable);
        }
    }
}

impl Machine<'_> {
    /// The values that a call may free, by stage one's summary of it.
    fn freeing(&mut self, state: &State, site: &Site<'_>) -> Vec<Freeing> {
        let Some(effect) = self.effect(site.inst) else { return Vec::new() };
        let mut freeing = Vec::new();
        for action in effect.summary.actions.iter().filter(|a| matches!(a.to, Destination::Free { .. })) {
            let Subject::Value(path) = &action.subject else { continue };
            if let Some(value) = self.path_value(state, site, None, path) {
                let is_given_away = self.root(value).is_some_and(|root| {
                    state.ownership(root) == Some(Ownership::Kept) && !state.watched.freed.contains(&root)
                });
                freeing.push(Freeing { value, action: action.clone(), is_given_away });
            }
        }
        freeing
    }

    fn is_freed(&self, state: &State, value: TermId) -> bool {
        !state.watched.freed.is_empty() && self.root(value).is_some_and(|root| state.watched.freed.contains(&root))
    }

    /// Whether a pointer need not be null.
    fn may_be_set(&mut self, state: &State, value: TermId) -> bool {
        if self.pool.width(value) != 64 {
            return true;
        }
        let zero = self.pool.constant(64, 0);
        let is_null = self.pool.eq(value, zero);
        self.pool.as_const(value) != Some(0) && state.facts.implied(&self.pool, is_null) != Some(true)
    }

    fn wrong_to_free(&mut self, before: &Watched, value: TermId) -> Vec<MisuseKind> {
        if value == self.undefined() {
            return vec![MisuseKind::NeverSet];
        }
        let Some(root) = self.root(value) else { return Vec::new() };
        let mut wrong = Vec::new();
        if before.freed.contains(&root) {
            wrong.push(MisuseKind::FreedTwice);
        }
        match self.origin(root) {
            Origin::Local(_) | Origin::Global(_) | Origin::Function(_) => wrong.push(MisuseKind::NotAllocated),
            // A pointer into the block (`strtok(list, ",")`) is not what was allocated.
            _ if value != root => wrong.push(MisuseKind::NotAllocated),
            Origin::Initial(key) => wrong.push(match self.root(key.base) {
                Some(holder) if matches!(self.origin(holder), Origin::Local(_)) => {
                    if before.shown.contains(&holder) {
                        return wrong;
                    }
                    MisuseKind::NeverSet
                }
                _ => MisuseKind::Callers,
            }),
            Origin::Param(_) => wrong.push(MisuseKind::Callers),
            _ => {}
        }
        wrong
    }

    fn mark_freed(&self, state: &mut State, value: TermId, to: &Destination) {
        let Some(root) = self.root(value) else { return };
        // A destructor frees what the block holds, or moves it: either way it is no longer the path's.
        let inner: Vec<TermId> = match to {
            Destination::Free { deep } if *deep != Depth::Shallow => {
                let held = state.memory.iter().filter(|(_, c)| c.holder == Some(root));
                held.filter_map(|(_, c)| c.points).filter(|p| matches!(self.origin(*p), Origin::Block(_))).collect()
            }
            _ => Vec::new(),
        };
        let watched = Rc::make_mut(&mut state.watched);
        watched.freed.insert(root);
        watched.freed.extend(inner);
    }

    /// Whether the caller can reach what was freed: by the result, or by memory that lives on.
    fn is_reachable(&self, state: &State, object: TermId, result: Option<TermId>) -> bool {
        let kept: Vec<TermId> = result.into_iter().collect();
        if kept.iter().any(|value| self.points_to(*value, object)) {
            return true;
        }
        let is_gone =
            |holder: TermId| state.watched.freed.contains(&holder) || matches!(self.origin(holder), Origin::Local(_));
        let lives_on = |holder: Option<TermId>| holder.is_none_or(|h| !is_gone(h) && !self.is_own(state, h, &kept));
        let is_stored = state.memory.iter().any(|(_, c)| self.cell_points_to(c, object) && lives_on(c.holder));
        // What a cell held when the function was entered it holds until something else is written there.
        let is_left = match self.origin(object) {
            Origin::Initial(key) => state.memory.get(key).is_none() && lives_on(self.root(key.base)),
            _ => false,
        };
        is_stored || is_left
    }

    /// A block of the path that nothing else holds.
    fn is_own(&self, state: &State, holder: TermId, kept: &[TermId]) -> bool {
        matches!(self.origin(holder), Origin::Block(_))
            && state.ownership(holder) == Some(Ownership::Live)
            && !self.is_held(state, holder, kept, false)
    }
}
