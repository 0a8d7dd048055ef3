//! Paths that meet: those that nothing later can tell apart become one (Melton 4.5, and beyond).

use std::collections::{BTreeMap, BTreeSet};

use caulk_ir::{BlockId, InstId, Type};
use caulk_solver::{SymbolId, TermId};

use rustc_hash::FxHashSet;

use crate::frame::Class;
use crate::memory::Content;
use crate::search::Search;
use crate::state::{Fate, State};
use crate::symbols::Key;

/// What must agree for two paths to become one whatever it costs: where the object is, and who holds it.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Signature {
    tracked: Option<TermId>,
    fates: Vec<(TermId, Fate)>,
    cells: Vec<Key>,
    values: Vec<InstId>,
    rounds: Vec<(u32, u32)>,
    passed: u64,
}

/// What later conditions can still see of a path.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Sight {
    values: Vec<Option<TermId>>,
    cells: Vec<(Key, TermId)>,
    literals: Vec<TermId>,
}

impl Search<'_, '_> {
    /// Paths at the start of a block.
    pub fn merge(&mut self, block: BlockId, states: Vec<State>) -> Vec<State> {
        if states.len() == 1 {
            return states;
        }
        let mut groups: BTreeMap<Signature, Vec<(Sight, State)>> = BTreeMap::new();
        let limit = if self.is_over_budget() { 1 } else { self.machine.world.config.max_states };
        for state in states {
            let signature = self.signature(&state, Some(block));
            let sight = self.sight(&state, block);
            let group = groups.entry(signature).or_default();
            match group.iter_mut().find(|(known, _)| *known == sight) {
                // No later condition of this function tells them apart; what callees may ask about is forgotten.
                Some((_, known)) => self.blur(known, &state, Some(block)),
                None => group.push((sight, state)),
            }
        }
        let mut merged = Vec::new();
        let each = (limit / groups.len().max(1)).max(1);
        for group in groups.into_values() {
            let states: Vec<State> = group.into_iter().map(|(_, state)| state).collect();
            merged.extend(self.reduce(states, each, Some(block)));
        }
        merged
    }

    /// Paths inside a block that became too many: only what must agree keeps them apart.
    pub fn squeeze(&mut self, _block: BlockId, states: Vec<State>) -> Vec<State> {
        let mut groups: BTreeMap<Signature, Vec<State>> = BTreeMap::new();
        for state in states {
            groups.entry(self.signature(&state, None)).or_default().push(state);
        }
        let each = (self.machine.world.config.max_states / groups.len().max(1)).max(1);
        groups.into_values().flat_map(|group| self.reduce(group, each, None)).collect()
    }

    /// The first few stay as they are; the rest become one.
    fn reduce(&mut self, mut states: Vec<State>, limit: usize, block: Option<BlockId>) -> Vec<State> {
        while states.len() > limit {
            let Some(last) = states.pop() else { break };
            let Some(one) = states.last_mut() else { break };
            self.blur(one, &last, block);
            one.is_blurred = true;
        }
        states
    }

    fn signature(&self, state: &State, block: Option<BlockId>) -> Signature {
        let machine = &self.machine;
        let rounds = state.rounds.iter().map(|r| (r.header.0, r.count)).collect();
        let mut signature = Signature {
            tracked: state.tracked,
            fates: Vec::new(),
            cells: Vec::new(),
            values: Vec::new(),
            rounds,
            passed: state.passed,
        };
        let Some(object) = state.tracked else {
            if !self.is_leak_search() {
                signature.fates = state.fates.iter().map(|(root, fate)| (*root, *fate)).collect();
            }
            return signature;
        };
        let fates = state.fates.iter().filter(|(root, _)| machine.reaches(state, **root, object));
        signature.fates = fates.map(|(root, fate)| (*root, *fate)).collect();
        let cells = state.memory.iter().filter(|(_, c)| machine.cell_points_to(c, object));
        signature.cells = cells.map(|(key, _)| key).collect();
        let is_live = |v: InstId| block.is_none_or(|b| machine.frame.liveness.is_live_in(b, v));
        let holders = state.env.iter().enumerate().filter_map(|(index, value)| {
            let inst = InstId(index as u32);
            value.filter(|v| is_live(inst) && machine.points_to(*v, object)).map(|_| inst)
        });
        signature.values = holders.collect();
        signature
    }

    fn sight(&self, state: &State, block: BlockId) -> Sight {
        let machine = &self.machine;
        let frame = machine.frame;
        let values: Vec<Option<TermId>> = frame.seen_ahead[block].iter().map(|v| state.get(*v)).collect();
        let ahead: &BTreeSet<Class> = &frame.loaded_ahead[block];
        let is_seen = |class: Class| match class {
            Class::Other => !ahead.is_empty(),
            class => ahead.contains(&class) || ahead.contains(&Class::Other),
        };
        let all = !self.is_leak_search();
        let cells: Vec<(Key, TermId)> =
            state.memory.iter().filter(|(_, c)| all || is_seen(c.class)).map(|(key, c)| (key, c.value)).collect();
        let mut symbols: FxHashSet<SymbolId> = FxHashSet::default();
        for term in values.iter().flatten().chain(cells.iter().map(|(_, value)| value)) {
            symbols.extend(machine.pool.symbols(*term));
        }
        for cell in machine.symbols.initial_cells() {
            if is_seen(cell.class) && state.memory.get(cell.key).is_none() {
                symbols.extend(machine.pool.as_symbol(cell.value));
            }
        }
        let sees = |literal: &TermId| machine.pool.symbols(*literal).iter().any(|s| symbols.contains(s));
        let mut literals: Vec<TermId> = state.facts.literals().iter().copied().filter(sees).collect();
        literals.sort_unstable();
        Sight { values, cells, literals }
    }

    /// One path for two: what differs becomes unknown.
    fn blur(&mut self, one: &mut State, other: &State, block: Option<BlockId>) {
        let frame = self.machine.frame;
        let differing: Vec<usize> = (0..one.env.len()).filter(|i| one.env[*i] != other.env[*i]).collect();
        for index in differing {
            let inst = InstId(index as u32);
            if block.is_some_and(|b| frame.homes[inst] != b && !frame.liveness.is_live_in(b, inst)) {
                continue;
            }
            let holds = |value: Option<TermId>| {
                value.zip(one.tracked).is_some_and(|(value, object)| self.machine.points_to(value, object))
            };
            if holds(one.env[index]) || holds(other.env[index]) {
                continue;
            }
            let ty = frame.body.insts[inst].result_type();
            if ty == Type::Void {
                continue;
            }
            let moment = self.machine.moment(one, inst);
            let serial = self.serial();
            let value = self.machine.unknown(&moment, serial, ty);
            one.set(inst, value);
        }
        self.blur_memory(one, other);
        one.facts = one.facts.join(&other.facts, &mut self.machine.pool);
        for (root, fate) in &other.fates {
            let differs = one.fates.get(root) != Some(fate);
            if differs && Some(*root) != one.tracked {
                one.fates.insert(*root, Fate::Kept);
            }
        }
        one.failed_inside &= other.failed_inside;
    }

    /// A number for an unknown of its own: apart from all that earlier merges made.
    fn serial(&mut self) -> u32 {
        const FIRST: u32 = 1 << 20;
        self.machine.versions += 1;
        FIRST + self.machine.versions
    }

    fn blur_memory(&mut self, one: &mut State, other: &State) {
        let mut differing: BTreeMap<Key, Content> = BTreeMap::new();
        for (key, content) in one.memory.iter() {
            if other.memory.get(key) != Some(content) {
                differing.insert(key, *content);
            }
        }
        for (key, content) in other.memory.iter() {
            if one.memory.get(key).is_none() {
                differing.insert(key, *content);
            }
        }
        let entry = self.machine.frame.body.blocks[caulk_ir::Body::ENTRY].first;
        for (key, content) in differing {
            if one.tracked.is_some_and(|object| self.machine.cell_points_to(&content, object)) {
                continue;
            }
            let width = self.machine.pool.width(content.value);
            let ty = if width == 64 { Type::Ptr } else { Type::Int(u16::from(width)) };
            let moment = self.machine.moment(one, entry);
            let serial = self.serial();
            let value = self.machine.unknown(&moment, serial, ty);
            let content = self.machine.content(key, value, content.bytes, content.class);
            one.memory_mut().set(key, content);
        }
        let kept: Vec<_> = other.memory.zeroed().to_vec();
        one.memory_mut().retain_zeroes(|run| kept.contains(run));
        self.machine.versions += 1;
        one.version = self.machine.versions;
    }
}
