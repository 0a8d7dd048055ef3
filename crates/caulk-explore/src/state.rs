//! What is known on one path at one point.

use std::rc::Rc;

use caulk_ir::{BlockId, InstId};
use caulk_solver::{Facts, TermId};
use caulk_summary::Event;
use smallvec::SmallVec;

use crate::memory::Memory;
use crate::misuse::Watched;
pub(crate) use crate::ownership_states::Ownership;
use crate::ownership_states::Ownerships;
use crate::symbols::Key;
use crate::values::Values;
use crate::witness::Trail;

/// A loop the path is in.
#[derive(Clone, Debug)]
pub(crate) struct Iteration {
    pub header: BlockId,
    pub count: u32,
    /// Memory when the loop was entered, to see what an iteration changes.
    pub before: Rc<Memory>,
    /// Branches on which an iteration has found the only entry of a table that matches ([`crate::matches`]).
    pub matched: SmallVec<[InstId; 1]>,
}

#[derive(Clone, Debug)]
pub(crate) struct State {
    /// Values by instruction.
    pub env: Values,
    pub memory: Rc<Memory>,
    pub facts: Facts,
    /// Objects made or freed on this path, by address.
    pub ownerships: Ownerships,
    /// The object the search is about, once it exists.
    pub tracked: Option<TermId>,
    pub iterations: SmallVec<[Iteration; 2]>,
    /// Which set of constants the path began with: paths that began with others are never merged with it.
    pub beginning: u8,
    pub trail: Trail,
    /// Results of calls that return fresh memory, to tell whether one of them had to fail.
    pub allocations: SmallVec<[(InstId, TermId); 4]>,
    /// Changes whenever memory that others see may have changed.
    pub version: u32,
    /// Tells unknowns apart that merges of paths left: values that are not in `env` are new ones after each.
    pub serial: u32,
    /// Which of the places asked about the path has passed since the object exists.
    pub passed: u64,
    /// States that differed were merged on the way: the path may be one that no single run takes.
    pub is_merged: bool,
    /// It is in, or was in, an iteration of a loop of which only so much is known as holds for every iteration.
    pub is_general: bool,
    /// Calls inside of which an allocation had to fail.
    pub failures: SmallVec<[InstId; 2]>,
    /// Pointers that were read or written through, so they are not null. Sorted.
    pub dereferenced: Rc<Vec<TermId>>,
    /// Runs of bytes copied out of memory that callers know: where to, where from, how many.
    pub copies: Rc<Vec<(Key, Key, TermId)>>,
    /// Events of the trail when the state of an object changed last, where that is noted ([`crate::mstg`]).
    pub noted: u32,
    /// What misuse is found by; empty unless it is looked for.
    pub watched: Rc<Watched>,
}

impl State {
    /// What a reader is told of the path. How a callee went is told where it left the object, or where an allocation inside
    /// of it had to fail; of other calls some path went the way that was noted, and some other path another.
    pub(crate) fn steps(&self) -> Vec<(InstId, Event)> {
        let mut steps = self.trail.steps();
        let left = steps.iter().filter(|(_, event)| *event == Event::NotTaken).map(|(inst, _)| *inst);
        let left: Vec<InstId> = left.collect();
        let matters = |inst: &InstId| self.failures.contains(inst) || left.contains(inst);
        steps.retain(|(inst, event)| !matches!(event, Event::Inside(..)) || matters(inst));
        steps
    }

    pub(crate) fn new(values: usize) -> Self {
        Self {
            env: Values::new(values),
            memory: Rc::default(),
            facts: Facts::new(),
            ownerships: Ownerships::default(),
            tracked: None,
            iterations: SmallVec::new(),
            beginning: 0,
            trail: Trail::default(),
            allocations: SmallVec::new(),
            version: 0,
            serial: 0,
            passed: 0,
            is_merged: false,
            is_general: false,
            failures: SmallVec::new(),
            dereferenced: Rc::default(),
            copies: Rc::default(),
            noted: 0,
            watched: Rc::default(),
        }
    }

    pub(crate) fn get(&self, inst: InstId) -> Option<TermId> {
        self.env.get(inst)
    }

    pub(crate) fn set(&mut self, inst: InstId, value: TermId) {
        self.env.set(inst, Some(value));
    }

    pub(crate) fn memory_mut(&mut self) -> &mut Memory {
        Rc::make_mut(&mut self.memory)
    }

    pub(crate) fn ownership(&self, root: TermId) -> Option<Ownership> {
        self.ownerships.get(root)
    }

    pub(crate) fn iteration(&self, header: BlockId) -> u32 {
        self.iterations.iter().find(|r| r.header == header).map_or(0, |r| r.count)
    }
}
