//! What an alternative learns and forgets on its way from block to block.

use caulk_ir::entity::Entity;
use caulk_ir::{BinaryOp, BlockId, CastOp, CompareOp, Constant, EntitySet, Inst, InstId, Operand, Type};
use caulk_memory::{Cell, Offset, Relation, ValueId, ValueNode};
use caulk_rules::Rule;
use caulk_summary::Event;
use smallvec::SmallVec;

use super::{Propagation, Start, names};
use crate::alternative::{Alternative, Status, merge};
use crate::bounds::BOUNDS;
use crate::fact_list::{learn, shifted};
use crate::facts::{Fact, FactList, Key, KeyId, number_of};

/// One side of a branch.
#[derive(Clone, Copy)]
pub(super) struct Side {
    pub cond: Operand,
    pub wanted: bool,
    pub target: BlockId,
}

impl Propagation<'_, '_> {
    pub(super) fn branch(&mut self, block: BlockId, inst: InstId, branch: Side, current: &Alternative) {
        let Some(facts) = self.facts_of_side(branch, current) else { return };
        let mut next = self.copy_of(current);
        self.take_side(block, inst, branch, &mut next, &facts);
        self.scratch = Some(next);
    }

    /// The same for the last side of a branch, after which the alternative is not needed any more.
    pub(super) fn branch_last(&mut self, block: BlockId, inst: InstId, branch: Side, current: &mut Alternative) {
        if let Some(facts) = self.facts_of_side(branch, current) {
            self.take_side(block, inst, branch, current, &facts);
        }
    }

    fn take_side(&mut self, block: BlockId, inst: InstId, branch: Side, next: &mut Alternative, facts: &[Fact]) {
        if next.status == Status::Live && self.start != Start::Entry {
            let event = Event::Took(u32::from(!branch.wanted));
            next.event = self.history.add(next.event, inst, event);
        }
        if let Some(cell) = self.place_of_equal(block, branch, next) {
            next.add_cell(cell);
        }
        self.follow_edge(block, branch.target, next, facts);
    }

    /// The field of a parameter that leads to the object, another parameter, because what was read there equals it: behind
    /// `if (q != this->p) { ... }` the field has `q` on either side. (What a global has as well, such as a shared constant, is not put there.)
    fn place_of_equal(&self, block: BlockId, Side { cond, wanted, .. }: Side, current: &Alternative) -> Option<Cell> {
        if self.start != Start::Entry || current.status != Status::Live {
            return None;
        }
        let comparison = cond.value()?;
        let Inst::Compare { op, lhs, rhs, .. } = &self.view.body.insts[comparison] else { return None };
        let is_equal = *op == if wanted { CompareOp::Eq } else { CompareOp::Ne };
        let (object, read) = match (names(current, *lhs), names(current, *rhs)) {
            (true, false) => (*lhs, *rhs),
            (false, true) => (*rhs, *lhs),
            _ => return None,
        };
        let is_param = |value: ValueId| matches!(self.view.values.node(value), ValueNode::Param(_));
        self.view.values.of_operand(object).filter(|of| is_param(of.base))?;
        let load = read.value().filter(|load| is_equal && self.view.homes[*load] == block)?;
        let Inst::Load { address, .. } = &self.view.body.insts[load] else { return None };
        let is_quiet = |inst: InstId| {
            let inst = &self.view.body.insts[inst];
            !matches!(inst, Inst::Store { .. } | Inst::Copy { .. } | Inst::Fill { .. }) && inst.call().is_none()
        };
        let mut since = self.view.body.blocks[block].insts().skip_while(|inst| *inst != load);
        let place = self.view.values.of_operand(*address)?;
        (since.all(is_quiet) && is_param(place.base)).then_some(place)
    }

    /// What is known on one side of a branch. None: no path goes there.
    fn facts_of_side(&mut self, Side { cond, wanted, .. }: Side, current: &Alternative) -> Option<FactList> {
        if self.asks_for_absence(cond, wanted, current) {
            return None;
        }
        let facts = self.view.keys.assume(self.view.body, &self.view.values, &current.facts, cond, wanted)?;
        let is_impossible = |(key, relation): &Fact| match self.view.keys.get(*key) {
            Key::Inst(inst) => self.view.evident(inst.into()).is_some_and(|known| known.contradicts(*relation)),
            _ => false,
        };
        let contradicts =
            |(key, relation): &Fact| current.facts.iter().any(|f| f.0 == *key && f.1.contradicts(*relation));
        (!facts.iter().any(|fact| contradicts(fact) || is_impossible(fact))).then_some(facts)
    }

    fn copy_of(&mut self, current: &Alternative) -> Box<Alternative> {
        let mut copy = self.scratch.take().unwrap_or_else(|| Box::new(Alternative::new(0)));
        Alternative::clone_from(&mut copy, current);
        copy
    }

    pub(super) fn follow_copy(&mut self, from: BlockId, to: BlockId, current: &Alternative, facts: &[Fact]) {
        let mut next = self.copy_of(current);
        self.follow_edge(from, to, &mut next, facts);
        self.scratch = Some(next);
    }

    /// On this side of the branch the object would not exist: a live object's address is neither null nor that of
    /// something else.
    pub(super) fn asks_for_absence(&self, cond: Operand, wanted: bool, current: &Alternative) -> bool {
        let Some(inst) = cond.value() else { return false };
        let Inst::Compare { op, lhs, rhs, .. } = &self.view.body.insts[inst] else { return false };
        let equal = match op {
            CompareOp::Eq => wanted,
            CompareOp::Ne => !wanted,
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
                // What was there before is not what was allocated since, nor what is read from where it was not put.
                let is_fresh = self.start != Start::Entry;
                match base {
                    Some(ValueNode::Param(_)) => is_fresh,
                    Some(ValueNode::Local(_)) => true,
                    Some(ValueNode::Load(_, offset)) => {
                        let is_there = current.holders().any(|c| c.offset.meets(offset));
                        is_fresh && !is_there && current.status == Status::Live
                    }
                    _ => self.view.config.rules.is_on(Rule::OlderValues) && self.is_older(other),
                }
            }
        }
    }

    /// Whether all that a value may be was computed before the object was made, and not since.
    fn is_older(&self, value: Operand) -> bool {
        let (Start::After(call), Some(value)) = (self.start, value.value()) else { return false };
        let body = self.view.body;
        let home = self.view.homes[call];
        let mut later = EntitySet::with_capacity(body.blocks.len());
        let mut work: Vec<BlockId> = body.terminator(home).successors().to_vec();
        while let Some(block) = work.pop() {
            if later.insert(block) {
                work.extend(body.terminator(block).successors());
            }
        }
        let is_before = |inst: InstId| {
            let at = self.view.homes[inst];
            !later.contains(at) && (at != home || inst < call)
        };
        // What realloc() gives may be what it was given.
        let is_given = |leaf: InstId| body.insts[call].call().is_some_and(|data| data.args.contains(&leaf.into()));
        let mut seen: SmallVec<[InstId; 8]> = SmallVec::from_slice(&[value]);
        let mut next = 0;
        while let Some(&leaf) = seen.get(next) {
            next += 1;
            match &body.insts[leaf] {
                Inst::Phi { incoming, .. } if seen.len() <= BOUNDS.choices => {
                    for choice in incoming.iter().filter_map(|(_, choice)| choice.value()) {
                        if !seen.contains(&choice) {
                            seen.push(choice);
                        }
                    }
                }
                _ if leaf == call || is_given(leaf) || !is_before(leaf) => return false,
                _ => {}
            }
        }
        true
    }

    pub(super) fn is_same_offset(&self, a: Operand, b: Operand) -> bool {
        let (a, b) = (self.view.values.of_operand(a), self.view.values.of_operand(b));
        a.is_some() && a == b
    }

    pub(super) fn switch(
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
        if let Some(Constant::Int { value: known, .. }) = self.view.body.constant(value) {
            let target = cases.iter().find(|(case, _)| *case == known).map_or(default, |(_, to)| *to);
            return self.follow_copy(block, target, current, &[]);
        }
        for &(case, target) in cases {
            let facts: FactList = key.map(|k| (k, Relation::Eq(number(case)))).into_iter().collect();
            self.follow_copy(block, target, current, &facts);
        }
        // A few excluded values help; a long list only pushes better facts out.
        let excluded = cases.iter().take(BOUNDS.excluded_values).filter(|_| cases.len() <= BOUNDS.excluded_values);
        let mut facts: FactList =
            key.map(|k| excluded.map(|(case, _)| (k, Relation::Ne(number(*case)))).collect()).unwrap_or_default();
        let apart =
            self.view.apart.cases.iter().filter(|(k, _)| Some(*k) == key && cases.len() > BOUNDS.excluded_values);
        facts.extend(apart.map(|(k, case)| (*k, Relation::Ne(*case))));
        let known = key.and_then(|k| current.facts.iter().find(|f| f.0 == k && matches!(f.1, Relation::Eq(_))));
        let is_case = known.is_some_and(|f| cases.iter().any(|(case, _)| f.1 == Relation::Eq(number(*case))));
        if !is_case {
            self.follow_copy(block, default, current, &facts);
        }
    }

    /// Takes an alternative over an edge: learns what the edge says, renames through phis, drops what is dead. What is left in
    /// its place means nothing.
    pub(super) fn follow_edge(&mut self, from: BlockId, to: BlockId, current: &mut Alternative, facts: &[Fact]) {
        let max = self.view.config.max_facts;
        if !facts.iter().all(|fact| learn(&mut current.facts, *fact, max)) {
            return;
        }
        if current.status == Status::Live && self.leaves_emptied(from, to, current) {
            return;
        }
        let is_back_edge = self.view.is_back_edge(from, to);
        let phi_facts = self.enter_phis(from, to, current);
        if is_back_edge {
            self.forget_loop_values(to, current);
            self.leave_iteration(to, current);
        }
        for (key, relation) in phi_facts {
            current.facts.retain(|f| f.0 != key);
            learn(&mut current.facts, (key, relation), max);
        }
        let liveness = self.view.liveness();
        let (body, homes) = (self.view.body, &self.view.homes);
        current.names.retain(|name| {
            let is_phi_here = homes[*name] == to && matches!(body.insts[*name], Inst::Phi { .. });
            is_phi_here || liveness.is_live_in(to, *name)
        });
        let max = self.view.max_alternatives();
        let changed = merge(&mut self.entries[to.index()], current, max, &self.view.apart, &mut self.flow.cut);
        if changed {
            self.work.insert(self.view.order[to], to);
        }
    }

    /// A loop that frees all there is in what alone holds the object is left: it would have been freed.
    fn leaves_emptied(&self, from: BlockId, to: BlockId, current: &Alternative) -> bool {
        let is_named = current.names.iter().any(|name| self.view.liveness().is_live_in(to, *name));
        let mut holders = current.holders().peekable();
        let is_emptied = !is_named
            && holders.peek().is_some()
            && holders.all(|cell| self.view.freeing_loops.empties(from, to, cell.base));
        self.view.config.rules.applies(Rule::FreeingLoops, is_emptied)
    }

    /// Names and facts pass from the values a phi takes over this edge to the phi itself.
    pub(super) fn enter_phis(&mut self, from: BlockId, to: BlockId, current: &mut Alternative) -> FactList {
        let body = self.view.body;
        let mut facts = FactList::new();
        let mut named: SmallVec<[(InstId, bool); 4]> = SmallVec::new();
        let mut chosen: SmallVec<[(ValueId, Option<ValueId>); 4]> = SmallVec::new();
        for phi in body.blocks[to].insts() {
            let Inst::Phi { incoming, .. } = &body.insts[phi] else { break };
            let Some((_, value)) = incoming.iter().find(|(block, _)| *block == from) else { continue };
            named.push((phi, names(current, *value)));
            if !current.cells.is_empty() && self.view.config.rules.is_on(Rule::ChosenHolders) {
                chosen.extend(self.chosen(phi, *value, current));
            }
            let key = self.view.keys.of_operand(body, &self.view.values, phi.into());
            let Some(key) = key else { continue };
            facts.extend(self.facts_of(*value, key, current));
        }
        for (phi, is_name) in named {
            if is_name { current.add_name(phi) } else { current.remove_name(phi) }
        }
        self.follow_choices(&chosen, current);
        facts
    }

    /// The holder that a phi is on this edge, if it is one. None: the phi is no choice between pointers.
    fn chosen(&self, phi: InstId, value: Operand, current: &Alternative) -> Option<(ValueId, Option<ValueId>)> {
        let values = &self.view.values;
        let choice = values.of_inst(phi)?.base;
        let of = values.of_operand(value)?;
        let leads_there = |cell: &Cell| values.is_reached_from(cell.base, of.base) && !self.is_own(cell.base, current);
        let is_made_here = matches!(values.node(of.base), ValueNode::Opaque(_)) && of.offset == Offset::ZERO;
        let is_holder = is_made_here && of.base != choice && current.cells.iter().any(leads_there);
        (values.node(choice) == ValueNode::Opaque(phi)).then_some((choice, is_holder.then_some(of.base)))
    }

    /// What holds the object is known by the name of the choice as well: `out: free(p);` means the structure that was made on
    /// the way there.
    fn follow_choices(&mut self, chosen: &[(ValueId, Option<ValueId>)], current: &mut Alternative) {
        let before = current.cells.clone();
        for &(choice, _) in chosen {
            current.forget_alias(choice);
        }
        for &(choice, of) in chosen {
            let Some(of) = of else { continue };
            for cell in &before {
                let is_reached = self.view.values.is_reached_from(cell.base, of) && !self.is_own(cell.base, current);
                if is_reached
                    && current.cells.len() < BOUNDS.cells_with_new_names
                    && let Some(base) = self.view.values.moved_to(cell.base, of, choice)
                {
                    let lost = current.lost;
                    current.add_cell(Cell { base, offset: cell.offset });
                    current.lost = lost;
                    current.add_alias(choice, of);
                    self.view.config.rules.note(Rule::ChosenHolders, 1);
                }
            }
        }
    }

    fn is_own(&self, base: ValueId, current: &Alternative) -> bool {
        current.own.is_some_and(|own| self.view.values.is_reached_from(base, own))
    }

    pub(super) fn facts_of(&mut self, value: Operand, key: KeyId, current: &Alternative) -> FactList {
        match value {
            Operand::Const(c) => {
                number_of(self.view.body.consts[c]).map(|n| (key, Relation::Eq(n))).into_iter().collect()
            }
            Operand::Value(_) => {
                let from = self.view.keys.of_operand(self.view.body, &self.view.values, value);
                let known: FactList = current.facts.iter().filter(|f| Some(f.0) == from).map(|f| (key, f.1)).collect();
                if !known.is_empty() {
                    return known;
                }
                match self.view.evident(value) {
                    Some(relation) => FactList::from_slice(&[(key, relation)]),
                    None => match self.truth(value, current) {
                        Some(truth) => FactList::from_slice(&[(key, Relation::Eq(i64::from(truth)))]),
                        None if self.view.has_set_part(value, &current.facts) => {
                            FactList::from_slice(&[(key, Relation::NONZERO)])
                        }
                        None => self.facts_of_sum(value, key, current),
                    },
                }
            }
        }
    }

    /// Whether a comparison that is stored or passed on is known to hold: `*failed = p == NULL`.
    fn truth(&mut self, value: Operand, current: &Alternative) -> Option<bool> {
        let body = self.view.body;
        let mut at = value.value()?;
        let mut is_negated = false;
        loop {
            match body.insts[at] {
                Inst::Cast { op: CastOp::ZeroExtend, value: Operand::Value(inner), .. } => at = inner,
                Inst::Binary { op: BinaryOp::Xor, lhs: Operand::Value(inner), rhs, ty: Type::Int(1), .. }
                    if body.constant(rhs).is_some_and(|c| number_of(c) != Some(0)) =>
                {
                    at = inner;
                    is_negated = !is_negated;
                }
                _ => break,
            }
        }
        if !matches!(body.insts[at], Inst::Compare { .. }) {
            return None;
        }
        let mut may_be = |wanted: bool| {
            if self.asks_for_absence(at.into(), wanted, current) {
                return false;
            }
            let facts = self.view.keys.assume(body, &self.view.values, &current.facts, at.into(), wanted);
            let contradicts =
                |(key, relation): &Fact| current.facts.iter().any(|f| f.0 == *key && f.1.contradicts(*relation));
            facts.is_some_and(|facts| !facts.iter().any(contradicts))
        };
        match (may_be(true), may_be(false)) {
            (true, false) => Some(!is_negated),
            (false, true) => Some(is_negated),
            _ => None,
        }
    }

    /// `n + 1` is one more than what is known of n: it tells "counted something" from "counted nothing".
    pub(super) fn facts_of_sum(&mut self, value: Operand, key: KeyId, current: &Alternative) -> FactList {
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

    /// What holds the object under a name that means something else in the next iteration goes on holding it, out of sight.
    pub(super) fn leave_iteration(&mut self, head: BlockId, current: &mut Alternative) {
        let (homes, order, values) = (&self.view.homes, &self.view.order, &self.view.values);
        // Choices of this iteration mean nothing in the next; those at its head have just been made.
        let passed: SmallVec<[ValueId; 2]> = current.aliases.iter().map(|alias| alias.0).collect();
        for choice in passed {
            if let ValueNode::Opaque(phi) = values.node(choice)
                && homes[phi] != head
                && order[homes[phi]] >= order[head]
            {
                current.forget_alias(choice);
            }
        }
        let start = order[head];
        let is_chosen = |id: ValueId| current.aliases.iter().any(|(choice, _)| values.is_reached_from(id, *choice));
        let in_loop = |cell: &Cell| match values.root(cell.base) {
            ValueNode::Opaque(inst) => order[homes[inst]] >= start && !is_chosen(cell.base),
            _ => false,
        };
        let mut in_iteration: SmallVec<[Cell; 2]> = current.cells.iter().copied().filter(in_loop).collect();
        if let Some(own) = current.own
            && current.status == Status::Live
        {
            // What points back to the object from something that hangs on it holds nothing.
            in_iteration.retain(|cell| {
                let hangs = self.view.hangs_on(cell.base, own);
                current.cells.retain(|c| !hangs || c != cell);
                !hangs
            });
        }
        if current.status == Status::Live && !in_iteration.is_empty() {
            if let [only] = current.cells.as_slice() {
                self.flow.left_in.push(*only);
            }
            let last = self.view.body.blocks[BlockId(0)].first;
            let event = self.history.add(current.event, last, Event::Kept);
            current.settle(Status::Kept, event);
        }
    }

    /// Values computed in a loop are others in its next round.
    pub(super) fn forget_loop_values(&mut self, head: BlockId, current: &mut Alternative) {
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
}
