//! What the function does to what it was given.

use caulk_ir::{Inst, InstId, Operand};
use caulk_memory::{AccessPath, Cell, Offset, PathRoot, ValueId, ValueNode};
use caulk_rules::Rule;
use caulk_summary::{Action, Depth, Destination, Event, Guard, Subject};

use super::{Exit, Ownership, Summarizer};
use crate::alternative::{Alternative, Status};
use crate::guards::{loose_guard, two_guards};
use crate::objects::given_start;
use crate::propagate::{Propagation, Start};

impl Summarizer<'_> {
    pub(super) fn follow_given(&mut self, value: ValueId, overwritten: &mut Vec<AccessPath>) {
        let Some(path) = self.view.values.path(value) else { return };
        self.report.objects += 1;
        let first = given_start(&mut self.view, &mut self.history, value);
        let own_cell = first.cells.first().copied();
        let flow = Propagation::run(&mut self.view, &mut self.history, Start::Entry, vec![first]);
        self.report.summary.cut |= flow.is_incomplete;
        if flow.is_incomplete {
            self.not_known.insert(path.root);
        }
        self.note_taken_by_throws(&path, &flow.given_thrown);
        self.report.given_away.extend(&flow.escaped_by);
        let mut outcomes: Vec<(Exit, Vec<Destination>)> = Vec::new();
        let is_there = |exit: &Exit| own_cell.is_none_or(|cell| exit.1.cells.contains(&cell));
        let is_left = flow.exits.iter().any(|exit| exit.1.status == Status::Live && is_there(exit));
        let deep = self.depth_of_free(value);
        for exit in flow.exits {
            let mut destinations = Vec::new();
            match exit.1.status {
                Status::Freed if self.is_renewal(&path, &exit.1) => destinations.push(Destination::Renew),
                Status::Freed => destinations.push(Destination::Free { deep: deep.clone() }),
                Status::Kept => destinations.push(Destination::Keep),
                Status::Unknown => destinations.push(Destination::Unknown),
                Status::Absent => {}
                Status::Live => {
                    if exit.1.is_renewed && own_cell.is_some_and(|cell| exit.1.cells.contains(&cell)) {
                        destinations.push(Destination::Renew);
                    }
                    match self.ownership(&exit, own_cell) {
                        Ownership::HandedOut(paths) => {
                            let others = paths.into_iter().filter(|p| *p != path);
                            destinations.extend(others.map(|to| kept_or_stored(&path, to)));
                            let is_elsewhere = own_cell.is_none() && self.is_held_elsewhere(exit.0, &exit.1);
                            if self.world.config.rules.applies(Rule::HeldElsewhere, is_elsewhere) {
                                destinations.push(Destination::Keep);
                            }
                        }
                        // Somewhere that has no name for the caller.
                        Ownership::Held => destinations.push(Destination::Keep),
                        Ownership::Settled | Ownership::Leaked => {}
                    }
                    if !is_left {
                        overwritten.push(path.clone());
                    }
                }
            }
            // What is kept somewhere and given back as well is the keeper's; the result only points to it.
            let is_result = |d: &Destination| matches!(d, Destination::Store(to) if to.root == PathRoot::Return);
            if !destinations.iter().all(is_result) {
                destinations.retain(|d| !is_result(d));
            }
            outcomes.push((exit, destinations));
        }
        let mut all: Vec<Destination> = outcomes.iter().flat_map(|(_, d)| d.clone()).collect();
        all.sort();
        all.dedup();
        let action = |to: &Destination, guard| Action { subject: Subject::Value(path.clone()), to: to.clone(), guard };
        // What is not said of it may be what happens otherwise.
        let is_all_said = all.iter().all(|to| action(to, Guard::Opaque).matters());
        for to in &all {
            let did: Vec<Exit> = outcomes.iter().filter(|(_, d)| d.contains(to)).map(|(e, _)| e.clone()).collect();
            let did_not: Vec<Exit> = outcomes.iter().filter(|(_, d)| !d.contains(to)).map(|(e, _)| e.clone()).collect();
            let mut guard = loose_guard(&mut self.view, &did, &did_not);
            // Where the caller knows that it is freed, the block that takes its place is one of its own.
            let to = match (to, &guard) {
                (Destination::Renew, Guard::Always | Guard::ByResult(..)) if did.iter().all(|(_, a)| !a.is_renewed) => {
                    &Destination::Free { deep: deep.clone() }
                }
                (to, _) => to,
            };
            // What a callee does only sometimes is no more certain one call further up.
            if guard == Guard::Always && did.iter().all(|(_, a)| a.rests_on_opaque) {
                guard = Guard::Opaque;
            }
            if matches!(guard, Guard::Limited(..)) && !is_all_said {
                guard = Guard::Opaque;
            }
            if guard.is_hidden() && did.iter().all(|(_, a)| a.rests_on_unsure) {
                guard = Guard::Unsure;
            }
            let is_uncertain = guard.is_hidden() && matches!(to, Destination::Free { .. });
            let is_seen = is_uncertain && !did.iter().any(|(_, a)| a.rests_on_opaque);
            let two = is_seen.then(|| two_guards(&mut self.view, &did, &did_not)).flatten();
            match two.filter(|_| self.world.config.rules.applies(Rule::TwoGuards, true)) {
                Some(guards) => self.report.summary.actions.extend(guards.map(|guard| action(to, guard))),
                None => self.report.summary.actions.push(action(to, guard)),
            }
        }
    }

    /// Notes whether an exception may leave the function after it has freed what it was given, or put it where others have it.
    fn note_taken_by_throws(&mut self, path: &AccessPath, thrown: &[Alternative]) {
        let PathRoot::Param(index) = path.root else { return };
        let values = &self.view.values;
        let is_own = |cell: &Cell| matches!(values.node(cell.base), ValueNode::Local(_) | ValueNode::Nothing);
        let is_taken = |a: &Alternative| match a.status {
            Status::Live => !a.cells.iter().all(is_own),
            Status::Freed | Status::Kept | Status::Unknown => true,
            Status::Absent => false,
        };
        let taken = &mut self.report.summary.taken_by_throws;
        if path.steps.is_empty() && !taken.contains(&index) && thrown.iter().any(is_taken) {
            taken.push(index);
            taken.sort_unstable();
        }
    }

    /// Whether what freed the object put a fresh block in its place, as realloc does, or did so after another was made for it.
    fn is_renewal(&self, path: &AccessPath, alternative: &Alternative) -> bool {
        let is_free = |event: &&(InstId, Event)| event.1 == Event::Freed;
        let trail = self.history.trail(alternative.event);
        let Some((freed_at, _)) = trail.iter().rev().find(is_free) else { return false };
        let homes = &self.view.homes;
        let is_renewed = self.refilled.iter().filter(|(refilled, _)| refilled.same_place(path)).any(|(_, made_at)| {
            made_at == freed_at || self.view.dominators().dominates(homes[*made_at], homes[*freed_at])
        });
        self.world.config.rules.applies(Rule::Renewals, is_renewed)
    }

    /// Which pointers in the object the function may have followed, if it frees the object.
    fn depth_of_free(&self, value: ValueId) -> Depth {
        let values = &self.view.values;
        let walkers = self.walkers(value);
        let mut depth = Depth::Shallow;
        for node in (0..values.len() as u32).map(|v| values.node(ValueId(v))) {
            match node {
                ValueNode::Load(base, Offset::Known(offset)) if walkers.contains(&base) => {
                    depth = depth.with(&Depth::Fields(vec![offset]));
                }
                ValueNode::Load(base, Offset::Any) if walkers.contains(&base) => return Depth::Deep,
                _ => {}
            }
        }
        let is_walker = |operand: &Operand| values.of_operand(*operand).filter(|cell| walkers.contains(&cell.base));
        for (inst, kind) in self.view.body.insts.iter() {
            // A copy takes all pointers along.
            if matches!(kind, Inst::Copy { src, .. } if is_walker(src).is_some()) {
                return Depth::Deep;
            }
            let (Some(call), Some(effect)) = (kind.call(), &self.view.calls[inst]) else { continue };
            if effect.unknown {
                return Depth::Deep;
            }
            for action in &effect.summary.actions {
                depth = depth.with(&self.depth_of_action(action, |index| is_walker(call.args.get(index)?)));
            }
        }
        depth
    }

    /// Which pointers in an object an action of a callee may follow; `given` says what of the object an argument is.
    fn depth_of_action(&self, action: &Action, given: impl Fn(usize) -> Option<Cell>) -> Depth {
        let Subject::Value(AccessPath { root, steps }) = &action.subject else { return Depth::Shallow };
        let given = if let PathRoot::Param(index) = root { given(*index as usize) } else { None };
        let field = |offset: Offset| match offset {
            Offset::Known(offset) => Depth::Fields(vec![offset]),
            Offset::Any => Depth::Deep,
        };
        match (given, steps.first(), &action.to) {
            (Some(cell), Some(step), _) => field(cell.offset.plus(step.offset)),
            (Some(cell), None, Destination::Free { deep: Depth::Fields(fields) }) => {
                let at = |offset: &i64| field(cell.offset.plus(Offset::Known(*offset)));
                fields.iter().fold(Depth::Shallow, |depth, offset| depth.with(&at(offset)))
            }
            (_, _, Destination::Free { deep: Depth::Deep }) => Depth::Deep,
            // What is freed where it was put meanwhile may be the object.
            (None, Some(_), Destination::Free { deep: deep @ Depth::Fields(_) }) => deep.clone(),
            _ => Depth::Shallow,
        }
    }

    /// A value and the loop variables that start at it: a loop that frees a list walks on from its head.
    pub(super) fn walkers(&self, value: ValueId) -> Vec<ValueId> {
        let mut walkers = vec![value];
        for (inst, kind) in self.view.body.insts.iter() {
            let (Inst::Phi { incoming, .. }, Some(cell)) = (kind, self.view.values.of_inst(inst)) else { continue };
            let starts = |o: &Operand| self.view.values.of_operand(*o).is_some_and(|c| walkers.contains(&c.base));
            if !walkers.contains(&cell.base) && incoming.iter().any(|(_, o)| starts(o)) {
                walkers.push(cell.base);
            }
        }
        walkers
    }
}

/// Where a value goes, for callers. What hangs on a global too far down to be named is kept all the same.
fn kept_or_stored(path: &AccessPath, to: AccessPath) -> Destination {
    let is_global = matches!(to.root, PathRoot::Global(_));
    let stored = Destination::Store(to);
    let action = Action { subject: Subject::Value(path.clone()), to: stored.clone(), guard: Guard::Always };
    if is_global && !action.matters() { Destination::Keep } else { stored }
}
