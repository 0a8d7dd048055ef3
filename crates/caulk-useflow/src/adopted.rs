//! Fields that a constructor takes over from its caller: `Shell(Core *core) : core(core) {}` with `new Shell(new Core)`.
//!
//! The constructor alone does not tell whether its class owns what it is given. Its callers do: where each of them gives a block that
//! it has just made and uses for nothing else, nothing but the field leads to the block, and the class has to free it.

use caulk_ir::{CallData, Inst, InstId, Operand, Type};
use caulk_memory::{Offset, PathRoot, ValueNode};
use caulk_program::{FuncId, Program, is_constructor};
use caulk_summary::{Destination, Subject};
use rustc_hash::{FxHashMap, FxHashSet};
use serde::{Deserialize, Serialize};

use crate::function::View;
use crate::schedule::Analysis;
use crate::slots::{AllocationLine, Slot};

/// A parameter of a constructor.
type Param = (FuncId, u32);

/// What a function has to do with fields that constructors take over. All sorted.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Adoptions {
    /// In a constructor: fields that receive a parameter and nothing else, with its index.
    pub adopted: Vec<(Slot, u32)>,
    /// In a constructor: its parameters that it gives to another constructor.
    pub passed: Vec<(u32, Param)>,
    /// Parameters of constructors that are given a fresh block which nothing else has, with the line.
    pub handed: Vec<(Param, u32)>,
    /// Parameters of constructors that are given something else.
    pub lent: Vec<Param>,
}

/// The parameter that a constructor stores into a field of its object, if it is that.
pub(crate) fn adopted_parameter(view: &View<'_>, value: Operand, address: Operand) -> Option<u32> {
    if !is_own_constructor(view.program, view.id) {
        return None;
    }
    let target = view.values.of_operand(address)?;
    let given = view.values.of_operand(value).filter(|cell| cell.offset == Offset::ZERO)?;
    match (view.values.node(target.base), view.values.node(given.base)) {
        (ValueNode::Param(0), ValueNode::Param(index)) if index > 0 => Some(index),
        _ => None,
    }
}

/// What the calls of constructors in a function are given.
pub(crate) fn note_given(view: &View<'_>, adoptions: &mut Adoptions) {
    for site in view.program.call_sites(view.id) {
        let [target] = view.program.targets(site) else { continue };
        let Some(call) = view.body.insts[site.inst].call().filter(|_| is_own_constructor(view.program, *target)) else {
            continue;
        };
        for (index, argument) in call.args.iter().enumerate().skip(1) {
            if view.body.operand_type(*argument) == Type::Ptr && view.body.constant(*argument).is_none() {
                note_argument(view, adoptions, site.inst, (*target, index as u32), *argument);
            }
        }
    }
    let Adoptions { adopted, passed, handed, lent } = adoptions;
    adopted.sort_unstable();
    adopted.dedup();
    passed.sort_unstable();
    passed.dedup();
    handed.sort_unstable();
    handed.dedup();
    lent.sort_unstable();
    lent.dedup();
}

fn note_argument(view: &View<'_>, adoptions: &mut Adoptions, call: InstId, to: Param, argument: Operand) {
    let cell = view.values.of_operand(argument);
    match cell.map(|cell| view.values.node(cell.base)) {
        Some(ValueNode::Param(own)) if own > 0 && is_own_constructor(view.program, view.id) => {
            adoptions.passed.push((own, to));
        }
        Some(ValueNode::Opaque(made)) if is_given_only(view, made, call, to.1) => {
            adoptions.handed.push((to, view.line_below(made)));
        }
        _ => adoptions.lent.push(to),
    }
}

/// Whether a call makes a block that one argument of another call alone takes.
pub(crate) fn is_given_only(view: &View<'_>, made: InstId, call: InstId, index: u32) -> bool {
    let is_fresh = view.calls[made].as_ref().is_some_and(|effect| effect.summary.returns_fresh());
    let is_block = |operand: Operand| {
        let base = view.values.of_operand(operand).map(|cell| view.values.node(cell.base));
        base == Some(ValueNode::Opaque(made))
    };
    let lasts = |(id, inst): (InstId, &Inst)| match inst {
        Inst::Store { value, .. } => is_block(*value),
        Inst::Return { value: Some(value) } => is_block(*value),
        Inst::Phi { incoming, .. } => incoming.iter().any(|(_, value)| is_block(*value)),
        Inst::Select { then, other, .. } => is_block(*then) || is_block(*other),
        _ => inst.call().is_some_and(|data| {
            let mut given = data.args.iter().enumerate().filter(|(_, argument)| is_block(**argument));
            given.any(|(at, _)| !(id == call && at as u32 == index) && takes(view, id, data, at, call))
        }),
    };
    is_fresh && !view.body.insts.iter().any(lasts)
}

/// Whether another call does something to the block that lasts. What frees it where its own constructor throws comes before.
fn takes(view: &View<'_>, id: InstId, data: &CallData, at: usize, call: InstId) -> bool {
    let Some(effect) = view.calls[id].as_ref() else { return false };
    let root = PathRoot::Param(at as u32);
    let acts = |to: &Destination| match to {
        Destination::Free { .. } | Destination::Renew => view.order[view.homes[id]] >= view.order[view.homes[call]],
        Destination::Store(path) => path.root != PathRoot::Return,
        Destination::Keep | Destination::Unknown => true,
    };
    let is_cleanup = || view.order[view.homes[id]] != u32::MAX && is_after_throw(view, id);
    let does = effect.summary.actions.iter().any(|action| {
        let is_block = matches!(&action.subject, Subject::Value(path) if path.root == root && path.steps.is_empty());
        is_block && acts(&action.to)
    });
    (does && !is_cleanup()) || (effect.unknown && data.args.len() > at)
}

/// Whether an instruction stands in a block that only an exception leads to.
fn is_after_throw(view: &View<'_>, id: InstId) -> bool {
    let predecessors = view.predecessors();
    let mut block = view.homes[id];
    loop {
        let is_landing = view.body.blocks[block].insts().any(|i| matches!(view.body.insts[i], Inst::LandingPad { .. }));
        match predecessors[block].as_slice() {
            _ if is_landing => return true,
            [only] if *only != block && view.order[*only] < view.order[block] => block = *only,
            _ => return false,
        }
    }
}

fn is_own_constructor(program: &Program, function: FuncId) -> bool {
    let symbol = program.function(function).symbol;
    is_constructor(symbol) && !symbol.starts_with("_ZNSt") && !symbol.starts_with("_ZN9__gnu_cxx")
}

/// Fields that constructors take over, over the whole program.
#[derive(Debug, Default)]
pub(crate) struct Adopted {
    /// Fields that some constructor is given blocks for that were made for them, and where first.
    owned: FxHashMap<Slot, AllocationLine>,
    /// Fields that receive something that may be another's.
    foreign: FxHashSet<Slot>,
}

impl Adopted {
    pub(crate) fn new(program: &Program, analysis: &Analysis, is_used: bool) -> Self {
        let all = || analysis.reports.iter().map(|(f, r)| (f, &r.slots.traffic.adoptions));
        let mut lent: FxHashSet<Param> = all().flat_map(|(_, a)| a.lent.iter().copied()).collect();
        let mut handed: FxHashMap<Param, AllocationLine> = FxHashMap::default();
        for (function, adoptions) in all() {
            for (param, line) in &adoptions.handed {
                handed.entry(*param).or_insert((function, *line));
            }
        }
        // What one constructor is given it passes on to those of its bases.
        let passed: Vec<(Param, Param)> =
            all().flat_map(|(f, a)| a.passed.iter().map(move |(own, to)| ((f, *own), *to))).collect();
        loop {
            let before = (lent.len(), handed.len());
            for (from, to) in &passed {
                if lent.contains(from) || program.callers(from.0).next().is_none() {
                    lent.insert(*to);
                }
                if let Some(&origin) = handed.get(from) {
                    handed.entry(*to).or_insert(origin);
                }
            }
            if (lent.len(), handed.len()) == before {
                break;
            }
        }
        let others = analysis.reports.values().flat_map(|report| report.slots.traffic.foreign.iter().copied());
        let mut found = Self { owned: FxHashMap::default(), foreign: others.collect() };
        for (function, adoptions) in all() {
            for (slot, index) in &adoptions.adopted {
                let param = (function, *index);
                match handed.get(&param).filter(|_| is_used && !lent.contains(&param)) {
                    Some(&origin) => drop(found.owned.entry(*slot).or_insert(origin)),
                    None => drop(found.foreign.insert(*slot)),
                }
            }
        }
        found
    }

    /// Fields that own what their constructors were given, with where that was made. In the order of the fields.
    pub(crate) fn owned(&self) -> Vec<(Slot, AllocationLine)> {
        let is_owned = |slot: &Slot| !self.foreign.contains(slot);
        let mut owned: Vec<(Slot, AllocationLine)> =
            self.owned.iter().filter(|(slot, _)| is_owned(slot)).map(|(slot, origin)| (*slot, *origin)).collect();
        owned.sort_unstable();
        owned
    }

    pub(crate) fn into_foreign(self) -> FxHashSet<Slot> {
        self.foreign
    }
}
