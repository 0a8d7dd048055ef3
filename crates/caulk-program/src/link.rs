//! Gives every function and variable of the program its number, and every local number of a unit its meaning.

use caulk_ir::entity::Entity;
use caulk_ir::unit::AliasTarget;
use caulk_ir::{EntityVec, FunctionId, GlobalId, Linkage, StructId, Unit};
use rayon::prelude::*;
use rustc_hash::FxHashMap;
use smallvec::SmallVec;

use crate::bounds::BOUNDS;
use crate::ids::{FuncId, GlobalVarId, TypeId, UnitId};
use crate::programs::Resolver;
use crate::symbols::{DefinitionId, PRIVATE, Symbol, Symbols};

/// What the local numbers of a unit mean in the program.
#[derive(Clone, Debug, Default)]
pub(crate) struct UnitMap {
    pub(crate) functions: Resolutions<FunctionId, FuncId>,
    pub(crate) globals: Resolutions<GlobalId, GlobalVarId>,
    pub(crate) structs: EntityVec<StructId, TypeId>,
}

/// One meaning for nearly all, several for the few that differ from program to program.
#[derive(Clone, Debug)]
pub(crate) struct Resolutions<K, V> {
    first: EntityVec<K, V>,
    /// Sorted by key, and the meanings sorted.
    several: Vec<(K, Box<[V]>)>,
}

impl<K: Entity, V> Default for Resolutions<K, V> {
    fn default() -> Self {
        Self { first: EntityVec::new(), several: Vec::new() }
    }
}

impl<K: Entity + Ord, V: Copy> Resolutions<K, V> {
    fn push(&mut self, meanings: &[V]) {
        let key = self.first.push(meanings[0]);
        if meanings.len() > 1 {
            self.several.push((key, meanings.into()));
        }
    }

    pub(crate) fn get(&self, key: K) -> &[V] {
        match self.several.binary_search_by_key(&key, |s| s.0) {
            Ok(found) => &self.several[found].1,
            Err(_) => std::slice::from_ref(&self.first[key]),
        }
    }

    pub(crate) fn first(&self, key: K) -> V {
        self.get(key)[0]
    }

    pub(crate) fn several(&self) -> impl Iterator<Item = &[V]> {
        self.several.iter().map(|s| &*s.1)
    }
}

/// Where something of the program is described: its definition, or the first declaration of an undefined symbol.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Home<L> {
    pub unit: UnitId,
    pub local: L,
    pub is_defined: bool,
}

#[derive(Debug, Default)]
pub(crate) struct Linked {
    pub functions: EntityVec<FuncId, Home<FunctionId>>,
    pub globals: EntityVec<GlobalVarId, Home<GlobalId>>,
    pub units: Vec<UnitMap>,
}

/// Definitions first, in the order of units, then the symbols that nothing defines.
pub(crate) fn link(
    units: &[&Unit],
    symbols: &Symbols,
    resolver: &Resolver<'_>,
    structs: Vec<EntityVec<StructId, TypeId>>,
) -> Linked {
    let mut linker = Linker::new(units, symbols, resolver);
    linker.number_definitions();
    let linker_ref = &linker;
    let found: Vec<UnitMeanings> =
        (0..units.len()).into_par_iter().map(|u| linker_ref.unit(UnitId::from_index(u))).collect();
    let mut undefined = Undefined::default();
    let mut maps = Vec::with_capacity(units.len());
    for (u, (meanings, structs)) in found.into_iter().zip(structs).enumerate() {
        maps.push(linker.map(UnitId::from_index(u), meanings, structs, &mut undefined));
    }
    Linked { functions: linker.functions, globals: linker.globals, units: maps }
}

/// Functions and variables a local one may mean.
struct UnitMeanings {
    functions: Vec<SmallVec<[FuncId; 1]>>,
    globals: Vec<SmallVec<[GlobalVarId; 1]>>,
}

/// Numbers given so far to symbols that nothing defines.
#[derive(Default)]
struct Undefined {
    functions: FxHashMap<Symbol, FuncId>,
    globals: FxHashMap<Symbol, GlobalVarId>,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Meaning {
    Function(FuncId),
    Global(GlobalVarId),
}

struct Linker<'a> {
    units: &'a [&'a Unit],
    symbols: &'a Symbols,
    resolver: &'a Resolver<'a>,
    functions: EntityVec<FuncId, Home<FunctionId>>,
    globals: EntityVec<GlobalVarId, Home<GlobalId>>,
    /// What each definition of the symbol table is; None for aliases.
    of_definition: Vec<Option<Meaning>>,
    /// What each private function and variable is.
    private_functions: FxHashMap<(UnitId, FunctionId), FuncId>,
    private_globals: FxHashMap<(UnitId, GlobalId), GlobalVarId>,
}

impl<'a> Linker<'a> {
    fn new(units: &'a [&'a Unit], symbols: &'a Symbols, resolver: &'a Resolver<'a>) -> Self {
        Self {
            units,
            symbols,
            resolver,
            functions: EntityVec::new(),
            globals: EntityVec::new(),
            of_definition: vec![None; symbols.definitions.len()],
            private_functions: FxHashMap::default(),
            private_globals: FxHashMap::default(),
        }
    }

    fn number_definitions(&mut self) {
        for (u, unit) in self.units.iter().enumerate() {
            let id = UnitId::from_index(u);
            let own = &self.symbols.units[u];
            for local in unit.functions.keys() {
                let named = own.functions[local.index()];
                let home = Home { unit: id, local, is_defined: true };
                if named.symbol == PRIVATE {
                    self.private_functions.insert((id, local), self.functions.push(home));
                } else if let Some(definition) = named.definition.filter(|&d| self.is_first(d, named.symbol)) {
                    self.of_definition[definition as usize] = Some(Meaning::Function(self.functions.push(home)));
                }
            }
            for local in unit.globals.keys() {
                let named = own.globals[local.index()];
                let home = Home { unit: id, local, is_defined: true };
                if named.symbol == PRIVATE {
                    self.private_globals.insert((id, local), self.globals.push(home));
                } else if let Some(definition) = named.definition.filter(|&d| self.is_first(d, named.symbol)) {
                    self.of_definition[definition as usize] = Some(Meaning::Global(self.globals.push(home)));
                }
            }
        }
    }

    /// Not yet numbered, and not a hint that something better replaces.
    fn is_first(&self, definition: DefinitionId, symbol: Symbol) -> bool {
        self.of_definition[definition as usize].is_none() && self.symbols.of[symbol as usize].contains(&definition)
    }

    fn unit(&self, id: UnitId) -> UnitMeanings {
        let unit = self.units[id.index()];
        let functions = unit.functions.keys().map(|local| {
            let mut found: SmallVec<[FuncId; 1]> = SmallVec::new();
            self.target(id, AliasTarget::Function(local), BOUNDS.aliases, &mut |meaning| {
                if let Meaning::Function(function) = meaning {
                    found.push(function);
                }
            });
            found.sort_unstable();
            found.dedup();
            found
        });
        let globals = unit.globals.keys().map(|local| {
            let mut found: SmallVec<[GlobalVarId; 1]> = SmallVec::new();
            self.target(id, AliasTarget::Global(local), BOUNDS.aliases, &mut |meaning| {
                if let Meaning::Global(global) = meaning {
                    found.push(global);
                }
            });
            found.sort_unstable();
            found.dedup();
            found
        });
        UnitMeanings { functions: functions.collect(), globals: globals.collect() }
    }

    /// What a local function or variable means, through all aliases.
    fn target(&self, unit: UnitId, target: AliasTarget, hops: usize, found: &mut dyn FnMut(Meaning)) {
        if hops == 0 {
            return;
        }
        let own = &self.symbols.units[unit.index()];
        let (named, text) = match target {
            AliasTarget::Function(f) => (own.functions[f.index()], self.units[unit.index()].functions[f].symbol),
            AliasTarget::Global(g) => (own.globals[g.index()], self.units[unit.index()].globals[g].symbol),
        };
        if named.symbol == PRIVATE {
            return found(match target {
                AliasTarget::Function(f) => Meaning::Function(self.private_functions[&(unit, f)]),
                AliasTarget::Global(g) => Meaning::Global(self.private_globals[&(unit, g)]),
            });
        }
        if let Some((target, Linkage::Internal)) = own.alias(text) {
            return self.target(unit, target, hops - 1, found);
        }
        for definition in self.resolver.resolve(unit, named.symbol) {
            self.definition(definition, hops, found);
        }
    }

    fn definition(&self, id: DefinitionId, hops: usize, found: &mut dyn FnMut(Meaning)) {
        let definition = &self.symbols.definitions[id as usize];
        match self.of_definition[id as usize] {
            Some(meaning) => found(meaning),
            None if definition.is_alias => self.alias_target(definition.unit(), definition.target, hops - 1, found),
            None => {}
        }
    }

    /// An alias is an address in its own unit: it means that unit's definition, even if a stronger one elsewhere takes
    /// the name.
    fn alias_target(&self, unit: UnitId, target: AliasTarget, hops: usize, found: &mut dyn FnMut(Meaning)) {
        let own = &self.symbols.units[unit.index()];
        let named = match target {
            AliasTarget::Function(f) => own.functions[f.index()],
            AliasTarget::Global(g) => own.globals[g.index()],
        };
        match named.definition.and_then(|d| self.of_definition[d as usize]) {
            Some(meaning) => found(meaning),
            None => self.target(unit, target, hops, found),
        }
    }

    fn map(
        &mut self,
        id: UnitId,
        meanings: UnitMeanings,
        structs: EntityVec<StructId, TypeId>,
        undefined: &mut Undefined,
    ) -> UnitMap {
        let mut map = UnitMap { structs, ..UnitMap::default() };
        let own = &self.symbols.units[id.index()];
        for (index, found) in meanings.functions.into_iter().enumerate() {
            if !found.is_empty() {
                map.functions.push(&found);
                continue;
            }
            let home = Home { unit: id, local: FunctionId::from_index(index), is_defined: false };
            let symbol = own.functions[index].symbol;
            let function = *undefined.functions.entry(symbol).or_insert_with(|| self.functions.push(home));
            map.functions.push(&[function]);
        }
        for (index, found) in meanings.globals.into_iter().enumerate() {
            if !found.is_empty() {
                map.globals.push(&found);
                continue;
            }
            let home = Home { unit: id, local: GlobalId::from_index(index), is_defined: false };
            let symbol = own.globals[index].symbol;
            let global = *undefined.globals.entry(symbol).or_insert_with(|| self.globals.push(home));
            map.globals.push(&[global]);
        }
        map
    }
}
