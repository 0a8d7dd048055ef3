//! Functions of the project that free a structure and what it holds: `free(p)` alone would lose its fields.

use caulk_ir::Linkage;
use caulk_memory::PathRoot;
use caulk_program::{FuncId, Program, TypeId, UnitId};
use caulk_report::{Finding, shown_path};
use caulk_summary::{Depth, Destination, Guard, Subject, Summary};

use crate::input::Analysed;

/// More would only be further guesses.
const MAX_DESTRUCTORS: usize = 2;

/// The names of functions that free what a variable of the finding's function points to, by its type.
pub(super) fn destructors(analysed: &Analysed, finding: &Finding) -> Vec<String> {
    let program = &analysed.program;
    let Some(name) = finding.variable.as_deref() else { return Vec::new() };
    let is_there = |function: &FuncId| {
        let file = program.function(*function).file;
        file.is_some_and(|file| shown_path(file, &analysed.read.root) == finding.loss.file)
    };
    let Some(own) = program.functions_named(&finding.loss.function).into_iter().find(is_there) else {
        return Vec::new();
    };
    let unit = program.function(own).unit;
    let Some(ty) = type_of(program, own, unit, name) else { return Vec::new() };
    let is_destructor = |function: &FuncId| {
        let info = program.function(*function);
        let is_visible = info.declaration.linkage != Linkage::Internal || info.unit == unit;
        *function != own
            && is_visible
            && is_name(info.symbol)
            && takes(program, *function, ty)
            && frees_deeply(analysed.analysis.summary(*function))
    };
    let all = program.functions().filter(|function| program.has_body(*function)).filter(is_destructor);
    let mut names: Vec<String> = all.map(|function| program.function(function).symbol.to_owned()).collect();
    names.sort();
    names.dedup();
    names.truncate(MAX_DESTRUCTORS);
    names
}

/// The structure that a variable points to.
fn type_of(program: &Program, function: FuncId, unit: UnitId, name: &str) -> Option<TypeId> {
    let body = program.body(function)?;
    let texts = program.unit(unit);
    let variable = body.vars.values().find(|variable| texts.str(variable.name) == name)?;
    let target = variable.pointee.target.filter(|_| variable.pointee.depth == 1)?;
    Some(program.resolve_struct(unit, target))
}

/// Whether a function has one parameter, a pointer to such a structure.
fn takes(program: &Program, function: FuncId, ty: TypeId) -> bool {
    let info = program.function(function);
    let [param] = info.declaration.params.as_slice() else { return false };
    let target = param.pointee.target.filter(|_| param.pointee.depth == 1);
    target.is_some_and(|target| program.resolve_struct(info.unit, target) == ty)
}

/// Whether its argument is freed whenever there is one, with something that it leads to.
fn frees_deeply(summary: &Summary) -> bool {
    summary.actions.iter().any(|action| {
        let is_argument =
            matches!(&action.subject, Subject::Value(path) if path.root == PathRoot::Param(0) && path.steps.is_empty());
        let is_deep = matches!(&action.to, Destination::Free { deep } if *deep != Depth::Shallow);
        is_argument && is_deep && matches!(action.guard, Guard::Always | Guard::Given(..))
    })
}

/// A name of C: that of C++ is not what the linker knows.
fn is_name(symbol: &str) -> bool {
    !symbol.starts_with("_Z") && symbol.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_')
}
