//! Follows calls: into callees, out of them again, and back into callers.

use caulk_ir::{Inst, InstId, Operand, Type};
use caulk_program::FuncId;

use super::{Engine, Role, Stop, TraceId, Waiting, cost};
use crate::expr::{Expr, Root};
use crate::fact::{Fact, Feasible};
use crate::outcome::CellOrigin;
use crate::shape::{Holding, Shape};
use crate::transfer::Flow;

impl Engine<'_> {
    /// Into the functions that a call reaches.
    pub(super) fn enter(&mut self, context: usize, inst: InstId, after: Fact, trace: TraceId) -> Result<(), Stop> {
        let shape = self.contexts[context].shape.clone();
        for target in self.view(&shape).call_targets(inst) {
            let effects = self.world.effects(target);
            let view = self.view(&shape);
            let result = shape.is_holder(inst) && !after.is_miss(&Expr::value(inst), self.rules.regions);
            if effects.leaves_references() && !result {
                self.spend(effects.written.len() * (1 + after.truths.len()))?;
                let mut before = effects.written.iter().fold(after.clone(), |mut fact, target| {
                    fact.truths.retain(|e, _| !e.loads().any(|t| self.rules.regions.may_alias(t, *target)));
                    fact
                });
                before.forget(inst);
                self.push_inside(context, inst, before, trace)?;
                continue;
            }
            let Some(callee) = self.world.shape(target) else { continue };
            // What the cell comes out of, and what is there to free, is followed all the same.
            let matters = || after.hits.contains(&Expr::value(inst)) || !self.world.freed_params(target).is_empty();
            let is_too_deep = self.contexts[context].depth >= self.world.config.max_call_depth && !matters();
            if is_too_deep || !self.world.is_followed(&callee) {
                match self.view(&shape).unfollowed_call(inst, &callee, after.clone()) {
                    Flow::Before(facts) => {
                        facts.into_iter().try_for_each(|f| self.push_inside(context, inst, f, trace))?;
                    }
                    Flow::Abandoned(reason) => return Err(Stop::Abandoned(reason)),
                    Flow::Found(origin) => self.found(origin, trace)?,
                    Flow::Enter(_) => {}
                }
                continue;
            }
            for after in view.cases(inst, &after, &callee) {
                let Ok(exit) = self.view(&shape).map(inst, &after, &callee) else { continue };
                self.follow_call(context, inst, &after, target, exit, trace)?;
            }
        }
        Ok(())
    }

    fn follow_call(
        &mut self,
        context: usize,
        inst: InstId,
        after: &Fact,
        target: FuncId,
        exit: Fact,
        trace: TraceId,
    ) -> Result<(), Stop> {
        let role = Role::Callee(exit);
        let known = self.index.contains_key(&(target, role.clone()));
        let inner = self.context(target, role, self.contexts[context].depth + 1)?;
        let waiting = Waiting { context, inst, after: after.clone() };
        let is_new =
            !self.contexts[inner].waiting.iter().any(|w| w.context == context && w.inst == inst && w.after == *after);
        self.spend(self.contexts[inner].waiting.len())?;
        if is_new {
            self.store(cost(after))?;
            let entries = self.contexts[inner].entries.clone();
            self.contexts[inner].waiting.push(waiting.clone());
            for (_, entry, trace) in entries {
                self.resume(inner, &entry, &waiting, trace)?;
            }
        }
        if known { Ok(()) } else { self.start_at_returns(inner, trace) }
    }

    fn start_at_returns(&mut self, context: usize, trace: TraceId) -> Result<(), Stop> {
        let shape = self.contexts[context].shape.clone();
        let Role::Callee(exit) = self.contexts[context].role.clone() else { return Ok(()) };
        for (block, range) in shape.body.blocks.iter() {
            let inst = range.terminator();
            let Inst::Return { value } = &shape.body.insts[inst] else { continue };
            self.charge(&exit)?;
            self.spend(shape.unended().len())?;
            let trace = self.note(shape.id, inst, Some(trace));
            if let Ok(fact) = self.over_return(&shape, inst, *value, exit.clone()) {
                self.reach(context, block, fact, trace)?;
            }
        }
        Ok(())
    }

    /// `return(e)` of Figure 4: the result is assigned, and everything local goes.
    fn over_return(&self, shape: &Shape, inst: InstId, value: Option<Operand>, exit: Fact) -> Feasible<Fact> {
        let regions = self.rules.regions;
        let view = self.view(shape);
        let mut fact = exit;
        view.revive(&mut fact, shape.liveness(Holding::ByUse).deaths(inst).iter().copied());
        let returned = value.map(|v| view.expr(v));
        let is_miss = fact.is_miss(&Expr::root(Root::Return), regions);
        let mut may = fact.may.clone();
        may.remove(&Root::Return);
        let mut before = fact.rewrite(may, fact.outer, regions, |expr| match expr.root {
            Root::Return => returned.as_ref().map(|r| r.extended(&expr.hops)),
            _ => Some(expr.clone()),
        })?;
        if let Some(returned) =
            returned.filter(|_| is_miss && shape.body.operand_type(value.expect("there is one")) == Type::Ptr)
        {
            before.miss(returned, regions)?;
        }
        self.end_locals(shape, before)
    }

    /// Backwards over a return: locals whose scope has no other end are there again.
    pub(super) fn end_locals(&self, shape: &Shape, mut fact: Fact) -> Feasible<Fact> {
        let view = self.view(shape);
        for local in shape.unended() {
            fact = view.end_scope(*local, fact)?;
        }
        Ok(fact)
    }

    /// The beginning of a function is reached.
    pub(super) fn entry(&mut self, context: usize, fact: Fact, trace: TraceId) -> Result<(), Stop> {
        let shape = self.contexts[context].shape.clone();
        let mut fact = fact;
        // No value but the parameters is there yet.
        let is_too_early = |hit: &Expr| matches!(hit.root, Root::Value(v) if !shape.is_param(v));
        if fact.hits.iter().any(is_too_early) {
            return Ok(());
        }
        self.spend(shape.locals().len() * cost(&fact))?;
        for local in shape.locals() {
            match self.view(&shape).start_scope(*local, fact) {
                Ok(before) => fact = before,
                Err(_) => return Ok(()),
            }
        }
        if !matches!(self.contexts[context].role, Role::Callee(_)) {
            return self.entry_of_loser(context, fact, trace);
        }
        let index = if self.rules.extensions.separated { fact.index() } else { Vec::new() };
        self.spend(cost(&fact) + self.contexts[context].entries.len())?;
        self.store(cost(&fact))?;
        let entries = &mut self.contexts[context].entries;
        let fact = match entries.iter_mut().find(|(i, _, _)| *i == index) {
            Some((_, known, _)) => {
                let joined = known.join(&fact, self.rules.regions);
                if joined == *known {
                    return Ok(());
                }
                *known = joined.clone();
                joined
            }
            None => {
                entries.push((index, fact.clone(), trace));
                fact
            }
        };
        for at in 0..self.contexts[context].waiting.len() {
            let waiting = self.contexts[context].waiting[at].clone();
            self.resume(context, &fact, &waiting, trace)?;
        }
        Ok(())
    }

    /// Goes on before a call, with what holds at the beginning of its callee.
    fn resume(&mut self, inner: usize, entry: &Fact, waiting: &Waiting, trace: TraceId) -> Result<(), Stop> {
        let outer = &self.contexts[waiting.context];
        let is_birth = self.birth.as_ref().is_some_and(|b| b.call == waiting.inst && outer.role == Role::Loser);
        if is_birth {
            return Ok(()); // What was there before the call is none of its blocks.
        }
        let callee = self.contexts[inner].shape.clone();
        let shape = outer.shape.clone();
        let before = self.view(&shape).unmap(waiting.inst, entry, Some(&waiting.after), &callee);
        if let Ok(before) = before {
            let trace = self.note(shape.id, waiting.inst, Some(trace));
            self.push_inside(waiting.context, waiting.inst, before, trace)?;
        }
        Ok(())
    }

    /// The function in which the cell is lost, or a caller of it, was entered with the cell there already.
    fn entry_of_loser(&mut self, context: usize, fact: Fact, trace: TraceId) -> Result<(), Stop> {
        let shape = self.contexts[context].shape.clone();
        let is_param = |hit: &Expr| hit.is_value();
        if self.world.config.arguments_are_held && fact.hits.iter().any(is_param) {
            return Ok(()); // The caller holds it still.
        }
        let Some(calls) = self.world.known_callers(shape.id) else {
            return self.found(CellOrigin::Input { function: shape.id }, trace);
        };
        for (caller, inst) in calls.iter().copied() {
            let outer = self.context(caller, Role::Caller, 0)?;
            let caller_shape = self.contexts[outer].shape.clone();
            if let Ok(before) = self.view(&caller_shape).unmap(inst, &fact, None, &shape) {
                let trace = self.note(caller, inst, Some(trace));
                self.push_inside(outer, inst, before, trace)?;
            }
        }
        Ok(())
    }
}
