//! What the declarations of structures call a place: members of parts, of nameless unions, of bases, elements of arrays.

use caulk_ir::cpp_names::shortened;
use caulk_ir::entity::Entity;
use caulk_program::{FieldInfo, Program, TypeId};

use crate::bounds::BOUNDS;
use crate::slots::Slot;

/// A field of any structure of a type: `person.name`, or `person.address.street` where `address` has a type without a name.
pub fn slot_name(program: &Program, (ty, offset): Slot) -> String {
    let (unit, structure) = program.struct_type(ty);
    let field = structure.field_at(offset).and_then(|f| f.name).map_or("?", |name| unit.str(name));
    let mut text = field.to_owned();
    let mut around = ty;
    for _ in 0..BOUNDS.nested_names {
        if !program.type_name(around).starts_with(NAMELESS) {
            break;
        }
        let Some((outer, member)) = holder_of(program, around) else { return text };
        text = member.map_or_else(|| text.clone(), |member| format!("{member}.{text}"));
        around = outer;
    }
    format!("{}.{text}", shortened(program.type_name(around)))
}

/// How the front end begins the name of a structure that has none.
const NAMELESS: &str = "(anonymous";

/// A structure that has another one as a member, and the member's name.
fn holder_of(program: &Program, part: TypeId) -> Option<(TypeId, Option<&str>)> {
    let types = (0..program.types().len()).map(TypeId::from_index);
    let mut members = types.flat_map(|ty| program.type_info(ty).fields.iter().map(move |field| (ty, field)));
    let (ty, field) = members.find(|(_, field)| field.embedded() == Some(part))?;
    let (unit, structure) = program.struct_type(ty);
    let is_same_field = |f: &&caulk_ir::Field| f.offset == field.offset && f.pointee == field.pointee;
    let name = structure.fields.iter().find(is_same_field).and_then(|f| f.name);
    Some((ty, name.map(|name| unit.str(name))))
}

/// What the source calls a place in a structure: `address.street`, `groups[2]`. `stepped`: the innermost structure that the code
/// steps into there, and the field in it; without it, the first member that begins there, those with pointers first.
pub(crate) fn declared_name(
    program: &Program,
    ty: TypeId,
    offset: u64,
    stepped: Option<(TypeId, u64)>,
) -> Option<String> {
    let search = Search { program, stepped };
    search.name(ty, offset, BOUNDS.nested_names)
}

struct Search<'a> {
    program: &'a Program,
    stepped: Option<(TypeId, u64)>,
}

impl Search<'_> {
    fn name(&self, ty: TypeId, offset: u64, depth: u8) -> Option<String> {
        let depth = depth.checked_sub(1)?;
        let info = self.program.type_info(ty);
        // An array without a size ends a structure.
        let is_around = |f: &&FieldInfo| {
            let is_open = f.size == 0 && f.offset <= offset;
            !f.is_vptr && (is_open || (f.offset <= offset && offset < f.offset + f.size))
        };
        let mut around: Vec<&FieldInfo> = info.fields.iter().filter(is_around).collect();
        // Of the members of a union, only one that holds a pointer can be meant.
        around.sort_by_key(|f| (f.size == 0, f.pointee.depth == 0 && f.target.is_none()));
        around.into_iter().find_map(|field| self.through(ty, field, offset, depth))
    }

    /// The name by way of one field.
    fn through(&self, ty: TypeId, field: &FieldInfo, offset: u64, depth: u8) -> Option<String> {
        let within = offset - field.offset;
        let name = self.own_name(ty, field);
        let is_stepped_into = self.stepped == Some((ty, field.offset));
        let Some(inner) = field.embedded().filter(|_| !is_stepped_into) else {
            let name = name.filter(|_| is_stepped_into || self.stepped.is_none())?;
            return Some(if within == 0 { name } else { self.element(&name, ty, field, within) });
        };
        let size = self.program.type_info(inner).size;
        let rest = self.name(inner, within % size.max(1), depth)?;
        let is_array = size > 0 && field.size > size;
        Some(match name {
            // Members of bases and of nameless parts are called like the structure's own.
            None => rest,
            Some(name) if is_array => format!("{name}[{}].{rest}", within / size),
            Some(name) => format!("{name}.{rest}"),
        })
    }

    /// An element of a field that is an array of pointers, or of what is not known.
    fn element(&self, name: &str, ty: TypeId, field: &FieldInfo, within: u64) -> String {
        let word = u64::from(self.program.struct_type(ty).0.pointer_bytes.max(1));
        match field.pointee.depth > 0 && within % word == 0 {
            true => format!("{name}[{}]", within / word),
            false => format!("{name}[*]"),
        }
    }

    /// None for bases, and for members without a name.
    fn own_name(&self, ty: TypeId, field: &FieldInfo) -> Option<String> {
        let (unit, structure) = self.program.struct_type(ty);
        let is_same_field = |f: &&caulk_ir::Field| (f.offset, f.size, f.is_base) == (field.offset, field.size, false);
        let is_same_kind = |f: &&caulk_ir::Field| is_same_field(f) && f.pointee == field.pointee;
        let found =
            structure.fields.iter().find(is_same_kind).or_else(|| structure.fields.iter().find(is_same_field))?;
        found.name.map(|name| unit.str(name).to_owned())
    }
}
