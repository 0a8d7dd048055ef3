//! Debug info, read node by node. The C API has few getters, so operands are taken by their position in LLVM 19.

use std::marker::PhantomData;

use llvm_sys::core::*;
pub use llvm_sys::debuginfo::LLVMMetadataKind;
use llvm_sys::debuginfo::*;
use llvm_sys::prelude::*;
use smallvec::SmallVec;

use super::module::Module;
use super::text;

#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct Metadata<'m>(LLVMMetadataRef, PhantomData<&'m Module>);

/// The kinds of node we look into.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum MetadataKind {
    DerivedType,
    CompositeType,
    SubroutineType,
    Subprogram,
    LexicalBlock,
    Other,
}

/// The operands of a node, fetched at once.
pub struct Operands<'m>(SmallVec<[LLVMValueRef; 12]>, PhantomData<&'m Module>);

impl<'m> Operands<'m> {
    /// The operand when it is a node; strings and wrapped values are none.
    pub fn node(&self, index: usize) -> Option<Metadata<'m>> {
        use LLVMMetadataKind::*;
        let value = *self.0.get(index)?;
        if value.is_null() {
            return None;
        }
        // SAFETY: the operand of a living node.
        unsafe {
            let metadata = Metadata::from_raw(LLVMValueAsMetadata(value))?;
            let is_leaf = matches!(
                LLVMGetMetadataKind(metadata.0),
                LLVMMDStringMetadataKind | LLVMConstantAsMetadataMetadataKind | LLVMLocalAsMetadataMetadataKind
            );
            (!is_leaf).then_some(metadata)
        }
    }

    pub fn string(&self, index: usize) -> Option<String> {
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

    pub fn len(&self) -> usize {
        self.0.len()
    }

    pub fn nodes(&self) -> impl Iterator<Item = Metadata<'m>> {
        (0..self.0.len()).filter_map(|i| self.node(i))
    }
}

// SAFETY of every call below: nodes live as long as the module's context; each getter is only called on its kind.
impl<'m> Metadata<'m> {
    pub(super) fn from_raw(raw: LLVMMetadataRef) -> Option<Self> {
        (!raw.is_null()).then_some(Self(raw, PhantomData))
    }

    pub fn kind(self) -> MetadataKind {
        match unsafe { LLVMGetMetadataKind(self.0) } {
            LLVMMetadataKind::LLVMDIDerivedTypeMetadataKind => MetadataKind::DerivedType,
            LLVMMetadataKind::LLVMDICompositeTypeMetadataKind => MetadataKind::CompositeType,
            LLVMMetadataKind::LLVMDISubroutineTypeMetadataKind => MetadataKind::SubroutineType,
            LLVMMetadataKind::LLVMDISubprogramMetadataKind => MetadataKind::Subprogram,
            LLVMMetadataKind::LLVMDILexicalBlockMetadataKind | LLVMMetadataKind::LLVMDILexicalBlockFileMetadataKind => {
                MetadataKind::LexicalBlock
            }
            _ => MetadataKind::Other,
        }
    }

    pub fn operands(self, module: &'m Module) -> Operands<'m> {
        unsafe {
            let value = LLVMMetadataAsValue(module.context(), self.0);
            let count = LLVMGetMDNodeNumOperands(value) as usize;
            let mut operands = SmallVec::from_elem(std::ptr::null_mut(), count);
            LLVMGetMDNodeOperands(value, operands.as_mut_ptr());
            Operands(operands, PhantomData)
        }
    }

    pub fn tag(self) -> u16 {
        unsafe { LLVMGetDINodeTag(self.0) }
    }

    pub fn size_bits(self) -> u64 {
        unsafe { LLVMDITypeGetSizeInBits(self.0) }
    }

    pub fn offset_bits(self) -> u64 {
        unsafe { LLVMDITypeGetOffsetInBits(self.0) }
    }

    pub fn type_flags(self) -> i32 {
        unsafe { LLVMDITypeGetFlags(self.0) }
    }

    pub fn type_line(self) -> u32 {
        unsafe { LLVMDITypeGetLine(self.0) }
    }

    pub fn subprogram_line(self) -> u32 {
        unsafe { LLVMDISubprogramGetLine(self.0) }
    }

    pub fn variable_line(self) -> u32 {
        unsafe { LLVMDIVariableGetLine(self.0) }
    }

    pub fn location_line(self) -> u32 {
        unsafe { LLVMDILocationGetLine(self.0) }
    }

    pub fn location_column(self) -> u32 {
        unsafe { LLVMDILocationGetColumn(self.0) }
    }

    pub fn location_scope(self) -> Option<Metadata<'m>> {
        Self::from_raw(unsafe { LLVMDILocationGetScope(self.0) })
    }

    pub fn location_inlined_at(self) -> Option<Metadata<'m>> {
        Self::from_raw(unsafe { LLVMDILocationGetInlinedAt(self.0) })
    }

    pub fn scope_file(self) -> Option<Metadata<'m>> {
        Self::from_raw(unsafe { LLVMDIScopeGetFile(self.0) })
    }

    /// Directory and file name of a file node.
    pub fn file_path(self) -> (String, String) {
        let (mut a, mut b) = (0, 0);
        unsafe {
            let directory = LLVMDIFileGetDirectory(self.0, &mut a);
            let name = LLVMDIFileGetFilename(self.0, &mut b);
            (text(directory, a as usize), text(name, b as usize))
        }
    }

    /// The variable of a global-variable expression.
    pub fn global_variable(self) -> Option<Metadata<'m>> {
        Self::from_raw(unsafe { LLVMDIGlobalVariableExpressionGetVariable(self.0) })
    }
}
