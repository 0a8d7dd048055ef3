//! Follows one object through a function: the use-flow of SMOKE, over sets of alternatives.
//!
//! Only instructions that can name, hold, move or release the object do anything; the rest is passed over. Each block holds
//! the set of alternatives with which it is entered; sets grow until nothing changes.

use std::collections::BTreeSet;
use std::collections::hash_map::Entry;

use caulk_ir::entity::Entity;
use caulk_ir::{BinaryOp, BlockId, Constant, Inst, InstId, Operand, Type, VarId};
use caulk_memory::{Cell, Offset, Relation, ValueId, ValueNode};
use caulk_summary::{Action, Destination, Guard, Subject};
use rustc_hash::FxHashMap;
use smallvec::SmallVec;

use crate::alternative::{Alternative, Status, merge};
use crate::facts::{Fact, FactList, Key, KeyId, learn, number_of, shared, shifted};
use crate::function::{Resolved, View};
use crate::history::{Event, History};

/// What came of following an object.
#[derive(Debug, Default)]
pub struct Flow {
    /// The alternatives at each return.
    pub exits: Vec<(InstId, Alternative)>,
    /// Older copies that nobody held any more when the allocation was reached again in a loop.
    pub lost_in_loop: Vec<Alternative>,
    pub cut: bool,
    /// Calls that passed through the object's hands: unknown functions that swallowed it.
    pub swallowed_by: Vec<InstId>,
    /// When nothing but facts is followed: what is known before each call that allocates.
    pub facts_at: FxHashMap<InstId, FactList>,
    /// Blocks visited, for the graph.
    pub visited: Vec<(BlockId, Vec<Alternative>)>,
}

/// Where an object begins.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Start {
    Entry,
    /// Right after a call.
    After(InstId),
}

pub struct Propagation<'v, 'a> {
    view: &'v mut View<'a>,
    history: &'v mut History,
    start: Start,
    /// When the paths without an object are followed: its allocation, and how its result tells success.
    avoided: Option<(InstId, Option<Relation>)>,
    flow: Flow,
    entries: Vec<Vec<Alternative>>,
    visits: Vec<u32>,
    work: BTreeSet<(u32, BlockId)>,
}

impl<'v, 'a> Propagation<'v, 'a> {
    /// Follows an object from its start.
    pub fn run(view: &'v mut View<'a>, history: &'v mut History, start: Start, first: Vec<Alternative>) -> Flow {
        Self::run_from(view, history, start, first, None)
    }

    /// Follows the paths on which the object a call allocates does not exist. `told`: how the result of the call tells
    /// that it does.
    pub fn run_absent(view: &'v mut View<'a>, history: &'v mut History, call: InstId, told: Option<Relation>) -> Flow {
        let mut absent = Alternative::new(crate::history::NONE);
        absent.status = Status::Absent;
        Self::run_from(view, history, Start::Entry, vec![absent], Some((call, told)))
    }

    /// Follows no object, only what every path to an allocation has learnt.
    pub fn scout(view: &'v mut View<'a>, history: &'v mut History) -> FxHashMap<InstId, FactList> {
        let mut nothing = Alternative::new(crate::history::NONE);
        nothing.status = Status::Absent;
        Self::run_from(view, history, Start::Entry, vec![nothing], None).facts_at
    }

    fn run_from(
        view: &'v mut View<'a>,
        history: &'v mut History,
        start: Start,
        first: Vec<Alternative>,
        avoided: Option<(InstId, Option<Relation>)>,
    ) -> Flow {
        let blocks = view.body.blocks.len();
        let mut this = Self {
            view,
            history,
            start,
            avoided,
            flow: Flow::default(),
            entries: vec![Vec::new(); blocks],
            visits: vec![0; blocks],
            work: BTreeSet::new(),
        };
        match start {
            Start::Entry => {
                this.entries[0] = first;
                this.work.insert((0, BlockId(0)));
            }
            Start::After(call) => this.begin_after(call, first),
        }
        while let Some((_, block)) = this.work.pop_first() {
            this.visits[block.index()] += 1;
            if this.visits[block.index()] > this.view.config.max_visits {
                this.flow.cut = true;
                continue;
            }
            let first = this.view.body.blocks[block].first;
            for index in 0..this.entries[block.index()].len() {
                let entry = &mut this.entries[block.index()][index];
                if std::mem::take(&mut entry.is_new) {
                    let alternative = entry.clone();
                    this.run_block(block, first, alternative);
                }
            }
        }
        this.collect_visited();
        this.flow
    }

    fn begin_after(&mut self, call: InstId, first: Vec<Alternative>) {
        let block = self.view.homes[call];
        for alternative in first {
            // An invoke ends its block: the object exists on the normal way only.
            if let Inst::Invoke { normal, .. } = self.view.body.insts[call] {
                self.follow_edge(block, normal, alternative, &[]);
            } else {
                self.run_block(block, InstId(call.0 + 1), alternative);
            }
        }
    }

    fn collect_visited(&mut self) {
        for (index, alternatives) in self.entries.iter_mut().enumerate() {
            if !alternatives.is_empty() {
                self.flow.visited.push((BlockId::from_index(index), std::mem::take(alternatives)));
            }
        }
    }

    /// Runs an alternative from an instruction to the end of its block and on over its edges.
    fn run_block(&mut self, block: BlockId, from: InstId, alternative: Alternative) {
        let end = self.view.body.blocks[block].end;
        // A call may split an alternative by what its result will tell.
        let mut pending: SmallVec<[(InstId, Alternative); 2]> = SmallVec::new();
        pending.push((from, alternative));
        while let Some((at, mut current)) = pending.pop() {
            let mut next = at;
            let mut alive = true;
            while alive && next < end {
                let inst = next;
                next = InstId(inst.0 + 1);
                alive = self.step(block, inst, &mut current, &mut pending);
            }
        }
    }

    /// One instruction. False when the alternative ends here.
    fn step(
        &mut self,
        block: BlockId,
        inst: InstId,
        current: &mut Alternative,
        pending: &mut SmallVec<[(InstId, Alternative); 2]>,
    ) -> bool {
        let body = self.view.body;
        let take = |current: &mut Alternative| std::mem::replace(current, Alternative::new(0));
        if self.start == Start::After(inst) && !self.pass_own_allocation(inst, current) {
            return false;
        }
        if let Some((call, told)) = self.avoided
            && call == inst
            && !self.avoid_allocation(inst, told, current)
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
            Inst::Copy { dst, src, len } => self.copy(*dst, *src, *len, current),
            Inst::Fill { dst, len, .. } => self.fill(inst, *dst, *len, current),
            Inst::Bind { var, value } => self.bind(inst, *var, *value, current),
            Inst::Unbind { var } => self.unbind(inst, *var, current),
            Inst::ScopeEnd { local } | Inst::ScopeStart { local } => self.scope_end(inst, *local, current),
            Inst::Unknown { operands, .. } => {
                if operands.iter().any(|o| names(current, *o)) {
                    let event = self.history.add(current.event, inst, Event::GivenToUnknown);
                    current.settle(Status::Unknown, event);
                }
            }
            Inst::Call(_) => return self.call(inst, current, pending, InstId(inst.0 + 1)),
            Inst::Invoke { normal, unwind, .. } => {
                let (normal, unwind) = (*normal, *unwind);
                let thrown = current.clone();
                let mut split = SmallVec::new();
                if self.call(inst, current, &mut split, inst) {
                    self.follow_edge(block, normal, take(current), &[]);
                }
                for (_, other) in split {
                    self.follow_edge(block, normal, other, &[]);
                }
                // What a callee that throws did to its arguments is not known; it is taken to have done nothing.
                self.follow_edge(block, unwind, thrown, &[]);
                return false;
            }
            Inst::Return { .. } => {
                self.flow.exits.push((inst, take(current)));
                return false;
            }
            Inst::Jump { target } => {
                self.follow_edge(block, *target, take(current), &[]);
                return false;
            }
            Inst::Branch { cond, then, other } => {
                let (cond, then, other) = (*cond, *then, *other);
                self.branch(block, inst, cond, true, then, current.clone());
                self.branch(block, inst, cond, false, other, take(current));
                return false;
            }
            Inst::Switch { value, cases, default, .. } => {
                let (value, cases, default) = (*value, cases.clone(), *default);
                self.switch(block, value, &cases, default, current);
                return false;
            }
            Inst::IndirectJump { targets, .. } => {
                for target in targets.clone() {
                    self.follow_edge(block, target, current.clone(), &[]);
                }
                return false;
            }
            Inst::Resume { .. } | Inst::Unreachable => return false,
            _ => {}
        }
        true
    }

    /// A loop came back to the allocation: the alternative is an older copy. False when nobody holds it any more.
    fn pass_own_allocation(&mut self, inst: InstId, current: &mut Alternative) -> bool {
        if current.status != Status::Live {
            return false;
        }
        current.remove_name(inst);
        if !current.names.is_empty() || !current.cells.is_empty() {
            return true;
        }
        self.flow.lost_in_loop.push(current.clone());
        false
    }

    /// The allocation is reached on a path without the object: it failed. False when it cannot fail.
    fn avoid_allocation(&mut self, inst: InstId, told: Option<Relation>, current: &mut Alternative) -> bool {
        let Some(failure) = told.and_then(Relation::negate) else { return false };
        let Some(key) = self.view.keys.of_operand(self.view.body, &self.view.values, inst.into()) else { return true };
        current.facts.retain(|f| f.0 != key);
        learn(&mut current.facts, (key, failure), self.view.config.max_facts)
    }

    fn load(&mut self, inst: InstId, address: Operand, ty: Type, current: &mut Alternative) {
        current.remove_name(inst);
        let Some(cell) = self.view.values.of_operand(address) else { return };
        let size = ty.bytes(8) as i64;
        let holds = current.cells.iter().any(|held| held.base == cell.base && covers(cell.offset, size, held.offset));
        if holds {
            current.add_name(inst);
        }
    }

    fn store(&mut self, inst: InstId, value: Operand, address: Operand, current: &mut Alternative) {
        let Some(cell) = self.view.values.of_operand(address) else {
            return self.stored_somewhere(inst, value, current);
        };
        self.forget_loaded(cell, current);
        if names(current, value) {
            if matches!(self.view.values.node(cell.base), ValueNode::Nothing) {
                return self.stored_somewhere(inst, value, current);
            }
            current.add_cell(cell);
            current.event = self.history.add(current.event, inst, Event::Stored);
            return;
        }
        if self.is_one_place(cell) && current.cells.contains(&cell) {
            current.cells.retain(|c| *c != cell);
            current.event = self.history.add(current.event, inst, Event::Overwritten);
            current.holder_went(inst, true);
        }
        self.store_holder(value, cell, current);
        self.remember_stored(value, cell, current);
    }

    /// Whether a cell is one place in memory, so that writing to it loses what it held (a strong update).
    fn is_one_place(&self, cell: Cell) -> bool {
        matches!(cell.offset, Offset::Known(_)) && self.view.values.is_exact(self.view.body, cell.base)
    }

    /// A pointer to what holds the object is stored: the object can be reached through there too.
    fn store_holder(&mut self, value: Operand, cell: Cell, current: &mut Alternative) {
        let Some(holder) = self.view.values.of_operand(value) else { return };
        if current.cells.iter().all(|held| held.base != holder.base) {
            return;
        }
        let Some(base) = self.view.values.loaded(cell) else { return };
        let reached: SmallVec<[Cell; 2]> = current
            .cells
            .iter()
            .filter(|held| held.base == holder.base)
            .map(|held| Cell { base, offset: held.offset })
            .collect();
        reached.into_iter().for_each(|c| current.add_cell(c));
    }

    /// What is stored is what a later load will find.
    fn remember_stored(&mut self, value: Operand, cell: Cell, current: &mut Alternative) {
        if cell.offset == Offset::Any {
            return;
        }
        let key = self.view.keys.of_cell(cell);
        let relation = match value {
            Operand::Const(c) => number_of(self.view.body.consts[c]).map(Relation::Eq),
            Operand::Value(_) => {
                let from = self.view.keys.of_operand(self.view.body, &self.view.values, value);
                from.and_then(|k| current.facts.iter().find(|f| f.0 == k).map(|f| f.1))
            }
        };
        if let Some(relation) = relation {
            learn(&mut current.facts, (key, relation), self.view.config.max_facts);
        }
    }

    fn stored_somewhere(&mut self, inst: InstId, value: Operand, current: &mut Alternative) {
        if names(current, value) {
            let event = self.history.add(current.event, inst, Event::GivenToUnknown);
            current.settle(Status::Unknown, event);
        }
    }

    /// Facts about a place that is being written no longer hold.
    fn forget_loaded(&mut self, cell: Cell, current: &mut Alternative) {
        let keys = &self.view.keys;
        current.facts.retain(|(key, _)| {
            let mut stale = false;
            keys.depends_on(*key, &mut |k| {
                if let Key::Loaded(known) = k {
                    stale |= known.base == cell.base && known.offset.meets(cell.offset);
                }
            });
            !stale
        });
    }

    /// A value made from others points to the object if one of them does: addresses into it, casts, tags.
    fn derive(&mut self, inst: InstId, current: &mut Alternative) {
        let mut derived = false;
        if self.view.is_pointer_like(inst) {
            self.view.body.insts[inst].for_each_operand(|o| derived |= names(current, *o));
        }
        if derived { current.add_name(inst) } else { current.remove_name(inst) }
    }

    fn copy(&mut self, dst: Operand, src: Operand, len: Operand, current: &mut Alternative) {
        let (Some(to), Some(from)) = (self.view.values.of_operand(dst), self.view.values.of_operand(src)) else {
            return;
        };
        let length = self.view.body.constant(len).and_then(number_of).unwrap_or(i64::MAX);
        let carried: SmallVec<[Cell; 2]> = current
            .cells
            .iter()
            .filter(|held| held.base == from.base && covers(from.offset, length, held.offset))
            .map(|held| Cell { base: to.base, offset: moved(held.offset, from.offset, to.offset) })
            .collect();
        carried.into_iter().for_each(|cell| current.add_cell(cell));
    }

    fn fill(&mut self, inst: InstId, dst: Operand, len: Operand, current: &mut Alternative) {
        let Some(to) = self.view.values.of_operand(dst) else { return };
        let Some(length) = self.view.body.constant(len).and_then(number_of) else { return };
        let before = current.cells.len();
        current.cells.retain(|c| {
            let known = matches!((c.offset, to.offset), (Offset::Known(_), Offset::Known(_)));
            !(c.base == to.base && known && covers(to.offset, length, c.offset))
        });
        if current.cells.len() != before {
            current.holder_went(inst, true);
        }
    }

    fn bind(&mut self, inst: InstId, var: VarId, value: Operand, current: &mut Alternative) {
        if names(current, value) {
            if !current.vars.contains(&var) {
                current.vars.push(var);
            }
            current.lost = None;
        } else if let Some(at) = current.vars.iter().position(|v| *v == var) {
            current.vars.remove(at);
            current.event = self.history.add(current.event, inst, Event::Overwritten);
            current.holder_went(inst, true);
        }
    }

    fn unbind(&mut self, inst: InstId, var: VarId, current: &mut Alternative) {
        if let Some(at) = current.vars.iter().position(|v| *v == var) {
            current.vars.remove(at);
            current.event = self.history.add(current.event, inst, Event::OutOfScope);
            current.holder_went(inst, false);
        }
    }

    fn scope_end(&mut self, inst: InstId, local: InstId, current: &mut Alternative) {
        let values = &self.view.values;
        let before = current.cells.len();
        current.cells.retain(|c| values.node(c.base) != ValueNode::Local(local));
        if current.cells.len() != before {
            current.event = self.history.add(current.event, inst, Event::OutOfScope);
            current.holder_went(inst, false);
        }
    }

    fn branch(
        &mut self,
        block: BlockId,
        inst: InstId,
        cond: Operand,
        wanted: bool,
        target: BlockId,
        mut current: Alternative,
    ) {
        if self.asks_for_absence(cond, wanted, &current) {
            return;
        }
        let Some(facts) = self.view.keys.assume(self.view.body, &self.view.values, cond, wanted) else { return };
        if current.status == Status::Live && self.start != Start::Entry {
            let event = if wanted { Event::BranchTaken } else { Event::BranchNotTaken };
            current.event = self.history.add(current.event, inst, event);
        }
        self.follow_edge(block, target, current, &facts);
    }

    /// On this side of the branch the object would not exist: a live object's address is neither null nor that of
    /// something else.
    fn asks_for_absence(&self, cond: Operand, wanted: bool, current: &Alternative) -> bool {
        let Some(inst) = cond.value() else { return false };
        let Inst::Compare { op, lhs, rhs, .. } = &self.view.body.insts[inst] else { return false };
        let equal = match op {
            caulk_ir::CompareOp::Eq => wanted,
            caulk_ir::CompareOp::Ne => !wanted,
            _ => return false,
        };
        let (named, other) = match (names(current, *lhs), names(current, *rhs)) {
            (true, false) => (true, *rhs),
            (false, true) => (true, *lhs),
            (true, true) => return !equal && lhs != rhs && self.is_same_offset(*lhs, *rhs),
            _ => (false, *lhs),
        };
        if !named || !equal {
            return false;
        }
        match self.view.body.constant(other) {
            Some(Constant::Null | Constant::Pointer(_) | Constant::Global { .. } | Constant::Int { .. }) => true,
            Some(_) => false,
            None => {
                let base = self.view.values.of_operand(other).map(|c| self.view.values.node(c.base));
                matches!(base, Some(ValueNode::Local(_)))
            }
        }
    }

    fn is_same_offset(&self, a: Operand, b: Operand) -> bool {
        let (a, b) = (self.view.values.of_operand(a), self.view.values.of_operand(b));
        a.is_some() && a == b
    }

    fn switch(
        &mut self,
        block: BlockId,
        value: Operand,
        cases: &[(u64, BlockId)],
        default: BlockId,
        current: &Alternative,
    ) {
        let key = self.view.keys.of_operand(self.view.body, &self.view.values, value);
        let bits = match self.view.body.operand_type(value) {
            Type::Int(bits) => bits,
            _ => 64,
        };
        let number = |case: u64| caulk_ir::constant::sign_extend(case, bits);
        for &(case, target) in cases {
            let facts: FactList = key.map(|k| (k, Relation::Eq(number(case)))).into_iter().collect();
            self.follow_edge(block, target, current.clone(), &facts);
        }
        // A few excluded values help; a long list only pushes better facts out.
        const MAX_EXCLUDED: usize = 3;
        let excluded = cases.iter().take(MAX_EXCLUDED).filter(|_| cases.len() <= MAX_EXCLUDED);
        let facts: FactList =
            key.map(|k| excluded.map(|(case, _)| (k, Relation::Ne(number(*case)))).collect()).unwrap_or_default();
        let known = key.and_then(|k| current.facts.iter().find(|f| f.0 == k && matches!(f.1, Relation::Eq(_))));
        let is_case = known.is_some_and(|f| cases.iter().any(|(case, _)| f.1 == Relation::Eq(number(*case))));
        if !is_case {
            self.follow_edge(block, default, current.clone(), &facts);
        }
    }

    /// Takes an alternative over an edge: learns what the edge says, renames through phis, drops what is dead.
    fn follow_edge(&mut self, from: BlockId, to: BlockId, mut current: Alternative, facts: &[Fact]) {
        let max = self.view.config.max_facts;
        if !facts.iter().all(|fact| learn(&mut current.facts, *fact, max)) {
            return;
        }
        let is_back_edge = self.view.order[to] <= self.view.order[from];
        let phi_facts = self.enter_phis(from, to, &mut current);
        if is_back_edge {
            self.forget_loop_values(to, &mut current);
            self.leave_round(to, &mut current);
        }
        for (key, relation) in phi_facts {
            current.facts.retain(|f| f.0 != key);
            learn(&mut current.facts, (key, relation), max);
        }
        let liveness = &self.view.liveness;
        let (body, homes) = (self.view.body, &self.view.homes);
        current.names.retain(|name| {
            let is_phi_here = homes[*name] == to && matches!(body.insts[*name], Inst::Phi { .. });
            is_phi_here || liveness.is_live_in(to, *name)
        });
        let changed =
            merge(&mut self.entries[to.index()], current, self.view.config.max_alternatives, &mut self.flow.cut);
        if changed {
            self.work.insert((self.view.order[to], to));
        }
    }

    /// Names and facts pass from the values a phi takes over this edge to the phi itself.
    fn enter_phis(&mut self, from: BlockId, to: BlockId, current: &mut Alternative) -> FactList {
        let body = self.view.body;
        let mut facts = FactList::new();
        let mut named: SmallVec<[(InstId, bool); 4]> = SmallVec::new();
        for phi in body.blocks[to].insts() {
            let Inst::Phi { incoming, .. } = &body.insts[phi] else { break };
            let Some((_, value)) = incoming.iter().find(|(block, _)| *block == from) else { continue };
            named.push((phi, names(current, *value)));
            let key = self.view.keys.of_operand(body, &self.view.values, phi.into());
            let Some(key) = key else { continue };
            facts.extend(self.facts_of(*value, key, current));
        }
        for (phi, is_name) in named {
            if is_name { current.add_name(phi) } else { current.remove_name(phi) }
        }
        facts
    }

    fn facts_of(&mut self, value: Operand, key: KeyId, current: &Alternative) -> FactList {
        match value {
            Operand::Const(c) => {
                number_of(self.view.body.consts[c]).map(|n| (key, Relation::Eq(n))).into_iter().collect()
            }
            Operand::Value(_) => {
                let from = self.view.keys.of_operand(self.view.body, &self.view.values, value);
                let known: FactList = current.facts.iter().filter(|f| Some(f.0) == from).map(|f| (key, f.1)).collect();
                if known.is_empty() { self.facts_of_sum(value, key, current) } else { known }
            }
        }
    }

    /// `n + 1` is one more than what is known of n: it tells "counted something" from "counted nothing".
    fn facts_of_sum(&mut self, value: Operand, key: KeyId, current: &Alternative) -> FactList {
        let body = self.view.body;
        let Some(inst) = value.value() else { return FactList::new() };
        let Inst::Binary { op: op @ (BinaryOp::Add | BinaryOp::Sub), lhs, rhs, .. } = &body.insts[inst] else {
            return FactList::new();
        };
        let Some(by) = body.constant(*rhs).and_then(number_of) else { return FactList::new() };
        let by = if *op == BinaryOp::Add { Some(by) } else { by.checked_neg() };
        let from = self.view.keys.of_operand(body, &self.view.values, *lhs);
        let known = current.facts.iter().find(|f| Some(f.0) == from).map(|f| f.1);
        let relation = known.zip(by).and_then(|(r, by)| shifted(r, by));
        relation.map(|r| (key, r)).into_iter().collect()
    }

    /// What holds the object under a name that means something else in the next round goes on holding it, out of sight.
    fn leave_round(&mut self, head: BlockId, current: &mut Alternative) {
        let head = self.view.order[head];
        let (homes, order, values) = (&self.view.homes, &self.view.order, &self.view.values);
        let in_loop = |cell: &Cell| match values.root(cell.base) {
            ValueNode::Opaque(inst) => order[homes[inst]] >= head,
            _ => false,
        };
        if current.status == Status::Live && current.cells.iter().any(in_loop) {
            let last = self.view.body.blocks[BlockId(0)].first;
            let event = self.history.add(current.event, last, Event::Kept);
            current.settle(Status::Kept, event);
        }
    }

    /// Values computed in a loop are others in its next round.
    fn forget_loop_values(&mut self, head: BlockId, current: &mut Alternative) {
        let head = self.view.order[head];
        let (keys, homes, order, values) = (&self.view.keys, &self.view.homes, &self.view.order, &self.view.values);
        let in_loop = |inst: InstId| order[homes[inst]] >= head;
        current.facts.retain(|(key, _)| {
            let mut stale = false;
            keys.depends_on(*key, &mut |k| match k {
                Key::Inst(inst) => stale |= in_loop(inst),
                Key::Pure(..) => {}
                Key::Loaded(cell) => {
                    if let ValueNode::Opaque(inst) = values.root(cell.base) {
                        stale |= in_loop(inst);
                    }
                }
                _ => {}
            });
            !stale
        });
    }

    /// A call. False when it does not return.
    fn call(
        &mut self,
        inst: InstId,
        current: &mut Alternative,
        pending: &mut SmallVec<[(InstId, Alternative); 2]>,
        resume: InstId,
    ) -> bool {
        current.remove_name(inst);
        let body = self.view.body;
        let Some(call) = body.insts[inst].call() else { return true };
        if call.flags.no_return {
            return false;
        }
        if current.status == Status::Live && !current.is_held() && call.args.iter().any(|a| names(current, *a)) {
            // A temporary that no variable holds: this is the last that is seen of it.
            current.lost = Some((inst, false));
        }
        let Some(effect) = self.view.calls[inst].clone() else { return true };
        if effect.summary.no_return {
            return false;
        }
        if current.status == Status::Absent && self.avoided.is_none() && !effect.summary.blocks.is_empty() {
            self.note_facts(inst, current);
        }
        if effect.unknown {
            self.give_to_unknown(inst, current);
            return true;
        }
        if current.status != Status::Live || (current.cells.is_empty() && !call.args.iter().any(|a| names(current, *a)))
        {
            return true;
        }
        // What happens to values comes before what fresh blocks overwrite: `getline` frees the old line first.
        let is_allocation = |a: &&Action| matches!(a.subject, Subject::Alloc(_));
        let others = effect.summary.actions.iter().filter(|a| !is_allocation(a));
        for action in others.chain(effect.summary.actions.iter().filter(is_allocation)) {
            if current.status != Status::Live {
                break;
            }
            self.apply(inst, action, current, pending, resume);
        }
        for path in &effect.summary.overwritten {
            self.overwrite(inst, path, &Guard::Always, current);
        }
        true
    }

    fn note_facts(&mut self, inst: InstId, current: &Alternative) {
        match self.flow.facts_at.entry(inst) {
            Entry::Vacant(slot) => drop(slot.insert(current.facts.clone())),
            Entry::Occupied(mut known) => {
                let both = shared(known.get(), &current.facts);
                *known.get_mut() = both;
            }
        }
    }

    fn give_to_unknown(&mut self, inst: InstId, current: &mut Alternative) {
        if current.status != Status::Live {
            return;
        }
        let Some(call) = self.view.body.insts[inst].call() else { return };
        let given = call.args.iter().any(|a| names(current, *a) || self.is_holder(*a, current));
        if given {
            self.flow.swallowed_by.push(inst);
            let event = self.history.add(current.event, inst, Event::GivenToUnknown);
            current.settle(Status::Unknown, event);
        }
    }

    /// Whether the operand points to memory that holds the object, over any number of steps.
    fn is_holder(&self, operand: Operand, current: &Alternative) -> bool {
        let Some(cell) = self.view.values.of_operand(operand) else { return false };
        if matches!(self.view.values.node(cell.base), ValueNode::Nothing) {
            return false;
        }
        current.cells.iter().any(|held| self.view.values.is_reached_from(held.base, cell.base))
    }

    fn apply(
        &mut self,
        inst: InstId,
        action: &Action,
        current: &mut Alternative,
        pending: &mut SmallVec<[(InstId, Alternative); 2]>,
        resume: InstId,
    ) {
        let Subject::Value(subject) = &action.subject else {
            if let Destination::Store(to) = &action.to {
                self.overwrite(inst, to, &action.guard, current);
            }
            return;
        };
        let Some(resolved) = self.view.resolve(inst, subject) else { return };
        let is_subject = match resolved {
            Resolved::Operand(operand) => names(current, operand),
            Resolved::Cell(cell) => current.cells.iter().any(|c| c.base == cell.base && c.offset == cell.offset),
        };
        if !is_subject {
            return self.apply_to_holder(inst, action, resolved, current);
        }
        let Some(decided) = self.decide(inst, &action.guard, current) else { return };
        if let Destination::Store(to) = &action.to {
            return self.moved_to(inst, to, current);
        }
        let (status, event) = match action.to {
            Destination::Free { .. } => (Status::Freed, Event::Freed),
            Destination::Keep => (Status::Kept, Event::Kept),
            _ => (Status::Unknown, Event::GivenToUnknown),
        };
        if status == Status::Unknown {
            self.flow.swallowed_by.push(inst);
        }
        if let Decided::When(fact) = decided {
            let mut not_taken = current.clone();
            let opposite = fact.1.negate();
            let max = self.view.config.max_facts;
            if opposite.is_none_or(|r| learn(&mut not_taken.facts, (fact.0, r), max)) {
                not_taken.event = self.history.add(current.event, inst, Event::NotTaken);
                pending.push((resume, not_taken));
            }
            learn(&mut current.facts, fact, max);
        }
        if matches!(decided, Decided::Hidden) {
            current.rests_on_hidden = true;
        }
        let event = self.history.add(current.event, inst, event);
        current.settle(status, event);
    }

    /// Something that holds the object is freed, kept or given away.
    fn apply_to_holder(&mut self, inst: InstId, action: &Action, holder: Resolved, current: &mut Alternative) {
        let base: Option<ValueId> = match holder {
            Resolved::Operand(operand) => self.view.values.of_operand(operand).map(|c| c.base),
            Resolved::Cell(cell) => self.view.values.loaded(cell),
        };
        let Some(base) = base else { return };
        if matches!(self.view.values.node(base), ValueNode::Nothing) {
            return;
        }
        let values = &self.view.values;
        if !current.cells.iter().any(|held| values.is_reached_from(held.base, base)) {
            return;
        }
        match &action.to {
            // "Freed with its holder" needs a certain free of a certain object.
            Destination::Free { deep: false } if !self.view.values.is_exact(self.view.body, base) => {}
            Destination::Free { deep: false } if action.guard == Guard::Always => {
                let before = current.cells.len();
                current.cells.retain(|held| held.base != base);
                if current.cells.len() != before {
                    current.event = self.history.add(current.event, inst, Event::FreedWithHolder);
                    current.holder_went(inst, true);
                }
            }
            // What else is done to what it holds the summary says by path, or does not know.
            Destination::Free { .. } => {
                let event = self.history.add(current.event, inst, Event::Freed);
                current.rests_on_hidden = true;
                current.settle(Status::Freed, event);
            }
            Destination::Keep | Destination::Unknown => {
                let event = self.history.add(current.event, inst, Event::Kept);
                current.settle(Status::Kept, event);
            }
            Destination::Store(to) => {
                // The holder becomes known under another name as well.
                let Some(Resolved::Operand(operand)) = self.view.resolve(inst, to) else {
                    let event = self.history.add(current.event, inst, Event::Kept);
                    return current.settle(Status::Kept, event);
                };
                let Some(new) = self.view.values.of_operand(operand) else { return };
                let copies: SmallVec<[Cell; 2]> = current
                    .cells
                    .iter()
                    .filter(|held| held.base == base)
                    .map(|held| Cell { base: new.base, offset: held.offset })
                    .collect();
                copies.into_iter().for_each(|c| current.add_cell(c));
            }
        }
    }

    fn moved_to(&mut self, inst: InstId, to: &caulk_memory::AccessPath, current: &mut Alternative) {
        match self.view.resolve(inst, to) {
            Some(Resolved::Operand(Operand::Value(value))) => current.add_name(value),
            Some(Resolved::Cell(cell)) if !matches!(self.view.values.node(cell.base), ValueNode::Nothing) => {
                current.add_cell(cell);
                current.event = self.history.add(current.event, inst, Event::Stored);
            }
            _ => {
                let event = self.history.add(current.event, inst, Event::Kept);
                current.settle(Status::Kept, event);
            }
        }
    }

    fn overwrite(&mut self, inst: InstId, path: &caulk_memory::AccessPath, guard: &Guard, current: &mut Alternative) {
        if path.steps.is_empty() || guard.is_hidden() {
            return;
        }
        let Some(Resolved::Cell(cell)) = self.view.resolve(inst, path) else { return };
        self.forget_loaded(cell, current);
        if self.is_one_place(cell) && current.cells.contains(&cell) {
            current.cells.retain(|c| *c != cell);
            current.event = self.history.add(current.event, inst, Event::Overwritten);
            // What a callee does to memory that others see too is known less well than what is done to a local.
            current.rests_on_hidden |= !matches!(self.view.values.node(cell.base), ValueNode::Local(_));
            current.holder_went(inst, true);
        }
    }

    /// Whether an action under this guard happens here. None: it does not.
    fn decide(&mut self, inst: InstId, guard: &Guard, current: &Alternative) -> Option<Decided> {
        match guard {
            Guard::Always => Some(Decided::Certain),
            Guard::Hidden => Some(Decided::Hidden),
            Guard::Told(relation) => {
                // Inserting into a tree gives back the element that was there already; who ignores that knows there is none.
                let is_pointer = self.view.body.insts[inst].result_type() == Type::Ptr;
                if is_pointer && !self.view.is_used[inst] {
                    return Some(Decided::Hidden);
                }
                let key = self.view.keys.of_operand(self.view.body, &self.view.values, inst.into())?;
                Some(Decided::When((key, *relation)))
            }
            Guard::Given(path, relation) => {
                let fact = match self.view.resolve(inst, path)? {
                    Resolved::Operand(operand) => match self.view.body.constant(operand).map(number_of) {
                        Some(Some(number)) => return relation.holds(number).then_some(Decided::Certain),
                        Some(None) => return Some(Decided::Hidden),
                        None => {
                            let key = self.view.keys.of_operand(self.view.body, &self.view.values, operand)?;
                            (key, *relation)
                        }
                    },
                    Resolved::Cell(cell) => (self.view.keys.of_cell(cell), *relation),
                };
                let known = current.facts.iter().find(|f| f.0 == fact.0);
                match known {
                    Some((_, r)) if r.contradicts(*relation) => None,
                    Some((_, r)) if r.implies(*relation) => Some(Decided::Certain),
                    _ => Some(Decided::When(fact)),
                }
            }
        }
    }
}

enum Decided {
    Certain,
    Hidden,
    When(Fact),
}

fn names(alternative: &Alternative, operand: Operand) -> bool {
    operand.value().is_some_and(|v| alternative.has_name(v))
}

/// Whether `[start, start + length)` may hold `at`.
fn covers(start: Offset, length: i64, at: Offset) -> bool {
    match (start, at) {
        (Offset::Known(start), Offset::Known(at)) => start <= at && at < start.saturating_add(length.max(1)),
        _ => true,
    }
}

fn moved(at: Offset, from: Offset, to: Offset) -> Offset {
    match (at, from, to) {
        (Offset::Known(at), Offset::Known(from), Offset::Known(to)) => Offset::Known(at - from + to),
        _ => Offset::Any,
    }
}
