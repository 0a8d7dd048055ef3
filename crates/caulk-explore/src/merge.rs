//! Paths that meet: those that nothing later can distinguish become one (Melton 4.5, and beyond).

use std::collections::{BTreeMap, BTreeSet};
use std::rc::Rc;

use caulk_ir::{BlockId, Entity, EntitySet, InstId, entity};
use caulk_memory::{Class, Relation};
use caulk_solver::{SymbolId, TermId};

use crate::machine::Machine;
use crate::search::Search;
use crate::state::{Ownership, State};
use crate::symbols::{Key, Origin};

/// What must agree for two paths to become one whatever it costs: where the object is, and who holds it.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct StateKey {
    tracked: Option<TermId>,
    ownerships: Vec<(TermId, Ownership)>,
    cells: Vec<Key>,
    values: Vec<InstId>,
    iterations: Vec<(u32, u32)>,
    passed: u64,
    beginning: u8,
    /// What was freed, where misuse of it is looked for.
    freed: Vec<TermId>,
    /// Arguments that are null on the path, and that other paths take.
    absent: Vec<TermId>,
}

/// What later conditions can still see of a path.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Sight {
    values: Vec<Option<TermId>>,
    cells: Vec<(Key, TermId)>,
    literals: Vec<TermId>,
}

entity!(
    /// A symbol, as the solver numbers them.
    Symbol, "symbol");

fn numbered(symbol: SymbolId) -> Symbol {
    Symbol::from_index(symbol.index())
}

/// How far apart paths are, each from those after it.
struct Distances(Vec<Vec<usize>>);

impl Distances {
    fn new(states: &[State]) -> Self {
        let row = |one: usize| states[one + 1..].iter().map(|other| distance(&states[one], other)).collect();
        Self((0..states.len()).map(row).collect())
    }

    /// The first two of the paths that parted last.
    fn nearest(&self) -> (usize, usize) {
        let rows = self.0.iter().enumerate();
        let pairs = rows.flat_map(|(one, row)| row.iter().enumerate().map(move |(at, far)| (far, one, one + 1 + at)));
        pairs.min_by_key(|(far, ..)| **far).map_or((0, 1), |(_, one, other)| (one, other))
    }

    /// A path became part of one before it: `states` are those that are left.
    fn merged(&mut self, states: &[State], one: usize, other: usize) {
        self.0.remove(other);
        for (index, row) in self.0[..other].iter_mut().enumerate() {
            row.remove(other - index - 1);
        }
        for index in 0..one {
            self.0[index][one - index - 1] = distance(&states[index], &states[one]);
        }
        for (at, far) in self.0[one].iter_mut().enumerate() {
            *far = distance(&states[one], &states[one + 1 + at]);
        }
    }
}

/// How many conditions two paths have met since they parted.
fn distance(one: &State, other: &State) -> usize {
    let (a, b) = (one.facts.literals(), other.facts.literals());
    let common = a.iter().zip(b).take_while(|(x, y)| x == y).count();
    a.len() + b.len() - 2 * common
}

/// The outcome of objects, but for blocks of this function that are gone and that nothing points to any more: they are as if
/// they had never been. `live`: values that are used later; none: all.
fn ownerships_that_matter(machine: &Machine<'_>, state: &State, live: Option<&[InstId]>) -> Vec<(TermId, Ownership)> {
    let points = |value: Option<TermId>, root| value.is_some_and(|value| machine.points_to(value, root));
    let is_named = |root: TermId| match live {
        Some(live) => live.iter().any(|v| points(state.get(*v), root)),
        None => state.env.known().any(|(_, value)| points(Some(value), root)),
    };
    let is_known = |root: TermId| {
        state.memory.iter().any(|(_, c)| c.holder == Some(root) || machine.cell_points_to(c, root)) || is_named(root)
    };
    let is_past = |root: TermId, ownership: Ownership| {
        ownership != Ownership::Live && matches!(machine.origin(root), Origin::Block(_)) && !is_known(root)
    };
    state.ownerships.iter().filter(|(root, ownership)| !is_past(*root, *ownership)).collect()
}

impl Search<'_, '_> {
    /// Paths at the start of a block.
    pub(crate) fn merge(&mut self, block: BlockId, states: Vec<State>) -> Vec<State> {
        if states.len() == 1 {
            return states;
        }
        let taken = if self.is_leak_search() { Vec::new() } else { self.machine.arguments_taken(&states) };
        let mut groups: BTreeMap<StateKey, Vec<State>> = BTreeMap::new();
        for state in states {
            let mut signature = self.signature(&state, Some(block));
            signature.absent = self.machine.absent_arguments(&state, &taken);
            groups.entry(signature).or_default().push(state);
        }
        let limit = if self.is_over_budget() { 1 } else { self.machine.max_states() };
        let each = (limit / groups.len().max(1)).max(1);
        let mut merged = Vec::new();
        for group in groups.into_values() {
            let distinguished = self.merge_alike(block, group);
            merged.extend(self.reduce(distinguished, each));
        }
        merged
    }

    /// Paths that no later condition of this function distinguishes become one; what callees may ask about is forgotten.
    fn merge_alike(&mut self, block: BlockId, states: Vec<State>) -> Vec<State> {
        if states.len() == 1 {
            return states;
        }
        let mut kept: Vec<(Sight, State)> = Vec::new();
        for state in states {
            let sight = self.sight(&state, block);
            match kept.iter_mut().find(|(known, _)| *known == sight) {
                Some((_, known)) => self.blur(known, &state),
                None => kept.push((sight, state)),
            }
        }
        kept.into_iter().map(|(_, state)| state).collect()
    }

    /// Paths inside a block that became too many: only what must agree keeps them apart.
    pub(crate) fn squeeze(&mut self, states: Vec<State>) -> Vec<State> {
        let mut groups: BTreeMap<StateKey, Vec<State>> = BTreeMap::new();
        for state in states {
            let signature = self.signature(&state, None);
            groups.entry(signature).or_default().push(state);
        }
        let each = (self.machine.max_states() / groups.len().max(1)).max(1);
        groups.into_values().flat_map(|group| self.reduce(group, each)).collect()
    }

    /// As many as may be stay as they are: those that parted last become one.
    fn reduce(&mut self, mut states: Vec<State>, limit: usize) -> Vec<State> {
        if states.len() <= limit.max(1) {
            return states;
        }
        let mut distances = Distances::new(&states);
        while states.len() > limit.max(1) {
            let (one, other) = distances.nearest();
            let gone = states.remove(other);
            self.blur(&mut states[one], &gone);
            states[one].is_merged = true;
            distances.merged(&states, one, other);
            // A guarded summary of such paths is none; a drawing of them is better than none.
            self.cut |= !self.is_leak_search() && self.transitions.is_none() && self.misuses.is_none();
        }
        states
    }

    fn signature(&mut self, state: &State, block: Option<BlockId>) -> StateKey {
        let live: &[InstId] = block.map_or(&[], |block| self.machine.frame.live_pointers(block));
        let machine = &self.machine;
        let iterations = state.iterations.iter().map(|r| (r.header.0, r.count)).collect();
        let mut signature = StateKey {
            tracked: state.tracked,
            ownerships: Vec::new(),
            cells: Vec::new(),
            values: Vec::new(),
            iterations,
            passed: state.passed,
            beginning: state.beginning,
            freed: state.watched.freed().collect(),
            absent: Vec::new(),
        };
        let Some(object) = state.tracked else {
            if !self.is_leak_search() {
                signature.ownerships = ownerships_that_matter(machine, state, block.map(|_| live));
            }
            return signature;
        };
        signature.ownerships =
            machine.holders(state, object).into_iter().filter_map(|r| Some((r, state.ownership(r)?))).collect();
        let cells = state.memory.iter().filter(|(_, c)| machine.cell_points_to(c, object));
        signature.cells = cells.map(|(key, _)| key).collect();
        let points = |v: &InstId| state.get(*v).is_some_and(|value| machine.points_to(value, object));
        signature.values = match block {
            Some(_) => live.iter().copied().filter(points).collect(),
            None => state.env.known().map(|(inst, _)| inst).filter(points).collect(),
        };
        signature
    }

    fn sight(&self, state: &State, block: BlockId) -> Sight {
        let machine = &self.machine;
        let frame = machine.frame;
        let values: Vec<Option<TermId>> = frame.seen_ahead(block).iter().map(|v| state.get(*v)).collect();
        let is_seen = |class: Class| frame.loaded_ahead.sees(block, class);
        let all = !self.is_leak_search();
        let cells: Vec<(Key, TermId)> =
            state.memory.iter().filter(|(_, c)| all || is_seen(c.class)).map(|(key, c)| (key, c.value)).collect();
        let mut symbols = EntitySet::new();
        for term in values.iter().flatten().chain(cells.iter().map(|(_, value)| value)) {
            machine.pool.for_each_symbol(*term, &mut |symbol| {
                symbols.insert(numbered(symbol));
            });
        }
        // What a cell held at first can still be read while nothing was written there.
        let is_readable = |symbol: SymbolId| match machine.symbols.origin_of(&machine.pool, symbol) {
            Origin::Initial(key) => {
                machine.symbols.initial_class(key).is_some_and(is_seen) && state.memory.get(key).is_none()
            }
            _ => false,
        };
        let sees = |literal: &TermId| {
            let mut is_any = false;
            machine
                .pool
                .for_each_symbol(*literal, &mut |s| is_any = is_any || symbols.contains(numbered(s)) || is_readable(s));
            is_any
        };
        let mut literals: Vec<TermId> = state.facts.literals().iter().copied().filter(sees).collect();
        literals.sort_unstable();
        Sight { values, cells, literals }
    }

    /// One path for two: what differs becomes unknown.
    fn blur(&mut self, one: &mut State, other: &State) {
        let machine = &self.machine;
        let tracked = one.tracked;
        let holds =
            |value: Option<TermId>| value.zip(tracked).is_some_and(|(value, object)| machine.points_to(value, object));
        let mut differing = one.env.differing(&other.env);
        differing.retain(|inst| !holds(one.get(*inst)) && !holds(other.get(*inst)));
        let mut counted: Vec<TermId> = Vec::new();
        if !differing.is_empty() {
            let numbers = self.counted_on_both(one, other, &differing);
            differing.into_iter().for_each(|inst| one.env.set(inst, None));
            for (inst, number) in numbers {
                one.set(inst, number);
                counted.push(number);
            }
            self.machine.versions += 1;
            one.serial = self.machine.versions;
        }
        counted.extend(self.blur_memory(one, other));
        one.keep_common_matches(other);
        one.is_general |= other.is_general;
        one.facts = one.facts.join(&other.facts, &mut self.machine.pool);
        for number in counted {
            self.machine.assume(one, number, Relation::at_least(1));
        }
        for (root, ownership) in other.ownerships.iter() {
            let differs = one.ownership(root) != Some(ownership);
            if differs && Some(root) != one.tracked {
                one.ownerships.set(root, Ownership::Kept);
            }
        }
        one.failures.retain(|call| other.failures.contains(call));
        if one.dereferenced != other.dereferenced {
            Rc::make_mut(&mut one.dereferenced).retain(|b| other.dereferenced.binary_search(b).is_ok());
        }
        if one.copies != other.copies {
            let known = Rc::make_mut(&mut one.copies);
            known.extend(other.copies.iter().filter(|c| !known.contains(c)).copied().collect::<Vec<_>>());
        }
        if one.watched != other.watched {
            Rc::make_mut(&mut one.watched).join(&other.watched);
        }
    }

    /// What memory differs in becomes unknown. Gives back the unknowns that were above zero on both paths.
    fn blur_memory(&mut self, one: &mut State, other: &State) -> Vec<TermId> {
        let mut counted = Vec::new();
        if one.memory == other.memory {
            return counted;
        }
        let machine = &mut self.machine;
        // Who holds the object on one of the paths, over any number of steps, holds it.
        let mut holders: BTreeSet<TermId> = BTreeSet::new();
        if let Some(object) = one.tracked {
            holders.extend(machine.holders(one, object));
            holders.extend(machine.holders(other, object));
        }
        let merged = one.memory.merged(&other.memory, |key, content, second| {
            if content.points.is_some() && holders.iter().any(|holder| machine.cell_points_to(content, *holder)) {
                return *content;
            }
            let mut value = machine.renewed(content.value);
            if let Some(second) = second
                && machine.world.is_flags(content.class)
            {
                value = machine.shared_bits(content.value, second.value, value);
            }
            if machine.counts_on_both(one, other, key) {
                counted.push(value);
            }
            machine.content(key, value, content.bytes, content.class)
        });
        one.memory = Rc::new(merged);
        self.machine.touch(one);
        counted
    }
}
