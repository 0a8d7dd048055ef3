//! Summaries as JSON, in the spirit of LeakGuard's: name, kind, returned objects, parameter objects.

use caulk_memory::{AccessPath, PathRoot};
use caulk_program::{FuncId, Program};
use serde::Serialize;

use crate::action::{Destination, Subject};
use crate::guard::Guard;
use crate::print;
use crate::summary::Summary;

#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct FunctionSummary {
    pub name: String,
    pub file: Option<String>,
    pub line: u32,
    /// `allocator`, `deallocator`, `keeper`: what it is to its callers, possibly several.
    pub kinds: Vec<&'static str>,
    /// Fresh blocks reached from the result.
    pub returned_objects: Vec<Object>,
    /// Fresh blocks stored to, and values freed or kept of, parameters and globals.
    pub parameter_objects: Vec<Object>,
    /// Calls through parameters: `done(list->data)`.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub calls: Vec<String>,
    pub no_return: bool,
    pub cut: bool,
}

#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Object {
    /// In the source's own names: `pdec->frame`.
    pub path: String,
    /// `allocated`, `freed`, `renewed`, `kept`, `stored`, `unknown`.
    pub action: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub to: Option<String>,
    pub conditional: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub condition: Option<String>,
}

pub fn function(program: &Program, id: FuncId, summary: &Summary) -> FunctionSummary {
    let info = program.function(id);
    let mut kinds = Vec::new();
    kinds.extend(summary.allocates().then_some("allocator"));
    kinds.extend(summary.is_deallocator().then_some("deallocator"));
    kinds.extend(summary.is_keeper().then_some("keeper"));
    let (mut returned_objects, mut parameter_objects) = (Vec::new(), Vec::new());
    for action in &summary.actions {
        let is_returned = matches!(&action.to, Destination::Store(to) if to.root == PathRoot::Return);
        let object = object(program, id, action);
        if is_returned { returned_objects.push(object) } else { parameter_objects.push(object) }
    }
    FunctionSummary {
        name: info.name.to_owned(),
        file: info.file.map(str::to_owned),
        line: info.line,
        kinds,
        returned_objects,
        parameter_objects,
        calls: summary.calls.iter().map(|call| print::param_call(program, id, call)).collect(),
        no_return: summary.no_return,
        cut: summary.cut,
    }
}

fn object(program: &Program, id: FuncId, action: &crate::Action) -> Object {
    let show = |path: &AccessPath| print::path(program, id, path);
    let (path, word, to) = match (&action.subject, &action.to) {
        (Subject::Alloc(_), Destination::Store(to)) => (show(to), "allocated", None),
        (Subject::Alloc(block), _) => (format!("fresh block {}", block.0), "unknown", None),
        (Subject::Value(value), Destination::Free { .. }) => (show(value), "freed", None),
        (Subject::Value(value), Destination::Store(to)) => (show(value), "stored", Some(show(to))),
        (Subject::Value(value), Destination::Renew) => (show(value), "renewed", None),
        (Subject::Value(value), Destination::Keep) => (show(value), "kept", None),
        (Subject::Value(value), Destination::Unknown) => (show(value), "unknown", None),
    };
    let condition = match &action.guard {
        Guard::Always | Guard::Opaque | Guard::Unsure => None,
        Guard::ByResult(relation, _) => Some(format!("ret {relation}")),
        Guard::ByArgument(value, relation) | Guard::Limited(value, relation) => {
            Some(format!("{} {relation}", show(value)))
        }
    };
    Object { path, action: word, to, conditional: action.guard != Guard::Always, condition }
}
