//! Blocks that are still to be run, in the order of control flow.

use caulk_ir::BlockId;
use caulk_ir::entity::Entity;

/// A set of blocks by their position in reverse post-order, one bit each. Blocks that nothing leads to come after the others.
pub(super) struct Work {
    bits: Vec<u64>,
    blocks: usize,
}

impl Work {
    pub(crate) fn new(blocks: usize) -> Self {
        Self { bits: vec![0; (2 * blocks).div_ceil(64)], blocks }
    }

    /// `order`: the block's position, or `u32::MAX`.
    pub(crate) fn insert(&mut self, order: u32, block: BlockId) {
        let place = if order == u32::MAX { self.blocks + block.index() } else { order as usize };
        self.bits[place / 64] |= 1 << (place % 64);
    }

    /// Takes the next place at or after the last one, else the first of all.
    pub(crate) fn take(&mut self, last: usize) -> Option<usize> {
        // Those that nothing leads to are all alike.
        let place = self.next(last.min(self.blocks)).or_else(|| self.next(0))?;
        self.bits[place / 64] &= !(1 << (place % 64));
        Some(place)
    }

    /// The block at a place.
    pub(crate) fn block(&self, place: usize, by_order: &[BlockId]) -> BlockId {
        match place.checked_sub(self.blocks) {
            Some(index) => BlockId::from_index(index),
            None => by_order[place],
        }
    }

    fn next(&self, from: usize) -> Option<usize> {
        let mut word = from / 64;
        let mut bits = self.bits.get(word)? & (u64::MAX << (from % 64));
        while bits == 0 {
            word += 1;
            bits = *self.bits.get(word)?;
        }
        Some(word * 64 + bits.trailing_zeros() as usize)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn blocks_come_in_the_order_of_control_flow_and_once_more() {
        // Block 1 comes third, and nothing leads to blocks 3 and 4.
        let by_order = [BlockId(0), BlockId(2), BlockId(1)];
        let order = [0, 2, 1, u32::MAX, u32::MAX];
        let mut work = Work::new(order.len());
        for block in [4, 3, 1, 0, 2] {
            work.insert(order[block as usize], BlockId(block));
        }
        let mut last = 1;
        let mut taken = Vec::new();
        while let Some(place) = work.take(last) {
            last = place;
            let block = work.block(place, &by_order);
            taken.push(block.0);
            if taken.len() == 4 {
                // Of those that nothing leads to, the first is next again.
                work.insert(u32::MAX, BlockId(3));
            }
        }
        assert_eq!(taken, [2, 1, 3, 4, 3, 0]);
    }
}
