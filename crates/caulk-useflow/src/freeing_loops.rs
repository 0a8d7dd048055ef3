//! Loops that free every element of a collection they visit: `for (i = 0; i < n; i++) free(list[i]);`.
//!
//! Such a loop frees the collection. Where it is left at once there was nothing in it, whatever is known of the count (the
//! design's "Collections").

use caulk_ir::{BlockId, Body, CompareOp, Inst, InstId, Operand};
use caulk_memory::{Offset, ValueId, ValueNode};
use caulk_summary::{Destination, Subject};
use rustc_hash::{FxHashMap, FxHashSet};
use smallvec::SmallVec;

use crate::function::{Resolved, View};

/// What the loop at each head frees all elements of.
#[derive(Debug, Default)]
pub(crate) struct FreeingLoops {
    by_head: FxHashMap<BlockId, SmallVec<[FreeingLoop; 1]>>,
}

#[derive(Debug)]
struct FreeingLoop {
    /// What holds the elements.
    holder: ValueId,
    body: FxHashSet<BlockId>,
}

impl FreeingLoops {
    pub(crate) fn new(view: &mut View<'_>) -> Self {
        let freed = freed_elements(view);
        let mut loops = Self::default();
        if freed.is_empty() {
            return loops;
        }
        let predecessors = view.predecessors().clone();
        for (head, _) in view.body.blocks.iter() {
            let is_back = |from: &BlockId| view.order[*from] != u32::MAX && view.order[head] <= view.order[*from];
            let ends: Vec<BlockId> = predecessors[head].iter().copied().filter(is_back).collect();
            if ends.is_empty() {
                continue;
            }
            let body = loop_body(head, &ends, &predecessors);
            for &(call, holder) in freed.iter().filter(|(call, _)| body.contains(&view.homes[*call])) {
                if is_freed_in_every_iteration(view, head, &ends, &body, call, holder) {
                    loops.by_head.entry(head).or_default().push(FreeingLoop { holder, body: body.clone() });
                }
            }
        }
        loops
    }

    /// Whether this edge leaves, from its head, a loop that frees all that `holder` holds.
    pub(crate) fn empties(&self, from: BlockId, to: BlockId, holder: ValueId) -> bool {
        let loops = self.by_head.get(&from).into_iter().flatten();
        loops.into_iter().any(|l| l.holder == holder && !l.body.contains(&to))
    }
}

/// Calls that free an element of something, and what that is.
fn freed_elements(view: &mut View<'_>) -> Vec<(InstId, ValueId)> {
    let calls: Vec<InstId> = view.calls.iter().filter(|(_, c)| c.is_some()).map(|(inst, _)| inst).collect();
    let mut freed = Vec::new();
    for call in calls {
        let Some(effect) = view.calls[call].clone() else { continue };
        for action in &effect.summary.actions {
            let (Subject::Value(path), Destination::Free { .. }) = (&action.subject, &action.to) else { continue };
            let element = match view.resolve(call, path) {
                Some(Resolved::Operand(operand)) => view.values.of_operand(operand).map(|c| c.base),
                Some(Resolved::Cell(cell)) if cell.offset == Offset::Any => {
                    freed.push((call, cell.base));
                    None
                }
                _ => None,
            };
            match element.map(|e| view.values.node(e)) {
                Some(ValueNode::Load(holder, Offset::Any)) => freed.push((call, holder)),
                // `for (p = list; *p; p++) free(*p);`
                Some(ValueNode::Load(walker, Offset::ZERO)) => {
                    freed.extend(walked(view, walker).into_iter().map(|holder| (call, holder)));
                }
                _ => {}
            }
        }
    }
    freed
}

/// What a pointer that goes from element to element started at.
fn walked(view: &View<'_>, walker: ValueId) -> SmallVec<[ValueId; 2]> {
    let ValueNode::Opaque(phi) = view.values.node(walker) else { return SmallVec::new() };
    let Inst::Phi { incoming, .. } = &view.body.insts[phi] else { return SmallVec::new() };
    let bases = incoming.iter().filter_map(|(_, o)| view.values.of_operand(*o)).map(|c| c.base);
    let (steps, starts): (SmallVec<[ValueId; 2]>, SmallVec<[ValueId; 2]>) = bases.partition(|b| *b == walker);
    if steps.is_empty() { SmallVec::new() } else { starts }
}

fn loop_body(
    head: BlockId,
    ends: &[BlockId],
    predecessors: &caulk_ir::EntityVec<BlockId, Vec<BlockId>>,
) -> FxHashSet<BlockId> {
    let mut body: FxHashSet<BlockId> = [head].into_iter().collect();
    let mut work: Vec<BlockId> = ends.to_vec();
    while let Some(block) = work.pop() {
        if body.insert(block) {
            work.extend(predecessors[block].iter().copied());
        }
    }
    body
}

/// No way round the loop goes past the call, except where there is no element.
fn is_freed_in_every_iteration(
    view: &View<'_>,
    head: BlockId,
    ends: &[BlockId],
    body: &FxHashSet<BlockId>,
    call: InstId,
    holder: ValueId,
) -> bool {
    let freeing = view.homes[call];
    let mut seen: FxHashSet<BlockId> = FxHashSet::default();
    let mut work = vec![head];
    while let Some(block) = work.pop() {
        if block == freeing || !seen.insert(block) {
            continue;
        }
        if ends.contains(&block) {
            return false;
        }
        let without = block_without_element(view.body, view, block, holder);
        let next = view.body.terminator(block).successors();
        work.extend(next.into_iter().filter(|b| body.contains(b) && *b != head && Some(*b) != without));
    }
    true
}

/// Where a block branches to when an element is null.
fn block_without_element(body: &Body, view: &View<'_>, block: BlockId, holder: ValueId) -> Option<BlockId> {
    let Inst::Branch { cond: Operand::Value(cond), then, other } = body.terminator(block) else { return None };
    let Inst::Compare { op, lhs, rhs, .. } = &body.insts[*cond] else { return None };
    let is_null = |o: &Operand| body.constant(*o).is_some_and(|c| c.is_zero());
    let is_element = |o: &Operand| {
        let node = view.values.of_operand(*o).map(|c| view.values.node(c.base));
        match node {
            Some(ValueNode::Load(base, Offset::Any)) => base == holder,
            Some(ValueNode::Load(walker, Offset::ZERO)) => walked(view, walker).contains(&holder),
            _ => false,
        }
    };
    if !(is_element(lhs) && is_null(rhs) || is_element(rhs) && is_null(lhs)) {
        return None;
    }
    match op {
        CompareOp::Eq => Some(*then),
        CompareOp::Ne => Some(*other),
        _ => None,
    }
}
