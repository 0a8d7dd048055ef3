//! Debug info, read node by node. The C API has few getters, so operands are taken by their position in LLVM 19.
//!
//! LLVM's getters cast what they are given without a check, and its verifier lets nodes of a wrong kind pass in many
//! places. So every getter here asks for the kind first: on a node that it is not for it answers with nothing.

use std::marker::PhantomData;

use llvm_sys::core::*;
pub(crate) use llvm_sys::debuginfo::LLVMMetadataKind;
use llvm_sys::debuginfo::*;
use llvm_sys::prelude::*;
use smallvec::SmallVec;

use super::module::Module;
use super::text;

#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) struct Metadata<'m>(LLVMMetadataRef, PhantomData<&'m Module>);

/// The kinds of node we look into.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum MetadataKind {
    Location,
    File,
    BasicType,
    DerivedType,
    CompositeType,
    SubroutineType,
    Subprogram,
    LexicalBlock,
    Namespace,
    LocalVariable,
    GlobalVariable,
    GlobalVariableExpression,
    /// A node of a kind we do not look into; it has operands.
    Other,
    /// A string, a wrapped value or a list of them: no node, and without operands.
    Leaf,
}

/// The operands of a node, fetched at once.
pub(crate) struct Operands<'m>(SmallVec<[LLVMValueRef; 12]>, PhantomData<&'m Module>);

impl<'m> Operands<'m> {
    /// The operand when it is a node; strings and wrapped values are none.
    pub(crate) fn node(&self, index: usize) -> Option<Metadata<'m>> {
        let value = *self.0.get(index)?;
        if value.is_null() {
            return None;
        }
        // SAFETY: the operand of a living node.
        let metadata = Metadata::from_raw(unsafe { LLVMValueAsMetadata(value) })?;
        (metadata.kind() != MetadataKind::Leaf).then_some(metadata)
    }

    /// The operand when it is a node of this kind.
    pub(crate) fn node_of(&self, index: usize, kind: MetadataKind) -> Option<Metadata<'m>> {
        self.node(index).filter(|node| node.kind() == kind)
    }

    pub(crate) fn string(&self, index: usize) -> Option<String> {
        let value = *self.0.get(index)?;
        if value.is_null() {
            return None;
        }
        let mut length = 0;
        // SAFETY: the operand of a living node; null comes back when it is not a string.
        unsafe {
            let data = LLVMGetMDString(value, &mut length);
            (!data.is_null()).then(|| text(data, length as usize))
        }
    }

    pub(crate) fn len(&self) -> usize {
        self.0.len()
    }

    pub(crate) fn nodes(&self) -> impl Iterator<Item = Metadata<'m>> {
        (0..self.0.len()).filter_map(|i| self.node(i))
    }
}

#[expect(
    clippy::undocumented_unsafe_blocks,
    reason = "one argument for all: nodes live as long as the module's context, and each getter asks for the kind it is for"
)]
impl<'m> Metadata<'m> {
    pub(super) fn from_raw(raw: LLVMMetadataRef) -> Option<Self> {
        (!raw.is_null()).then_some(Self(raw, PhantomData))
    }

    pub(crate) fn kind(self) -> MetadataKind {
        use LLVMMetadataKind::*;
        match unsafe { LLVMGetMetadataKind(self.0) } {
            LLVMDILocationMetadataKind => MetadataKind::Location,
            LLVMDIFileMetadataKind => MetadataKind::File,
            LLVMDIBasicTypeMetadataKind => MetadataKind::BasicType,
            LLVMDIDerivedTypeMetadataKind => MetadataKind::DerivedType,
            LLVMDICompositeTypeMetadataKind => MetadataKind::CompositeType,
            LLVMDISubroutineTypeMetadataKind => MetadataKind::SubroutineType,
            LLVMDISubprogramMetadataKind => MetadataKind::Subprogram,
            LLVMDILexicalBlockMetadataKind | LLVMDILexicalBlockFileMetadataKind => MetadataKind::LexicalBlock,
            LLVMDINamespaceMetadataKind => MetadataKind::Namespace,
            LLVMDILocalVariableMetadataKind => MetadataKind::LocalVariable,
            LLVMDIGlobalVariableMetadataKind => MetadataKind::GlobalVariable,
            LLVMDIGlobalVariableExpressionMetadataKind => MetadataKind::GlobalVariableExpression,
            LLVMMDStringMetadataKind
            | LLVMConstantAsMetadataMetadataKind
            | LLVMLocalAsMetadataMetadataKind
            | LLVMDistinctMDOperandPlaceholderMetadataKind
            | LLVMDIArgListMetadataKind => MetadataKind::Leaf,
            _ => MetadataKind::Other,
        }
    }

    fn is(self, kind: MetadataKind) -> Option<LLVMMetadataRef> {
        (self.kind() == kind).then_some(self.0)
    }

    /// Whether this is a value in the guise of metadata, with that value as its only operand.
    pub(super) fn is_wrapped_value(self) -> bool {
        use LLVMMetadataKind::*;
        let kind = unsafe { LLVMGetMetadataKind(self.0) };
        matches!(kind, LLVMConstantAsMetadataMetadataKind | LLVMLocalAsMetadataMetadataKind)
    }

    fn is_type(self) -> Option<LLVMMetadataRef> {
        use MetadataKind::*;
        matches!(self.kind(), BasicType | DerivedType | CompositeType | SubroutineType).then_some(self.0)
    }

    /// The operands of a node; a leaf has none.
    pub(crate) fn operands(self, module: &'m Module) -> Operands<'m> {
        if self.kind() == MetadataKind::Leaf {
            return Operands(SmallVec::new(), PhantomData);
        }
        unsafe {
            let value = LLVMMetadataAsValue(module.context(), self.0);
            let count = LLVMGetMDNodeNumOperands(value) as usize;
            let mut operands = SmallVec::from_elem(std::ptr::null_mut(), count);
            LLVMGetMDNodeOperands(value, operands.as_mut_ptr());
            Operands(operands, PhantomData)
        }
    }

    /// The DWARF tag of a type; zero for other nodes.
    pub(crate) fn tag(self) -> u16 {
        self.is_type().map_or(0, |raw| unsafe { LLVMGetDINodeTag(raw) })
    }

    pub(crate) fn size_bits(self) -> u64 {
        self.is_type().map_or(0, |raw| unsafe { LLVMDITypeGetSizeInBits(raw) })
    }

    pub(crate) fn offset_bits(self) -> u64 {
        self.is_type().map_or(0, |raw| unsafe { LLVMDITypeGetOffsetInBits(raw) })
    }

    pub(crate) fn type_flags(self) -> i32 {
        self.is_type().map_or(0, |raw| unsafe { LLVMDITypeGetFlags(raw) })
    }

    pub(crate) fn type_line(self) -> u32 {
        self.is_type().map_or(0, |raw| unsafe { LLVMDITypeGetLine(raw) })
    }

    pub(crate) fn subprogram_line(self) -> u32 {
        self.is(MetadataKind::Subprogram).map_or(0, |raw| unsafe { LLVMDISubprogramGetLine(raw) })
    }

    pub(crate) fn variable_line(self) -> u32 {
        let is_variable = matches!(self.kind(), MetadataKind::LocalVariable | MetadataKind::GlobalVariable);
        if is_variable { unsafe { LLVMDIVariableGetLine(self.0) } } else { 0 }
    }

    /// Line and column of a location.
    pub(crate) fn location_position(self) -> (u32, u32) {
        match self.is(MetadataKind::Location) {
            Some(raw) => unsafe { (LLVMDILocationGetLine(raw), LLVMDILocationGetColumn(raw)) },
            None => (0, 0),
        }
    }

    pub(crate) fn location_scope(self) -> Option<Metadata<'m>> {
        Self::from_raw(unsafe { LLVMDILocationGetScope(self.is(MetadataKind::Location)?) })
    }

    /// The location of the call through which this one was inlined.
    pub(crate) fn location_inlined_at(self) -> Option<Metadata<'m>> {
        let at = Self::from_raw(unsafe { LLVMDILocationGetInlinedAt(self.is(MetadataKind::Location)?) });
        at.filter(|at| at.kind() == MetadataKind::Location)
    }

    /// The file a scope lies in.
    pub(crate) fn scope_file(self, module: &'m Module) -> Option<Metadata<'m>> {
        use MetadataKind::*;
        match self.kind() {
            File => Some(self),
            // Of all these the file is the first operand.
            Subprogram | LexicalBlock | CompositeType | Namespace => self.operands(module).node_of(0, File),
            _ => None,
        }
    }

    /// Directory and file name of a file node.
    pub(crate) fn file_path(self, module: &'m Module) -> (String, String) {
        if self.kind() != MetadataKind::File {
            return Default::default();
        }
        // DIFile: name, directory.
        let operands = self.operands(module);
        (operands.string(1).unwrap_or_default(), operands.string(0).unwrap_or_default())
    }

    /// The variable of a global-variable expression.
    pub(crate) fn global_variable(self, module: &'m Module) -> Option<Metadata<'m>> {
        let expression = self.is(MetadataKind::GlobalVariableExpression).map(|_| self)?;
        expression.operands(module).node_of(0, MetadataKind::GlobalVariable)
    }
}
