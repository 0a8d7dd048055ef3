//! Classes of memory that conditions ahead of a block are loaded from.

use caulk_ir::entity::Entity;
use caulk_ir::{BlockId, Body};
use caulk_memory::Class;
use rustc_hash::FxHashMap;

/// A set of classes for each block, one bit each.
#[derive(Debug, Default)]
pub(crate) struct LoadedAhead {
    numbers: FxHashMap<Class, usize>,
    words: usize,
    bits: Vec<u64>,
}

impl LoadedAhead {
    /// `loads`: the classes that blocks load from themselves. `order`: blocks before those they lead to.
    pub(crate) fn new(body: &Body, order: &[BlockId], loads: &[(BlockId, Class)]) -> Self {
        let mut numbers: FxHashMap<Class, usize> = FxHashMap::default();
        for (_, class) in loads {
            let next = numbers.len();
            numbers.entry(*class).or_insert(next);
        }
        let words = numbers.len().div_ceil(64);
        let mut ahead = Self { numbers, words, bits: vec![0; words * body.blocks.len()] };
        for (block, class) in loads {
            let number = ahead.numbers[class];
            ahead.bits[block.index() * words + number / 64] |= 1 << (number % 64);
        }
        while ahead.go_back(body, order) {}
        ahead
    }

    /// What is ahead of a block is ahead of those before it. Whether anything was new.
    fn go_back(&mut self, body: &Body, order: &[BlockId]) -> bool {
        let mut changed = false;
        for block in order.iter().rev() {
            for next in body.terminator(*block).successors() {
                for word in 0..self.words {
                    let more = self.bits[next.index() * self.words + word];
                    let known = &mut self.bits[block.index() * self.words + word];
                    changed |= *known | more != *known;
                    *known |= more;
                }
            }
        }
        changed
    }

    fn contains(&self, block: BlockId, class: Class) -> bool {
        self.numbers
            .get(&class)
            .is_some_and(|number| self.bits[block.index() * self.words + number / 64] & (1 << (number % 64)) != 0)
    }

    /// Whether a condition ahead of a block may depend on what a cell of a class holds.
    pub(crate) fn sees(&self, block: BlockId, class: Class) -> bool {
        match class {
            Class::Other => self.bits[block.index() * self.words..][..self.words].iter().any(|word| *word != 0),
            class => self.contains(block, class) || self.contains(block, Class::Other),
        }
    }
}
