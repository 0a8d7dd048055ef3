//! LLVM values: functions, globals, instructions, constants.

use std::ffi::CStr;
use std::marker::PhantomData;

use llvm_sys::core::*;
use llvm_sys::debuginfo::{LLVMGetSubprogram, LLVMInstructionGetDebugLoc};
use llvm_sys::prelude::*;
pub(crate) use llvm_sys::{
    LLVMAtomicRMWBinOp as AtomicOp, LLVMIntPredicate as Predicate, LLVMLinkage as Linkage, LLVMOpcode as Opcode,
    LLVMValueKind as ValueKind,
};
use llvm_sys::{LLVMAttributeFunctionIndex, LLVMAttributeReturnIndex, LLVMThreadLocalMode};
use smallvec::SmallVec;

use super::metadata::{Metadata, MetadataKind};
use super::module::Module;
use super::text;
use super::types::Ty;

#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) struct Value<'m>(LLVMValueRef, PhantomData<&'m Module>);

#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) struct BlockRef<'m>(LLVMBasicBlockRef, PhantomData<&'m Module>);

/// Where an attribute stands.
#[derive(Clone, Copy)]
pub(crate) enum AttributeSite {
    Function,
    Return,
    Param(u32),
}

/// The numbers of the attributes we read, looked up once.
pub(crate) struct AttributeKinds([u32; Attribute::ALL.len()]);

#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Attribute {
    NoReturn,
    NoUnwind,
    NoAlias,
    NonNull,
    NoCapture,
    ReadOnly,
    ReadNone,
    Returned,
    ByVal,
    StructRet,
    Memory,
    AllocSize,
}

impl Attribute {
    const ALL: [(Attribute, &'static str); 12] = [
        (Attribute::NoReturn, "noreturn"),
        (Attribute::NoUnwind, "nounwind"),
        (Attribute::NoAlias, "noalias"),
        (Attribute::NonNull, "nonnull"),
        (Attribute::NoCapture, "nocapture"),
        (Attribute::ReadOnly, "readonly"),
        (Attribute::ReadNone, "readnone"),
        (Attribute::Returned, "returned"),
        (Attribute::ByVal, "byval"),
        (Attribute::StructRet, "sret"),
        (Attribute::Memory, "memory"),
        (Attribute::AllocSize, "allocsize"),
    ];
}

impl AttributeKinds {
    pub(crate) fn new() -> Self {
        Self(Attribute::ALL.map(|(_, name)| {
            // SAFETY: the name is given with its length.
            unsafe { LLVMGetEnumAttributeKindForName(name.as_ptr().cast(), name.len()) }
        }))
    }

    fn number(&self, attribute: Attribute) -> u32 {
        self.0[attribute as usize]
    }
}

impl AttributeSite {
    fn index(self) -> u32 {
        match self {
            AttributeSite::Function => LLVMAttributeFunctionIndex,
            AttributeSite::Return => LLVMAttributeReturnIndex,
            AttributeSite::Param(i) => i + 1,
        }
    }
}

impl<'m> BlockRef<'m> {
    pub(crate) fn instructions(self) -> impl Iterator<Item = Value<'m>> {
        // SAFETY: the block is alive and not changed.
        let first = Value::from_raw(unsafe { LLVMGetFirstInstruction(self.0) });
        // SAFETY: as above.
        std::iter::successors(first, |v| Value::from_raw(unsafe { LLVMGetNextInstruction(v.0) }))
    }
}

#[expect(
    clippy::undocumented_unsafe_blocks,
    reason = "one argument for all: the value is alive as long as the module it borrows, and each accessor is only called \
              on the kind of value it is for, which valid IR and the caller's match on kind or opcode guarantee"
)]
impl<'m> Value<'m> {
    pub(super) fn from_raw(raw: LLVMValueRef) -> Option<Self> {
        (!raw.is_null()).then_some(Self(raw, PhantomData))
    }

    pub(super) fn raw(self) -> LLVMValueRef {
        self.0
    }

    fn expect(raw: LLVMValueRef) -> Self {
        Self::from_raw(raw).expect("valid IR has this operand")
    }

    pub(crate) fn kind(self) -> ValueKind {
        unsafe { LLVMGetValueKind(self.0) }
    }

    pub(crate) fn ty(self) -> Ty<'m> {
        Ty::from_raw(unsafe { LLVMTypeOf(self.0) })
    }

    pub(crate) fn name(self) -> String {
        let mut length = 0;
        unsafe {
            let data = LLVMGetValueName2(self.0, &mut length);
            text(data, length)
        }
    }

    pub(crate) fn is_used(self) -> bool {
        unsafe { !LLVMGetFirstUse(self.0).is_null() }
    }

    /// The instructions and constants that have this value for an operand.
    pub(crate) fn users(self) -> impl Iterator<Item = Value<'m>> {
        let some = |raw: LLVMUseRef| (!raw.is_null()).then_some(raw);
        let first = some(unsafe { LLVMGetFirstUse(self.0) });
        let uses = std::iter::successors(first, move |raw| some(unsafe { LLVMGetNextUse(*raw) }));
        uses.filter_map(|raw| Self::from_raw(unsafe { LLVMGetUser(raw) }))
    }

    pub(crate) fn operand_count(self) -> u32 {
        unsafe { LLVMGetNumOperands(self.0) as u32 }
    }

    pub(crate) fn operand(self, index: u32) -> Value<'m> {
        Self::expect(unsafe { LLVMGetOperand(self.0, index) })
    }

    pub(crate) fn operands(self) -> impl Iterator<Item = Value<'m>> {
        (0..self.operand_count()).filter_map(move |i| Self::from_raw(unsafe { LLVMGetOperand(self.0, i) }))
    }

    // Functions and globals.

    pub(crate) fn is_declaration(self) -> bool {
        unsafe { LLVMIsDeclaration(self.0) != 0 }
    }

    pub(crate) fn linkage(self) -> Linkage {
        unsafe { LLVMGetLinkage(self.0) }
    }

    /// The type of a function, or of the contents of a global.
    pub(crate) fn value_type(self) -> Ty<'m> {
        Ty::from_raw(unsafe { LLVMGlobalGetValueType(self.0) })
    }

    pub(crate) fn intrinsic_id(self) -> u32 {
        unsafe { LLVMGetIntrinsicID(self.0) }
    }

    pub(crate) fn params(self) -> Vec<Value<'m>> {
        unsafe { (0..LLVMCountParams(self.0)).map(|i| Self::expect(LLVMGetParam(self.0, i))).collect() }
    }

    pub(crate) fn blocks(self) -> Vec<BlockRef<'m>> {
        unsafe {
            let mut raw = vec![std::ptr::null_mut(); LLVMCountBasicBlocks(self.0) as usize];
            LLVMGetBasicBlocks(self.0, raw.as_mut_ptr());
            raw.into_iter().map(|b| BlockRef(b, PhantomData)).collect()
        }
    }

    /// The `!dbg` metadata of a function. LLVM's verifier does not ask what a declaration has there.
    pub(crate) fn subprogram(self) -> Option<Metadata<'m>> {
        Metadata::from_raw(unsafe { LLVMGetSubprogram(self.0) }).filter(|node| node.kind() == MetadataKind::Subprogram)
    }

    pub(crate) fn attribute(self, site: AttributeSite, attribute: Attribute, kinds: &AttributeKinds) -> Option<u64> {
        unsafe {
            let found = LLVMGetEnumAttributeAtIndex(self.0, site.index(), kinds.number(attribute));
            attribute_value(found, attribute)
        }
    }

    pub(crate) fn call_attribute(
        self,
        site: AttributeSite,
        attribute: Attribute,
        kinds: &AttributeKinds,
    ) -> Option<u64> {
        unsafe {
            let found = LLVMGetCallSiteEnumAttribute(self.0, site.index(), kinds.number(attribute));
            attribute_value(found, attribute)
        }
    }

    /// The initial contents of a global variable; None for any other value.
    pub(crate) fn global_initialiser(self) -> Option<Value<'m>> {
        if self.kind() != ValueKind::LLVMGlobalVariableValueKind {
            return None;
        }
        Self::from_raw(unsafe { LLVMGetInitializer(self.0) })
    }

    pub(crate) fn is_global_constant(self) -> bool {
        unsafe { LLVMIsGlobalConstant(self.0) != 0 }
    }

    pub(crate) fn is_thread_local(self) -> bool {
        unsafe { LLVMGetThreadLocalMode(self.0) != LLVMThreadLocalMode::LLVMNotThreadLocal }
    }

    pub(crate) fn section(self) -> String {
        unsafe {
            let section = LLVMGetSection(self.0);
            if section.is_null() { String::new() } else { CStr::from_ptr(section).to_string_lossy().into_owned() }
        }
    }

    pub(crate) fn aliasee(self) -> Value<'m> {
        Self::expect(unsafe { LLVMAliasGetAliasee(self.0) })
    }

    /// The `!dbg` metadata of a global variable.
    pub(crate) fn global_debug_info(self) -> Option<Metadata<'m>> {
        const DBG_KIND: u32 = 0; // fixed by LLVM: MD_dbg
        unsafe {
            let mut count = 0;
            let entries = LLVMGlobalCopyAllMetadata(self.0, &mut count);
            let found = (0..count as u32)
                .find(|&i| LLVMValueMetadataEntriesGetKind(entries, i) == DBG_KIND)
                .and_then(|i| Metadata::from_raw(LLVMValueMetadataEntriesGetMetadata(entries, i)));
            LLVMDisposeValueMetadataEntries(entries);
            found
        }
    }

    // Constants.

    pub(crate) fn int_value(self) -> u64 {
        unsafe { LLVMConstIntGetZExtValue(self.0) }
    }

    pub(crate) fn int_value_signed(self) -> i64 {
        unsafe { LLVMConstIntGetSExtValue(self.0) }
    }

    pub(crate) fn float_value(self) -> f64 {
        let mut inexact = 0;
        unsafe { LLVMConstRealGetDouble(self.0, &mut inexact) }
    }

    pub(crate) fn const_opcode(self) -> Opcode {
        unsafe { LLVMGetConstOpcode(self.0) }
    }

    pub(crate) fn is_null(self) -> bool {
        unsafe { LLVMIsNull(self.0) != 0 }
    }

    /// An element of a constant struct, array or vector.
    pub(crate) fn element(self, index: u32) -> Option<Value<'m>> {
        Self::from_raw(unsafe { LLVMGetAggregateElement(self.0, index) })
    }

    /// The bytes of a constant array of i8, if it is one.
    pub(crate) fn string_bytes(self) -> Option<&'m [u8]> {
        unsafe {
            if LLVMIsConstantString(self.0) == 0 {
                return None;
            }
            let mut length = 0;
            let data = LLVMGetAsString(self.0, &mut length);
            Some(std::slice::from_raw_parts(data.cast(), length))
        }
    }

    // Instructions.

    pub(crate) fn opcode(self) -> Opcode {
        unsafe { LLVMGetInstructionOpcode(self.0) }
    }

    pub(crate) fn debug_location(self) -> Option<Metadata<'m>> {
        let location = Metadata::from_raw(unsafe { LLVMInstructionGetDebugLoc(self.0) });
        location.filter(|node| node.kind() == MetadataKind::Location)
    }

    pub(crate) fn allocated_type(self) -> Ty<'m> {
        Ty::from_raw(unsafe { LLVMGetAllocatedType(self.0) })
    }

    pub(crate) fn is_volatile(self) -> bool {
        unsafe { LLVMGetVolatile(self.0) != 0 }
    }

    pub(crate) fn gep_source_type(self) -> Ty<'m> {
        Ty::from_raw(unsafe { LLVMGetGEPSourceElementType(self.0) })
    }

    pub(crate) fn no_signed_wrap(self) -> bool {
        unsafe { LLVMGetNSW(self.0) != 0 }
    }

    pub(crate) fn no_unsigned_wrap(self) -> bool {
        unsafe { LLVMGetNUW(self.0) != 0 }
    }

    pub(crate) fn predicate(self) -> Predicate {
        unsafe { LLVMGetICmpPredicate(self.0) }
    }

    pub(crate) fn aggregate_indices(self) -> &'m [u32] {
        unsafe { std::slice::from_raw_parts(LLVMGetIndices(self.0), LLVMGetNumIndices(self.0) as usize) }
    }

    pub(crate) fn atomic_op(self) -> AtomicOp {
        unsafe { LLVMGetAtomicRMWBinOp(self.0) }
    }

    pub(crate) fn called_value(self) -> Value<'m> {
        Self::expect(unsafe { LLVMGetCalledValue(self.0) })
    }

    pub(crate) fn called_type(self) -> Ty<'m> {
        Ty::from_raw(unsafe { LLVMGetCalledFunctionType(self.0) })
    }

    pub(crate) fn args(self) -> impl Iterator<Item = Value<'m>> {
        let count = unsafe { LLVMGetNumArgOperands(self.0) };
        (0..count).map(move |i| self.operand(i))
    }

    pub(crate) fn assembly_text(self) -> String {
        let mut length = 0;
        unsafe {
            let data = LLVMGetInlineAsmAsmString(self.0, &mut length);
            text(data, length)
        }
    }

    pub(crate) fn successors(self) -> SmallVec<[BlockRef<'m>; 2]> {
        unsafe {
            (0..LLVMGetNumSuccessors(self.0)).map(|i| BlockRef(LLVMGetSuccessor(self.0, i), PhantomData)).collect()
        }
    }

    pub(crate) fn is_conditional(self) -> bool {
        unsafe { LLVMIsConditional(self.0) != 0 }
    }

    pub(crate) fn phi_incoming(self) -> impl Iterator<Item = (BlockRef<'m>, Value<'m>)> {
        let count = unsafe { LLVMCountIncoming(self.0) };
        (0..count).map(move |i| unsafe {
            (BlockRef(LLVMGetIncomingBlock(self.0, i), PhantomData), Self::expect(LLVMGetIncomingValue(self.0, i)))
        })
    }

    /// The local variable behind an operand of a debug intrinsic.
    pub(crate) fn as_local_variable(self) -> Option<Metadata<'m>> {
        self.as_metadata().filter(|node| node.kind() == MetadataKind::LocalVariable)
    }

    fn as_metadata(self) -> Option<Metadata<'m>> {
        if self.kind() != ValueKind::LLVMMetadataAsValueValueKind {
            return None;
        }
        Metadata::from_raw(unsafe { LLVMValueAsMetadata(self.0) })
    }

    /// The one value wrapped by the metadata operand of a debug intrinsic (`metadata ptr %x`). A list of values
    /// (`!DIArgList`) is none.
    pub(crate) fn wrapped_value(self) -> Option<Value<'m>> {
        if !self.as_metadata()?.is_wrapped_value() {
            return None;
        }
        unsafe {
            let mut value = std::ptr::null_mut();
            LLVMGetMDNodeOperands(self.0, &mut value);
            Self::from_raw(value)
        }
    }

    pub(crate) fn intrinsic_name(id: u32) -> String {
        let mut length = 0;
        unsafe {
            let data = LLVMIntrinsicGetName(id, &mut length);
            text(data, length)
        }
    }
}

/// # Safety
/// `found` is null or an attribute of a living value.
unsafe fn attribute_value(found: LLVMAttributeRef, attribute: Attribute) -> Option<u64> {
    if found.is_null() {
        return None;
    }
    match attribute {
        // Type attributes have no number.
        Attribute::ByVal | Attribute::StructRet => Some(0),
        // SAFETY: an enum attribute, as the caller promises, and not null.
        _ => Some(unsafe { LLVMGetEnumAttributeValue(found) }),
    }
}

impl std::fmt::Debug for Value<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        // SAFETY: LLVM prints into a message of its own, disposed of here.
        unsafe {
            let printed = LLVMPrintValueToString(self.0);
            let result = f.write_str(&CStr::from_ptr(printed).to_string_lossy());
            LLVMDisposeMessage(printed);
            result
        }
    }
}
