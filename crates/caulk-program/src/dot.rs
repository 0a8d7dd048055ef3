//! Graphs in the language of Graphviz.

use std::fmt::Write;

use caulk_ir::text::print_function;
use caulk_ir::{BlockId, Body, Inst};

use crate::calls::{CallKind, Resolution};
use crate::ids::FuncId;
use crate::program::Program;

/// How far around a function [`calls_dot`] looks by default.
pub const DEFAULT_DEPTH: usize = 2;

/// The call graph: all of it, or the callers and callees of one function up to `depth` calls away. Functions without
/// a body are dashed; calls through pointers are dotted lines.
pub fn calls_dot(program: &Program, around: Option<FuncId>, depth: usize) -> String {
    let shown = match around {
        Some(function) => neighbourhood(program, function, depth),
        None => program.functions().collect(),
    };
    let mut out = String::from("digraph calls {\n  node [shape=box, fontname=monospace];\n");
    for &function in &shown {
        let info = program.function(function);
        let mut label = info.name.to_owned();
        if let Some(file) = info.file.filter(|_| info.has_body) {
            let file = file.rsplit('/').next().unwrap_or(file);
            let _ = write!(label, "\n{file}:{}", info.line);
        }
        let style = match (info.has_body, Some(function) == around) {
            (false, _) => ", style=dashed",
            (true, true) => ", style=bold",
            (true, false) => "",
        };
        let _ = writeln!(out, "  {function} [label=\"{}\"{style}];", escape(&label));
    }
    for &function in &shown {
        for callee in program.callees(function).filter(|c| shown.binary_search(c).is_ok()) {
            let style = if calls_directly(program, function, callee) { "" } else { " [style=dotted]" };
            let _ = writeln!(out, "  {function} -> {callee}{style};");
        }
    }
    out.push_str("}\n");
    out
}

/// Functions up to `depth` calls up and `depth` calls down, sorted.
fn neighbourhood(program: &Program, function: FuncId, depth: usize) -> Vec<FuncId> {
    let mut found = vec![function];
    for is_up in [false, true] {
        let mut frontier = vec![function];
        for _ in 0..depth {
            let mut next: Vec<FuncId> = Vec::new();
            for &f in &frontier {
                if is_up { next.extend(program.callers(f)) } else { next.extend(program.callees(f)) }
            }
            next.sort_unstable();
            next.dedup();
            next.retain(|f| found.binary_search(f).is_err());
            found.extend_from_slice(&next);
            found.sort_unstable();
            frontier = next;
        }
    }
    found
}

fn calls_directly(program: &Program, caller: FuncId, callee: FuncId) -> bool {
    let direct = |s: &&crate::CallSite| s.kind == CallKind::Direct && s.outcome == Resolution::Resolved;
    program.call_sites(caller).iter().filter(direct).any(|s| program.targets(s).binary_search(&callee).is_ok())
}

/// The control flow of a function, one node for each block, with its instructions and their places (`@ line:column`).
/// Empty graph for a function without a body.
pub fn cfg_dot(program: &Program, function: FuncId) -> String {
    let info = program.function(function);
    let mut out = format!("digraph \"{}\" {{\n  node [shape=box, fontname=monospace];\n", escape(info.name));
    if let Some(body) = program.body(function) {
        let text = print_function(program.unit(info.unit), info.local, &body);
        for (block, text) in body.blocks.keys().zip(block_texts(&text, &body)) {
            let _ = writeln!(out, "  {block} [label=\"{}\"];", left_aligned(&text));
        }
        for block in body.blocks.keys() {
            edges(&mut out, &body, block);
        }
    }
    out.push_str("}\n");
    out
}

fn edges(out: &mut String, body: &Body, block: BlockId) {
    let terminator = body.terminator(block);
    let mut successors: Vec<(BlockId, String)> = match terminator {
        Inst::Branch { then, other, .. } => vec![(*then, "true".into()), (*other, "false".into())],
        Inst::Invoke { normal, unwind, .. } => vec![(*normal, String::new()), (*unwind, "unwind".into())],
        Inst::Switch { cases, default, .. } => {
            let cases = cases.iter().map(|(value, target)| (*target, value.to_string()));
            cases.chain([(*default, "else".into())]).collect()
        }
        _ => terminator.successors().into_iter().map(|s| (s, String::new())).collect(),
    };
    successors.dedup();
    for (to, label) in successors {
        let label = if label.is_empty() { label } else { format!(" [label=\"{label}\"]") };
        let _ = writeln!(out, "  {block} -> {to}{label};");
    }
}

/// The lines of each block, cut from the text of the function.
fn block_texts(text: &str, body: &Body) -> Vec<String> {
    let mut texts = vec![String::new(); body.blocks.len()];
    let mut current = None;
    for line in text.lines() {
        let next = current.map_or(0, |c: usize| c + 1);
        if next < texts.len() && line == format!("block{next}:") {
            current = Some(next);
        }
        if let Some(index) = current.filter(|_| line != "}") {
            let _ = writeln!(texts[index], "{}", line.trim_end());
        }
    }
    texts
}

/// For the inside of a quoted string.
fn escape(text: &str) -> String {
    text.replace('\\', "\\\\").replace('"', "\\\"").replace('\n', "\\n")
}

/// `\l` ends a line and aligns it to the left.
fn left_aligned(text: &str) -> String {
    text.lines().map(|line| escape(line) + "\\l").collect()
}
