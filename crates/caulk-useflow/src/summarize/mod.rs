//! One function: follows its objects, and says what it does to its callers and where it may leak.

use caulk_rules::Rule;
use std::collections::BTreeSet;

use caulk_ir::{Body, EntitySet, Inst, InstId};
use caulk_memory::{AccessPath, Cell, Offset, PathRoot, PathStep, Relation, ValueNode};
use caulk_models::{Models, is_pointer_container};
use caulk_program::{FieldInfo, FuncId, Program, TypeId};
use caulk_summary::{Action, Destination, Guard, Subject, Summary, Throws};
use rustc_hash::FxHashSet;

use crate::alternative::{Alternative, Status};
use crate::bounds::BOUNDS;
use crate::callbacks::{Special, param_calls};
use crate::candidate::Candidate;
use crate::config::UseflowConfig;
use crate::exceptions::{in_order, lets_out};
use crate::function::View;
use crate::guards::known_at_all;
use crate::history::History;
use crate::objects::{Fresh, fresh, given_values};
use crate::propagate::{Flow, Propagation, Start};
use crate::released::released;
use crate::shelves::shelf_of;
use crate::slots::{Slot, SlotUse, freed_slots, is_header_of_block, whole_structure};
use crate::survey::Survey;
use crate::throw_needs::limit_throws;
use crate::unlinked::Unlink;

use self::hand_out::Owners;
use self::refusals::gives_null_otherwise;
use self::results::always_returned;
use self::stored::written_blindly;
use serde::{Deserialize, Serialize};

mod copied;
mod ends;
mod given;
mod hand_out;
mod refusals;
mod resets;
mod results;
mod stored;
mod views;

pub(crate) use copied::{copied_pointer, copies_pointer, is_kept_size};
pub(crate) use ends::Ownership;

/// What stage one found out about a function.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct Report {
    pub summary: Summary,
    pub candidates: Vec<Candidate>,
    /// Calls by which objects escaped to unknown code, once for each object.
    pub escaped: Vec<InstId>,
    /// Calls that give what the function was given to unknown code.
    pub given_away: Vec<InstId>,
    pub objects: usize,
    /// Blocks that were run for them; in a cycle of calls, over all iterations.
    pub block_runs: u32,
    /// So many blocks were run that some objects were followed coarsely.
    pub is_over_budget: bool,
    pub slots: SlotUse,
    /// Nodes taken out of lists.
    pub unlinks: Vec<Unlink>,
    /// What calls do that are given functions by name.
    #[serde(with = "crate::kept::shared")]
    pub special: Special,
    /// Calls that may end in an exception. Sorted.
    pub throwing: Vec<(InstId, Throws)>,
}

type Exit = (InstId, Alternative);

/// What every function is looked at with.
#[derive(Clone, Copy)]
pub(crate) struct World<'a> {
    pub program: &'a Program,
    pub models: &'a Models,
    pub config: &'a UseflowConfig,
    pub survey: &'a Survey,
}

pub(crate) fn summarize<'a>(
    world: &World<'a>,
    id: FuncId,
    body: &'a Body,
    summary_of: &dyn Fn(FuncId) -> Option<&'a Summary>,
    special: &Special,
) -> Report {
    let mut summarizer = Summarizer::new(world, id, body, summary_of, special);
    summarizer.run();
    summarizer.report
}

pub(crate) struct Summarizer<'a> {
    pub view: View<'a>,
    world: World<'a>,
    pub history: History,
    report: Report,
    /// Values that are fresh blocks where they are returned: the return and the value.
    fresh_returns: FxHashSet<(InstId, InstId)>,
    /// Blocks that are kept on some path to a return.
    kept_returns: FxHashSet<(InstId, InstId)>,
    /// Some fresh block that is returned may turn out null there.
    may_return_null: bool,
    /// Places of the caller that are filled with a fresh block, and the call that makes it.
    refilled: Vec<(AccessPath, InstId)>,
    /// Arguments of which a bound kept us from finding out what is done to them.
    not_known: BTreeSet<PathRoot>,
}

impl<'a> Summarizer<'a> {
    pub(crate) fn new(
        world: &World<'a>,
        id: FuncId,
        body: &'a Body,
        summary_of: &dyn Fn(FuncId) -> Option<&'a Summary>,
        special: &Special,
    ) -> Self {
        Self {
            view: View::new(world.program, world.config, world.survey, id, body, summary_of, special),
            world: *world,
            history: History::default(),
            report: Report::default(),
            fresh_returns: FxHashSet::default(),
            kept_returns: FxHashSet::default(),
            may_return_null: false,
            refilled: Vec::new(),
            not_known: BTreeSet::new(),
        }
    }

    fn run(&mut self) {
        self.report.summary.no_return = self.never_returns();
        self.report.summary.demands = self.demands();
        self.report.summary.throw_needs = limit_throws(&mut self.view, &mut self.history);
        let objects = fresh(&mut self.view, &mut self.history);
        for object in objects {
            self.follow_fresh(object);
        }
        self.settle_returned_block();
        let mut overwritten = Vec::new();
        let (given, not_followed) = given_values(&mut self.view);
        for value in given {
            self.follow_given(value, &mut overwritten);
        }
        self.not_known.extend(not_followed.into_iter().filter_map(|v| self.view.values.path(v)).map(|path| path.root));
        self.keep_what_is_copied();
        let rules = &self.world.config.rules;
        let mut reset = rules.all(Rule::Resets, || self.resets());
        self.drop_mistaken_places();
        let summary = &mut self.report.summary;
        let stores = |a: &&Action, path: &AccessPath| matches!(&a.to, Destination::Store(to) if to.same_place(path));
        let may_write = |path: &AccessPath| summary.actions.iter().any(|a| stores(&a, path));
        let surely_writes =
            |path: &AccessPath| summary.actions.iter().filter(|a| !a.guard.is_hidden()).any(|a| stores(&a, path));
        overwritten.retain(|path| !may_write(path));
        // What is freed is not there to be written over.
        let is_freed = |a: &Action, path: &AccessPath| match (&a.subject, &a.to) {
            (Subject::Value(freed), Destination::Free { .. }) => a.guard == Guard::Always && freed.same_place(path),
            _ => false,
        };
        let surely_frees = |path: &AccessPath| summary.actions.iter().any(|a| is_freed(a, path));
        reset.retain(|path| !surely_writes(path) && !surely_frees(path));
        overwritten.extend(reset);
        overwritten.sort();
        overwritten.dedup();
        summary.overwritten = overwritten;
        summary.actions.sort();
        summary.actions.dedup();
        if rules.is_on(Rule::BorrowedElements) {
            let before = summary.actions.len();
            summary.drop_borrowed_elements();
            rules.note(Rule::BorrowedElements, before - summary.actions.len());
        }
        if rules.is_on(Rule::SecondPointers) {
            let before = summary.actions.len();
            summary.drop_second_pointers();
            rules.note(Rule::SecondPointers, before - summary.actions.len());
        }
        self.drop_views();
        self.drop_nameless_elements();
        self.name_freed_blocks();
        let summary = &mut self.report.summary;
        summary.merge_opaque_blocks(BOUNDS.cases);
        summary.drop_implied();
        summary.loosely_told = self.view.loosely_told;
        self.report.is_over_budget = self.view.is_over_budget();
        self.report.block_runs = self.view.block_runs;
        summary.cut |=
            summary.cap(self.view.config.max_actions) || self.view.too_many_objects || self.report.is_over_budget;
        summary.give_to_unknown(&self.not_known);
        summary.nonnull_result = summary.actions.iter().any(|a| {
            matches!(a.subject, Subject::Alloc(_))
                && a.guard == Guard::Always
                && a.to == Destination::Store(AccessPath::root(PathRoot::Return))
        });
        summary.null_otherwise = !summary.nonnull_result && summary.returns_fresh() && gives_null_otherwise(&self.view);
        summary.written_blindly = written_blindly(&self.view);
        summary.result_inside = result_inside(&self.view);
        let is_case_told =
            || summary.blocks.values().flat_map(|block| &block.cases).any(|case| case.result().is_some());
        if summary.actions.iter().any(|action| matches!(action.guard, Guard::ByResult(..))) || is_case_told() {
            summary.ensures = always_returned(&self.view);
        }
        summary.throws =
            lets_out(self.view.program, self.view.id, self.view.body, &self.view.throwing, &self.view.config.rules);
        self.report.throwing = in_order(&self.view.throwing);
        self.report.summary.calls = param_calls(&mut self.view);
        freed_slots(&mut self.view, &mut self.report.slots);
        self.report.slots.released = released(&mut self.view, &self.report.summary);
        self.report.unlinks = self.unlinks();
        self.report.slots.filled.sort_unstable();
        self.report.slots.filled.dedup();
        self.report.slots.left_full.sort_unstable();
        self.report.slots.left_full.dedup();
        self.report.escaped.sort();
        self.report.given_away.sort();
        self.report.given_away.dedup();
    }

    /// Elements that may be put into what the caller gives count only where that is a container of pointers by its type. Otherwise they are
    /// likely to be fields of something else that the argument was mistaken for.
    fn drop_nameless_elements(&mut self) {
        let info = self.view.program.function(self.view.id);
        let is_container = |index: u32| {
            let pointee = info.declaration.params.get(index as usize).map(|param| param.pointee);
            let ty = pointee.filter(|pointee| pointee.depth == 1).and_then(|pointee| pointee.target);
            let ty = ty.map(|ty| self.view.program.resolve_struct(info.unit, ty));
            ty.is_some_and(|ty| is_pointer_container(self.view.program.type_name(ty)))
        };
        let rules = &self.world.config.rules;
        self.report.summary.actions.retain(|action| match (&action.subject, &action.to) {
            (Subject::Alloc(_), Destination::Store(to)) if action.guard.is_hidden() => {
                match (to.root, to.steps.as_slice()) {
                    (PathRoot::Param(index), [PathStep { offset: Offset::Any, field: None }]) => {
                        rules.applies(Rule::FilledContainers, is_container(index))
                    }
                    _ => true,
                }
            }
            _ => true,
        });
    }

    /// Who frees what is stored before a block frees the block.
    fn name_freed_blocks(&mut self) {
        let rules = &self.world.config.rules;
        for action in &mut self.report.summary.actions {
            if let (Subject::Value(path), Destination::Free { .. }) = (&mut action.subject, &action.to)
                && rules.applies(Rule::BlockHeaders, is_header_of_block(path))
            {
                path.steps.pop();
            }
        }
    }

    /// Blocks that may be in a place count only where that place is a pointer by its declaration. Another structure that a pointer was
    /// taken for, or a member of a union, is none.
    fn drop_mistaken_places(&mut self) {
        let program = self.view.program;
        let is_pointer = |(ty, offset): (TypeId, u64)| {
            // The first pointer of a structure inside has the place of that structure.
            let spot = program.types().spot(ty, offset);
            let (fields, offset) = (&program.type_info(spot.ty).fields, spot.offset);
            // `struct { T *next, **previous; }`: the second leads back into what links to it.
            let is_back_link = |target| fields.iter().any(|f| f.pointee.depth == 1 && f.target == Some(target));
            fields.iter().any(|field| {
                let leads_back = field.pointee.depth == 2 && field.target.is_some_and(is_back_link);
                field.offset == offset && field.pointee.depth > 0 && !leads_back
            })
        };
        let is_mistaken = |action: &Action| match (&action.subject, &action.to) {
            (Subject::Alloc(_), Destination::Store(to)) if matches!(to.root, PathRoot::Param(_)) => {
                action.guard.is_hidden()
                    && to.steps.iter().filter_map(|step| step.field).any(|field| !is_pointer(field))
            }
            _ => false,
        };
        let rules = &self.world.config.rules;
        self.report.summary.actions.retain(|action| !rules.applies(Rule::MistakenPlaces, is_mistaken(action)));
    }

    /// No return can be reached without passing a call that never comes back.
    /// What the arguments must be for the function to return. There is something to say only where some call does not.
    fn demands(&mut self) -> Vec<(u32, Relation)> {
        let body = self.view.body;
        let may_end = |inst: InstId| {
            let effect = self.view.calls[inst].as_ref();
            body.insts[inst].call().is_some_and(|c| c.flags.no_return)
                || effect.is_some_and(|e| e.summary.no_return || !e.summary.demands.is_empty())
        };
        let is_asked = self.view.config.rules.is_on(Rule::Demands) && body.insts.keys().any(may_end);
        if !is_asked || self.report.summary.no_return {
            return Vec::new();
        }
        let flow = Propagation::ends(&mut self.view, &mut self.history);
        if flow.is_incomplete || self.view.is_over_budget() {
            return Vec::new();
        }
        let demands = known_at_all(&mut self.view, &flow.exits);
        self.view.config.rules.note(Rule::Demands, demands.len());
        demands
    }

    fn never_returns(&self) -> bool {
        let body = self.view.body;
        let mut seen = EntitySet::with_capacity(body.blocks.len());
        let mut work = vec![Body::ENTRY];
        while let Some(block) = work.pop() {
            if !seen.insert(block) {
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
        let starts = object.starts.clone();
        let flow = Propagation::run_fresh(&mut self.view, &mut self.history, start, starts, object.is_opaque);
        self.report.summary.cut |= flow.is_incomplete;
        self.report.escaped.extend(flow.escaped_by.iter().copied().collect::<BTreeSet<InstId>>());
        let is_heap = self.world.models.family(object.family).heap;
        if is_heap && !object.hidden && !object.is_callers_choice {
            self.note_filled_slots(&object, &flow);
            self.note_made(&object);
        }
        let mut leaks: Vec<Exit> = Vec::new();
        let mut handed: Vec<(Exit, Vec<AccessPath>)> = Vec::new();
        let mut settled: Vec<Exit> = Vec::new();
        for exit in flow.exits {
            match self.ownership(&exit, None) {
                Ownership::Settled => settled.push(exit),
                Ownership::Held => settled.push(exit),
                Ownership::HandedOut(paths) => handed.push((exit, paths)),
                Ownership::Leaked => leaks.push(exit),
            }
        }
        let family = self.world.models.family(object.family);
        if family.heap || family.resource.is_some_and(|resource| self.view.config.resources.contains(&resource)) {
            for (exit, alternative) in &leaks {
                self.add_candidate(&object, *exit, alternative, false);
            }
            for alternative in &flow.lost_in_loop {
                self.add_candidate(&object, object.call, alternative, true);
            }
            for (exit, alternative) in &settled {
                self.ask(&object, *exit, alternative);
            }
            for (exit, alternative) in &flow.thrown {
                self.leave_by_throw(&object, *exit, alternative);
            }
        }
        for path in handed.iter().flat_map(|(_, paths)| paths).filter(|path| path.root != PathRoot::Return) {
            self.refilled.push((path.clone(), object.call));
        }
        self.leave_to_holders(&object, &mut handed);
        let kept = settled.iter().filter(|(_, a)| matches!(a.status, Status::Kept | Status::Unknown));
        self.kept_returns.extend(kept.map(|(exit, _)| (*exit, object.call)));
        let all = handed.len();
        handed.retain(|(_, paths)| !paths.is_empty());
        let is_found = handed.len() < all;
        if !handed.is_empty() {
            // On some paths another owner has it.
            let is_kept = settled.iter().any(|(_, a)| !matches!(a.status, Status::Freed | Status::Absent));
            leaks.extend(settled);
            let owners = Owners { is_kept, is_found };
            self.hand_out(&object, handed, leaks, owners);
        }
    }

    /// The structure that a fresh block is, as far as the function tells.
    fn note_made(&mut self, object: &Fresh) {
        let ty = object.first.own.and_then(|own| whole_structure(&self.view, own));
        self.report.slots.made.extend(ty.map(|ty| (ty, self.view.line_below(object.call))));
    }

    /// Fields that hold a fresh block alone when the function is left; links between nodes, which hold one of several
    /// references, own nothing.
    fn note_filled_slots(&mut self, object: &Fresh, Flow { exits, left_in, thrown, .. }: &Flow) {
        let line = self.view.line_below(object.call);
        // Several cells at one offset are one field that is known by several ways to its structure.
        let is_one_field = |cells: &[Cell]| cells.windows(2).all(|pair| pair[0].offset == pair[1].offset);
        let live = || exits.iter().map(|(_, a)| a).filter(|a| a.status == Status::Live);
        let shelves = live().filter_map(|a| shelf_of(&self.view, &a.cells)).map(|shelf| (shelf, line));
        self.report.slots.shelves.filled.extend(shelves.collect::<Vec<_>>());
        let alone = live().filter(|a| is_one_field(&a.cells));
        // What holds it together with others on some way does not own it on any.
        let shared: Vec<Option<Slot>> = live()
            .filter(|a| !is_one_field(&a.cells))
            .flat_map(|a| a.cells.iter().map(|cell| self.view.values.own_field(*cell)))
            .collect();
        let is_freed_here = self.is_freed_before_all(object, exits);
        if self.world.config.rules.applies(Rule::FreedByName, is_freed_here) {
            return;
        }
        let stored = self.stored_once(object);
        let is_stored = self.world.config.rules.applies(Rule::StoredOnce, stored.is_some());
        self.report.slots.filled.extend(stored.filter(|_| is_stored).map(|slot| (slot, line)));
        for cell in alone.flat_map(|a| a.cells.iter().copied()).chain(left_in.iter().copied()) {
            let Some(slot) = self.field_of(object.call, cell).map(|slot| self.innermost(slot)) else { continue };
            // A field that points into its own structure goes with it.
            let is_inside = object.first.own == Some(cell.base);
            // So does one that points back from what the structure leads to.
            let own = object.first.own;
            let is_back = own.is_some_and(|own| {
                let is_below =
                    self.view.values.is_reached_from(cell.base, own) || self.view.leads_to_part(own, cell.base);
                self.world.config.rules.applies(Rule::BackLinks, is_below) || self.view.hangs_on(cell.base, own)
            });
            if is_inside || is_back || shared.contains(&Some(slot)) {
                continue;
            }
            // A pointer field that does not link objects of one kind.
            let may_own = self
                .view
                .program
                .type_info(slot.0)
                .fields
                .iter()
                .any(|f| f.offset == slot.1 && f.pointee.depth > 0 && f.target != Some(slot.0));
            if may_own && !self.is_lent(object.call, cell) {
                self.report.slots.filled.push((slot, line));
            }
        }
        let left = exits.iter().chain(thrown).map(|(_, a)| a).filter(|a| a.status == Status::Live);
        let left: Vec<Cell> = left.flat_map(|a| a.cells.iter().copied()).collect();
        self.report.slots.left_full.extend(left.into_iter().filter_map(|cell| self.view.values.own_field(cell)));
    }
}

impl Summarizer<'_> {
    /// The pointer that begins where a part of a structure does, if a field is such a part.
    fn innermost(&self, slot: Slot) -> Slot {
        let types = self.view.program.types();
        let is_part = |field: &FieldInfo| field.offset == slot.1 && field.embedded().is_some();
        match self.view.program.type_info(slot.0).fields.iter().any(is_part) {
            true => {
                let spot = types.spot(slot.0, slot.1);
                (spot.ty, spot.offset)
            }
            false => slot,
        }
    }
}

/// The argument that the function always returns a pointer into, and the offset.
fn result_inside(view: &View<'_>) -> Option<(u32, Offset)> {
    let returned = view.body.insts.values().filter_map(|inst| match inst {
        Inst::Return { value } => Some(*value),
        _ => None,
    });
    let mut known = None;
    for value in returned {
        let cell = view.values.of_operand(value?)?;
        let (ValueNode::Param(index), Offset::Known(_)) = (view.values.node(cell.base), cell.offset) else {
            return None;
        };
        if known.replace((index, cell.offset)).is_some_and(|before| before != (index, cell.offset)) {
            return None;
        }
    }
    known
}
