//! What a call may write, free or make, without following it (the paper's MOD information).

use std::collections::BTreeSet;

use caulk_ir::{Inst, InstId, Operand, Type};
use caulk_models::{EffectKind, Place, Root as PlaceRoot};
use caulk_program::{CallKind, FuncId, Outcome};

use crate::prover::World;
use crate::shape::Shape;
use crate::target::{Class, Target};

/// Everything a function may do to memory, with all it calls.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Effects {
    /// Memory that may be written, or freed while it holds references. Nothing of the function's own.
    pub written: BTreeSet<Target>,
    /// Calls code that nobody knows.
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
                    effects.write(if is_several { Target::Wild(Class::Any) } else { one });
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
        let known = site.filter(|s| s.outcome == Outcome::Resolved && s.kind != CallKind::Assembly);
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
        let arg = |place: &Place| match place.root {
            PlaceRoot::Param(index) => call.args.get(usize::from(index)).copied(),
            PlaceRoot::Ret => None,
        };
        for effect in &model.effects {
            match &effect.kind {
                EffectKind::Free { what, .. } => {
                    effects.frees = true;
                    let freed = arg(what).filter(|_| what.derefs == 0);
                    freed
                        .map_or(vec![Target::Wild(Class::Any)], |a| self.freed_targets(shape, a))
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
                        effects.write(Target::Wild(Class::Any));
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
                    effects.write(Target::Wild(Class::Any));
                    effects.writes_pointers = true;
                }
                EffectKind::Call { .. } => effects.is_unknown = true,
            }
        }
    }

    /// Memory that is overwritten with bytes.
    fn overwritten(&self, shape: &Shape, address: Operand) -> Vec<Target> {
        match shape.parts(self.program, self.regions, address, None) {
            Some(parts) => parts.into_iter().map(|p| p.target).collect(),
            None => vec![Target::Wild(Class::Any)],
        }
    }

    /// Memory that a library function fills with data. Where no structure is declared there are no pointers.
    pub fn data_targets(&self, shape: &Shape, address: Operand) -> Vec<Target> {
        let parts = shape.parts(self.program, self.regions, address, None).unwrap_or_default();
        parts.into_iter().map(|p| p.target).collect()
    }

    /// Memory that goes when what an operand points to is freed.
    pub fn freed_targets(&self, shape: &Shape, freed: Operand) -> Vec<Target> {
        match shape.class(self.program, freed) {
            Class::To { depth: 1, ty } => self.regions.pointer_fields(ty).iter().map(|f| f.target).collect(),
            Class::To { depth, ty } => vec![Target::Wild(Class::To { depth: depth - 1, ty })],
            Class::Any if self.is_passed_on(shape, freed) => Vec::new(),
            Class::Any => vec![Target::Wild(Class::Any)],
            Class::Code => Vec::new(),
        }
    }

    /// Whether an operand is a parameter that [`World::freed_params`] tells callers of.
    fn is_passed_on(&self, shape: &Shape, operand: Operand) -> bool {
        let Operand::Value(value) = shape.base(operand) else { return false };
        self.freed_params(shape.id).contains(&(value.0 as usize))
    }

    /// Parameters of unknown type that a function frees, and does nothing with but give them to others and compare
    /// them. What freeing one means is told at the call, where its type is known.
    pub fn freed_params(&self, function: FuncId) -> Vec<usize> {
        self.freed_params_within(function, self.config.max_free_wrappers)
    }

    fn freed_params_within(&self, function: FuncId, depth: usize) -> Vec<usize> {
        let Some(shape) = self.shape(function).filter(|_| depth > 0) else { return Vec::new() };
        let params = shape.params().filter(|p| shape.classes[*p] == Class::Any && shape.is_holder(*p));
        params.filter(|p| self.only_frees(&shape, *p, depth - 1)).map(|p| p.0 as usize).collect()
    }

    fn only_frees(&self, shape: &Shape, param: InstId, depth: usize) -> bool {
        let mut frees = false;
        let all_fine = shape.body.insts.iter().all(|(id, inst)| {
            let mut uses = false;
            inst.for_each_operand(|o| uses |= shape.base(*o) == Operand::Value(param));
            if !uses {
                return true;
            }
            match inst {
                Inst::Bind { .. } | Inst::Compare { .. } => true,
                Inst::Call(_) | Inst::Invoke { .. } => match self.passes(shape, id, param, depth) {
                    Passed::Freed => {
                        frees = true;
                        true
                    }
                    Passed::Read => true,
                    Passed::Elsewhere => false,
                },
                _ => false,
            }
        });
        all_fine && frees
    }

    /// What a call does with a value it is given.
    fn passes(&self, shape: &Shape, inst: InstId, value: InstId, depth: usize) -> Passed {
        let (Some(call), Some(site)) = (shape.call(inst), self.program.call_site(shape.id, inst)) else {
            return Passed::Elsewhere;
        };
        let [target] = self.program.targets(site) else { return Passed::Elsewhere };
        let given = call.args.iter().enumerate().filter(|(_, arg)| shape.base(**arg) == Operand::Value(value));
        let given: Vec<usize> = given.map(|(i, _)| i).collect();
        if self.program.has_body(*target) {
            let freed = self.freed_params_within(*target, depth);
            return if given.iter().all(|i| freed.contains(i)) { Passed::Freed } else { Passed::Elsewhere };
        }
        let Some(model) = self.model(*target) else { return Passed::Elsewhere };
        let is_free = |kind: &EffectKind| match kind {
            EffectKind::Free { what, .. } => {
                what.derefs == 0 && matches!(what.root, PlaceRoot::Param(i) if given.contains(&usize::from(i)))
            }
            _ => false,
        };
        if model.effects.iter().any(|e| is_free(&e.kind)) {
            Passed::Freed
        } else if model.effects.is_empty() {
            Passed::Read
        } else {
            Passed::Elsewhere
        }
    }
}

enum Passed {
    Freed,
    Read,
    Elsewhere,
}

impl Effects {
    fn write(&mut self, target: Target) {
        if !matches!(target, Target::Local { .. }) {
            self.written.insert(target);
        }
    }
}
