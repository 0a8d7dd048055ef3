//! What a call may write, free or make, without following it (the paper's MOD information).

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use caulk_ir::entity::Entity;
use caulk_ir::{Callee, Inst, InstId, Operand, Type};
use caulk_models::{EffectKind, ModelPath, ModelRoot};
use caulk_program::{CallKind, FuncId, Resolution};

use crate::prover::World;
use crate::shape::Shape;
use crate::target::{PointsTo, Region};

/// Everything a function may do to memory, with all it calls.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Effects {
    /// Memory that may be written, or freed while it holds references. Nothing of the function's own.
    pub written: BTreeSet<Region>,
    /// Calls unknown code.
    pub is_unknown: bool,
    pub frees: bool,
    pub allocates: bool,
    /// Writes pointers, not only numbers.
    pub writes_pointers: bool,
}

/// What a function does itself, and whom it calls.
#[derive(Debug)]
pub struct OwnEffects {
    pub effects: Effects,
    pub callees: Vec<FuncId>,
}

impl Effects {
    /// Nothing that a fact about a cell could depend on, besides truths about numbers in memory.
    pub fn leaves_references(&self) -> bool {
        !self.is_unknown && !self.frees && !self.allocates && !self.writes_pointers
    }

    fn add(&mut self, other: &Effects) {
        self.written.extend(other.written.iter().copied());
        self.is_unknown |= other.is_unknown;
        self.frees |= other.frees;
        self.allocates |= other.allocates;
        self.writes_pointers |= other.writes_pointers;
    }
}

impl World<'_> {
    /// What a function and all it calls may do.
    pub fn find_effects(&self, function: FuncId) -> Effects {
        let mut all = Effects::default();
        let mut seen = BTreeSet::from([function]);
        let mut todo = vec![function];
        while let Some(next) = todo.pop() {
            if seen.len() > self.config.max_written_functions {
                all.is_unknown = true;
                break;
            }
            let own = self.own_effects(next);
            all.add(&own.effects);
            if all.is_unknown {
                break; // There is no more to add.
            }
            todo.extend(own.callees.iter().copied().filter(|c| seen.insert(*c)));
        }
        if all.written.len() > self.config.max_written_regions {
            all.written = BTreeSet::from([Region::Wild(PointsTo::Any)]);
        }
        all
    }

    pub fn find_own_effects(&self, function: FuncId) -> OwnEffects {
        let Some(shape) = self.shape(function) else {
            let effects = Effects { is_unknown: true, ..Effects::default() };
            return OwnEffects { effects, callees: Vec::new() };
        };
        let mut effects = Effects::default();
        let mut callees = Vec::new();
        for (id, inst) in shape.body.insts.iter() {
            match inst {
                Inst::Store { ty, address, .. } => {
                    // Several values at once may be pointers, wherever they are in it.
                    let is_several = matches!(ty, Type::Aggregate(_) | Type::Vector(_));
                    let one = self.target(&shape, *address);
                    effects.write(if is_several { Region::Wild(PointsTo::Any) } else { one });
                    let is_shared = self.regions.is_shared_with_numbers(one);
                    effects.writes_pointers |= *ty == Type::Ptr || is_several || is_shared;
                }
                Inst::Copy { dst, .. } | Inst::Fill { dst, .. } => {
                    self.overwritten(&shape, *dst).into_iter().for_each(|t| effects.write(t));
                    effects.writes_pointers = true;
                }
                Inst::Call(_) | Inst::Invoke { .. } => self.call_effects(&shape, id, &mut effects, &mut callees),
                _ => {}
            }
        }
        OwnEffects { effects, callees }
    }

    fn call_effects(&self, shape: &Shape, inst: InstId, effects: &mut Effects, callees: &mut Vec<FuncId>) {
        let site = self.program.call_site(shape.id, inst);
        let known = site.filter(|s| s.outcome == Resolution::Resolved && s.kind != CallKind::Assembly);
        let targets = known.map_or(&[][..], |s| self.program.targets(s));
        if targets.is_empty() || targets.len() > self.config.max_targets {
            effects.is_unknown = true;
            return;
        }
        for target in targets {
            if self.program.has_body(*target) {
                callees.push(*target);
            } else {
                self.library_effects(shape, inst, *target, effects);
            }
        }
    }

    fn library_effects(&self, shape: &Shape, inst: InstId, target: FuncId, effects: &mut Effects) {
        let Some(call) = shape.call(inst) else { return };
        if call.flags.no_memory || call.flags.read_only || self.is_harmless(target) {
            return;
        }
        let Some(model) = self.model(target) else {
            effects.is_unknown = true;
            return;
        };
        let arg = |place: &ModelPath| match place.root {
            ModelRoot::Param(index) => call.args.get(usize::from(index)).copied(),
            ModelRoot::Ret => None,
        };
        for effect in &model.effects {
            match &effect.kind {
                EffectKind::Free { what, .. } => {
                    effects.frees = true;
                    let freed = arg(what).filter(|_| what.derefs == 0);
                    freed
                        .map_or(vec![Region::Wild(PointsTo::Any)], |a| self.freed_targets(shape, a))
                        .into_iter()
                        .for_each(|t| effects.write(t));
                }
                EffectKind::Resize { .. } => {
                    effects.frees = true;
                    effects.allocates = true;
                }
                EffectKind::Alloc { into, .. } => {
                    effects.allocates = true;
                    if into.derefs > 0 {
                        effects.write(Region::Wild(PointsTo::Any));
                        effects.writes_pointers = true;
                    }
                }
                EffectKind::Write { what } => {
                    let written = arg(what).map_or(Vec::new(), |a| self.data_targets(shape, a));
                    effects.writes_pointers |= !written.is_empty();
                    written.into_iter().for_each(|t| effects.write(t));
                }
                EffectKind::Alias { into, .. } if into.derefs == 0 => {}
                EffectKind::Keep { .. } | EffectKind::Acquire { .. } | EffectKind::Release { .. } => {
                    effects.frees = true;
                }
                EffectKind::Alias { .. } | EffectKind::Store { .. } | EffectKind::Copy { .. } => {
                    effects.write(Region::Wild(PointsTo::Any));
                    effects.writes_pointers = true;
                }
                EffectKind::Call { .. } => effects.is_unknown = true,
            }
        }
    }

    /// Memory that is overwritten with bytes.
    fn overwritten(&self, shape: &Shape, address: Operand) -> Vec<Region> {
        match shape.parts(self.program, self.regions, address, None) {
            Some(parts) => parts.into_iter().map(|p| p.target).collect(),
            None => vec![Region::Wild(PointsTo::Any)],
        }
    }

    /// Memory that a library function fills with data. Where no structure is declared there are no pointers.
    pub fn data_targets(&self, shape: &Shape, address: Operand) -> Vec<Region> {
        let parts = shape.parts(self.program, self.regions, address, None).unwrap_or_default();
        parts.into_iter().map(|p| p.target).collect()
    }

    /// Memory that goes when what an operand points to is freed.
    pub fn freed_targets(&self, shape: &Shape, freed: Operand) -> Vec<Region> {
        match shape.class(self.program, freed) {
            PointsTo::To { depth: 1, ty } => match self.regions.pointer_fields(ty) {
                Some(fields) => fields.iter().map(|f| f.target).collect(),
                None => vec![Region::Wild(PointsTo::Any)],
            },
            PointsTo::To { depth, ty } => vec![Region::Wild(PointsTo::To { depth: depth - 1, ty })],
            PointsTo::Any if self.is_passed_on(shape, freed) => Vec::new(),
            PointsTo::Any => vec![Region::Wild(PointsTo::Any)],
            PointsTo::Code => Vec::new(),
        }
    }

    /// Whether an operand is a parameter that [`World::freed_params`] tells callers of.
    fn is_passed_on(&self, shape: &Shape, operand: Operand) -> bool {
        let Operand::Value(value) = shape.base(operand) else { return false };
        self.freed_params(shape.id).binary_search(&value.index()).is_ok()
    }

    /// Parameters of unknown type that a function frees, and does nothing with but give them to others and compare
    /// them, in rising order. What freeing one means is told at the call, where its type is known.
    pub fn freed_params(&self, function: FuncId) -> Arc<[usize]> {
        self.freed_params_within(function, self.config.max_free_wrappers)
    }

    /// Looks at each instruction once, for all parameters together. Callees are followed to `depth`.
    pub fn find_freed_params(&self, function: FuncId, depth: usize) -> Vec<usize> {
        let Some(shape) = self.shape(function) else { return Vec::new() };
        let is_asked = |p: InstId| shape.classes[p] == PointsTo::Any && shape.is_holder(p);
        let mut passed: BTreeMap<InstId, Passed> =
            shape.params().filter(|p| is_asked(*p)).map(|p| (p, Passed::Read)).collect();
        if passed.is_empty() {
            return Vec::new();
        }
        for (id, inst) in shape.body.insts.iter() {
            match inst {
                Inst::Bind { .. } | Inst::Compare { .. } => {}
                Inst::Call(_) | Inst::Invoke { .. } => self.note_passed(&shape, id, depth, &mut passed),
                _ => inst.for_each_operand(|operand| {
                    passed_param(&shape, &mut passed, *operand).into_iter().for_each(|p| *p = Passed::Elsewhere);
                }),
            }
        }
        passed.into_iter().filter(|(_, p)| *p == Passed::Freed).map(|(param, _)| param.index()).collect()
    }

    /// What a call does with the parameters it is given.
    fn note_passed(&self, shape: &Shape, inst: InstId, depth: usize, passed: &mut BTreeMap<InstId, Passed>) {
        let Some(call) = shape.call(inst) else { return };
        let freed = self.freed_by_call(shape, inst, depth);
        for (at, arg) in call.args.iter().enumerate() {
            let Some(param) = passed_param(shape, passed, *arg) else { continue };
            *param = match &freed {
                Some(CallFrees::All(freed)) if freed.binary_search(&at).is_ok() => (*param).max(Passed::Freed),
                Some(CallFrees::Some(freed)) if freed.contains(&at) => (*param).max(Passed::Freed),
                Some(CallFrees::Nothing) => *param,
                _ => Passed::Elsewhere,
            };
        }
        if let Callee::Indirect(callee) = call.callee {
            passed_param(shape, passed, callee).into_iter().for_each(|p| *p = Passed::Elsewhere);
        }
    }

    /// Which arguments a call frees; None if it is not known what it does with them.
    fn freed_by_call(&self, shape: &Shape, inst: InstId, depth: usize) -> Option<CallFrees> {
        let [target] = self.program.targets(self.program.call_site(shape.id, inst)?) else { return None };
        if self.program.has_body(*target) {
            return Some(CallFrees::All(self.freed_params_within(*target, depth)));
        }
        let model = self.model(*target)?;
        let freed = model.effects.iter().filter_map(|effect| match &effect.kind {
            EffectKind::Free { what: ModelPath { root: ModelRoot::Param(at), derefs: 0, .. }, .. } => {
                Some(usize::from(*at))
            }
            _ => None,
        });
        Some(if model.effects.is_empty() { CallFrees::Nothing } else { CallFrees::Some(freed.collect()) })
    }
}

/// The parameter behind an operand, if it is asked about.
fn passed_param<'p>(
    shape: &Shape,
    passed: &'p mut BTreeMap<InstId, Passed>,
    operand: Operand,
) -> Option<&'p mut Passed> {
    passed.get_mut(&shape.base(operand).value()?)
}

/// What a call frees of its arguments, by their numbers.
enum CallFrees {
    /// A function that is known: these, in rising order.
    All(Arc<[usize]>),
    /// A library function that frees these, and does something with the others.
    Some(Vec<usize>),
    /// A library function that does nothing with them.
    Nothing,
}

/// The outcome of a parameter, the worst that was seen.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Passed {
    Read,
    Freed,
    Elsewhere,
}

impl Effects {
    fn write(&mut self, target: Region) {
        if !matches!(target, Region::Local { .. }) {
            self.written.insert(target);
        }
    }
}
