//! Orders over a control-flow graph, whatever form its blocks have.

use smallvec::SmallVec;

use crate::entity::{BlockId, Entity, EntityVec};

/// The blocks that can follow one.
pub type Successors = SmallVec<[BlockId; 2]>;

/// The predecessors of each of `blocks` blocks, each once, in rising order.
pub fn predecessors(blocks: usize, successors: impl Fn(BlockId) -> Successors) -> EntityVec<BlockId, Vec<BlockId>> {
    let mut preds: EntityVec<BlockId, Vec<BlockId>> = vec![Vec::new(); blocks].into();
    for block in (0..blocks).map(BlockId::from_index) {
        for next in successors(block) {
            if preds[next].last() != Some(&block) {
                preds[next].push(block);
            }
        }
    }
    preds
}

/// Blocks reachable from the first, in reverse post-order. Deep graphs do not overflow the stack.
pub fn reverse_post_order(blocks: usize, successors: impl Fn(BlockId) -> Successors) -> Vec<BlockId> {
    let mut seen = vec![false; blocks];
    let mut order = Vec::with_capacity(blocks);
    let entry = BlockId(0);
    let mut stack = vec![(entry, successors(entry), 0usize)];
    seen[0] = true;
    while let Some((block, children, next)) = stack.last_mut() {
        if let Some(&child) = children.get(*next) {
            *next += 1;
            if !std::mem::replace(&mut seen[child.index()], true) {
                stack.push((child, successors(child), 0));
            }
        } else {
            order.push(*block);
            stack.pop();
        }
    }
    order.reverse();
    order
}
