//! The worklist: follows one probe backwards through the program (Appendix B of the paper).

mod calls;
mod edges;

use std::cell::Cell;
use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;

use caulk_ir::{BlockId, Inst, InstId};
use caulk_program::FuncId;

use self::edges::Birth;
use crate::assign::Rules;
use crate::expr::Expr;
use crate::fact::{Fact, Feasible, Holder};
use crate::liveness::LastUses;
use crate::outcome::{CellOrigin, Outcome, Reason, TraceStep};
use crate::probe::{Probe, Start};
use crate::prover::World;
use crate::shape::{Holding, Shape};
use crate::transfer::{Flow, Walk};

/// The result of a probe and what it cost.
#[derive(Clone, Debug)]
pub struct Answer {
    pub outcome: Outcome,
    /// Every place where the cell may come from, if all were asked for.
    pub origins: Vec<CellOrigin>,
    pub transfers: usize,
    /// Entries of facts that were handled.
    pub work: usize,
    /// Points at which facts were kept, and how many facts.
    pub points: usize,
    pub facts: usize,
}

/// Follows a probe. Stops at the first origin unless all are wanted.
pub fn follow(world: &World<'_>, probe: &Probe, all_origins: bool) -> Answer {
    follow_within(world, probe, all_origins, world.config.max_work)
}

/// As [`follow`], with less work than the configuration allows.
pub(crate) fn follow_within(world: &World<'_>, probe: &Probe, all_origins: bool, max_work: usize) -> Answer {
    let rules =
        Rules { regions: world.regions, extensions: world.config.extensions, cell: probe.cell, shape: None, at: None };
    let spent = Cell::new(0);
    let mut engine = Engine {
        world,
        rules,
        spent: &spent,
        max_work,
        stored: 0,
        contexts: Vec::new(),
        index: BTreeMap::new(),
        holding: probe.holding,
        work: VecDeque::new(),
        trace: Vec::new(),
        transfers: 0,
        origins: Vec::new(),
        all_origins,
        birth: Birth::new(world, probe),
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
        work: spent.get(),
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
    /// How many calls lead down to it from where the cell is lost, or from a caller of that.
    depth: usize,
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
    Found(CellOrigin, TraceId),
    Abandoned(Reason),
}

struct Engine<'a> {
    world: &'a World<'a>,
    rules: Rules<'a>,
    spent: &'a Cell<usize>,
    max_work: usize,
    /// Entries of facts that are kept or wait.
    stored: usize,
    contexts: Vec<Context>,
    index: BTreeMap<(FuncId, Role), usize>,
    holding: Holding,
    work: VecDeque<Work>,
    trace: Vec<TraceNode>,
    transfers: usize,
    origins: Vec<(CellOrigin, TraceId)>,
    all_origins: bool,
    birth: Option<Birth>,
}

impl<'a> Engine<'a> {
    fn run(&mut self, probe: &Probe) -> Result<(), Stop> {
        let trace = self.note(probe.function, probe.place, None);
        let context = self.context(probe.function, Role::Loser, 0)?;
        self.begin(context, probe, trace)?;
        while let Some(work) = self.work.pop_front() {
            let Work { context, at, trace } = work;
            match at {
                At::End { block, slot } => {
                    let fact = self.contexts[context].reached[&block][slot].1.clone();
                    let upto = self.contexts[context].shape.body.blocks[block].terminator();
                    self.walk(context, upto, fact, trace)?;
                }
                At::Inside { upto, fact } => {
                    self.stored -= cost(&fact);
                    self.walk(context, upto, fact, trace)?;
                }
            }
        }
        Ok(())
    }

    fn begin(&mut self, context: usize, probe: &Probe, trace: TraceId) -> Result<(), Stop> {
        match probe.start {
            Start::Before(inst) => self.walk(context, inst, probe.fact.clone(), trace),
            Start::After(inst) if self.contexts[context].shape.body.insts[inst].is_terminator() => {
                self.begin_after_terminator(context, inst, probe.fact.clone(), trace)
            }
            Start::After(inst) => self.walk(context, InstId(inst.0 + 1), probe.fact.clone(), trace),
            Start::Edge { from, to } => self.edge(context, from, to, probe.fact.clone(), trace),
        }
    }

    fn begin_after_terminator(
        &mut self,
        context: usize,
        inst: InstId,
        mut fact: Fact,
        trace: TraceId,
    ) -> Result<(), Stop> {
        let shape = self.contexts[context].shape.clone();
        self.view(&shape).revive(&mut fact, self.liveness(context, &shape).deaths(inst).iter().copied());
        match &shape.body.insts[inst] {
            Inst::Return { value } => {
                // What is returned is the caller's.
                let returned = value.map(|value| self.view(&shape).expr(value));
                let missed = returned.map_or(Ok(()), |value| fact.miss(value, self.rules.regions));
                match missed.and_then(|()| self.end_locals(&shape, fact)) {
                    Ok(fact) => self.walk(context, inst, fact, trace),
                    Err(_) => Ok(()),
                }
            }
            Inst::Invoke { normal, unwind, .. } => {
                let block = shape.block_of[inst];
                self.edge(context, block, *normal, fact.clone(), trace)?;
                self.edge(context, block, *unwind, fact, trace)
            }
            _ => self.walk(context, inst, fact, trace),
        }
    }

    /// Only the function that loses the cell may count on variables that it does not use any more: others may be
    /// judged under another notion.
    fn liveness<'s>(&self, context: usize, shape: &'s Shape) -> &'s LastUses {
        let is_loser = self.contexts[context].role == Role::Loser;
        shape.liveness(if is_loser { self.holding } else { Holding::ByUse })
    }

    fn view<'s>(&self, shape: &'s Shape) -> Walk<'s>
    where
        'a: 's,
    {
        Walk { world: self.world, shape, rules: Rules { shape: Some(shape), ..self.rules }, spent: self.spent }
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
        let half = self.world.config.max_trace / 2;
        if steps.len() > 2 * half {
            steps.drain(half..steps.len() - half);
        }
        steps.shrink_to_fit();
        steps
    }

    /// The context for a function in a role, made if it is new.
    fn context(&mut self, function: FuncId, role: Role, depth: usize) -> Result<usize, Stop> {
        let key = (function, role);
        if let Some(found) = self.index.get(&key) {
            return Ok(*found);
        }
        let Some(shape) = self.world.shape(function) else {
            return Err(Stop::Abandoned(Reason::Outside { function }));
        };
        if !self.world.is_followed(&shape) {
            return Err(Stop::Abandoned(self.world.not_followed(&shape)));
        }
        if self.contexts.len() >= self.world.config.max_contexts {
            return Err(Stop::Abandoned(Reason::Contexts));
        }
        let id = self.contexts.len();
        let role = key.1.clone();
        if let Role::Callee(exit) = &role {
            self.store(2 * cost(exit))?; // Here and in the index.
        }
        let (waiting, entries, reached) = (Vec::new(), Vec::new(), BTreeMap::new());
        self.contexts.push(Context { shape, role, depth, waiting, entries, reached });
        self.index.insert(key, id);
        Ok(id)
    }

    fn found(&mut self, origin: CellOrigin, trace: TraceId) -> Result<(), Stop> {
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
        self.check_size(&fact)?;
        for inst in (range.first.0..upto.0).rev().map(InstId) {
            if matches!(shape.body.insts[inst], Inst::Phi { .. }) {
                break;
            }
            self.charge(&fact)?;
            let mut view = self.view(&shape);
            view.rules.at = Some(inst);
            let earlier = fact.hits.clone();
            view.revive(&mut fact, self.liveness(context, &shape).deaths(inst).iter().copied());
            match view.step(inst, fact) {
                Flow::Before(mut facts) => {
                    let Some(first) = facts.pop() else { return Ok(()) };
                    for other in facts {
                        let trace = self.note(shape.id, inst, Some(trace));
                        self.push_inside(context, inst, other, trace)?;
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
            self.check_size(&fact)?;
            if fact.hits != earlier {
                trace = self.note(shape.id, inst, Some(trace));
            }
        }
        self.before_block(context, block, fact, trace)
    }

    /// One transfer of a fact.
    fn charge(&mut self, fact: &Fact) -> Result<(), Stop> {
        self.transfers += 1;
        if self.transfers > self.world.config.max_transfers {
            return Err(Stop::Abandoned(Reason::Transfers));
        }
        self.spend(cost(fact))
    }

    /// Work that is no transfer.
    fn spend(&self, work: usize) -> Result<(), Stop> {
        self.spent.set(self.spent.get().saturating_add(work));
        if self.spent.get() > self.max_work { Err(Stop::Abandoned(Reason::Work)) } else { Ok(()) }
    }

    /// Something is kept that needs memory.
    fn store(&mut self, size: usize) -> Result<(), Stop> {
        self.stored += size;
        if self.stored > self.world.config.max_stored { Err(Stop::Abandoned(Reason::Work)) } else { Ok(()) }
    }

    fn check_size(&self, fact: &Fact) -> Result<(), Stop> {
        let config = &self.world.config;
        let is_too_large = fact.memory.len() > config.max_regions || fact.may.len() > config.max_values;
        if is_too_large { Err(Stop::Abandoned(Reason::Regions)) } else { Ok(()) }
    }

    /// Keeps facts small: long expressions, and more than fit, are forgotten.
    fn trim(&self, fact: &mut Fact) -> Feasible {
        let config = &self.world.config;
        let is_short = |expr: &Expr| expr.hops.len() <= config.max_hops && expr.loads().count() <= config.max_loads;
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

    fn push_inside(&mut self, context: usize, upto: InstId, fact: Fact, trace: TraceId) -> Result<(), Stop> {
        self.spend(cost(&fact))?;
        self.store(cost(&fact))?;
        self.work.push_back(Work { context, at: At::Inside { upto, fact }, trace });
        Ok(())
    }
}

/// What handling or keeping a fact costs.
fn cost(fact: &Fact) -> usize {
    1 + fact.size()
}
