//! Objects of one function are searched for together up to where they part.
//!
//! Before an object exists, a search for it only differs from that for another one in which ways lead to the call that makes it. So all
//! begin as one search, which parts at the first block that is not the same to them: each goes on from there as if it had come alone.
//! What is found is the same; what lies before a hundred allocations is executed once.

use caulk_ir::{BlockId, EntityVec, Inst};
use caulk_useflow::{Candidate, Loss};

use crate::call::Wanted;
use crate::frame::Frame;
use crate::search::{Goal, Search, ends_of};

/// An object that is searched for.
pub(crate) struct Aim<'g> {
    wanted: Wanted,
    candidates: &'g [&'g Candidate],
    /// Blocks that lead to the call that makes it.
    to_start: EntityVec<BlockId, bool>,
    /// Exceptions matter to it in a way of its own.
    asks_for_throws: bool,
}

impl<'g> Aim<'g> {
    pub(crate) fn new(frame: &Frame<'_>, wanted: Wanted, candidates: &'g [&'g Candidate]) -> Self {
        Self {
            wanted,
            candidates,
            to_start: frame.leading_to(&[frame.homes[wanted.call]]),
            asks_for_throws: candidates.iter().any(|c| c.hidden || c.loss == Loss::Thrown),
        }
    }

    pub(crate) fn goal(&self) -> Goal<'g> {
        Goal::Leaks { wanted: self.wanted, candidates: self.candidates }
    }
}

/// What a block means to an object that does not exist yet. Objects to which all blocks so far meant the same are one search.
#[derive(PartialEq, Eq)]
struct Meaning {
    /// It is made there, or exceptions that leave from there count for it in a way of their own.
    alone: Option<usize>,
    /// Which of the blocks behind lead to it.
    leads_on: Vec<bool>,
}

impl Meaning {
    fn of(frame: &Frame<'_>, block: BlockId, (index, aim): (usize, &Aim<'_>)) -> Self {
        let end = frame.body.terminator(block);
        let is_thrown_from = aim.asks_for_throws && matches!(end, Inst::Invoke { .. });
        let is_alone = frame.homes[aim.wanted.call] == block || is_thrown_from;
        let leads_on = end.successors().into_iter().map(|next| aim.to_start[next]).collect();
        Self { alone: is_alone.then_some(index), leads_on }
    }
}

/// Goes on with a search that has just begun, for all objects, and hands over the search for each when it is done, with its number.
pub(crate) fn search_together<'a, 'g>(
    search: Search<'a, 'g>,
    aims: &[Aim<'g>],
    done: &mut dyn FnMut(Search<'a, 'g>, usize),
) {
    go_on(search, aims, (0..aims.len()).collect(), done);
}

fn go_on<'a, 'g>(
    mut search: Search<'a, 'g>,
    aims: &[Aim<'g>],
    mut together: Vec<usize>,
    done: &mut dyn FnMut(Search<'a, 'g>, usize),
) {
    search.aim_at(&aims[together[0]]);
    while together.len() > 1 {
        let Some(block) = search.next_block() else { break };
        let mut parts = parted(search.machine.frame, block, aims, &together);
        // The largest part takes the search along, so that few copies are there at once.
        parts.sort_by_key(Vec::len);
        let largest = parts.pop().unwrap_or_default();
        if !parts.is_empty() {
            for part in parts {
                go_on(search.fork(), aims, part, done);
            }
            together = largest;
            search.aim_at(&aims[together[0]]);
        }
        if together.len() > 1 && !search.run_next() {
            break;
        }
    }
    // Several are left where there is nothing more to execute before one of them exists.
    let Some((last, others)) = together.split_last() else { return };
    for index in others {
        let mut search = search.fork();
        search.aim_at(&aims[*index]);
        done(search, *index);
    }
    search.aim_at(&aims[*last]);
    if others.is_empty() {
        while search.run_next() {}
    }
    done(search, *last);
}

/// The objects that a block means the same to.
fn parted(frame: &Frame<'_>, block: BlockId, aims: &[Aim<'_>], together: &[usize]) -> Vec<Vec<usize>> {
    let mut parts: Vec<(Meaning, Vec<usize>)> = Vec::new();
    for &index in together {
        let meaning = Meaning::of(frame, block, (index, &aims[index]));
        match parts.iter_mut().find(|(known, _)| *known == meaning) {
            Some((_, part)) => part.push(index),
            None => parts.push((meaning, vec![index])),
        }
    }
    parts.into_iter().map(|(_, part)| part).collect()
}

impl<'g> Search<'_, 'g> {
    /// The same search up to here, to be gone on with for other objects. None exists yet.
    fn fork(&self) -> Self {
        Self {
            machine: self.machine.fork(),
            goal: self.goal,
            pending: self.pending.clone(),
            found: self.found.clone(),
            ends: Vec::new(),
            to_start: self.to_start.clone(),
            to_end: self.to_end.clone(),
            transitions: None,
            edges: self.edges.clone(),
            misuses: None,
            max_steps: self.max_steps,
            cut: self.cut,
            is_draining: self.is_draining,
            replaying: None,
            refuted_by_solver: 0,
            reached_end: false,
            counted_before: self.machine.steps,
        }
    }

    fn aim_at(&mut self, aim: &Aim<'g>) {
        self.goal = aim.goal();
        self.found = vec![None; aim.candidates.len()];
        self.to_start = aim.to_start.clone();
        self.to_end = self.machine.frame.leading_to(&ends_of(self.machine.frame, aim.candidates));
    }
}
