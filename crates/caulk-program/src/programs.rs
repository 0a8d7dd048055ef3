//! Which definition a reference means, when a database holds several programs.
//!
//! A build with forty tests has forty `main`s and often several functions of one name. The linker never sees them
//! together; we do. Where every symbol has one definition there is nothing to decide and nothing is computed. Only
//! when some symbol other than an entry point is defined twice, each program is linked again: from the unit with the
//! entry point, through what it needs, to the units that define it. The cost is then programs times units they contain,
//! over needs worked out once for clusters of units that need each other, which is small even for hundreds of tests of one
//! library.
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
use crate::scc::{Graph, for_each_component};
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
    pub(crate) fn new(symbols: &'a Symbols, nearness: &'a Nearness, config: &ProgramConfig) -> Self {
        let mut resolver = Self { symbols, nearness, contested: FxHashMap::default() };
        let roots = entry_units(symbols);
        if needs_programs(symbols, roots.len()) {
            resolver.link_programs(&roots, config);
        }
        resolver
    }

    /// The definitions a symbol has for a unit; none if nothing defines it.
    pub(crate) fn resolve(&self, unit: UnitId, symbol: Symbol) -> Definitions {
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
        let needs = Needs::new(self, roots);
        let roots = &roots[..roots.len().min(config.max_programs)];
        for batch in roots.chunks(BATCH) {
            let this = &*self;
            let linked: Vec<Vec<Linked>> =
                batch.par_iter().map(|&root| Link::new(this, &needs, root, roots.len() == 1).run()).collect();
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

    /// What a unit needs from others: units where that is clear, symbols where it is not.
    fn needs_of(&self, unit: UnitId) -> (Vec<UnitId>, Vec<Symbol>) {
        let own = &self.symbols.units[unit.index()];
        let (mut needed, mut contested) = (Vec::new(), Vec::new());
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
                        needed.push(units[0]);
                    }
                }
                _ => contested.push(symbol),
            }
        }
        needed.sort_unstable();
        needed.dedup();
        contested.sort_unstable();
        contested.dedup();
        (needed, contested)
    }
}

/// What units need from each other, the same for all programs. Units that need each other are one *cluster*, so that a
/// program of a library's worth of units takes a few steps.
struct Needs {
    /// Units with an entry point: never pulled into another program.
    is_root: Vec<bool>,
    cluster_of: Vec<u32>,
    clusters: Vec<Cluster>,
    /// Of each unit, the contested symbols it needs, by their numbers in `symbols`.
    contested: Vec<Vec<u32>>,
    symbols: Vec<Symbol>,
}

#[derive(Default)]
struct Cluster {
    units: Vec<UnitId>,
    /// Clusters that come with it.
    needs: Vec<u32>,
}

impl Needs {
    fn new(resolver: &Resolver<'_>, roots: &[UnitId]) -> Self {
        let len = resolver.symbols.units.len();
        let mut is_root = vec![false; len];
        roots.iter().for_each(|root| is_root[root.index()] = true);
        let (needed, contested): (Vec<Vec<UnitId>>, Vec<Vec<Symbol>>) =
            (0..len).into_par_iter().map(|u| resolver.needs_of(UnitId::from_index(u))).unzip();
        let mut edges = Vec::new();
        for (from, needed) in needed.iter().enumerate() {
            let others = needed.iter().filter(|to| !is_root[to.index()]);
            edges.extend(others.map(|to| (from as u32, to.0)));
        }
        let graph = Graph::new(len, edges);
        let mut cluster_of = vec![0; len];
        let mut clusters: Vec<Cluster> = Vec::new();
        for_each_component(&graph, |members| {
            members.iter().for_each(|&m| cluster_of[m as usize] = clusters.len() as u32);
            clusters.push(Cluster { units: members.iter().map(|&m| UnitId(m)).collect(), needs: Vec::new() });
        });
        for (index, cluster) in clusters.iter_mut().enumerate() {
            let targets = cluster.units.iter().flat_map(|unit| graph.row(unit.0));
            cluster.needs = targets.map(|&t| cluster_of[t as usize]).filter(|&c| c != index as u32).collect();
            cluster.needs.sort_unstable();
            cluster.needs.dedup();
        }
        let mut symbols: Vec<Symbol> = contested.iter().flatten().copied().collect();
        symbols.sort_unstable();
        symbols.dedup();
        let number = |s: &Symbol| symbols.binary_search(s).expect("every contested symbol is listed") as u32;
        let contested = contested.iter().map(|list| list.iter().map(number).collect()).collect();
        Self { is_root, cluster_of, clusters, contested, symbols }
    }
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
    needs: &'a Needs,
    root: UnitId,
    only_program: bool,
    included: Vec<bool>,
    /// Units and clusters in the order they came in.
    order: Vec<UnitId>,
    clusters: Vec<u32>,
    /// Contested symbols for which nothing more can come in.
    settled: Vec<bool>,
}

impl<'a> Link<'a> {
    fn new(resolver: &'a Resolver<'a>, needs: &'a Needs, root: UnitId, only_program: bool) -> Self {
        Self {
            resolver,
            needs,
            root,
            only_program,
            included: vec![false; needs.cluster_of.len()],
            order: Vec::new(),
            clusters: Vec::new(),
            settled: vec![false; needs.symbols.len()],
        }
    }

    fn run(mut self) -> Vec<Linked> {
        self.include(self.root);
        for u in 0..self.included.len() {
            let unit = UnitId::from_index(u);
            if self.resolver.nearness.same_target(unit, self.root) {
                self.include(unit);
            }
        }
        let (mut clusters_done, mut units_done) = (0, 0);
        let mut pending: VecDeque<(UnitId, u32)> = VecDeque::new();
        loop {
            // First all that is certain; only then is a choice made, with as much known as can be.
            while let Some(&cluster) = self.clusters.get(clusters_done) {
                clusters_done += 1;
                let needs = self.needs;
                for &needed in &needs.clusters[cluster as usize].needs {
                    self.include(needs.clusters[needed as usize].units[0]);
                }
            }
            while let Some(&unit) = self.order.get(units_done) {
                units_done += 1;
                pending.extend(self.needs.contested[unit.index()].iter().map(|&symbol| (unit, symbol)));
            }
            let Some((unit, symbol)) = pending.pop_front() else { break };
            if !self.settled[symbol as usize] {
                if let Some(unit) = self.missing(unit, symbol) {
                    self.include(unit);
                }
            }
        }
        self.references()
    }

    /// Takes in a unit with its cluster.
    fn include(&mut self, unit: UnitId) {
        let foreign_root = self.needs.is_root[unit.index()] && unit != self.root;
        if foreign_root || self.included[unit.index()] {
            return;
        }
        let cluster = self.needs.cluster_of[unit.index()];
        self.clusters.push(cluster);
        for &member in &self.needs.clusters[cluster as usize].units {
            self.included[member.index()] = true;
            self.order.push(member);
        }
    }

    fn is_included(&self, definition: DefinitionId) -> bool {
        let units = &self.resolver.symbols.definitions[definition as usize].units;
        units.iter().any(|unit| self.included[unit.index()])
    }

    /// The unit to pull in for a symbol that is not yet defined, or only weakly.
    fn missing(&mut self, from: UnitId, symbol: u32) -> Option<UnitId> {
        let symbols = self.resolver.symbols;
        let all = &symbols.of[self.needs.symbols[symbol as usize] as usize];
        let strength = |d: DefinitionId| symbols.definitions[d as usize].strength;
        let unit = |d: DefinitionId| symbols.definitions[d as usize].unit();
        let have = all.iter().filter(|&&d| self.is_included(d)).map(|&d| strength(d)).max();
        let allowed = || all.iter().copied().filter(|&d| !self.needs.is_root[unit(d).index()]);
        let stronger = || allowed().filter(|&d| have.is_none_or(|have| strength(d) > have));
        if stronger().next().is_none() {
            self.settled[symbol as usize] = true;
            return None;
        }
        if have.is_none() {
            return self.resolver.best(stronger(), from, Some(self.root)).map(unit);
        }
        // Nothing forces a stronger definition in. It is linked if it lies with the program.
        let nearness = self.resolver.nearness;
        let near = |u: UnitId| self.only_program || nearness.same_place(u, self.root) || nearness.same_place(u, from);
        self.resolver.best(stronger().filter(|&d| near(unit(d))), from, Some(self.root)).map(unit)
    }

    fn references(&self) -> Vec<Linked> {
        let symbols = self.resolver.symbols;
        let mut inside: Vec<Option<Definitions>> = vec![None; self.needs.symbols.len()];
        let mut found = Vec::new();
        for &unit in &self.order {
            for &number in &self.needs.contested[unit.index()] {
                let symbol = self.needs.symbols[number as usize];
                let inside = inside[number as usize].get_or_insert_with(|| {
                    symbols.of[symbol as usize].iter().copied().filter(|&d| self.is_included(d)).collect()
                });
                if let Some(definition) = self.resolver.best(inside.iter().copied(), unit, Some(self.root)) {
                    found.push((unit, symbol, definition));
                }
            }
        }
        found
    }
}
