//! Indices of what the whole program shares.
//!
//! Numbers of functions, variables and types mean something in one program alone. What is kept for another run is written with names in
//! their place ([`crate::Names`]): they are read back as the numbers that the same things have there.

use caulk_ir::entity;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::names::{self, Table};

entity!(
    /// A unit, in the order given.
    UnitId, "unit");

/// An index that is written by name where names are in use.
macro_rules! named_entity {
    ($(#[$doc:meta])* $name:ident, $prefix:literal, $table:expr) => {
        $(#[$doc])*
        #[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub struct $name(pub u32);

        impl caulk_ir::entity::Entity for $name {
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

        impl Serialize for $name {
            fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                match names::name($table, self.0) {
                    Some(name) => serializer.serialize_u64(name),
                    None => serializer.serialize_u32(self.0),
                }
            }
        }

        impl<'de> Deserialize<'de> for $name {
            fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                let unknown = |_| serde::de::Error::custom(concat!("no such ", $prefix));
                let number = match names::are_used() {
                    true => names::number($table, u64::deserialize(deserializer)?).ok_or(()).map_err(unknown)?,
                    false => u32::deserialize(deserializer)?,
                };
                Ok(Self(number))
            }
        }
    };
}

named_entity!(
    /// A function of the program: a definition that some program could link, or a symbol that nothing defines.
    FuncId, "func", Table::Functions);
named_entity!(
    /// A global variable of the program.
    GlobalVarId, "var", Table::Globals);
named_entity!(
    /// A structure type, one for all units that have it.
    TypeId, "type", Table::Types);
