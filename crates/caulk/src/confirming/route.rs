//! The places of a path in the source, in order: how far a run follows it, and where it leaves it.

use std::collections::BTreeSet;

use caulk_explore::Witness;
use caulk_harness::Mark;
use caulk_ir::{BlockId, Body, InstId};
use caulk_summary::Event;

/// The places of a path, the first first, each once.
#[derive(Clone, Debug, Default)]
pub(crate) struct Route {
    /// With the branch that was taken last, if any, when a run comes there.
    places: Vec<(Mark, Option<InstId>)>,
    /// All branches of the function, and where each may lead.
    branches: Vec<(InstId, Mark, Vec<Mark>)>,
}

/// How far a run came on a path.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Progress {
    /// Places of the path that were reached before the first that was not.
    pub count: usize,
    /// Lines of the last of these, and of the first that was not reached. None where all were.
    pub left: Option<(Option<u32>, u32)>,
    /// The branch that led elsewhere.
    pub branch: Option<InstId>,
}

impl Progress {
    /// In words, with the file of the function.
    pub(crate) fn shown(&self, file: &str) -> String {
        match self.left {
            Some((Some(last), next)) => format!("left the path at {file}:{last}, before line {next}"),
            Some((None, next)) => format!("left the path before {file}:{next}"),
            None => "it came to every line of the path".to_owned(),
        }
    }
}

impl Route {
    pub(crate) fn of(body: &Body, witness: &Witness) -> Self {
        let mut route = Self { places: Vec::new(), branches: branches(body) };
        let mut branch = None;
        for step in &witness.steps {
            match step.event {
                Event::Inside(..) | Event::Part(..) => {}
                Event::Took(successor) => {
                    route.add(body, step.inst, branch);
                    branch = Some(step.inst);
                    route.add_block(body, step.inst, successor);
                }
                _ => route.add(body, step.inst, branch),
            }
        }
        route.add(body, witness.place, branch);
        route
    }

    fn add(&mut self, body: &Body, inst: InstId, branch: Option<InstId>) {
        let mark = mark(body, inst);
        if mark.line != 0 && !self.places.iter().any(|(known, _)| *known == mark) {
            self.places.push((mark, branch));
        }
    }

    /// Where a branch leads: the first instruction there that has a place.
    fn add_block(&mut self, body: &Body, branch: InstId, successor: u32) {
        let Some(block) = body.insts[branch].successors().get(successor as usize).copied() else { return };
        first(body, block).into_iter().for_each(|inst| self.add(body, inst, Some(branch)));
    }

    /// `known`: the places of the function that runs can note. Of other places the path needs nothing.
    pub(crate) fn progress(&self, known: &[Mark], reached: &BTreeSet<Mark>) -> Progress {
        let mut last = None;
        let noted = self.places.iter().filter(|(place, _)| known.contains(place));
        for (count, (place, branch)) in noted.enumerate() {
            if !reached.contains(place) {
                let branch = branch.or_else(|| self.frontier(known, reached, place.line));
                return Progress { count, left: Some((last, place.line)), branch };
            }
            last = Some(place.line);
        }
        Progress { count: self.places.len(), left: None, branch: None }
    }

    /// Where the path names no branch: the last one before a line that was reached and did not lead everywhere.
    fn frontier(&self, known: &[Mark], reached: &BTreeSet<Mark>, line: u32) -> Option<InstId> {
        let is_open = |(_, own, next): &&(InstId, Mark, Vec<Mark>)| {
            reached.contains(own) && next.iter().any(|mark| known.contains(mark) && !reached.contains(mark))
        };
        let before = self.branches.iter().filter(is_open).filter(|(_, own, _)| own.line <= line);
        before.max_by_key(|(inst, own, _)| (*own, *inst)).map(|(inst, ..)| *inst)
    }
}

fn mark(body: &Body, inst: InstId) -> Mark {
    let place = body.place(inst);
    Mark { line: place.line, column: place.column }
}

/// The first instruction of a block that has a place.
fn first(body: &Body, block: BlockId) -> Option<InstId> {
    body.blocks[block].insts().find(|inst| body.place(*inst).line != 0)
}

fn branches(body: &Body) -> Vec<(InstId, Mark, Vec<Mark>)> {
    let all = body.blocks.values().map(|block| block.terminator());
    let several = all.filter(|inst| body.insts[*inst].successors().len() > 1);
    let next = |inst: InstId| body.insts[inst].successors().into_iter().filter_map(|block| first(body, block));
    several.map(|inst| (inst, mark(body, inst), next(inst).map(|inst| mark(body, inst)).collect())).collect()
}
