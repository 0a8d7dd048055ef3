//! Whether a field that a function overwrites was full before, and what tells so.
//!
//! The function itself rarely shows it. What other writers of the field do tells, what is done to other fields of the same structure
//! ([`crate::sisters`]), how the structure is made, and how often the function may be called.

use std::cell::OnceCell;

use caulk_program::{FuncId, TypeId};
use caulk_rules::Rule;
use rustc_hash::{FxHashMap, FxHashSet};

use crate::bounds::BOUNDS;
use crate::classes::Flows;
use crate::constructed::{Constructed, only_sets_up};
use crate::from_birth::FromBirth;
use crate::ground::Ground;
use crate::holders::{Holder, Holders};
use crate::overwrites::{Filled, Manner, Sign, makes};
use crate::registered::Registered;
use crate::repeated::{is_called_again, is_set_in_loop};
use crate::schedule::Analysis;
use crate::sisters::{Known, Sisters};
use crate::slot_table::SlotTable;
use crate::slots::Slot;
use crate::summarize::World;

pub(crate) struct FullBefore<'a> {
    world: &'a World<'a>,
    analysis: &'a Analysis,
    table: &'a SlotTable,
    flows: &'a Flows,
    /// The functions that free a field before they fill it.
    careful: FxHashMap<Slot, FxHashSet<FuncId>>,
    sisters: Sisters,
    holders: Holders<'a>,
    classes: Constructed,
    from_birth: FromBirth<'a>,
    /// Looks at bodies again, and few programs have a field that it decides about.
    registered: OnceCell<Registered>,
}

impl<'a> FullBefore<'a> {
    pub(crate) fn new(world: &'a World<'a>, analysis: &'a Analysis, table: &'a SlotTable, flows: &'a Flows) -> Self {
        Self {
            world,
            analysis,
            table,
            flows,
            careful: FxHashMap::default(),
            sisters: Sisters::new(world.program),
            holders: Holders::new(world.program, analysis, &world.config.rules),
            classes: Constructed::new(world.program, analysis),
            from_birth: FromBirth::new(analysis),
            registered: OnceCell::new(),
        }
    }

    /// Learns from a function which fields it frees before it fills them. All are learned before one is judged.
    pub(crate) fn learn(&mut self, function: FuncId, filled: &[Filled]) {
        for filled in filled.iter().filter(|filled| filled.manner == Manner::FreesFirst && !filled.is_emptied) {
            self.careful.entry(filled.slot).or_default().insert(function);
            self.sisters.add_careful(function, filled.of.0, filled.of.1);
        }
    }

    /// What tells that a field was full where a function overwrites it.
    pub(crate) fn ground(&mut self, function: FuncId, found: &Filled, holder: Holder, sign: Sign) -> Option<Ground> {
        let rules = &self.world.config.rules;
        let is_first = || holder == Holder::Given(0) && only_sets_up(self.world.program, function);
        match sign {
            Sign::Full => Some(Ground::FoundFull),
            Sign::FailedRenewal => Some(Ground::FailedRenewal),
            Sign::Clears => self.is_cleared_alone(function, found).then_some(Ground::ClearedWhole),
            Sign::SetsUp => None,
            Sign::None | Sign::Asked if rules.applies(Rule::SetUpMethods, is_first()) => None,
            Sign::None | Sign::Asked if rules.applies(Rule::NewStructures, found.is_new) => None,
            Sign::None | Sign::Asked if found.is_emptied => self.by_emptying(function, found, holder),
            Sign::None => self.by_filling(function, found, holder),
            Sign::Asked => self.by_filling(function, found, holder).or_else(|| self.by_question(found)),
        }
    }

    /// Where another function frees the field and the structure lives on, that one may have been called before. What another field has as
    /// well, or the caller gave, is not this field's to free.
    fn is_cleared_alone(&self, function: FuncId, found: &Filled) -> bool {
        let ends = |ty: TypeId| self.analysis.reports[function].slots.ended.contains(&ty);
        let is_alone = !self.table.is_emptied_by_other(&found.slot, function) || ends(found.of.0);
        is_alone && self.flows.is_owner(self.world.program, self.table, found.slot)
    }

    /// For a field that is set to null: the function should have freed it if it frees other fields of the structure, or works on structures
    /// that others have found full.
    fn by_emptying(&mut self, function: FuncId, found: &Filled, holder: Holder) -> Option<Ground> {
        let (program, rules, slot) = (self.world.program, &self.world.config.rules, found.slot);
        let is_never_freed = !self.table.is_freed(&slot) && !self.flows.is_target_ended(program, slot);
        let mut is_used =
            || self.holders.existed(function, holder, slot.0) || self.classes.is_used_later(program, function, slot.0);
        if is_never_freed && is_used() {
            return Some(Ground::NulledForGood);
        }
        // Who calls the function may have freed the field, or taken what it held.
        if self.table.is_emptied_around(program, function, &slot) || self.flows.is_returned(slot) {
            return None;
        }
        if rules.applies(Rule::UnreleasedNulls, found.frees_siblings) {
            return Some(Ground::NulledWithOthers);
        }
        let is_older = self.table.is_freed_by_some(&slot) && self.holders.some_existed(function, holder, slot.0);
        rules.applies(Rule::NulledFields, is_older).then_some(Ground::NulledInUse)
    }

    /// For a field that the function has found full on some path to where it fills it.
    fn by_question(&self, found: &Filled) -> Option<Ground> {
        let is_owned = self.table.is_freed(&found.slot) && !found.asks_sibling;
        self.world.config.rules.applies(Rule::FoundFull, is_owned).then_some(Ground::FoundFull)
    }

    /// For a field that is filled again.
    fn by_filling(&mut self, function: FuncId, found: &Filled, holder: Holder) -> Option<Ground> {
        let (program, rules, slot) = (self.world.program, &self.world.config.rules, found.slot);
        let others = self.careful.get(&slot).map_or(0, |by| by.iter().filter(|f| **f != function).count());
        let is_emptied = self.table.is_emptied(&slot);
        let existed = self.holders.existed(function, holder, slot.0);
        // What callers give may be in its first state, though they found it in memory: one other says little then.
        let enough = if holder == Holder::Existing { 1 } else { BOUNDS.agreeing_setters };
        if others >= enough && !is_emptied && existed && !self.holders.is_given_new(function, holder, slot.0) {
            return Some(Ground::OthersFreeFirst);
        }
        if rules.applies(Rule::NamedSettings, self.is_named_setting(function, found, holder)) {
            return Some(Ground::NamedSetting);
        }
        let by_class = holder == Holder::Given(0) && self.classes.is_full(program, self.table, function, slot);
        if rules.applies(Rule::ConstructedFields, by_class) {
            return Some(Ground::Constructed);
        }
        let free_first = found.is_careful || self.sisters.free_first(function, found.of.0, found.of.1);
        let by_sisters = !found.asks_sibling && free_first && !self.holders.is_given_new(function, holder, slot.0);
        if rules.applies(Rule::SisterFields, by_sisters) {
            return Some(Ground::SistersFreeFirst);
        }
        let is_own = holder == Holder::Given(0) && self.table.is_freed(&slot) && !is_emptied && !found.asks_sibling;
        let by_repetition = is_own && is_called_again(self.world, self.analysis, function, slot);
        if rules.applies(Rule::RepeatedSetters, by_repetition) {
            return Some(Ground::CalledAgain);
        }
        let by_loop = || match holder {
            Holder::Given(index) => is_set_in_loop(self.world, self.analysis, function, index, slot),
            _ => false,
        };
        let is_ended = self.table.is_freed(&slot) && !is_emptied && !found.asks_sibling && !found.is_compared;
        if rules.applies(Rule::LoopedSetters, is_ended && by_loop()) {
            return Some(Ground::CalledAgain);
        }
        let by_agreement = others >= BOUNDS.agreeing_setters
            && !self.table.is_emptied_around(program, function, &slot)
            && self.holders.may_have_existed(function, holder, slot.0);
        if rules.applies(Rule::AgreedSetters, by_agreement) {
            return Some(Ground::AgreedSetters);
        }
        let by_makers = existed && self.from_birth.is_full(self.table, slot);
        rules.applies(Rule::FilledFromBirth, by_makers).then_some(Ground::FilledFromBirth)
    }

    /// Whether a field is filled because some input says so, in a structure that was there: it may say so again.
    fn is_named_setting(&mut self, function: FuncId, found: &Filled, holder: Holder) -> bool {
        let (world, slot) = (self.world, found.slot);
        if !self.table.is_freed(&slot) || found.asks_sibling || found.is_compared {
            return false;
        }
        let registered = || self.registered.get_or_init(|| Registered::new(world.program, world.survey));
        let is_static = matches!(found.of.1, Known::Global(_));
        match holder {
            // Who calls all functions of a table gives them the same structure, be it new or not.
            Holder::Given(_) if registered().is_in_table(function) => !makes(self.analysis, function, slot.0),
            Holder::Given(_) => found.is_named && self.holders.may_have_existed(function, holder, slot.0),
            _ if found.is_named => true,
            _ => {
                is_static
                    && registered().contains(function)
                    && !world.program.callees(function).any(|f| makes(self.analysis, f, slot.0))
            }
        }
    }
}
