//! The memory state transition graph of a function (Melton, section 4.2.3): a node is the states of all objects together, an edge a
//! statement that changes the state of one or more of them, with the branches that were taken since the node was reached. Objects
//! are those that the function makes, and older ones that it frees or gives away. How it is drawn, `caulk-report` decides.

use std::collections::{BTreeMap, BTreeSet};

use caulk_ir::InstId;
use caulk_program::{FuncId, Program};
use caulk_solver::TermId;
use caulk_useflow::{Analysis, UseflowConfig};

use crate::bounds::BOUNDS;
use crate::config::ExploreConfig;
use crate::effect_cache::EffectCache;
use crate::frame::Frame;
use crate::inputs::InputPlace;
use crate::machine::Machine;
use crate::refused::Edge as Branch;
use crate::search::{Goal, Search};
use crate::state::{Ownership, State};
use crate::symbols::Origin;
use crate::world::World;

/// A state of an object. The paper's Allocated is `Held`, its Escaped is `Stored` or `HandedOut`, its Relinquished `GivenAway`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum ObjectState {
    /// Of an older object: it was there when the function was entered.
    Accessed,
    /// Only variables of the function hold it.
    Held,
    /// Memory that outlives the function holds it.
    Stored,
    Freed,
    GivenAway,
    HandedOut,
    Leaked,
}

/// An object of the graph.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum TrackedObject {
    /// Made by this call of the function.
    Made(InstId),
    /// Older than the call: where the function finds it.
    Older(InputPlace),
}

/// The states of all objects together. An object that is not in it does not exist yet, or was not touched yet.
pub type JointState = BTreeSet<(TrackedObject, ObjectState)>;

/// A statement that changes the state of objects.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Transition {
    /// Nodes, as positions in [`StateGraph::nodes`].
    pub from: usize,
    pub to: usize,
    pub statement: InstId,
    /// Branches and switches on the way from the node to the statement, each with the number of the successor taken.
    pub conditions: Vec<(InstId, u32)>,
}

#[derive(Clone, Debug, Default)]
pub struct StateGraph {
    /// The first is that of the function's entry.
    pub nodes: Vec<JointState>,
    pub transitions: Vec<Transition>,
    /// The budget ran out: not all paths are there.
    pub is_cut: bool,
}

/// What is noted during a search.
#[derive(Clone, Debug, Default)]
pub(crate) struct Transitions {
    /// From, to, and the statement, with the shortest list of branches that leads there.
    edges: BTreeMap<(JointState, JointState, InstId), Vec<Branch>>,
}

impl Transitions {
    pub(crate) fn note(&mut self, before: &JointState, after: &JointState, inst: InstId, conditions: Vec<Branch>) {
        let known = self.edges.entry((before.clone(), after.clone(), inst)).or_insert_with(|| conditions.clone());
        if (conditions.len(), &conditions) < (known.len(), known) {
            *known = conditions;
        }
    }

    fn graph(self, is_cut: bool) -> StateGraph {
        let ends = self.edges.keys().flat_map(|(from, to, _)| [from.clone(), to.clone()]);
        // Nothing has happened at the entry: the empty set, which is the first of all.
        let all: BTreeSet<JointState> = ends.chain([JointState::new()]).collect();
        let nodes: Vec<JointState> = all.into_iter().collect();
        let position = |state: &JointState| nodes.binary_search(state).expect("every end of an edge is a node");
        let mut transitions: Vec<Transition> = Vec::with_capacity(self.edges.len());
        for ((from, to, statement), conditions) in &self.edges {
            let (from, to) = (position(from), position(to));
            transitions.push(Transition { from, to, statement: *statement, conditions: conditions.clone() });
        }
        transitions.sort();
        StateGraph { nodes, transitions, is_cut }
    }
}

impl Machine<'_> {
    /// The states of all objects of a path. `result`: the path ends, and this is what it gives back.
    pub(crate) fn object_states(&self, state: &State, result: Option<Option<TermId>>) -> JointState {
        let returned: Vec<TermId> = result.flatten().into_iter().collect();
        let mut states = JointState::new();
        // A failed allocation is no object.
        let is_there = |object: &TermId| state.facts.value(&self.pool, *object) != Some(0);
        for (object, ownership) in state.ownerships.iter().filter(|(object, _)| is_there(object)) {
            let (tracked, is_made) = match self.origin(object) {
                Origin::Block(call) => (TrackedObject::Made(call), true),
                _ => match self.place_of(object, BOUNDS.named_loads) {
                    Some(place) if place.local().is_none() => (TrackedObject::Older(place), false),
                    _ => continue,
                },
            };
            let now = match ownership {
                Ownership::Freed => ObjectState::Freed,
                Ownership::Kept => ObjectState::GivenAway,
                Ownership::Live if !is_made => ObjectState::Accessed,
                Ownership::Live if self.is_held(state, object, &[], false) => ObjectState::Stored,
                Ownership::Live if result.is_none() => ObjectState::Held,
                Ownership::Live if self.is_held(state, object, &returned, false) => ObjectState::HandedOut,
                Ownership::Live => ObjectState::Leaked,
            };
            if now != ObjectState::Accessed {
                states.insert((tracked, now));
            }
        }
        states
    }
}

/// The graph. It has one node for a function without a body, or one that touches no objects.
pub fn state_graph(
    program: &Program,
    useflow: &UseflowConfig,
    analysis: &Analysis,
    config: &ExploreConfig,
    function: FuncId,
) -> StateGraph {
    let Some(body) = program.body(function) else { return Transitions::default().graph(false) };
    let effects = EffectCache::new(program, analysis, config, &[]);
    let world = World::new(program, useflow, analysis, config, &effects);
    let frame = Frame::new(program, function, &body, &|inst| world.depends_on_arguments(function, inst));
    let mut search = Search::new(Machine::new(&world, &frame), Goal::Effects, config.max_steps);
    search.transitions = Some(Transitions::default());
    search.run();
    search.transitions.take().unwrap_or_default().graph(search.cut)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn joint(states: &[(u32, ObjectState)]) -> JointState {
        states.iter().map(|(call, state)| (TrackedObject::Made(InstId(*call)), *state)).collect()
    }

    #[test]
    fn nodes_are_joint_states_and_edges_keep_the_fewest_branches() {
        let (none, one) = (joint(&[]), joint(&[(1, ObjectState::Held)]));
        let both = joint(&[(1, ObjectState::Held), (5, ObjectState::Held)]);
        let mut transitions = Transitions::default();
        transitions.note(&none, &one, InstId(1), vec![]);
        transitions.note(&one, &both, InstId(5), vec![(InstId(3), 0), (InstId(4), 1)]);
        transitions.note(&one, &both, InstId(5), vec![(InstId(3), 1)]);
        let graph = transitions.graph(false);
        assert_eq!(graph.nodes, [none, one, both]);
        let ends: Vec<(usize, usize)> = graph.transitions.iter().map(|t| (t.from, t.to)).collect();
        assert_eq!(ends, [(0, 1), (1, 2)]);
        assert_eq!(graph.transitions[1].conditions, [(InstId(3), 1)]);
    }

    #[test]
    fn a_function_that_touches_nothing_has_its_entry_only() {
        assert_eq!(Transitions::default().graph(false).nodes, [JointState::new()]);
    }
}
