//! Exceptions: which calls may end in one, and which functions let one out.
//!
//! Almost any call may throw as far as a compiler knows. Only a `throw` that stands in the program, or in a library function that reads
//! what came from outside, is a reason to report what an exception leaves behind at normal rank. Lack of memory is none. Where there is
//! a handler on the way, whatever its type, the exception counts as caught.

use caulk_ir::{BlockId, Body, Callee, Constant, Inst, InstId};
use caulk_program::{CallKind, CallSite, FuncId, FunctionInfo, Program, Resolution, is_destructor};
use caulk_rules::{Rule, Rules};
use caulk_summary::{Summary, Throws};
use rustc_hash::{FxHashMap, FxHashSet};

use crate::library_throws::{is_library, named_throws, tells_misuse, unread_throws};
use crate::memory_throws::is_for_memory;
use crate::set_flags::decided;

/// Throws what it is given; the second argument is the type.
pub(crate) const THROW: &str = "__cxa_throw";
pub(crate) const CATCH: &str = "__cxa_begin_catch";
const NO_MEMORY: &str = "_ZTISt9bad_alloc";

/// The calls of a function that may end in an exception.
pub(crate) type Throwing = FxHashMap<InstId, Throws>;

/// In the order of calls.
pub(crate) fn in_order(throwing: &Throwing) -> Vec<(InstId, Throws)> {
    let mut all: Vec<(InstId, Throws)> = throwing.iter().map(|(inst, throws)| (*inst, *throws)).collect();
    all.sort_unstable();
    all
}

pub(crate) fn throwing_calls<'a>(
    program: &Program,
    function: FuncId,
    body: &Body,
    summary_of: &dyn Fn(FuncId) -> Option<&'a Summary>,
    rules: &Rules,
) -> Throwing {
    let is_for_memory = |inst: InstId| {
        thrown_type(program, function, body, inst) == Some(NO_MEMORY)
            || rules.applies(Rule::MemoryThrows, is_for_memory(program, function, body, summary_of, inst))
    };
    let is_misuse = |inst: InstId| thrown_type(program, function, body, inst).is_some_and(tells_misuse);
    let throws = |target: FuncId, inst: InstId| {
        let symbol = program.function(target).symbol;
        let throws = match named_throws(symbol) {
            Some(throws) => throws,
            None if symbol == THROW && is_for_memory(inst) => Throws::No,
            // What a library finds wrong with its arguments.
            None if symbol == THROW && is_library(program, function) => Throws::Check,
            None if symbol == THROW && rules.applies(Rule::MisuseThrows, is_misuse(inst)) => Throws::Misuse,
            None if symbol == THROW => Throws::Named,
            None if program.has_body(target) => summary_of(target).map_or(Throws::No, |s| s.throws),
            None => unread_throws(symbol),
        };
        if throws == Throws::Check && !rules.applies(Rule::LibraryChecks, true) { Throws::Named } else { throws }
    };
    let may_unwind = |site: &&CallSite| body.insts[site.inst].call().is_some_and(|call| !call.flags.no_unwind);
    let sites = program.call_sites(function).iter().filter(may_unwind);
    let sites = sites.filter(|site| !is_destructor_call(program, function, site.inst));
    let throws = sites.map(|site| (site.inst, throws_at(program, site, &|target| throws(target, site.inst))));
    let mut throwing: Throwing = throws.filter(|(_, throws)| *throws > Throws::No).collect();
    if rules.is_on(Rule::MemoryThrows) {
        let before = throwing.len();
        drop_unreached(body, &mut throwing);
        rules.note(Rule::MemoryThrows, before - throwing.len());
    }
    throwing
}

/// Drops what stands in handlers that only lack of memory leads to: `try { return new T; } catch (...) { throw NoMemory(); }`, and behind flags
/// that were set just before.
fn drop_unreached(body: &Body, throwing: &mut Throwing) {
    if throwing.is_empty() {
        return;
    }
    let predecessors = body.predecessors();
    let mut reached: FxHashSet<InstId> = FxHashSet::default();
    let mut seen: FxHashSet<BlockId> = FxHashSet::default();
    let mut work = vec![Body::ENTRY];
    while let Some(block) = work.pop() {
        if !seen.insert(block) {
            continue;
        }
        reached.extend(body.blocks[block].insts().filter(|inst| throwing.contains_key(inst)));
        let last = body.blocks[block].insts().last();
        if let Some(target) = decided(body, &predecessors, block) {
            work.push(target);
            continue;
        }
        match (body.terminator(block), last) {
            (Inst::Invoke { normal, .. }, Some(call)) if !throwing.contains_key(&call) => work.push(*normal),
            (terminator, _) => work.extend(terminator.successors()),
        }
    }
    throwing.retain(|inst, _| reached.contains(inst));
}

/// What a call may throw: what all its targets may. Of the methods that a virtual call may reach, some never fail; where most
/// may, the call may.
fn throws_at(program: &Program, site: &CallSite, throws: &dyn Fn(FuncId) -> Throws) -> Throws {
    let targets = program.targets(site);
    if site.kind == CallKind::Assembly {
        return Throws::No;
    }
    if site.outcome != Resolution::Resolved || targets.is_empty() {
        return Throws::Perhaps;
    }
    let wanted = if site.kind == CallKind::Virtual { targets.len().div_ceil(2) } else { targets.len() };
    let mut all: Vec<Throws> = targets.iter().map(|target| throws(*target)).collect();
    all.sort_unstable_by(|a, b| b.cmp(a));
    all[wanted - 1]
}

/// Whether a call destroys an object: no exception is taken to leave it, see [`lets_out`].
pub(crate) fn is_destructor_call(program: &Program, function: FuncId, inst: InstId) -> bool {
    let targets = program.call_site(function, inst).map(|site| program.targets(site)).unwrap_or_default();
    !targets.is_empty() && targets.iter().all(|target| is_destructor(program.function(*target).symbol))
}

/// The symbol of the type that is thrown.
fn thrown_type<'p>(program: &'p Program, function: FuncId, body: &Body, throw: InstId) -> Option<&'p str> {
    let ty = body.insts[throw].call().and_then(|call| call.args.get(1)).and_then(|arg| body.constant(*arg));
    let Some(Constant::Global { global, .. }) = ty else { return None };
    let unit = program.unit(program.function(function).unit);
    Some(unit.str(unit.globals[global].symbol))
}

/// What kind of exception leaves the function.
pub(crate) fn lets_out(program: &Program, function: FuncId, body: &Body, throwing: &Throwing, rules: &Rules) -> Throws {
    let info = program.function(function);
    // A destructor that throws ends the program while another exception is on its way, so none is written to throw. Since C++11
    // the language says so; before, it was custom.
    if throwing.is_empty() || info.declaration.flags.no_unwind || is_destructor(info.symbol) {
        return Throws::No;
    }
    // `at(i)` within bounds never throws, and nearly every function is above one that calls it: the checks of the library count where they
    // are called, and no further up.
    let is_throw = |inst: InstId| {
        let targets = program.call_site(function, inst).map(|site| program.targets(site)).unwrap_or_default();
        targets.iter().any(|target| program.function(*target).symbol == THROW)
    };
    let is_checked = is_access_operator(&info);
    let is_own = |(inst, throws): &(&InstId, &Throws)| {
        **throws != Throws::Check || is_library(program, function) || is_throw(**inst)
    };
    let leaves = |(inst, _): &(&InstId, &Throws)| match body.insts[**inst] {
        Inst::Invoke { unwind, .. } => !is_caught(program, function, body, unwind),
        _ => true,
    };
    let most = throwing.iter().filter(is_own).filter(leaves).map(|(_, throws)| *throws).max().unwrap_or_default();
    let is_check = rules.applies(Rule::AccessChecks, is_checked && most > Throws::Check);
    if is_check { Throws::Check } else { most }
}

/// Whether a function is an operator that gives access to an element: `a[i]`, `p->x`, `*p`. It throws where there is none.
fn is_access_operator(function: &FunctionInfo<'_>) -> bool {
    let name = function.name.rsplit("::").next().unwrap_or(function.name);
    match name {
        "operator[]" | "operator->" => true,
        "operator*" => function.declaration.signature.params.len() == 1,
        _ => false,
    }
}

/// Whether some handler may take an exception that arrives at a block.
pub(crate) fn is_caught(program: &Program, function: FuncId, body: &Body, unwind: BlockId) -> bool {
    let unit = program.unit(program.function(function).unit);
    let catches = |inst: InstId| {
        let callee = body.insts[inst].call().map(|call| call.callee);
        matches!(callee, Some(Callee::Direct(f)) if unit.symbol(f) == CATCH)
    };
    let mut seen: FxHashSet<BlockId> = FxHashSet::default();
    let mut work = vec![unwind];
    while let Some(block) = work.pop() {
        if !seen.insert(block) {
            continue;
        }
        if body.blocks[block].insts().any(catches) {
            return true;
        }
        work.extend(body.terminator(block).successors());
    }
    false
}
