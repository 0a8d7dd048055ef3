//! Calls of functions without a body: what their models say, backwards. Allocation and deallocation of section 4.3.

use std::collections::BTreeSet;

use caulk_ir::{CallData, InstId, Operand, Type};
use caulk_models::{EffectKind, Model, ModelEffect, ModelPath, ModelRoot, Pointer};
use caulk_program::{CallKind, FuncId, Resolution};

use crate::expr::{Expr, Hop, Root};
use crate::fact::{Contradiction, Fact, Feasible, Outer, Truth};
use crate::outcome::{CellOrigin, Reason};
use crate::regions::PointerField;
use crate::shape::Shape;
use crate::target::{PointsTo, Region};
use crate::transfer::{Flow, Walk, whole};

impl Walk<'_> {
    /// The states before a call, or that it has to be followed.
    pub(crate) fn call(&self, inst: InstId, fact: Fact) -> Flow {
        let Some(call) = self.shape.call(inst) else { return Flow::Before(vec![fact]) };
        if call.flags.no_return {
            return Flow::Before(Vec::new());
        }
        let targets = self.call_targets(inst);
        if targets.is_empty() {
            return self.unknown_call(inst, fact);
        }
        if targets.iter().all(|t| self.world.program.has_body(*t)) {
            return Flow::Enter(fact);
        }
        let mut before = Vec::new();
        for target in targets {
            // Targets with and without bodies behind one pointer: the former are not followed.
            let flow = if self.world.program.has_body(target) {
                self.unknown_call(inst, fact.clone())
            } else {
                self.library_call(inst, call, target, fact.clone())
            };
            match flow {
                Flow::Before(facts) => before.extend(facts),
                other => return other,
            }
        }
        Flow::Before(before)
    }

    /// What a call may reach; nothing if that is not known for certain.
    pub(crate) fn call_targets(&self, inst: InstId) -> Vec<FuncId> {
        let program = self.world.program;
        let known = program
            .call_site(self.shape.id, inst)
            .filter(|site| site.outcome == Resolution::Resolved && site.kind != CallKind::Assembly);
        let targets = known.map_or(&[][..], |site| program.targets(site));
        if targets.len() > self.world.config.max_targets { Vec::new() } else { targets.to_vec() }
    }

    /// It is not known what is called: any memory that others can reach may have been written, and may have held the cell.
    pub(crate) fn unknown_call(&self, inst: InstId, fact: Fact) -> Flow {
        let reason = Reason::UnknownCall { function: self.shape.id, inst };
        self.opaque_call(inst, &BTreeSet::from([Region::Wild(PointsTo::Any)]), reason, fact)
    }

    /// A call of a function with a body that is not followed: one outside of the language may do anything, another one
    /// what it is known to write and free.
    pub(crate) fn unfollowed_call(&self, inst: InstId, callee: &Shape, fact: Fact) -> Flow {
        let reason = Reason::Outside { function: callee.id };
        let effects = self.world.effects(callee.id);
        if effects.is_unknown || callee.outside.is_some() {
            return self.opaque_call(inst, &BTreeSet::from([Region::Wild(PointsTo::Any)]), reason, fact);
        }
        let mut flow = self.opaque_call(inst, &effects.written, Reason::Depth, fact);
        if let (Flow::Before(facts), Some(call)) = (&mut flow, self.shape.call(inst)) {
            for index in self.world.freed_params(callee.id).iter() {
                let freed = call.args.get(*index);
                facts.iter_mut().for_each(|fact| freed.iter().for_each(|arg| self.unfree(fact, **arg)));
            }
        }
        flow
    }

    fn opaque_call(&self, inst: InstId, written: &BTreeSet<Region>, reason: Reason, fact: Fact) -> Flow {
        if fact.hits.contains(&Expr::value(inst)) {
            return Flow::Abandoned(reason);
        }
        self.spend(written.len() * (1 + fact.size()));
        let mut before = written.iter().fold(fact, |fact, target| self.clobber(fact, *target));
        before.forget(inst);
        // What nothing outside of the callee is known to refer to may be of the callee's making.
        if before.hits.is_empty() && before.outer != Outer::Some {
            return Flow::Abandoned(reason);
        }
        Flow::Before(vec![before])
    }

    fn library_call(&self, inst: InstId, call: &CallData, target: FuncId, fact: Fact) -> Flow {
        let Some(model) = self.world.model(target) else {
            if call.flags.no_memory || call.flags.read_only || self.world.is_harmless(target) {
                return self.result_of_library(inst, fact);
            }
            return self.unknown_call(inst, fact);
        };
        if model.never_returns() {
            return Flow::Before(Vec::new());
        }
        let calls = |e: &ModelEffect| matches!(e.kind, EffectKind::Call { .. });
        if model.effects.iter().any(calls) {
            return self.unknown_call(inst, fact);
        }
        self.modelled_call(inst, call, model, fact)
    }

    fn modelled_call(&self, inst: InstId, call: &CallData, model: &Model, fact: Fact) -> Flow {
        let mut facts = vec![fact];
        let mut result_is_set = false;
        for effect in &model.effects {
            let mut before = Vec::new();
            for fact in facts {
                match self.effect(inst, call, effect, fact, &mut result_is_set) {
                    Flow::Before(some) => before.extend(some),
                    other => return other,
                }
            }
            facts = before;
        }
        if result_is_set || call.ret != Type::Ptr {
            facts.iter_mut().for_each(|fact| fact.forget(inst));
            return Flow::Before(facts);
        }
        let mut before = Vec::new();
        for fact in facts {
            match self.result_of_library(inst, fact) {
                Flow::Before(some) => before.extend(some),
                other => return other,
            }
        }
        Flow::Before(before)
    }

    /// A library function gave out a pointer to something it has, or that we know nothing of.
    fn result_of_library(&self, inst: InstId, mut fact: Fact) -> Flow {
        if fact.hits.contains(&Expr::value(inst)) {
            return Flow::Found(CellOrigin::Library { function: self.shape.id, inst });
        }
        fact.forget(inst);
        Flow::Before(vec![fact])
    }

    fn effect(
        &self,
        inst: InstId,
        call: &CallData,
        effect: &ModelEffect,
        fact: Fact,
        result_is_set: &mut bool,
    ) -> Flow {
        let always = effect.when.is_always();
        match &effect.kind {
            EffectKind::Alloc { into, .. } => {
                *result_is_set |= into.is_ret();
                self.allocate(inst, call, into, fact)
            }
            EffectKind::Free { what, .. } => self.free(call, what, always, fact).into(),
            EffectKind::Resize { from, into, .. } => {
                *result_is_set |= into.is_ret();
                self.resize(inst, call, from, fact)
            }
            EffectKind::Alias { into, of } if into.is_ret() => {
                *result_is_set = true;
                self.alias(inst, call, of, always, &fact).into()
            }
            EffectKind::Keep { what, .. } => self.keep(call, what, always, fact).into(),
            EffectKind::Write { what } => {
                let written = self.argument(call, what).map_or(Vec::new(), |a| self.world.data_targets(self.shape, a));
                Flow::Before(vec![written.into_iter().fold(fact, |fact, target| self.clobber(fact, target))])
            }
            EffectKind::Acquire { .. } | EffectKind::Release { .. } | EffectKind::Call { .. } => {
                Flow::Before(vec![fact])
            }
            EffectKind::Alias { .. } | EffectKind::Store { .. } | EffectKind::Copy { .. } => {
                Flow::Before(vec![self.clobber(fact, Region::Wild(PointsTo::Any))])
            }
        }
    }

    pub(crate) fn argument(&self, call: &CallData, place: &ModelPath) -> Option<Operand> {
        match place.root {
            ModelRoot::Param(index) => call.args.get(usize::from(index)).copied(),
            ModelRoot::Ret => None,
        }
    }

    /// The value a place of a model stands for before the call.
    fn value_at(&self, call: &CallData, place: &ModelPath) -> Option<Expr> {
        let argument = self.argument(call, place)?;
        match (place.derefs, place.offset) {
            (0, _) => Some(self.expr(argument)),
            (1, 0) => Some(self.world.location(self.shape, argument).content()),
            _ => None,
        }
    }

    /// The paper's rule for `*e0 = malloc`.
    fn allocate(&self, inst: InstId, call: &CallData, into: &ModelPath, fact: Fact) -> Flow {
        let origin = CellOrigin::Allocation { function: self.shape.id, inst };
        if into.is_ret() {
            return self.allocate_value(inst, origin, fact);
        }
        let Some(argument) = self.argument(call, into).filter(|_| into.derefs == 1 && into.offset == 0) else {
            return Flow::Abandoned(Reason::UnknownCall { function: self.shape.id, inst });
        };
        let to = self.world.location(self.shape, argument);
        let content = to.content();
        let elsewhere = |hit: &Expr| {
            hit.after(&content).is_none() && !hit.loads().any(|t| self.rules.regions.may_alias(t, to.target))
        };
        let is_older = fact.outer == Outer::Some || fact.hits.iter().any(elsewhere);
        if !is_older && !fact.is_miss(&content, self.rules.regions) {
            return Flow::Found(origin);
        }
        self.rules.assign(&fact, &to, Some(&Expr::root(Expr::NULL))).into()
    }

    fn allocate_value(&self, inst: InstId, origin: CellOrigin, fact: Fact) -> Flow {
        let result = Expr::value(inst);
        let is_older = fact.outer == Outer::Some || fact.hits.iter().any(|hit| hit.root != result.root);
        if fact.hits.contains(&result) {
            // What else refers to the cell did so before it was made.
            return if is_older { Flow::Before(Vec::new()) } else { Flow::Found(origin) };
        }
        let failed = fact.truths.get(&result) == Some(&Truth::Is(0));
        if !is_older && !failed && !fact.is_miss(&result, self.rules.regions) {
            return Flow::Found(origin);
        }
        // A fresh block refers to nothing.
        let reads = |expr: &Expr| expr.root == result.root && expr.last_load().is_some();
        if fact.hits.iter().any(reads) {
            return Flow::Before(Vec::new());
        }
        let mut before = fact;
        before.drop_places(reads);
        before.forget(inst);
        Flow::Before(before.check_referenced().map(|()| before).into_iter().collect())
    }

    /// The paper's rule for `free(e)`. Beyond it, the memory of the block is there again, and may refer to the cell.
    fn free(&self, call: &CallData, what: &ModelPath, always: bool, fact: Fact) -> Feasible<Fact> {
        let regions = self.rules.regions;
        let mut before = fact;
        let Some(freed) = self.value_at(call, what) else {
            return Ok(self.clobber(before, Region::Wild(PointsTo::Any)));
        };
        if always {
            if before.hits.contains(&freed.clone().stripped()) {
                return Err(Contradiction);
            }
            before.miss(freed.clone(), regions)?;
        }
        match self.argument(call, what).filter(|_| what.derefs == 0) {
            Some(argument) => self.unfree(&mut before, argument),
            None => self.rules.grow(&mut before, Region::Wild(PointsTo::Any), None),
        }
        Ok(before)
    }

    /// Backwards over the end of a block, its fields are there again.
    pub(crate) fn unfree(&self, fact: &mut Fact, freed: Operand) {
        let class = self.shape.class(self.world.program, freed);
        let expr = self.expr(freed);
        let fields = match class {
            PointsTo::To { depth: 1, ty } if expr.hops.is_empty() => self.rules.regions.pointer_fields(ty),
            _ => None,
        };
        let Some(fields) = fields else {
            return self.grow_all(fact, self.world.freed_targets(self.shape, freed).into_iter().map(|t| (t, None)));
        };
        let content = |field: &PointerField| expr.clone().then(Hop::Add(field.offset as i64)).load(field.target);
        let only = |field: &PointerField| Some(content(field)).filter(|_| !field.is_array);
        self.grow_all(fact, fields.iter().map(|field| (field.target, only(field))));
    }

    /// Regions of one block may refer to the cell. More than a fact can name are as good as all memory.
    pub(crate) fn grow_all(&self, fact: &mut Fact, regions: impl Iterator<Item = (Region, Option<Expr>)>) {
        let may_hold = |target: Region| self.rules.may_hold(self.rules.regions.content(target));
        let mut some: Vec<(Region, Option<Expr>)> = regions.filter(|(target, _)| may_hold(*target)).collect();
        self.spend(some.len() * (1 + fact.memory.len()));
        if some.len() > self.world.config.max_regions {
            some = vec![(whole(some[0].0), None)];
        }
        some.into_iter().for_each(|(target, only)| self.rules.grow(fact, target, only));
    }

    /// What a library keeps is not lost.
    fn keep(&self, call: &CallData, what: &ModelPath, always: bool, mut fact: Fact) -> Feasible<Fact> {
        match self.value_at(call, what) {
            Some(kept) if always => {
                fact.miss(kept, self.rules.regions)?;
                Ok(fact)
            }
            _ => Ok(fact),
        }
    }

    fn alias(&self, inst: InstId, call: &CallData, of: &Pointer, always: bool, fact: &Fact) -> Feasible<Fact> {
        let regions = self.rules.regions;
        let value = match of {
            Pointer::Value(place) | Pointer::Inside(place) => self.value_at(call, place),
            Pointer::Reachable(_) => None,
            // The library's own, and still held there.
            Pointer::Static | Pointer::Borrowed => Some(Expr::root(Root::Code)),
        };
        let Some(value) = value else { return fact.define(inst, None, regions) };
        if always {
            return fact.define(inst, Some(&value), regions);
        }
        let mut before = fact.define(inst, None, regions)?;
        if fact.hits.contains(&Expr::value(inst)) {
            before.hit(value, regions)?;
        }
        Ok(before)
    }

    /// `realloc`: either the old block is gone and the new one has what was in it, or nothing happened.
    fn resize(&self, inst: InstId, call: &CallData, from: &ModelPath, fact: Fact) -> Flow {
        let Some(old) = self.value_at(call, from) else {
            return Flow::Abandoned(Reason::NotUnderstood { function: self.shape.id, inst });
        };
        let result = Expr::value(inst);
        let mut before: Vec<Fact> = Vec::new();
        let failed = fact.clone().tell(result.clone(), Truth::Is(0)).and_then(|()| {
            let mut fact = fact.define(inst, Some(&Expr::root(Expr::NULL)), self.rules.regions)?;
            fact.truths.retain(|e, _| !e.mentions(inst));
            Ok(fact)
        });
        before.extend(failed);
        // Succeeded: what the new block refers to, the old one did.
        let origin = CellOrigin::Allocation { function: self.shape.id, inst };
        let is_older = fact.outer == Outer::Some || fact.hits.iter().any(|hit| *hit != result);
        if fact.hits.contains(&result) && !is_older {
            return Flow::Found(origin);
        }
        if !is_older
            && !fact.is_miss(&result, self.rules.regions)
            && !matches!(fact.truths.get(&result), Some(Truth::Is(0)))
        {
            return Flow::Found(origin);
        }
        before.extend(self.resized(inst, &old, &fact));
        Flow::Before(before)
    }

    fn resized(&self, inst: InstId, old: &Expr, fact: &Fact) -> Feasible<Fact> {
        let regions = self.rules.regions;
        let result = Expr::value(inst);
        if fact.hits.contains(&result) || fact.hits.contains(&old.clone().stripped()) {
            return Err(Contradiction);
        }
        if fact.truths.get(&result) == Some(&Truth::Is(0)) {
            return Err(Contradiction);
        }
        let mut may = fact.may.clone();
        may.remove(&Root::Value(inst));
        let moved = |expr: &Expr| {
            let is_content = expr.root == result.root && expr.last_load().is_some();
            match expr.mentions(inst) {
                false => Some(expr.clone()),
                true if is_content => Some(old.extended(&expr.hops)),
                true => None,
            }
        };
        let mut before = fact.rewrite(may, fact.outer, regions, moved)?;
        before.miss(old.clone(), regions)?;
        Ok(before)
    }
}
