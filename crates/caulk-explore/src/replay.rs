//! A path on its own. The search merges paths that look alike, so the path it names may be one that no single run takes.
//! Before a finding is shown its path is executed again, merged with nothing. Where that fails, another path for the same
//! loss is searched for: those first that differ from the named one at the fewest branches (limited discrepancy search,
//! Harvey and Ginsberg 1995).

use std::cmp::Reverse;
use std::collections::{BTreeMap, VecDeque};

use caulk_ir::{BlockId, Body, EntityVec, InstId};
use caulk_summary::Event;

use crate::effect_cache::Given;
use crate::frame::Frame;
use crate::search::{Goal, Search, ends_of};
use crate::state::State;

/// How the replay of a candidate came out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Replay {
    /// A path holds, the named one or another.
    Holds,
    /// The budget ran out first.
    Open,
    /// Every path was executed, and none loses the object.
    Refuted,
}

/// A replay under way.
pub(crate) struct Replaying {
    /// The candidate that it is about.
    pub index: usize,
    /// Instructions executed when it ends.
    pub limit: usize,
    script: Vec<(InstId, Event)>,
    /// Steps to the allocation, and from there to the place of loss, by block.
    to_start: EntityVec<BlockId, u32>,
    to_end: EntityVec<BlockId, u32>,
    /// Of the path whose block is executed.
    here: Progress,
    /// Paths were left out in the middle of a block, because there were too many.
    has_dropped: bool,
}

/// How far a path has come along the script.
#[derive(Clone, Copy, Default)]
struct Progress {
    deviations: u32,
    /// Decisions of the script that are behind it.
    at: usize,
    /// Events on its trail that were looked at.
    seen: u32,
}

struct Waiting {
    block: BlockId,
    state: State,
    progress: Progress,
}

impl Search<'_, '_> {
    /// Executes the path found for a candidate alone. If none holds, what was found before stays.
    pub(crate) fn replay(&mut self, index: usize, givens: &[Given]) -> Replay {
        let Goal::Leaks { wanted, candidates } = self.goal else { return Replay::Open };
        let Some(first) = self.found[index].take() else { return Replay::Open };
        let frame = self.machine.frame;
        let ends = ends_of(frame, &candidates[index..=index]);
        let to_end = std::mem::replace(&mut self.to_end, frame.leading_to(&ends));
        self.replaying = Some(Replaying {
            index,
            limit: self.machine.steps + self.machine.world.config.max_replay_steps,
            script: first.script.clone(),
            to_start: distances(frame, &[frame.homes[wanted.call]]),
            to_end: distances(frame, &ends),
            here: Progress::default(),
            has_dropped: false,
        });
        self.is_draining = false;
        self.pending.clear();
        let is_whole = self.follow(givens, first.doubts());
        self.to_end = to_end;
        self.pending.clear();
        self.replaying = None;
        match self.found[index] {
            Some(_) => Replay::Holds,
            None if is_whole => Replay::Refuted,
            None => {
                self.found[index] = Some(first);
                Replay::Open
            }
        }
    }

    /// Follows paths until one loses the object with no more doubts than the first. Whether all were seen.
    fn follow(&mut self, givens: &[Given], doubts: u8) -> bool {
        let mut waiting: BTreeMap<(u32, Reverse<u32>), Waiting> = BTreeMap::new();
        let mut number = 0;
        for state in self.starts(givens) {
            number += 1;
            let start = Waiting { block: Body::ENTRY, state, progress: Progress::default() };
            waiting.insert((0, Reverse(number)), start);
        }
        while let Some((_, Waiting { block, state, progress })) = waiting.pop_first() {
            let Some(replaying) = &mut self.replaying else { return false };
            replaying.here = progress;
            let index = replaying.index;
            self.run_block(block, vec![state]);
            if self.found[index].as_ref().is_some_and(|found| found.doubts() <= doubts) {
                return false;
            }
            if self.replaying.as_ref().is_none_or(|r| self.machine.steps > r.limit) {
                return false;
            }
            for next in self.arrived() {
                number += 1;
                waiting.insert((next.progress.deviations, Reverse(number)), next);
            }
        }
        self.replaying.as_ref().is_some_and(|r| !r.has_dropped)
    }

    /// The paths that left a block, the one that is nearest to its goal last.
    fn arrived(&mut self) -> Vec<Waiting> {
        let pending = std::mem::take(&mut self.pending);
        let Some(replaying) = &self.replaying else { return Vec::new() };
        let frame = self.machine.frame;
        let mut arrived: Vec<Waiting> = Vec::new();
        for (position, states) in pending {
            let block = frame.blocks_by_order[position as usize];
            let waiting = |state: State| Waiting { block, progress: replaying.progress(frame, &state), state };
            arrived.extend(states.into_iter().map(waiting));
        }
        // The best way on is free: where a condition is decided already, there is no choice to pay for.
        let before = replaying.here.deviations;
        let least = arrived.iter().map(|w| w.progress.deviations - before).min().unwrap_or(0);
        arrived.iter_mut().for_each(|w| w.progress.deviations -= least);
        arrived.sort_by_key(|w| Reverse(replaying.distance(w.state.tracked.is_some(), w.block)));
        arrived
    }

    /// Of too many paths inside a block, those that are nearest to the script.
    pub(crate) fn nearest(&mut self, mut states: Vec<State>) -> Vec<State> {
        let (frame, limit) = (self.machine.frame, self.machine.max_states());
        if let Some(replaying) = &mut self.replaying {
            states.sort_by_cached_key(|state| {
                let progress = replaying.progress(frame, state);
                (progress.deviations, Reverse(progress.at))
            });
            replaying.has_dropped |= states.len() > limit;
            states.truncate(limit);
        }
        states
    }
}

impl Replaying {
    fn distance(&self, is_made: bool, block: BlockId) -> u32 {
        if is_made { self.to_end[block] } else { self.to_start[block] }
    }

    /// How far a path has come that left the one whose block is executed.
    fn progress(&self, frame: &Frame<'_>, state: &State) -> Progress {
        let mut progress = Progress { seen: state.trail.len(), ..self.here };
        for decision in state.trail.decisions(self.here.seen) {
            let rest = self.script.get(progress.at..).unwrap_or_default();
            match rest.first() {
                Some(expected) if *expected == decision => progress.at += 1,
                Some(expected) if expected.0 == decision.0 => {
                    progress.deviations += 1;
                    progress.at += 1;
                }
                // Off the script: back on it where it makes the same decision later on.
                _ => match rest.iter().position(|later| *later == decision) {
                    Some(ahead) => {
                        progress.at += ahead + 1;
                        progress.deviations += 1;
                    }
                    None => progress.deviations += u32::from(!self.is_nearest(frame, state, decision)),
                },
            }
        }
        progress
    }

    /// Whether a branch goes the shortest way to the goal. How a callee goes is no way to anywhere.
    fn is_nearest(&self, frame: &Frame<'_>, state: &State, (inst, event): (InstId, Event)) -> bool {
        let Event::Took(successor) = event else { return false };
        let successors: Vec<BlockId> = frame.body.insts[inst].successors().into_iter().collect();
        let distance = |block: &BlockId| self.distance(state.tracked.is_some(), *block);
        let taken = successors.get(successor as usize).map_or(u32::MAX, distance);
        successors.iter().all(|block| taken <= distance(block))
    }
}

/// Steps from each block to the nearest of some.
fn distances(frame: &Frame<'_>, targets: &[BlockId]) -> EntityVec<BlockId, u32> {
    let predecessors = frame.predecessors();
    let mut distances: EntityVec<BlockId, u32> = vec![u32::MAX; frame.body.blocks.len()].into();
    let mut work: VecDeque<(BlockId, u32)> = targets.iter().map(|block| (*block, 0)).collect();
    while let Some((block, steps)) = work.pop_front() {
        if distances[block] == u32::MAX {
            distances[block] = steps;
            work.extend(predecessors[block].iter().map(|before| (*before, steps + 1)));
        }
    }
    distances
}
