//! Types of values, and the layout of structures with the names their fields have in the source.

use serde::{Deserialize, Serialize};

use crate::entity::{StrId, StructId};

/// The type of a value. Pointers are opaque, as in LLVM: what they point to is said by [`Pointee`] where debug info
/// tells, and by the steps of the addresses computed from them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub enum Type {
    Void,
    /// An integer of so many bits.
    Int(u16),
    /// A floating-point number of so many bits.
    Float(u16),
    Ptr,
    /// A vector register of so many bytes: carried, never looked into.
    Vector(u32),
    /// A structure or array held in a register (returned by value, or a pair of results), of so many bytes.
    Aggregate(u32),
}

impl Type {
    /// Size in memory, in bytes, on a target whose pointers have `pointer_bytes`.
    pub fn bytes(self, pointer_bytes: u8) -> u64 {
        match self {
            Type::Void => 0,
            Type::Int(bits) | Type::Float(bits) => u64::from(bits).div_ceil(8).next_power_of_two(),
            Type::Ptr => u64::from(pointer_bytes),
            Type::Vector(bytes) | Type::Aggregate(bytes) => u64::from(bytes),
        }
    }
}

/// What the source says a pointer points to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Pointee {
    /// How many levels of pointer stand before the target: 1 for `T *`, 2 for `T **`. Zero: not a pointer, or unknown.
    pub depth: u8,
    /// The structure at the end of the pointers (or, at depth 0, the structure itself).
    pub target: Option<StructId>,
    /// What the outermost pointer points to is declared const.
    pub is_const: bool,
    /// A pointer to a function.
    pub is_function: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum StructKind {
    Struct,
    Union,
    Class,
}

/// A structure type with its layout.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct StructType {
    /// Name in the source (`node`, `ns::Foo`), or one made by the compiler for a nameless type. Labels are unique in a
    /// unit.
    pub name: StrId,
    /// The name that identifies the type over the whole program: the mangled name in C++. None: local to its unit.
    pub identity: Option<StrId>,
    pub kind: StructKind,
    /// Size in bytes; zero when only declared.
    pub size: u64,
    /// Fields by rising offset. In a union all stand at offset 0; bit-fields stand at the byte they begin in.
    pub fields: Vec<Field>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Field {
    pub offset: u64,
    /// Size in bytes (rounded up for bit-fields).
    pub size: u64,
    /// None when debug info has no name for it: a nameless inner structure, or padding made by the compiler.
    pub name: Option<StrId>,
    pub pointee: Pointee,
    /// A base class rather than a field.
    pub is_base: bool,
}

impl StructType {
    /// The field that begins at `offset`; failing that, the one that covers it.
    pub fn field_at(&self, offset: u64) -> Option<&Field> {
        let begins = self.fields.iter().find(|f| f.offset == offset);
        begins.or_else(|| self.fields.iter().find(|f| f.offset <= offset && offset < f.offset + f.size))
    }
}
