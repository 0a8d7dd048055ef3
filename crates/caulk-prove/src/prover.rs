//! What all probes share: the program, the models, and what was found out about functions so far.

use std::sync::{Arc, OnceLock};

use caulk_ir::entity::Entity;
use caulk_ir::{InstId, Linkage, Operand};
use caulk_models::{Model, Models};
use caulk_program::{FuncId, Program, Resolution};

use crate::assign::Location;
use crate::config::ProveConfig;
use crate::effects::{Effects, OwnEffects};
use crate::outcome::Reason;
use crate::regions::Regions;
use crate::shape::Shape;
use crate::target::Region;

/// Calls of one function, each with the function that it stands in.
type Calls = Arc<[(FuncId, InstId)]>;

/// A program that questions are asked about.
pub struct World<'a> {
    pub program: &'a Program,
    pub models: &'a Models,
    pub regions: &'a dyn Regions,
    pub config: ProveConfig,
    shapes: Vec<OnceLock<Option<Arc<Shape>>>>,
    effects: Vec<OnceLock<Arc<Effects>>>,
    own_effects: Vec<OnceLock<Arc<OwnEffects>>>,
    /// For each function and each depth that functions around `free` are followed to.
    freed_params: Vec<OnceLock<Arc<[usize]>>>,
    known_callers: Vec<OnceLock<Option<Calls>>>,
    recursive: Vec<bool>,
}

impl<'a> World<'a> {
    pub fn new(program: &'a Program, models: &'a Models, regions: &'a dyn Regions, config: ProveConfig) -> Self {
        let functions = program.functions().len();
        let mut recursive = vec![false; functions];
        for scc in program.sccs() {
            let is_cycle = scc.len() > 1 || scc.iter().any(|f| program.callees(*f).any(|c| c == *f));
            scc.iter().for_each(|f| recursive[f.index()] = is_cycle);
        }
        Self {
            program,
            models,
            regions,
            shapes: (0..functions).map(|_| OnceLock::new()).collect(),
            effects: (0..functions).map(|_| OnceLock::new()).collect(),
            own_effects: (0..functions).map(|_| OnceLock::new()).collect(),
            freed_params: (0..functions * config.max_free_wrappers).map(|_| OnceLock::new()).collect(),
            known_callers: (0..functions).map(|_| OnceLock::new()).collect(),
            config,
            recursive,
        }
    }

    /// A function with a body; None for others.
    pub fn shape(&self, function: FuncId) -> Option<Arc<Shape>> {
        let is_recursive = self.recursive[function.index()];
        let make = || Shape::new(self.program, self.regions, &self.config, function, is_recursive).map(Arc::new);
        self.shapes[function.index()].get_or_init(make).clone()
    }

    /// Whether a function keeps to the language in which its instructions can be followed.
    pub fn is_followed(&self, shape: &Shape) -> bool {
        let is_inside = shape.outside.is_none_or(|outside| self.config.plain_unions && outside.is_plain_union());
        is_inside && !shape.is_too_large
    }

    /// Why a function is not followed.
    pub fn not_followed(&self, shape: &Shape) -> Reason {
        let function = shape.id;
        if shape.is_too_large { Reason::Size { function } } else { Reason::Outside { function } }
    }

    /// Parameters that a function frees and does nothing else with, when functions around `free` are followed to a depth.
    pub fn freed_params_within(&self, function: FuncId, depth: usize) -> Arc<[usize]> {
        let Some(level) = depth.checked_sub(1) else { return Arc::new([]) };
        let at = function.index() * self.config.max_free_wrappers + level;
        self.freed_params[at].get_or_init(|| self.find_freed_params(function, level).into()).clone()
    }

    /// All calls of a function, if they are known: it is private to its unit, and never used but in calls.
    pub fn known_callers(&self, function: FuncId) -> Option<Calls> {
        self.known_callers[function.index()].get_or_init(|| self.find_callers(function).map(Into::into)).clone()
    }

    fn find_callers(&self, function: FuncId) -> Option<Vec<(FuncId, InstId)>> {
        let program = self.program;
        let info = program.function(function);
        if info.declaration.linkage != Linkage::Internal || info.address_taken {
            return None;
        }
        let mut calls = Vec::new();
        for caller in program.callers(function) {
            for site in program.call_sites(caller).iter().filter(|s| program.targets(s).contains(&function)) {
                if site.outcome != Resolution::Resolved {
                    return None;
                }
                calls.push((caller, site.inst));
            }
        }
        Some(calls).filter(|calls| !calls.is_empty())
    }

    pub fn effects(&self, function: FuncId) -> Arc<Effects> {
        self.effects[function.index()].get_or_init(|| Arc::new(self.find_effects(function))).clone()
    }

    pub fn own_effects(&self, function: FuncId) -> Arc<OwnEffects> {
        self.own_effects[function.index()].get_or_init(|| Arc::new(self.find_own_effects(function))).clone()
    }

    pub fn model(&self, function: FuncId) -> Option<&Model> {
        self.models.get(self.program.function(function).symbol)
    }

    /// Whether a function without a body and model is declared to leave memory alone.
    pub fn is_harmless(&self, function: FuncId) -> bool {
        let flags = self.program.function(function).declaration.flags;
        flags.no_memory || flags.read_only
    }

    pub fn target(&self, shape: &Shape, address: Operand) -> Region {
        shape.target(self.program, address)
    }

    pub fn location(&self, shape: &Shape, address: Operand) -> Location {
        Location { address: shape.expr(self.program, address), target: self.target(shape, address) }
    }
}
