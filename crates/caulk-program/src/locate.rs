//! From an address to the place it names: which field of which structure, which part of which variable.

use caulk_ir::{AddressStep, Body, Callee, Constant, Function, Inst, InstId, Operand, Pointee, Unit, VarId};
use rustc_hash::FxHashMap;
use smallvec::SmallVec;

use crate::bounds::BOUNDS;
use crate::facts::{Key, World, may_hold};
use crate::ids::{GlobalVarId, TypeId};
use crate::link::UnitMap;
use crate::types::Spot;

/// A body with all that is needed to understand its addresses.
pub(crate) struct Reader<'a> {
    pub world: &'a World<'a>,
    pub unit: &'a Unit,
    pub map: &'a UnitMap,
    pub function: &'a Function,
    pub body: &'a Body,
    /// The source variable each value was assigned to.
    bound: FxHashMap<InstId, VarId>,
}

/// Where an address points.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Location {
    pub root: Root,
    /// The structure and offset, where the steps or the root's type tell.
    pub ty: Option<(TypeId, u64)>,
    /// Bytes from the root, with every array index taken as zero.
    pub offset: i64,
    /// Some step said what structure it went into.
    pub by_field: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Root {
    Global(GlobalVarId),
    Local(InstId),
    /// Whatever the value points to.
    Value(InstId),
    Nothing,
}

/// A place as the constraints know it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Slot {
    Key(Key),
    /// A local variable that is not a structure.
    Local(InstId),
    /// Only values tell where the pointer points.
    Behind(InstId),
    /// Cannot hold a function pointer, or is not understood.
    Nothing,
}

/// What a pointer points to, with the type seen over the whole program.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Shape {
    pub pointee: Pointee,
    pub target: Option<TypeId>,
}

impl<'a> Reader<'a> {
    pub(crate) fn new(
        world: &'a World<'a>,
        unit: &'a Unit,
        map: &'a UnitMap,
        function: &'a Function,
        body: &'a Body,
    ) -> Self {
        let mut bound = FxHashMap::default();
        for inst in body.insts.values() {
            if let Inst::Bind { var, value: Operand::Value(value) } = inst {
                bound.entry(*value).or_insert(*var);
            }
        }
        Self { world, unit, map, function, body, bound }
    }

    pub(crate) fn locate(&self, address: Operand) -> Location {
        self.locate_within(address, BOUNDS.type_loads)
    }

    fn locate_within(&self, address: Operand, depth: u32) -> Location {
        let mut chain: SmallVec<[InstId; 4]> = SmallVec::new();
        let mut at = address;
        while let Operand::Value(value) = at {
            match &self.body.insts[value] {
                Inst::Address { base, .. } if chain.len() < BOUNDS.addresses => {
                    chain.push(value);
                    at = *base;
                }
                _ => break,
            }
        }
        let (root, offset) = self.root(at);
        let by_field = chain.iter().any(|&v| match &self.body.insts[v] {
            Inst::Address { steps, .. } => steps.iter().any(|s| matches!(s, AddressStep::Field { .. })),
            _ => false,
        });
        let ty = if by_field { None } else { self.root_type(root, depth).map(|t| (t, 0)) };
        let mut location = Location { root, ty, offset, by_field };
        if let (Root::Global(_), Some((_, at))) = (root, &mut location.ty) {
            *at = u64::try_from(offset).unwrap_or(0);
        }
        for &value in chain.iter().rev() {
            if let Inst::Address { steps, .. } = &self.body.insts[value] {
                steps.iter().for_each(|step| self.step(&mut location, step));
            }
        }
        location
    }

    fn root(&self, operand: Operand) -> (Root, i64) {
        match operand {
            Operand::Value(value) => match self.body.insts[value] {
                Inst::Local { .. } => (Root::Local(value), 0),
                _ => (Root::Value(value), 0),
            },
            Operand::Const(c) => match self.body.consts[c] {
                Constant::Global { global, offset } => (Root::Global(self.map.globals.first(global)), offset),
                _ => (Root::Nothing, 0),
            },
        }
    }

    fn step(&self, location: &mut Location, step: &AddressStep) {
        match *step {
            AddressStep::Field { ty, offset } => {
                location.ty = Some((self.map.structs[ty], offset));
                location.offset = location.offset.wrapping_add_unsigned(offset);
            }
            AddressStep::Bytes { offset, .. } => {
                location.offset = location.offset.wrapping_add(offset);
                location.ty = location.ty.and_then(|(ty, at)| Some((ty, at.checked_add_signed(offset)?)));
            }
            AddressStep::Index { .. } => {}
        }
    }

    /// The structure that lies at the root itself.
    fn root_type(&self, root: Root, depth: u32) -> Option<TypeId> {
        match root {
            Root::Global(global) => self.world.globals[global].ty,
            Root::Local(local) => {
                let Inst::Local { var: Some(var), .. } = self.body.insts[local] else { return None };
                let pointee = self.body.vars[var].pointee;
                pointee.target.filter(|_| pointee.depth == 0).map(|t| self.map.structs[t])
            }
            Root::Value(value) => {
                let shape = self.shape_within(value, depth)?;
                shape.target.filter(|_| shape.pointee.depth == 1)
            }
            Root::Nothing => None,
        }
    }

    /// What the source says a value points to.
    pub(crate) fn shape(&self, value: InstId) -> Option<Shape> {
        self.shape_within(value, BOUNDS.type_loads)
    }

    fn shape_within(&self, value: InstId, depth: u32) -> Option<Shape> {
        let local = |pointee: Pointee| Shape { pointee, target: pointee.target.map(|t| self.map.structs[t]) };
        // `void *` says less than the variable it is assigned to.
        let is_telling = |shape: &Shape| shape.target.is_some() || shape.pointee.is_function;
        let depth = depth.checked_sub(1)?;
        let direct = match &self.body.insts[value] {
            Inst::Param { index, .. } => self.function.params.get(*index as usize).map(|p| local(p.pointee)),
            Inst::Load { address, .. } => self.held_shape(&self.locate_within(*address, depth)),
            Inst::Call(call) | Inst::Invoke { call, .. } => match call.callee {
                Callee::Direct(function) => Some(local(self.unit.functions[function].ret_pointee)),
                _ => None,
            },
            Inst::Phi { incoming, .. } => self.common_shape(incoming.iter().map(|(_, v)| *v), depth),
            Inst::Select { then, other, .. } => self.common_shape([*then, *other].into_iter(), depth),
            _ => None,
        };
        let bound = || self.bound.get(&value).map(|&var| local(self.body.vars[var].pointee));
        direct.filter(is_telling).or_else(|| bound().or(direct))
    }

    /// What all values that a choice is made from point to, null left out.
    fn common_shape(&self, choices: impl Iterator<Item = Operand>, depth: u32) -> Option<Shape> {
        let mut shapes = choices.filter_map(|choice| choice.value()).map(|value| self.shape_within(value, depth));
        let first = shapes.next()??;
        let is_same = |shape: Option<Shape>| {
            shape.is_some_and(|s| s.target == first.target && s.pointee.depth == first.pointee.depth)
        };
        (first.target.is_some() && shapes.all(is_same)).then_some(first)
    }

    /// What the pointer held at a location points to.
    fn held_shape(&self, location: &Location) -> Option<Shape> {
        if let Some((ty, offset)) = location.ty {
            let field = self.world.types.field(self.world.types.spot(ty, offset))?;
            return Some(Shape { pointee: field.pointee, target: field.target });
        }
        match location.root {
            Root::Global(global) => {
                let pointee = self.world.globals[global].pointee;
                let home = self.world.linked.globals[global];
                Some(Shape { pointee, target: pointee.target.map(|t| self.world.map(home.unit).structs[t]) })
            }
            _ => None,
        }
    }

    /// The slot some bytes after a location.
    pub(crate) fn slot_at(&self, location: &Location, after: u64) -> Slot {
        let holds = |spot: Spot| self.world.types.field(spot).is_none_or(|f| may_hold(f.pointee));
        if let Root::Global(global) = location.root {
            let shape = &self.world.globals[global];
            if shape.is_vtable {
                return Slot::Nothing;
            }
            if let Some(spot) = self.global_spot(location, after) {
                let key = Key::Global(global, spot.outer as u32);
                return if holds(spot) { Slot::Key(key) } else { Slot::Nothing };
            }
            if !location.by_field {
                return if may_hold(shape.pointee) { Slot::Key(Key::Global(global, 0)) } else { Slot::Nothing };
            }
        }
        if let Some((ty, offset)) = location.ty {
            let spot = self.world.types.spot(ty, offset.saturating_add(after));
            return if holds(spot) { Slot::Key(Key::Field(spot.ty, spot.offset as u32)) } else { Slot::Nothing };
        }
        match location.root {
            Root::Local(local) => match self.body.insts[local] {
                Inst::Local { var: Some(var), .. } if !may_hold(self.body.vars[var].pointee) => Slot::Nothing,
                _ => Slot::Local(local),
            },
            Root::Value(value) => match self.shape(value) {
                Some(shape) if !may_hold(shape.pointee) => Slot::Nothing,
                _ => Slot::Behind(value),
            },
            Root::Global(_) | Root::Nothing => Slot::Nothing,
        }
    }

    /// The part of a variable that is a structure, or an array of them.
    pub(crate) fn global_spot(&self, location: &Location, after: u64) -> Option<Spot> {
        let Root::Global(global) = location.root else { return None };
        let ty = self.world.globals[global].ty?;
        let size = self.world.types.get(ty).size;
        if size == 0 {
            return None;
        }
        let offset = location.offset.wrapping_add_unsigned(after);
        let offset = if offset < 0 { offset.rem_euclid(size as i64) } else { offset };
        Some(self.world.types.spot(ty, offset as u64))
    }

    /// The place an address value names, if that place was declared to hold a function pointer. Only such addresses
    /// are followed as values; all others are distinguished by type alone.
    pub(crate) fn function_place(&self, address: Operand) -> Slot {
        let location = self.locate(address);
        let spot = match self.global_spot(&location, 0) {
            Some(spot) if location.by_field => Some(spot),
            Some(_) => return Slot::Nothing,
            None => location.ty.filter(|_| location.by_field).map(|(ty, at)| self.world.types.spot(ty, at)),
        };
        if let Some(spot) = spot {
            let holds = self.world.types.field(spot).is_some_and(|f| f.pointee.is_function && f.pointee.depth <= 1);
            return if holds { self.slot_at(&location, 0) } else { Slot::Nothing };
        }
        match location.root {
            Root::Global(global) if self.world.globals[global].carries => Slot::Key(Key::Global(global, 0)),
            Root::Local(local) => match self.body.insts[local] {
                Inst::Local { var: Some(var), .. } if self.body.vars[var].pointee.is_function => Slot::Local(local),
                _ => Slot::Nothing,
            },
            // Arithmetic on a pointer into an array.
            Root::Value(value) if location.ty.is_none() => Slot::Behind(value),
            _ => Slot::Nothing,
        }
    }

    /// The structure an address points to, if known.
    pub(crate) fn class_at(&self, address: Operand) -> Option<TypeId> {
        let location = self.locate(address);
        let (ty, offset) = match (location.root, location.ty) {
            (Root::Global(global), _) if self.world.globals[global].ty.is_some() => {
                (self.world.globals[global].ty?, u64::try_from(location.offset).ok()?)
            }
            (_, Some(found)) => found,
            _ => return None,
        };
        self.world.types.part_at(ty, offset)
    }
}
