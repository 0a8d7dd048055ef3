//! Exceptions that no handler takes: they end the program, and what they leave behind goes with it.

use caulk_ir::{EntityVec, Inst};
use caulk_program::{FuncId, Program};
use caulk_rules::Rule;
use rustc_hash::FxHashSet;

use crate::candidate::Loss;
use crate::exceptions::{CATCH, THROW, is_caught};
use crate::library_throws::is_library;
use crate::summarize::{Report, World};

/// What clang calls where an exception would leave a function that lets none out.
const TERMINATE: &str = "__clang_call_terminate";

/// Drops candidates that rest on an exception which nothing catches.
pub(crate) fn drop_uncaught(world: &World<'_>, reports: &mut EntityVec<FuncId, Report>) {
    let thrown = |report: &Report| report.candidates.iter().filter(|c| c.loss == Loss::Thrown).count();
    if !world.config.rules.is_on(Rule::UncaughtThrows) || reports.values().all(|report| thrown(report) == 0) {
        return;
    }
    let below = below_handlers(world.program);
    for (function, report) in reports.iter_mut() {
        if below.as_ref().is_none_or(|below| below.contains(&function)) {
            continue;
        }
        world.config.rules.note(Rule::UncaughtThrows, thrown(report));
        report.candidates.retain(|candidate| candidate.loss != Loss::Thrown);
    }
}

/// Functions whose exceptions some code may take; nothing if that may be any.
fn below_handlers(program: &Program) -> Option<FxHashSet<FuncId>> {
    let own = |symbol: &str| -> Vec<FuncId> {
        let users = program.functions().filter(|f| program.function(*f).symbol == symbol);
        users.flat_map(|f| program.callers(f)).filter(|f| !is_library(program, *f)).collect()
    };
    let mut catching = own(CATCH);
    catching.retain(|f| program.function(*f).symbol != TERMINATE);
    // The users of a library may catch what it throws, if it is written to throw at all.
    if !program.is_whole() && (!catching.is_empty() || !own(THROW).is_empty()) {
        return None;
    }
    if catching.is_empty() {
        return Some(FxHashSet::default());
    }
    let mut work: Vec<FuncId> = catching.into_iter().flat_map(|f| tried(program, f)).collect();
    // Who calls what has no caller here is not known.
    let entries = &program.config.entry_symbols;
    let is_entry = |f: &FuncId| entries.iter().any(|entry| entry == program.function(*f).symbol);
    let is_open = |f: &FuncId| program.has_body(*f) && program.callers(*f).next().is_none() && !is_entry(f);
    work.extend(program.functions().filter(is_open));
    let mut below: FxHashSet<FuncId> = FxHashSet::default();
    while let Some(function) = work.pop() {
        if below.insert(function) {
            work.extend(program.callees(function));
        }
    }
    Some(below)
}

/// What a function calls where it has a handler.
fn tried(program: &Program, function: FuncId) -> Vec<FuncId> {
    let Some(body) = program.body(function) else { return Vec::new() };
    let sites = program.call_sites(function).iter();
    let is_tried = sites.filter(|site| match body.insts[site.inst] {
        Inst::Invoke { unwind, .. } => is_caught(program, function, &body, unwind),
        _ => false,
    });
    is_tried.flat_map(|site| program.targets(site)).copied().collect()
}
