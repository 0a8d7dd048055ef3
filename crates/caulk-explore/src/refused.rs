//! Branches that no path with the object could take: the conditions that make a candidate no leak, for those who ask.

use std::collections::BTreeMap;

use caulk_ir::{BlockId, InstId};
use caulk_summary::Event;
use caulk_useflow::Candidate;

use crate::frame::Frame;

/// A branch or switch, and the index of a successor.
pub type Edge = (InstId, u32);

/// The edges that paths with the object came to: where each leads, and whether one of the paths could take it.
#[derive(Clone, Debug, Default)]
pub(crate) struct Edges(BTreeMap<Edge, (BlockId, bool)>);

impl Edges {
    pub(crate) fn note(&mut self, edge: Edge, to: BlockId, is_taken: bool) {
        self.0.entry(edge).or_insert((to, false)).1 |= is_taken;
    }

    /// The edges towards a candidate's end that no path could take; if some are on stage one's path, only those.
    pub(crate) fn refused(&self, frame: &Frame<'_>, candidate: &Candidate) -> Vec<Edge> {
        let leads_there = frame.leading_to(&[frame.homes[candidate.exit]]);
        let all = self.0.iter().filter(|(_, (to, is_taken))| !is_taken && leads_there[*to]);
        let all: Vec<Edge> = all.map(|(edge, _)| *edge).collect();
        let trail: Vec<Edge> = candidate.trail.iter().filter_map(edge).collect();
        let on_trail: Vec<Edge> = all.iter().copied().filter(|edge| trail.contains(edge)).collect();
        if on_trail.is_empty() { all } else { on_trail }
    }
}

fn edge((inst, event): &(InstId, Event)) -> Option<Edge> {
    match event {
        Event::Took(successor) => Some((*inst, *successor)),
        _ => None,
    }
}
