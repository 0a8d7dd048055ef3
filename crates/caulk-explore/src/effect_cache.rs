//! The guarded summaries of a program, each worked out when first asked for.
//!
//! A callee that is small enough is executed once, whatever it is given. A larger one is executed for the constants it is
//! given, where it is asked for: a mode or a flag often leaves only a small part of it.

use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use caulk_ir::EntityVec;
use caulk_program::reads::{Read, note};
use caulk_program::{FuncId, Program};
use caulk_useflow::{Analysis, UseflowConfig};
use rustc_hash::FxHashMap;
use smallvec::SmallVec;

use crate::config::ExploreConfig;
use crate::effects::{Effects, work_out};
use crate::kept::{EffectKey, Made};
use crate::order::{Asker, Order};
use crate::world::World;

/// Constants given for parameters, by index.
pub(crate) type Given = SmallVec<[(u32, u64); 2]>;

type OnceMade = OnceLock<Arc<Made>>;

pub(crate) struct EffectCache {
    slots: EntityVec<FuncId, OnceMade>,
    order: Order,
    /// For callees too large for a slot, by function and the number of the constants.
    special: Mutex<FxHashMap<EffectKey, Arc<OnceMade>>>,
    special_order: Order,
    givens: Mutex<Givens>,
    max_callee_depth: u32,
}

/// Sets of constants, by number from 1 on.
#[derive(Debug, Default)]
struct Givens {
    all: Vec<Given>,
    numbers: FxHashMap<Given, u32>,
}

impl Givens {
    fn number(&mut self, given: &Given) -> u32 {
        if let Some(number) = self.numbers.get(given) {
            return *number;
        }
        self.all.push(given.clone());
        let number = self.all.len() as u32;
        self.numbers.insert(given.clone(), number);
        number
    }
}

impl EffectCache {
    /// `givens`: sets of constants that have numbers already.
    pub(crate) fn new(program: &Program, analysis: &Analysis, config: &ExploreConfig, givens: &[Given]) -> Self {
        let is_executed = |function: FuncId, max_size: u32| {
            let has_no_use = analysis.summary(function).is_model || !program.has_body(function);
            !has_no_use && program.body_size(function).1 <= max_size
        };
        let slots = std::iter::repeat_with(OnceLock::new).take(program.functions().len()).collect::<Vec<_>>().into();
        let mut known = Givens::default();
        for given in givens {
            known.number(given);
        }
        Self {
            slots,
            order: Order::new(program, &|f| is_executed(f, config.max_callee_size), config.max_waiting),
            special: Mutex::default(),
            special_order: Order::new(program, &|f| is_executed(f, config.max_special_size), config.max_waiting),
            givens: Mutex::new(known),
            max_callee_depth: config.max_callee_depth,
        }
    }

    /// `asker`: the function whose own guarded summary needs this one.
    pub(crate) fn get(&self, world: &World<'_>, function: FuncId, asker: Option<Asker>) -> Option<Arc<Effects>> {
        if !self.is_asked(function, asker, false) {
            return None;
        }
        note(Read::Effects(function, 0));
        let make = || make(world, (function, 0), &Given::new(), world.config.max_callee_steps);
        self.slots[function].get_or_init(make).effects.clone().flatten()
    }

    /// Whether two functions may call each other.
    pub(crate) fn is_cycle(&self, one: FuncId, other: FuncId) -> bool {
        note(Read::Cycle(one, other));
        self.order.is_cycle(one, other)
    }

    /// The same for one set of constants. `asker` is such a one itself: what is made for all constants never waits for what
    /// is made for some.
    pub(crate) fn get_for(
        &self,
        world: &World<'_>,
        function: FuncId,
        given: Given,
        asker: Option<Asker>,
    ) -> Option<Arc<Effects>> {
        if !self.is_asked(function, asker, true) {
            return None;
        }
        let key = (function, self.givens.lock().unwrap_or_else(PoisonError::into_inner).number(&given));
        note(Read::Effects(key.0, key.1));
        let slot = self.special.lock().unwrap_or_else(PoisonError::into_inner).entry(key).or_default().clone();
        slot.get_or_init(|| make(world, key, &given, world.config.max_special_steps)).effects.clone().flatten()
    }

    fn is_asked(&self, function: FuncId, asker: Option<Asker>, is_special: bool) -> bool {
        let is_known = |read: Read| {
            note(read);
            self.answer(read) == Some(true)
        };
        let may_ask = |asker: Asker| is_known(Read::MayAsk(asker.function, function, asker.in_cycles, is_special));
        is_known(Read::Executed(function, is_special)) && asker.is_none_or(may_ask)
    }

    /// The answer to a question about the order in which guarded summaries are made.
    pub(crate) fn answer(&self, read: Read) -> Option<bool> {
        let order = |is_special: bool| if is_special { &self.special_order } else { &self.order };
        match read {
            Read::Executed(function, is_special) => Some(order(is_special).is_executed(function)),
            Read::MayAsk(function, callee, in_cycles, is_special) => {
                let depth = if is_special { u32::MAX } else { self.max_callee_depth };
                Some(order(is_special).may_ask(Asker { function, in_cycles }, callee, depth))
            }
            Read::Cycle(one, other) => Some(self.order.is_cycle(one, other)),
            _ => None,
        }
    }

    /// A guarded summary that was asked for in this run.
    pub(crate) fn made(&self, key: EffectKey) -> Option<Arc<Made>> {
        match key.1 {
            0 => self.slots.get(key.0)?.get().cloned(),
            _ => self.special.lock().unwrap_or_else(PoisonError::into_inner).get(&key)?.get().cloned(),
        }
    }

    /// Instructions executed for the guarded summaries of each function, whatever constants they are for.
    pub(crate) fn costs(&self) -> Vec<(FuncId, usize)> {
        let usual = self.slots.iter().filter_map(|(function, slot)| Some((function, slot.get()?.steps)));
        let mut costs: Vec<(FuncId, usize)> = usual.collect();
        let special = self.special.lock().unwrap_or_else(PoisonError::into_inner);
        costs.extend(special.iter().filter_map(|(key, slot)| Some((key.0, slot.get()?.steps))));
        costs.sort_unstable();
        costs.dedup_by(|one, sum| {
            let is_same = one.0 == sum.0;
            sum.1 += if is_same { one.1 } else { 0 };
            is_same
        });
        costs
    }

    /// The sets of constants, in the order of their numbers.
    pub(crate) fn givens(&self) -> Vec<Given> {
        self.givens.lock().unwrap_or_else(PoisonError::into_inner).all.clone()
    }
}

fn make(world: &World<'_>, key: EffectKey, given: &Given, max_steps: usize) -> Arc<Made> {
    let work = |world: &World<'_>| {
        let mut steps = 0;
        let effects = work_out(world, key.0, given, max_steps, &mut steps).map(Arc::new);
        (effects, steps)
    };
    match world.keeping {
        None => {
            let (effects, steps) = work(world);
            Arc::new(Made::alone(effects, steps))
        }
        Some(keeping) => keeping.effects(world.effects, key, || {
            let ((effects, steps), counts) = counted_apart(world, work);
            (effects, counts, steps)
        }),
    }
}

/// Does something, and counts what rules do in it by itself.
pub(crate) fn counted_apart<T>(
    world: &World<'_>,
    work: impl FnOnce(&World<'_>) -> T,
) -> (T, Vec<(caulk_rules::Rule, u64)>) {
    let rules = world.config.rules.counting_apart();
    let config = ExploreConfig { rules: rules.clone(), ..world.config.clone() };
    let useflow = UseflowConfig { rules: rules.clone(), ..world.useflow.clone() };
    let result = work(&World { config: &config, useflow: &useflow, ..*world });
    (result, rules.counts().collect())
}
