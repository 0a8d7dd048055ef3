//! The memory state transition graph of a function (Melton, section 3): for every object it makes, the states the object goes
//! through on feasible paths, and the statement that takes it from one to the next. In the language of Graphviz.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;

use caulk_ir::{Inst, InstId};
use caulk_program::{FuncId, Program};
use caulk_solver::TermId;
use caulk_useflow::{Analysis, UseflowConfig};

use crate::config::ExploreConfig;
use crate::frame::Frame;
use crate::machine::Machine;
use crate::search::{Goal, Search};
use crate::state::{Fate, State};
use crate::symbols::Origin;
use crate::world::World;

/// A state of an object.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) enum ObjectState {
    Unborn,
    /// Only variables of the function hold it.
    Held,
    /// Memory that outlives the function holds it.
    Stored,
    Freed,
    GivenAway,
    HandedOut,
    Leaked,
}

impl ObjectState {
    fn label(self) -> &'static str {
        match self {
            ObjectState::Unborn => "not allocated",
            ObjectState::Held => "held by locals",
            ObjectState::Stored => "stored",
            ObjectState::Freed => "freed",
            ObjectState::GivenAway => "given away",
            ObjectState::HandedOut => "returned",
            ObjectState::Leaked => "leaked",
        }
    }

    fn style(self) -> &'static str {
        match self {
            ObjectState::Leaked => ", color=red, fontcolor=red",
            ObjectState::Freed | ObjectState::HandedOut => ", color=darkgreen",
            _ => "",
        }
    }
}

/// From, to, and the statement, for each call that makes an object.
pub(crate) type Transitions = BTreeMap<InstId, BTreeSet<(ObjectState, ObjectState, InstId)>>;

/// The objects of a path, with the call that made each and its state.
pub(crate) type ObjectStates = BTreeMap<TermId, (InstId, ObjectState)>;

impl Machine<'_> {
    /// The states of all objects that the function made on a path. `result`: the path ends, and this is what it gives back.
    pub(crate) fn object_states(&self, state: &State, result: Option<Option<TermId>>) -> ObjectStates {
        let mut states = ObjectStates::new();
        for (object, fate) in state.fates.iter() {
            let Origin::Block(call) = self.origin(object) else { continue };
            let returned: Vec<TermId> = result.flatten().into_iter().collect();
            let now = match (fate, result.is_some()) {
                (Fate::Freed, _) => ObjectState::Freed,
                (Fate::Kept, _) => ObjectState::GivenAway,
                (Fate::Live, false) if self.is_held(state, object, &[], false) => ObjectState::Stored,
                (Fate::Live, false) => ObjectState::Held,
                (Fate::Live, true) if self.is_held(state, object, &[], false) => ObjectState::Stored,
                (Fate::Live, true) if self.is_held(state, object, &returned, false) => ObjectState::HandedOut,
                (Fate::Live, true) => ObjectState::Leaked,
            };
            states.insert(object, (call, now));
        }
        states
    }
}

/// Notes what a statement changed.
pub(crate) fn note(transitions: &mut Transitions, before: &ObjectStates, after: &ObjectStates, inst: InstId) {
    for (object, (call, now)) in after {
        let was = before.get(object).map_or(ObjectState::Unborn, |(_, state)| *state);
        if was != *now {
            transitions.entry(*call).or_default().insert((was, *now, inst));
        }
    }
}

/// The graph. Empty for a function without a body, or one that makes no objects.
pub fn mstg_dot(
    program: &Program,
    useflow: &UseflowConfig,
    analysis: &Analysis,
    config: &ExploreConfig,
    function: FuncId,
) -> String {
    let name = program.function(function).name.replace('\\', "\\\\").replace('"', "\\\"");
    let mut out = format!("digraph \"{name}\" {{\n  node [shape=ellipse, fontname=monospace];\n");
    if let Some(body) = program.body(function) {
        let world = World::new(program, useflow, analysis, config);
        let frame = Frame::new(program, function, &body, &|inst| world.depends_on_arguments(function, inst));
        let mut search = Search::new(Machine::new(&world, &frame), Goal::Effects, config.max_steps);
        search.transitions = Some(Transitions::new());
        search.run();
        let transitions = search.transitions.take().unwrap_or_default();
        for (number, (call, edges)) in transitions.iter().enumerate() {
            write_object(&mut out, &frame, number, *call, edges);
        }
        if search.cut {
            out.push_str("  label=\"the budget ran out: not all paths are here\";\n");
        }
    }
    out.push_str("}\n");
    out
}

fn write_object(
    out: &mut String,
    frame: &Frame<'_>,
    number: usize,
    call: InstId,
    edges: &BTreeSet<(ObjectState, ObjectState, InstId)>,
) {
    let line = |inst: InstId| frame.body.place(inst).line;
    let _ = writeln!(out, "  subgraph cluster_{number} {{\n    label=\"object of line {}\";", line(call));
    let states: BTreeSet<ObjectState> = edges.iter().flat_map(|(from, to, _)| [*from, *to]).collect();
    for state in &states {
        let _ = writeln!(out, "    o{number}_{state:?} [label=\"{}\"{}];", state.label(), state.style());
    }
    for (from, to, inst) in edges {
        let _ = writeln!(
            out,
            "    o{number}_{from:?} -> o{number}_{to:?} [label=\"{}: {}\"];",
            line(*inst),
            action(frame, *inst)
        );
    }
    out.push_str("  }\n");
}

/// What a statement does, in a word.
fn action(frame: &Frame<'_>, inst: InstId) -> String {
    match &frame.body.insts[inst] {
        Inst::Call(_) | Inst::Invoke { .. } => {
            let site = frame.program.call_site(frame.id, inst);
            let target = site.and_then(|s| frame.program.targets(s).first().copied());
            target.map_or_else(|| "call".to_owned(), |t| format!("{}()", frame.program.function(t).name))
        }
        Inst::Return { .. } => "return".to_owned(),
        Inst::ScopeEnd { .. } | Inst::ScopeStart { .. } => "end of scope".to_owned(),
        _ => "assignment".to_owned(),
    }
}
