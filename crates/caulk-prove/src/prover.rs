//! What all probes share: the program, the models, and what was found out about functions so far.

use std::sync::{Arc, OnceLock};

use caulk_ir::Operand;
use caulk_ir::entity::Entity;
use caulk_models::{Model, Models};
use caulk_program::{FuncId, Program};

use crate::assign::Location;
use crate::config::ProveConfig;
use crate::effects::{Effects, OwnEffects};
use crate::regions::Regions;
use crate::shape::Shape;
use crate::target::Target;

/// A program that questions are asked about.
pub struct World<'a> {
    pub program: &'a Program,
    pub models: &'a Models,
    pub regions: &'a dyn Regions,
    pub config: ProveConfig,
    shapes: Vec<OnceLock<Option<Arc<Shape>>>>,
    effects: Vec<OnceLock<Arc<Effects>>>,
    own_effects: Vec<OnceLock<Arc<OwnEffects>>>,
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
            config,
            shapes: (0..functions).map(|_| OnceLock::new()).collect(),
            effects: (0..functions).map(|_| OnceLock::new()).collect(),
            own_effects: (0..functions).map(|_| OnceLock::new()).collect(),
            recursive,
        }
    }

    /// A function with a body; None for others.
    pub fn shape(&self, function: FuncId) -> Option<Arc<Shape>> {
        let make = || Shape::new(self.program, self.regions, function, self.recursive[function.index()]).map(Arc::new);
        self.shapes[function.index()].get_or_init(make).clone()
    }

    /// Whether a function keeps to the language in which its instructions can be followed.
    pub fn is_followed(&self, shape: &Shape) -> bool {
        shape.outside.is_none_or(|outside| self.config.plain_unions && outside.is_plain_union())
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

    pub fn target(&self, shape: &Shape, address: Operand) -> Target {
        shape.target(self.program, address)
    }

    pub fn location(&self, shape: &Shape, address: Operand) -> Location {
        Location { address: shape.expr(self.program, address), target: self.target(shape, address) }
    }
}
