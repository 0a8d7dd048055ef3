//! Allocators of the program's own that take from memory of their own, and what releases to them.
//!
//! Such an allocator calls nothing that a model describes. The header that it keeps before each block shows it: it gives back the
//! place a fixed distance behind something that it found in its memory, and the release goes back the same distance from what it is
//! given. Both are believed only where a good part of the functions that ask the one for memory give it to the other.

use std::collections::{BTreeMap, BTreeSet};

use caulk_ir::{AddressStep, Body, CallData, Inst, InstId, Operand, Type};
use caulk_memory::{AccessPath, PathRoot};
use caulk_models::{FamilyId, Models};
use caulk_program::reads::{Read, note};
use caulk_program::{FuncId, Program};
use caulk_summary::{Action, Depth, Destination, Guard, Subject, Summary};
use rustc_hash::{FxHashMap, FxHashSet};

use crate::bounds::BOUNDS;
use crate::library::give_result;

/// What one body tells.
#[derive(Debug, Default)]
pub(crate) struct Look {
    /// How far behind something that this function found the places lie that it gives back.
    behind: Vec<i64>,
    /// How far this function goes back from each of its parameters.
    before: Vec<(u32, i64)>,
    /// Functions that may be allocators, and are called here.
    asked: Vec<FuncId>,
    /// A result of a possible allocator that is given to a possible release, as the parameter of this number.
    given: Vec<(FuncId, FuncId, u32)>,
    /// Possible allocators, or releases of the parameter of this number, of which one call may reach any.
    tables: Vec<(Purpose, Vec<FuncId>)>,
}

/// What a function does with the blocks of an allocator of the program's own.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) enum Purpose {
    Allocates,
    /// Releases its parameter of this number.
    Releases(u32),
}

/// The allocators of the program's own and their releases.
#[derive(Debug, Default)]
pub(crate) struct OwnArenas {
    parts: FxHashMap<FuncId, Purpose>,
    family: Option<FamilyId>,
}

impl Look {
    pub(crate) fn new(program: &Program, function: FuncId, body: &Body) -> Self {
        let mut look = Self::default();
        if may_allocate(program, function) {
            let returned = body.blocks.keys().filter_map(|block| match body.terminator(block) {
                Inst::Return { value } => *value,
                _ => None,
            });
            look.behind =
                origins(body, returned.collect()).into_iter().filter_map(|v| header_before(body, v)).collect();
        }
        for (inst, kind) in body.insts.iter() {
            match kind {
                Inst::Address { base, .. } => look.before.extend(header_of_param(body, inst, *base)),
                _ => {
                    if let Some(call) = kind.call() {
                        look.note_call(program, function, body, inst, call);
                    }
                }
            }
        }
        look.tidy();
        look
    }

    fn note_call(&mut self, program: &Program, function: FuncId, body: &Body, inst: InstId, call: &CallData) {
        let targets = targets_of(program, function, inst);
        if call.ret == Type::Ptr {
            let makers: Vec<FuncId> = targets.iter().copied().filter(|t| may_allocate(program, *t)).collect();
            self.asked.extend(&makers);
            self.note_table(Purpose::Allocates, targets, makers);
        }
        if call.ret != Type::Void {
            return;
        }
        for (at, argument) in call.args.iter().enumerate() {
            let releasing: Vec<FuncId> = targets.iter().copied().filter(|t| may_release(program, *t, at)).collect();
            if releasing.is_empty() {
                continue;
            }
            let makers: Vec<FuncId> = origins(body, vec![*argument])
                .into_iter()
                .filter(|value| body.insts[*value].call().is_some())
                .flat_map(|value| targets_of(program, function, value).iter().copied())
                .filter(|maker| may_allocate(program, *maker))
                .collect();
            for release in &releasing {
                self.given.extend(makers.iter().map(|maker| (*maker, *release, at as u32)));
            }
            if !makers.is_empty() {
                self.note_table(Purpose::Releases(at as u32), targets, releasing);
            }
        }
    }

    fn note_table(&mut self, part: Purpose, targets: &[FuncId], fitting: Vec<FuncId>) {
        if targets.len() > 1 && fitting.len() == targets.len() {
            self.tables.push((part, fitting));
        }
    }

    fn tidy(&mut self) {
        self.behind.sort_unstable();
        self.behind.dedup();
        self.before.sort_unstable();
        self.before.dedup();
        self.asked.sort_unstable();
        self.asked.dedup();
        self.given.sort_unstable();
        self.given.dedup();
        self.tables.sort_unstable();
        self.tables.dedup();
    }
}

impl OwnArenas {
    pub(crate) fn new<'a>(models: &Models, looks: impl Iterator<Item = (FuncId, &'a Look)> + Clone) -> Self {
        let family = models.get("free").and_then(|model| model.frees_always(caulk_models::ModelRoot::Param(0)));
        let by_function: FxHashMap<FuncId, &Look> = looks.clone().collect();
        let has_same_header = |(maker, release, at): &(FuncId, FuncId, u32)| {
            let behind = by_function.get(maker).map_or(&[][..], |look| &look.behind[..]);
            by_function.get(release).is_some_and(|look| {
                look.before.iter().any(|(param, distance)| param == at && behind.contains(distance))
            })
        };
        let mut releasing: BTreeMap<(FuncId, FuncId, u32), FxHashSet<FuncId>> = BTreeMap::new();
        let mut asking: FxHashMap<FuncId, usize> = FxHashMap::default();
        for (function, look) in looks {
            for pair in look.given.iter().filter(|pair| has_same_header(pair)) {
                releasing.entry(*pair).or_default().insert(function);
            }
            for maker in &look.asked {
                *asking.entry(*maker).or_default() += 1;
            }
        }
        let mut parts = FxHashMap::default();
        for ((maker, release, at), by) in releasing {
            let asking = asking.get(&maker).copied().unwrap_or(0);
            if by.len() >= BOUNDS.releasing_functions && by.len() * BOUNDS.asking_functions >= asking {
                parts.insert(maker, Purpose::Allocates);
                parts.insert(release, Purpose::Releases(at));
            }
        }
        let tables: BTreeSet<&(Purpose, Vec<FuncId>)> = by_function.values().flat_map(|look| &look.tables).collect();
        // Who may be called in place of an allocator is one.
        let same: Vec<(FuncId, Purpose)> = tables
            .iter()
            .filter(|(part, members)| {
                2 * members.iter().filter(|m| parts.get(*m) == Some(part)).count() > members.len()
            })
            .flat_map(|(part, members)| members.iter().map(|member| (*member, *part)))
            .collect();
        for (member, part) in same {
            parts.entry(member).or_insert(part);
        }
        Self { parts, family }
    }

    pub(crate) fn len(&self) -> usize {
        self.parts.len()
    }

    /// A number for what is known of a function.
    pub(crate) fn mark(&self, function: FuncId) -> u64 {
        match self.parts.get(&function) {
            None => 0,
            Some(Purpose::Allocates) => 1,
            Some(Purpose::Releases(at)) => 2 + u64::from(*at),
        }
    }

    /// Replaces the summary of an allocator or a release: how an arena keeps its lists concerns no other code.
    pub(crate) fn rely_on(&self, function: FuncId, summary: &mut Summary) {
        note(Read::OwnArena(function));
        let (Some(part), Some(family)) = (self.parts.get(&function), self.family) else { return };
        // What takes its blocks from an allocator that is known says so itself.
        let is_known = |action: &Action| match part {
            Purpose::Allocates => matches!(action.subject, Subject::Alloc(_)) && is_returned(&action.to),
            Purpose::Releases(_) => matches!(action.to, Destination::Free { .. }),
        };
        if summary.actions.iter().any(is_known) {
            return;
        }
        *summary = Summary { impure: true, is_model: true, ..Summary::default() };
        match part {
            Purpose::Allocates => give_result(summary, family),
            Purpose::Releases(at) => summary.actions.push(Action {
                subject: Subject::Value(AccessPath::root(PathRoot::Param(*at))),
                to: Destination::Free { deep: Depth::Shallow },
                guard: Guard::Always,
            }),
        }
    }
}

fn is_returned(to: &Destination) -> bool {
    matches!(to, Destination::Store(path) if path.root == PathRoot::Return)
}

/// Whether a function with a body gives back an untyped pointer and is given a number, which may be a size.
fn may_allocate(program: &Program, function: FuncId) -> bool {
    let declaration = program.function(function).declaration;
    let is_size = |ty: &Type| matches!(ty, Type::Int(bits) if *bits >= 32);
    declaration.signature.ret == Type::Ptr
        && declaration.ret_pointee.target.is_none()
        && declaration.signature.params.iter().any(is_size)
        && program.has_body(function)
}

/// Whether a function with a body gives back nothing and is given an untyped pointer as the parameter of this number.
fn may_release(program: &Program, function: FuncId, at: usize) -> bool {
    let declaration = program.function(function).declaration;
    let is_untyped =
        declaration.params.get(at).is_some_and(|param| param.pointee.target.is_none() && !param.pointee.is_function);
    let is_pointer = declaration.signature.params.get(at) == Some(&Type::Ptr);
    declaration.signature.ret == Type::Void && is_pointer && is_untyped && program.has_body(function)
}

fn targets_of(program: &Program, function: FuncId, inst: InstId) -> &[FuncId] {
    let targets = program.call_site(function, inst).map_or(&[][..], |site| program.targets(site));
    if targets.len() <= BOUNDS.table_of_allocators { targets } else { &[] }
}

/// The instructions that some values come from, through casts and joins.
fn origins(body: &Body, mut work: Vec<Operand>) -> Vec<InstId> {
    let mut found = Vec::new();
    let mut seen = FxHashSet::default();
    while let Some(operand) = work.pop() {
        let Operand::Value(value) = operand else { continue };
        if !seen.insert(value) {
            continue;
        }
        match &body.insts[value] {
            Inst::Cast { value, .. } => work.push(*value),
            Inst::Phi { incoming, .. } => work.extend(incoming.iter().map(|(_, from)| *from)),
            Inst::Select { then, other, .. } => work.extend([*then, *other]),
            _ => found.push(value),
        }
    }
    found
}

/// The constant distance that an address lies from its base.
fn distance(body: &Body, inst: InstId) -> Option<i64> {
    let Inst::Address { steps, .. } = &body.insts[inst] else { return None };
    steps.iter().try_fold(0_i64, |sum, step| match step {
        AddressStep::Field { offset, .. } => sum.checked_add_unsigned(*offset),
        AddressStep::Bytes { offset, .. } => sum.checked_add(*offset),
        AddressStep::Index { .. } => None,
    })
}

/// How far behind something else than a parameter an address lies.
fn header_before(body: &Body, inst: InstId) -> Option<i64> {
    let Inst::Address { base, .. } = &body.insts[inst] else { return None };
    let is_found = origins(body, vec![*base]).iter().any(|from| !matches!(body.insts[*from], Inst::Param { .. }));
    distance(body, inst).filter(|distance| is_found && (1..=BOUNDS.header_bytes).contains(distance))
}

/// The parameter that an address lies before, and how far.
fn header_of_param(body: &Body, inst: InstId, base: Operand) -> Option<(u32, i64)> {
    let back = distance(body, inst).filter(|distance| (-BOUNDS.header_bytes..0).contains(distance))?;
    origins(body, vec![base]).iter().find_map(|from| match body.insts[*from] {
        Inst::Param { index, .. } => Some((index, -back)),
        _ => None,
    })
}
