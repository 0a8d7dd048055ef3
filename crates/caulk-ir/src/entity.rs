//! Typed indices into dense tables, so that a block can never be mistaken for an instruction.

use std::fmt;
use std::marker::PhantomData;
use std::ops::{Index, IndexMut};

use serde::{Deserialize, Serialize};

/// An index type that can address an [`EntityVec`].
pub trait Entity: Copy {
    fn from_index(index: usize) -> Self;
    fn index(self) -> usize;
}

/// Makes an index type that prints with a prefix: `entity!(BlockId, "block");`.
#[macro_export]
macro_rules! entity {
    ($(#[$doc:meta])* $name:ident, $prefix:literal) => {
        $(#[$doc])*
        #[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, serde::Serialize, serde::Deserialize)]
        pub struct $name(pub u32);

        impl $crate::entity::Entity for $name {
            #[inline]
            fn from_index(index: usize) -> Self {
                Self(u32::try_from(index).expect("a table has fewer than 2^32 entries"))
            }
            #[inline]
            fn index(self) -> usize {
                self.0 as usize
            }
        }

        impl std::fmt::Debug for $name {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                write!(f, concat!($prefix, "{}"), self.0)
            }
        }

        impl std::fmt::Display for $name {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                std::fmt::Debug::fmt(self, f)
            }
        }
    };
}

entity!(
    /// A function of a unit, defined or only declared.
    FunctionId, "fn");
entity!(
    /// A global variable of a unit.
    GlobalId, "global");
entity!(
    /// A structure, union or class of a unit.
    StructId, "struct");
entity!(
    /// A source file of a unit.
    FileId, "file");
entity!(
    /// An interned string of a unit.
    StrId, "str");
entity!(
    /// A basic block of a body.
    BlockId, "block");
entity!(
    /// An instruction of a body, and the value it produces.
    InstId, "%");
entity!(
    /// A constant of a body.
    ConstId, "const");
entity!(
    /// A source variable of a body.
    VarId, "var");
entity!(
    /// A place in the source, in the table of a body.
    PlaceId, "place");

/// A set of entities, one bit each: for what is asked often of most entities of a table.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EntitySet<K> {
    words: Vec<u64>,
    key: PhantomData<fn(K)>,
}

impl<K: Entity> EntitySet<K> {
    pub fn new() -> Self {
        Self { words: Vec::new(), key: PhantomData }
    }

    /// An empty set with room for the keys of a table with `len` entries.
    pub fn with_capacity(len: usize) -> Self {
        Self { words: Vec::with_capacity(len.div_ceil(64)), key: PhantomData }
    }

    pub(crate) fn from_words(words: Vec<u64>) -> Self {
        Self { words, key: PhantomData }
    }

    pub(crate) fn words(&self) -> &[u64] {
        &self.words
    }

    #[inline]
    pub fn contains(&self, key: K) -> bool {
        let index = key.index();
        self.words.get(index / 64).is_some_and(|word| word & (1 << (index % 64)) != 0)
    }

    /// Whether the key is new.
    #[inline]
    pub fn insert(&mut self, key: K) -> bool {
        let (word, bit) = (key.index() / 64, 1 << (key.index() % 64));
        if word >= self.words.len() {
            self.words.resize(word + 1, 0);
        }
        let is_new = self.words[word] & bit == 0;
        self.words[word] |= bit;
        is_new
    }

    /// Whether the key was there.
    pub fn remove(&mut self, key: K) -> bool {
        let was_there = self.contains(key);
        if was_there {
            self.words[key.index() / 64] &= !(1 << (key.index() % 64));
        }
        was_there
    }

    pub fn is_empty(&self) -> bool {
        self.words.iter().all(|word| *word == 0)
    }

    /// In the order of the table.
    pub fn iter(&self) -> impl Iterator<Item = K> + '_ {
        let bits = |word: u64| (0..64).filter(move |bit| word & (1 << bit) != 0);
        self.words
            .iter()
            .enumerate()
            .flat_map(move |(at, word)| bits(*word).map(move |bit| K::from_index(at * 64 + bit)))
    }
}

impl<K: Entity> Default for EntitySet<K> {
    fn default() -> Self {
        Self::new()
    }
}

impl<K: Entity> FromIterator<K> for EntitySet<K> {
    fn from_iter<I: IntoIterator<Item = K>>(keys: I) -> Self {
        let mut set = Self::new();
        keys.into_iter().for_each(|key| {
            set.insert(key);
        });
        set
    }
}

/// What is known besides of the entities of another table: those that nothing was said of have the default.
#[derive(Clone, Debug)]
pub struct SecondaryMap<K, V> {
    items: Vec<V>,
    default: V,
    key: PhantomData<fn(K)>,
}

impl<K: Entity, V: Clone> SecondaryMap<K, V> {
    pub fn with_default(default: V) -> Self {
        Self { items: Vec::new(), default, key: PhantomData }
    }
}

impl<K: Entity, V: Clone + Default> SecondaryMap<K, V> {
    pub fn new() -> Self {
        Self::with_default(V::default())
    }
}

impl<K: Entity, V: Clone + Default> Default for SecondaryMap<K, V> {
    fn default() -> Self {
        Self::new()
    }
}

impl<K: Entity, V> Index<K> for SecondaryMap<K, V> {
    type Output = V;
    #[inline]
    fn index(&self, key: K) -> &V {
        self.items.get(key.index()).unwrap_or(&self.default)
    }
}

impl<K: Entity, V: Clone> IndexMut<K> for SecondaryMap<K, V> {
    #[inline]
    fn index_mut(&mut self, key: K) -> &mut V {
        let index = key.index();
        if index >= self.items.len() {
            self.items.resize(index + 1, self.default.clone());
        }
        &mut self.items[index]
    }
}

/// A dense table indexed by an entity.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct EntityVec<K, V> {
    items: Vec<V>,
    #[serde(skip)]
    key: PhantomData<fn(K)>,
}

impl<K: Entity, V> EntityVec<K, V> {
    pub fn new() -> Self {
        Self { items: Vec::new(), key: PhantomData }
    }

    pub fn with_capacity(capacity: usize) -> Self {
        Self { items: Vec::with_capacity(capacity), key: PhantomData }
    }

    pub fn reserve(&mut self, more: usize) {
        self.items.reserve(more);
    }

    #[inline]
    pub fn push(&mut self, value: V) -> K {
        let key = K::from_index(self.items.len());
        self.items.push(value);
        key
    }

    #[inline]
    pub fn len(&self) -> usize {
        self.items.len()
    }

    pub fn is_empty(&self) -> bool {
        self.items.is_empty()
    }

    #[inline]
    pub fn get(&self, key: K) -> Option<&V> {
        self.items.get(key.index())
    }

    pub fn next_key(&self) -> K {
        K::from_index(self.items.len())
    }

    pub fn keys(&self) -> impl DoubleEndedIterator<Item = K> + ExactSizeIterator + use<K, V> {
        (0..self.items.len()).map(K::from_index)
    }

    pub fn values(&self) -> std::slice::Iter<'_, V> {
        self.items.iter()
    }

    pub fn values_mut(&mut self) -> std::slice::IterMut<'_, V> {
        self.items.iter_mut()
    }

    pub fn iter(&self) -> impl DoubleEndedIterator<Item = (K, &V)> + ExactSizeIterator {
        self.items.iter().enumerate().map(|(i, v)| (K::from_index(i), v))
    }

    pub fn iter_mut(&mut self) -> impl DoubleEndedIterator<Item = (K, &mut V)> + ExactSizeIterator {
        self.items.iter_mut().enumerate().map(|(i, v)| (K::from_index(i), v))
    }

    pub fn as_slice(&self) -> &[V] {
        &self.items
    }
}

impl<K: Entity, V> Default for EntityVec<K, V> {
    fn default() -> Self {
        Self::new()
    }
}

impl<K: Entity, V> From<Vec<V>> for EntityVec<K, V> {
    fn from(items: Vec<V>) -> Self {
        Self { items, key: PhantomData }
    }
}

impl<K: Entity, V> Index<K> for EntityVec<K, V> {
    type Output = V;
    #[inline]
    fn index(&self, key: K) -> &V {
        &self.items[key.index()]
    }
}

impl<K: Entity, V> IndexMut<K> for EntityVec<K, V> {
    #[inline]
    fn index_mut(&mut self, key: K) -> &mut V {
        &mut self.items[key.index()]
    }
}

impl<K, V: fmt::Debug> fmt::Debug for EntityVec<K, V> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.items.fmt(f)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_set_has_what_was_put_in_and_not_taken_out() {
        let mut set: EntitySet<BlockId> = [3, 64, 200].map(BlockId).into_iter().collect();
        assert!(!set.insert(BlockId(64)));
        assert!(set.insert(BlockId(0)));
        assert!(set.remove(BlockId(3)));
        assert!(!set.remove(BlockId(3)) && !set.remove(BlockId(9999)));
        assert_eq!(set.iter().collect::<Vec<_>>(), [0, 64, 200].map(BlockId));
        assert!(!set.contains(BlockId(1000)) && !set.is_empty());
    }

    #[test]
    fn a_secondary_map_has_the_default_where_nothing_was_said() {
        let mut map: SecondaryMap<BlockId, u8> = SecondaryMap::with_default(7);
        map[BlockId(2)] = 1;
        assert_eq!([0, 1, 2, 3].map(|block| map[BlockId(block)]), [7, 7, 1, 7]);
    }
}
