//! Who holds an object.

use std::collections::BTreeSet;

use caulk_ir::{Inst, InstId, Operand};
use caulk_solver::TermId;
use smallvec::SmallVec;

use crate::machine::Machine;
use crate::state::{Ownership, State};
use crate::symbols::Origin;

impl Machine<'_> {
    /// The object is no longer this path's to see to.
    pub(crate) fn settle(&mut self, state: &mut State, ownership: Ownership) {
        if let Some(object) = state.tracked {
            state.ownerships.set(object, ownership);
        }
    }

    pub(crate) fn is_live(&self, state: &State) -> bool {
        state.tracked.is_some_and(|object| state.ownership(object) == Some(Ownership::Live))
    }

    /// Whether a value is a pointer to the object, or to memory that leads to it.
    pub(crate) fn leads_to(&self, state: &State, value: TermId, object: TermId) -> bool {
        let mut roots: SmallVec<[TermId; 4]> = SmallVec::new();
        self.symbols.roots(&self.pool, value, &mut roots);
        roots.iter().any(|root| self.reaches(state, *root, object))
    }

    /// Whether memory leads from one object to another.
    pub(crate) fn reaches(&self, state: &State, from: TermId, object: TermId) -> bool {
        let mut seen: BTreeSet<TermId> = BTreeSet::new();
        let mut work = vec![from];
        while let Some(root) = work.pop() {
            if root == object {
                return true;
            }
            if !seen.insert(root) {
                continue;
            }
            for (_, content) in state.memory.iter() {
                if content.holder == Some(root) && content.points.is_some() {
                    let mut roots: SmallVec<[TermId; 4]> = SmallVec::new();
                    self.symbols.roots(&self.pool, content.value, &mut roots);
                    work.extend(roots);
                }
            }
        }
        false
    }

    /// The objects that hold an object, over any number of steps, and itself. Sorted.
    pub(crate) fn holders(&self, state: &State, object: TermId) -> Vec<TermId> {
        let mut found: BTreeSet<TermId> = BTreeSet::new();
        let mut work = vec![object];
        while let Some(held) = work.pop() {
            if found.insert(held) {
                let cells = state.memory.iter().filter(|(_, c)| self.cell_points_to(c, held));
                work.extend(cells.filter_map(|(_, c)| c.holder));
            }
        }
        found.into_iter().collect()
    }

    /// Whether the object still has an owner: memory that lives on, the result, or a value that is used later.
    pub(crate) fn is_held(&self, state: &State, object: TermId, kept: &[TermId], locals_live: bool) -> bool {
        let mut seen: BTreeSet<TermId> = BTreeSet::new();
        let mut work = vec![object];
        while let Some(held) = work.pop() {
            if !seen.insert(held) {
                continue;
            }
            if kept.iter().any(|value| self.points_to(*value, held)) {
                return true;
            }
            for (_, content) in state.memory.iter() {
                if !self.cell_points_to(content, held) {
                    continue;
                }
                let Some(holder) = content.holder else { return true };
                if holder == held {
                    continue;
                }
                match (state.ownership(holder), self.origin(holder)) {
                    (Some(Ownership::Freed), _) => {}
                    (Some(Ownership::Kept), _) => return true,
                    (_, Origin::Local(_)) if !locals_live => {}
                    // It is not read again before it is set again.
                    (_, Origin::Global(g)) if !locals_live && self.world.program.only_passes_down(g) => {}
                    (Some(Ownership::Live), _) => work.push(holder),
                    _ => return true,
                }
            }
        }
        false
    }

    /// Values used after an instruction, in its block or later.
    pub(crate) fn values_after(&self, state: &State, inst: InstId) -> Vec<TermId> {
        let frame = self.frame;
        let block = frame.homes[inst];
        let later = frame.body.blocks[block].insts().filter(|i| *i > inst);
        let mut used: BTreeSet<InstId> = BTreeSet::new();
        for id in later {
            frame.body.insts[id].for_each_operand(|operand| used.extend(operand.value()));
        }
        for next in frame.body.terminator(block).successors() {
            for id in frame.body.blocks[next].insts() {
                let Inst::Phi { incoming, .. } = &frame.body.insts[id] else { break };
                let taken = incoming.iter().filter(|(from, _)| *from == block);
                used.extend(taken.filter_map(|(_, operand)| operand.value()));
            }
            used.extend(frame.live_in(next));
        }
        used.into_iter().filter(|v| *v != inst).filter_map(|v| state.get(v)).collect()
    }

    /// The value a return gives back.
    pub(crate) fn returned(&mut self, state: &State, value: Option<Operand>) -> Option<TermId> {
        value.map(|v| self.operand(state, v))
    }
}
