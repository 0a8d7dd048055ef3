//! Graphs of states for the pages of findings. They are made for reports in HTML only: each executes its function once more.

use std::collections::BTreeMap;

use caulk_explore::{StateGraph, state_graph};
use caulk_program::FuncId;
use caulk_report::{Narrator, StatePicture};
use caulk_useflow::Candidate;

use crate::input::{self, Analysed};

/// Nodes of a graph of all objects together beyond which only the finding's own object is drawn.
const MAX_JOINT_NODES: usize = 8;

pub(crate) struct Pictures<'a> {
    analysed: &'a Analysed,
    /// Several findings of one function share its graph.
    graphs: BTreeMap<FuncId, StateGraph>,
}

impl<'a> Pictures<'a> {
    pub(crate) fn new(analysed: &'a Analysed) -> Self {
        Self { analysed, graphs: BTreeMap::new() }
    }

    /// What happens to the object of a finding in its function; None for what other functions allocate.
    pub(crate) fn of(&mut self, narrator: &Narrator<'_>, candidate: &Candidate) -> Option<StatePicture> {
        if candidate.loss.is_made_elsewhere() {
            return None;
        }
        let Analysed { program, config, analysis, .. } = self.analysed;
        let function = candidate.function;
        let bounds = input::explore_config(config);
        let graph =
            self.graphs.entry(function).or_insert_with(|| state_graph(program, config, analysis, &bounds, function));
        let line = program.body(function)?.place(candidate.allocation).line;
        let only = (graph.nodes.len() > MAX_JOINT_NODES).then_some(line);
        Some(narrator.state_picture(function, graph, only))
    }
}
