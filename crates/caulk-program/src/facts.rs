//! What the pass over all bodies brings home: calls, and the flow of function pointers as inclusion constraints. Bodies
//! are decoded once, in parallel, and dropped.

use std::sync::Arc;

use caulk_ir::entity::Entity;
use caulk_ir::{
    CallData, Constant, EntityVec, FunctionId, Global, GlobalId, Initialiser, InstId, PackedUnit, Pointee, Type,
};
use rayon::prelude::*;

use crate::built::Build;
use crate::extract::extract;
use crate::formulas::Formula;
use crate::ids::{FuncId, GlobalVarId, TypeId, UnitId};
use crate::link::{Linked, UnitMap};
use crate::types::Types;
use crate::variables::VariableUse;

/// Functions extracted together; large enough that merging is cheap, small enough to share the work evenly.
const CHUNK: usize = 64;

/// A place that holds function pointers: a node of the constraint graph.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) enum Key {
    /// A parameter or the result of a function, see [`Frames`].
    Frame(u32),
    /// A value or local variable of one function, numbered within its chunk.
    Local(u32),
    /// A field of all structures of a type.
    Field(TypeId, u32),
    /// A part of a global variable; all elements of an array are one.
    Global(GlobalVarId, u32),
}

/// What a place may hold.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) enum Value {
    Function(FuncId),
    /// The address of a place that holds function pointers.
    Address(Key),
}

#[derive(Clone, Copy, Debug)]
pub(crate) enum CallFact {
    Direct(FunctionId),
    /// The next entry of [`Facts::sites`].
    Indirect,
    /// Inline assembly that may be given pointers, or only numbers and places of numbers.
    Assembly {
        takes_pointers: bool,
    },
}

/// A call through a pointer.
#[derive(Clone, Debug)]
pub(crate) struct Site {
    pub callee: Key,
    /// The arguments in which a function pointer may travel.
    pub args: Box<[(u32, Key)]>,
    pub ret: Option<Key>,
    pub shape: CallShape,
    pub virtual_call: Option<VirtualCall>,
}

/// What a call says about the type of what it calls.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct CallShape {
    pub args: Box<[Type]>,
    pub ret: Type,
    pub variadic: bool,
}

impl CallShape {
    pub(crate) fn new(call: &CallData) -> Self {
        Self { args: call.arg_types.as_slice().into(), ret: call.ret, variadic: call.variadic }
    }
}

/// A call of the function at a slot of the object's table.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct VirtualCall {
    pub slot: u32,
    /// What the source says the object is.
    pub class: Option<TypeId>,
    /// Failing that, the function this stands in, if the object is its `this`.
    pub method: Option<FuncId>,
    /// What the object was made as, where the same function makes it, and how far into it the call looks.
    pub made_as: Option<(TypeId, i64)>,
    /// The virtual call whose result the object is, where nothing else tells its class: `maker->make()->run()`.
    pub given_by: Option<Box<VirtualCall>>,
}

/// What a body told of itself.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct BodyFacts {
    pub blocks: u32,
    pub insts: u32,
    /// The last line of the function's own code, in its own file.
    pub last_line: u32,
    /// How many of the chunk's calls come before the end of this function.
    pub calls_end: u32,
    /// The number that every return gives back.
    pub result: Option<Constant>,
}

/// The facts of one chunk of functions.
#[derive(Debug, Default)]
pub(crate) struct Facts {
    pub bodies: Vec<BodyFacts>,
    pub calls: Vec<(InstId, CallFact)>,
    pub sites: Vec<Site>,
    /// The second place may hold whatever the first holds.
    pub edges: Vec<(Key, Key)>,
    pub values: Vec<(Key, Value)>,
    /// The second may hold whatever places the first points to hold.
    pub loads: Vec<(Key, Key)>,
    /// Places the second points to may hold whatever the first holds.
    pub stores: Vec<(Key, Key)>,
    /// How many [`Key::Local`] there are.
    pub locals: u32,
    /// Variables whose address goes where only types tell who uses it.
    pub escaped: Vec<GlobalVarId>,
    pub address_taken: Vec<FuncId>,
    /// What is done with plain variables.
    pub variables: Vec<VariableUse>,
    pub formulas: Vec<(FuncId, Formula)>,
    /// Structures that constructors fill before the program begins, and structures that may be changed.
    pub builds: Vec<Build>,
    pub changed: Vec<GlobalVarId>,
}

impl Facts {
    fn tidy(&mut self) {
        self.edges.sort_unstable();
        self.edges.dedup();
        self.values.sort_unstable();
        self.values.dedup();
        for list in [&mut self.loads, &mut self.stores] {
            list.sort_unstable();
            list.dedup();
        }
        self.escaped.sort_unstable();
        self.escaped.dedup();
        self.address_taken.sort_unstable();
        self.address_taken.dedup();
        self.variables.sort_unstable();
        self.variables.dedup();
        self.changed.sort_unstable();
        self.changed.dedup();
    }
}

/// The nodes of parameters and results: a run for each function with a body, parameters first, then the result.
#[derive(Debug, Default)]
pub(crate) struct Frames {
    starts: Vec<u32>,
}

impl Frames {
    fn new(units: &[Arc<PackedUnit>], linked: &Linked) -> Self {
        let mut starts = Vec::with_capacity(linked.functions.len() + 1);
        let mut next = 0;
        for home in linked.functions.values() {
            starts.push(next);
            let unit = &units[home.unit.index()];
            if home.is_defined && unit.body_bytes(home.local) > 0 {
                next += unit.unit.functions[home.local].signature.params.len() as u32 + 1;
            }
        }
        starts.push(next);
        Self { starts }
    }

    pub(crate) fn len(&self) -> u32 {
        self.starts.last().copied().unwrap_or(0)
    }

    pub(crate) fn has_body(&self, function: FuncId) -> bool {
        self.starts[function.index()] < self.starts[function.index() + 1]
    }

    /// None beyond the last parameter, and for functions without a body.
    pub(crate) fn param(&self, function: FuncId, index: u32) -> Option<u32> {
        let node = self.starts[function.index()].checked_add(index)?;
        (node + 1 < self.starts[function.index() + 1]).then_some(node)
    }

    pub(crate) fn result(&self, function: FuncId) -> Option<u32> {
        self.has_body(function).then(|| self.starts[function.index() + 1] - 1)
    }
}

/// What the extraction needs to know of a global variable.
#[derive(Clone, Copy, Debug)]
pub(crate) struct GlobalShape {
    /// The structure it is, or an array of.
    pub ty: Option<TypeId>,
    pub pointee: Pointee,
    pub is_const: bool,
    /// Not a structure, and holds function pointers: its address is worth following.
    pub carries: bool,
    /// A table of virtual functions; calls through it are resolved by class and slot.
    pub is_vtable: bool,
    /// At most a word, and no structure: worth knowing who uses it.
    pub is_plain: bool,
}

/// The linked program as the extraction sees it.
pub(crate) struct World<'a> {
    pub units: &'a [Arc<PackedUnit>],
    pub linked: &'a Linked,
    pub types: &'a Types,
    pub frames: Frames,
    pub globals: EntityVec<GlobalVarId, GlobalShape>,
}

impl<'a> World<'a> {
    pub(crate) fn new(units: &'a [Arc<PackedUnit>], linked: &'a Linked, types: &'a Types) -> Self {
        let globals: Vec<GlobalShape> = linked
            .globals
            .as_slice()
            .par_iter()
            .map(|home| shape(&units[home.unit.index()], home.local, &linked.units[home.unit.index()]))
            .collect();
        Self { units, linked, types, frames: Frames::new(units, linked), globals: globals.into() }
    }

    pub(crate) fn map(&self, unit: UnitId) -> &'a UnitMap {
        &self.linked.units[unit.index()]
    }

    pub(crate) fn global(&self, id: GlobalVarId) -> &'a Global {
        let home = self.linked.globals[id];
        &self.units[home.unit.index()].unit.globals[home.local]
    }

    pub(crate) fn function(&self, id: FuncId) -> &'a caulk_ir::Function {
        let home = self.linked.functions[id];
        &self.units[home.unit.index()].unit.functions[home.local]
    }

    /// The items of a variable's initialiser.
    pub(crate) fn for_each_item(&self, id: GlobalVarId, mut visit: impl FnMut(u64, Constant)) {
        if let Initialiser::Items { items, .. } = &self.global(id).init {
            items.iter().for_each(|item| visit(item.offset, item.value));
        }
    }

    /// The facts of all bodies, chunk after chunk in the order of functions.
    pub(crate) fn facts(&self) -> Vec<Facts> {
        let functions: Vec<FuncId> = self.linked.functions.keys().collect();
        functions
            .par_chunks(CHUNK)
            .map(|chunk| {
                let mut facts = Facts::default();
                for &function in chunk {
                    let home = self.linked.functions[function];
                    let body = home.is_defined.then(|| self.units[home.unit.index()].body(home.local)).flatten();
                    let mut told = body.map_or_else(BodyFacts::default, |b| extract(self, function, &b, &mut facts));
                    told.calls_end = facts.calls.len() as u32;
                    facts.bodies.push(told);
                }
                facts.tidy();
                facts
            })
            .collect()
    }
}

/// Whether a place of that declared type may hold a function pointer: not if it points to a structure. What is declared
/// `void *` or `char *` may hold anything.
pub(crate) fn may_hold(pointee: Pointee) -> bool {
    pointee.is_function || pointee.depth == 0 || pointee.target.is_none()
}

/// Whether a function pointer fits into a value of the type.
pub(crate) fn fits(ty: Type, pointer_bytes: u8) -> bool {
    match ty {
        Type::Ptr => true,
        Type::Int(bits) => bits == 8 * u16::from(pointer_bytes),
        Type::Aggregate(bytes) => bytes >= u32::from(pointer_bytes),
        Type::Void | Type::Float(_) | Type::Vector(_) => false,
    }
}

fn shape(unit: &PackedUnit, local: GlobalId, map: &UnitMap) -> GlobalShape {
    let global = &unit.unit.globals[local];
    let symbol = unit.unit.str(global.symbol);
    let ty = global.pointee.target.filter(|_| global.pointee.depth == 0).map(|t| map.structs[t]);
    let is_vtable = ["_ZTV", "_ZTC", "_ZTT"].iter().any(|prefix| symbol.starts_with(prefix));
    let has_functions = match &global.init {
        Initialiser::Items { items, .. } => items.iter().any(|i| matches!(i.value, Constant::Function(_))),
        _ => false,
    };
    GlobalShape {
        ty,
        pointee: global.pointee,
        is_const: global.is_const,
        carries: ty.is_none() && !is_vtable && (global.pointee.is_function || has_functions),
        is_vtable,
        is_plain: ty.is_none() && !is_vtable && (1..=u64::from(unit.unit.pointer_bytes)).contains(&global.size),
    }
}
