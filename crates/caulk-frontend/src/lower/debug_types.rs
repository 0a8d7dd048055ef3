//! Structure types: layout from LLVM, names from debug info, joined.
//!
//! A structure gets an entry when something mentions it, and its fields only when the code steps into it or a variable
//! has it for a type: headers declare thousands of structures that a unit never looks into.

use caulk_ir::entity::Entity;
use caulk_ir::{Field, Pointee, StrId, StructId, StructKind, StructType};
use rustc_hash::{FxHashMap, FxHashSet};
use smallvec::SmallVec;

use super::unit::Lowering;
use crate::llvm::{Metadata, MetadataKind, Ty, TypeKind};

/// Typedefs, qualifiers and pointers are followed this far; debug info has no cycles without a structure in between,
/// but a broken file must not hang us.
const MAX_TYPE_CHAIN: usize = 64;
/// Scopes around a structure that go into its name.
const MAX_NAMED_SCOPES: usize = 64;
/// Longer names of structures are cut: a few strings in a small file could otherwise make up gigabytes of names.
const MAX_NAME_BYTES: usize = 2048;
/// So many fields are read in a unit: many structures may share one list of them.
const MAX_FIELDS_OF_UNIT: usize = 1 << 21;
/// What LLVM calls a namespace that has no name.
const NAMELESS_NAMESPACE: &str = "(anonymous namespace)";
/// Ends the name of a class as it lies in a derived one, which may use the bytes at its end.
const WITHOUT_TAIL: &str = ".base";

mod tag {
    pub(crate) const ARRAY: u16 = 0x01;
    pub(crate) const CLASS: u16 = 0x02;
    pub(crate) const MEMBER: u16 = 0x0d;
    pub(crate) const POINTER: u16 = 0x0f;
    pub(crate) const REFERENCE: u16 = 0x10;
    pub(crate) const STRUCTURE: u16 = 0x13;
    pub(crate) const TYPEDEF: u16 = 0x16;
    pub(crate) const UNION: u16 = 0x17;
    pub(crate) const INHERITANCE: u16 = 0x1c;
    pub(crate) const CONST: u16 = 0x26;
    pub(crate) const RVALUE_REFERENCE: u16 = 0x42;
}

const FLAG_STATIC_MEMBER: i32 = 1 << 12;

#[derive(Default)]
pub(super) struct DebugTypes<'m> {
    by_node: FxHashMap<Metadata<'m>, StructId>,
    by_llvm: FxHashMap<Ty<'m>, StructId>,
    /// Structures by the name LLVM gives them, without `struct.` and the number at the end.
    by_name: FxHashMap<StrId, Vec<StructId>>,
    /// The key of each structure of debug info in `by_name`.
    llvm_names: FxHashMap<StructId, StrId>,
    /// Structures that an LLVM type is joined with.
    joined: FxHashSet<StructId>,
    /// The debug node of each structure that has one, until its fields are filled in.
    unfilled: FxHashMap<StructId, Metadata<'m>>,
    /// Structures that lie in others, by (structure, offset). An empty base class lies where the first field does.
    inner: FxHashMap<(StructId, u64), SmallVec<[StructId; 1]>>,
    fields_read: usize,
    /// Compile units whose lists of types were read.
    mentioned: FxHashSet<Metadata<'m>>,
}

impl<'m> Lowering<'m> {
    /// What a type of debug info says of a pointer, or of a structure itself.
    pub(crate) fn pointee(&mut self, ty: Metadata<'m>) -> Pointee {
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
            (Some(name), _) => self.qualified(node, name),
            (None, Some(typedef)) => typedef,
            (None, None) => format!("(anonymous at line {})", node.type_line()),
        };
        let identity = operands.string(7).filter(|i| !i.is_empty()).map(|i| self.intern(&i));
        let id = self.new_struct(cut(&name), kind, node.size_bits() / 8, identity);
        self.types.by_node.insert(node, id);
        self.types.unfilled.insert(id, node);
        let key = self.llvm_name(node, &name);
        self.types.by_name.entry(key).or_default().push(id);
        self.types.llvm_names.insert(id, key);
        Some(id)
    }

    /// The name of a structure with those of the scopes around it.
    fn qualified(&self, node: Metadata<'m>, name: String) -> String {
        let mut parts = vec![name];
        parts.extend(self.scopes(node).into_iter().map_while(|scope| scope));
        parts.reverse();
        parts.join("::")
    }

    /// What LLVM's type is called, without template arguments: `qualified`, and with namespaces that have no name.
    fn llvm_name(&mut self, node: Metadata<'m>, name: &str) -> StrId {
        let scopes = self.scopes(node);
        let inside = scopes.iter().take_while(|scope| scope.is_some()).count();
        let outside = scopes.into_iter().skip(inside).map(|scope| scope.unwrap_or_else(|| NAMELESS_NAMESPACE.into()));
        let mut parts: Vec<String> = outside.collect();
        parts.reverse();
        parts.push(name.to_owned());
        let key = without_template_arguments(&parts.join("::"));
        self.intern(cut(&key))
    }

    /// The names of the scopes around a structure, from the inside out; None for a namespace without one. A broken
    /// file may have a scope lie in itself.
    fn scopes(&self, node: Metadata<'m>) -> Vec<Option<String>> {
        let mut names = Vec::new();
        let mut inner = node;
        for _ in 0..MAX_NAMED_SCOPES {
            // Namespaces and classes are scopes with their name at operand 2; files and functions do not qualify.
            let Some(scope) = inner.operands(self.module).node(1) else { break };
            if !matches!(scope.kind(), MetadataKind::CompositeType | MetadataKind::Namespace) {
                break;
            }
            let name = scope.operands(self.module).string(2).filter(|n| !n.is_empty());
            if name.is_none() && scope.kind() != MetadataKind::Namespace {
                break;
            }
            names.push(name);
            inner = scope;
        }
        names
    }

    fn new_struct(&mut self, name: &str, kind: StructKind, size: u64, identity: Option<StrId>) -> StructId {
        let name = self.intern(name);
        self.unit.structs.push(StructType { name, identity, kind, size, fields: Vec::new() })
    }

    /// Fills in the fields of a structure from debug info, when it is first looked into.
    pub(crate) fn fill(&mut self, id: StructId) {
        let Some(node) = self.types.unfilled.remove(&id) else { return };
        let Some(elements) = node.operands(self.module).node(4) else { return };
        let is_union = self.unit.structs[id].kind == StructKind::Union;
        let elements = elements.operands(self.module);
        self.types.fields_read += elements.len();
        if self.types.fields_read > MAX_FIELDS_OF_UNIT {
            return;
        }
        let mut fields = Vec::new();
        for element in elements.nodes() {
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
            let offset = if is_union { 0 } else { element.offset_bits() / 8 };
            let size = match element.size_bits() {
                0 => base.filter(|_| is_base).map_or(0, |b| b.size_bits() / 8),
                bits => bits.div_ceil(8),
            };
            let pointee = base.map(|b| self.pointee(b)).unwrap_or_default();
            if let (0, Some(inner)) = (pointee.depth, pointee.target) {
                self.types.inner.entry((id, offset)).or_default().push(inner);
            }
            let name = operands.string(2).filter(|n| !n.is_empty()).map(|n| self.intern(&n));
            fields.push(Field { offset, size, name, pointee, is_base });
        }
        self.unit.structs[id].fields = in_order(fields);
    }

    /// The structure behind an LLVM struct type that the code steps into. None for literal types such as `{ i32, i1 }`.
    pub(crate) fn struct_of_llvm(&mut self, ty: Ty<'m>) -> Option<StructId> {
        if let Some(&id) = self.types.by_llvm.get(&ty) {
            return Some(id);
        }
        let full = ty.struct_name();
        if full.is_empty() {
            return None;
        }
        let (kind, name) = split_llvm_name(&full);
        let name = cut(name);
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

    /// Joins the LLVM type of a variable with its type in the source.
    pub(crate) fn join_types(&mut self, ty: Ty<'m>, pointee: Pointee) {
        if let (0, Some(id)) = (pointee.depth, pointee.target) {
            self.join(innermost_element(ty), id);
        }
    }

    /// Joins an LLVM type with the structure that its values are declared to be. Code also steps from an object into
    /// its bases, and casts; so the names must be the same, and no name at all leads from `anon` to its structure.
    pub(super) fn join(&mut self, ty: Ty<'m>, id: StructId) {
        if !matches!(ty.kind(), TypeKind::Struct) || self.is_joined(ty) {
            return;
        }
        let (declared, size) = (self.unit.structs[id].size, ty.size(self.module));
        let full = ty.struct_name();
        let name = split_llvm_name(&full).1;
        let fits = match self.types.llvm_names.get(&id) {
            _ if name == "anon" => declared == size,
            Some(key) => {
                (declared == size || declared == 0) && self.unit.str(*key) == cut(&without_template_arguments(name))
            }
            None => false,
        };
        if fits {
            self.bind(ty, id);
        }
    }

    pub(super) fn is_joined(&self, ty: Ty<'m>) -> bool {
        self.types.by_llvm.contains_key(&ty)
    }

    /// Whether other structures have this one's name in LLVM.
    pub(super) fn shares_its_name(&self, id: StructId) -> bool {
        let same = self.types.llvm_names.get(&id).and_then(|key| self.types.by_name.get(key));
        same.is_some_and(|ids| ids.len() > 1)
    }

    /// The structure of a name; of several, one of the size that has the template arguments around it in common, and
    /// that no other type is joined with.
    fn find_by_name(&mut self, name: &str, size: u64) -> Option<StructId> {
        let key = self.intern(cut(&without_template_arguments(name)));
        let found = self.types.by_name.get(&key)?;
        let scope = name.rsplit_once("::").map_or("", |(scope, _)| scope);
        let worth = |id: StructId| {
            let ty = &self.unit.structs[id];
            let same_scope = self.unit.str(ty.name).replace("> >", ">>").starts_with(scope);
            (ty.size == size, same_scope, !self.types.joined.contains(&id))
        };
        found.iter().copied().reduce(|best, id| if worth(id) > worth(best) { id } else { best })
    }

    /// Joins an LLVM type with its structure, and the nameless types inside with theirs, by where they stand.
    fn bind(&mut self, ty: Ty<'m>, id: StructId) {
        let mut work = vec![(ty, id)];
        while let Some((ty, id)) = work.pop() {
            if self.types.by_llvm.contains_key(&ty) {
                continue;
            }
            self.types.by_llvm.insert(ty, id);
            self.types.joined.insert(id);
            self.fill(id);
            let inner = self.inner_structs(ty, id);
            work.extend(inner.into_iter().rev());
        }
    }

    /// The structures that stand inside one, arrays of them included, and are not joined with any yet.
    fn inner_structs(&self, ty: Ty<'m>, id: StructId) -> Vec<(Ty<'m>, StructId)> {
        let inner_struct = |(index, field): (usize, Ty<'m>)| {
            let inner = innermost_element(field);
            if !matches!(inner.kind(), TypeKind::Struct) || self.types.by_llvm.contains_key(&inner) {
                return None;
            }
            let (offset, _) = ty.field(index as u32, self.module)?;
            Some((inner, self.inner_of_name(inner, self.types.inner.get(&(id, offset))?)?))
        };
        ty.struct_fields().into_iter().enumerate().filter_map(inner_struct).collect()
    }

    /// Which of the structures that begin at one place an LLVM type is: empty bases begin where a field does.
    fn inner_of_name(&self, ty: Ty<'m>, inner: &[StructId]) -> Option<StructId> {
        if let [only] = inner {
            return Some(*only);
        }
        let full = ty.struct_name();
        let name = split_llvm_name(&full).1;
        let name = without_template_arguments(name.strip_suffix(WITHOUT_TAIL).unwrap_or(name));
        let is_called_so = |id: &&StructId| {
            let key = self.types.llvm_names.get(id);
            key.is_some_and(|key| self.unit.str(*key) == cut(&name))
        };
        inner.iter().find(is_called_so).or(inner.last()).copied()
    }

    fn fields_of_llvm(&mut self, ty: Ty<'m>) -> Vec<Field> {
        let field = |index: usize| {
            let (offset, field) = ty.field(index as u32, self.module)?;
            let size = field.size(self.module);
            Some(Field { offset, size, name: None, pointee: Pointee::default(), is_base: false })
        };
        let fields = (0..ty.struct_fields().len()).filter_map(field);
        in_order(fields.collect())
    }

    /// Structures named in a cast but by no variable are listed by the compile unit. Each is looked into once.
    pub(crate) fn mention_retained_types(&mut self, compile_unit: Metadata<'m>) {
        if !self.types.mentioned.insert(compile_unit) {
            return;
        }
        // DICompileUnit: file, producer, flags, split name, enums, retained types.
        let Some(list) = compile_unit.operands(self.module).node(5) else { return };
        for ty in list.operands(self.module).nodes() {
            if matches!(ty.kind(), MetadataKind::DerivedType | MetadataKind::CompositeType) {
                self.pointee(ty);
            }
        }
    }

    /// Gives every structure a name of its own in the unit.
    pub(crate) fn make_struct_names_unique(&mut self) {
        let mut seen: FxHashMap<StrId, u32> = FxHashMap::default();
        let mut taken: FxHashSet<StrId> = self.unit.structs.values().map(|s| s.name).collect();
        for index in 0..self.unit.structs.len() {
            let id = StructId::from_index(index);
            let name = self.unit.structs[id].name;
            let count = seen.entry(name).or_insert(0);
            *count += 1;
            if *count > 1 {
                let mut number = *count;
                // The source may itself have such a name.
                let unique = loop {
                    let unique = format!("{}#{number}", self.unit.str(name));
                    let unique = self.intern(&unique);
                    if taken.insert(unique) {
                        break unique;
                    }
                    number += 1;
                };
                self.unit.structs[id].name = unique;
            }
        }
    }
}

/// The type of the elements of an array, or of an array of arrays.
fn innermost_element(mut ty: Ty<'_>) -> Ty<'_> {
    while let TypeKind::Array { element, .. } = ty.kind() {
        ty = element;
    }
    ty
}

/// Fields by rising offset, without those that end beyond all memory.
fn in_order(mut fields: Vec<Field>) -> Vec<Field> {
    fields.retain(|f| f.offset.checked_add(f.size).is_some());
    fields.sort_by_key(|f| f.offset);
    fields
}

fn cut(name: &str) -> &str {
    let mut end = name.len().min(MAX_NAME_BYTES);
    while !name.is_char_boundary(end) {
        end -= 1;
    }
    &name[..end]
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

/// LLVM leaves the template arguments of a type out of its name, and writes those of the scopes around it otherwise than
/// debug info, so they do not count when names are compared.
fn without_template_arguments(name: &str) -> String {
    let mut depth = 0_usize;
    let mut plain = String::with_capacity(name.len());
    for c in name.chars() {
        match c {
            '<' => depth += 1,
            '>' if depth > 0 => depth -= 1,
            _ if depth == 0 => plain.push(c),
            _ => {}
        }
    }
    plain
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
        assert_eq!(without_template_arguments("Tree<int, Less<int> >::Node<char>"), "Tree::Node");
        assert_eq!(without_template_arguments("node"), "node");
    }
}
