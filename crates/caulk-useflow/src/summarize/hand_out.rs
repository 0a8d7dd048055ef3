//! Fresh blocks that leave the function: where callers find them, and how they are told.

use caulk_ir::{Inst, InstId, Operand};
use caulk_memory::{AccessPath, Cell, Offset, PathRoot, Relation, ValueId, ValueNode};
use caulk_rules::Rule;
use caulk_summary::{Action, Alloc, AllocId, Case, Destination, Guard, Subject};
use std::collections::BTreeSet;

use rustc_hash::FxHashSet;
use smallvec::SmallVec;

use super::{Exit, Summarizer};
use crate::alternative::{Alternative, Status};
use crate::bounds::BOUNDS;
use crate::guards::{cases, guard, guard_of_result, lacks, returned};
use crate::objects::Fresh;
use crate::propagate::{Flow, Propagation};

/// Who else has a block, on other paths than those on which it is handed out. Where nothing tells which these are, what is handed
/// out may be that owner's.
#[derive(Clone, Copy)]
pub(super) struct Owners {
    /// It is kept: a result may be no more than a pointer to it.
    pub is_kept: bool,
    /// Memory that the function found holds it.
    pub is_found: bool,
}

/// Whether a path names a field of the structure that a parameter points to.
fn is_own_field(path: &AccessPath) -> bool {
    matches!(path.root, PathRoot::Param(_)) && path.steps.len() == 1
}

/// Whether fields of a parameter's structure hold no more than pointers to what an older structure behind another field of it holds:
/// `cursor->list->last = node; cursor->current = node;`. Not so a field that moves on to what hangs on its old contents
/// (`list->tail->next = node; list->tail = node;`).
fn has_second_pointers(paths: &[AccessPath]) -> bool {
    let own: SmallVec<[&AccessPath; 4]> = paths.iter().filter(|path| is_own_field(path)).collect();
    let has_root = |path: &AccessPath| own.iter().any(|field| field.root == path.root);
    let is_moved_on =
        |path: &AccessPath| own.iter().any(|f| f.root == path.root && f.steps[0].offset == path.steps[0].offset);
    paths.iter().any(|path| path.steps.len() > 1 && has_root(path) && !is_moved_on(path))
}

impl Summarizer<'_> {
    /// What the caller gets back and can reach through something else as well is that other thing's. A mere list of all objects holds
    /// none of them.
    pub(super) fn leave_to_holders(&mut self, object: &Fresh, handed: &mut [(Exit, Vec<AccessPath>)]) {
        let info = self.view.program.function(self.view.id);
        let ty = info.declaration.ret_pointee.target.map(|ty| self.view.program.resolve_struct(info.unit, ty));
        for ((exit, alternative), paths) in handed {
            let rules = &self.world.config.rules;
            if rules.applies(Rule::BorrowedElements, has_second_pointers(paths)) {
                paths.retain(|path| !is_own_field(path));
            }
            let is_elsewhere = self.is_held_elsewhere(*exit, alternative);
            let is_elsewhere = self.world.config.rules.applies(Rule::HeldElsewhere, is_elsewhere);
            let holds = |path: &AccessPath| match path.root {
                PathRoot::Param(_) => true,
                PathRoot::Global(global) => !ty.is_some_and(|ty| self.world.survey.is_registry(ty, global)),
                PathRoot::Return => false,
            };
            // Nor is what memory holds that the function found, wherever else a pointer to it is put.
            let is_returned = paths.iter().any(|path| path.root == PathRoot::Return);
            if is_elsewhere && !is_returned && self.is_held_by_found(alternative) {
                paths.clear();
                continue;
            }
            // What a variable of the program holds is not the caller's, wherever else a pointer to it is put.
            let is_global = |path: &AccessPath| matches!(path.root, PathRoot::Global(_)) && holds(path);
            if paths.iter().any(is_global) {
                paths.retain(is_global);
            }
            if (is_elsewhere || paths.iter().any(holds)) && paths.iter().any(|path| path.root == PathRoot::Return) {
                self.kept_returns.insert((*exit, object.call));
                // By whatever name it is returned: `fill(s); return s->data;`.
                self.kept_returns.extend(alternative.names.iter().map(|name| (*exit, *name)));
                // In the caller's own memory it is one block with two names, and goes with whichever is taken. Not so an element of a
                // collection.
                let is_field =
                    |path: &AccessPath| path.steps.len() <= 1 && path.steps.iter().all(|s| s.offset != Offset::Any);
                let is_near = |path: &AccessPath| path.root == PathRoot::Return || is_field(path);
                let is_callers = !is_elsewhere && paths.iter().all(is_near);
                paths.retain(|path| is_callers || path.root != PathRoot::Return);
            }
        }
    }

    /// Whether memory that has no name for the caller, and that the function did not make, holds the object too.
    pub(super) fn is_held_elsewhere(&mut self, exit: InstId, alternative: &Alternative) -> bool {
        let parts: SmallVec<[ValueId; 2]> = alternative.holders().map(|cell| cell.base).collect();
        if let Some(own) = alternative.own
            && parts.into_iter().any(|part| self.view.is_part_put_elsewhere(part, own))
        {
            return true;
        }
        let values = &self.view.values;
        let result = returned(&self.view, exit).and_then(|v| values.of_operand(v)).map(|c| c.base);
        let is_elsewhere = |cell: &&Cell| {
            let is_own = alternative.own.is_some_and(|own| values.is_reached_from(cell.base, own));
            let is_made = match values.root(cell.base) {
                ValueNode::Opaque(inst) => {
                    let is_fresh = self.makes_own_block(inst);
                    let is_put = || alternative.own.is_some_and(|own| self.view.is_put_elsewhere(cell.base, own));
                    is_fresh && !is_put()
                }
                _ => true,
            };
            !is_made && !is_own && self.path_from_result(**cell, result).is_none()
        };
        alternative.holders().any(|cell| is_elsewhere(&cell))
    }

    /// Whether an object that the function came upon, and that has no name for the caller, holds the object.
    fn is_held_by_found(&self, alternative: &Alternative) -> bool {
        let values = &self.view.values;
        alternative.holders().any(|cell| {
            let is_own = alternative.own.is_some_and(|own| values.is_reached_from(cell.base, own));
            !is_own && matches!(values.root(cell.base), ValueNode::Opaque(inst) if !self.makes_own_block(inst))
        })
    }

    /// Whether a call gives back a block that is not known to be another's as well: `return &list->items[n]` gives no such block.
    fn makes_own_block(&self, call: InstId) -> bool {
        self.view.calls[call].as_ref().is_some_and(|e| e.unknown || e.summary.returns_own_block())
    }

    /// Actions for a block that leaves the function.
    pub(super) fn hand_out(
        &mut self,
        object: &Fresh,
        handed: Vec<(Exit, Vec<AccessPath>)>,
        others: Vec<Exit>,
        owners: Owners,
    ) {
        let mut paths: Vec<AccessPath> = handed.iter().flat_map(|(_, p)| p.clone()).collect();
        paths.sort();
        paths.dedup();
        // When it is handed out is not asked any more in a function that has cost too much already.
        let is_hidden = object.hidden || object.is_opaque || self.view.is_over_budget();
        let absent = match is_hidden {
            true => Flow::default(),
            false => Propagation::run_absent(&mut self.view, &mut self.history, object.call, object.failure),
        };
        let kept = &self.kept_returns;
        let is_shared = |handed: &[(Exit, Vec<AccessPath>)]| {
            handed.iter().any(|((exit, _), paths)| {
                let is_globals = paths.iter().any(|p| matches!(p.root, PathRoot::Global(_)));
                let is_anothers = is_globals || kept.contains(&(*exit, object.call));
                is_anothers && !paths.iter().any(|p| p.root == PathRoot::Return)
            })
        };
        let is_owned = is_shared(&handed);
        let aliases = if object.is_opaque { aliases(&handed) } else { Aliases::None };
        let to_return = AccessPath::root(PathRoot::Return);
        if !object.hidden && !self.may_be_argument(object) && !self.view.is_over_budget() {
            self.note_fresh_returns(object, &handed, &to_return, &absent.exits);
        }
        let exits: Vec<Exit> = handed.iter().map(|(exit, _)| exit.clone()).collect();
        let mut cases = cases(&mut self.view, &exits);
        cases.iter_mut().for_each(|case| case.needs.extend(object.filled.iter().cloned()));
        let blocks = &mut self.report.summary.blocks;
        let returned = block_returned_already(&self.report.summary.actions, &paths, &to_return);
        // Blocks that different arguments choose stay separate: an arena's is also in its list, where there is an arena.
        let is_chosen = |id: &AllocId| Case::exclude_by_arguments(&blocks[*id].cases, &cases);
        let id = match returned.filter(|id| !self.world.config.rules.applies(Rule::ChosenBlocks, is_chosen(id))) {
            Some(id) => {
                let known = &mut blocks[id].cases;
                *known = Case::merge(known.iter().chain(&cases).cloned().collect(), BOUNDS.cases);
                id
            }
            None => {
                let (family, chain) = (object.family, object.chain.clone());
                blocks.push(Alloc { family, chain, doubt: object.doubt, is_zeroed: false, cases: cases.clone() })
            }
        };
        for path in paths {
            let (did, mut did_not): (Vec<Exit>, Vec<Exit>) = (
                handed.iter().filter(|(_, p)| p.contains(&path)).map(|(e, _)| e.clone()).collect(),
                handed.iter().filter(|(_, p)| !p.contains(&path)).map(|(e, _)| e.clone()).collect(),
            );
            did_not.extend(others.iter().cloned());
            did_not.extend(absent.exits.iter().cloned());
            let is_shared = is_owned || aliases.make_unsure(&path);
            let mut guard = self.guard_of_place(object, &path, is_hidden, is_shared, &did, did_not.clone());
            if guard.is_hidden() && !is_hidden {
                // Where the caller has not given what the block needs there is none, and it knows.
                did_not.retain(|exit| !lacks(&mut self.view, &cases, exit));
                guard = self.guard_of_place(object, &path, is_hidden, is_shared, &did, did_not);
            }
            if guard == Guard::Opaque && (owners.is_found || (owners.is_kept && path == to_return)) {
                guard = Guard::Unsure;
            }
            let subject = Subject::Alloc(id);
            let same = self
                .report
                .summary
                .actions
                .iter_mut()
                .find(|a| a.subject == subject && matches!(&a.to, Destination::Store(to) if to.same_place(&path)));
            match same {
                // Another branch returns a block of its own to the same place.
                Some(action) => action.guard = weaker(&action.guard, &guard),
                None => self.report.summary.actions.push(Action { subject, to: Destination::Store(path), guard }),
            }
        }
    }

    /// When a block is found at a place.
    fn guard_of_place(
        &mut self,
        object: &Fresh,
        path: &AccessPath,
        is_hidden: bool,
        is_shared: bool,
        did: &[Exit],
        did_not: Vec<Exit>,
    ) -> Guard {
        let is_result = path.root == PathRoot::Return && path.steps.is_empty();
        match (is_hidden, is_result) {
            // A pointer to what something else of the caller's holds too may be no more than that.
            (true, _) if is_shared => Guard::Unsure,
            (true, true) if object.hidden => Guard::Unsure,
            (true, _) => Guard::Opaque,
            // On other paths it is a holder's, and the caller cannot tell.
            (false, true) if is_shared => match guard_of_result(&mut self.view, did, did_not) {
                Guard::ByArgument(path, relation) if path.steps.is_empty() => Guard::ByArgument(path, relation),
                _ => Guard::Unsure,
            },
            (false, true) => guard_of_result(&mut self.view, did, did_not),
            (false, false) => self.guard_of_out_parameter(object, did, did_not),
        }
    }

    /// When nothing tells that the allocation failed, the paths on which it did not count (SPARROW 3: prefer the paths that
    /// allocate).
    pub(super) fn guard_of_out_parameter(&mut self, object: &Fresh, did: &[Exit], mut did_not: Vec<Exit>) -> Guard {
        let first = guard(&mut self.view, did, &did_not);
        let Some((key, failure)) = object.failure.filter(|_| first.is_hidden() && !self.makes_room(object)) else {
            return first;
        };
        did_not
            .retain(|(_, a)| a.status != Status::Absent || !a.facts.iter().any(|f| f.0 == key && f.1.implies(failure)));
        guard(&mut self.view, did, &did_not)
    }

    /// Whether the call that makes a block frees the one that was in its place, in the same case: `if (grow(b, n)) again(b);`. In the other
    /// case nothing has failed, the older block is just large enough.
    fn makes_room(&self, object: &Fresh) -> bool {
        let Some(effect) = self.view.calls[object.call].as_ref() else { return false };
        let actions = &effect.summary.actions;
        let is_replaced = |to: &AccessPath, guard: &Guard| {
            actions.iter().any(|action| {
                let is_there = matches!(&action.subject, Subject::Value(path) if path.same_place(to));
                is_there && action.guard == *guard && matches!(action.to, Destination::Free { .. } | Destination::Renew)
            })
        };
        actions.iter().any(|action| match (&action.subject, &action.to) {
            (Subject::Alloc(_), Destination::Store(to)) => {
                !to.steps.is_empty() && matches!(action.guard, Guard::ByResult(..)) && is_replaced(to, &action.guard)
            }
            _ => false,
        })
    }

    /// Whether the call may give back one of its arguments instead of the block, and nothing tells when: what is returned is a fresh block
    /// only sometimes then, as `x = grow_if_full(x); return x;`.
    fn may_be_argument(&self, object: &Fresh) -> bool {
        let Some(effect) = self.view.calls[object.call].as_ref().filter(|_| object.is_opaque) else { return false };
        let is_result = |to: &AccessPath| to.root == PathRoot::Return && to.steps.is_empty();
        effect.summary.actions.iter().any(|action| {
            matches!(&action.subject, Subject::Value(path) if path.steps.is_empty())
                && matches!(&action.to, Destination::Store(to) if is_result(to))
        })
    }

    pub(super) fn note_fresh_returns(
        &mut self,
        object: &Fresh,
        handed: &[(Exit, Vec<AccessPath>)],
        to_return: &AccessPath,
        absent: &[Exit],
    ) {
        for ((exit, alternative), _) in handed.iter().filter(|(_, p)| p.contains(to_return)) {
            self.fresh_returns.extend(alternative.names.iter().map(|name| (*exit, *name)));
            self.fresh_returns.insert((*exit, object.call));
            // What is read from where the call put it is the block too.
            for cell in &object.first.cells {
                let Some(value) = self.view.values.loaded(*cell) else { continue };
                let read = self
                    .view
                    .body
                    .insts
                    .keys()
                    .filter(|i| self.view.values.of_inst(*i).is_some_and(|c| c.base == value));
                self.fresh_returns.extend(read.map(|inst| (*exit, inst)));
            }
        }
        let key = self.view.keys.of_operand(self.view.body, &self.view.values, object.call.into());
        let failed = |a: &Alternative| a.facts.iter().any(|f| Some(f.0) == key && f.1.implies(Relation::ZERO));
        self.may_return_null |= absent.iter().any(|(exit, a)| {
            let value = returned(&self.view, *exit).and_then(Operand::value);
            failed(a) && value.is_some_and(|v| self.leaves(v).contains(&Operand::Value(object.call)))
        });
    }

    /// What a value may be, through phis and casts.
    pub(super) fn leaves(&self, value: InstId) -> Vec<Operand> {
        let mut leaves = Vec::new();
        let mut seen = FxHashSet::default();
        let mut work = vec![Operand::Value(value)];
        while let Some(operand) = work.pop() {
            let Operand::Value(v) = operand else {
                leaves.push(operand);
                continue;
            };
            if !seen.insert(v) {
                continue;
            }
            match &self.view.body.insts[v] {
                Inst::Phi { incoming, .. } => work.extend(incoming.iter().map(|(_, o)| *o)),
                Inst::Select { then, other, .. } => work.extend([*then, *other]),
                _ => leaves.push(operand),
            }
        }
        leaves
    }

    /// When every return gives back a fresh block or null, whichever block it is, the caller always owns what it gets.
    pub(super) fn settle_returned_block(&mut self) {
        let to_return = AccessPath::root(PathRoot::Return);
        let is_returned =
            |a: &Action| matches!(a.subject, Subject::Alloc(_)) && a.to == Destination::Store(to_return.clone());
        if !self.report.summary.actions.iter().any(is_returned) {
            return;
        }
        let body = self.view.body;
        let mut null = self.may_return_null;
        for (exit, inst) in body.insts.iter() {
            let Inst::Return { value: Some(value) } = inst else { continue };
            let leaves = match value {
                Operand::Value(v) => self.leaves(*v),
                constant => vec![*constant],
            };
            for leaf in leaves {
                match leaf {
                    Operand::Const(c) if body.consts[c].is_zero() => null = true,
                    Operand::Value(v) if self.kept_returns.contains(&(exit, v)) => return,
                    Operand::Value(v) if self.fresh_returns.contains(&(exit, v)) => {}
                    _ => return,
                }
            }
        }
        let guard = if null { Guard::ByResult(Relation::NONZERO, None) } else { Guard::Always };
        self.report.summary.actions.iter_mut().filter(|a| is_returned(a)).for_each(|a| a.guard = guard.clone());
    }
}

/// How a block that may be there is known to callers by several names at once.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Aliases {
    None,
    /// One structure of the caller holds it, and the result points to it or into it: `return &list->items[list->nr++]`.
    Result,
    /// Which of several structures owns it nothing tells.
    Several,
}

impl Aliases {
    /// Whether what is found at this place may be no more than a pointer to what another one owns.
    fn make_unsure(self, path: &AccessPath) -> bool {
        match self {
            Aliases::None => false,
            Aliases::Result => path.root == PathRoot::Return,
            Aliases::Several => true,
        }
    }
}

fn aliases(handed: &[(Exit, Vec<AccessPath>)]) -> Aliases {
    let all: BTreeSet<PathRoot> = handed.iter().flat_map(|(_, paths)| paths).map(|path| path.root).collect();
    let is_alone = |(_, paths): &(Exit, Vec<AccessPath>)| paths.iter().all(|path| path.root == paths[0].root);
    if handed.iter().all(is_alone) {
        return Aliases::None;
    }
    let mut holders = all.iter().filter(|root| **root != PathRoot::Return);
    match (holders.next(), holders.next()) {
        (Some(PathRoot::Param(_)), None) => Aliases::Result,
        _ => Aliases::Several,
    }
}

/// Two blocks that are returned on different branches are one block to the caller.
fn block_returned_already(actions: &[Action], paths: &[AccessPath], to_return: &AccessPath) -> Option<AllocId> {
    if !paths.contains(to_return) {
        return None;
    }
    actions.iter().find_map(|a| match (&a.subject, &a.to) {
        (Subject::Alloc(id), Destination::Store(to)) if to == to_return => Some(*id),
        _ => None,
    })
}

/// The guard under which one of two effects happens.
fn weaker(a: &Guard, b: &Guard) -> Guard {
    match (a, b) {
        (Guard::Always, _) | (_, Guard::Always) => Guard::Always,
        (Guard::ByResult(x, _), Guard::ByResult(y, _)) if x == y => Guard::ByResult(*x, None),
        (Guard::ByResult(x, _), _) | (_, Guard::ByResult(x, _)) if *x == Relation::NONZERO => Guard::ByResult(*x, None),
        (Guard::Unsure, _) | (_, Guard::Unsure) => Guard::Unsure,
        _ => Guard::Opaque,
    }
}
