//! Structure types over all units: which are the same, and where in them an offset lands.

use std::hash::{DefaultHasher, Hash, Hasher};

use caulk_ir::entity::Entity;
use caulk_ir::{EntityVec, Pointee, StructId, StructKind, StructType, Unit};
use rayon::prelude::*;
use rustc_hash::FxHashMap;

use crate::bounds::BOUNDS;
use crate::identity::Homed;
use crate::ids::{TypeId, UnitId};
use crate::reads::{Read, note};

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
    /// Types of which some structure has one inside of it.
    pub fn embedded(&self) -> impl Iterator<Item = TypeId> + '_ {
        self.infos.values().flat_map(|info| info.fields.iter()).filter_map(FieldInfo::embedded)
    }

    /// Unifies the types of all units: by their C++ identity or else their name, and by layout, so that equal names
    /// in different programs stay apart. A type whose fields a unit does not list is the first of its name and size
    /// that has them listed elsewhere.
    pub(crate) fn unify(units: &[&Unit]) -> (Self, Vec<EntityVec<StructId, TypeId>>) {
        let signs: Vec<Vec<Sign>> = units.par_iter().map(|unit| signs_of(unit)).collect();
        let mut unifier = Unifier { ids: signs.iter().map(|u| vec![None; u.len()]).collect(), ..Unifier::default() };
        // C has no identities: its types come second and may be types of C++. What is not described comes last.
        unifier.iteration(&signs, |sign| sign.is_described && sign.identity.is_some());
        unifier.iteration(&signs, |sign| sign.is_described && sign.identity.is_none());
        unifier.iteration(&signs, |sign| !sign.is_described && sign.size > 0);
        unifier.iteration(&signs, |sign| !sign.is_described && sign.size == 0);
        let maps: Vec<EntityVec<StructId, TypeId>> = unifier
            .ids
            .into_iter()
            .map(|ids| ids.into_iter().map(|id| id.expect("the iterations cover all types")).collect::<Vec<_>>().into())
            .collect();
        let infos: Vec<TypeInfo> = unifier
            .owners
            .as_slice()
            .par_iter()
            .map(|&(unit, local)| info(unit, local, units[unit.index()], &maps[unit.index()]))
            .collect();
        (Self { infos: infos.into() }, maps)
    }

    pub fn get(&self, id: TypeId) -> &TypeInfo {
        note(Read::Type(id));
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
        for _ in 0..BOUNDS.nesting {
            let info = self.get(spot.ty);
            let Some(field) = info.field_at(&mut spot.offset).filter(|_| !info.is_union) else {
                spot.outer = base + spot.offset;
                return spot;
            };
            match field.embedded().filter(|&t| self.get(t).size > 0 && t != spot.ty) {
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

    /// All spots that share the bytes of a spot: a spot in a union lies in each of its arms.
    pub fn overlapping(&self, spot: Spot) -> Vec<Spot> {
        let mut found = vec![spot];
        let mut next = 0;
        while let Some(&Spot { ty, offset, outer }) = found.get(next) {
            next += 1;
            let info = self.get(ty);
            if !info.is_union || found.len() > BOUNDS.nesting {
                continue;
            }
            for arm in info.fields.iter().filter_map(FieldInfo::embedded).filter(|&t| self.get(t).size > offset) {
                let inside = Spot { outer, ..self.spot(arm, offset) };
                if !found.contains(&inside) {
                    found.push(inside);
                }
            }
        }
        found
    }

    /// The field at a spot.
    pub fn field(&self, spot: Spot) -> Option<&FieldInfo> {
        // An empty base class begins where the first field does, and is nothing there.
        let is_nothing = |f: &&FieldInfo| f.is_base && f.size <= 1;
        let begins = self.get(spot.ty).fields.iter().filter(|f| f.offset == spot.offset);
        begins.min_by_key(is_nothing)
    }

    /// The class at `offset` of a class: the outermost base or member that begins there.
    pub(crate) fn part_at(&self, ty: TypeId, offset: u64) -> Option<TypeId> {
        if offset == 0 {
            return Some(ty);
        }
        let mut at = (ty, offset);
        for _ in 0..BOUNDS.nesting {
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

/// What types are compared by. Names and layouts go by hashes of 64 bits.
#[derive(Clone, Copy, Debug)]
struct Sign {
    identity: Option<u64>,
    name: u64,
    size: u64,
    /// What fields point to is left out: a unit that has only a declaration of the target describes it differently.
    layout: u64,
    /// The source's own fields are listed. The front end lists them only for types that a unit looks into.
    is_described: bool,
}

fn signs_of(unit: &Unit) -> Vec<Sign> {
    let homed = Homed::new(unit);
    unit.structs.values().map(|ty| Sign::new(unit, ty, &homed)).collect()
}

impl Sign {
    fn new(unit: &Unit, ty: &StructType, homed: &Homed<'_>) -> Self {
        // Types of one name in one unit are numbered to tell them apart; their layouts do that here.
        let name = unit.str(ty.name);
        let name = match name.rsplit_once('#') {
            Some((before, number)) if number.bytes().all(|b| b.is_ascii_digit()) => before,
            _ => name,
        };
        let mut layout = DefaultHasher::new();
        ((ty.kind == StructKind::Union), ty.size, ty.fields.len()).hash(&mut layout);
        for field in &ty.fields {
            (field.offset, field.size, field.is_base, field.name.map(|n| unit.str(n))).hash(&mut layout);
        }
        Self {
            identity: homed.identity(unit, ty).map(|identity| hash(&identity)),
            name: hash(name),
            size: ty.size,
            layout: layout.finish(),
            is_described: ty.fields.iter().any(|f| f.name.is_some() || f.is_base),
        }
    }
}

fn hash(text: &str) -> u64 {
    let mut hasher = DefaultHasher::new();
    text.hash(&mut hasher);
    hasher.finish()
}

/// What a type can be found by.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
enum Trait {
    IdentityAndLayout(u64, u64),
    NameAndLayout(u64, u64),
    IdentityAndSize(u64, u64),
    NameAndSize(u64, u64),
    Identity(u64),
    Name(u64),
}

#[derive(Default)]
struct Unifier {
    owners: EntityVec<TypeId, (UnitId, StructId)>,
    /// The first type with each trait.
    known: FxHashMap<Trait, TypeId>,
    ids: Vec<Vec<Option<TypeId>>>,
}

impl Unifier {
    fn iteration(&mut self, signs: &[Vec<Sign>], wanted: impl Fn(&Sign) -> bool) {
        for (unit, signs) in signs.iter().enumerate() {
            for (local, sign) in signs.iter().enumerate().filter(|(_, sign)| wanted(sign)) {
                let id = self
                    .find(sign)
                    .unwrap_or_else(|| self.owners.push((UnitId::from_index(unit), StructId::from_index(local))));
                self.learn(sign, id);
                self.ids[unit][local] = Some(id);
            }
        }
    }

    fn find(&self, sign: &Sign) -> Option<TypeId> {
        let (identity, name) = (sign.identity, sign.name);
        let (by_identity, by_name) = if sign.is_described {
            (identity.map(|i| Trait::IdentityAndLayout(i, sign.layout)), Trait::NameAndLayout(name, sign.layout))
        } else if sign.size > 0 {
            (identity.map(|i| Trait::IdentityAndSize(i, sign.size)), Trait::NameAndSize(name, sign.size))
        } else {
            (identity.map(Trait::Identity), Trait::Name(name))
        };
        match by_identity {
            Some(key) => self.known.get(&key).copied(),
            None => self.known.get(&by_name).copied(),
        }
    }

    fn learn(&mut self, sign: &Sign, id: TypeId) {
        let of_identity = sign.identity.into_iter().flat_map(|i| {
            [Trait::IdentityAndLayout(i, sign.layout), Trait::IdentityAndSize(i, sign.size), Trait::Identity(i)]
        });
        let name = sign.name;
        let of_name = [Trait::NameAndLayout(name, sign.layout), Trait::NameAndSize(name, sign.size), Trait::Name(name)];
        for key in of_identity.chain(of_name) {
            self.known.entry(key).or_insert(id);
        }
    }
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
