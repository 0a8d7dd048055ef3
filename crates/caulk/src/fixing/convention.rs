//! How the project gives back what one of its own functions allocated. `free()` is what its memory comes to in the end, and still wrong for a pointer
//! into the middle of a block (a string with its length before it), or for an allocator that counts.

use std::collections::{BTreeMap, BTreeSet};

use caulk_ir::{Constant, Inst, InstId, Operand, Type};
use caulk_memory::{AccessPath, PathRoot};
use caulk_program::{CallKind, FuncId, Program};
use caulk_report::{Call, Finding, shown_path};
use caulk_summary::{Action, Destination, Guard, Subject, Summary};
use caulk_useflow::Analysis;

use crate::input::Analysed;

/// A function that frees what another returned.
struct Releaser {
    name: String,
    /// It frees it in any case.
    is_sure: bool,
}

/// A family that nothing is proposed for.
const NONE: &str = "exception";
/// Functions followed from one that returns what another does.
const MAX_DEPTH: usize = 12;

/// The finding, with the function as its family by which the project frees such memory; with none where `free()` may be wrong and nothing better is
/// known.
pub(super) fn by_convention(analysed: &Analysed, finding: &Finding) -> Finding {
    let program = &analysed.program;
    let mut changed = finding.clone();
    let Some(maker) = maker(analysed, finding) else { return changed };
    let names = releasers(program, &analysed.analysis, maker);
    match names.first() {
        Some(_) if names.iter().any(|known| known.name == finding.family) => {}
        Some(Releaser { name, is_sure: true }) => changed.family.clone_from(name),
        // A count decides: one more release is not what a leak of the block needs.
        Some(_) => NONE.clone_into(&mut changed.family),
        None if returns_start(program, maker, MAX_DEPTH) => {}
        None => NONE.clone_into(&mut changed.family),
    }
    changed
}

/// The function of the project that returned the memory: the one that is called, or where that hands it out by a parameter the first below it.
fn maker(analysed: &Analysed, finding: &Finding) -> Option<FuncId> {
    std::iter::once(&finding.allocation).chain(&finding.chain).find_map(|call| returning(analysed, call))
}

/// The function that a call reaches, if it is the project's own and returns a pointer.
fn returning(analysed: &Analysed, call: &Call) -> Option<FuncId> {
    let program = &analysed.program;
    let is_named = |callee: FuncId| call.callee.strip_suffix("()") == Some(program.function(callee).name);
    for function in program.functions_named(&call.site.function) {
        let Some(body) = program.body(function) else { continue };
        let file = program.function(function).file;
        if file.is_none_or(|file| shown_path(file, &analysed.read.root) != call.site.file) {
            continue;
        }
        for at in program.call_sites(function).iter().filter(|at| at.kind == CallKind::Direct) {
            let [callee] = program.targets(at) else { continue };
            let is_pointer = program.function(*callee).declaration.signature.ret == Type::Ptr;
            let is_here = body.place(at.inst).line == call.site.line;
            if is_here && is_pointer && program.has_body(*callee) && is_named(*callee) {
                return Some(*callee);
            }
        }
    }
    None
}

/// Functions that callers give the result of a function to, and that free it; what most of them use comes first.
fn releasers(program: &Program, analysis: &Analysis, maker: FuncId) -> Vec<Releaser> {
    let mut counts: BTreeMap<&str, (usize, bool)> = BTreeMap::new();
    for caller in program.callers(maker) {
        let Some(body) = program.body(caller) else { continue };
        let sites = program.call_sites(caller).iter();
        let is_made = |inst: InstId| program.call_site(caller, inst).is_some_and(|at| program.targets(at) == [maker]);
        let made: BTreeSet<InstId> = sites.clone().map(|at| at.inst).filter(|inst| is_made(*inst)).collect();
        for at in sites {
            let ([callee], Some(data)) = (program.targets(at), body.insts[at.inst].call()) else { continue };
            let [Operand::Value(argument)] = data.args.as_slice() else { continue };
            if let Some(is_sure) = frees_argument(analysis.summary(*callee)).filter(|_| made.contains(argument)) {
                let known = counts.entry(program.function(*callee).symbol).or_insert((0, is_sure));
                known.0 += 1;
            }
        }
    }
    let mut ranked: Vec<(&str, (usize, bool))> = counts.into_iter().filter(|(name, _)| is_name(name)).collect();
    ranked.sort_by_key(|(name, (count, _))| (std::cmp::Reverse(*count), *name));
    ranked.into_iter().map(|(name, (_, is_sure))| Releaser { name: name.to_owned(), is_sure }).collect()
}

/// Whether a function frees its argument, and if so whether it does whenever there is one.
fn frees_argument(summary: &Summary) -> Option<bool> {
    let is_own = |path: &AccessPath| path.root == PathRoot::Param(0) && path.steps.is_empty();
    let is_free = |action: &&Action| {
        matches!(action.to, Destination::Free { .. }) && matches!(&action.subject, Subject::Value(path) if is_own(path))
    };
    let is_sure = |action: &Action| match &action.guard {
        Guard::Always => true,
        Guard::ByArgument(path, _) => is_own(path),
        _ => false,
    };
    summary.actions.iter().filter(is_free).map(is_sure).reduce(|one, other| one && other)
}

/// Whether all that a function returns are blocks, not places inside of them.
fn returns_start(program: &Program, function: FuncId, depth: usize) -> bool {
    let Some(body) = program.body(function) else { return true };
    let mut seen: BTreeSet<InstId> = BTreeSet::new();
    let returned = body.insts.values().filter_map(|inst| match inst {
        Inst::Return { value } => *value,
        _ => None,
    });
    let mut waiting: Vec<Operand> = returned.collect();
    while let Some(operand) = waiting.pop() {
        let value = match operand {
            Operand::Value(value) => value,
            Operand::Const(constant) => match body.consts[constant] {
                Constant::Null => continue,
                _ => return false,
            },
        };
        if !seen.insert(value) {
            continue;
        }
        match &body.insts[value] {
            Inst::Phi { incoming, .. } => waiting.extend(incoming.iter().map(|(_, operand)| *operand)),
            Inst::Select { then, other, .. } => waiting.extend([*then, *other]),
            Inst::Call(_) => {
                let targets = program.call_site(function, value).map(|at| program.targets(at)).unwrap_or_default();
                if depth == 0 || targets.is_empty() || !targets.iter().all(|f| returns_start(program, *f, depth - 1)) {
                    return false;
                }
            }
            _ => return false,
        }
    }
    true
}

fn is_name(symbol: &str) -> bool {
    !symbol.starts_with("_Z") && symbol.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_')
}
