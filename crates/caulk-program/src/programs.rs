//! Which definition a reference means, when a database holds several programs.
//!
//! A build with forty tests has forty `main`s and often several functions of one name. The linker never sees them
//! together; we do. Where every symbol has one definition there is nothing to decide and nothing is computed. Only
//! when some symbol other than an entry point is defined twice, each program is linked again: from the unit with the
//! entry point, through what it needs, to the units that define it. The cost is then programs times units they contain,
//! over edges between units made once (not over symbols), which is small even for hundreds of tests of one library.
//!
//! A unit may be in several programs, so a reference may have several definitions. A unit in no program belongs to a
//! library; its references go to the nearest definitions.

use std::collections::VecDeque;

use caulk_ir::entity::Entity;
use rayon::prelude::*;
use rustc_hash::FxHashMap;
use smallvec::SmallVec;

use crate::config::ProgramConfig;
use crate::ids::UnitId;
use crate::nearness::Nearness;
use crate::symbols::{DefinitionId, Definitions, PRIVATE, Strength, Symbol, Symbols};

/// Programs linked at a time, so that their results are merged before they fill the memory.
const BATCH: usize = 64;

/// The answer for every reference.
#[derive(Debug)]
pub(crate) struct Resolver<'a> {
    symbols: &'a Symbols,
    nearness: &'a Nearness,
    /// References whose definition depends on the program, of units that are in one. Sorted by definition.
    contested: FxHashMap<(UnitId, Symbol), Definitions>,
}

impl<'a> Resolver<'a> {
    pub fn new(symbols: &'a Symbols, nearness: &'a Nearness, config: &ProgramConfig) -> Self {
        let mut resolver = Self { symbols, nearness, contested: FxHashMap::default() };
        let roots = entry_units(symbols);
        if needs_programs(symbols, roots.len()) {
            resolver.link_programs(&roots, config);
        }
        resolver
    }

    /// The definitions a symbol has for a unit; none if nothing defines it.
    pub fn resolve(&self, unit: UnitId, symbol: Symbol) -> Definitions {
        if let Some(own) = self.symbols.own(unit, symbol) {
            return SmallVec::from_slice(&[own]);
        }
        match self.symbols.of[symbol as usize].as_slice() {
            [] => Definitions::new(),
            [one] => SmallVec::from_slice(&[*one]),
            all => match self.contested.get(&(unit, symbol)) {
                Some(found) => found.clone(),
                None => self.best(all.iter().copied(), unit, None).into_iter().collect(),
            },
        }
    }

    /// The strongest definition; of several strong ones the nearest, of several weak ones the first.
    fn best(
        &self,
        candidates: impl Iterator<Item = DefinitionId> + Clone,
        from: UnitId,
        root: Option<UnitId>,
    ) -> Option<DefinitionId> {
        let definitions = &self.symbols.definitions;
        let strength = candidates.clone().map(|d| definitions[d as usize].strength).max()?;
        let strongest = candidates.filter(|&d| definitions[d as usize].strength == strength);
        match strength {
            Strength::Weak | Strength::Hint => strongest.min(),
            _ => strongest.min_by_key(|&d| self.nearness.rank(definitions[d as usize].unit(), from, root)),
        }
    }

    fn link_programs(&mut self, roots: &[UnitId], config: &ProgramConfig) {
        let needs = self.needs();
        let mut is_root = vec![false; self.symbols.units.len()];
        roots.iter().for_each(|root| is_root[root.index()] = true);
        let roots = &roots[..roots.len().min(config.max_programs)];
        for batch in roots.chunks(BATCH) {
            let this = &*self;
            let linked: Vec<Vec<Linked>> =
                batch.par_iter().map(|&root| Link::new(this, &needs, &is_root, root, roots.len() == 1).run()).collect();
            for (unit, symbol, definition) in linked.into_iter().flatten() {
                let found = self.contested.entry((unit, symbol)).or_default();
                if let Err(at) = found.binary_search(&definition) {
                    found.insert(at, definition);
                }
            }
        }
        let mut keys: Vec<(UnitId, Symbol)> = self
            .contested
            .iter()
            .filter(|(_, found)| found.len() > config.max_definitions)
            .map(|(key, _)| *key)
            .collect();
        keys.sort_unstable();
        for key in keys {
            let mut found = self.contested.remove(&key).expect("the key was taken from this map");
            let definitions = &self.symbols.definitions;
            found.sort_by_key(|&d| self.nearness.rank(definitions[d as usize].unit(), key.0, None));
            found.truncate(config.max_definitions);
            found.sort_unstable();
            self.contested.insert(key, found);
        }
    }

    /// What each unit needs from others: by units where that is clear, by symbols where it is not.
    fn needs(&self) -> Vec<Needs> {
        let units = 0..self.symbols.units.len();
        units.into_par_iter().map(|u| self.needs_of(UnitId::from_index(u))).collect()
    }

    fn needs_of(&self, unit: UnitId) -> Needs {
        let own = &self.symbols.units[unit.index()];
        let mut needs = Needs::default();
        let names = own.functions.iter().chain(&own.globals).map(|n| n.symbol).filter(|&s| s != PRIVATE);
        for symbol in names {
            if self.symbols.own(unit, symbol).is_some() {
                continue;
            }
            match self.symbols.of[symbol as usize].as_slice() {
                [] => {}
                [one] => {
                    let units = &self.symbols.definitions[*one as usize].units;
                    if units.binary_search(&unit).is_err() {
                        needs.units.push(units[0]);
                    }
                }
                _ => needs.symbols.push(symbol),
            }
        }
        needs.units.sort_unstable();
        needs.units.dedup();
        needs.symbols.sort_unstable();
        needs.symbols.dedup();
        needs
    }
}

#[derive(Debug, Default)]
struct Needs {
    units: Vec<UnitId>,
    symbols: Vec<Symbol>,
}

/// In some program, the unit's reference to the symbol means that definition.
type Linked = (UnitId, Symbol, DefinitionId);

/// Units that define an entry point, in order.
fn entry_units(symbols: &Symbols) -> Vec<UnitId> {
    let definitions = symbols.entries.iter().flat_map(|&entry| &symbols.of[entry as usize]);
    let mut units: Vec<UnitId> =
        definitions.flat_map(|&d| symbols.definitions[d as usize].units.iter().copied()).collect();
    units.sort_unstable();
    units.dedup();
    units
}

/// Whether some reference may mean different definitions in different programs.
fn needs_programs(symbols: &Symbols, roots: usize) -> bool {
    roots > 0
        && (0..symbols.of.len() as Symbol).filter(|s| symbols.of[*s as usize].len() > 1).any(|symbol| {
            let strong = symbols.count(symbol, Strength::Strong);
            let overrides = roots > 1 && strong == 1 && symbols.count(symbol, Strength::Weak) > 0;
            (strong > 1 || overrides) && !symbols.entries.contains(&symbol)
        })
}

/// One program on its way through the linker.
struct Link<'a> {
    resolver: &'a Resolver<'a>,
    needs: &'a [Needs],
    /// Units with an entry point: never pulled into another program.
    is_root: &'a [bool],
    root: UnitId,
    only_program: bool,
    included: Vec<bool>,
    order: Vec<UnitId>,
}

impl<'a> Link<'a> {
    fn new(
        resolver: &'a Resolver<'a>,
        needs: &'a [Needs],
        is_root: &'a [bool],
        root: UnitId,
        only_program: bool,
    ) -> Self {
        let included = vec![false; is_root.len()];
        Self { resolver, needs, is_root, root, only_program, included, order: Vec::new() }
    }

    fn run(mut self) -> Vec<Linked> {
        self.include(self.root);
        for u in 0..self.included.len() {
            let unit = UnitId::from_index(u);
            if self.resolver.nearness.same_target(unit, self.root) {
                self.include(unit);
            }
        }
        let mut pending: VecDeque<(UnitId, Symbol)> = VecDeque::new();
        let mut done = 0;
        loop {
            // First all that is certain; only then is a choice made, with as much known as can be.
            while let Some(&unit) = self.order.get(done) {
                done += 1;
                let needs = &self.needs[unit.index()];
                needs.units.iter().for_each(|&needed| self.include(needed));
                pending.extend(needs.symbols.iter().map(|&symbol| (unit, symbol)));
            }
            let Some((unit, symbol)) = pending.pop_front() else { break };
            if let Some(unit) = self.missing(unit, symbol) {
                self.include(unit);
            }
        }
        self.references()
    }

    fn include(&mut self, unit: UnitId) {
        let foreign_root = self.is_root[unit.index()] && unit != self.root;
        if !foreign_root && !std::mem::replace(&mut self.included[unit.index()], true) {
            self.order.push(unit);
        }
    }

    fn is_included(&self, definition: DefinitionId) -> bool {
        let units = &self.resolver.symbols.definitions[definition as usize].units;
        units.iter().any(|unit| self.included[unit.index()])
    }

    /// The unit to pull in for a symbol that is not yet defined, or only weakly.
    fn missing(&self, from: UnitId, symbol: Symbol) -> Option<UnitId> {
        let symbols = self.resolver.symbols;
        let all = &symbols.of[symbol as usize];
        let strength = |d: DefinitionId| symbols.definitions[d as usize].strength;
        let unit = |d: DefinitionId| symbols.definitions[d as usize].unit();
        let have = all.iter().filter(|&&d| self.is_included(d)).map(|&d| strength(d)).max();
        if have == Some(Strength::Strong) {
            return None;
        }
        let allowed = all.iter().copied().filter(|&d| !self.is_root[unit(d).index()]);
        let Some(have) = have else {
            return self.resolver.best(allowed, from, Some(self.root)).map(unit);
        };
        // Nothing forces a stronger definition in. It is linked if it lies with the program.
        let nearness = self.resolver.nearness;
        let near = |u: UnitId| self.only_program || nearness.same_place(u, self.root) || nearness.same_place(u, from);
        let stronger = allowed.filter(|&d| strength(d) > have && near(unit(d)));
        self.resolver.best(stronger, from, Some(self.root)).map(unit)
    }

    fn references(&self) -> Vec<Linked> {
        let mut found = Vec::new();
        for &unit in &self.order {
            for &symbol in &self.needs[unit.index()].symbols {
                let all = self.resolver.symbols.of[symbol as usize].iter().copied();
                let inside = all.filter(|&d| self.is_included(d));
                if let Some(definition) = self.resolver.best(inside, unit, Some(self.root)) {
                    found.push((unit, symbol, definition));
                }
            }
        }
        found
    }
}
