//! Which regions may be the same memory, and what they may hold (section 4.1 of the paper).

use std::collections::BTreeSet;
use std::sync::{Arc, OnceLock};

use caulk_ir::Pointee;
use caulk_ir::entity::Entity;
use caulk_program::{Program, Spot, TypeId, UnitId};

use crate::config::ProveConfig;
use crate::target::{PointsTo, Region};

/// What the prover asks about memory. A better points-to analysis can be put in its place.
pub trait Regions: Sync {
    /// Whether a write to one may change what is read from the other.
    fn may_alias(&self, a: Region, b: Region) -> bool;
    /// What the pointers in a region point to.
    fn content(&self, target: Region) -> PointsTo;
    /// Whether numbers are written to the same place as pointers: the arms of a union.
    fn is_shared_with_numbers(&self, target: Region) -> bool;
    /// Whether a pointer of one class may point into a cell that a pointer of the other class points to.
    fn may_meet(&self, pointer: PointsTo, cell: PointsTo) -> bool;
    /// The pointers in a structure. None if there are too many to look at one by one.
    fn pointer_fields(&self, ty: TypeId) -> Option<Arc<[PointerField]>>;
}

/// A field of a structure, or of one embedded in it, that holds a pointer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PointerField {
    /// From the beginning of the outermost structure.
    pub offset: u64,
    pub target: Region,
    /// There are several in a row.
    pub is_array: bool,
}

/// Regions by type and field: sound for incomplete programs, as long as memory is used by its declared type.
#[derive(Debug)]
pub struct TypedRegions<'a> {
    program: &'a Program,
    max_pointer_fields: usize,
    max_embedded: usize,
    types: Vec<TypeFacts>,
}

/// What is asked of a structure over and over.
#[derive(Debug, Default)]
struct TypeFacts {
    pointers: OnceLock<Option<Arc<[PointerField]>>>,
    /// The structure and all that lie in it, sorted. None if there are too many.
    parts: OnceLock<Option<Box<[TypeId]>>>,
    /// What the pointers at each offset point to, sorted by offset.
    contents: OnceLock<Box<[(u64, PointsTo)]>>,
}

impl<'a> TypedRegions<'a> {
    pub fn new(program: &'a Program) -> Self {
        Self::with_bounds(program, &ProveConfig::default())
    }

    pub fn with_bounds(program: &'a Program, config: &ProveConfig) -> Self {
        let (max_pointer_fields, max_embedded) = (config.max_pointer_fields, config.max_embedded);
        let types = (0..program.types().len()).map(|_| TypeFacts::default()).collect();
        Self { program, max_pointer_fields, max_embedded, types }
    }

    /// Whether a structure lies in another, or is the same. If the other has too many parts to tell, it may.
    fn contains(&self, outer: TypeId, inner: TypeId) -> bool {
        let parts = self.types[outer.index()].parts.get_or_init(|| self.find_parts(outer));
        parts.as_ref().is_none_or(|parts| parts.binary_search(&inner).is_ok())
    }

    fn find_parts(&self, outer: TypeId) -> Option<Box<[TypeId]>> {
        let mut seen = BTreeSet::from([outer]);
        let mut todo = vec![outer];
        while let Some(ty) = todo.pop() {
            let parts = self.program.type_info(ty).fields.iter().filter_map(|f| f.embedded());
            todo.extend(parts.filter(|part| seen.insert(*part)));
            if seen.len() > self.max_embedded {
                return None;
            }
        }
        Some(seen.into_iter().collect())
    }

    fn find_contents(&self, ty: TypeId) -> Box<[(u64, PointsTo)]> {
        let info = self.program.type_info(ty);
        let class = |pointee: Pointee| class_of(self.program, info.unit, pointee);
        let mut all: Vec<(u64, PointsTo)> = info.fields.iter().map(|f| (f.offset, class(f.pointee))).collect();
        all.sort_by_key(|(offset, _)| *offset);
        // Several fields at one place may point to anything.
        all.dedup_by(|next, first| {
            let is_same_place = next.0 == first.0;
            if is_same_place {
                first.1 = PointsTo::Any;
            }
            is_same_place
        });
        all.into()
    }
}

/// What a declaration of a unit says of a pointer.
pub fn class_of(program: &Program, unit: UnitId, pointee: Pointee) -> PointsTo {
    match pointee.target {
        _ if pointee.is_function && pointee.depth == 1 => PointsTo::Code,
        Some(ty) if pointee.depth > 0 => PointsTo::To { depth: pointee.depth, ty: program.resolve_struct(unit, ty) },
        _ => PointsTo::Any,
    }
}

/// The region of a field of a structure, wherever in it embedded structures begin.
pub fn field_target(program: &Program, ty: TypeId, offset: u64) -> Region {
    let Spot { ty, offset, .. } = program.types().spot(ty, offset);
    Region::Field { ty, offset }
}

impl Regions for TypedRegions<'_> {
    fn may_alias(&self, a: Region, b: Region) -> bool {
        match (a, b) {
            (Region::Local { local: a, offset: x }, Region::Local { local: b, offset: y }) => {
                a == b && (x == y || x.is_none() || y.is_none())
            }
            (Region::Local { .. }, _) | (_, Region::Local { .. }) => false,
            (Region::Heap, other) | (other, Region::Heap) => {
                matches!(other, Region::Heap | Region::Field { .. } | Region::Wild(_))
            }
            (Region::Wild(a), Region::Wild(b)) => are_compatible(a, b),
            (Region::Wild(class), other) | (other, Region::Wild(class)) => are_compatible(class, self.content(other)),
            _ => a == b,
        }
    }

    fn content(&self, target: Region) -> PointsTo {
        match target {
            Region::Field { ty, offset } => {
                let contents = self.types[ty.index()].contents.get_or_init(|| self.find_contents(ty));
                contents.binary_search_by_key(&offset, |(at, _)| *at).map_or(PointsTo::Any, |at| contents[at].1)
            }
            Region::Global(global) => {
                let info = self.program.global(global);
                class_of(self.program, info.unit, info.declaration.pointee)
            }
            Region::Slot { .. } | Region::Local { .. } | Region::Heap => PointsTo::Any,
            Region::Wild(class) => class,
        }
    }

    fn is_shared_with_numbers(&self, target: Region) -> bool {
        matches!(target, Region::Field { ty, .. } if self.program.type_info(ty).is_union)
    }

    fn may_meet(&self, pointer: PointsTo, cell: PointsTo) -> bool {
        match (pointer, cell) {
            (PointsTo::Code, _) => false,
            (PointsTo::To { depth: 1, ty: a }, PointsTo::To { depth: 1, ty: b }) => {
                self.contains(a, b) || self.contains(b, a)
            }
            _ => true,
        }
    }

    fn pointer_fields(&self, ty: TypeId) -> Option<Arc<[PointerField]>> {
        let find = || collect_fields(self.program, ty, self.max_pointer_fields);
        self.types[ty.index()].pointers.get_or_init(find).clone()
    }
}

fn are_compatible(a: PointsTo, b: PointsTo) -> bool {
    a == PointsTo::Any || b == PointsTo::Any || a == b
}

/// Structures that embed others can hold exponentially many pointers in their own size of text, so both the pointers and
/// the structures on the way are counted.
fn collect_fields(program: &Program, ty: TypeId, max: usize) -> Option<Arc<[PointerField]>> {
    let mut found = Vec::new();
    let mut visited = 0;
    let mut todo = vec![(ty, 0)];
    while let Some((ty, base)) = todo.pop() {
        // The compiler's own list of variadic arguments leads to the stack.
        if program.type_name(ty) == "__va_list_tag" {
            continue;
        }
        let info = program.type_info(ty);
        let pointer_bytes = u64::from(program.unit(info.unit).pointer_bytes);
        for field in &info.fields {
            let offset = u64::saturating_add(base, field.offset);
            if field.pointee.depth > 0 && !field.is_vptr {
                let target = Region::Field { ty, offset: field.offset };
                found.push(PointerField { offset, target, is_array: field.size > pointer_bytes });
            } else if let Some(inner) = field.embedded() {
                todo.push((inner, offset));
            }
        }
        visited += 1;
        if found.len().max(visited + todo.len()) > max {
            return None;
        }
    }
    found.sort_by_key(|f| (f.offset, f.target));
    found.dedup();
    Some(found.into())
}
