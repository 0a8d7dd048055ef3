//! From the beginning of a block to the ends of those before it, and which facts are kept there.

use std::collections::BTreeSet;

use caulk_ir::{BlockId, Inst, InstId};

use super::{At, Engine, Role, Stop, TraceId, Work, cost};
use crate::expr::{Expr, Root};
use crate::fact::{Fact, Feasible, Holder, Truth};
use crate::liveness::LastUses;
use crate::probe::Probe;
use crate::prover::World;
use crate::shape::Shape;
use crate::transfer::Flow;

/// Where the cell was made, if the probe is about the blocks of one call. Nothing before that matters.
pub(super) struct Birth {
    pub(super) call: InstId,
    /// Blocks of its function in which the cell may be there, besides that of the call.
    after: BTreeSet<BlockId>,
}

impl Birth {
    pub(super) fn new(world: &World<'_>, probe: &Probe) -> Option<Self> {
        let call = probe.made_by?;
        Some(Self { call, after: world.shape(probe.function)?.blocks_after(call) })
    }
}

impl Engine<'_> {
    pub(super) fn before_block(
        &mut self,
        context: usize,
        block: BlockId,
        fact: Fact,
        trace: TraceId,
    ) -> Result<(), Stop> {
        if block == caulk_ir::Body::ENTRY {
            return self.entry(context, fact, trace);
        }
        let shape = self.contexts[context].shape.clone();
        for from in &shape.predecessors[block] {
            self.edge(context, *from, block, fact.clone(), trace)?;
        }
        Ok(())
    }

    /// Goes back over an edge: phis, the branch's condition, and a call that ends the block.
    pub(super) fn edge(
        &mut self,
        context: usize,
        from: BlockId,
        to: BlockId,
        fact: Fact,
        trace: TraceId,
    ) -> Result<(), Stop> {
        let shape = self.contexts[context].shape.clone();
        if self.is_before_birth(context, from) {
            return Ok(());
        }
        self.charge(&fact)?;
        self.spend(self.liveness(context, &shape).set_words())?;
        let terminator = shape.body.blocks[from].terminator();
        let Ok(mut fact) = self.over_edge(self.liveness(context, &shape), &shape, (from, to), fact) else {
            return Ok(());
        };
        let trace = self.note(shape.id, terminator, Some(trace));
        let view = self.view(&shape);
        view.revive(&mut fact, self.liveness(context, &shape).deaths(terminator).iter().copied());
        if let Inst::Invoke { normal, .. } = &shape.body.insts[terminator] {
            let flow = if *normal == to { view.call(terminator, fact) } else { view.unknown_call(terminator, fact) };
            return match flow {
                Flow::Before(facts) => facts.into_iter().try_for_each(|f| self.reach(context, from, f, trace)),
                Flow::Enter(after) => self.enter(context, terminator, after, trace),
                Flow::Found(origin) => self.found(origin, trace),
                Flow::Abandoned(reason) => Err(Stop::Abandoned(reason)),
            };
        }
        self.reach(context, from, fact, trace)
    }

    /// Whether the cell cannot have been made yet at the end of a block.
    fn is_before_birth(&self, context: usize, block: BlockId) -> bool {
        let Some(birth) = self.birth.as_ref().filter(|_| self.contexts[context].role == Role::Loser) else {
            return false;
        };
        block != self.contexts[context].shape.block_of[birth.call] && !birth.after.contains(&block)
    }

    fn over_edge(
        &self,
        liveness: &LastUses,
        shape: &Shape,
        (from, to): (BlockId, BlockId),
        mut fact: Fact,
    ) -> Feasible<Fact> {
        let view = self.view(shape);
        let mut phis: Vec<(InstId, Option<Expr>)> = Vec::new();
        for inst in shape.body.blocks[to].insts() {
            let Inst::Phi { .. } = &shape.body.insts[inst] else { break };
            view.revive(&mut fact, liveness.deaths(inst).iter().copied());
            phis.push((inst, shape.taken(inst, from).map(|operand| view.expr(operand))));
        }
        view.spend(phis.len());
        let revived = liveness.edge_deaths(from, to).filter(|v| self.rules.may_hold(shape.classes[*v]));
        let mut fact = fact.define_all(&phis, revived, self.rules.regions)?;
        if fact.may.iter().any(|root| matches!(root, Root::Leaving(_))) {
            fact = fact.with_left_values(self.rules.regions)?;
        }
        match shape.body.terminator(from) {
            Inst::Branch { cond, then, other } if then != other => {
                fact.tell(view.expr(*cond), Truth::Is(u64::from(*then == to)))?;
            }
            Inst::Switch { value, .. } => {
                if let Some(n) = shape.only_case(shape.body.blocks[from].terminator(), to) {
                    fact.tell(view.expr(*value), Truth::Is(n))?;
                }
            }
            _ => {}
        }
        fact.clean_up(self.rules.regions, self.rules.extensions.region_removal)?;
        Ok(fact)
    }

    /// A fact holds at the end of a block: joined to what is known there, and looked at if that is new.
    pub(super) fn reach(&mut self, context: usize, block: BlockId, mut fact: Fact, trace: TraceId) -> Result<(), Stop> {
        if self.trim(&mut fact).is_err() {
            return Ok(());
        }
        let shape = self.contexts[context].shape.clone();
        let config = &self.world.config;
        let mut index = if config.extensions.separated { fact.index() } else { Vec::new() };
        if let (Inst::Branch { cond, .. }, true) = (shape.body.terminator(block), config.extensions.separated) {
            index.extend(fact.truths.get(&self.view(&shape).expr(*cond)).map(|truth| Holder::Branch(*truth)));
        }
        self.check_size(&fact)?;
        self.spend(cost(&fact))?;
        let mut kept = cost(&fact);
        let facts = self.contexts[context].reached.entry(block).or_default();
        let slot = facts.iter().position(|(i, _)| *i == index);
        let slot = match slot {
            None if facts.len() >= config.max_facts_at_point => Some(facts.len() - 1),
            slot => slot,
        };
        let slot = match slot {
            Some(slot) => {
                let joined = facts[slot].1.join(&fact, self.rules.regions);
                if joined == facts[slot].1 {
                    return Ok(());
                }
                // A fact that is joined to another may grow, and then more is kept.
                kept = joined.size().saturating_sub(facts[slot].1.size());
                facts[slot].1 = joined;
                slot
            }
            None => {
                facts.push((index, fact));
                facts.len() - 1
            }
        };
        self.work.push_back(Work { context, at: At::End { block, slot }, trace });
        self.store(kept)
    }
}
