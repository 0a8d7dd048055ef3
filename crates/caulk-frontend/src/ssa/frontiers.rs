//! Where definitions of different blocks meet: the dominator tree and the dominance frontiers of a draft.
//!
//! After Cooper, Harvey and Kennedy, "A Simple, Fast Dominance Algorithm" (2001). The blocks of the draft are in reverse
//! post-order and all reachable, so their numbers serve as the order.

use caulk_ir::entity::Entity;
use caulk_ir::{BlockId, EntityVec};

use super::draft::Draft;

pub(crate) struct Frontiers {
    /// The blocks each block dominates directly.
    pub children: EntityVec<BlockId, Vec<BlockId>>,
    /// The blocks each block's definitions reach without dominating them.
    pub frontiers: EntityVec<BlockId, Vec<BlockId>>,
}

impl Frontiers {
    pub(crate) fn new(draft: &Draft) -> Self {
        let preds = draft.predecessors();
        let idoms = immediate_dominators(&preds);
        let mut children: EntityVec<BlockId, Vec<BlockId>> = vec![Vec::new(); preds.len()].into();
        let mut frontiers: EntityVec<BlockId, Vec<BlockId>> = vec![Vec::new(); preds.len()].into();
        for block in preds.keys() {
            if block.index() > 0 {
                children[idoms[block]].push(block);
            }
            let ways_in = preds[block].len() + usize::from(block.index() == 0);
            if ways_in < 2 {
                continue;
            }
            for &from in &preds[block] {
                let mut runner = from;
                while runner != idoms[block] && frontiers[runner].last() != Some(&block) {
                    frontiers[runner].push(block);
                    runner = idoms[runner];
                }
            }
        }
        Self { children, frontiers }
    }
}

/// The immediate dominator of each block; the entry is its own.
fn immediate_dominators(preds: &EntityVec<BlockId, Vec<BlockId>>) -> EntityVec<BlockId, BlockId> {
    let entry = BlockId(0);
    let mut idoms: EntityVec<BlockId, Option<BlockId>> = vec![None; preds.len()].into();
    idoms[entry] = Some(entry);
    let mut changed = true;
    while std::mem::take(&mut changed) {
        for block in preds.keys().skip(1) {
            let known = preds[block].iter().rev().copied().filter(|p| idoms[*p].is_some());
            let idom = known.reduce(|a, b| meet(&idoms, a, b));
            changed |= idoms[block] != idom;
            idoms[block] = idom;
        }
    }
    idoms.values().map(|i| i.expect("every block of the draft is reachable")).collect::<Vec<_>>().into()
}

fn meet(idoms: &EntityVec<BlockId, Option<BlockId>>, mut a: BlockId, mut b: BlockId) -> BlockId {
    let up = |x: BlockId| idoms[x].expect("only blocks with a known dominator are compared");
    while a != b {
        if a > b {
            a = up(a);
        } else {
            b = up(b);
        }
    }
    a
}
