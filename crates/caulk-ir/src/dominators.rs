//! Which blocks every path to a block runs through.
//!
//! After Cooper, Harvey and Kennedy, "A Simple, Fast Dominance Algorithm" (2001): on the graphs of real functions it is
//! as fast as the clever ones.

use crate::body::Body;
use crate::entity::{BlockId, Entity, EntityVec};

/// The dominator tree of a body. Blocks that cannot be reached from the entry are not in it.
#[derive(Clone, Debug)]
pub struct DominatorTree {
    order: Vec<BlockId>,
    nodes: EntityVec<BlockId, Node>,
}

#[derive(Clone, Copy, Debug, Default)]
struct Node {
    /// None for the entry and for unreachable blocks.
    idom: Option<BlockId>,
    /// Where the block stands in a pre-order walk of the tree, ...
    enter: u32,
    /// ... and how many blocks from there on are its descendants, itself included. Zero: unreachable.
    size: u32,
}

impl DominatorTree {
    /// The body has at least one block, each ends in a terminator, and all targets exist.
    pub fn new(body: &Body) -> Self {
        let order = body.reverse_post_order();
        let idoms = immediate_dominators(body, &order);
        let nodes = number(body.blocks.len(), &order, &idoms);
        Self { order, nodes }
    }

    /// The reachable blocks, each before those it dominates, and before its successors but for loops.
    pub fn reverse_post_order(&self) -> &[BlockId] {
        &self.order
    }

    /// The reachable blocks, each after its successors but for loops.
    pub fn post_order(&self) -> impl ExactSizeIterator<Item = BlockId> {
        self.order.iter().rev().copied()
    }

    pub fn is_reachable(&self, block: BlockId) -> bool {
        self.nodes[block].size > 0
    }

    /// The last block, other than `block`, that every path to `block` runs through. None for the entry, and for blocks
    /// that cannot be reached.
    pub fn idom(&self, block: BlockId) -> Option<BlockId> {
        self.nodes[block].idom
    }

    /// Every path from the entry to `b` runs through `a`; each reachable block dominates itself. False when either
    /// cannot be reached. Takes constant time.
    pub fn dominates(&self, a: BlockId, b: BlockId) -> bool {
        let (a, b) = (self.nodes[a], self.nodes[b]);
        // Below `a`, the difference wraps to something larger than any size.
        b.size > 0 && b.enter.wrapping_sub(a.enter) < a.size
    }
}

/// The immediate dominator of each block of `order`, both as indices into `order`; the entry is its own.
fn immediate_dominators(body: &Body, order: &[BlockId]) -> Vec<usize> {
    const NONE: usize = usize::MAX;
    let mut index: EntityVec<BlockId, usize> = vec![NONE; body.blocks.len()].into();
    for (i, block) in order.iter().enumerate() {
        index[*block] = i;
    }
    let preds = body.predecessors();
    let mut idoms = vec![NONE; order.len()];
    idoms[0] = 0;
    let mut changed = true;
    while std::mem::take(&mut changed) {
        for (i, block) in order.iter().enumerate().skip(1) {
            // From the back: where a long chain leads to one exit over and over, each step up is walked once only.
            let done = preds[*block].iter().rev().map(|p| index[*p]).filter(|p| *p != NONE && idoms[*p] != NONE);
            let idom = done.reduce(|a, b| intersect(&idoms, a, b)).expect("in reverse post-order some way in is done");
            changed |= std::mem::replace(&mut idoms[i], idom) != idom;
        }
    }
    idoms
}

/// The nearest common ancestor in the tree so far.
fn intersect(idoms: &[usize], mut a: usize, mut b: usize) -> usize {
    while a != b {
        while a > b {
            a = idoms[a];
        }
        while b > a {
            b = idoms[b];
        }
    }
    a
}

/// Numbers the tree in pre-order without walking it: parents come first in `order`, so sizes add up backwards, and then
/// each parent hands out the numbers of its children.
fn number(blocks: usize, order: &[BlockId], idoms: &[usize]) -> EntityVec<BlockId, Node> {
    let mut size = vec![1u32; order.len()];
    for i in (1..order.len()).rev() {
        size[idoms[i]] += size[i];
    }
    let mut nodes: EntityVec<BlockId, Node> = vec![Node::default(); blocks].into();
    let mut next = vec![0u32; order.len()];
    for (i, block) in order.iter().enumerate() {
        let enter = next[idoms[i]];
        next[idoms[i]] += size[i];
        next[i] = enter + 1;
        let idom = (i != Body::ENTRY.index()).then(|| order[idoms[i]]);
        nodes[*block] = Node { idom, enter, size: size[i] };
    }
    nodes
}
