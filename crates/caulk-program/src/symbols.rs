//! The linker's view of all units: every symbol with its definitions.

use caulk_ir::entity::Entity;
use caulk_ir::unit::AliasTarget;
use caulk_ir::{Function, FunctionId, Global, GlobalId, Initialiser, Linkage, StrId, Unit};
use rustc_hash::FxHashMap;
use smallvec::SmallVec;

use crate::ids::UnitId;

/// A symbol seen by the linker, by number.
pub(crate) type Symbol = u32;
/// An entry of [`Symbols::definitions`].
pub(crate) type DefinitionId = u32;
/// Usually one.
pub(crate) type Definitions = SmallVec<[DefinitionId; 1]>;

/// Private to its unit, so not a matter of linking.
pub(crate) const PRIVATE: Symbol = u32::MAX;

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Strength {
    /// `available_externally`: only good if there is nothing better.
    Hint,
    /// One of many equal copies.
    LinkOnce,
    Weak,
    Common,
    Strong,
}

#[derive(Clone, Debug)]
pub(crate) struct Definition {
    pub strength: Strength,
    pub target: AliasTarget,
    /// The definition is an alias: the target is what it stands for, and may be an alias in turn.
    pub is_alias: bool,
    /// The units that have it, the one that counts first. Several for merged definitions.
    pub units: SmallVec<[UnitId; 1]>,
}

impl Definition {
    pub(crate) fn unit(&self) -> UnitId {
        self.units[0]
    }
}

/// The symbols of one unit's functions and globals, and which definition each of them is.
#[derive(Clone, Debug, Default)]
pub(crate) struct UnitSymbols {
    pub functions: Vec<Named>,
    pub globals: Vec<Named>,
    /// What each alias stands for, by the unit's own string. Sorted.
    pub aliases: Vec<(StrId, AliasTarget, Linkage)>,
}

#[derive(Clone, Copy, Debug)]
pub(crate) struct Named {
    pub symbol: Symbol,
    pub definition: Option<DefinitionId>,
}

impl UnitSymbols {
    pub(crate) fn alias(&self, symbol: StrId) -> Option<(AliasTarget, Linkage)> {
        let found = self.aliases.binary_search_by_key(&symbol, |a| a.0).ok()?;
        Some((self.aliases[found].1, self.aliases[found].2))
    }
}

#[derive(Debug, Default)]
pub(crate) struct Symbols {
    pub definitions: Vec<Definition>,
    /// The definitions of each symbol, in unit order; hints only where there is nothing better.
    pub of: Vec<Definitions>,
    pub units: Vec<UnitSymbols>,
    /// The symbols where programs begin, of those that occur.
    pub entries: Vec<Symbol>,
}

/// What makes two definitions of the same symbol one.
#[derive(PartialEq, Eq, Hash)]
enum Merge<'u> {
    Common(Symbol),
    Hint(Symbol),
    /// The copies of an inline function come from one place in one header. Two programs may have different functions
    /// of one name; those stay apart.
    Copy(Symbol, Option<&'u str>, u32),
}

struct Builder<'u> {
    names: FxHashMap<&'u str, Symbol>,
    merged: FxHashMap<Merge<'u>, DefinitionId>,
    symbols: Symbols,
}

impl Symbols {
    pub(crate) fn new(units: &[&Unit], entries: &[String]) -> Self {
        let mut builder =
            Builder { names: FxHashMap::default(), merged: FxHashMap::default(), symbols: Symbols::default() };
        for (u, unit) in units.iter().enumerate() {
            builder.unit(UnitId::from_index(u), unit);
        }
        let Builder { names, mut symbols, .. } = builder;
        symbols.entries = entries.iter().filter_map(|name| names.get(name.as_str()).copied()).collect();
        for list in &mut symbols.of {
            if list.iter().any(|&d| symbols.definitions[d as usize].strength > Strength::Hint) {
                list.retain(|d| symbols.definitions[*d as usize].strength > Strength::Hint);
            }
        }
        symbols
    }

    /// The unit's own definition of a symbol, if no other can take its place.
    pub(crate) fn own(&self, unit: UnitId, symbol: Symbol) -> Option<DefinitionId> {
        self.of[symbol as usize].iter().copied().find(|&d| {
            let definition = &self.definitions[d as usize];
            match definition.strength {
                Strength::Strong => definition.unit() == unit,
                Strength::LinkOnce => definition.units.binary_search(&unit).is_ok(),
                _ => false,
            }
        })
    }

    /// How many definitions of that strength a symbol has.
    pub(crate) fn count(&self, symbol: Symbol, strength: Strength) -> usize {
        self.of[symbol as usize].iter().filter(|&&d| self.definitions[d as usize].strength == strength).count()
    }
}

impl<'u> Builder<'u> {
    fn unit(&mut self, id: UnitId, unit: &'u Unit) {
        let mut own = UnitSymbols::default();
        for (local, function) in unit.functions.iter() {
            own.functions.push(self.function(id, unit, local, function));
        }
        for (local, global) in unit.globals.iter() {
            own.globals.push(self.global(id, unit, local, global));
        }
        for alias in &unit.aliases {
            own.aliases.push((alias.symbol, alias.target, alias.linkage));
            if alias.linkage != Linkage::Internal {
                let symbol = self.symbol(unit.str(alias.symbol));
                let strength = strength(alias.linkage);
                self.define(id, symbol, strength, alias.target, true, None);
            }
        }
        own.aliases.sort_by_key(|a| a.0);
        self.symbols.units.push(own);
    }

    fn function(&mut self, id: UnitId, unit: &'u Unit, local: FunctionId, function: &'u Function) -> Named {
        if function.is_definition && function.linkage == Linkage::Internal {
            return Named { symbol: PRIVATE, definition: None };
        }
        let symbol = self.symbol(unit.str(function.symbol));
        let definition = function.is_definition.then(|| {
            let strength = strength(function.linkage);
            let merge = match strength {
                Strength::Hint => Some(Merge::Hint(symbol)),
                Strength::LinkOnce => {
                    let file = function.file.and_then(|f| unit.files.get(f)).map(|f| unit.str(*f));
                    Some(Merge::Copy(symbol, file, function.line))
                }
                _ => None,
            };
            self.define(id, symbol, strength, AliasTarget::Function(local), false, merge)
        });
        Named { symbol, definition }
    }

    fn global(&mut self, id: UnitId, unit: &'u Unit, local: GlobalId, global: &'u Global) -> Named {
        let is_definition = global.init != Initialiser::External;
        if is_definition && global.linkage == Linkage::Internal {
            return Named { symbol: PRIVATE, definition: None };
        }
        let symbol = self.symbol(unit.str(global.symbol));
        let definition = is_definition.then(|| {
            let strength = strength(global.linkage);
            let merge = match strength {
                Strength::Hint => Some(Merge::Hint(symbol)),
                Strength::Common => Some(Merge::Common(symbol)),
                // Tables made by the compiler have no place in the source.
                Strength::LinkOnce => Some(Merge::Copy(symbol, None, 0)),
                _ => None,
            };
            self.define(id, symbol, strength, AliasTarget::Global(local), false, merge)
        });
        Named { symbol, definition }
    }

    fn symbol(&mut self, name: &'u str) -> Symbol {
        let next = self.symbols.of.len() as Symbol;
        let symbol = *self.names.entry(name).or_insert(next);
        if symbol == next {
            self.symbols.of.push(Definitions::new());
        }
        symbol
    }

    fn define(
        &mut self,
        unit: UnitId,
        symbol: Symbol,
        strength: Strength,
        target: AliasTarget,
        is_alias: bool,
        merge: Option<Merge<'u>>,
    ) -> DefinitionId {
        let next = self.symbols.definitions.len() as DefinitionId;
        let id = merge.map_or(next, |key| *self.merged.entry(key).or_insert(next));
        if id == next {
            let units = SmallVec::from_slice(&[unit]);
            self.symbols.definitions.push(Definition { strength, target, is_alias, units });
            self.symbols.of[symbol as usize].push(id);
        } else if self.symbols.definitions[id as usize].units.last() != Some(&unit) {
            self.symbols.definitions[id as usize].units.push(unit);
        }
        id
    }
}

fn strength(linkage: Linkage) -> Strength {
    match linkage {
        Linkage::External | Linkage::Internal => Strength::Strong,
        Linkage::Weak => Strength::Weak,
        Linkage::LinkOnce => Strength::LinkOnce,
        Linkage::Common => Strength::Common,
        Linkage::AvailableExternally => Strength::Hint,
    }
}
