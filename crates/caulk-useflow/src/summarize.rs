//! One function: follows its objects, and says what it does to its callers and where it may leak.

use std::collections::BTreeSet;

use caulk_ir::{Body, Inst, InstId, Operand};
use caulk_memory::{AccessPath, Cell, Offset, PathRoot, Relation, ValueId, ValueNode};
use caulk_models::Models;
use caulk_program::{FuncId, Program, TypeId};
use caulk_summary::{Action, Block, BlockId, Destination, Guard, Subject, Summary};
use rustc_hash::FxHashSet;

use crate::alternative::{Alternative, Status};
use crate::candidate::{Candidate, Kind};
use crate::config::UseflowConfig;
use crate::function::View;
use crate::guards::{guard, guard_of_result, loose_guard, needs, returned, shared_needs};
use crate::history::History;
use crate::objects::{Fresh, fresh, given_start, given_values};
use crate::propagate::{Propagation, Start};
use crate::slots::{SlotUse, freed_slots};
use crate::survey::Survey;

/// What stage one found out about a function.
#[derive(Clone, Debug, Default)]
pub struct Report {
    pub summary: Summary,
    pub candidates: Vec<Candidate>,
    /// Calls that swallowed objects because nothing is known of the callee, once for each object.
    pub swallowed: Vec<InstId>,
    /// Calls that give what the function was given to code nobody knows.
    pub given_away: Vec<InstId>,
    pub objects: usize,
    pub slots: SlotUse,
}

type Exit = (InstId, Alternative);

/// What every function is looked at with.
#[derive(Clone, Copy)]
pub struct World<'a> {
    pub program: &'a Program,
    pub models: &'a Models,
    pub config: &'a UseflowConfig,
    pub survey: &'a Survey,
}

pub fn summarize<'a>(
    world: &World<'a>,
    id: FuncId,
    body: &'a Body,
    summary_of: &dyn Fn(FuncId) -> Option<&'a Summary>,
) -> Report {
    let mut summarizer = Summarizer::new(world, id, body, summary_of);
    summarizer.run();
    summarizer.report
}

pub struct Summarizer<'a> {
    pub view: View<'a>,
    world: World<'a>,
    pub history: History,
    report: Report,
    /// Values that are fresh blocks where they are returned: the return and the value.
    fresh_returns: FxHashSet<(InstId, InstId)>,
    /// Blocks that somebody keeps on some way to a return.
    kept_returns: FxHashSet<(InstId, InstId)>,
    /// Some fresh block that is returned may turn out null there.
    may_return_null: bool,
}

impl<'a> Summarizer<'a> {
    pub fn new(
        world: &World<'a>,
        id: FuncId,
        body: &'a Body,
        summary_of: &dyn Fn(FuncId) -> Option<&'a Summary>,
    ) -> Self {
        Self {
            view: View::new(world.program, world.config, &world.survey.modified, id, body, summary_of),
            world: *world,
            history: History::default(),
            report: Report::default(),
            fresh_returns: FxHashSet::default(),
            kept_returns: FxHashSet::default(),
            may_return_null: false,
        }
    }

    fn run(&mut self) {
        self.report.summary.no_return = self.never_returns();
        let objects = fresh(&mut self.view, &mut self.history);
        for object in objects {
            self.follow_fresh(object);
        }
        self.settle_returned_block();
        let mut overwritten = Vec::new();
        for value in given_values(&mut self.view) {
            self.follow_given(value, &mut overwritten);
        }
        let summary = &mut self.report.summary;
        let wrote = |path: &AccessPath| {
            summary.actions.iter().any(|a| matches!(&a.to, Destination::Store(to) if to.same_place(path)))
        };
        overwritten.retain(|path| !wrote(path));
        overwritten.sort();
        overwritten.dedup();
        summary.overwritten = overwritten;
        summary.actions.sort();
        summary.actions.dedup();
        summary.drop_implied();
        summary.loosely_told = self.view.loosely_told;
        summary.cut |= summary.cap(self.view.config.max_actions) || self.view.too_many_objects;
        summary.nonnull_result = summary.actions.iter().any(|a| {
            matches!(a.subject, Subject::Alloc(_))
                && a.guard == Guard::Always
                && a.to == Destination::Store(AccessPath::root(PathRoot::Return))
        });
        freed_slots(&mut self.view, &mut self.report.slots);
        self.report.slots.filled.sort_unstable();
        self.report.slots.filled.dedup();
        self.report.swallowed.sort();
        self.report.given_away.sort();
        self.report.given_away.dedup();
    }

    /// No return can be reached without passing a call that never comes back.
    fn never_returns(&self) -> bool {
        let body = self.view.body;
        let mut seen = vec![false; body.blocks.len()];
        let mut work = vec![Body::ENTRY];
        while let Some(block) = work.pop() {
            if std::mem::replace(&mut seen[block.0 as usize], true) {
                continue;
            }
            let stops = body.blocks[block].insts().any(|inst| {
                let flagged = body.insts[inst].call().is_some_and(|c| c.flags.no_return);
                flagged || self.view.calls[inst].as_ref().is_some_and(|c| c.summary.no_return)
            });
            if stops {
                continue;
            }
            match body.terminator(block) {
                Inst::Return { .. } => return false,
                other => work.extend(other.successors()),
            }
        }
        true
    }

    fn follow_fresh(&mut self, object: Fresh) {
        self.report.objects += 1;
        let start = Start::After(object.call);
        let flow = Propagation::run(&mut self.view, &mut self.history, start, vec![object.first.clone()]);
        self.report.summary.cut |= flow.cut;
        self.report.swallowed.extend(flow.swallowed_by.iter().copied().collect::<BTreeSet<InstId>>());
        let is_heap = self.world.models.family(object.family).heap;
        if is_heap && !object.hidden {
            self.note_filled_slots(&object, &flow.exits, &flow.left_in);
        }
        let mut leaks: Vec<Exit> = Vec::new();
        let mut handed: Vec<(Exit, Vec<AccessPath>)> = Vec::new();
        let mut settled: Vec<Exit> = Vec::new();
        for exit in flow.exits {
            match self.fate(&exit, None) {
                Fate::Settled => settled.push(exit),
                Fate::Held => settled.push(exit),
                Fate::HandedOut(paths) => handed.push((exit, paths)),
                Fate::Leaked => leaks.push(exit),
            }
        }
        if is_heap {
            for (exit, alternative) in &leaks {
                self.add_candidate(&object, *exit, alternative, false);
            }
            for alternative in &flow.lost_in_loop {
                self.add_candidate(&object, object.call, alternative, true);
            }
        }
        self.leave_to_holders(&mut handed);
        let kept = settled.iter().filter(|(_, a)| matches!(a.status, Status::Kept | Status::Unknown));
        self.kept_returns.extend(kept.map(|(exit, _)| (*exit, object.call)));
        if !handed.is_empty() {
            leaks.extend(settled);
            self.hand_out(&object, handed, leaks);
        }
    }

    /// Fields that hold a fresh block alone when the function is left; links between nodes, which hold one of several
    /// references, own nothing.
    fn note_filled_slots(&mut self, object: &Fresh, exits: &[Exit], left_in: &[Cell]) {
        let line = self.view.line(object.call);
        // Several cells at one offset are one field that is known by several ways to its structure.
        let is_one_field = |cells: &[Cell]| cells.windows(2).all(|pair| pair[0].offset == pair[1].offset);
        let alone = exits.iter().filter(|(_, a)| a.status == Status::Live && is_one_field(&a.cells));
        for cell in alone.flat_map(|(_, a)| a.cells.iter().copied()).chain(left_in.iter().copied()) {
            let Some(slot) = self.view.values.field(cell) else { continue };
            // A pointer field that does not link objects of one kind.
            let may_own = self
                .view
                .program
                .type_info(slot.0)
                .fields
                .iter()
                .any(|f| f.offset == slot.1 && f.pointee.depth > 0 && f.target != Some(slot.0));
            if may_own {
                self.report.slots.filled.push((slot, line));
            }
        }
    }

    /// What the caller gets back and can reach through something else as well is that other thing's, unless it counts its
    /// references: then a link from a registry holds nothing.
    fn leave_to_holders(&mut self, handed: &mut [(Exit, Vec<AccessPath>)]) {
        let info = self.view.program.function(self.view.id);
        let returned = info.declaration.ret_pointee.target.map(|ty| self.view.program.resolve_struct(info.unit, ty));
        let is_counted = returned.is_some_and(|ty| self.world.survey.counted.contains(&ty));
        for (_, paths) in handed {
            let holds = |path: &AccessPath| match path.root {
                PathRoot::Param(_) => true,
                PathRoot::Global(_) => !is_counted,
                PathRoot::Return => false,
            };
            if paths.iter().any(holds) {
                paths.retain(|path| path.root != PathRoot::Return);
            }
        }
    }

    /// Actions for a block that leaves the function.
    fn hand_out(&mut self, object: &Fresh, handed: Vec<(Exit, Vec<AccessPath>)>, others: Vec<Exit>) {
        let mut paths: Vec<AccessPath> = handed.iter().flat_map(|(_, p)| p.clone()).collect();
        paths.sort();
        paths.dedup();
        let absent = Propagation::run_absent(&mut self.view, &mut self.history, object.call, object.failure);
        let to_return = AccessPath::root(PathRoot::Return);
        self.note_fresh_returns(object, &handed, &to_return, &absent.exits);
        let exits: Vec<Exit> = handed.iter().map(|(exit, _)| exit.clone()).collect();
        let needs = needs(&mut self.view, &exits);
        let blocks = &mut self.report.summary.blocks;
        let id = match block_returned_already(&self.report.summary.actions, &paths, &to_return) {
            Some(id) => {
                let known = &mut blocks[id.0 as usize].needs;
                *known = shared_needs(known, &needs);
                id
            }
            None => {
                blocks.push(Block { family: object.family, chain: object.chain.clone(), needs });
                BlockId(blocks.len() as u32 - 1)
            }
        };
        for path in paths {
            let (did, mut did_not): (Vec<Exit>, Vec<Exit>) = (
                handed.iter().filter(|(_, p)| p.contains(&path)).map(|(e, _)| e.clone()).collect(),
                handed.iter().filter(|(_, p)| !p.contains(&path)).map(|(e, _)| e.clone()).collect(),
            );
            did_not.extend(others.iter().cloned());
            did_not.extend(absent.exits.iter().cloned());
            let guard = match (object.hidden, path == to_return) {
                (true, _) => Guard::Hidden,
                (false, true) => guard_of_result(&mut self.view, &did, did_not),
                (false, false) => self.guard_of_out_parameter(object, &did, did_not),
            };
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

    /// When nothing tells that the allocation failed, the paths on which it did not count (SPARROW 3: prefer the paths that
    /// allocate).
    fn guard_of_out_parameter(&mut self, object: &Fresh, did: &[Exit], mut did_not: Vec<Exit>) -> Guard {
        let first = guard(&mut self.view, did, &did_not);
        let Some((key, failure)) = object.failure.filter(|_| first.is_hidden()) else { return first };
        did_not
            .retain(|(_, a)| a.status != Status::Absent || !a.facts.iter().any(|f| f.0 == key && f.1.implies(failure)));
        guard(&mut self.view, did, &did_not)
    }

    fn note_fresh_returns(
        &mut self,
        object: &Fresh,
        handed: &[(Exit, Vec<AccessPath>)],
        to_return: &AccessPath,
        absent: &[Exit],
    ) {
        if object.hidden {
            return;
        }
        for ((exit, alternative), _) in handed.iter().filter(|(_, p)| p.contains(to_return)) {
            self.fresh_returns.extend(alternative.names.iter().map(|name| (*exit, *name)));
            self.fresh_returns.insert((*exit, object.call));
        }
        let key = self.view.keys.of_operand(self.view.body, &self.view.values, object.call.into());
        let failed = |a: &Alternative| a.facts.iter().any(|f| Some(f.0) == key && f.1.implies(Relation::ZERO));
        self.may_return_null |= absent.iter().any(|(exit, a)| {
            let value = returned(&self.view, *exit).and_then(Operand::value);
            failed(a) && value.is_some_and(|v| self.leaves(v).contains(&Operand::Value(object.call)))
        });
    }

    /// What a value may be, through phis and casts.
    fn leaves(&self, value: InstId) -> Vec<Operand> {
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
    fn settle_returned_block(&mut self) {
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
        let guard = if null { Guard::Told(Relation::NONZERO, None) } else { Guard::Always };
        self.report.summary.actions.iter_mut().filter(|a| is_returned(a)).for_each(|a| a.guard = guard.clone());
    }

    fn follow_given(&mut self, value: ValueId, overwritten: &mut Vec<AccessPath>) {
        let Some(path) = self.view.values.path(value) else { return };
        self.report.objects += 1;
        let first = given_start(&mut self.view, &mut self.history, value);
        let own_cell = first.cells.first().copied();
        let flow = Propagation::run(&mut self.view, &mut self.history, Start::Entry, vec![first]);
        self.report.summary.cut |= flow.cut;
        self.report.given_away.extend(&flow.swallowed_by);
        let mut outcomes: Vec<(Exit, Vec<Destination>)> = Vec::new();
        let deep = self.looks_inside(value);
        for exit in flow.exits {
            let mut destinations = Vec::new();
            match exit.1.status {
                Status::Freed => destinations.push(Destination::Free { deep }),
                Status::Kept => destinations.push(Destination::Keep),
                Status::Unknown => destinations.push(Destination::Unknown),
                Status::Absent => {}
                Status::Live => {
                    match self.fate(&exit, own_cell) {
                        Fate::HandedOut(paths) => {
                            destinations.extend(paths.into_iter().filter(|p| *p != path).map(Destination::Store));
                        }
                        // Somewhere that has no name for the caller.
                        Fate::Held => destinations.push(Destination::Keep),
                        Fate::Settled | Fate::Leaked => {}
                    }
                    if let Some(cell) = own_cell
                        && !exit.1.cells.contains(&cell)
                    {
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
        for to in all {
            let did: Vec<Exit> = outcomes.iter().filter(|(_, d)| d.contains(&to)).map(|(e, _)| e.clone()).collect();
            let did_not: Vec<Exit> =
                outcomes.iter().filter(|(_, d)| !d.contains(&to)).map(|(e, _)| e.clone()).collect();
            let mut guard = loose_guard(&mut self.view, &did, &did_not);
            // What a callee does only sometimes is no more certain one call further up.
            if guard == Guard::Always && did.iter().all(|(_, a)| a.rests_on_hidden) {
                guard = Guard::Hidden;
            }
            self.report.summary.actions.push(Action { subject: Subject::Value(path.clone()), to, guard });
        }
    }

    /// Whether the function reads pointers out of the object a value points to: then it may have seen to what is in it.
    fn looks_inside(&self, value: ValueId) -> bool {
        let values = &self.view.values;
        let walkers = self.walkers(value);
        let inside = (0..values.len() as u32)
            .map(ValueId)
            .any(|v| walkers.iter().any(|w| v != *w && values.is_reached_from(v, *w)));
        let deep_call = |effect: &crate::function::CallEffect<'_>| {
            effect.unknown || effect.summary.actions.iter().any(|a| matches!(a.to, Destination::Free { deep: true }))
        };
        inside || self.view.calls.values().flatten().any(|c| deep_call(c))
    }

    /// A value and the loop variables that start at it: a loop that frees a list walks on from its head.
    fn walkers(&self, value: ValueId) -> Vec<ValueId> {
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

    /// What has become of a live object at an exit.
    pub fn fate(&mut self, (exit, alternative): &Exit, own_cell: Option<Cell>) -> Fate {
        if alternative.status != Status::Live {
            return Fate::Settled;
        }
        let value = returned(&self.view, *exit);
        let mut paths = Vec::new();
        let mut passed_down = Vec::new();
        let mut held = false;
        if let Some(Operand::Value(v)) = value
            && alternative.has_name(v)
        {
            paths.push(AccessPath::root(PathRoot::Return));
        }
        let returned_base = value.and_then(|v| self.view.values.of_operand(v)).map(|c| c.base);
        for cell in alternative.holders() {
            if Some(*cell) == own_cell {
                continue;
            }
            if let Some(path) = self.view.values.cell_path(*cell) {
                let is_passed_down = matches!(path.root, PathRoot::Global(g) if self.view.program.only_passes_down(g))
                    && path.steps.len() == 1;
                if is_passed_down { &mut passed_down } else { &mut paths }.push(path);
                continue;
            }
            match self.path_from_result(*cell, returned_base) {
                Some(path) => paths.push(path),
                // A local dies with the function; what a local leads to goes on holding it.
                None => held |= !matches!(self.view.values.node(cell.base), ValueNode::Local(_) | ValueNode::Nothing),
            }
        }
        match (paths.is_empty(), held) {
            (false, _) => {
                paths.extend(passed_down);
                Fate::HandedOut(paths)
            }
            // A variable that nobody reads again before it is set anew holds nothing.
            (true, true) => Fate::Held,
            _ => Fate::Leaked,
        }
    }

    /// The path of a cell from the returned value.
    fn path_from_result(&self, cell: Cell, result: Option<ValueId>) -> Option<AccessPath> {
        let result = result?;
        let mut steps: Vec<(Offset, Option<(TypeId, u64)>)> = vec![(cell.offset, self.view.values.field(cell))];
        let mut base = cell.base;
        while base != result {
            let ValueNode::Load(next, offset) = self.view.values.node(base) else { return None };
            steps.push((offset, self.view.values.field(Cell { base: next, offset })));
            base = next;
        }
        let root = AccessPath::root(PathRoot::Return);
        Some(steps.into_iter().rev().fold(root, |path, (offset, field)| path.then(offset, field)))
    }

    fn add_candidate(&mut self, object: &Fresh, exit: InstId, alternative: &Alternative, in_loop: bool) {
        let (place, overwritten) = alternative.lost.unwrap_or((exit, in_loop));
        let ends_program =
            self.view.program.config.entry_symbols.iter().any(|s| s == self.view.program.function(self.view.id).symbol);
        // What a program still holds when main returns is given back by the system.
        if ends_program && (alternative.lost.is_none() || place == exit || self.leads_only_to(place, exit)) && !in_loop
        {
            return;
        }
        let kind = if overwritten { Kind::Lost } else { Kind::Forgotten };
        let variable = self.variable_of(object, alternative);
        let new = Candidate {
            function: self.view.id,
            allocation: object.call,
            block: object.block,
            family: object.family,
            chain: object.chain.clone(),
            place,
            exit,
            kind,
            variable,
            slot: None,
            hidden: object.hidden || alternative.rests_on_hidden,
            is_part: object.is_part,
            trail: self.history.trail(alternative.event),
        };
        let known = self.report.candidates.iter().any(|c| c.allocation == new.allocation && c.place == new.place);
        if !known {
            self.report.candidates.push(new);
        }
    }

    /// Whether a scope end lies in the same block as the exit: it is the exit's own.
    fn leads_only_to(&self, place: InstId, exit: InstId) -> bool {
        self.view.homes[place] == self.view.homes[exit]
    }

    /// The variable that held the object last.
    fn variable_of(&self, object: &Fresh, alternative: &Alternative) -> Option<caulk_ir::VarId> {
        alternative.vars.first().copied().or(alternative.last_variable).or(object.first.last_variable)
    }
}

pub enum Fate {
    /// Freed, kept or given away.
    Settled,
    /// Held by another object of this function.
    Held,
    /// The caller can reach it by these paths.
    HandedOut(Vec<AccessPath>),
    Leaked,
}

/// Two blocks that are returned on different branches are one block to the caller.
fn block_returned_already(actions: &[Action], paths: &[AccessPath], to_return: &AccessPath) -> Option<BlockId> {
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
        (Guard::Told(x, _), Guard::Told(y, _)) if x == y => Guard::Told(*x, None),
        (Guard::Told(x, _), _) | (_, Guard::Told(x, _)) if *x == Relation::NONZERO => Guard::Told(*x, None),
        _ => Guard::Hidden,
    }
}
