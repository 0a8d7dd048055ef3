//! The guarded summaries of a program, each worked out when first asked for.
//!
//! A callee that is small enough is executed once, whatever it is given. A larger one is executed for the constants it is
//! given, where it is asked for: a mode or a flag often leaves only a small part of it.

use std::sync::{Arc, Mutex, OnceLock};

use caulk_program::{FuncId, Program};
use caulk_useflow::Analysis;
use rustc_hash::FxHashMap;
use smallvec::SmallVec;

use crate::config::ExploreConfig;
use crate::effects::{Effects, work_out};
use crate::order::{Asker, Order};
use crate::world::World;

/// Constants given for parameters, by index.
pub(crate) type Given = SmallVec<[(u32, u64); 2]>;

/// None inside: the function goes too many ways.
type Slot = OnceLock<Option<Arc<Effects>>>;

pub(crate) struct EffectCache {
    slots: Vec<Slot>,
    order: Order,
    /// By function and constants, for callees too large for a slot.
    special: Mutex<FxHashMap<(FuncId, Given), Arc<Slot>>>,
    special_order: Order,
}

impl EffectCache {
    pub(crate) fn new(program: &Program, analysis: &Analysis, config: &ExploreConfig) -> Self {
        let is_executed = |function: FuncId, max_size: u32| {
            let has_no_use = analysis.summary(function).is_model || !program.has_body(function);
            !has_no_use && program.body_size(function).1 <= max_size
        };
        let slots = std::iter::repeat_with(OnceLock::new).take(program.functions().len()).collect();
        Self {
            slots,
            order: Order::new(program, &|f| is_executed(f, config.max_callee_size), config.max_waiting),
            special: Mutex::default(),
            special_order: Order::new(program, &|f| is_executed(f, config.max_special_size), config.max_waiting),
        }
    }

    /// `asker`: the function whose own guarded summary needs this one.
    pub(crate) fn get(&self, world: &World<'_>, function: FuncId, asker: Option<Asker>) -> Option<Arc<Effects>> {
        let may_ask = |asker: Asker| self.order.may_ask(asker, function, world.config.max_callee_depth);
        if !self.order.is_executed(function) || !asker.is_none_or(may_ask) {
            return None;
        }
        let work_out = || work_out(world, function, &Given::new(), world.config.max_callee_steps).map(Arc::new);
        self.slots[function.0 as usize].get_or_init(work_out).clone()
    }

    /// Whether two functions may call each other.
    pub(crate) fn is_cycle(&self, one: FuncId, other: FuncId) -> bool {
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
        let may_ask = |asker: Asker| self.special_order.may_ask(asker, function, u32::MAX);
        if !self.special_order.is_executed(function) || !asker.is_none_or(may_ask) {
            return None;
        }
        let slot = {
            let mut special = self.special.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
            special.entry((function, given.clone())).or_default().clone()
        };
        slot.get_or_init(|| work_out(world, function, &given, world.config.max_special_steps).map(Arc::new)).clone()
    }
}
