//! Structure types over all units: which are the same, and where in them an offset lands.

use std::hash::{DefaultHasher, Hash, Hasher};

use caulk_ir::entity::Entity;
use caulk_ir::{EntityVec, Pointee, StructId, StructKind, StructType, Unit};
use rayon::prelude::*;
use rustc_hash::FxHashMap;

use crate::ids::{TypeId, UnitId};

/// A type nested deeper is damaged.
const MAX_NESTING: usize = 64;

/// A structure type of the program.
#[derive(Clone, Debug)]
pub struct TypeInfo {
    /// The unit whose description stands for all.
    pub unit: UnitId,
    pub local: StructId,
    /// Zero when no unit has more than a declaration.
    pub size: u64,
    pub is_union: bool,
    pub fields: Box<[FieldInfo]>,
}

#[derive(Clone, Copy, Debug)]
pub struct FieldInfo {
    pub offset: u64,
    pub size: u64,
    pub pointee: Pointee,
    /// `pointee.target`, over the whole program.
    pub target: Option<TypeId>,
    pub is_base: bool,
    /// The pointer to the table of virtual functions.
    pub is_vptr: bool,
}

impl FieldInfo {
    /// The structure that lies in the field itself.
    pub fn embedded(&self) -> Option<TypeId> {
        self.target.filter(|_| self.pointee.depth == 0)
    }
}

/// What an offset into a structure means.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Spot {
    /// The innermost structure, and the field in it; elements of an array are one.
    pub ty: TypeId,
    pub offset: u64,
    /// The same spot as an offset into the outermost structure.
    pub outer: u64,
}

#[derive(Debug, Default)]
pub struct Types {
    pub(crate) infos: EntityVec<TypeId, TypeInfo>,
}

impl Types {
    /// Unifies the types of all units: by their C++ identity or else their name, and by layout, so that equal names
    /// in different programs stay apart. A mere declaration is the first type of its name that has a layout.
    pub(crate) fn unify(units: &[&Unit]) -> (Self, Vec<EntityVec<StructId, TypeId>>) {
        let hashes: Vec<Vec<(u64, u64)>> = units
            .par_iter()
            .map(|unit| unit.structs.values().map(|ty| (name_hash(unit, ty), layout_hash(unit, ty))).collect())
            .collect();
        let mut owners: EntityVec<TypeId, (UnitId, StructId)> = EntityVec::new();
        let mut by_layout: FxHashMap<u64, TypeId> = FxHashMap::default();
        let mut by_name: FxHashMap<u64, TypeId> = FxHashMap::default();
        for (u, unit) in units.iter().enumerate() {
            for (local, _) in unit.structs.iter().filter(|(_, ty)| is_complete(ty)) {
                let (name, layout) = hashes[u][local.index()];
                let id = *by_layout.entry(layout).or_insert_with(|| owners.push((UnitId::from_index(u), local)));
                by_name.entry(name).or_insert(id);
            }
        }
        let mut maps = Vec::with_capacity(units.len());
        for (u, unit) in units.iter().enumerate() {
            let map: Vec<TypeId> = unit
                .structs
                .iter()
                .map(|(local, ty)| {
                    let (name, layout) = hashes[u][local.index()];
                    if is_complete(ty) {
                        return by_layout[&layout];
                    }
                    *by_name.entry(name).or_insert_with(|| owners.push((UnitId::from_index(u), local)))
                })
                .collect();
            maps.push(map.into());
        }
        let infos: Vec<TypeInfo> = owners
            .as_slice()
            .par_iter()
            .map(|&(unit, local)| info(unit, local, units[unit.index()], &maps[unit.index()]))
            .collect();
        (Self { infos: infos.into() }, maps)
    }

    pub fn get(&self, id: TypeId) -> &TypeInfo {
        &self.infos[id]
    }

    pub fn len(&self) -> usize {
        self.infos.len()
    }

    pub fn is_empty(&self) -> bool {
        self.infos.is_empty()
    }

    /// Follows an offset into embedded structures and array elements. An offset beyond the end is taken to be in
    /// another element of an array of such structures.
    pub fn spot(&self, ty: TypeId, offset: u64) -> Spot {
        let mut spot = Spot { ty, offset, outer: offset };
        let mut base = 0;
        for _ in 0..MAX_NESTING {
            let info = &self.infos[spot.ty];
            let Some(field) = info.field_at(&mut spot.offset).filter(|_| !info.is_union) else {
                spot.outer = base + spot.offset;
                return spot;
            };
            match field.embedded().filter(|&t| self.infos[t].size > 0 && t != spot.ty) {
                Some(inner) => {
                    base += field.offset;
                    spot.ty = inner;
                    spot.offset -= field.offset;
                }
                None => {
                    spot.offset = field.offset;
                    spot.outer = base + field.offset;
                    return spot;
                }
            }
        }
        spot
    }

    /// The field at a spot.
    pub fn field(&self, spot: Spot) -> Option<&FieldInfo> {
        self.infos[spot.ty].fields.iter().find(|f| f.offset == spot.offset)
    }

    /// The class at `offset` of a class: the outermost base or member that begins there.
    pub(crate) fn part_at(&self, ty: TypeId, offset: u64) -> Option<TypeId> {
        if offset == 0 {
            return Some(ty);
        }
        let mut at = (ty, offset);
        for _ in 0..MAX_NESTING {
            let info = &self.infos[at.0];
            let field = info.fields.iter().find(|f| {
                let embeds = f.embedded().is_some();
                embeds && f.offset <= at.1 && at.1 < f.offset + f.size.max(1)
            })?;
            at = (field.embedded()?, at.1 - field.offset);
            if at.1 == 0 {
                return Some(at.0);
            }
        }
        None
    }
}

impl TypeInfo {
    /// The field that begins at the offset or covers it; brings the offset into the structure if it lies beyond.
    fn field_at(&self, offset: &mut u64) -> Option<&FieldInfo> {
        let begins = |at: u64| self.fields.iter().filter(move |f| f.offset == at).max_by_key(|f| f.size);
        if let Some(field) = begins(*offset) {
            return Some(field);
        }
        if let Some(last) = self.fields.last().filter(|f| f.size == 0 && f.offset <= *offset) {
            return Some(last);
        }
        if self.size > 0 {
            *offset %= self.size;
        }
        begins(*offset).or_else(|| self.fields.iter().find(|f| f.offset <= *offset && *offset < f.offset + f.size))
    }
}

fn is_complete(ty: &StructType) -> bool {
    ty.size > 0 || !ty.fields.is_empty()
}

fn name_hash(unit: &Unit, ty: &StructType) -> u64 {
    let mut hasher = DefaultHasher::new();
    ty.identity.is_some().hash(&mut hasher);
    unit.str(ty.identity.unwrap_or(ty.name)).hash(&mut hasher);
    hasher.finish()
}

/// What fields point to is left out: a unit that has only a declaration of the target describes it differently.
fn layout_hash(unit: &Unit, ty: &StructType) -> u64 {
    let mut hasher = DefaultHasher::new();
    name_hash(unit, ty).hash(&mut hasher);
    ((ty.kind == StructKind::Union), ty.size, ty.fields.len()).hash(&mut hasher);
    for field in &ty.fields {
        (field.offset, field.size, field.is_base, field.name.map(|n| unit.str(n))).hash(&mut hasher);
    }
    hasher.finish()
}

fn info(unit: UnitId, local: StructId, source: &Unit, map: &EntityVec<StructId, TypeId>) -> TypeInfo {
    let ty = &source.structs[local];
    let fields = ty.fields.iter().map(|f| FieldInfo {
        offset: f.offset,
        size: f.size,
        pointee: f.pointee,
        target: f.pointee.target.map(|t| map[t]),
        is_base: f.is_base,
        is_vptr: f.name.is_some_and(|n| source.str(n).starts_with("_vptr")),
    });
    TypeInfo { unit, local, size: ty.size, is_union: ty.kind == StructKind::Union, fields: fields.collect() }
}
