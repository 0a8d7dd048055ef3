//! What happened to the objects of a function, event after event: the way to a candidate, and the answer to "why".

use caulk_ir::InstId;
use caulk_summary::Event;

#[derive(Clone, Debug, Default)]
pub(crate) struct History {
    events: Vec<(u32, InstId, Event)>,
}

/// Before the first event.
pub(crate) const NONE: u32 = u32::MAX;

impl History {
    pub(crate) fn add(&mut self, before: u32, inst: InstId, event: Event) -> u32 {
        self.events.push((before, inst, event));
        (self.events.len() - 1) as u32
    }

    pub(crate) fn len(&self) -> usize {
        self.events.len()
    }

    /// Where events happened since there were `from` of them.
    pub(crate) fn since(&self, from: usize) -> impl Iterator<Item = (InstId, Event)> + '_ {
        self.events[from..].iter().map(|(_, inst, event)| (*inst, *event))
    }

    /// Whether the last event is this one.
    pub(crate) fn is_last(&self, at: u32, inst: InstId, event: Event) -> bool {
        self.events.get(at as usize).is_some_and(|(_, at, what)| *at == inst && *what == event)
    }

    /// The events that lead to one, first to last.
    pub(crate) fn trail(&self, mut at: u32) -> Vec<(InstId, Event)> {
        let mut trail = Vec::new();
        while let Some(&(before, inst, event)) = self.events.get(at as usize) {
            trail.push((inst, event));
            at = before;
        }
        trail.reverse();
        trail
    }
}
