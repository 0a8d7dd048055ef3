//! LLVM types and their layout.

use std::marker::PhantomData;

use llvm_sys::LLVMTypeKind;
use llvm_sys::core::*;
use llvm_sys::prelude::*;
use llvm_sys::target::{LLVMABISizeOfType, LLVMOffsetOfElement};

use super::module::Module;
use crate::bounds::BOUNDS;

#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) struct Ty<'m>(LLVMTypeRef, PhantomData<&'m Module>);

pub(crate) enum TypeKind<'m> {
    Void,
    Int(u32),
    Float(u32),
    Pointer,
    Struct,
    Array {
        element: Ty<'m>,
        length: u64,
    },
    Vector,
    /// A value of one target only, or of a size that only the machine knows (`<vscale x 4 x i32>`).
    Opaque,
    /// No value that a program computes with: labels, metadata, tokens.
    Other,
}

impl<'m> Ty<'m> {
    pub(super) fn from_raw(raw: LLVMTypeRef) -> Self {
        debug_assert!(!raw.is_null());
        Self(raw, PhantomData)
    }

    pub(crate) fn kind(self) -> TypeKind<'m> {
        use LLVMTypeKind::*;
        // SAFETY: the type belongs to the module's context; each getter is called on the kind it is for.
        unsafe {
            match LLVMGetTypeKind(self.0) {
                LLVMVoidTypeKind => TypeKind::Void,
                LLVMIntegerTypeKind => TypeKind::Int(LLVMGetIntTypeWidth(self.0)),
                LLVMHalfTypeKind | LLVMBFloatTypeKind => TypeKind::Float(16),
                LLVMFloatTypeKind => TypeKind::Float(32),
                LLVMDoubleTypeKind => TypeKind::Float(64),
                LLVMX86_FP80TypeKind => TypeKind::Float(80),
                LLVMFP128TypeKind | LLVMPPC_FP128TypeKind => TypeKind::Float(128),
                LLVMPointerTypeKind => TypeKind::Pointer,
                LLVMStructTypeKind => TypeKind::Struct,
                LLVMArrayTypeKind => TypeKind::Array {
                    element: Ty::from_raw(LLVMGetElementType(self.0)),
                    length: LLVMGetArrayLength2(self.0),
                },
                LLVMVectorTypeKind => TypeKind::Vector,
                LLVMScalableVectorTypeKind | LLVMTargetExtTypeKind | LLVMX86_AMXTypeKind | LLVMX86_MMXTypeKind => {
                    TypeKind::Opaque
                }
                _ => TypeKind::Other,
            }
        }
    }

    /// Whether the size of the type, and where its parts lie, is known here. LLVM ends the process when it is asked for
    /// the size of something that holds a scalable vector.
    pub(crate) fn has_layout(self, module: &'m Module) -> bool {
        self.has_layout_at_depth(module, 0)
    }

    fn has_layout_at_depth(self, module: &'m Module, depth: usize) -> bool {
        match self.kind() {
            TypeKind::Void | TypeKind::Opaque | TypeKind::Other => false,
            TypeKind::Int(_) | TypeKind::Float(_) | TypeKind::Pointer | TypeKind::Vector => true,
            _ if depth > BOUNDS.type_nesting => false,
            TypeKind::Array { element, .. } => element.has_layout_at_depth(module, depth + 1),
            TypeKind::Struct => {
                if let Some(known) = module.known_layout(self.0) {
                    return known;
                }
                // SAFETY: any type may be asked; only the size of a structure that is declared and not defined is open.
                let is_sized = unsafe { LLVMTypeIsSized(self.0) != 0 };
                let known = is_sized && self.struct_fields().iter().all(|f| f.has_layout_at_depth(module, depth + 1));
                module.note_layout(self.0, known);
                known
            }
        }
    }

    /// The size in bytes; zero when it is not known.
    pub(crate) fn size(self, module: &'m Module) -> u64 {
        // SAFETY: the layout belongs to the module; types without one are not asked.
        if self.has_layout(module) { unsafe { LLVMABISizeOfType(module.data_layout(), self.0) } } else { 0 }
    }

    /// The name of a struct type, such as `struct.node`; empty for a literal one.
    pub(crate) fn struct_name(self) -> String {
        // SAFETY: asked of struct types only; the name is a C string owned by the type, or null.
        unsafe {
            let name = LLVMGetStructName(self.0);
            if name.is_null() { String::new() } else { std::ffi::CStr::from_ptr(name).to_string_lossy().into_owned() }
        }
    }

    pub(crate) fn struct_fields(self) -> Vec<Ty<'m>> {
        // SAFETY: the vector has room for as many as the type says it has.
        unsafe {
            let count = LLVMCountStructElementTypes(self.0);
            (0..count).map(|i| Ty::from_raw(LLVMStructGetTypeAtIndex(self.0, i))).collect()
        }
    }

    /// Where a field of a structure begins, and its type. None when the layout is not known.
    pub(crate) fn field(self, index: u32, module: &'m Module) -> Option<(u64, Ty<'m>)> {
        if !self.has_layout(module) {
            return None;
        }
        // SAFETY: the structure has a layout, and the index is checked.
        unsafe {
            if index >= LLVMCountStructElementTypes(self.0) {
                return None;
            }
            let offset = LLVMOffsetOfElement(module.data_layout(), self.0, index);
            Some((offset, Ty::from_raw(LLVMStructGetTypeAtIndex(self.0, index))))
        }
    }

    pub(crate) fn element(self) -> Ty<'m> {
        // SAFETY: asked of arrays and vectors only.
        Ty::from_raw(unsafe { LLVMGetElementType(self.0) })
    }

    pub(crate) fn function_params(self) -> Vec<Ty<'m>> {
        // SAFETY: asked of function types only; the buffer has the length LLVM says.
        unsafe {
            let mut raw = vec![std::ptr::null_mut(); LLVMCountParamTypes(self.0) as usize];
            LLVMGetParamTypes(self.0, raw.as_mut_ptr());
            raw.into_iter().map(Ty::from_raw).collect()
        }
    }

    pub(crate) fn function_return(self) -> Ty<'m> {
        // SAFETY: asked of function types only.
        Ty::from_raw(unsafe { LLVMGetReturnType(self.0) })
    }

    pub(crate) fn is_variadic(self) -> bool {
        // SAFETY: asked of function types only.
        unsafe { LLVMIsFunctionVarArg(self.0) != 0 }
    }
}
