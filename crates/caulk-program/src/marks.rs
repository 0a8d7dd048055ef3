//! Marks: short answers to the questions of [`Read`], to be compared from one run to the next.
//!
//! A mark says what something *is*, in words that mean the same in both programs: symbols, texts, layouts and shapes of bodies, never numbers.
//! So a program that has one function more, which moves the numbers of all that follow, has the same marks for the others.

use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::Arc;

use caulk_ir::entity::Entity;
use caulk_ir::{Constant, FunctionId, GlobalId, Initialiser, Linkage, Mention, PackedUnit, Pointee, Shape};
use rayon::prelude::*;
use rustc_hash::FxHashMap;

use crate::bounds::BOUNDS;
use crate::ids::{FuncId, GlobalVarId, TypeId, UnitId};
use crate::names::{Named, Names};
use crate::program::Program;
use crate::reads::{Read, unrecorded};

/// The shapes of a unit's bodies, by function.
type UnitShapes = Arc<[Option<Shape>]>;

/// The shapes of bodies, kept as long as their units are.
#[derive(Debug, Default)]
pub struct Shapes(Vec<(Arc<PackedUnit>, UnitShapes)>);

impl Shapes {
    /// The shapes of all units of a program, in their order.
    fn of(&mut self, program: &Program) -> Vec<UnitShapes> {
        let address = |unit: &Arc<PackedUnit>| Arc::as_ptr(unit).addr();
        let known: FxHashMap<usize, &UnitShapes> =
            self.0.iter().map(|(unit, shapes)| (address(unit), shapes)).collect();
        let units: Vec<Arc<PackedUnit>> = program.shared_units().cloned().collect();
        let shapes: Vec<UnitShapes> = units
            .par_iter()
            .map(|unit| known.get(&address(unit)).map_or_else(|| shapes_of(unit), |shapes| Arc::clone(shapes)))
            .collect();
        self.0 = units.into_iter().zip(shapes.iter().cloned()).collect();
        shapes
    }
}

fn shapes_of(packed: &PackedUnit) -> UnitShapes {
    let shape = |function: FunctionId| Some(Shape::new(&packed.unit, function, packed.body(function)?));
    packed.unit.functions.keys().map(shape).collect()
}

/// The marks of one program.
#[derive(Debug, Default)]
pub struct Marks {
    /// What holds for the program as a whole.
    pub ground: u64,
    /// Who everything is.
    pub names: Arc<Names>,
    functions: Vec<u64>,
    bodies: Vec<u64>,
    callers: Vec<u64>,
    globals: Vec<u64>,
}

impl Marks {
    pub fn new(program: &Program, shapes: &mut Shapes) -> Self {
        let shapes = shapes.of(program);
        unrecorded(|| Maker::new(program).marks(&shapes))
    }

    /// The mark for a question about the program itself; None for those about tables of the engines.
    pub fn of(&self, read: Read) -> Option<u64> {
        match read {
            Read::Function(f) => self.functions.get(f.index()),
            Read::Body(f) => self.bodies.get(f.index()),
            Read::Callers(f) => self.callers.get(f.index()),
            Read::Global(g) => self.globals.get(g.index()),
            Read::Type(t) => self.names.types.names.get(t.index()),
            _ => None,
        }
        .copied()
    }
}

/// A hash of anything.
pub fn mark(of: &(impl Hash + ?Sized)) -> u64 {
    let mut hasher = DefaultHasher::new();
    of.hash(&mut hasher);
    hasher.finish()
}

struct Maker<'p> {
    program: &'p Program,
    marks: Marks,
}

impl<'p> Maker<'p> {
    fn new(program: &'p Program) -> Self {
        let mut maker = Self { program, marks: Marks::default() };
        let types = (0..program.types().len()).map(|t| maker.type_name(TypeId::from_index(t)));
        let names = Names {
            types: Named::new(types.collect()),
            functions: Named::new(program.functions().map(|f| maker.function_name(f)).collect()),
            globals: Named::new(program.globals().map(|g| maker.global_name(g)).collect()),
        };
        maker.marks.names = Arc::new(names);
        maker
    }

    fn marks(mut self, shapes: &[UnitShapes]) -> Marks {
        let program = self.program;
        self.marks.ground = mark(&(program.is_whole(), &program.config.entry_symbols));
        self.marks.globals = program.globals().map(|g| self.global(g)).collect();
        let functions: Vec<FuncId> = program.functions().collect();
        self.marks.functions = functions.iter().map(|f| self.function(*f)).collect();
        self.marks.bodies = functions.par_iter().map(|f| unrecorded(|| self.body(*f, shapes))).collect();
        self.marks.callers = functions.iter().map(|f| self.callers(*f)).collect();
        self.marks
    }

    /// A type is what its layout is.
    fn type_name(&self, id: TypeId) -> u64 {
        let (unit, ty) = self.program.struct_type(id);
        let info = self.program.type_info(id);
        let mut hasher = DefaultHasher::new();
        (unit.str(ty.name), ty.identity.map(|name| unit.str(name)), info.size, info.is_union).hash(&mut hasher);
        for field in &ty.fields {
            (field.offset, field.size, field.name.map(|name| unit.str(name)), field.is_base).hash(&mut hasher);
        }
        for field in &info.fields {
            (field.offset, field.size, field.is_base, field.is_vptr).hash(&mut hasher);
            (field.pointee.depth, field.pointee.is_const, field.pointee.is_function).hash(&mut hasher);
            let target =
                field.target.map(|target| (self.program.type_name(target), self.program.type_info(target).size));
            target.hash(&mut hasher);
        }
        hasher.finish()
    }

    fn function_name(&self, id: FuncId) -> u64 {
        let info = self.program.function(id);
        let home = info.has_body.then(|| self.program.unit(info.unit).source.as_str());
        mark(&(home, info.symbol))
    }

    /// Literals have numbers for symbols, which move: they are what they say.
    fn global_name(&self, id: GlobalVarId) -> u64 {
        let info = self.program.global(id);
        let unit = self.program.unit(info.unit);
        let home = info.is_defined.then_some(unit.source.as_str());
        match &info.declaration.init {
            Initialiser::Text(text)
                if info.declaration.linkage == Linkage::Internal && info.symbol.starts_with('.') =>
            {
                mark(&(home, "literal", unit.str(*text), info.declaration.size))
            }
            _ => mark(&(home, info.symbol)),
        }
    }

    fn pointee(&self, unit: UnitId, pointee: Pointee) -> impl Hash + use<> {
        let target = pointee.target.map(|ty| self.ty(unit, ty));
        (pointee.depth, target, pointee.is_const, pointee.is_function)
    }

    fn ty(&self, unit: UnitId, ty: caulk_ir::StructId) -> u64 {
        self.marks.names.types.names[self.program.resolve_struct(unit, ty).index()]
    }

    fn function(&self, id: FuncId) -> u64 {
        let info = self.program.function(id);
        let mut hasher = DefaultHasher::new();
        let (name, has_body) = (self.marks.names.functions.names[id.index()], info.has_body);
        (name, info.symbol, info.name, info.file, has_body, info.address_taken).hash(&mut hasher);
        self.declared(info.unit, info.local, &mut hasher);
        hasher.finish()
    }

    /// What a unit's declaration says, its place left out.
    fn declared(&self, unit: UnitId, local: FunctionId, hasher: &mut DefaultHasher) {
        let source = self.program.unit(unit);
        let declaration = &source.functions[local];
        (declaration.linkage, &declaration.signature, declaration.is_definition).hash(hasher);
        for param in &declaration.params {
            let name = param.name.map(|name| source.str(name));
            (name, format!("{:?}", param.flags), self.pointee(unit, param.pointee)).hash(hasher);
        }
        (self.pointee(unit, declaration.ret_pointee), format!("{:?}", declaration.flags)).hash(hasher);
        declaration.annotations.iter().for_each(|text| source.str(*text).hash(hasher));
    }

    fn global(&self, id: GlobalVarId) -> u64 {
        let info = self.program.global(id);
        let (unit, global) = (self.program.unit(info.unit), info.declaration);
        let mut hasher = DefaultHasher::new();
        (self.marks.names.globals.names[id.index()], info.is_defined, self.program.only_passes_down(id))
            .hash(&mut hasher);
        (info.name, global.linkage, global.size, global.is_const, global.thread_local).hash(&mut hasher);
        self.pointee(info.unit, global.pointee).hash(&mut hasher);
        self.program.built_contents(id).hash(&mut hasher);
        match &global.init {
            Initialiser::External => 0.hash(&mut hasher),
            Initialiser::Zero => 1.hash(&mut hasher),
            Initialiser::Text(text) => unit.str(*text).hash(&mut hasher),
            Initialiser::Items { items, complete } => {
                complete.hash(&mut hasher);
                for item in items {
                    (item.offset, self.constant(info.unit, item.value)).hash(&mut hasher);
                }
            }
        }
        hasher.finish()
    }

    fn constant(&self, unit: UnitId, constant: Constant) -> u64 {
        match constant {
            Constant::Global { global, offset } => mark(&(self.meant_global(unit, global), offset)),
            Constant::Function(function) => mark(&self.meant_function(unit, function)),
            plain => mark(&plain),
        }
    }

    fn meant_function(&self, unit: UnitId, local: FunctionId) -> Vec<u64> {
        self.program.resolve_function(unit, local).iter().map(|f| self.marks.names.functions.names[f.index()]).collect()
    }

    fn meant_global(&self, unit: UnitId, local: GlobalId) -> Vec<u64> {
        self.program.resolve_global(unit, local).iter().map(|g| self.marks.names.globals.names[g.index()]).collect()
    }

    /// A body is its shape, what it mentions, what of that is a constant, and where its calls lead.
    fn body(&self, id: FuncId, shapes: &[UnitShapes]) -> u64 {
        let program = self.program;
        let info = program.function(id);
        let Some(shape) = shapes[info.unit.index()][info.local.index()].as_ref().filter(|_| info.has_body) else {
            return self.marks.functions[id.index()];
        };
        let mut hasher = DefaultHasher::new();
        (self.marks.functions[id.index()], shape.hash).hash(&mut hasher);
        for mention in &shape.mentions {
            self.mention(info.unit, *mention, &mut hasher);
        }
        for site in program.call_sites(id) {
            (site.inst, site.kind, site.outcome).hash(&mut hasher);
            program.targets(site).iter().for_each(|f| self.marks.names.functions.names[f.index()].hash(&mut hasher));
        }
        hasher.finish()
    }

    fn mention(&self, unit: UnitId, mention: Mention, hasher: &mut DefaultHasher) {
        match mention {
            Mention::Struct(ty) => self.ty(unit, ty).hash(hasher),
            Mention::Function(function) => {
                self.meant_function(unit, function).hash(hasher);
                self.declared(unit, function, hasher);
                self.program.always_returned(unit, function).hash(hasher);
                for meant in self.program.resolve_function(unit, function) {
                    self.program.hash_formula(*meant, hasher, 0);
                }
            }
            Mention::Global(global) => {
                self.meant_global(unit, global).hash(hasher);
                let held = self.program.always_held(unit, global);
                held.map(|constant| self.constant(unit, constant)).hash(hasher);
            }
        }
    }

    fn callers(&self, id: FuncId) -> u64 {
        let callers = self.program.callers(id);
        mark(&callers.map(|caller| self.marks.names.functions.names[caller.index()]).collect::<Vec<u64>>())
    }
}

impl Program {
    fn always_returned(&self, unit: UnitId, function: FunctionId) -> Option<Constant> {
        self.constants.of_function(&self.maps[unit.index()], function)
    }

    /// What a function computes, and those that it asks.
    fn hash_formula(&self, function: FuncId, hasher: &mut DefaultHasher, depth: usize) {
        let Some(formula) = self.constants.formulas().get(function) else { return };
        format!("{formula:?}").hash(hasher);
        if depth < BOUNDS.marked_calls {
            formula.callees().for_each(|callee| self.hash_formula(callee, hasher, depth + 1));
        }
    }

    fn always_held(&self, unit: UnitId, global: GlobalId) -> Option<Constant> {
        self.constants.of_global(&self.maps[unit.index()], global)
    }

    fn shared_units(&self) -> impl Iterator<Item = &Arc<PackedUnit>> {
        self.units.iter()
    }
}
