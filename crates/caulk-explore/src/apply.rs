//! Guarded summaries at a call: the caller's values in place of the callee's symbols, and only the parts that can be.

use std::sync::Arc;

use caulk_ir::Type;
use caulk_memory::Class;
use caulk_program::FuncId;
use caulk_rules::Rule;
use caulk_solver::{Consistency, SymbolId, TermId};
use caulk_summary::Event;
use rustc_hash::FxHashMap;

use crate::call::{Site, States};
use crate::effects::{ClearedRun, Effects, EffectsPart};
use crate::frame::{type_of, width_of};
use crate::machine::Machine;
use crate::refused::Edge;
use crate::state::{Ownership, State};
use crate::symbols::{Key, Origin, Part, Symbols};
use crate::written::Forgotten;

/// The callee's symbols in the caller's terms.
struct Translation<'t> {
    effects: &'t Effects,
    known: FxHashMap<SymbolId, TermId>,
}

/// A part that can be, and what it does to the object.
struct PossiblePart<'e> {
    /// How the callee goes, for the reader.
    inside: (FuncId, &'e [Edge]),
    state: State,
    /// Conditions the caller can see: on what it gave, and on what it gets back.
    visible: Vec<TermId>,
    is_taken: bool,
    /// Nothing holds the object any more that held it before.
    is_lost: bool,
}

impl Machine<'_> {
    /// All outcomes of a call, by the guarded summaries of the functions it may reach.
    pub(crate) fn apply_effects(
        &mut self,
        state: State,
        site: &Site<'_>,
        effects: &[(FuncId, Arc<Effects>)],
    ) -> States {
        let mut outcomes: Vec<PossiblePart<'_>> = Vec::new();
        for (target, effects) in effects {
            self.opaque.extend(&effects.opaque);
            let mut forgotten = None;
            for (number, effect) in effects.parts.iter().enumerate() {
                let part = (effect, &mut forgotten);
                let Some(mut outcome) = self.apply_part(state.clone(), site, (*target, effects), part) else {
                    continue;
                };
                if effects.parts.len() > 1 {
                    outcome.state.trail.add(site.inst, Event::Part(*target, number as u32));
                }
                outcomes.push(outcome);
            }
        }
        let was_live = self.is_live(&state);
        let mut out = States::new();
        for index in 0..outcomes.len() {
            // That an allocation fails inside depends on nothing that the caller has done.
            let fails = outcomes[index].state.failures.len() > state.failures.len();
            let rules = &self.world.config.rules;
            let hidden =
                was_live && !fails && !outcomes[index].is_taken && self.is_indistinct(&state, &outcomes, index);
            let hidden = rules.applies(Rule::IndistinctOutcomes, hidden);
            // Nor does what the callee loses count where, for all the caller can see, it could as well be left in its place.
            let hidden = hidden || {
                let is_left = outcomes[index].is_lost && !fails && self.may_be_left(&state, &outcomes, index);
                rules.applies(Rule::LeftInPlace, is_left)
            };
            let hidden = hidden || {
                let is_left = was_live
                    && !fails
                    && !outcomes[index].is_taken
                    && self.is_left_as_empty(&state, site, &outcomes, index);
                rules.applies(Rule::CountedReleases, is_left)
            };
            let hidden = hidden || {
                let is_precaution = outcomes.len() > 1 && self.is_left_without_holder(&state, site, &outcomes, index);
                rules.applies(Rule::MissingHolders, is_precaution)
            };
            if !hidden {
                let mut after = outcomes[index].state.clone();
                let is_left = was_live && !outcomes[index].is_taken && outcomes.iter().any(|w| w.is_taken);
                // Where the callee decides what happens, the reader wants to know how.
                if is_left || after.failures.len() > state.failures.len() {
                    let (target, edges) = outcomes[index].inside;
                    edges.iter().for_each(|edge| after.trail.add(site.inst, Event::Inside(target, edge.0, edge.1)));
                }
                if is_left {
                    after.trail.add(site.inst, Event::NotTaken);
                }
                out.push(after);
            }
        }
        out
    }

    /// Whether an outcome that leaves the object could, for all the caller can see, as well be one that takes it.
    fn is_indistinct(&mut self, before: &State, outcomes: &[PossiblePart<'_>], index: usize) -> bool {
        let taking: Vec<usize> = (0..outcomes.len()).filter(|i| outcomes[*i].is_taken).collect();
        self.may_be_one_of(before, outcomes, index, taking)
    }

    /// Whether an outcome that loses the object could as well be one that leaves it where it is.
    fn may_be_left(&mut self, before: &State, outcomes: &[PossiblePart<'_>], index: usize) -> bool {
        let leaving: Vec<usize> = (0..outcomes.len()).filter(|i| !outcomes[*i].is_lost).collect();
        self.may_be_one_of(before, outcomes, index, leaving)
    }

    /// Whether an outcome leaves the object only because a count is zero that nothing says is.
    fn is_left_as_empty(
        &mut self,
        before: &State,
        site: &Site<'_>,
        outcomes: &[PossiblePart<'_>],
        index: usize,
    ) -> bool {
        let target = outcomes[index].inside.0;
        let freeing = outcomes.iter().filter(|outcome| outcome.is_taken && outcome.inside.0 == target);
        freeing
            .into_iter()
            .any(|outcome| self.rests_on_empty_count(before, site, target, &outcomes[index].state, &outcome.state))
    }

    /// Whether an outcome leaves an object only because it found no place for it.
    fn is_left_without_holder(
        &mut self,
        before: &State,
        site: &Site<'_>,
        outcomes: &[PossiblePart<'_>],
        index: usize,
    ) -> bool {
        let (target, left) = (outcomes[index].inside.0, &outcomes[index].state);
        let null = self.found_null(before, site, left);
        let mut others =
            outcomes.iter().enumerate().filter(|(other, outcome)| *other != index && outcome.inside.0 == target);
        !null.is_empty()
            && others.any(|(_, outcome)| self.rests_on_missing_holder(before, site, &null, left, &outcome.state))
    }

    /// Whether what the caller can see of one outcome may hold together with what it can see of one of the others.
    fn may_be_one_of(
        &mut self,
        before: &State,
        outcomes: &[PossiblePart<'_>],
        index: usize,
        others: Vec<usize>,
    ) -> bool {
        others.into_iter().any(|other| {
            let mut facts = before.facts.clone();
            let conditions = outcomes[index].visible.iter().chain(&outcomes[other].visible);
            conditions
                .copied()
                .collect::<Vec<_>>()
                .into_iter()
                .all(|c| facts.assume(&mut self.pool, c) == Consistency::Consistent)
        })
    }

    fn apply_part<'e>(
        &mut self,
        mut state: State,
        site: &Site<'_>,
        (target, effects): (FuncId, &Effects),
        (effect, forgotten): (&'e EffectsPart, &mut Option<Forgotten>),
    ) -> Option<PossiblePart<'e>> {
        let mut translation = Translation { effects, known: FxHashMap::default() };
        let before = state.clone();
        let told: Vec<SymbolId> = effect.result.map(|r| effects.pool.symbols(r)).unwrap_or_default();
        let mut visible = Vec::new();
        for &literal in &effect.literals {
            let condition = self.translate(&before, site, &mut translation, literal);
            let condition = self.evident(condition);
            if self.decided_by_dereference(&state, condition) == Some(false) {
                return None;
            }
            if state.facts.assume(&mut self.pool, condition) == Consistency::Contradiction {
                return None;
            }
            let symbols = effects.pool.symbols(literal);
            if symbols.iter().all(|s| told.contains(s) || self.is_visible(&before, &translation, *s)) {
                visible.push(condition);
            }
        }
        let result = self.translated_result(&before, site, &mut translation, effect, &mut visible);
        let ownerships: Vec<(TermId, Ownership)> = effect
            .ownerships
            .iter()
            .map(|(root, ownership)| (self.translate(&before, site, &mut translation, *root), *ownership))
            .collect();
        let mut writes: Vec<(TermId, TermId, u64, Class)> = Vec::new();
        for (key, content) in &effect.writes {
            let base = self.translate(&before, site, &mut translation, key.base);
            let address = self.pool.offset(base, key.offset, true);
            let value = self.translate(&before, site, &mut translation, content.value);
            writes.push((address, value, content.bytes, content.class));
        }
        let mut copies: Vec<(TermId, TermId, TermId)> = Vec::new();
        for (to, from, bytes) in &effect.copies {
            let [to, from] = [to, from].map(|key| {
                let base = self.translate(&before, site, &mut translation, key.base);
                self.pool.offset(base, key.offset, true)
            });
            copies.push((to, from, self.translate(&before, site, &mut translation, *bytes)));
        }
        let mut zeroes: Vec<ClearedRun> = Vec::new();
        for run in &effect.zeroes {
            zeroes.push(ClearedRun { base: self.translate(&before, site, &mut translation, run.base), ..*run });
        }
        let mut filled: Vec<(TermId, bool)> = Vec::new();
        for (key, inside) in &effects.filled {
            let base = self.translate(&before, site, &mut translation, key.base);
            filled.push((self.pool.offset(base, key.offset, true), *inside));
        }
        self.forget_written_by(&mut state, site, &effects.opaque, forgotten);
        for place in filled {
            self.fill_place(&mut state, site, place);
        }
        for run in zeroes {
            self.clear_run(&mut state, site, run);
        }
        let was_live = self.is_live(&state);
        for (address, ownership) in ownerships {
            self.meet_ownership(&mut state, site, address, ownership);
        }
        for (to, from, bytes) in copies {
            self.copy(&mut state, to, from, bytes, site.inst);
        }
        let is_nowhere = |machine: &Self, address: TermId| {
            machine.root(address).is_none_or(|root| machine.origin(root) == Origin::Unknown)
        };
        if writes.iter().any(|(address, ..)| is_nowhere(self, *address)) {
            self.forget_exposed(&mut state, site);
        }
        for (address, value, _, class) in writes {
            if self.root(address).is_none() {
                continue;
            }
            let width = self.pool.width(value);
            let ty = type_of(width);
            self.store(&mut state, address, value, ty, class, site.inst);
        }
        if !effects.opaque.is_empty() {
            self.touch(&mut state);
        }
        if let Some(result) = result {
            if self.origin(result) == Origin::Block(site.inst) && self.fails_for_memory(site.inst) {
                state.allocations.push((site.inst, result));
            }
            state.set(site.inst, result);
        }
        if effect.failed {
            state.failures.push(site.inst);
        }
        if was_live && !self.is_live(&state) {
            self.follow_renewed(&before, &mut state, site);
        }
        let is_taken = was_live && !self.is_live(&state);
        let is_lost = was_live && !is_taken && self.is_lost_by_callee(&before, &state);
        Some(PossiblePart { inside: (target, &effect.edges), state, visible, is_taken, is_lost })
    }

    /// What the callee cleared.
    fn clear_run(&mut self, state: &mut State, site: &Site<'_>, run: ClearedRun) {
        let address = self.pool.offset(run.base, run.from, true);
        let bytes = run.to.saturating_sub(run.from) as u64;
        if run.is_still_zero {
            let (zero, bytes) = (self.pool.constant(8, 0), self.pool.constant(64, bytes));
            self.fill(state, address, zero, bytes, site.inst);
        } else {
            self.forget_range(state, address, Some(bytes), site.inst);
        }
    }

    /// Whether memory held the object before the call, and nothing in memory does so after it.
    fn is_lost_by_callee(&self, before: &State, after: &State) -> bool {
        let Some(object) = before.tracked.filter(|object| after.tracked == Some(*object)) else { return false };
        let is_held = |state: &State| state.memory.iter().any(|(_, c)| self.cell_points_to(c, object));
        is_held(before) && !is_held(after)
    }

    /// A callee freed the object and put a block of its own into the same place: the search goes on with that one.
    fn follow_renewed(&mut self, before: &State, state: &mut State, site: &Site<'_>) {
        let Some(object) = state.tracked else { return };
        let held: Vec<Key> =
            before.memory.iter().filter(|(_, c)| self.cell_points_to(c, object)).map(|(key, _)| key).collect();
        let new = held.into_iter().find_map(|key| {
            let root = state.memory.get(key)?.points?;
            (root != object && self.origin(root) == Origin::Block(site.inst)).then_some(root)
        });
        if let Some(new) = new {
            state.tracked = Some(new);
            state.ownerships.set(new, Ownership::Live);
        }
    }

    fn translated_result(
        &mut self,
        before: &State,
        site: &Site<'_>,
        translation: &mut Translation<'_>,
        effect: &EffectsPart,
        visible: &mut Vec<TermId>,
    ) -> Option<TermId> {
        if site.call.ret == Type::Void {
            return None;
        }
        let width = width_of(site.call.ret).unwrap_or(64);
        let Some(result) = effect.result else {
            return Some(self.unknown(&site.program_point, Part::Value, site.call.ret));
        };
        let result = self.translate(before, site, translation, result);
        let result = self.evident(result);
        let result = self.resized(result, width);
        // The same unknown for all parts: a test of it says which part it was.
        let told =
            self.symbols.at(&mut self.pool, site.program_point.clone(), Part::Told, width, Origin::Unknown, false);
        visible.push(self.pool.eq(told, result));
        Some(result)
    }

    fn resized(&mut self, term: TermId, width: u8) -> TermId {
        let own = self.pool.width(term);
        match own {
            own if own > width => self.pool.trunc(term, width),
            own if own < width => self.pool.zext(term, width),
            _ => term,
        }
    }

    /// An object the callee freed, kept or made.
    fn meet_ownership(&mut self, state: &mut State, site: &Site<'_>, address: TermId, ownership: Ownership) {
        let Some(root) = self.root(address) else { return };
        match (state.tracked, ownership) {
            (_, Ownership::Live) => state.ownerships.set_first(root, Ownership::Live),
            (None, ownership) => state.ownerships.set(root, ownership),
            (Some(object), Ownership::Kept) => {
                if matches!(self.origin(root), Origin::Block(_)) && root != object {
                    state.ownerships.set(root, Ownership::Kept);
                }
                if self.leads_to(state, address, object) {
                    self.settle(state, Ownership::Kept);
                }
            }
            (Some(object), Ownership::Freed) if root == object => self.settle(state, Ownership::Freed),
            (Some(object), Ownership::Freed) => {
                if self.leads_to(state, address, object) {
                    state.trail.add(site.inst, Event::FreedWithHolder);
                }
                state.ownerships.set(root, Ownership::Freed);
            }
        }
    }

    /// Whether the caller knows what a symbol of the callee stands for: an argument, or memory it knows something of.
    fn is_visible(&self, before: &State, translation: &Translation<'_>, symbol: SymbolId) -> bool {
        let effects = translation.effects;
        match effects.symbols.origin_of(&effects.pool, symbol) {
            Origin::Param(_) | Origin::Global(_) | Origin::Function(_) => true,
            Origin::Initial(_) => translation.known.get(&symbol).is_some_and(|term| {
                let is_own =
                    matches!(self.symbols.origin(&self.pool, *term), Some(Origin::Initial(_) | Origin::Unknown));
                !is_own || before.facts.value(&self.pool, *term).is_some()
            }),
            _ => false,
        }
    }

    fn translate(
        &mut self,
        before: &State,
        site: &Site<'_>,
        translation: &mut Translation<'_>,
        term: TermId,
    ) -> TermId {
        let effects = translation.effects;
        // Most terms are one symbol or one number.
        if let Some(number) = effects.pool.as_const(term) {
            return self.pool.constant(effects.pool.width(term), number);
        }
        if let Some(symbol) = effects.pool.as_symbol(term) {
            self.translate_symbol(before, site, translation, symbol);
            return translation.known[&symbol];
        }
        for symbol in effects.pool.symbols(term) {
            self.translate_symbol(before, site, translation, symbol);
        }
        let known = &translation.known;
        let mut memo = FxHashMap::default();
        let copied = self.pool.copy_term(&effects.pool, term, &mut |_, symbol| known.get(&symbol).copied(), &mut memo);
        match copied {
            Some(copied) => copied,
            None => self.unknown(&site.program_point, Part::Untold, Type::Ptr),
        }
    }

    fn translate_symbol(
        &mut self,
        before: &State,
        site: &Site<'_>,
        translation: &mut Translation<'_>,
        symbol: SymbolId,
    ) {
        if translation.known.contains_key(&symbol) {
            return;
        }
        let effects = translation.effects;
        let callee: &Symbols = &effects.symbols;
        let term = effects.pool.symbol_term(symbol);
        let width = effects.pool.width(term);
        let ty = type_of(width);
        let number = symbol.index() as u32;
        let part = Part::Callee(number);
        let value = match callee.origin_of(&effects.pool, symbol) {
            Origin::Param(index) => match site.args.get(index as usize) {
                Some(arg) => self.resized(*arg, width),
                None => self.unknown(&site.program_point, part, ty),
            },
            Origin::Initial(key) => {
                let base = self.translate(before, site, translation, key.base);
                let address = self.pool.offset(base, key.offset, true);
                let class = callee.initial_class(key).unwrap_or(Class::Other);
                let loaded = self.load(before, address, ty, class, &site.program_point_of(number));
                self.resized(loaded, width)
            }
            Origin::Global(global) => self.symbols.global(&mut self.pool, global),
            Origin::Function(function) => self.symbols.function(&mut self.pool, function),
            Origin::Block(_) => {
                self.symbols.at(&mut self.pool, site.program_point.clone(), part, width, Origin::Block(site.inst), true)
            }
            Origin::Derived(of) => {
                let of = self.translate(before, site, translation, of);
                let root = self.root(of).unwrap_or(of);
                let derived = self.derived(&site.program_point, part, root, Type::Ptr);
                self.resized(derived, width)
            }
            Origin::Result(_) | Origin::Local(_) | Origin::Unknown => {
                let origin = Origin::Result(site.inst);
                let value =
                    self.symbols.at(&mut self.pool, site.program_point.clone(), part, width, origin, width == 64);
                if self.world.config.wants_inputs {
                    self.symbols.note_inner(value);
                }
                value
            }
        };
        translation.known.insert(symbol, value);
    }
}
