//! The way a path went, event after event: what a finding shows.

use std::rc::Rc;

use caulk_ir::InstId;
use caulk_summary::Event;

use crate::refused::Edge;

/// Whether the path could have gone on in another way there.
fn is_decision(event: Event) -> bool {
    matches!(event, Event::Took(_) | Event::Part(..) | Event::Allocated)
}

#[derive(Debug)]
struct Node {
    before: Trail,
    /// Events up to this one.
    length: u32,
    inst: InstId,
    event: Event,
}

/// Shared by all paths that began alike.
#[derive(Clone, Debug, Default)]
pub(crate) struct Trail(Option<Rc<Node>>);

impl Trail {
    pub(crate) fn add(&mut self, inst: InstId, event: Event) {
        *self = Trail(Some(Rc::new(Node { before: self.clone(), length: self.len() + 1, inst, event })));
    }

    pub(crate) fn len(&self) -> u32 {
        self.0.as_ref().map_or(0, |node| node.length)
    }

    /// What was decided on the path after so many events.
    pub(crate) fn decisions(&self, after: u32) -> Vec<(InstId, Event)> {
        let mut decisions = Vec::new();
        let mut at = self;
        while let Some(node) = at.0.as_ref().filter(|node| node.length > after) {
            if is_decision(node.event) {
                decisions.push((node.inst, node.event));
            }
            at = &node.before;
        }
        decisions.reverse();
        decisions
    }

    /// The branches of the function itself, after so many events.
    pub(crate) fn edges(&self, after: u32) -> Vec<Edge> {
        let edge = |(inst, event): (InstId, Event)| match event {
            Event::Took(successor) => Some((inst, successor)),
            _ => None,
        };
        self.decisions(after).into_iter().filter_map(edge).collect()
    }

    /// First to last.
    pub(crate) fn steps(&self) -> Vec<(InstId, Event)> {
        let mut steps = Vec::new();
        let mut at = self;
        while let Some(node) = &at.0 {
            steps.push((node.inst, node.event));
            at = &node.before;
        }
        steps.reverse();
        steps
    }
}

impl Drop for Node {
    /// Long trails are taken down one by one, not by recursion.
    fn drop(&mut self) {
        let mut next = std::mem::take(&mut self.before);
        while let Some(node) = next.0.take() {
            match Rc::try_unwrap(node) {
                Ok(mut node) => next = std::mem::take(&mut node.before),
                Err(_) => break,
            }
        }
    }
}
