//! Where addresses lead: regions, and the pointers in a block.

use caulk_ir::{AddressStep, Constant, Inst, InstId, Operand, Type};
use caulk_program::{Program, TypeId};

use super::Shape;
use crate::expr::Hop;
use crate::regions::{Regions, field_target};
use crate::target::{PointsTo, Region};

impl Shape {
    /// The memory that an address leads to.
    pub fn target(&self, program: &Program, address: Operand) -> Region {
        let (base, way) = self.way(program, address);
        self.target_from(program, base, way)
    }

    pub(super) fn way(&self, program: &Program, address: Operand) -> (Operand, Way) {
        let (at, chain) = self.derivation(address);
        let mut way = Way { field: None, offset: Some(0) };
        for value in chain.into_iter().rev() {
            if let Inst::Address { steps, .. } = &self.body.insts[value] {
                steps.iter().for_each(|step| way.step(self, program, *step));
            }
        }
        (at, way)
    }

    /// The pointers in `len` bytes from an address on, by their offset from it. None when they are not known.
    pub fn parts(
        &self,
        program: &Program,
        regions: &dyn Regions,
        address: Operand,
        len: Option<u64>,
    ) -> Option<Vec<Part>> {
        let (base, way) = self.way(program, address);
        let local = base.value().filter(|v| matches!(self.body.insts[*v], Inst::Local { .. }));
        let own = local.filter(|l| !self.escaped.contains(l));
        let of_class = || match self.class(program, base) {
            PointsTo::To { depth: 1, ty } => Some((ty, way.offset.and_then(|o| u64::try_from(o).ok())?)),
            _ => None,
        };
        let Some((ty, start)) = way.field.or_else(of_class) else {
            return match (own, self.class(program, base)) {
                (Some(local), _) => Some(self.touched_parts(local, way.offset)),
                (None, PointsTo::To { depth, ty }) if depth > 1 => {
                    let target = Region::Wild(PointsTo::To { depth: depth - 1, ty });
                    Some(vec![Part { offset: 0, target, exact: false }])
                }
                _ => None,
            };
        };
        let size = program.type_info(ty).size;
        let end = len.map_or(size, |len| start.saturating_add(len));
        let Some(fields) = regions.pointer_fields(ty) else {
            // Too many to look at: some pointer somewhere in it.
            let anywhere = own.map(|local| Region::Local { local, offset: None });
            return Some(vec![Part {
                offset: 0,
                target: anywhere.unwrap_or(Region::Wild(PointsTo::Any)),
                exact: false,
            }]);
        };
        let fields = fields.iter().filter(|f| start <= f.offset && f.offset < end);
        let part = |f: &crate::regions::PointerField| {
            let offset = (f.offset - start) as i64;
            let target = match own {
                Some(local) => Region::Local { local, offset: way.offset.map(|o| o.wrapping_add(offset)) },
                None => f.target,
            };
            Part { offset, target, exact: !f.is_array && end <= size }
        };
        Some(fields.map(part).collect())
    }

    /// The parts of a local of unknown type that the function reads or writes as pointers.
    fn touched_parts(&self, local: InstId, start: Option<i64>) -> Vec<Part> {
        let part = |offset: Option<i64>| {
            let from_start = offset.zip(start).map(|(o, s)| o.wrapping_sub(s));
            Part {
                offset: from_start.unwrap_or(0),
                target: Region::Local { local, offset },
                exact: from_start.is_some(),
            }
        };
        self.tables.touched.get(&local).into_iter().flatten().map(|offset| part(*offset)).collect()
    }

    /// Where in which locals pointers are read or written.
    pub(super) fn find_touched(&self, program: &Program) -> Vec<(InstId, Option<i64>)> {
        let mut touched = Vec::new();
        for inst in self.body.insts.values() {
            let (Inst::Load { ty: Type::Ptr, address, .. } | Inst::Store { ty: Type::Ptr, address, .. }) = inst else {
                continue;
            };
            let base = self.base(*address).value();
            if let Some(local) = base.filter(|v| matches!(self.body.insts[*v], Inst::Local { .. })) {
                touched.push((local, self.way(program, *address).1.offset));
            }
        }
        touched
    }

    /// Whether a pointer is read from or written to a local.
    pub fn is_touched(&self, local: InstId) -> bool {
        self.tables.touched.contains_key(&local)
    }

    fn target_from(&self, program: &Program, base: Operand, way: Way) -> Region {
        let by_field = way.field.map(|(ty, offset)| field_target(program, ty, offset));
        match base {
            Operand::Value(value) if matches!(self.body.insts[value], Inst::Local { .. }) => {
                if !self.escaped.contains(&value) {
                    return Region::Local { local: value, offset: way.offset };
                }
                let whole = || self.local_type(program, value).map(|ty| way.inside(program, ty));
                by_field.or_else(whole).unwrap_or(Region::Slot { function: self.id, local: value })
            }
            Operand::Value(value) => {
                by_field.unwrap_or_else(|| self.target_of_class(program, self.classes[value], way))
            }
            Operand::Const(c) => match self.body.consts[c] {
                Constant::Global { global, offset } => {
                    let id = program.resolve_global(self.unit, global)[0];
                    let info = program.global(id);
                    let pointee = info.declaration.pointee;
                    let ty = pointee.target.filter(|_| pointee.depth == 0);
                    let way = Way { offset: way.offset.map(|o| o.wrapping_add(offset)), ..way };
                    let whole = || ty.map(|ty| way.inside(program, program.resolve_struct(info.unit, ty)));
                    by_field.or_else(whole).unwrap_or(Region::Global(id))
                }
                _ => by_field.unwrap_or(Region::Wild(PointsTo::Any)),
            },
        }
    }

    fn target_of_class(&self, program: &Program, class: PointsTo, way: Way) -> Region {
        match class {
            PointsTo::To { depth: 1, ty } => way.inside(program, ty),
            PointsTo::To { depth, ty } => Region::Wild(PointsTo::To { depth: depth - 1, ty }),
            PointsTo::Any | PointsTo::Code => Region::Wild(PointsTo::Any),
        }
    }
}

/// A pointer in a block.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Part {
    /// From the address that was asked for.
    pub offset: i64,
    pub target: Region,
    /// It is this one pointer, not one of several.
    pub exact: bool,
}

/// Steps from a base address.
#[derive(Clone, Copy)]
pub(super) struct Way {
    /// The structure last stepped into, and the offset in it.
    pub(super) field: Option<(TypeId, u64)>,
    /// From the base, unless an index is on the way.
    offset: Option<i64>,
}

impl Way {
    fn step(&mut self, shape: &Shape, program: &Program, step: AddressStep) {
        match step {
            AddressStep::Field { ty, offset } => self.field = Some((program.resolve_struct(shape.unit, ty), offset)),
            AddressStep::Bytes { offset: more, .. } => {
                let inside = |(ty, offset): (TypeId, u64)| {
                    let offset = offset.checked_add_signed(more)?;
                    (offset < program.type_info(ty).size).then_some((ty, offset))
                };
                self.field = self.field.and_then(inside);
            }
            // Elements of an array are one region.
            AddressStep::Index { .. } => {}
        }
        self.offset = match (self.offset, shape.hop(step)) {
            (Some(offset), Hop::Add(more)) => Some(offset.wrapping_add(more)),
            _ => None,
        };
    }

    /// The region in a structure that the base is.
    pub(super) fn inside(self, program: &Program, ty: TypeId) -> Region {
        match self.offset.and_then(|o| u64::try_from(o).ok()) {
            Some(offset) if offset < program.type_info(ty).size => field_target(program, ty, offset),
            _ => Region::Wild(PointsTo::Any),
        }
    }
}
