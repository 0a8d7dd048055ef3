//! Structure types: layout from LLVM, names from debug info, joined.
//!
//! A structure gets an entry when something mentions it, and its fields only when the code steps into it or a variable
//! has it for a type: headers declare thousands of structures that a unit never looks into.

use caulk_ir::entity::Entity;
use caulk_ir::{Field, Pointee, StrId, StructId, StructKind, StructType};
use rustc_hash::FxHashMap;

use super::unit::Lowering;
use crate::llvm::{Metadata, MetadataKind, Ty, TypeKind};

/// Typedefs, qualifiers and pointers are followed this far; debug info has no cycles without a structure in between,
/// but a broken file must not hang us.
const MAX_TYPE_CHAIN: usize = 64;

mod tag {
    pub const ARRAY: u16 = 0x01;
    pub const CLASS: u16 = 0x02;
    pub const MEMBER: u16 = 0x0d;
    pub const POINTER: u16 = 0x0f;
    pub const REFERENCE: u16 = 0x10;
    pub const STRUCTURE: u16 = 0x13;
    pub const TYPEDEF: u16 = 0x16;
    pub const UNION: u16 = 0x17;
    pub const INHERITANCE: u16 = 0x1c;
    pub const CONST: u16 = 0x26;
    pub const NAMESPACE: u16 = 0x39;
    pub const RVALUE_REFERENCE: u16 = 0x42;
}

const FLAG_STATIC_MEMBER: i32 = 1 << 12;

#[derive(Default)]
pub(super) struct DebugTypes<'m> {
    by_node: FxHashMap<Metadata<'m>, StructId>,
    by_llvm: FxHashMap<Ty<'m>, StructId>,
    /// Structures by the name LLVM gives them, without `struct.` and the number at the end.
    by_name: FxHashMap<StrId, Vec<StructId>>,
    /// The debug node of each structure that has one, until its fields are filled in.
    unfilled: FxHashMap<StructId, Metadata<'m>>,
    /// Nodes of nameless fields by (structure, offset), to find what LLVM calls `struct.anon`.
    inner: FxHashMap<(StructId, u64), StructId>,
}

impl<'m> Lowering<'m> {
    /// What a type of debug info says of a pointer, or of a structure itself.
    pub fn pointee(&mut self, ty: Metadata<'m>) -> Pointee {
        let mut pointee = Pointee::default();
        let mut typedef: Option<String> = None;
        let mut node = Some(ty);
        for _ in 0..MAX_TYPE_CHAIN {
            let Some(current) = node else { return pointee };
            match current.kind() {
                MetadataKind::SubroutineType => {
                    pointee.is_function = true;
                    return pointee;
                }
                MetadataKind::CompositeType if current.tag() == tag::ARRAY => {
                    node = current.operands(self.module).node(3);
                }
                MetadataKind::CompositeType => {
                    pointee.target = self.struct_of_node(current, typedef);
                    return pointee;
                }
                MetadataKind::DerivedType => {
                    let operands = current.operands(self.module);
                    match current.tag() {
                        tag::POINTER | tag::REFERENCE | tag::RVALUE_REFERENCE => {
                            pointee.depth = pointee.depth.saturating_add(1);
                            typedef = None;
                        }
                        tag::CONST if pointee.depth == 1 => pointee.is_const = true,
                        tag::TYPEDEF => typedef = operands.string(2),
                        _ => {}
                    }
                    node = operands.node(3);
                }
                _ => return pointee,
            }
        }
        pointee
    }

    fn struct_of_node(&mut self, node: Metadata<'m>, typedef: Option<String>) -> Option<StructId> {
        if let Some(&id) = self.types.by_node.get(&node) {
            return Some(id);
        }
        let kind = match node.tag() {
            tag::STRUCTURE => StructKind::Struct,
            tag::CLASS => StructKind::Class,
            tag::UNION => StructKind::Union,
            _ => return None,
        };
        // DICompositeType: file, scope, name, base type, elements, vtable holder, template parameters, identifier.
        let operands = node.operands(self.module);
        let name = match (operands.string(2).filter(|n| !n.is_empty()), typedef) {
            (Some(name), _) => self.qualified(operands.node(1), name),
            (None, Some(typedef)) => typedef,
            (None, None) => format!("(anonymous at line {})", node.type_line()),
        };
        let identity = operands.string(7).filter(|i| !i.is_empty()).map(|i| self.intern(&i));
        let id = self.new_struct(&name, kind, node.size_bits() / 8, identity);
        self.types.by_node.insert(node, id);
        self.types.unfilled.insert(id, node);
        let plain = self.intern(without_template_arguments(&name));
        self.types.by_name.entry(plain).or_default().push(id);
        Some(id)
    }

    fn qualified(&self, scope: Option<Metadata<'m>>, name: String) -> String {
        // Namespaces and classes are scopes with their name at operand 2; files and functions do not qualify.
        let Some(scope) = scope else { return name };
        if scope.kind() != MetadataKind::CompositeType && scope.tag() != tag::NAMESPACE {
            return name;
        }
        let operands = scope.operands(self.module);
        match operands.string(2).filter(|n| !n.is_empty()) {
            Some(outer) => format!("{}::{name}", self.qualified(operands.node(1), outer)),
            None => name,
        }
    }

    fn new_struct(&mut self, name: &str, kind: StructKind, size: u64, identity: Option<StrId>) -> StructId {
        let name = self.intern(name);
        self.unit.structs.push(StructType { name, identity, kind, size, fields: Vec::new() })
    }

    /// Fills in the fields of a structure from debug info, when it is first looked into.
    pub fn fill(&mut self, id: StructId) {
        let Some(node) = self.types.unfilled.remove(&id) else { return };
        let Some(elements) = node.operands(self.module).node(4) else { return };
        let mut fields = Vec::new();
        for element in elements.operands(self.module).nodes() {
            if element.kind() != MetadataKind::DerivedType {
                continue;
            }
            let is_base = element.tag() == tag::INHERITANCE;
            let is_static = element.type_flags() & FLAG_STATIC_MEMBER != 0;
            if is_static || !(is_base || element.tag() == tag::MEMBER) {
                continue;
            }
            let operands = element.operands(self.module);
            let base = operands.node(3);
            let offset = element.offset_bits() / 8;
            let size = match element.size_bits() {
                0 => base.filter(|_| is_base).map_or(0, |b| b.size_bits() / 8),
                bits => bits.div_ceil(8),
            };
            let pointee = base.map(|b| self.pointee(b)).unwrap_or_default();
            if let (0, Some(inner)) = (pointee.depth, pointee.target) {
                self.types.inner.insert((id, offset), inner);
            }
            let name = operands.string(2).filter(|n| !n.is_empty()).map(|n| self.intern(&n));
            fields.push(Field { offset, size, name, pointee, is_base });
        }
        fields.sort_by_key(|f| f.offset);
        self.unit.structs[id].fields = fields;
    }

    /// The structure behind an LLVM struct type that the code steps into. None for literal types such as `{ i32, i1 }`.
    pub fn struct_of_llvm(&mut self, ty: Ty<'m>) -> Option<StructId> {
        if let Some(&id) = self.types.by_llvm.get(&ty) {
            return Some(id);
        }
        let full = ty.struct_name();
        if full.is_empty() {
            return None;
        }
        let (kind, name) = split_llvm_name(&full);
        let size = ty.size(self.module);
        let id = self.find_by_name(name, size).unwrap_or_else(|| {
            let id = self.new_struct(name, kind, size, None);
            let fields = self.fields_of_llvm(ty);
            self.unit.structs[id].fields = fields;
            id
        });
        self.bind(ty, id);
        Some(id)
    }

    /// Joins the LLVM type of a variable with its type in the source. Only needed for nameless structures: all of them
    /// are called `anon` in LLVM, and no name leads from one to the other.
    pub fn join_types(&mut self, mut ty: Ty<'m>, pointee: Pointee) {
        while let TypeKind::Array { element, .. } = ty.kind() {
            ty = element;
        }
        let (0, Some(id)) = (pointee.depth, pointee.target) else { return };
        if !matches!(ty.kind(), TypeKind::Struct) || self.types.by_llvm.contains_key(&ty) {
            return;
        }
        let is_nameless = split_llvm_name(&ty.struct_name()).1 == "anon";
        if is_nameless && self.unit.structs[id].size == ty.size(self.module) {
            self.bind(ty, id);
        }
    }

    fn find_by_name(&mut self, name: &str, size: u64) -> Option<StructId> {
        let plain = self.intern(without_template_arguments(name));
        let found = self.types.by_name.get(&plain)?;
        let fits = |id: &&StructId| self.unit.structs[**id].size == size;
        found.iter().find(fits).or_else(|| found.first()).copied()
    }

    /// Joins an LLVM type with its structure, and the nameless types inside with theirs, by where they stand.
    fn bind(&mut self, ty: Ty<'m>, id: StructId) {
        self.types.by_llvm.insert(ty, id);
        self.fill(id);
        for (index, field) in ty.struct_fields().into_iter().enumerate() {
            let mut inner = field;
            while let TypeKind::Array { element, .. } = inner.kind() {
                inner = element;
            }
            if !matches!(inner.kind(), TypeKind::Struct) || self.types.by_llvm.contains_key(&inner) {
                continue;
            }
            let offset = ty.field_offset(index as u32, self.module);
            if let Some(&inner_id) = self.types.inner.get(&(id, offset)) {
                self.bind(inner, inner_id);
            }
        }
    }

    fn fields_of_llvm(&mut self, ty: Ty<'m>) -> Vec<Field> {
        let fields = ty.struct_fields().into_iter().enumerate();
        let field = |(index, field): (usize, Ty<'m>)| Field {
            offset: ty.field_offset(index as u32, self.module),
            size: field.size(self.module),
            name: None,
            pointee: Pointee::default(),
            is_base: false,
        };
        fields.map(field).collect()
    }

    /// Structures named in a cast but by no variable are listed by the compile unit.
    pub fn mention_retained_types(&mut self, compile_unit: Metadata<'m>) {
        // DICompileUnit: file, producer, flags, split name, enums, retained types.
        let Some(list) = compile_unit.operands(self.module).node(5) else { return };
        for ty in list.operands(self.module).nodes() {
            if matches!(ty.kind(), MetadataKind::DerivedType | MetadataKind::CompositeType) {
                self.pointee(ty);
            }
        }
    }

    /// Gives every structure a name of its own in the unit.
    pub fn make_struct_names_unique(&mut self) {
        let mut seen: FxHashMap<StrId, u32> = FxHashMap::default();
        for index in 0..self.unit.structs.len() {
            let id = StructId::from_index(index);
            let name = self.unit.structs[id].name;
            let count = seen.entry(name).or_insert(0);
            *count += 1;
            if *count > 1 {
                let unique = format!("{}#{}", self.unit.str(name), count);
                self.unit.structs[id].name = self.intern(&unique);
            }
        }
    }
}

/// `struct.node.12` is the structure `node`.
fn split_llvm_name(full: &str) -> (StructKind, &str) {
    let (kind, rest) = match full.split_once('.') {
        Some(("struct", rest)) => (StructKind::Struct, rest),
        Some(("class", rest)) => (StructKind::Class, rest),
        Some(("union", rest)) => (StructKind::Union, rest),
        _ => (StructKind::Struct, full),
    };
    let name = match rest.rsplit_once('.') {
        Some((name, number)) if !name.is_empty() && number.bytes().all(|b| b.is_ascii_digit()) => name,
        _ => rest,
    };
    (kind, name)
}

/// LLVM leaves template arguments out of the names of types, so they do not count when names are compared.
fn without_template_arguments(name: &str) -> &str {
    match name.find('<') {
        Some(at) if at > 0 && name.ends_with('>') => &name[..at],
        _ => name,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn llvm_names_lose_their_decoration() {
        assert_eq!(split_llvm_name("struct.node.12"), (StructKind::Struct, "node"));
        assert_eq!(split_llvm_name("class.std::vector"), (StructKind::Class, "std::vector"));
        assert_eq!(split_llvm_name("union.anon"), (StructKind::Union, "anon"));
        assert_eq!(without_template_arguments("std::vector<int>"), "std::vector");
        assert_eq!(without_template_arguments("node"), "node");
    }
}
