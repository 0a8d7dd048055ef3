//! Indices of what the whole program shares.

use std::fmt;

use caulk_ir::entity::Entity;
use serde::{Deserialize, Serialize};

macro_rules! id {
    ($(#[$doc:meta])* $name:ident, $prefix:literal) => {
        $(#[$doc])*
        #[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
        pub struct $name(pub u32);

        impl Entity for $name {
            fn from_index(index: usize) -> Self {
                Self(u32::try_from(index).expect("a table has fewer than 2^32 entries"))
            }
            fn index(self) -> usize {
                self.0 as usize
            }
        }

        impl fmt::Debug for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                write!(f, concat!($prefix, "{}"), self.0)
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                fmt::Debug::fmt(self, f)
            }
        }
    };
}

id!(
    /// A unit, in the order given.
    UnitId, "unit");
id!(
    /// A function of the program: a definition that some program could link, or a symbol that nothing defines.
    FuncId, "func");
id!(
    /// A global variable of the program.
    GlobalVarId, "var");
id!(
    /// A structure type, one for all units that have it.
    TypeId, "type");
