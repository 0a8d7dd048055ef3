//! A set of entities for each entity of another table: which values are alive in which block, what each function writes.

use std::marker::PhantomData;

use crate::entity::{Entity, EntitySet};

/// All sets are equally wide and lie in one piece of memory.
#[derive(Clone, Debug)]
pub struct EntitySets<R, K> {
    /// Words for each set.
    width: usize,
    words: Vec<u64>,
    keys: PhantomData<fn(R, K)>,
}

impl<R: Entity, K: Entity> EntitySets<R, K> {
    /// Empty sets for a table of `rows` entries, of the keys of a table of `keys` entries.
    pub fn new(rows: usize, keys: usize) -> Self {
        let width = keys.div_ceil(64);
        Self { width, words: vec![0; rows * width], keys: PhantomData }
    }

    #[inline]
    fn place(&self, row: R, key: K) -> (usize, u64) {
        (row.index() * self.width + key.index() / 64, 1 << (key.index() % 64))
    }

    #[inline]
    pub fn contains(&self, row: R, key: K) -> bool {
        let (word, bit) = self.place(row, key);
        self.words[word] & bit != 0
    }

    /// Whether the key is new in the set.
    #[inline]
    pub fn insert(&mut self, row: R, key: K) -> bool {
        let (word, bit) = self.place(row, key);
        let is_new = self.words[word] & bit == 0;
        self.words[word] |= bit;
        is_new
    }

    /// Adds all of another set to one. Whether anything was new.
    pub fn include(&mut self, row: R, other: R) -> bool {
        let (into, from) = (row.index() * self.width, other.index() * self.width);
        let mut changed = false;
        for word in 0..self.width {
            let more = self.words[from + word];
            changed |= self.words[into + word] | more != self.words[into + word];
            self.words[into + word] |= more;
        }
        changed
    }

    /// Adds what is in a copy of a set ([`EntitySets::row`]).
    pub fn include_row(&mut self, row: R, other: &[u64]) {
        let into = row.index() * self.width;
        self.words[into..into + self.width].iter_mut().zip(other).for_each(|(word, more)| *word |= more);
    }

    /// A set as words of bits, for what is done with all of them at once.
    #[inline]
    pub fn row(&self, row: R) -> &[u64] {
        &self.words[row.index() * self.width..][..self.width]
    }

    #[inline]
    pub fn row_mut(&mut self, row: R) -> &mut [u64] {
        &mut self.words[row.index() * self.width..][..self.width]
    }

    pub fn is_empty(&self, row: R) -> bool {
        self.row(row).iter().all(|word| *word == 0)
    }

    /// A set by itself.
    pub fn set(&self, row: R) -> EntitySet<K> {
        EntitySet::from_words(self.row(row).to_vec())
    }

    /// Puts a set that was taken from this table in the place of another. Whether they differ.
    pub fn replace(&mut self, row: R, with: &EntitySet<K>) -> bool {
        let is_other = self.row(row) != with.words();
        if is_other {
            self.row_mut(row).copy_from_slice(with.words());
        }
        is_other
    }

    /// What is in a set, in the order of the table.
    pub fn iter(&self, row: R) -> impl Iterator<Item = K> + '_ {
        keys_of(self.row(row).iter().copied())
    }

    /// What is in a set and not in one of another table over the same keys, in their order.
    pub fn without<'s>(&'s self, row: R, others: &'s Self, other: R) -> impl Iterator<Item = K> + 's {
        keys_of(self.row(row).iter().zip(others.row(other)).map(|(word, other)| word & !other))
    }
}

fn keys_of<K: Entity>(words: impl Iterator<Item = u64>) -> impl Iterator<Item = K> {
    words.enumerate().flat_map(|(at, mut word)| {
        std::iter::from_fn(move || {
            let bit = (word != 0).then(|| word.trailing_zeros() as usize)?;
            word &= word - 1;
            Some(K::from_index(at * 64 + bit))
        })
    })
}

impl<R: Entity, K: Entity> Default for EntitySets<R, K> {
    fn default() -> Self {
        Self::new(0, 0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::entity::{BlockId, InstId};

    #[test]
    fn each_set_has_what_was_put_into_it() {
        let mut sets: EntitySets<BlockId, InstId> = EntitySets::new(3, 130);
        let [first, second, third] = [0, 1, 2].map(BlockId);
        assert!(sets.insert(first, InstId(0)) && sets.insert(first, InstId(129)) && sets.insert(second, InstId(64)));
        assert!(!sets.insert(second, InstId(64)));
        assert!(sets.include(second, first) && !sets.include(second, first));
        assert_eq!(sets.iter(second).collect::<Vec<_>>(), [0, 64, 129].map(InstId));
        assert!(sets.contains(second, InstId(129)) && !sets.contains(first, InstId(64)) && sets.is_empty(third));
        let copy = sets.row(second).to_vec();
        sets.include_row(third, &copy);
        assert_eq!(sets.row(third), copy);
        let mut taken = sets.set(second);
        assert!(taken.remove(InstId(64)) && sets.replace(third, &taken) && !sets.replace(third, &taken));
        assert_eq!(sets.without(second, &sets, third).collect::<Vec<_>>(), [InstId(64)]);
    }
}
