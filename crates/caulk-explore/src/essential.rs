//! Which branches of a path a reader has to know: those that lead into the code that allocates or loses the object, those
//! that pass by code that would have freed or kept it, and those that set what one of these asks about. That a path did not
//! leave the function earlier goes without saying, since it arrives at the loss.

use std::collections::BTreeSet;

use caulk_ir::{BlockId, EntityVec, Inst, InstId, Operand};
use caulk_summary::Event;

use crate::bounds::BOUNDS;
use crate::frame::Frame;
use crate::machine::Machine;
use crate::touched::Touched;
use crate::verdict::Step;

/// A branch on the path.
struct Taken {
    /// Which step of the path it is.
    step: usize,
    block: BlockId,
    to: BlockId,
    others: Vec<BlockId>,
    /// It leads into a body; else it passes one by.
    is_entered: bool,
}

struct Path<'p> {
    branches: Vec<Taken>,
    /// The blocks the path goes through, each with the number of branches before it.
    blocks: Vec<(BlockId, usize)>,
    steps: &'p [(InstId, Event)],
}

/// The steps of a path, and which of them have to be shown. `place`: where the object is lost.
pub(crate) fn essential(
    machine: &mut Machine<'_>,
    steps: &[(InstId, Event)],
    allocation: InstId,
    place: InstId,
) -> Vec<Step> {
    let frame = machine.frame;
    let path = Path::new(frame, steps);
    let made_at = steps.iter().position(|(inst, event)| *inst == allocation && *event == Event::Allocated);
    let made_at = made_at.unwrap_or(0);
    let made = path.branches.iter().position(|b| b.step > made_at).unwrap_or(path.branches.len());
    let mut shown: BTreeSet<usize> = BTreeSet::new();
    let mut targets = vec![(0, made, frame.homes[allocation])];
    targets.push((made, path.branches.len(), frame.homes[place]));
    let touched = Touched::new(frame, allocation, machine.names_block(allocation));
    passed_by(machine, &path, made, &mut shown, &touched);
    next_iteration(frame, &path, made, (allocation, place), &mut shown);
    targets.extend(path.set_before(frame, &shown));
    let mut seen: BTreeSet<(usize, usize, BlockId)> = BTreeSet::new();
    let ends: Vec<bool> = frame.body.blocks.keys().map(|block| never_returns(machine, block)).collect();
    let ends: EntityVec<BlockId, bool> = ends.into();
    while let Some((from, to, target)) = targets.pop() {
        if !seen.insert((from, to, target)) {
            continue;
        }
        let avoids = avoiding(frame, target, &ends);
        for index in (from..to).rev() {
            let branch = &path.branches[index];
            let depends = avoids[branch.block] && (branch.to == target || !avoids[branch.to]);
            if !depends {
                continue;
            }
            targets.push((from, index, branch.block));
            if branch.is_entered && shown.insert(index) {
                targets.extend(path.set_before(frame, &BTreeSet::from([index])));
            }
            break;
        }
    }
    let is_shown = |step: usize| shown.iter().any(|index| path.branches[*index].step == step);
    let told = |(step, &(inst, event)): (usize, &(InstId, Event))| {
        let is_essential = !matches!(event, Event::Took(_)) || is_shown(step);
        Step { inst, event, is_essential }
    };
    steps.iter().enumerate().map(told).collect()
}

/// The last jump on a path.
pub(crate) fn left_at(frame: &Frame<'_>, steps: &[(InstId, Event)]) -> Option<InstId> {
    let path = Path::new(frame, steps);
    let jump = |(block, _): &(BlockId, usize)| {
        let end = frame.body.blocks[*block].terminator();
        matches!(frame.body.insts[end], Inst::Jump { .. }).then_some(end)
    };
    path.blocks.iter().rev().find_map(jump)
}

impl<'p> Path<'p> {
    fn new(frame: &Frame<'_>, steps: &'p [(InstId, Event)]) -> Self {
        let mut path = Self { branches: Vec::new(), blocks: Vec::new(), steps };
        path.pass_through(frame, caulk_ir::Body::ENTRY);
        for (step, (inst, event)) in steps.iter().enumerate() {
            let Event::Took(successor) = event else { continue };
            let successors = frame.body.insts[*inst].successors();
            let Some(&to) = successors.get(*successor as usize) else { continue };
            let others: Vec<BlockId> = successors.iter().copied().filter(|other| *other != to).collect();
            let is_entered = is_entered(frame, *inst, to, &others);
            path.branches.push(Taken { step, block: frame.homes[*inst], to, others, is_entered });
            path.pass_through(frame, to);
        }
        path
    }

    /// The blocks from one to the next branch.
    fn pass_through(&mut self, frame: &Frame<'_>, from: BlockId) {
        let mut block = from;
        for _ in 0..frame.body.blocks.len() {
            self.blocks.push((block, self.branches.len()));
            match frame.body.terminator(block) {
                Inst::Jump { target } | Inst::Invoke { normal: target, .. } => block = *target,
                _ => return,
            }
        }
    }

    /// Where the path was when it set what the conditions of some branches ask about, as targets of the search.
    fn set_before(&self, frame: &Frame<'_>, shown: &BTreeSet<usize>) -> Vec<(usize, usize, BlockId)> {
        let mut targets = Vec::new();
        for index in shown {
            let inst = self.steps[self.branches[*index].step].0;
            let (Inst::Branch { cond: Operand::Value(value), .. } | Inst::Switch { value: Operand::Value(value), .. }) =
                frame.body.insts[inst]
            else {
                continue;
            };
            self.set_by(frame, value, *index, BOUNDS.condition_depth, &mut targets);
        }
        targets
    }

    fn set_by(
        &self,
        frame: &Frame<'_>,
        value: InstId,
        before: usize,
        depth: u32,
        targets: &mut Vec<(usize, usize, BlockId)>,
    ) {
        if depth == 0 {
            return;
        }
        let inst = &frame.body.insts[value];
        match inst {
            Inst::Phi { incoming, .. } => {
                let home = frame.homes[value];
                let entered = |(at, (block, count)): (usize, &(BlockId, usize))| {
                    (*block == home && *count <= before && at > 0).then_some(at)
                };
                let Some(at) = self.blocks.iter().enumerate().rev().find_map(|(at, pair)| entered((at, pair))) else {
                    return;
                };
                let (from, count) = self.blocks[at - 1];
                let chosen = incoming.iter().find(|(block, _)| *block == from).map(|(_, operand)| *operand);
                match chosen {
                    Some(Operand::Const(_)) => targets.push((0, count, from)),
                    Some(Operand::Value(v)) => self.set_by(frame, v, count, depth - 1, targets),
                    None => {}
                }
            }
            Inst::Compare { .. } | Inst::Cast { .. } | Inst::Binary { .. } => {
                inst.for_each_operand(|operand| {
                    if let Operand::Value(v) = *operand {
                        self.set_by(frame, v, before, depth - 1, targets);
                    }
                });
            }
            _ => {}
        }
    }
}

/// Branches after the allocation that pass by code which would have freed or kept the object, and from which the path could
/// have gone on as it did.
fn passed_by(machine: &mut Machine<'_>, path: &Path<'_>, made: usize, shown: &mut BTreeSet<usize>, touched: &Touched) {
    let frame = machine.frame;
    let mut takes: EntityVec<BlockId, bool> = vec![false; frame.body.blocks.len()].into();
    for (block, data) in frame.body.blocks.iter() {
        takes[block] = data.insts().any(|inst| touched.is_taken_at(machine, inst));
    }
    for index in made..path.branches.len() {
        let branch = &path.branches[index];
        // The path goes on through these blocks anyway.
        let rest: BTreeSet<BlockId> =
            path.blocks.iter().filter(|(_, count)| *count > index).map(|(block, _)| *block).collect();
        let to_rest = frame.leading_to(&rest.iter().copied().collect::<Vec<_>>());
        let mut region: BTreeSet<BlockId> = BTreeSet::new();
        let mut work = branch.others.clone();
        while let Some(block) = work.pop() {
            if !rest.contains(&block) && to_rest[block] && region.insert(block) {
                work.extend(frame.body.terminator(block).successors());
            }
        }
        let asks = asked_of(frame, path.steps[branch.step].0);
        if region.iter().any(|block| takes[*block]) || asks.is_some_and(|call| touched.is_taken_at(machine, call)) {
            shown.insert(index);
        }
    }
}

/// The call whose result a branch asks about: a callee may tell by it whether it took what it was given.
fn asked_of(frame: &Frame<'_>, branch: InstId) -> Option<InstId> {
    let mut at = match frame.body.insts[branch] {
        Inst::Branch { cond, .. } => cond.value()?,
        Inst::Switch { value, .. } => value.value()?,
        _ => return None,
    };
    for _ in 0..BOUNDS.condition_depth {
        match &frame.body.insts[at] {
            Inst::Call(_) | Inst::Invoke { .. } => return Some(at),
            Inst::Compare { lhs, .. } => at = lhs.value()?,
            Inst::Cast { value, .. } => at = value.value()?,
            _ => return None,
        }
    }
    None
}

/// What is lost in a later iteration of a loop: the branch that goes on with it.
fn next_iteration(
    frame: &Frame<'_>,
    path: &Path<'_>,
    made: usize,
    (allocation, place): (InstId, InstId),
    shown: &mut BTreeSet<usize>,
) {
    let shared = |header: &&BlockId| frame.loops[frame.homes[place]].contains(header);
    let headers: Vec<BlockId> = frame.loops[frame.homes[allocation]].iter().filter(shared).copied().collect();
    let is_shared_header = |block: &BlockId| headers.contains(block);
    let Some(again) = path.blocks.iter().rev().find(|(block, count)| *count > made && is_shared_header(block)) else {
        return;
    };
    // The branch of the header, or the one that led back to it.
    let at_header = (again.1..path.branches.len()).find(|index| path.branches[*index].block == again.0);
    shown.extend(at_header.or(again.1.checked_sub(1)));
}

/// Blocks from which the function can return without going through `target`.
fn avoiding(frame: &Frame<'_>, target: BlockId, ends: &EntityVec<BlockId, bool>) -> EntityVec<BlockId, bool> {
    let returns = |block: &BlockId| matches!(frame.body.terminator(*block), Inst::Return { .. });
    let predecessors = frame.predecessors();
    let mut work: Vec<BlockId> = frame.body.blocks.keys().filter(returns).collect();
    let mut avoids: EntityVec<BlockId, bool> = vec![false; frame.body.blocks.len()].into();
    while let Some(block) = work.pop() {
        if block == target || avoids[block] || ends[block] {
            continue;
        }
        avoids[block] = true;
        work.extend(predecessors[block].iter().copied());
    }
    avoids
}

/// Whether a block calls something that does not come back.
fn never_returns(machine: &mut Machine<'_>, block: BlockId) -> bool {
    let frame = machine.frame;
    frame.body.blocks[block].insts().any(|inst| {
        frame.body.insts[inst].call().is_some_and(|call| call.flags.no_return)
            || (frame.body.insts[inst].call().is_some()
                && machine.effect(inst).is_some_and(|effect| effect.summary.no_return))
    })
}

/// Whether a branch goes into the body of its statement and not past it: of its targets, the one that stands first in the
/// source is the body.
fn is_entered(frame: &Frame<'_>, inst: InstId, to: BlockId, others: &[BlockId]) -> bool {
    let Some(here) = position(frame, to) else { return true };
    // On to the next operand of `&&` or `||`: that leads into the body if what both operands share is the way past it.
    if let Inst::Branch { then, other: skip, .. } = frame.body.terminator(to) {
        let (then, skip) = (*then, *skip);
        if let Some(shared) = [then, skip].into_iter().find(|next| others.contains(next)) {
            let beyond = if shared == then { skip } else { then };
            return position(frame, beyond) <= position(frame, shared);
        }
    }
    let is_before = |other: &BlockId| {
        // The other operand of `&&` or `||`: what it leads to instead is the other side.
        let beyond = match frame.body.terminator(*other) {
            Inst::Branch { then, other: skip, .. } if *then == to || *skip == to => {
                if *then == to {
                    *skip
                } else {
                    *then
                }
            }
            _ => *other,
        };
        position(frame, beyond).is_none_or(|there| here <= there)
    };
    if let Inst::Switch { default, .. } = &frame.body.insts[inst] {
        return to != *default || others.iter().any(is_before);
    }
    let place = frame.body.place(inst);
    // Back to the start of a loop.
    here < (place.line, place.column) || others.iter().all(is_before)
}

/// Where the code of a block begins in the source.
fn position(frame: &Frame<'_>, block: BlockId) -> Option<(u32, u32)> {
    let mut at = block;
    for _ in 0..frame.body.blocks.len() {
        let insts = frame.body.blocks[at].insts();
        let mut places = insts
            .filter(|inst| !matches!(frame.body.insts[*inst], Inst::Phi { .. } | Inst::Unbind { .. }))
            .map(|inst| frame.body.place(inst));
        if let Some(place) = places.find(|place| place.line > 0) {
            return Some((place.line, place.column));
        }
        match frame.body.terminator(at) {
            Inst::Jump { target } => at = *target,
            _ => return None,
        }
    }
    None
}
