//! A lowered translation unit.

use std::collections::{BTreeMap, HashMap, HashSet};

use serde::{Deserialize, Serialize};

use crate::body::Body;
use crate::constant::Constant;
use crate::entity::{Entity, EntityVec, FileId, FunctionId, GlobalId, StrId, StructId};
use crate::inst::UnknownReason;
use crate::types::{Pointee, StructType, Type};

/// One translation unit, compiled and lowered.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Unit {
    /// The path of the main source file as shown to users.
    pub source: String,
    pub strings: Strings,
    /// Paths as debug info gives them, made absolute.
    pub files: EntityVec<FileId, StrId>,
    pub structs: EntityVec<StructId, StructType>,
    pub globals: EntityVec<GlobalId, Global>,
    pub functions: EntityVec<FunctionId, Function>,
    pub aliases: Vec<Alias>,
    pub pointer_bytes: u8,
    /// How many instructions became unknown values, and why.
    pub unknowns: BTreeMap<UnknownReason, u32>,
}

/// Interned strings. Interning needs the index, which is built when first asked for and not stored.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct Strings {
    items: EntityVec<StrId, Box<str>>,
    #[serde(skip)]
    index: HashMap<Box<str>, StrId>,
}

impl PartialEq for Strings {
    fn eq(&self, other: &Self) -> bool {
        self.items == other.items
    }
}

impl Eq for Strings {}

impl Strings {
    pub fn intern(&mut self, text: &str) -> StrId {
        if self.index.len() != self.items.len() {
            self.index = self.items.iter().map(|(id, s)| (s.clone(), id)).collect();
        }
        if let Some(&id) = self.index.get(text) {
            return id;
        }
        let id = self.items.push(text.into());
        self.index.insert(text.into(), id);
        id
    }

    pub fn get(&self, id: StrId) -> &str {
        &self.items[id]
    }

    /// A string that has two numbers. Parts that compare numbers would take it for two.
    pub(crate) fn repeated(&self) -> Option<&str> {
        let mut seen = HashSet::with_capacity(self.items.len());
        self.items.values().map(|text| &**text).find(|text| !seen.insert(*text))
    }

    /// Puts other strings in the place of those for which `change` has one. Whether all are still different: if not, the unit
    /// they belong to is of no more use.
    #[must_use]
    pub fn rewrite(&mut self, change: impl Fn(&str) -> Option<String>) -> bool {
        self.index.clear();
        for item in self.items.values_mut() {
            if let Some(other) = change(item) {
                *item = other.into();
            }
        }
        self.repeated().is_none()
    }

    pub fn values(&self) -> impl Iterator<Item = &str> {
        self.items.values().map(|text| &**text)
    }

    pub fn contains(&self, id: StrId) -> bool {
        id.index() < self.items.len()
    }

    pub fn len(&self) -> usize {
        self.items.len()
    }

    pub fn is_empty(&self) -> bool {
        self.items.is_empty()
    }
}

/// How a symbol meets symbols of the same name in other units.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Linkage {
    /// One strong definition in a program.
    External,
    /// Private to its unit (`static`).
    Internal,
    /// Gives way to a strong definition.
    Weak,
    /// The same in every unit that has it (C++ inline functions and templates).
    LinkOnce,
    /// A tentative definition (`int x;` under -fcommon).
    Common,
    /// A body only for the optimiser (`extern inline` of gnu89): the real definition is elsewhere.
    AvailableExternally,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Function {
    /// The symbol the linker sees (mangled in C++).
    pub symbol: StrId,
    /// The name in the source, where debug info has it.
    pub name: Option<StrId>,
    pub linkage: Linkage,
    pub signature: Signature,
    pub params: Vec<Param>,
    pub ret_pointee: Pointee,
    pub flags: FunctionFlags,
    /// Attributes of the source that LLVM has no word for, as text: `ownership_takes(malloc, 1)`.
    pub annotations: Vec<StrId>,
    /// Where it is defined, or declared.
    pub file: Option<FileId>,
    pub line: u32,
    /// None for a mere declaration, and for every function of a [`crate::PackedUnit`], which keeps bodies apart.
    pub body: Option<Body>,
    pub is_definition: bool,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Signature {
    pub params: Vec<Type>,
    pub ret: Type,
    pub variadic: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Param {
    pub name: Option<StrId>,
    pub flags: ParamFlags,
    pub pointee: Pointee,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ParamFlags {
    /// The callee keeps no copy of the pointer.
    pub no_capture: bool,
    /// The callee does not write through it.
    pub read_only: bool,
    pub nonnull: bool,
    /// The callee returns this argument.
    pub returned: bool,
    /// Passed as a copy of the structure pointed to.
    pub by_value: bool,
    /// Where the caller wants a structure result.
    pub struct_return: bool,
}

/// Facts the compiler knows of a function.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct FunctionFlags {
    pub no_return: bool,
    pub no_unwind: bool,
    /// The result aliases nothing else (`__attribute__((malloc))`).
    pub fresh_result: bool,
    pub nonnull_result: bool,
    pub read_only: bool,
    pub no_memory: bool,
    /// The parameter that holds the size of what is allocated (`alloc_size`).
    pub alloc_size: Option<u16>,
    /// Called before main (`constructor`) or after it (`destructor`).
    pub runs_at_start: bool,
    pub runs_at_end: bool,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Global {
    pub symbol: StrId,
    /// The name in the source, where debug info has it; a static local is `function::name`.
    pub name: Option<StrId>,
    pub linkage: Linkage,
    pub size: u64,
    /// Cannot be written.
    pub is_const: bool,
    pub thread_local: bool,
    pub pointee: Pointee,
    pub file: Option<FileId>,
    pub line: u32,
    pub init: Initialiser,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Initialiser {
    /// Defined in another unit.
    External,
    Zero,
    /// The text of a string literal, without its final zero; cut at [`Initialiser::MAX_TEXT`] bytes.
    Text(StrId),
    /// What is not zero, by rising offset: all pointers, and numbers unless there are too many of them.
    Items {
        items: Vec<InitItem>,
        complete: bool,
    },
}

impl Initialiser {
    /// Longer literals are cut: only messages show them.
    pub const MAX_TEXT: usize = 256;
    /// Numbers of larger tables are left out: no decision of the analysis rests on a lookup table.
    pub const MAX_NUMBERS: usize = 4096;
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct InitItem {
    pub offset: u64,
    pub value: Constant,
}

/// A second name of a function or variable.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Alias {
    pub symbol: StrId,
    pub linkage: Linkage,
    pub target: AliasTarget,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum AliasTarget {
    Function(FunctionId),
    Global(GlobalId),
}

impl Unit {
    pub fn str(&self, id: StrId) -> &str {
        self.strings.get(id)
    }

    pub fn symbol(&self, function: FunctionId) -> &str {
        self.str(self.functions[function].symbol)
    }

    /// The name a reader of the source knows.
    pub fn function_name(&self, function: FunctionId) -> &str {
        let f = &self.functions[function];
        self.str(f.name.unwrap_or(f.symbol))
    }

    pub fn function_by_symbol(&self, symbol: &str) -> Option<FunctionId> {
        self.functions.iter().find(|(_, f)| self.str(f.symbol) == symbol).map(|(id, _)| id)
    }
}
