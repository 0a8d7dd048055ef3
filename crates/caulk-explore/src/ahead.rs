//! Classes of memory that conditions ahead of a block are loaded from.

use caulk_ir::{BlockId, Body, Entity, EntitySets, entity};
use caulk_memory::Class;
use rustc_hash::FxHashMap;

entity!(
    /// A class of memory that some condition is loaded from.
    LoadedClass, "loaded");

#[derive(Debug)]
pub(crate) struct LoadedAhead {
    numbers: FxHashMap<Class, LoadedClass>,
    ahead: EntitySets<BlockId, LoadedClass>,
}

impl LoadedAhead {
    /// `loads`: the classes that blocks load from themselves. `order`: blocks before those they lead to.
    pub(crate) fn new(body: &Body, order: &[BlockId], loads: &[(BlockId, Class)]) -> Self {
        let mut numbers: FxHashMap<Class, LoadedClass> = FxHashMap::default();
        for (_, class) in loads {
            let next = LoadedClass::from_index(numbers.len());
            numbers.entry(*class).or_insert(next);
        }
        let mut ahead = EntitySets::new(body.blocks.len(), numbers.len());
        for (block, class) in loads {
            ahead.insert(*block, numbers[class]);
        }
        let mut this = Self { numbers, ahead };
        while this.go_back(body, order) {}
        this
    }

    /// What is ahead of a block is ahead of those before it. Whether anything was new.
    fn go_back(&mut self, body: &Body, order: &[BlockId]) -> bool {
        let mut changed = false;
        for block in order.iter().rev() {
            for next in body.terminator(*block).successors() {
                changed |= self.ahead.include(*block, next);
            }
        }
        changed
    }

    fn contains(&self, block: BlockId, class: Class) -> bool {
        self.numbers.get(&class).is_some_and(|number| self.ahead.contains(block, *number))
    }

    /// Whether a condition ahead of a block may depend on what a cell of a class holds.
    pub(crate) fn sees(&self, block: BlockId, class: Class) -> bool {
        match class {
            Class::Other => !self.ahead.is_empty(block),
            class => self.contains(block, class) || self.contains(block, Class::Other),
        }
    }
}
