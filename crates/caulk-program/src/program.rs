//! The program: all units, linked.

use caulk_ir::entity::Entity;
use caulk_ir::{
    Body, Constant, EntityVec, Function, FunctionId, Global, GlobalId, InstId, Linkage, PackedUnit, StructId,
    StructType, Unit, line_at,
};
use caulk_rules::Rule;
use rustc_hash::FxHashSet;
use std::sync::Arc;

use crate::built::{Built, built};
use crate::calls::{CallSite, Calls};
use crate::carriers::carriers;
use crate::config::ProgramConfig;
use crate::constants::Constants;
use crate::facts::{BodyFacts, Facts, World};
use crate::ids::{FuncId, GlobalVarId, TypeId, UnitId};
use crate::link::{Home, UnitMap, link};
use crate::lookup::Lookup;
use crate::nearness::Nearness;
use crate::programs::Resolver;
use crate::reads::{Read, note};
use crate::symbols::Symbols;
use crate::totals::Totals;
use crate::types::{TypeInfo, Types};
use crate::variables::Variables;

/// A unit on its way into a program.
#[derive(Clone, Debug)]
pub struct UnitInput {
    pub packed: Arc<PackedUnit>,
    /// The object file the build makes of it (`CMakeFiles/foo.dir/x.c.o`, `.libs/x.o`): tells which units are linked
    /// together.
    pub output_hint: Option<String>,
}

impl UnitInput {
    pub fn new(packed: impl Into<Arc<PackedUnit>>) -> Self {
        Self { packed: packed.into(), output_hint: None }
    }
}

/// All units, linked, with the call graph. Made once, then only read; the same for any number of threads.
#[derive(Debug)]
pub struct Program {
    pub config: ProgramConfig,
    pub(crate) units: Vec<Arc<PackedUnit>>,
    pub(crate) maps: Vec<UnitMap>,
    functions: EntityVec<FuncId, Home<FunctionId>>,
    bodies: EntityVec<FuncId, BodyFacts>,
    globals: EntityVec<GlobalVarId, Home<GlobalId>>,
    types: Types,
    calls: Calls,
    is_whole: bool,
    pub(crate) constants: Constants,
    carriers: FxHashSet<GlobalVarId>,
    built: Built,
    lookup: Lookup,
    totals: Totals,
}

/// What is known of a function without its body.
#[derive(Clone, Copy, Debug)]
pub struct FunctionInfo<'a> {
    pub id: FuncId,
    /// The unit that defines it, or the first that declares it.
    pub unit: UnitId,
    pub local: FunctionId,
    /// The symbol the linker sees.
    pub symbol: &'a str,
    /// The name a reader of the source knows.
    pub name: &'a str,
    pub file: Option<&'a str>,
    /// Line of the definition or declaration, and the last line with code; 0 when unknown.
    pub line: u32,
    pub last_line: u32,
    pub has_body: bool,
    /// Used otherwise than in a direct call.
    pub address_taken: bool,
    /// Signature, parameters and attributes.
    pub declaration: &'a Function,
}

/// What is known of a global variable.
#[derive(Clone, Copy, Debug)]
pub struct GlobalInfo<'a> {
    pub id: GlobalVarId,
    pub unit: UnitId,
    pub local: GlobalId,
    pub symbol: &'a str,
    pub name: &'a str,
    pub is_defined: bool,
    pub declaration: &'a Global,
}

impl Program {
    /// Links units into a program. The order of units decides between equals, as the order of objects does for a
    /// linker.
    pub fn link(inputs: Vec<UnitInput>, config: ProgramConfig) -> Self {
        let nearness = {
            let places = inputs.iter().map(|i| (i.packed.unit.source.as_str(), i.output_hint.as_deref()));
            Nearness::new(places)
        };
        let packed: Vec<Arc<PackedUnit>> = inputs.into_iter().map(|i| i.packed).collect();
        let units: Vec<&Unit> = packed.iter().map(|p| &p.unit).collect();
        let (types, structs) = Types::unify(&units);
        let symbols = Symbols::new(&units, &config.entry_symbols);
        let linked = link(&units, &symbols, &Resolver::new(&symbols, &nearness, &config), structs);
        drop((symbols, nearness, units));
        let world = World::new(&packed, &linked, &types);
        let facts = world.facts();
        let calls = Calls::new(&world, &facts, &config);
        let variables = Variables::new(&world, &facts);
        let is_whole = has_entry(&world, &config);
        let constants = Constants::new(&world, &facts, &variables, &config.rules, &|id| {
            let global = world.global(id);
            let unit = &world.units[linked.globals[id].unit.index()].unit;
            let is_settled = || config.settled_variables.iter().any(|s| s == unit.str(global.symbol));
            is_whole || config.rules.applies(Rule::SettledVariables, is_settled())
        });
        let built = built(&world, &facts, &config.rules);
        drop(world);
        let bodies: Vec<BodyFacts> = facts.iter().flat_map(|f: &Facts| f.bodies.iter().copied()).collect();
        drop(facts);
        let mut program = Self {
            config,
            units: packed,
            maps: linked.units,
            functions: linked.functions,
            bodies: bodies.into(),
            globals: linked.globals,
            types,
            calls,
            is_whole,
            constants,
            carriers: FxHashSet::default(),
            built,
            lookup: Lookup::default(),
            totals: Totals::default(),
        };
        program.lookup = Lookup::new(&program);
        program.totals = Totals::new(&program);
        let rules = program.config.rules.clone();
        program.carriers = rules.all(Rule::Carriers, || carriers(&program, &variables)).into_iter().collect();
        program
    }

    pub fn units(&self) -> impl ExactSizeIterator<Item = (UnitId, &PackedUnit)> {
        self.units.iter().enumerate().map(|(i, unit)| (UnitId::from_index(i), &**unit))
    }

    pub fn packed(&self, unit: UnitId) -> &PackedUnit {
        &self.units[unit.index()]
    }

    pub fn unit(&self, unit: UnitId) -> &Unit {
        &self.units[unit.index()].unit
    }

    /// Definitions first, in the order of units, then undefined symbols.
    pub fn functions(&self) -> impl ExactSizeIterator<Item = FuncId> + use<> {
        self.functions.keys()
    }

    pub fn function(&self, id: FuncId) -> FunctionInfo<'_> {
        note(Read::Function(id));
        let Home { unit, local, .. } = self.functions[id];
        let source = self.unit(unit);
        let declaration = &source.functions[local];
        FunctionInfo {
            id,
            unit,
            local,
            symbol: source.symbol(local),
            name: source.function_name(local),
            file: declaration.file.and_then(|f| source.files.get(f)).map(|f| source.str(*f)),
            line: declaration.line,
            last_line: self.bodies[id].last_line,
            has_body: self.has_body(id),
            address_taken: self.calls.address_taken[id.index()],
            declaration,
        }
    }

    pub fn has_body(&self, id: FuncId) -> bool {
        note(Read::Function(id));
        self.bodies[id].blocks > 0
    }

    /// Decodes the body of a function; None if the program does not define it. Loads and calls that have the same result
    /// all over the program are replaced by it where they are used.
    pub fn body(&self, id: FuncId) -> Option<Body> {
        note(Read::Body(id));
        let home = self.functions[id];
        let mut body = home.is_defined.then(|| self.units[home.unit.index()].body(home.local)).flatten()?;
        self.constants.fold(&self.maps[home.unit.index()], &mut body);
        Some(body)
    }

    /// Whether a function that only computes returns zero wherever this argument is zero.
    pub fn keeps_zero(&self, function: FuncId, index: usize) -> bool {
        note(Read::Body(function));
        let args: Vec<Option<u64>> = (0..=index).map(|at| (at == index).then_some(0)).collect();
        self.constants.formulas().value(function, &args) == Some(0)
    }

    /// Whether a function returns null and nothing else.
    pub fn returns_null(&self, id: FuncId) -> bool {
        note(Read::Body(id));
        self.constants.result_of(id) == Some(Constant::Null)
    }

    /// A line of a function, given as the distance from the function's own line: what is kept of a function does not change when code
    /// above it does.
    pub fn line_of(&self, function: FuncId, below: u32) -> u32 {
        line_at(below, self.function(function).line)
    }

    /// How many blocks and instructions a body has, without decoding it.
    pub fn body_size(&self, id: FuncId) -> (u32, u32) {
        note(Read::Body(id));
        (self.bodies[id].blocks, self.bodies[id].insts)
    }

    pub fn globals(&self) -> impl ExactSizeIterator<Item = GlobalVarId> + use<> {
        self.globals.keys()
    }

    pub fn global(&self, id: GlobalVarId) -> GlobalInfo<'_> {
        note(Read::Global(id));
        let Home { unit, local, is_defined } = self.globals[id];
        let source = self.unit(unit);
        let declaration = &source.globals[local];
        let symbol = source.str(declaration.symbol);
        let name = declaration.name.map_or(symbol, |n| source.str(n));
        GlobalInfo { id, unit, local, symbol, name, is_defined, declaration }
    }

    /// Whether some program begins in what was read: then nothing is missing but libraries.
    pub fn is_whole(&self) -> bool {
        self.is_whole
    }

    /// Whether the program begins with this function: it ends when the function returns.
    pub fn is_entry(&self, function: FuncId) -> bool {
        let symbol = self.function(function).symbol;
        self.config.entry_symbols.iter().any(|entry| entry == symbol)
    }

    /// Whether a variable only passes a value from the function that sets it to the functions that one calls: when it
    /// returns, the variable is not read again before it is set again.
    pub fn only_passes_down(&self, variable: GlobalVarId) -> bool {
        note(Read::Global(variable));
        self.carriers.contains(&variable)
    }

    /// The numbers that a constructor puts into a variable before the program begins, if nothing changes them: offsets and numbers, sorted.
    pub fn built_contents(&self, variable: GlobalVarId) -> &[(u64, Constant)] {
        note(Read::Global(variable));
        self.built.get(&variable).map_or(&[], Vec::as_slice)
    }

    pub fn types(&self) -> &Types {
        &self.types
    }

    pub fn type_info(&self, id: TypeId) -> &TypeInfo {
        note(Read::Type(id));
        self.types.get(id)
    }

    /// The structure as the unit that stands for it describes it; its strings and types are that unit's.
    pub fn struct_type(&self, id: TypeId) -> (&Unit, &StructType) {
        note(Read::Type(id));
        let info = self.types.get(id);
        let unit = self.unit(info.unit);
        (unit, &unit.structs[info.local])
    }

    pub fn type_name(&self, id: TypeId) -> &str {
        let (unit, ty) = self.struct_type(id);
        unit.str(ty.name)
    }

    /// What a unit's function means: sorted, never empty, and more than one only where programs that share the unit
    /// link it differently.
    pub fn resolve_function(&self, unit: UnitId, local: FunctionId) -> &[FuncId] {
        self.maps[unit.index()].functions.get(local)
    }

    /// What a unit's variable means, as [`Program::resolve_function`].
    pub fn resolve_global(&self, unit: UnitId, local: GlobalId) -> &[GlobalVarId] {
        self.maps[unit.index()].globals.get(local)
    }

    pub fn resolve_struct(&self, unit: UnitId, local: StructId) -> TypeId {
        self.maps[unit.index()].structs[local]
    }

    /// The calls of a function, in the order of instructions.
    pub fn call_sites(&self, function: FuncId) -> &[CallSite] {
        note(Read::Body(function));
        self.calls.sites(function)
    }

    /// The call an instruction makes.
    pub fn call_site(&self, function: FuncId, inst: InstId) -> Option<&CallSite> {
        note(Read::Body(function));
        let sites = self.calls.sites(function);
        sites.binary_search_by_key(&inst, |s| s.inst).ok().map(|found| &sites[found])
    }

    /// The functions a call may reach, sorted.
    pub fn targets(&self, site: &CallSite) -> &[FuncId] {
        self.calls.targets(site)
    }

    pub(crate) fn all_call_sites(&self) -> &[CallSite] {
        self.calls.all()
    }

    /// The functions called, sorted, each once. Calls with many targets count for nothing.
    pub fn callees(&self, function: FuncId) -> impl ExactSizeIterator<Item = FuncId> + '_ {
        note(Read::Body(function));
        self.calls.callees.row(function.0).iter().map(|&f| FuncId(f))
    }

    /// The functions that call it, sorted, each once.
    pub fn callers(&self, function: FuncId) -> impl ExactSizeIterator<Item = FuncId> + '_ {
        note(Read::Callers(function));
        self.calls.callers.row(function.0).iter().map(|&f| FuncId(f))
    }

    /// Groups of functions that call each other, bottom-up: what a group calls comes before it. Members are sorted.
    pub fn sccs(&self) -> &[Vec<FuncId>] {
        &self.calls.sccs
    }

    /// All functions of a name, be it the one of the source or the linker's. Sorted.
    pub fn functions_named(&self, name: &str) -> Vec<FuncId> {
        self.lookup.named(self, name)
    }

    /// The functions whose code covers a line, innermost first. The file may be given by the end of its path.
    pub fn functions_at(&self, file: &str, line: u32) -> Vec<FuncId> {
        self.lookup.at(self, file, line)
    }

    pub fn totals(&self) -> &Totals {
        &self.totals
    }

    /// Functions without a body that are called, with the number of call sites: most called first, then by symbol.
    pub fn missing_bodies(&self) -> Vec<(FuncId, usize)> {
        let mut counts = vec![0usize; self.functions.len()];
        for site in self.calls.all() {
            self.targets(site).iter().for_each(|t| counts[t.index()] += 1);
        }
        let called = self.functions().filter(|f| !self.has_body(*f) && counts[f.index()] > 0);
        let mut missing: Vec<(FuncId, usize)> = called.map(|f| (f, counts[f.index()])).collect();
        missing.sort_by(|a, b| {
            b.1.cmp(&a.1).then_with(|| self.function(a.0).symbol.cmp(self.function(b.0).symbol)).then(a.0.cmp(&b.0))
        });
        missing
    }
}

/// Whether what was read defines an entry point.
fn has_entry(world: &World<'_>, config: &ProgramConfig) -> bool {
    world.linked.functions.iter().any(|(id, home)| {
        let unit = &world.units[home.unit.index()].unit;
        home.is_defined
            && world.function(id).linkage != Linkage::Internal
            && config.entry_symbols.iter().any(|s| s == unit.symbol(home.local))
    })
}
