//! Structures inside of others: what ends the outer one ends what is in it, and a part that only one structure has is known by its type.

use caulk_program::{Program, TypeId};
use rustc_hash::{FxHashMap, FxHashSet};

use crate::bounds::BOUNDS;
use crate::schedule::Analysis;
use crate::slots::Slot;

/// Which structures lie inside of which, over the whole program.
#[derive(Debug, Default)]
pub(crate) struct Embeddings {
    outers: FxHashMap<TypeId, Vec<TypeId>>,
    inners: FxHashMap<TypeId, Vec<TypeId>>,
    /// The fields that a structure lies in.
    fields: FxHashMap<TypeId, Vec<Slot>>,
    /// Structures that are made, freed or declared by themselves as well.
    alone: FxHashSet<TypeId>,
    /// Unions: which of their parts is there, other fields tell.
    unions: FxHashSet<TypeId>,
}

impl Embeddings {
    pub(crate) fn new(program: &Program, analysis: &Analysis) -> Self {
        let mut found = Self::default();
        for slots in analysis.reports.values().map(|report| &report.slots) {
            found.alone.extend(slots.made.iter().map(|(ty, _)| *ty));
            found.alone.extend(slots.ended.iter().chain(&slots.by_value).copied());
        }
        for outer in (0..program.types().len() as u32).map(TypeId) {
            if program.type_info(outer).is_union {
                found.unions.insert(outer);
            }
            for field in &program.type_info(outer).fields {
                let Some(inner) = field.embedded() else { continue };
                found.fields.entry(inner).or_default().push((outer, field.offset));
                let inners = found.inners.entry(outer).or_default();
                if inner != outer && !inners.contains(&inner) {
                    inners.push(inner);
                    found.outers.entry(inner).or_default().push(outer);
                }
            }
        }
        found
    }

    /// A structure, and all that have one inside of them.
    pub(crate) fn around(&self, ty: TypeId) -> Vec<TypeId> {
        reached(&self.outers, ty, |_| true)
    }

    /// The names of a field: the first field of a part has the place of the part itself.
    pub(crate) fn names_of(&self, slot: Slot) -> Vec<Slot> {
        let mut names = vec![slot];
        let mut next = 0;
        while let Some(&(ty, offset)) = names.get(next) {
            next += 1;
            let outer = self.fields.get(&ty).filter(|_| offset == 0 && next <= BOUNDS.nesting).into_iter().flatten();
            names.extend(outer.copied().filter(|name| name.0 != ty));
        }
        names
    }

    /// A structure, and the parts of it that no other structure has and that there are nowhere else. Members of a union do not count: a
    /// function that ends the structure frees those that are there.
    pub(crate) fn with_own_parts(&self, ty: TypeId) -> Vec<TypeId> {
        let is_only_here = |inner: TypeId| match self.outers.get(&inner).map(Vec::as_slice) {
            Some([outer]) => !self.unions.contains(outer),
            _ => false,
        };
        reached(&self.inners, ty, |inner| is_only_here(inner) && !self.alone.contains(&inner))
    }
}

fn reached(next: &FxHashMap<TypeId, Vec<TypeId>>, ty: TypeId, counts: impl Fn(TypeId) -> bool) -> Vec<TypeId> {
    let mut found = vec![ty];
    let mut level = vec![ty];
    for _ in 0..BOUNDS.nesting {
        level = level.iter().flat_map(|t| next.get(t).into_iter().flatten().copied()).filter(|t| counts(*t)).collect();
        level.retain(|t| !found.contains(t));
        level.sort_unstable();
        level.dedup();
        found.extend(&level);
    }
    found
}
