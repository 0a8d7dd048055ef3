//! A module in a context of its own, both given back when dropped.

use std::cell::RefCell;
use std::ffi::{CStr, CString, c_char, c_void};
use std::path::Path;
use std::ptr;
use std::sync::Once;

use llvm_sys::bit_reader::LLVMParseBitcodeInContext2;
use llvm_sys::core::*;
use llvm_sys::error::{LLVMDisposeErrorMessage, LLVMGetErrorMessage};
use llvm_sys::prelude::*;
use llvm_sys::support::LLVMParseCommandLineOptions;
use llvm_sys::target::{LLVMGetModuleDataLayout, LLVMPointerSize, LLVMTargetDataRef};
use llvm_sys::transforms::pass_builder::*;
use rustc_hash::FxHashMap;

use super::value::Value;
use crate::error::UnitError;

pub(crate) struct Module {
    context: LLVMContextRef,
    module: LLVMModuleRef,
    /// Which structures have a known layout, as far as it was asked: structures share parts, and each is looked at once.
    layouts: RefCell<FxHashMap<LLVMTypeRef, bool>>,
}

/// LLVM would print and exit on an error; a unit we cannot read is reported like any other.
extern "C" fn ignore_diagnostic(_: LLVMDiagnosticInfoRef, _: *mut c_void) {}

/// LLVM's reader verifies the whole module just to know whether to drop its debug info, a quarter of all reading, and
/// ends the process if the module is broken. What we read was written, and checked if it came from elsewhere, by the
/// clang of the same version.
const READER_OPTIONS: [&CStr; 2] = [c"caulk", c"-disable-auto-upgrade-debug-info"];

fn set_reader_options() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        let arguments = READER_OPTIONS.map(CStr::as_ptr);
        // SAFETY: C strings that live for ever, as many as told; options are set before any module is read.
        unsafe { LLVMParseCommandLineOptions(arguments.len() as i32, arguments.as_ptr(), ptr::null()) }
    });
}

impl Module {
    pub(crate) fn read(path: &Path) -> Result<Self, UnitError> {
        set_reader_options();
        let shown = || path.display().to_string();
        let c_path = CString::new(path.as_os_str().as_encoded_bytes())
            .map_err(|e| UnitError::Open { path: shown(), message: e.to_string() })?;
        // SAFETY: every pointer passed is valid for the call; the buffer is disposed of on both paths out, the context
        // by `Drop` of the value that owns it.
        unsafe {
            let mut buffer = ptr::null_mut();
            let mut message: *mut c_char = ptr::null_mut();
            if LLVMCreateMemoryBufferWithContentsOfFile(c_path.as_ptr(), &mut buffer, &mut message) != 0 {
                let text = CStr::from_ptr(message).to_string_lossy().into_owned();
                LLVMDisposeMessage(message);
                return Err(UnitError::Open { path: shown(), message: text });
            }
            let mut this =
                Module { context: LLVMContextCreate(), module: ptr::null_mut(), layouts: RefCell::default() };
            LLVMContextSetDiagnosticHandler(this.context, Some(ignore_diagnostic), ptr::null_mut());
            let failed = LLVMParseBitcodeInContext2(this.context, buffer, &mut this.module) != 0;
            LLVMDisposeMemoryBuffer(buffer);
            if failed {
                this.module = ptr::null_mut();
                return Err(UnitError::Parse { path: shown() });
            }
            this.run_passes(c"inferattrs").map_err(|message| UnitError::Passes { path: shown(), message })?;
            // Debug records have no getters in this C API; the older calls have. Not before the passes: they would
            // turn all of them into records and back.
            LLVMSetIsNewDbgInfoFormat(this.module, 0);
            Ok(this)
        }
    }

    fn run_passes(&mut self, passes: &CStr) -> Result<(), String> {
        // SAFETY: the module is alive; options and error are disposed of here.
        unsafe {
            let options = LLVMCreatePassBuilderOptions();
            let error = LLVMRunPasses(self.module, passes.as_ptr(), ptr::null_mut(), options);
            LLVMDisposePassBuilderOptions(options);
            if error.is_null() {
                return Ok(());
            }
            let message = LLVMGetErrorMessage(error);
            let text = CStr::from_ptr(message).to_string_lossy().into_owned();
            LLVMDisposeErrorMessage(message);
            Err(text)
        }
    }

    pub(super) fn context(&self) -> LLVMContextRef {
        self.context
    }

    pub(super) fn data_layout(&self) -> LLVMTargetDataRef {
        // SAFETY: the module is alive.
        unsafe { LLVMGetModuleDataLayout(self.module) }
    }

    pub(super) fn known_layout(&self, ty: LLVMTypeRef) -> Option<bool> {
        self.layouts.borrow().get(&ty).copied()
    }

    pub(super) fn note_layout(&self, ty: LLVMTypeRef, is_known: bool) {
        self.layouts.borrow_mut().insert(ty, is_known);
    }

    pub(crate) fn pointer_bytes(&self) -> u32 {
        // SAFETY: the layout belongs to the module.
        unsafe { LLVMPointerSize(self.data_layout()) }
    }

    pub(crate) fn functions(&self) -> impl Iterator<Item = Value<'_>> {
        // SAFETY: the list is not changed while the module is borrowed.
        unsafe { values(LLVMGetFirstFunction(self.module), |v| LLVMGetNextFunction(v)) }
    }

    pub(crate) fn globals(&self) -> impl Iterator<Item = Value<'_>> {
        // SAFETY: as for functions.
        unsafe { values(LLVMGetFirstGlobal(self.module), |v| LLVMGetNextGlobal(v)) }
    }

    pub(crate) fn aliases(&self) -> impl Iterator<Item = Value<'_>> {
        // SAFETY: as for functions.
        unsafe { values(LLVMGetFirstGlobalAlias(self.module), |v| LLVMGetNextGlobalAlias(v)) }
    }

    pub(crate) fn named_global(&self, name: &CStr) -> Option<Value<'_>> {
        // SAFETY: the name is a C string, the module alive.
        Value::from_raw(unsafe { LLVMGetNamedGlobal(self.module, name.as_ptr()) })
    }
}

fn values<'m>(first: LLVMValueRef, next: impl Fn(LLVMValueRef) -> LLVMValueRef) -> impl Iterator<Item = Value<'m>> {
    std::iter::successors(Value::from_raw(first), move |v| Value::from_raw(next(v.raw())))
}

impl Drop for Module {
    fn drop(&mut self) {
        // SAFETY: both were made by us and are disposed of once, the module before its context.
        unsafe {
            if !self.module.is_null() {
                LLVMDisposeModule(self.module);
            }
            LLVMContextDispose(self.context);
        }
    }
}
