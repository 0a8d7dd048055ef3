//! Summaries in the words of the source: `frees list->head`, `returns a fresh block`.

use caulk_memory::{AccessPath, Offset, PathRoot, PathStep};
use caulk_program::{FuncId, Program};

use crate::action::{Action, Destination, ParamCall, Subject};
use crate::case::{Case, Known};
use crate::guard::Guard;
use crate::summary::Summary;

/// An access path as the source would write it.
pub fn path(program: &Program, function: FuncId, path: &AccessPath) -> String {
    let mut text = root(program, function, path.root);
    // The address of a global is written as the global itself once it is loaded from.
    let mut is_address = matches!(path.root, PathRoot::Global(_));
    for step in &path.steps {
        text = self::step(program, text, is_address, step);
        is_address = false;
    }
    if is_address { format!("&{text}") } else { text }
}

/// What is found one step on from a value. `is_address`: its text stands for a variable whose address the value is.
pub fn step(program: &Program, text: String, is_address: bool, step: &PathStep) -> String {
    match (field_name(program, step), is_address) {
        (Some(field), true) => format!("{text}.{field}"),
        (Some(field), false) => format!("{text}->{field}"),
        (None, true) if step.offset == Offset::ZERO => text,
        (None, _) => match step.offset {
            Offset::Known(0) => format!("*{text}"),
            Offset::Known(offset) => format!("{text}[+{offset}]"),
            Offset::Any => format!("{text}[*]"),
        },
    }
}

fn root(program: &Program, function: FuncId, root: PathRoot) -> String {
    match root {
        PathRoot::Param(index) => {
            let info = program.function(function);
            let unit = program.unit(info.unit);
            let name = info.declaration.params.get(index as usize).and_then(|p| p.name);
            name.map_or_else(|| format!("arg{index}"), |n| unit.str(n).to_owned())
        }
        PathRoot::Global(global) => program.global(global).name.to_owned(),
        PathRoot::Return => "ret".to_owned(),
    }
}

fn field_name(program: &Program, step: &PathStep) -> Option<String> {
    let (ty, offset) = step.field?;
    let (unit, structure) = program.struct_type(ty);
    structure.field_at(offset).and_then(|f| f.name).map(|n| unit.str(n).to_owned())
}

/// One action in a line.
pub fn action(program: &Program, function: FuncId, summary: &Summary, action: &Action) -> String {
    let subject = match &action.subject {
        Subject::Alloc(block) => {
            let several = summary.blocks.len() > 1;
            if several { format!("fresh block {}", block.0) } else { "fresh block".to_owned() }
        }
        Subject::Value(value) => path(program, function, value),
    };
    let what = match &action.to {
        Destination::Free { .. } => format!("frees {subject}"),
        Destination::Store(to) if *to == AccessPath::root(PathRoot::Return) => format!("returns {subject}"),
        Destination::Store(to) => format!("stores {subject} to {}", path(program, function, to)),
        Destination::Renew => format!("renews {subject}"),
        Destination::Keep => format!("keeps {subject}"),
        Destination::Unknown => format!("gives {subject} to unknown code"),
    };
    let what = match &action.subject {
        Subject::Alloc(block) if action.guard.is_hidden() => {
            what + &cases(program, function, &summary.blocks[*block].cases)
        }
        _ => what,
    };
    match &action.guard {
        // That it does not always happen is what renewing means.
        _ if action.to == Destination::Renew => what,
        Guard::Always => what,
        Guard::ByResult(relation, _) => format!("{what} if ret {relation}"),
        Guard::ByArgument(value, relation) => format!("{what} if {} {relation}", path(program, function, value)),
        Guard::Opaque => format!("{what} sometimes"),
        Guard::Limited(value, relation) => {
            format!("{what} sometimes, if {} {relation}", path(program, function, value))
        }
        Guard::Unsure => format!("{what} perhaps"),
    }
}

/// What holds in the cases in which a block is handed out: ` (ret == -1, s->alloc != 0; ret >= 0)`.
fn cases(program: &Program, function: FuncId, cases: &[Case]) -> String {
    let known = |(value, relation): &Known| format!("{} {relation}", path(program, function, value));
    let case = |case: &Case| case.needs.iter().map(known).collect::<Vec<_>>().join(", ");
    let texts: Vec<String> = cases.iter().map(case).collect();
    if texts.iter().all(String::is_empty) { String::new() } else { format!(" ({})", texts.join("; ")) }
}

/// A call through a parameter: `done(s->data[*])`.
pub fn param_call(program: &Program, function: FuncId, call: &ParamCall) -> String {
    let show = |arg: &Option<AccessPath>| arg.as_ref().map_or_else(|| "..".to_owned(), |p| path(program, function, p));
    let args: Vec<String> = call.args.iter().map(show).collect();
    format!("{}({})", root(program, function, PathRoot::Param(call.param)), args.join(", "))
}

/// All of a summary, a line an action; empty when there is nothing to say.
pub fn summary(program: &Program, function: FuncId, summary: &Summary) -> Vec<String> {
    let mut lines: Vec<String> = Vec::new();
    if summary.no_return {
        lines.push("does not return".to_owned());
    }
    lines.extend(summary.actions.iter().map(|a| action(program, function, summary, a)));
    lines.extend(summary.calls.iter().map(|c| format!("calls {}", param_call(program, function, c))));
    lines.extend(summary.overwritten.iter().map(|p| format!("overwrites {}", path(program, function, p))));
    if summary.cut {
        lines.push("(cut: bounds were reached)".to_owned());
    }
    lines
}
