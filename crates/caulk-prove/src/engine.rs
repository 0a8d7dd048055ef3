//! The worklist: follows one probe backwards through the program (Appendix B of the paper).

use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;

use caulk_ir::{BlockId, Inst, InstId, Linkage};
use caulk_program::{FuncId, Outcome as Resolution};

use crate::assign::Rules;
use crate::expr::{Expr, Root};
use crate::fact::{Fact, Feasible, Holder, Truth};
use crate::liveness::Liveness;
use crate::outcome::{Origin, Outcome, Reason, TraceStep};
use crate::probe::{Probe, Start};
use crate::prover::World;
use crate::shape::{Holding, Shape};
use crate::transfer::{Flow, Walk};

/// The result of a probe and what it cost.
#[derive(Clone, Debug)]
pub struct Answer {
    pub outcome: Outcome,
    /// Every place where the cell may come from, if all were asked for.
    pub origins: Vec<Origin>,
    pub transfers: usize,
    /// Points at which facts were kept, and how many facts.
    pub points: usize,
    pub facts: usize,
}

/// Follows a probe. Stops at the first origin unless all are wanted.
pub fn follow(world: &World<'_>, probe: &Probe, all_origins: bool) -> Answer {
    let rules =
        Rules { regions: world.regions, extensions: world.config.extensions, cell: probe.cell, shape: None, at: None };
    let mut engine = Engine {
        world,
        rules,
        contexts: Vec::new(),
        index: BTreeMap::new(),
        holding: probe.holding,
        work: VecDeque::new(),
        trace: Vec::new(),
        transfers: 0,
        origins: Vec::new(),
        all_origins,
    };
    let outcome = match engine.run(probe) {
        Err(Stop::Found(origin, at)) => Outcome::MayLeak { origin, trace: engine.trace_from(at) },
        Err(Stop::Abandoned(reason)) => Outcome::Abandoned(reason),
        Ok(()) => match engine.origins.first() {
            Some(&(origin, at)) => Outcome::MayLeak { origin, trace: engine.trace_from(at) },
            None => Outcome::Proved,
        },
    };
    let kept = engine.contexts.iter().flat_map(|c| c.reached.values());
    Answer {
        outcome,
        origins: engine.origins.iter().map(|(origin, _)| *origin).collect(),
        transfers: engine.transfers,
        points: kept.clone().count(),
        facts: kept.map(Vec::len).sum(),
    }
}

/// Why a function is looked at.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Role {
    /// The cell is lost in it.
    Loser,
    /// It calls the function that loses the cell.
    Caller,
    /// It is called, and this holds when it returns.
    Callee(Fact),
}

/// A function in one role.
struct Context {
    shape: Arc<Shape>,
    role: Role,
    /// Calls that asked for this context: where to go on when its beginning is reached.
    waiting: Vec<Waiting>,
    /// What holds at the beginning.
    entries: Vec<(Vec<Holder>, Fact, TraceId)>,
    /// What holds at the end of each block.
    reached: BTreeMap<BlockId, Vec<(Vec<Holder>, Fact)>>,
}

#[derive(Clone)]
struct Waiting {
    context: usize,
    inst: InstId,
    after: Fact,
}

type TraceId = usize;

struct TraceNode {
    step: TraceStep,
    before: Option<TraceId>,
}

/// Something to look at: the instructions of a block before `upto`.
struct Work {
    context: usize,
    at: At,
    trace: TraceId,
}

enum At {
    /// Before the terminator of a block, with the fact kept there under an index.
    End {
        block: BlockId,
        slot: usize,
    },
    Inside {
        upto: InstId,
        fact: Fact,
    },
}

enum Stop {
    Found(Origin, TraceId),
    Abandoned(Reason),
}

struct Engine<'a> {
    world: &'a World<'a>,
    rules: Rules<'a>,
    contexts: Vec<Context>,
    index: BTreeMap<(FuncId, Role), usize>,
    holding: Holding,
    work: VecDeque<Work>,
    trace: Vec<TraceNode>,
    transfers: usize,
    origins: Vec<(Origin, TraceId)>,
    all_origins: bool,
}

impl<'a> Engine<'a> {
    fn run(&mut self, probe: &Probe) -> Result<(), Stop> {
        let trace = self.note(probe.function, probe.place, None);
        let context = self.context(probe.function, Role::Loser)?;
        self.begin(context, probe, trace)?;
        while let Some(work) = self.work.pop_front() {
            let Work { context, at, trace } = work;
            match at {
                At::End { block, slot } => {
                    let fact = self.contexts[context].reached[&block][slot].1.clone();
                    let upto = self.contexts[context].shape.body.blocks[block].terminator();
                    self.walk(context, upto, fact, trace)?;
                }
                At::Inside { upto, fact } => self.walk(context, upto, fact, trace)?,
            }
        }
        Ok(())
    }

    fn begin(&mut self, context: usize, probe: &Probe, trace: TraceId) -> Result<(), Stop> {
        match probe.start {
            Start::Before(inst) => self.walk(context, inst, probe.fact.clone(), trace),
            Start::After(inst) if self.contexts[context].shape.body.insts[inst].is_terminator() => {
                let shape = self.contexts[context].shape.clone();
                let mut fact = probe.fact.clone();
                self.view(&shape).revive(&mut fact, self.liveness(context, &shape).deaths(inst).iter().copied());
                match &shape.body.insts[inst] {
                    // What is returned, or thrown, is the caller's.
                    Inst::Return { value: Some(value) } | Inst::Resume { value } => {
                        let returned = self.view(&shape).expr(*value);
                        if fact.miss(returned, self.rules.regions).is_err() {
                            return Ok(());
                        }
                        self.walk(context, inst, fact, trace)
                    }
                    Inst::Invoke { normal, unwind, .. } => {
                        let block = shape.block_of[inst];
                        self.edge(context, block, *normal, fact.clone(), trace)?;
                        self.edge(context, block, *unwind, fact, trace)
                    }
                    _ => self.walk(context, inst, fact, trace),
                }
            }
            Start::After(inst) => self.walk(context, InstId(inst.0 + 1), probe.fact.clone(), trace),
            Start::Edge { from, to } => self.edge(context, from, to, probe.fact.clone(), trace),
        }
    }

    /// Only the function that loses the cell may count on variables that it does not use any more: others may be
    /// judged under another notion.
    fn liveness<'s>(&self, context: usize, shape: &'s Shape) -> &'s Liveness {
        let is_loser = self.contexts[context].role == Role::Loser;
        shape.liveness(if is_loser { self.holding } else { Holding::ByUse })
    }

    fn view<'s>(&self, shape: &'s Shape) -> Walk<'s>
    where
        'a: 's,
    {
        Walk { world: self.world, shape, rules: Rules { shape: Some(shape), ..self.rules } }
    }

    fn note(&mut self, function: FuncId, inst: InstId, before: Option<TraceId>) -> TraceId {
        self.trace.push(TraceNode { step: TraceStep { function, inst }, before });
        self.trace.len() - 1
    }

    /// From the origin to the loss, in the order of execution.
    fn trace_from(&self, from: TraceId) -> Vec<TraceStep> {
        let mut steps = Vec::new();
        let mut at = Some(from);
        while let Some(id) = at {
            steps.push(self.trace[id].step);
            at = self.trace[id].before;
        }
        steps
    }

    /// The context for a function in a role, made if it is new.
    fn context(&mut self, function: FuncId, role: Role) -> Result<usize, Stop> {
        let key = (function, role);
        if let Some(found) = self.index.get(&key) {
            return Ok(*found);
        }
        let Some(shape) = self.world.shape(function) else {
            return Err(Stop::Abandoned(Reason::Outside { function }));
        };
        if shape.outside.is_some() {
            return Err(Stop::Abandoned(Reason::Outside { function }));
        }
        if self.contexts.len() >= self.world.config.max_contexts {
            return Err(Stop::Abandoned(Reason::Contexts));
        }
        let id = self.contexts.len();
        let role = key.1.clone();
        self.contexts.push(Context { shape, role, waiting: Vec::new(), entries: Vec::new(), reached: BTreeMap::new() });
        self.index.insert(key, id);
        Ok(id)
    }

    fn found(&mut self, origin: Origin, trace: TraceId) -> Result<(), Stop> {
        if self.all_origins {
            if !self.origins.iter().any(|(o, _)| *o == origin) {
                self.origins.push((origin, trace));
            }
            return Ok(());
        }
        Err(Stop::Found(origin, trace))
    }

    /// Goes back through a block from before `upto` to its beginning, and on to what comes before.
    fn walk(&mut self, context: usize, upto: InstId, fact: Fact, mut trace: TraceId) -> Result<(), Stop> {
        let shape = self.contexts[context].shape.clone();
        let block = shape.block_of[upto];
        let mut fact = fact;
        let range = shape.body.blocks[block];
        for inst in (range.first.0..upto.0).rev().map(InstId) {
            if matches!(shape.body.insts[inst], Inst::Phi { .. }) {
                break;
            }
            self.charge()?;
            let mut view = self.view(&shape);
            view.rules.at = Some(inst);
            let earlier = fact.clone();
            view.revive(&mut fact, self.liveness(context, &shape).deaths(inst).iter().copied());
            match view.step(inst, fact) {
                Flow::Before(mut facts) => {
                    let Some(first) = facts.pop() else { return Ok(()) };
                    for other in facts {
                        let trace = self.note(shape.id, inst, Some(trace));
                        self.push_inside(context, inst, other, trace);
                    }
                    fact = first;
                }
                Flow::Enter(after) => {
                    let trace = self.note(shape.id, inst, Some(trace));
                    return self.enter(context, inst, after, trace);
                }
                Flow::Found(origin) => {
                    let trace = self.note(shape.id, inst, Some(trace));
                    return self.found(origin, trace);
                }
                Flow::Abandoned(reason) => return Err(Stop::Abandoned(reason)),
            }
            let is_elsewhere = |hit: &Expr| view.rules.is_elsewhere(&fact, hit);
            if fact.hits.iter().any(is_elsewhere) || self.trim(&mut fact).is_err() {
                return Ok(());
            }
            if fact.memory.len() > self.world.config.max_regions {
                return Err(Stop::Abandoned(Reason::Regions));
            }
            if fact.hits != earlier.hits {
                trace = self.note(shape.id, inst, Some(trace));
            }
        }
        self.before_block(context, block, fact, trace)
    }

    fn charge(&mut self) -> Result<(), Stop> {
        self.transfers += 1;
        if self.transfers > self.world.config.max_transfers {
            return Err(Stop::Abandoned(Reason::Transfers));
        }
        Ok(())
    }

    /// Keeps facts small: long expressions, and more than fit, are forgotten.
    fn trim(&self, fact: &mut Fact) -> Feasible {
        let config = &self.world.config;
        let is_short = |expr: &Expr| expr.loads().count() <= config.max_loads;
        fact.hits.retain(is_short);
        fact.misses.retain(is_short);
        fact.truths.retain(|e, _| is_short(e));
        for set in [&mut fact.hits, &mut fact.misses] {
            while set.len() > config.max_expressions {
                set.pop_last();
            }
        }
        while fact.truths.len() > config.max_expressions {
            fact.truths.pop_last();
        }
        fact.check_referenced()
    }

    fn before_block(&mut self, context: usize, block: BlockId, fact: Fact, trace: TraceId) -> Result<(), Stop> {
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
    fn edge(&mut self, context: usize, from: BlockId, to: BlockId, fact: Fact, trace: TraceId) -> Result<(), Stop> {
        let shape = self.contexts[context].shape.clone();
        self.charge()?;
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

    fn over_edge(
        &self,
        liveness: &Liveness,
        shape: &Shape,
        (from, to): (BlockId, BlockId),
        mut fact: Fact,
    ) -> Feasible<Fact> {
        let view = self.view(shape);
        let mut phis: Vec<(InstId, Option<Expr>)> = Vec::new();
        for inst in shape.body.blocks[to].insts() {
            let Inst::Phi { incoming, .. } = &shape.body.insts[inst] else { break };
            view.revive(&mut fact, liveness.deaths(inst).iter().copied());
            let taken = incoming.iter().find(|(block, _)| *block == from);
            phis.push((inst, taken.map(|(_, operand)| view.expr(*operand))));
        }
        let revived = liveness.edge_deaths(from, to).filter(|v| self.rules.may_hold(shape.classes[*v]));
        let mut fact = fact.define_all(&phis, revived, self.rules.regions)?;
        match shape.body.terminator(from) {
            Inst::Branch { cond, then, other } if then != other => {
                fact.tell(view.expr(*cond), Truth::Is(u64::from(*then == to)))?;
            }
            Inst::Switch { value, cases, default, .. } => {
                let mut here = cases.iter().filter(|(_, block)| *block == to);
                if let (Some((n, _)), None, true) = (here.next(), here.next(), *default != to) {
                    fact.tell(view.expr(*value), Truth::Is(*n))?;
                }
            }
            _ => {}
        }
        fact.clean_up(self.rules.regions, self.rules.extensions.region_removal)?;
        Ok(fact)
    }

    /// A fact holds at the end of a block: joined to what is known there, and looked at if that is new.
    fn reach(&mut self, context: usize, block: BlockId, mut fact: Fact, trace: TraceId) -> Result<(), Stop> {
        if self.trim(&mut fact).is_err() {
            return Ok(());
        }
        let shape = self.contexts[context].shape.clone();
        let config = &self.world.config;
        let mut index = if config.extensions.separated { fact.index() } else { Vec::new() };
        if let (Inst::Branch { cond, .. }, true) = (shape.body.terminator(block), config.extensions.separated) {
            index.extend(fact.truths.get(&self.view(&shape).expr(*cond)).map(|truth| Holder::Branch(*truth)));
        }
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
                facts[slot].1 = joined;
                slot
            }
            None => {
                facts.push((index, fact));
                facts.len() - 1
            }
        };
        self.work.push_back(Work { context, at: At::End { block, slot }, trace });
        Ok(())
    }

    fn push_inside(&mut self, context: usize, upto: InstId, fact: Fact, trace: TraceId) {
        self.work.push_back(Work { context, at: At::Inside { upto, fact }, trace });
    }

    /// Into the functions that a call reaches.
    fn enter(&mut self, context: usize, inst: InstId, after: Fact, trace: TraceId) -> Result<(), Stop> {
        let shape = self.contexts[context].shape.clone();
        for target in self.view(&shape).call_targets(inst) {
            let effects = self.world.effects(target);
            let view = self.view(&shape);
            let result = shape.is_holder(inst) && !after.is_miss(&Expr::value(inst), self.rules.regions);
            if effects.leaves_references() && !result {
                let mut before = effects.written.iter().fold(after.clone(), |mut fact, target| {
                    fact.truths.retain(|e, _| !e.loads().any(|t| self.rules.regions.may_alias(t, *target)));
                    fact
                });
                before.forget(inst);
                self.push_inside(context, inst, before, trace);
                continue;
            }
            let Some(callee) = self.world.shape(target) else { continue };
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
        let inner = self.context(target, role)?;
        let waiting = Waiting { context, inst, after: after.clone() };
        let is_new =
            !self.contexts[inner].waiting.iter().any(|w| w.context == context && w.inst == inst && w.after == *after);
        if is_new {
            let entries = self.contexts[inner].entries.clone();
            self.contexts[inner].waiting.push(waiting.clone());
            for (_, entry, trace) in entries {
                self.resume(inner, &entry, &waiting, trace);
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
            self.charge()?;
            let trace = self.note(shape.id, inst, Some(trace));
            if let Ok(fact) = self.over_return(&shape, inst, *value, exit.clone()) {
                self.reach(context, block, fact, trace)?;
            }
        }
        Ok(())
    }

    /// `return(e)` of Figure 4: the result is assigned, and everything local goes.
    fn over_return(&self, shape: &Shape, inst: InstId, value: Option<caulk_ir::Operand>, exit: Fact) -> Feasible<Fact> {
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
            returned.filter(|_| is_miss && shape.body.operand_type(value.expect("there is one")) == caulk_ir::Type::Ptr)
        {
            before.miss(returned, regions)?;
        }
        for (local, kind) in shape.body.insts.iter() {
            let ended = || shape.body.insts.values().any(|i| matches!(i, Inst::ScopeEnd { local: l } if *l == local));
            if matches!(kind, Inst::Local { .. }) && !ended() {
                before = view.end_scope(local, before)?;
            }
        }
        Ok(before)
    }

    /// The beginning of a function is reached.
    fn entry(&mut self, context: usize, fact: Fact, trace: TraceId) -> Result<(), Stop> {
        let shape = self.contexts[context].shape.clone();
        let mut fact = fact;
        for (local, inst) in shape.body.insts.iter() {
            if matches!(inst, Inst::Local { .. }) {
                match self.view(&shape).start_scope(local, fact) {
                    Ok(before) => fact = before,
                    Err(_) => return Ok(()),
                }
            }
        }
        if !matches!(self.contexts[context].role, Role::Callee(_)) {
            return self.entry_of_loser(context, fact, trace);
        }
        let index = if self.rules.extensions.separated { fact.index() } else { Vec::new() };
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
        for waiting in self.contexts[context].waiting.clone() {
            self.resume(context, &fact, &waiting, trace);
        }
        Ok(())
    }

    /// Goes on before a call, with what holds at the beginning of its callee.
    fn resume(&mut self, inner: usize, entry: &Fact, waiting: &Waiting, trace: TraceId) {
        let callee = self.contexts[inner].shape.clone();
        let shape = self.contexts[waiting.context].shape.clone();
        let before = self.view(&shape).unmap(waiting.inst, entry, Some(&waiting.after), &callee);
        if let Ok(before) = before {
            let trace = self.note(shape.id, waiting.inst, Some(trace));
            self.push_inside(waiting.context, waiting.inst, before, trace);
        }
    }

    /// The function in which the cell is lost, or a caller of it, was entered with the cell there already.
    fn entry_of_loser(&mut self, context: usize, fact: Fact, trace: TraceId) -> Result<(), Stop> {
        let shape = self.contexts[context].shape.clone();
        let is_param = |hit: &Expr| hit.is_value();
        if self.world.config.arguments_are_held && fact.hits.iter().any(is_param) {
            return Ok(()); // The caller holds it still.
        }
        if !self.callers_are_known(shape.id) {
            return self.found(Origin::Input { function: shape.id }, trace);
        }
        let program = self.world.program;
        let callers: Vec<FuncId> = program.callers(shape.id).collect();
        for caller in callers {
            let sites = program.call_sites(caller).iter();
            let here: Vec<InstId> = sites.filter(|s| program.targets(s).contains(&shape.id)).map(|s| s.inst).collect();
            let outer = self.context(caller, Role::Caller)?;
            for inst in here {
                let caller_shape = self.contexts[outer].shape.clone();
                if let Ok(before) = self.view(&caller_shape).unmap(inst, &fact, None, &shape) {
                    let trace = self.note(caller, inst, Some(trace));
                    self.push_inside(outer, inst, before, trace);
                }
            }
        }
        Ok(())
    }

    /// Whether all callers of a function are in the program: private to its unit, never used but in calls.
    fn callers_are_known(&self, function: FuncId) -> bool {
        let program = self.world.program;
        let info = program.function(function);
        let resolved = |caller: FuncId| {
            let mut sites = program.call_sites(caller).iter().filter(|s| program.targets(s).contains(&function));
            sites.all(|s| s.outcome == Resolution::Resolved)
        };
        info.declaration.linkage == Linkage::Internal
            && !info.address_taken
            && program.callers(function).len() > 0
            && program.callers(function).all(resolved)
    }
}
