//! Which regions may be the same memory, and what they may hold (section 4.1 of the paper).

use std::collections::BTreeSet;

use caulk_ir::Pointee;
use caulk_program::{Program, Spot, TypeId, UnitId};

use crate::target::{Class, Target};

/// What the prover asks about memory. A better points-to analysis can be put in its place.
pub trait Regions: Sync {
    /// Whether a write to one may change what is read from the other.
    fn may_alias(&self, a: Target, b: Target) -> bool;
    /// What the pointers in a region point to.
    fn content(&self, target: Target) -> Class;
    /// Whether numbers are written to the same place as pointers: the arms of a union.
    fn is_shared_with_numbers(&self, target: Target) -> bool;
    /// Whether a pointer of one class may point into a cell that a pointer of the other class points to.
    fn may_meet(&self, pointer: Class, cell: Class) -> bool;
    /// The pointers in a structure.
    fn pointer_fields(&self, ty: TypeId) -> Vec<PointerField>;
}

/// A field of a structure, or of one embedded in it, that holds a pointer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PointerField {
    /// From the beginning of the outermost structure.
    pub offset: u64,
    pub target: Target,
    /// There are several in a row.
    pub is_array: bool,
}

/// Regions by type and field: sound for incomplete programs, as long as memory is used by its declared type.
#[derive(Debug)]
pub struct TypedRegions<'a> {
    program: &'a Program,
}

impl<'a> TypedRegions<'a> {
    pub fn new(program: &'a Program) -> Self {
        Self { program }
    }

    /// Whether a structure lies in another, or is the same.
    fn contains(&self, outer: TypeId, inner: TypeId) -> bool {
        let mut seen = BTreeSet::from([outer]);
        let mut todo = vec![outer];
        while let Some(ty) = todo.pop() {
            if ty == inner {
                return true;
            }
            let parts = self.program.type_info(ty).fields.iter().filter_map(|f| f.embedded());
            todo.extend(parts.filter(|part| seen.insert(*part)));
        }
        false
    }
}

/// What a declaration of a unit says of a pointer.
pub fn class_of(program: &Program, unit: UnitId, pointee: Pointee) -> Class {
    match pointee.target {
        _ if pointee.is_function && pointee.depth == 1 => Class::Code,
        Some(ty) if pointee.depth > 0 => Class::To { depth: pointee.depth, ty: program.resolve_struct(unit, ty) },
        _ => Class::Any,
    }
}

/// The region of a field of a structure, wherever in it embedded structures begin.
pub fn field_target(program: &Program, ty: TypeId, offset: u64) -> Target {
    let Spot { ty, offset, .. } = program.types().spot(ty, offset);
    Target::Field { ty, offset }
}

impl Regions for TypedRegions<'_> {
    fn may_alias(&self, a: Target, b: Target) -> bool {
        match (a, b) {
            (Target::Local { local: a, offset: x }, Target::Local { local: b, offset: y }) => {
                a == b && (x == y || x.is_none() || y.is_none())
            }
            (Target::Local { .. }, _) | (_, Target::Local { .. }) => false,
            (Target::Heap, other) | (other, Target::Heap) => {
                matches!(other, Target::Heap | Target::Field { .. } | Target::Wild(_))
            }
            (Target::Wild(a), Target::Wild(b)) => are_compatible(a, b),
            (Target::Wild(class), other) | (other, Target::Wild(class)) => are_compatible(class, self.content(other)),
            _ => a == b,
        }
    }

    fn content(&self, target: Target) -> Class {
        match target {
            Target::Field { ty, offset } => {
                let info = self.program.type_info(ty);
                let mut fields = info.fields.iter().filter(|f| f.offset == offset);
                match (fields.next(), fields.next()) {
                    (Some(field), None) => class_of(self.program, info.unit, field.pointee),
                    _ => Class::Any,
                }
            }
            Target::Global(global) => {
                let info = self.program.global(global);
                class_of(self.program, info.unit, info.declaration.pointee)
            }
            Target::Slot { .. } | Target::Local { .. } | Target::Heap => Class::Any,
            Target::Wild(class) => class,
        }
    }

    fn is_shared_with_numbers(&self, target: Target) -> bool {
        matches!(target, Target::Field { ty, .. } if self.program.type_info(ty).is_union)
    }

    fn may_meet(&self, pointer: Class, cell: Class) -> bool {
        match (pointer, cell) {
            (Class::Code, _) => false,
            (Class::To { depth: 1, ty: a }, Class::To { depth: 1, ty: b }) => {
                self.contains(a, b) || self.contains(b, a)
            }
            _ => true,
        }
    }

    fn pointer_fields(&self, ty: TypeId) -> Vec<PointerField> {
        let mut found = Vec::new();
        collect_fields(self.program, ty, 0, &mut BTreeSet::new(), &mut found);
        found.sort_by_key(|f| (f.offset, f.target));
        found.dedup();
        found
    }
}

fn are_compatible(a: Class, b: Class) -> bool {
    a == Class::Any || b == Class::Any || a == b
}

fn collect_fields(
    program: &Program,
    ty: TypeId,
    base: u64,
    on_the_way: &mut BTreeSet<TypeId>,
    found: &mut Vec<PointerField>,
) {
    // The compiler's own list of variadic arguments leads to the stack.
    if program.type_name(ty) == "__va_list_tag" || !on_the_way.insert(ty) {
        return;
    }
    let info = program.type_info(ty);
    let pointer_bytes = u64::from(program.unit(info.unit).pointer_bytes);
    for field in &info.fields {
        let offset = base + field.offset;
        if field.pointee.depth > 0 && !field.is_vptr {
            let target = Target::Field { ty, offset: field.offset };
            found.push(PointerField { offset, target, is_array: field.size > pointer_bytes });
        } else if let Some(inner) = field.embedded() {
            collect_fields(program, inner, offset, on_the_way, found);
        }
    }
    on_the_way.remove(&ty);
}
