//! The use-flow graph of a function in the language of Graphviz: the ownership states of each object that is followed.
//!
//! A vertex stands where the states of an object change: where it begins, at calls and stores that take it, where ways
//! meet or part with unlike states, and where the function ends. Blocks in which nothing happens to it are left out.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;

use caulk_ir::{BlockId, Body, InstId};
use caulk_program::FuncId;
use caulk_summary::{Event, print};

use crate::alternative::{Alternative, Status};
use crate::explain::Explainer;
use crate::names::Names;
use crate::objects::{fresh, given_start, given_values};
use crate::propagate::{Flow, Propagation, Start};
use crate::summarize::{Ownership, Summarizer};

/// The use-flow graph. Empty for a function without a body.
pub fn useflow_dot(explainer: &Explainer<'_>, function: FuncId) -> String {
    let program = explainer.program();
    let name = program.function(function).name;
    let mut out = format!("digraph \"{}\" {{\n  node [shape=box, fontname=monospace];\n", escape(name));
    if let Some(body) = program.body(function) {
        let world = explainer.world();
        let summary_of = |f: FuncId| Some(explainer.analysis().summary(f));
        let mut drawing = Drawing {
            names: Names::new(program, function, &body),
            summarizer: Summarizer::new(&world, function, &body, &summary_of, explainer.analysis().special(function)),
            predecessors: body.predecessors(),
            body: &body,
            out: &mut out,
            objects: 0,
        };
        drawing.draw_all();
    }
    out.push_str("}\n");
    out
}

struct Drawing<'o, 'a> {
    names: Names<'a>,
    summarizer: Summarizer<'a>,
    predecessors: caulk_ir::EntityVec<BlockId, Vec<BlockId>>,
    body: &'a Body,
    out: &'o mut String,
    objects: usize,
}

/// One vertex: its label, and how it is drawn.
struct Vertex {
    label: String,
    style: &'static str,
}

impl Drawing<'_, '_> {
    fn draw_all(&mut self) {
        let Summarizer { view, history, .. } = &mut self.summarizer;
        for object in fresh(view, history) {
            let name = self.names.holder(&self.summarizer.view.values, &object.first);
            let callee = self.names.callee(object.call).unwrap_or_default();
            let title = format!("{}: fresh from {callee}", name.as_deref().unwrap_or("(unnamed)"));
            self.draw(&title, Start::After(object.call), object.starts);
        }
        for value in given_values(&mut self.summarizer.view).0 {
            let Some(path) = self.summarizer.view.values.path(value) else { continue };
            let view = &self.summarizer.view;
            let title = format!("{}: given", print::path(view.program, view.id, &path));
            let Summarizer { view, history, .. } = &mut self.summarizer;
            let first = given_start(view, history, value);
            self.draw(&title, Start::Entry, vec![first]);
        }
    }

    fn draw(&mut self, title: &str, start: Start, starts: Vec<Alternative>) {
        let Some(first) = starts.first().cloned() else { return };
        let own_cell = first.cells.first().copied().filter(|_| start == Start::Entry);
        let Summarizer { view, history, .. } = &mut self.summarizer;
        let before = history.len();
        let flow = Propagation::run(view, history, start, starts);
        let events: Vec<(InstId, Event)> = history.since(before).collect();
        // The entries of blocks stand before all of their instructions.
        let mut vertices: BTreeMap<(BlockId, Option<InstId>), Vertex> = BTreeMap::new();
        self.add_start(start, &first, &mut vertices);
        self.add_entries(start, &flow, &mut vertices);
        self.add_events(&events, &mut vertices);
        self.add_exits(&flow, start, own_cell, &mut vertices);
        self.write(title, &flow, start, &vertices);
        self.objects += 1;
    }

    fn add_start(&self, start: Start, first: &Alternative, to: &mut BTreeMap<(BlockId, Option<InstId>), Vertex>) {
        let states = self.states(std::slice::from_ref(first));
        let (key, line) = match start {
            Start::Entry => {
                let view = &self.summarizer.view;
                ((Body::ENTRY, None), view.program.function(view.id).line)
            }
            Start::After(call) => ((self.summarizer.view.homes[call], Some(call)), self.line(call)),
        };
        to.insert(key, Vertex { label: format!("{line}: begins\n{states}"), style: ", style=bold" });
    }

    /// Entries of blocks where paths meet, or where the states are others than at the entry of the block before.
    fn add_entries(&self, start: Start, flow: &Flow, to: &mut BTreeMap<(BlockId, Option<InstId>), Vertex>) {
        let at: BTreeMap<BlockId, &[Alternative]> = flow.visited.iter().map(|(b, a)| (*b, a.as_slice())).collect();
        let begins = match start {
            Start::Entry => Body::ENTRY,
            Start::After(call) => self.summarizer.view.homes[call],
        };
        let is_reached = |block: &BlockId| *block == begins || at.contains_key(block);
        for (block, alternatives) in &at {
            if *block == Body::ENTRY {
                continue;
            }
            let from: Vec<BlockId> = self.predecessors[*block].iter().copied().filter(|b| is_reached(b)).collect();
            let is_changed = match from.as_slice() {
                [only] => at.get(only).is_none_or(|before| statuses(before) != statuses(alternatives)),
                _ => true,
            };
            if is_changed {
                let line = self.body.blocks[*block].insts().map(|i| self.at(i)).find(|l| !l.is_empty());
                let line = line.unwrap_or_default();
                let label =
                    format!("{line}{}\n{}", if from.len() > 1 { "join" } else { "on" }, self.states(alternatives));
                to.insert((*block, None), Vertex { label, style: ", style=rounded" });
            }
        }
    }

    fn add_events(&self, events: &[(InstId, Event)], to: &mut BTreeMap<(BlockId, Option<InstId>), Vertex>) {
        let mut words: BTreeMap<InstId, BTreeSet<&'static str>> = BTreeMap::new();
        for (inst, event) in events {
            if let Some(word) = word(*event) {
                words.entry(*inst).or_default().insert(word);
            }
        }
        for (inst, words) in words {
            let words: Vec<&str> = words.into_iter().collect();
            let mut label = format!("{}{}", self.at(inst), words.join(" or "));
            if let Some(callee) = self.names.callee(inst) {
                let _ = write!(label, " by {callee}");
            } else if let Some(place) = self.names.stored_to(&self.summarizer.view.values, inst) {
                let _ = write!(label, ": {place}");
            }
            to.insert((self.summarizer.view.homes[inst], Some(inst)), Vertex { label, style: "" });
        }
    }

    fn add_exits(
        &mut self,
        flow: &Flow,
        start: Start,
        own_cell: Option<caulk_memory::Cell>,
        to: &mut BTreeMap<(BlockId, Option<InstId>), Vertex>,
    ) {
        let mut ownerships: BTreeMap<InstId, BTreeSet<&'static str>> = BTreeMap::new();
        for exit in &flow.exits {
            let ownership = match (exit.1.status, self.summarizer.ownership(exit, own_cell)) {
                (Status::Live, Ownership::Leaked) if start == Start::Entry => "as before",
                (Status::Live, Ownership::Leaked) => "without an owner",
                (Status::Live, Ownership::HandedOut(_)) => "handed out",
                (Status::Live, _) => "held",
                (status, _) => status_word(status),
            };
            ownerships.entry(exit.0).or_default().insert(ownership);
        }
        for (exit, ownerships) in ownerships {
            let style = if ownerships.contains("without an owner") { ", color=red" } else { "" };
            let ownerships: Vec<&str> = ownerships.into_iter().collect();
            let label = format!("{}returns\n{}", self.at(exit), ownerships.join(", "));
            to.insert((self.summarizer.view.homes[exit], Some(exit)), Vertex { label, style });
        }
    }

    fn write(
        &mut self,
        title: &str,
        flow: &Flow,
        start: Start,
        vertices: &BTreeMap<(BlockId, Option<InstId>), Vertex>,
    ) {
        let object = self.objects;
        let id = |(block, inst): &(BlockId, Option<InstId>)| match inst {
            Some(inst) => format!("o{object}_i{}", inst.0),
            None => format!("o{object}_b{}", block.0),
        };
        let _ = writeln!(self.out, "  subgraph cluster_{object} {{\n    label=\"{}\";", escape(title));
        for (key, vertex) in vertices {
            let _ = writeln!(self.out, "    {} [label=\"{}\"{}];", id(key), escape(&vertex.label), vertex.style);
        }
        let reached: BTreeSet<BlockId> = flow.visited.iter().map(|(b, _)| *b).collect();
        let keys: Vec<&(BlockId, Option<InstId>)> = vertices.keys().collect();
        let mut edges: BTreeSet<(usize, usize)> = BTreeSet::new();
        let of = |block: BlockId| -> Vec<usize> { (0..keys.len()).filter(|i| keys[*i].0 == block).collect() };
        for (number, key) in keys.iter().enumerate() {
            let begins = matches!((start, key.1), (Start::After(call), Some(inst)) if call == inst);
            let is_first = number == 0 || keys[number - 1].0 != key.0;
            if !is_first && (!begins || reached.contains(&key.0)) {
                edges.insert((number - 1, number));
            }
            if is_first && reached.contains(&key.0) {
                edges.extend(self.sources(key.0, &reached, start, &of).into_iter().map(|from| (from, number)));
            }
        }
        for (from, to) in edges {
            let _ = writeln!(self.out, "    {} -> {};", id(keys[from]), id(keys[to]));
        }
        self.out.push_str("  }\n");
    }

    /// The last vertices before a block, over blocks that have none.
    fn sources(
        &self,
        block: BlockId,
        reached: &BTreeSet<BlockId>,
        start: Start,
        of: &dyn Fn(BlockId) -> Vec<usize>,
    ) -> Vec<usize> {
        let begins = match start {
            Start::Entry => Body::ENTRY,
            Start::After(call) => self.summarizer.view.homes[call],
        };
        let mut found = Vec::new();
        let mut seen: BTreeSet<BlockId> = BTreeSet::new();
        let mut work: Vec<BlockId> = self.predecessors[block].clone();
        while let Some(next) = work.pop() {
            if !seen.insert(next) || !(reached.contains(&next) || next == begins) {
                continue;
            }
            match of(next).last() {
                Some(last) => found.push(*last),
                None => work.extend(&self.predecessors[next]),
            }
        }
        found
    }

    fn line(&self, inst: InstId) -> u32 {
        self.summarizer.view.line(inst)
    }

    /// The start of a label: the line, when there is one.
    fn at(&self, inst: InstId) -> String {
        match self.line(inst) {
            0 => String::new(),
            line => format!("{line}: "),
        }
    }

    /// The alternatives, one a line: status, holders, and how much is known.
    fn states(&self, alternatives: &[Alternative]) -> String {
        let mut lines: Vec<String> = alternatives
            .iter()
            .map(|a| {
                let values = &self.summarizer.view.values;
                let vars = a.vars.iter().map(|v| self.names.variable(*v).to_owned());
                let cells = a.cells.iter().filter_map(|c| self.names.cell(values, *c));
                let holders: Vec<String> = vars.chain(cells).collect();
                let held = if holders.is_empty() { String::new() } else { format!(" in {}", holders.join(", ")) };
                let facts = match a.facts.len() {
                    1 => "1 fact".to_owned(),
                    known => format!("{known} facts"),
                };
                format!("{}{held}, {facts}", status_word(a.status))
            })
            .collect();
        lines.sort();
        lines.join("\n")
    }
}

fn statuses(alternatives: &[Alternative]) -> BTreeSet<Status> {
    alternatives.iter().map(|a| a.status).collect()
}

fn status_word(status: Status) -> &'static str {
    match status {
        Status::Live => "live",
        Status::Freed => "freed",
        Status::Kept => "kept",
        Status::Unknown => "given to unknown code",
        Status::Absent => "absent",
    }
}

/// Events that are vertices of their own.
fn word(event: Event) -> Option<&'static str> {
    Some(match event {
        Event::Stored => "stored",
        Event::Overwritten => "overwritten",
        Event::OutOfScope => "out of scope",
        Event::Freed => "freed",
        Event::FreedWithHolder => "freed with its holder",
        Event::Kept => "kept",
        Event::GivenToUnknown => "given to unknown code",
        Event::Renewed => "renewed",
        Event::NotTaken => "not taken",
        Event::Thrown => "an exception passes",
        Event::Allocated | Event::Given | Event::Took(_) | Event::Inside(..) | Event::Part(..) => return None,
    })
}

/// For the inside of a quoted string.
fn escape(text: &str) -> String {
    text.replace('\\', "\\\\").replace('"', "\\\"").replace('\n', "\\n")
}
