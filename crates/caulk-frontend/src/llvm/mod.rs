//! A thin safe layer over LLVM's C API: just what lowering reads.
//!
//! Every handle borrows the [`Module`] it came from, so none outlives it; all are plain pointers and free to copy.
//! The module was written by the clang we run ourselves, so the accessors may rely on valid IR. They may not rely on
//! valid debug info: LLVM's verifier leaves much of it unchecked, so each getter of [`Metadata`] asks for the kind first.

mod metadata;
mod module;
mod types;
mod value;

pub(crate) use metadata::{Metadata, MetadataKind};
pub(crate) use module::Module;
pub(crate) use types::{Ty, TypeKind};
pub(crate) use value::{
    AtomicOp, Attribute, AttributeKinds, AttributeSite, BlockRef, Linkage, Opcode, Predicate, Value, ValueKind,
};

/// Reads a string that LLVM owns. Names may hold any bytes; those that are not UTF-8 are shown as well as can be.
///
/// # Safety
/// `data` is null or points to `length` bytes that live until the result is made.
unsafe fn text(data: *const std::ffi::c_char, length: usize) -> String {
    if data.is_null() || length == 0 {
        return String::new();
    }
    // SAFETY: by the contract of this function.
    let bytes = unsafe { std::slice::from_raw_parts(data.cast::<u8>(), length) };
    String::from_utf8_lossy(bytes).into_owned()
}
