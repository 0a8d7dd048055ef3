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
