//! All paths of a function that matter: block after block, with paths that cannot be distinguished any more merged.

use std::collections::BTreeMap;

use caulk_ir::{BlockId, Body, EntityVec, Inst, InstId, Operand};
use caulk_rules::Rule;
use caulk_solver::{Consistency, TermId};
use caulk_summary::Event;
use caulk_useflow::{Candidate, Kind};
use smallvec::SmallVec;

use crate::bounds::BOUNDS;
use crate::call::{States, Wanted};
use crate::effect_cache::Given;
use crate::found::Found;
use crate::frame::Frame;
use crate::machine::Machine;
use crate::misuse::Misuses;
use crate::mstg::{JointState, Transitions};
use crate::refused::Edges;
use crate::replay::Replaying;
use crate::state::{Iteration, State};

/// What is looked for.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Goal<'g> {
    /// Paths on which the object of these candidates is left without an owner.
    Leaks { wanted: Wanted, candidates: &'g [&'g Candidate] },
    /// All that a caller can see.
    Effects,
}

/// The end of a path, for summaries.
pub(crate) struct End {
    pub state: State,
    pub result: Option<TermId>,
}

pub(crate) struct Search<'a, 'g> {
    pub machine: Machine<'a>,
    pub goal: Goal<'g>,
    pub pending: BTreeMap<u32, Vec<State>>,
    /// By candidate.
    pub found: Vec<Option<Found>>,
    pub ends: Vec<End>,
    /// Blocks that lead to the allocation, and to where candidates end.
    pub to_start: EntityVec<BlockId, bool>,
    pub to_end: EntityVec<BlockId, bool>,
    /// What happens to every object, when it is asked for.
    pub transitions: Option<Transitions>,
    /// Which branches could be taken with the object, likewise.
    pub edges: Option<Edges>,
    /// What goes wrong with freed memory, likewise.
    pub misuses: Option<Misuses>,
    pub max_steps: usize,
    /// The budget ran out before all paths were seen.
    pub cut: bool,
    /// It ran out, and the paths that were waiting are brought to an end.
    pub is_draining: bool,
    /// A path is executed alone.
    pub replaying: Option<Replaying>,
    /// Paths that a candidate could have gone but for a contradiction that only the solver's last layer saw.
    pub refuted_by_solver: usize,
    /// Paths on which the object was there at a candidate's end, whatever held it.
    pub reached_end: bool,
    /// Instructions executed before the search parted from another one, which counts them.
    pub counted_before: usize,
}

impl<'a, 'g> Search<'a, 'g> {
    pub(crate) fn new(mut machine: Machine<'a>, goal: Goal<'g>, max_steps: usize) -> Self {
        machine.follows_all = matches!(goal, Goal::Effects);
        let frame = machine.frame;
        let everywhere = || vec![true; frame.body.blocks.len()].into();
        let (to_start, to_end, count) = match goal {
            Goal::Leaks { wanted, candidates } => {
                let ends = ends_of(frame, candidates);
                (frame.leading_to(&[frame.homes[wanted.call]]), frame.leading_to(&ends), candidates.len())
            }
            Goal::Effects => (everywhere(), everywhere(), 0),
        };
        Self {
            machine,
            goal,
            pending: BTreeMap::new(),
            found: vec![None; count],
            ends: Vec::new(),
            to_start,
            to_end,
            transitions: None,
            edges: None,
            misuses: None,
            max_steps,
            cut: false,
            is_draining: false,
            replaying: None,
            refuted_by_solver: 0,
            reached_end: false,
            counted_before: 0,
        }
    }

    pub(crate) fn run(&mut self) {
        self.run_from(&[]);
    }

    /// The states at the function's entry, one for each set of constants that callers are known to give.
    pub(crate) fn starts(&mut self, givens: &[Given]) -> Vec<State> {
        match givens {
            [] => vec![self.machine.start()],
            givens => {
                (0..).zip(givens).map(|(n, given)| State { beginning: n, ..self.machine.start_with(given) }).collect()
            }
        }
    }

    /// `givens`: what callers are known to give, each a start of its own.
    pub(crate) fn run_from(&mut self, givens: &[Given]) {
        self.begin(givens);
        while self.run_next() {}
    }

    pub(crate) fn begin(&mut self, givens: &[Given]) {
        let starts = self.starts(givens);
        self.pending.insert(self.machine.frame.order[Body::ENTRY], starts);
    }

    /// The block that is executed next.
    pub(crate) fn next_block(&self) -> Option<BlockId> {
        let (position, _) = self.pending.first_key_value()?;
        Some(self.machine.frame.blocks_by_order[*position as usize])
    }

    /// Executes a block. Whether the search goes on.
    pub(crate) fn run_next(&mut self) -> bool {
        let Some((position, mut states)) = self.pending.pop_first() else { return false };
        let block = self.machine.frame.blocks_by_order[position as usize];
        // Paths that begin with other constants are all there at the start.
        if self.machine.steps > 0 {
            states = self.merge(block, states);
        }
        self.run_block(block, states);
        !self.is_done() && (!self.cut || self.is_draining)
    }

    /// Whether all candidates were found on paths as plain as are worth looking for: beyond the budget any will do.
    fn is_done(&self) -> bool {
        let is_enough = |found: &Found| found.doubts() == 0 || self.is_over_budget();
        self.is_leak_search() && self.found.iter().all(|found| found.as_ref().is_some_and(is_enough))
    }

    /// Charges the budget. When it is used up, the paths that are waiting still go to the function's end, loops left at once:
    /// a leak next to the allocation is seen, however much the loops behind it cost.
    fn is_spent(&mut self) -> bool {
        if let Some(replaying) = &self.replaying {
            return self.machine.steps > replaying.limit;
        }
        let budgets = if self.is_draining { 3 } else { 2 };
        if self.machine.steps <= budgets * self.max_steps {
            return self.cut && !self.is_draining;
        }
        self.cut = true;
        let is_end = self.is_draining || !self.is_leak_search();
        self.is_draining = !is_end;
        is_end
    }

    /// States kept apart inside a block. Where a callee's effects are wanted, which are none once states were merged by force, there
    /// may be more: those that nothing distinguishes become one at the next block.
    fn max_states_inside(&self) -> usize {
        self.machine.max_states() * if self.machine.follows_all { BOUNDS.ways_of_call } else { 1 }
    }

    pub(crate) fn run_block(&mut self, block: BlockId, mut states: Vec<State>) {
        let frame = self.machine.frame;
        for inst in frame.body.blocks[block].insts() {
            self.machine.steps += states.len();
            // Asked at every instruction: calls in a row, each of which may have several outcomes, multiply.
            if self.is_spent() {
                return;
            }
            match &frame.body.insts[inst] {
                Inst::Phi { .. } => {}
                Inst::Call(_) => {
                    states.iter().for_each(|state| self.check_lost_by_throw(state, inst));
                    states = states.into_iter().flat_map(|s| self.noted_call(s, inst)).collect();
                    if states.len() > self.max_states_inside() {
                        states = if self.replaying.is_some() { self.nearest(states) } else { self.squeeze(states) };
                    }
                }
                Inst::Invoke { normal, unwind, .. } => {
                    let may_throw = self.follows_throw(inst);
                    for state in states {
                        if may_throw {
                            let mut thrown = state.clone();
                            thrown.trail.add(inst, Event::Took(1));
                            self.note_thrown(&mut thrown, inst);
                            self.go(thrown, block, *unwind);
                        }
                        for after in self.noted_call(state, inst) {
                            self.go(after, block, *normal);
                        }
                    }
                    return;
                }
                kind if kind.is_terminator() => {
                    for state in states {
                        self.leave(state, block, inst);
                    }
                    return;
                }
                _ => states.iter_mut().for_each(|s| self.noted_step(s, inst)),
            }
            self.note_passed(inst, &mut states);
            states.retain(|s| self.goes_on(s));
            if states.is_empty() {
                return;
            }
        }
    }

    fn noted_call(&mut self, state: State, inst: InstId) -> States {
        let before = self.observed(&state, None);
        let freeing = self.freed_by(&state, inst);
        // What a callee finds out of a counter it asks as the function itself would.
        let empty = self.empty_beside(&state);
        let mut after = self.call(state, inst);
        after.retain(|state| empty.is_empty() || !self.finds_empty(state, &empty));
        for state in &mut after {
            self.note_freed(&freeing, state, inst);
        }
        for state in &mut after {
            self.note_change(&before, state, inst, None);
        }
        after
    }

    fn noted_step(&mut self, state: &mut State, inst: InstId) {
        let before = self.observed(state, None);
        self.note_use(state, inst);
        self.machine.step(state, inst);
        self.note_change(&before, state, inst, None);
    }

    fn observed(&self, state: &State, result: Option<Option<TermId>>) -> Option<JointState> {
        self.transitions.is_some().then(|| self.machine.object_states(state, result))
    }

    fn note_change(
        &mut self,
        before: &Option<JointState>,
        state: &mut State,
        inst: InstId,
        result: Option<Option<TermId>>,
    ) {
        let Some(before) = before else { return };
        let after = self.machine.object_states(state, result);
        if let Some(transitions) = self.transitions.as_mut().filter(|_| *before != after) {
            transitions.note(before, &after, inst, state.trail.edges(state.noted));
            state.noted = state.trail.len();
        }
    }

    /// Whether a path can still tell anything.
    fn goes_on(&self, state: &State) -> bool {
        !state.facts.is_contradiction()
            && match self.goal {
                Goal::Leaks { .. } => state.tracked.is_none() || self.machine.is_live(state),
                Goal::Effects => true,
            }
    }

    fn note_passed(&self, inst: InstId, states: &mut [State]) {
        let Goal::Leaks { candidates, wanted } = self.goal else { return };
        for (index, _) in candidates.iter().enumerate().take(64).filter(|(_, c)| c.place == inst) {
            for state in states.iter_mut().filter(|s| s.tracked.is_some()) {
                // The call that makes the object passes it only when it is executed again; `call` notes that.
                if inst != wanted.call {
                    state.passed |= 1 << index;
                }
                match self.machine.frame.body.insts[inst] {
                    Inst::Unbind { .. } => state.trail.add(inst, Event::OutOfScope),
                    Inst::Bind { .. } => state.trail.add(inst, Event::Overwritten),
                    _ => {}
                }
            }
        }
    }

    fn call(&mut self, state: State, inst: InstId) -> States {
        let Goal::Leaks { wanted, candidates } = self.goal else { return self.machine.call(state, inst, None) };
        if wanted.call != inst {
            return self.machine.call(state, inst, None);
        }
        if state.tracked.is_some() {
            let is_left = self.is_left_in_loop(&state, inst);
            let passed = places(candidates, inst);
            let mut after = self.machine.call(state, inst, None);
            after.iter_mut().for_each(|state| state.passed |= passed);
            // Where the call takes the object, as `realloc()` does unless it fails, nothing is lost.
            for state in after.iter().filter(|_| is_left) {
                if self.machine.is_live(state) {
                    self.lost(state, inst);
                }
            }
            return after;
        }
        // In a loop the object may also be one of a later round.
        let frame = self.machine.frame;
        let headers = &frame.loops[frame.homes[inst]];
        let later = headers.iter().any(|h| state.iteration(*h) < self.machine.world.config.concrete_iterations);
        let mut states = States::new();
        if later {
            states.extend(self.machine.call(state.clone(), inst, None));
        }
        states.extend(self.machine.call(state, inst, Some(wanted)).into_iter().filter(|s| s.tracked.is_some()));
        states
    }

    // -----------------------------------------------------------------------------------------------------------------
    // Edges

    fn leave(&mut self, mut state: State, block: BlockId, inst: InstId) {
        let frame = self.machine.frame;
        match &frame.body.insts[inst] {
            Inst::Jump { target } => self.go(state, block, *target),
            Inst::Branch { cond, then, other } => {
                let condition = self.machine.operand(&state, *cond);
                let opposite = self.machine.pool.not(condition);
                self.take(state.clone(), block, inst, 0, *then, condition);
                self.take(state, block, inst, 1, *other, opposite);
            }
            Inst::Switch { value, cases, default, .. } => {
                let value = self.machine.operand(&state, *value);
                self.switch(state, block, inst, value, cases, *default);
            }
            Inst::IndirectJump { targets, .. } => {
                for (index, target) in targets.iter().enumerate() {
                    let mut next = state.clone();
                    next.trail.add(inst, Event::Took(index as u32));
                    self.go(next, block, *target);
                }
            }
            Inst::Return { value } => {
                let result = self.machine.returned(&state, *value);
                self.note_passed(inst, std::slice::from_mut(&mut state));
                self.end(state, inst, result);
            }
            Inst::Resume { .. } => self.check_lost_by_throw(&state, inst),
            _ => {}
        }
    }

    fn switch(
        &mut self,
        state: State,
        block: BlockId,
        inst: InstId,
        value: TermId,
        cases: &[(u64, BlockId)],
        default: BlockId,
    ) {
        let width = self.machine.pool.width(value);
        let mut targets: Vec<(u32, BlockId, Vec<TermId>)> = Vec::new();
        let mut others: Vec<TermId> = Vec::new();
        for (index, (case, target)) in cases.iter().enumerate() {
            let constant = self.machine.pool.constant(width, *case);
            let equal = self.machine.pool.eq(value, constant);
            others.push(self.machine.pool.not(equal));
            match targets.iter_mut().find(|(_, known, _)| known == target) {
                Some((.., conditions)) => conditions.push(equal),
                None => targets.push((index as u32, *target, vec![equal])),
            }
        }
        for (index, target, conditions) in targets {
            let condition = self.machine.pool.any(conditions);
            self.take(state.clone(), block, inst, index, target, condition);
        }
        let condition = self.machine.pool.all(others);
        self.take(state, block, inst, cases.len() as u32, default, condition);
    }

    fn take(&mut self, mut state: State, from: BlockId, inst: InstId, index: u32, to: BlockId, condition: TermId) {
        let is_failed_assertion = self.machine.frame.failed_assertions.contains(&(inst, index));
        if self.machine.world.config.rules.applies(Rule::SoftAssertions, is_failed_assertion) {
            return;
        }
        if self.finds_second_match(&mut state, inst, index) {
            return;
        }
        let before = self.observed(&state, None);
        let empty = self.empty_beside(&state);
        let is_possible = self.machine.decided_by_dereference(&state, condition) != Some(false)
            && state.facts.assume(&mut self.machine.pool, condition) == Consistency::Consistent
            && !self.finds_empty(&state, &empty);
        if let Some(edges) = self.edges.as_mut().filter(|_| state.tracked.is_some()) {
            edges.note((inst, index), to, is_possible);
        }
        if is_possible {
            state.trail.add(inst, Event::Took(index));
            // An allocation that turns out to have failed: its object is gone. Without others, that is the state at the entry.
            if self.observed(&state, None).is_some_and(|after| !after.is_empty()) {
                self.note_change(&before, &mut state, inst, None);
            }
            self.go(state, from, to);
        }
    }

    fn go(&mut self, mut state: State, from: BlockId, to: BlockId) {
        let leads_on = if state.tracked.is_some() { self.to_end[to] } else { self.to_start[to] };
        if !leads_on || !self.goes_on(&state) {
            return;
        }
        let frame = self.machine.frame;
        let values: Vec<(InstId, TermId)> = self.phi_values(&state, from, to);
        for (phi, value) in values {
            state.set(phi, value);
        }
        state.iterations.retain(|r| frame.loops[to].contains(&r.header));
        if frame.is_back_edge(from, to) && (self.is_draining || !self.next_iteration(&mut state, to)) {
            return;
        }
        if frame.loops[to].contains(&to) && !frame.is_back_edge(from, to) {
            state.iterations.retain(|r| r.header != to);
            state.iterations.push(Iteration {
                header: to,
                count: 0,
                before: state.memory.clone(),
                matched: SmallVec::new(),
            });
        }
        self.pending.entry(frame.order[to]).or_default().push(state);
    }

    fn phi_values(&mut self, state: &State, from: BlockId, to: BlockId) -> Vec<(InstId, TermId)> {
        let frame = self.machine.frame;
        let mut values = Vec::new();
        for inst in frame.body.blocks[to].insts() {
            let Inst::Phi { incoming, .. } = &frame.body.insts[inst] else { break };
            let operand: Option<Operand> = incoming.iter().find(|(block, _)| *block == from).map(|(_, o)| *o);
            if let Some(operand) = operand {
                values.push((inst, self.machine.operand(state, operand)));
            }
        }
        values
    }

    fn end(&mut self, mut state: State, inst: InstId, result: Option<TermId>) {
        match self.goal {
            Goal::Effects => {
                let before = self.observed(&state, None);
                self.note_change(&before, &mut state, inst, Some(result));
                self.note_dangling(&state, inst, result);
                self.ends.push(End { state, result });
            }
            Goal::Leaks { .. } => {
                let Some(object) = state.tracked.filter(|_| self.machine.is_live(&state)) else { return };
                self.reached_end = true;
                let kept: SmallVec<[TermId; 1]> = result.into_iter().collect();
                if !self.machine.is_held(&state, object, &kept, false) {
                    self.lost(&state, inst);
                }
            }
        }
    }

    pub(crate) fn is_leak_search(&self) -> bool {
        matches!(self.goal, Goal::Leaks { .. })
    }

    pub(crate) fn is_over_budget(&self) -> bool {
        self.machine.steps > self.max_steps
    }
}

/// The candidates that name an instruction as the place of loss, as bits.
fn places(candidates: &[&Candidate], inst: InstId) -> u64 {
    let named = candidates.iter().enumerate().take(64).filter(|(_, c)| c.place == inst);
    named.fold(0, |bits, (index, _)| bits | 1 << index)
}

/// Where paths end that lose the object of these candidates.
pub(crate) fn ends_of(frame: &Frame<'_>, candidates: &[&Candidate]) -> Vec<BlockId> {
    let mut ends: Vec<BlockId> = candidates.iter().map(|c| frame.homes[c.exit]).collect();
    // What was overwritten is lost at every return behind that, of which a candidate names one.
    if candidates.iter().any(|c| c.kind == Kind::Lost && c.place != c.exit) {
        let returns = |block: &BlockId| matches!(frame.body.terminator(*block), Inst::Return { .. });
        ends.extend(frame.body.blocks.keys().filter(returns));
    }
    ends
}
