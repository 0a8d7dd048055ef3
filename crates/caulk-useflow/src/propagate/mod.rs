//! Follows one object through a function: the use-flow of SMOKE, over sets of alternatives.
//!
//! Only instructions that can name, hold, move or release the object do anything; the rest is passed over. Each block holds
//! the set of alternatives with which it is entered; sets grow until nothing changes.

use caulk_ir::entity::Entity;
use caulk_ir::{BlockId, Inst, InstId, Operand};
use caulk_memory::Cell;
use caulk_summary::{Event, Throws};
use rustc_hash::FxHashMap;
use smallvec::SmallVec;

use crate::alternative::{Alternative, Status, collapse, merge};
use crate::exceptions::is_caught;
use crate::fact_list::learn;
use crate::facts::{Fact, FactList, Key};
use crate::function::View;
use crate::history::History;
use crate::steps::Step;

/// What came of following an object.
#[derive(Debug, Default)]
pub(crate) struct Flow {
    /// The alternatives at each return.
    pub exits: Vec<(InstId, Alternative)>,
    /// The alternatives where an exception that some code names leaves the function: at a call or at the end of a clean-up.
    pub thrown: Vec<(InstId, Alternative)>,
    /// Of what the function was given: the alternatives where an exception leaves the function.
    pub given_thrown: Vec<Alternative>,
    /// Older copies without an owner when the allocation was reached again in a loop.
    pub lost_in_loop: Vec<Alternative>,
    pub cut: bool,
    /// Some paths were given up, and nothing is known of where they lead.
    pub is_incomplete: bool,
    /// Unknown functions that the object escaped to.
    pub escaped_by: Vec<InstId>,
    /// Cells that alone held the object when an iteration of a loop ended.
    pub left_in: Vec<Cell>,
    /// When nothing but facts is followed: what is known before each call that allocates.
    pub facts_at: FxHashMap<InstId, FactList>,
    /// Blocks visited, for the graph.
    pub visited: Vec<(BlockId, Vec<Alternative>)>,
}

/// Where an object begins.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Start {
    Entry,
    /// Right after a call.
    After(InstId),
}

mod calls;
mod edges;
mod handed_back;
mod headers;
mod memory;
mod on_call;
mod on_path;
mod thrown;
mod work;

use edges::Side;
pub(crate) use memory::variable_at;
use work::Work;

pub(crate) struct Propagation<'v, 'a> {
    view: &'v mut View<'a>,
    history: &'v mut History,
    start: Start,
    /// When the paths without an object are followed: its allocation, and how its result tells success.
    avoided: Option<(InstId, Option<Fact>)>,
    /// Alternatives end where the object is freed, kept or given away.
    drops_settled: bool,
    flow: Flow,
    entries: Vec<Vec<Alternative>>,
    visits: Vec<u32>,
    work: Work,
    /// Where copies are made that an edge may change: most are merged there with one that is known, and leave the room.
    scratch: Option<Box<Alternative>>,
}

impl<'v, 'a> Propagation<'v, 'a> {
    /// Follows an object from its start.
    pub(crate) fn run(view: &'v mut View<'a>, history: &'v mut History, start: Start, first: Vec<Alternative>) -> Flow {
        Self::run_from(view, history, start, first, None)
    }

    /// Follows a fresh object. `is_opaque`: whether it exists nothing tells, so what is done to it once it is freed or kept does
    /// not matter to any caller.
    pub(crate) fn run_fresh(
        view: &'v mut View<'a>,
        history: &'v mut History,
        start: Start,
        first: Vec<Alternative>,
        is_opaque: bool,
    ) -> Flow {
        Self::run_to_end(view, history, start, first, None, is_opaque)
    }

    /// Follows the paths on which the object a call allocates does not exist. `failure`: the fact by which one knows that
    /// the call did not allocate; None when it always does.
    pub(crate) fn run_absent(
        view: &'v mut View<'a>,
        history: &'v mut History,
        call: InstId,
        failure: Option<Fact>,
    ) -> Flow {
        let mut absent = Alternative::new(crate::history::NONE);
        absent.status = Status::Absent;
        Self::run_from(view, history, Start::Entry, vec![absent], Some((call, failure)))
    }

    /// Follows no object, only what is known where the function returns.
    pub(crate) fn ends(view: &'v mut View<'a>, history: &'v mut History) -> Flow {
        let mut nothing = Alternative::new(crate::history::NONE);
        nothing.status = Status::Absent;
        Self::run_from(view, history, Start::Entry, vec![nothing], None)
    }

    /// Follows no object, only what every path to an allocation has learnt.
    pub(crate) fn scout(view: &'v mut View<'a>, history: &'v mut History) -> FxHashMap<InstId, FactList> {
        Self::ends(view, history).facts_at
    }

    fn run_from(
        view: &'v mut View<'a>,
        history: &'v mut History,
        start: Start,
        first: Vec<Alternative>,
        avoided: Option<(InstId, Option<Fact>)>,
    ) -> Flow {
        Self::run_to_end(view, history, start, first, avoided, false)
    }

    fn run_to_end(
        view: &'v mut View<'a>,
        history: &'v mut History,
        start: Start,
        first: Vec<Alternative>,
        avoided: Option<(InstId, Option<Fact>)>,
        drops_settled: bool,
    ) -> Flow {
        let blocks = view.body.blocks.len();
        let mut this = Self {
            view,
            history,
            start,
            avoided,
            drops_settled,
            flow: Flow::default(),
            entries: vec![Vec::new(); blocks],
            visits: vec![0; blocks],
            work: Work::new(blocks),
            scratch: None,
        };
        match start {
            Start::Entry => {
                this.entries[0] = first;
                this.work.insert(0, BlockId(0));
            }
            Start::After(call) => this.begin_after(call, first),
        }
        // The next block after the last one in control flow; back to the first only when the rest is done. The head of a loop
        // is so run again once for all of its back edges: an interpreter has hundreds.
        let mut last = 0;
        while let Some(place) = this.work.take(last) {
            last = place;
            let block = this.work.block(place, &this.view.blocks_by_order);
            this.visits[block.index()] += 1;
            this.view.block_runs += 1;
            let visits = this.visits[block.index()];
            if visits > this.view.max_visits() {
                this.flow.cut = true;
                collapse(&mut this.entries[block.index()], &this.view.apart);
                if visits > 2 * this.view.max_visits() {
                    this.flow.is_incomplete = true;
                    continue;
                }
            }
            let first = this.view.body.blocks[block].first;
            let changed = this.entries[block.index()].iter_mut().filter(|a| a.is_new);
            let abreast: Vec<Alternative> = changed
                .map(|a| {
                    a.is_new = false;
                    a.clone()
                })
                .collect();
            this.run_block(block, first, abreast);
        }
        this.collect_visited();
        this.flow
    }

    fn begin_after(&mut self, call: InstId, first: Vec<Alternative>) {
        let block = self.view.homes[call];
        // An invoke ends its block: the object exists on the normal way only.
        if let Inst::Invoke { normal, .. } = self.view.body.insts[call] {
            for mut alternative in first {
                self.follow_edge(block, normal, &mut alternative, &[]);
            }
        } else {
            self.run_block(block, InstId(call.0 + 1), first);
        }
    }

    fn collect_visited(&mut self) {
        for (index, alternatives) in self.entries.iter_mut().enumerate() {
            if !alternatives.is_empty() {
                self.flow.visited.push((BlockId::from_index(index), std::mem::take(alternatives)));
            }
        }
    }

    /// Runs alternatives from an instruction to the end of its block and on over its edges, all abreast: a call may split
    /// one by what its result will tell, and what comes out alike is merged again at once.
    fn run_block(&mut self, block: BlockId, from: InstId, mut abreast: Vec<Alternative>) {
        let max = self.view.max_alternatives();
        let mut split: SmallVec<[Alternative; 2]> = SmallVec::new();
        for index in self.view.steps.range(block, from) {
            let Step { inst, changes_facts } = self.view.steps.get(index);
            self.view.keys.here = (block, inst);
            abreast.retain_mut(|current| {
                let is_settled = current.status != Status::Live;
                if is_settled && self.drops_settled {
                    return false;
                }
                (is_settled && !changes_facts) || self.step(block, inst, current, &mut split)
            });
            for mut alternative in split.drain(..) {
                merge(&mut abreast, &mut alternative, max, &self.view.apart, &mut self.flow.cut);
            }
            if abreast.is_empty() {
                return;
            }
        }
    }

    /// One instruction. False when the alternative ends here.
    fn step(
        &mut self,
        block: BlockId,
        inst: InstId,
        current: &mut Alternative,
        split: &mut SmallVec<[Alternative; 2]>,
    ) -> bool {
        let body = self.view.body;
        if self.start == Start::After(inst) && !self.pass_own_allocation(inst, current) {
            return false;
        }
        if let Some((call, failure)) = self.avoided
            && call == inst
            && !self.avoid_allocation(failure, current)
        {
            return false;
        }
        match &body.insts[inst] {
            Inst::Load { address, ty, .. } => self.load(inst, *address, *ty, current),
            Inst::Store { value, address, .. } => self.store(inst, *value, *address, current),
            Inst::Address { .. }
            | Inst::Cast { .. }
            | Inst::Select { .. }
            | Inst::Insert { .. }
            | Inst::Extract { .. }
            | Inst::Binary { .. } => self.derive(inst, current),
            Inst::Copy { dst, src, len } => self.copy(inst, *dst, *src, *len, current),
            Inst::Fill { dst, byte, len } => self.fill(inst, *dst, *byte, *len, current),
            Inst::Bind { var, value } => self.bind(inst, *var, *value, current),
            Inst::Unbind { var } => self.unbind(inst, *var, current),
            Inst::ScopeEnd { local } | Inst::ScopeStart { local } => self.scope_end(inst, *local, current),
            Inst::Unknown { operands, .. } if operands.iter().any(|o| names(current, *o)) => {
                let event = self.history.add(current.event, inst, Event::GivenToUnknown);
                current.settle(Status::Unknown, event);
            }
            Inst::Call(_) => {
                self.note_facts_of_throw(inst, current);
                if self.may_be_left_by_throw(inst, current) {
                    let event = self.history.add(current.event, inst, Event::Thrown);
                    let mut thrown = Alternative { event, thrown_by: Some(inst), ..current.clone() };
                    thrown.rests_on_unnamed |= self.view.throwing.get(&inst).copied() < Some(Throws::Named);
                    self.flow.thrown.push((inst, thrown));
                }
                if self.start == Start::Entry && self.view.throwing.contains_key(&inst) {
                    let thrown = self.after_throw(inst, current);
                    self.flow.given_thrown.push(thrown);
                }
                return self.call(inst, current, split);
            }
            Inst::Invoke { normal, unwind, .. } => {
                let (normal, unwind) = (*normal, *unwind);
                self.note_facts_of_throw(inst, current);
                let throws = self.view.throwing.get(&inst).copied().unwrap_or_default();
                let mut thrown = self.after_throw(inst, current);
                thrown.rests_on_unnamed |= throws < Throws::Named;
                if self.may_be_left_by_throw(inst, current) && !is_caught(self.view.program, self.view.id, body, unwind)
                {
                    thrown.event = self.history.add(thrown.event, inst, Event::Thrown);
                    thrown.thrown_by = Some(inst);
                }
                let mut split = SmallVec::new();
                if self.call(inst, current, &mut split) {
                    self.follow_edge(block, normal, current, &[]);
                }
                for mut other in split {
                    self.follow_edge(block, normal, &mut other, &[]);
                }
                if throws > Throws::No {
                    self.follow_edge(block, unwind, &mut thrown, &[]);
                }
                return false;
            }
            Inst::Return { .. } => {
                self.flow.exits.push((inst, current.take()));
                return false;
            }
            Inst::Jump { target } => {
                self.follow_edge(block, *target, current, &[]);
                return false;
            }
            Inst::Branch { cond, then, other } => {
                let (cond, then, other) = (*cond, *then, *other);
                self.branch(block, inst, Side { cond, wanted: true, target: then }, current);
                self.branch_last(block, inst, Side { cond, wanted: false, target: other }, current);
                return false;
            }
            Inst::Switch { value, cases, default, .. } => {
                let (value, cases, default) = (*value, cases.clone(), *default);
                self.switch(block, value, &cases, default, current);
                return false;
            }
            Inst::IndirectJump { targets, .. } => {
                for target in targets.clone() {
                    self.follow_copy(block, target, current, &[]);
                }
                return false;
            }
            Inst::Resume { .. } if self.start == Start::Entry => {
                self.flow.given_thrown.push(current.take());
                return false;
            }
            Inst::Resume { .. } => {
                if current.status == Status::Live && current.thrown_by.is_some() {
                    self.flow.thrown.push((inst, current.take()));
                }
                return false;
            }
            Inst::Unreachable => return false,
            _ => {}
        }
        true
    }

    /// A loop came back to the allocation: the alternative is an older copy. False when it has no owner any more.
    fn pass_own_allocation(&mut self, inst: InstId, current: &mut Alternative) -> bool {
        if current.status != Status::Live {
            return false;
        }
        current.remove_name(inst);
        if !current.names.is_empty() || current.holders().next().is_some() {
            return true;
        }
        self.flow.lost_in_loop.push(current.clone());
        false
    }

    /// The allocation is reached on a path without the object: it failed. False when it cannot fail.
    fn avoid_allocation(&mut self, failure: Option<Fact>, current: &mut Alternative) -> bool {
        let Some(failure) = failure else { return false };
        if let Key::Inst(_) = self.view.keys.get(failure.0) {
            current.facts.retain(|f| f.0 != failure.0);
        }
        learn(&mut current.facts, failure, self.view.config.max_facts)
    }
}

fn names(alternative: &Alternative, operand: Operand) -> bool {
    operand.value().is_some_and(|v| alternative.has_name(v))
}
