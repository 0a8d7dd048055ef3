//! The tables of a unit, and the order in which they are filled.

use caulk_ir::unit::AliasTarget;
use caulk_ir::{Alias, FunctionId, Global, GlobalId, Initialiser, Linkage, StrId, Unit};
use rustc_hash::{FxHashMap, FxHashSet};

use super::debug_types::DebugTypes;
use super::function::lower_body;
use super::intrinsic::IntrinsicTable;
use super::places::FileTable;
use crate::llvm::{self, AttributeKinds, MetadataKind, Module, Ty, TypeKind, Value, ValueKind};

/// An alias of an alias is followed this far.
const MAX_ALIAS_HOPS: usize = 64;

/// Everything that is being made, and what LLVM's handles became.
pub(super) struct Lowering<'m> {
    pub module: &'m Module,
    pub unit: Unit,
    pub attributes: AttributeKinds,
    pub functions: FxHashMap<Value<'m>, FunctionId>,
    pub globals: FxHashMap<Value<'m>, GlobalId>,
    pub types: DebugTypes<'m>,
    pub files: FileTable<'m>,
    pub intrinsics: IntrinsicTable,
    /// Symbols that are taken.
    symbols: FxHashSet<StrId>,
}

/// Why a module has no meaning for us as a whole.
#[derive(Debug, thiserror::Error)]
pub(crate) enum LowerError {
    #[error("its pointers have {0} bytes; Caulk knows targets with pointers of 1, 2, 4 and 8 bytes")]
    PointerSize(u32),
}

/// Lowers a module. `source` is the path shown to users.
pub(crate) fn lower_unit(module: &Module, source: &str) -> Result<Unit, LowerError> {
    let pointer_bytes = match module.pointer_bytes() {
        bytes @ (1 | 2 | 4 | 8) => bytes as u8,
        other => return Err(LowerError::PointerSize(other)),
    };
    let mut lowering = Lowering {
        module,
        unit: Unit { source: source.to_owned(), pointer_bytes, ..Unit::default() },
        attributes: AttributeKinds::new(),
        functions: FxHashMap::default(),
        globals: FxHashMap::default(),
        types: DebugTypes::default(),
        files: FileTable::default(),
        intrinsics: IntrinsicTable::default(),
        symbols: FxHashSet::default(),
    };
    lowering.declare_globals();
    lowering.declare_functions();
    lowering.lower_aliases();
    lowering.lower_initialisers();
    lowering.lower_marks();
    lowering.join_types_of_params();
    for value in module.functions() {
        if let Some(&id) = lowering.functions.get(&value)
            && !value.is_declaration()
        {
            lowering.unit.functions[id].body = Some(lower_body(&mut lowering, value));
        }
    }
    lowering.make_struct_names_unique();
    Ok(lowering.unit)
}

impl<'m> Lowering<'m> {
    pub(crate) fn intern(&mut self, text: &str) -> StrId {
        self.unit.strings.intern(text)
    }

    fn declare_globals(&mut self) {
        for value in self.module.globals() {
            let name = value.name();
            if name.starts_with("llvm.") || value.section() == "llvm.metadata" {
                continue;
            }
            let symbol = self.symbol(&name, self.unit.globals.len());
            let mut global = Global {
                symbol,
                name: None,
                linkage: linkage(value),
                size: value.value_type().size(self.module),
                is_const: value.is_global_constant(),
                thread_local: value.is_thread_local(),
                pointee: Default::default(),
                file: None,
                line: 0,
                init: Initialiser::External,
            };
            self.describe_global(value, &mut global);
            let id = self.unit.globals.push(global);
            self.globals.insert(value, id);
        }
    }

    fn describe_global(&mut self, value: Value<'m>, global: &mut Global) {
        // DIGlobalVariable: scope, name, file, type.
        let debug_info = value.global_debug_info().and_then(|node| node.global_variable(self.module));
        let Some(variable) = debug_info else { return };
        let operands = variable.operands(self.module);
        let name = operands.string(1).map(|name| match operands.node(0).and_then(|s| self.enclosing_function(s)) {
            Some(function) => format!("{function}::{name}"),
            None => name,
        });
        global.name = name.map(|n| self.intern(&n));
        global.file = operands.node_of(2, MetadataKind::File).map(|f| self.file(f));
        global.line = variable.variable_line();
        if let Some(ty) = operands.node(3) {
            global.pointee = self.pointee(ty);
            self.join_types(value.value_type(), global.pointee);
        }
    }

    fn declare_functions(&mut self) {
        for value in self.module.functions() {
            if value.intrinsic_id() != 0 || value.name().starts_with("llvm.") {
                continue;
            }
            let function = self.declare_function(value);
            let id = self.unit.functions.push(function);
            self.functions.insert(value, id);
        }
    }

    /// A symbol for something that may have no name of its own. No two things have the same: names that are not UTF-8
    /// may look alike once they are text.
    pub(crate) fn symbol(&mut self, name: &str, number: usize) -> StrId {
        let plain = if name.is_empty() { format!(".unnamed.{number}") } else { name.to_owned() };
        let mut symbol = self.intern(&plain);
        let mut copy = 1;
        while !self.symbols.insert(symbol) {
            copy += 1;
            symbol = self.intern(&format!("{plain}#{copy}"));
        }
        symbol
    }

    fn lower_aliases(&mut self) {
        for value in self.module.aliases() {
            let name = value.name();
            let target = aliased(value);
            let target = match (self.functions.get(&target), self.globals.get(&target)) {
                (Some(&f), _) => AliasTarget::Function(f),
                (_, Some(&g)) => AliasTarget::Global(g),
                _ => continue,
            };
            match target {
                AliasTarget::Function(f) => drop(self.functions.insert(value, f)),
                AliasTarget::Global(g) => drop(self.globals.insert(value, g)),
            }
            let symbol = self.symbol(&name, self.unit.aliases.len());
            self.unit.aliases.push(Alias { symbol, linkage: linkage(value), target });
        }
    }

    /// Annotations of the source, and functions that run before or after main.
    fn lower_marks(&mut self) {
        let module = self.module;
        for (fields, value) in marked(module, c"llvm.global.annotations") {
            let text = fields.element(1).and_then(Value::global_initialiser).and_then(Value::string_bytes);
            if let (Some(&id), Some(text)) = (self.functions.get(&value(fields, 0)), text)
                && let Some(annotation) = text.strip_prefix(crate::clang::ANNOTATION_PREFIX.as_bytes())
            {
                let annotation = String::from_utf8_lossy(annotation).trim_end_matches('\0').to_owned();
                let annotation = self.intern(&annotation);
                self.unit.functions[id].annotations.push(annotation);
            }
        }
        for (fields, value) in marked(module, c"llvm.global_ctors") {
            if let Some(&id) = self.functions.get(&value(fields, 1)) {
                self.unit.functions[id].flags.runs_at_start = true;
            }
        }
        for (fields, value) in marked(module, c"llvm.global_dtors") {
            if let Some(&id) = self.functions.get(&value(fields, 1)) {
                self.unit.functions[id].flags.runs_at_end = true;
            }
        }
    }
}

type FieldOf<'m> = fn(Value<'m>, u32) -> Value<'m>;

/// The entries of one of LLVM's tables of marked symbols, with a getter for a field of one.
fn marked<'m>(module: &'m Module, name: &std::ffi::CStr) -> Vec<(Value<'m>, FieldOf<'m>)> {
    let Some(table) = module.named_global(name).and_then(Value::global_initialiser) else { return Vec::new() };
    // Only an array that is written out: one of zeros may claim any length.
    if table.kind() != ValueKind::LLVMConstantArrayValueKind {
        return Vec::new();
    }
    let field: FieldOf<'m> = |entry, index| entry.element(index).unwrap_or(entry);
    (0..table.operand_count()).filter_map(|i| table.element(i)).map(|entry| (entry, field)).collect()
}

/// What an alias stands for: an alias of an alias, or of a part of something, is followed to what it stands in.
fn aliased(alias: Value<'_>) -> Value<'_> {
    let mut target = alias;
    for _ in 0..MAX_ALIAS_HOPS {
        target = match target.kind() {
            ValueKind::LLVMGlobalAliasValueKind => target.aliasee(),
            ValueKind::LLVMConstantExprValueKind if target.operand_count() > 0 => target.operand(0),
            _ => break,
        };
    }
    target
}

pub(super) fn linkage(value: Value<'_>) -> Linkage {
    use llvm::Linkage::*;
    match value.linkage() {
        LLVMAvailableExternallyLinkage => Linkage::AvailableExternally,
        LLVMLinkOnceAnyLinkage | LLVMLinkOnceODRLinkage | LLVMLinkOnceODRAutoHideLinkage | LLVMWeakODRLinkage => {
            Linkage::LinkOnce
        }
        LLVMWeakAnyLinkage | LLVMExternalWeakLinkage => Linkage::Weak,
        LLVMCommonLinkage => Linkage::Common,
        LLVMInternalLinkage | LLVMPrivateLinkage | LLVMLinkerPrivateLinkage | LLVMLinkerPrivateWeakLinkage => {
            Linkage::Internal
        }
        _ => Linkage::External,
    }
}

impl<'m> Lowering<'m> {
    pub(crate) fn lower_type(&self, ty: Ty<'m>) -> caulk_ir::Type {
        use caulk_ir::Type;
        let bytes = |ty: Ty<'m>| u32::try_from(ty.size(self.module)).unwrap_or(u32::MAX);
        match ty.kind() {
            TypeKind::Void => Type::Void,
            // What has no type in core IR but is a value is carried like a vector, and never looked into.
            TypeKind::Other => Type::Vector(0),
            TypeKind::Opaque => Type::Vector(bytes(ty)),
            TypeKind::Int(bits) => u16::try_from(bits).map_or_else(|_| Type::Vector(bytes(ty)), Type::Int),
            TypeKind::Float(bits) => Type::Float(bits as u16),
            TypeKind::Pointer => Type::Ptr,
            TypeKind::Struct | TypeKind::Array { .. } => Type::Aggregate(bytes(ty)),
            TypeKind::Vector => Type::Vector(bytes(ty)),
        }
    }
}
