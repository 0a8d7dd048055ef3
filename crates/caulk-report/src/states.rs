//! The memory state transition graph of a function in the source's words (Melton, Fig. 14): nodes with the states of all objects, and
//! edges with the statement and the conditions that lead there. Drawn as DOT here, and as SVG on a finding's page.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use caulk_explore::{InputPlace, JointState, ObjectState, StateGraph, TrackedObject, Transition};
use caulk_ir::{Inst, InstId, Pointee};
use caulk_program::{FuncId, TypeId, UnitId};

use crate::narrate::Narrator;

/// Conditions of an edge that are shown; those nearest to the statement stay.
const MAX_CONDITIONS: usize = 4;

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StateNode {
    /// Each object with its state, in words.
    pub states: Vec<(String, &'static str)>,
    pub is_leak: bool,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StateEdge {
    pub from: usize,
    pub to: usize,
    /// The line of the statement.
    pub line: u32,
    /// What the statement is: `free()`, `return`.
    pub statement: String,
    /// What must hold on the way, in the order of the path.
    pub conditions: Vec<String>,
    pub is_leak: bool,
}

/// A graph of states, ready to be drawn. The first node is that of the function's entry.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StatePicture {
    pub function: String,
    pub nodes: Vec<StateNode>,
    pub edges: Vec<StateEdge>,
    /// The budget ran out: not all paths are there.
    pub is_cut: bool,
}

impl Narrator<'_> {
    /// The graph in words. `only`: the objects made in this line, or None for all objects together.
    pub fn state_picture(&self, function: FuncId, graph: &StateGraph, only: Option<u32>) -> StatePicture {
        let is_wanted = |object: &TrackedObject| match (only, object) {
            (None, _) => true,
            (Some(line), TrackedObject::Made(call)) => self.sites.of(function, *call).line == line,
            (Some(_), TrackedObject::Older(_)) => false,
        };
        let projected = projected(graph, &is_wanted);
        // An older object is there from the beginning.
        let mut older: Vec<&TrackedObject> = Vec::new();
        for (object, _) in projected.nodes.iter().flatten() {
            if matches!(object, TrackedObject::Older(_)) && !older.contains(&object) {
                older.push(object);
            }
        }
        let node = |state: &JointState| {
            let untouched = older.iter().copied().filter(|o| !state.iter().any(|(known, _)| known == *o));
            let untouched = untouched.map(|object| (self.object_name(function, object), label(ObjectState::Accessed)));
            let states = state.iter().map(|(object, now)| (self.object_name(function, object), label(*now)));
            StateNode { states: untouched.chain(states).collect(), is_leak: has_leak(state) }
        };
        let edge = |transition: &Transition| {
            let Transition { from, to, statement, conditions } = transition;
            let skipped = conditions.len().saturating_sub(MAX_CONDITIONS);
            let words = conditions[skipped..].iter().filter_map(|(inst, n)| self.condition_words(function, *inst, *n));
            StateEdge {
                from: *from,
                to: *to,
                line: self.sites.of(function, *statement).line,
                statement: self.statement_words(function, *statement),
                conditions: (skipped > 0).then(|| "...".to_owned()).into_iter().chain(words).collect(),
                is_leak: has_leak(&projected.nodes[*to]) && !has_leak(&projected.nodes[*from]),
            }
        };
        StatePicture {
            function: self.program.function(function).name.to_owned(),
            nodes: projected.nodes.iter().map(node).collect(),
            edges: projected.transitions.iter().map(edge).collect(),
            is_cut: graph.is_cut,
        }
    }

    fn condition_words(&self, function: FuncId, inst: InstId, successor: u32) -> Option<String> {
        let site = self.sites.of(function, inst);
        self.branch_words((function, inst), successor as usize, &site).map(|(_, text)| text)
    }

    fn statement_words(&self, function: FuncId, inst: InstId) -> String {
        let kind = self.sites.body(function).map(|body| match &body.insts[inst] {
            Inst::Return { .. } => "return",
            Inst::Branch { .. } => "the allocation failed",
            Inst::ScopeEnd { .. } | Inst::ScopeStart { .. } | Inst::Unbind { .. } => "end of scope",
            _ => "assignment",
        });
        let callee = self.sites.callee(function, inst);
        callee.unwrap_or_else(|| kind.unwrap_or("statement").to_owned())
    }

    fn object_name(&self, function: FuncId, object: &TrackedObject) -> String {
        match object {
            TrackedObject::Made(call) => {
                let made = self.sites.call(function, *call);
                format!("{} of line {}", made.callee, made.site.line)
            }
            TrackedObject::Older(place) => self.place_name(function, place).0,
        }
    }

    /// What the function was given, as its source writes it, and the structure it points to where that is known.
    fn place_name(&self, function: FuncId, place: &InputPlace) -> (String, Option<TypeId>) {
        let info = self.program.function(function);
        match place {
            InputPlace::Param(index) => {
                let param = info.declaration.params.get(*index as usize);
                let name = param.and_then(|p| p.name).map(|name| self.program.unit(info.unit).str(name).to_owned());
                let target = param.and_then(|p| self.target(info.unit, p.pointee));
                (name.unwrap_or_else(|| format!("parameter {}", index + 1)), target)
            }
            InputPlace::Global(global) => {
                let global = self.program.global(*global);
                let unit = self.program.unit(global.unit);
                let name = unit.str(global.declaration.name.unwrap_or(global.declaration.symbol)).to_owned();
                (name, self.target(global.unit, global.declaration.pointee))
            }
            InputPlace::Local(_) => ("a local variable".to_owned(), None),
            InputPlace::Result { call, .. } => (self.sites.call(function, *call).callee, None),
            InputPlace::Cell { holder, offset } => {
                let (name, target) = self.place_name(function, holder);
                // A variable is its own memory, and its first cell is what it holds.
                if matches!(**holder, InputPlace::Global(_)) && *offset == 0 {
                    return (name, target);
                }
                let field = target.zip(u64::try_from(*offset).ok()).and_then(|(ty, at)| self.field(ty, at));
                match (field, offset) {
                    (Some((field, next)), _) => (format!("{name}->{field}"), next),
                    (None, 0) => (format!("*{name}"), None),
                    (None, _) => (format!("{name}[...]"), None),
                }
            }
        }
    }

    fn target(&self, unit: UnitId, pointee: Pointee) -> Option<TypeId> {
        let target = pointee.target.filter(|_| pointee.depth <= 1)?;
        Some(self.program.resolve_struct(unit, target))
    }

    fn field(&self, ty: TypeId, offset: u64) -> Option<(String, Option<TypeId>)> {
        let (unit, structure) = self.program.struct_type(ty);
        let field = structure.field_at(offset).filter(|field| field.offset == offset)?;
        let next = field.pointee.target.filter(|_| field.pointee.depth == 1);
        let next = next.map(|target| self.program.resolve_struct(self.program.type_info(ty).unit, target));
        Some((unit.str(field.name?).to_owned(), next))
    }
}

/// The graph of some of the objects: nodes that differ in others only become one.
fn projected(graph: &StateGraph, is_wanted: &dyn Fn(&TrackedObject) -> bool) -> StateGraph {
    let part = |state: &JointState| -> JointState { state.iter().filter(|(o, _)| is_wanted(o)).cloned().collect() };
    let mut positions: BTreeMap<JointState, usize> = graph.nodes.iter().map(|state| (part(state), 0)).collect();
    positions.values_mut().enumerate().for_each(|(at, position)| *position = at);
    let mut transitions: Vec<Transition> = Vec::new();
    for transition in &graph.transitions {
        let from = positions[&part(&graph.nodes[transition.from])];
        let to = positions[&part(&graph.nodes[transition.to])];
        let is_known = |t: &Transition| (t.from, t.to, t.statement) == (from, to, transition.statement);
        if from != to && !transitions.iter().any(is_known) {
            transitions.push(Transition { from, to, ..transition.clone() });
        }
    }
    StateGraph { nodes: positions.into_keys().collect(), transitions, is_cut: graph.is_cut }
}

fn has_leak(state: &JointState) -> bool {
    state.iter().any(|(_, state)| *state == ObjectState::Leaked)
}

fn label(state: ObjectState) -> &'static str {
    match state {
        ObjectState::Accessed => "accessed",
        ObjectState::Held => "allocated",
        ObjectState::Stored => "escaped (stored)",
        ObjectState::Freed => "freed",
        ObjectState::GivenAway => "relinquished",
        ObjectState::HandedOut => "escaped (returned)",
        ObjectState::Leaked => "leaked",
    }
}

impl StatePicture {
    /// In the language of Graphviz.
    pub fn dot(&self) -> String {
        let mut out = format!("digraph \"{}\" {{\n  node [shape=box, fontname=monospace];\n", escaped(&self.function));
        for (at, node) in self.nodes.iter().enumerate() {
            let lines: Vec<String> = node.states.iter().map(|(object, state)| format!("{object}: {state}")).collect();
            let text = if at == 0 && lines.is_empty() { "entry".to_owned() } else { lines.join("\n") };
            let style = if node.is_leak { ", color=red, fontcolor=red" } else { "" };
            let _ = writeln!(out, "  s{at} [label=\"{}\"{style}];", escaped(&text));
        }
        for edge in &self.edges {
            let style = if edge.is_leak { ", color=red, fontcolor=red" } else { "" };
            let text = escaped(&edge.label().join("\n"));
            let _ = writeln!(out, "  s{} -> s{} [label=\"{text}\"{style}];", edge.from, edge.to);
        }
        if self.is_cut {
            out.push_str("  label=\"the budget ran out: not all paths are here\";\n");
        }
        out.push_str("}\n");
        out
    }
}

impl StateEdge {
    /// The conditions, one a line, and the statement.
    pub fn label(&self) -> Vec<String> {
        let statement = format!("{}: {}", self.line, self.statement);
        self.conditions.iter().map(|c| c.replace('`', "")).chain([statement]).collect()
    }
}

fn escaped(text: &str) -> String {
    text.replace('\\', "\\\\").replace('"', "\\\"").replace('\n', "\\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn joint(states: &[(u32, ObjectState)]) -> JointState {
        states.iter().map(|(call, state)| (TrackedObject::Made(InstId(*call)), *state)).collect()
    }

    fn edge(from: usize, to: usize, statement: u32) -> Transition {
        Transition { from, to, statement: InstId(statement), conditions: Vec::new() }
    }

    #[test]
    fn nodes_that_differ_in_other_objects_become_one() {
        let graph = StateGraph {
            nodes: vec![
                joint(&[]),
                joint(&[(1, ObjectState::Held)]),
                joint(&[(1, ObjectState::Held), (2, ObjectState::Held)]),
                joint(&[(1, ObjectState::Freed), (2, ObjectState::Held)]),
            ],
            transitions: vec![edge(0, 1, 1), edge(1, 2, 2), edge(2, 3, 3)],
            is_cut: false,
        };
        let first = projected(&graph, &|object| *object == TrackedObject::Made(InstId(1)));
        assert_eq!(first.nodes.len(), 3);
        let ends: Vec<(usize, usize)> = first.transitions.iter().map(|t| (t.from, t.to)).collect();
        assert_eq!(ends, [(0, 1), (1, 2)]);
    }

    #[test]
    fn dot_marks_the_transition_that_loses() {
        let node = |states: &[(&str, &'static str)], is_leak| StateNode {
            states: states.iter().map(|(object, state)| (object.to_string(), *state)).collect(),
            is_leak,
        };
        let picture = StatePicture {
            function: "f".to_owned(),
            nodes: vec![node(&[], false), node(&[("malloc() of line 3", "leaked")], true)],
            edges: vec![StateEdge {
                from: 0,
                to: 1,
                line: 5,
                statement: "return".to_owned(),
                conditions: vec!["`x == \"a\"` is true".to_owned()],
                is_leak: true,
            }],
            is_cut: true,
        };
        let dot = picture.dot();
        assert!(dot.contains("s0 [label=\"entry\"];"), "{dot}");
        assert!(dot.contains("s1 [label=\"malloc() of line 3: leaked\", color=red, fontcolor=red];"), "{dot}");
        assert!(dot.contains("s0 -> s1 [label=\"x == \\\"a\\\" is true\\n5: return\", color=red"), "{dot}");
        assert!(dot.contains("the budget ran out"), "{dot}");
    }
}
