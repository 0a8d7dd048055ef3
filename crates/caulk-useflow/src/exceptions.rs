//! Exceptions that code names: which calls may end in one, and which functions let one out.
//!
//! Almost any call may throw as far as a compiler knows. Only a `throw` that stands in the program, or in a library function that
//! checks its arguments, is a reason to report what an exception leaves behind. Lack of memory is none. Where there is a handler
//! on the way, whatever its type, the exception counts as caught.

use caulk_ir::{BlockId, Body, Callee, Constant, Inst, InstId};
use caulk_program::{CallKind, FuncId, Outcome, Program, is_destructor};
use caulk_rules::{Rule, Rules};
use caulk_summary::Summary;
use rustc_hash::FxHashSet;

use crate::memory_throws::is_for_memory;

/// Throws what it is given; the second argument is the type.
const THROW: &str = "__cxa_throw";
const NO_MEMORY: &str = "_ZTISt9bad_alloc";
/// Functions of the library that throw because of an argument. Those for lengths are left out: every string that grows has one.
const LIBRARY: [&str; 3] =
    ["_ZSt20__throw_out_of_rangePKc", "_ZSt24__throw_out_of_range_fmtPKcz", "_ZSt24__throw_invalid_argumentPKc"];
const CATCH: &str = "__cxa_begin_catch";

/// Calls of a function that may end in an exception somebody names.
pub(crate) fn throwing_calls<'a>(
    program: &Program,
    function: FuncId,
    body: &Body,
    summary_of: &dyn Fn(FuncId) -> Option<&'a Summary>,
    rules: &Rules,
) -> FxHashSet<InstId> {
    let is_for_memory = |inst: InstId| {
        throws_for_memory(program, function, body, inst)
            || rules.applies(Rule::MemoryThrows, is_for_memory(program, function, body, summary_of, inst))
    };
    let throws = |target: FuncId, inst: InstId| match program.function(target).symbol {
        THROW => !is_for_memory(inst),
        symbol if LIBRARY.contains(&symbol) => true,
        _ => summary_of(target).is_some_and(|s| s.throws),
    };
    let sites = program.call_sites(function).iter().filter(|site| site.outcome == Outcome::Resolved);
    let may_unwind = |inst: InstId| body.insts[inst].call().is_some_and(|call| !call.flags.no_unwind);
    sites
        .filter(|site| may_unwind(site.inst))
        .filter(|site| {
            let targets = program.targets(site);
            let throwing = targets.iter().filter(|t| throws(**t, site.inst)).count();
            // Of the methods that a virtual call may reach, some never fail; where most may, the call may.
            let wanted = if site.kind == CallKind::Virtual { targets.len().div_ceil(2) } else { targets.len() };
            throwing > 0 && throwing >= wanted
        })
        .map(|site| site.inst)
        .collect()
}

/// Members of the library that throw for lack of memory, or because a stream was told to, and for no other reason.
const QUIET: [&str; 14] = [
    "_Zn",
    "_ZNSo",
    "_ZNKSo",
    "_ZNSi",
    "_ZNSs",
    "_ZNKSs",
    "_ZStls",
    "_ZSt4endl",
    "_ZSt16__ostream_insert",
    "_ZNSt7__cxx1112basic_string",
    "_ZNKSt7__cxx1112basic_string",
    "_ZNSt8ios_base",
    "_ZNSt9basic_ios",
    "_ZNSt6locale",
];

/// Whether no exception is taken to leave a call, though a compiler must expect one: destructors, functions of C, and the members of
/// the library that only throw for lack of memory. `throws`: code below it names one.
pub fn is_quiet_call(program: &Program, function: FuncId, inst: InstId, throws: bool) -> bool {
    let targets = program.call_site(function, inst).map(|site| program.targets(site)).unwrap_or_default();
    let is_quiet = |target: &FuncId| {
        let symbol = program.function(*target).symbol;
        let is_c = !symbol.starts_with("_Z") && !symbol.starts_with("__cxa_") && !program.has_body(*target);
        is_c || QUIET.iter().any(|prefix| symbol.starts_with(prefix))
    };
    is_destructor_call(program, function, inst) || (!throws && !targets.is_empty() && targets.iter().all(is_quiet))
}

/// Whether a call destroys an object: no exception is taken to leave it, see [`lets_out`].
pub(crate) fn is_destructor_call(program: &Program, function: FuncId, inst: InstId) -> bool {
    let targets = program.call_site(function, inst).map(|site| program.targets(site)).unwrap_or_default();
    !targets.is_empty() && targets.iter().all(|target| is_destructor(program.function(*target).symbol))
}

fn throws_for_memory(program: &Program, function: FuncId, body: &Body, throw: InstId) -> bool {
    let ty = body.insts[throw].call().and_then(|call| call.args.get(1)).and_then(|arg| body.constant(*arg));
    let Some(Constant::Global { global, .. }) = ty else { return false };
    let unit = program.unit(program.function(function).unit);
    unit.str(unit.globals[global].symbol) == NO_MEMORY
}

/// Whether an exception that somebody names leaves the function.
pub(crate) fn lets_out(program: &Program, function: FuncId, body: &Body, throwing: &FxHashSet<InstId>) -> bool {
    let info = program.function(function);
    // A destructor that throws ends the program while another exception is on its way, so none is written to throw. Since C++11
    // the language says so; before, it was custom.
    if throwing.is_empty() || info.declaration.flags.no_unwind || is_destructor(info.symbol) {
        return false;
    }
    // `at(i)` within bounds never throws, and nearly every function is above one that calls it: the checks of the library count where they
    // are called, and no further up.
    let is_check = |inst: InstId| {
        let site = program.call_site(function, inst);
        let targets = site.map(|site| program.targets(site)).unwrap_or_default();
        !targets.is_empty() && targets.iter().all(|target| is_library(program.function(*target).symbol))
    };
    let is_own = |inst: &&InstId| is_library(info.symbol) || !is_check(**inst);
    throwing.iter().filter(is_own).any(|inst| match body.insts[*inst] {
        Inst::Invoke { unwind, .. } => !is_caught(program, function, body, unwind),
        _ => true,
    })
}

/// Whether a function is one of namespace `std`, or a member of a class of it.
fn is_library(symbol: &str) -> bool {
    ["_ZSt", "_ZNSt", "_ZNKSt", "_ZNSs", "_ZNKSs"].iter().any(|start| symbol.starts_with(start))
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
