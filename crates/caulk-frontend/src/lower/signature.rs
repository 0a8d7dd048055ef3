//! Functions as the caller sees them: types, attributes, and what the prototype in the source says.

use caulk_ir::demangle::demangled;
use caulk_ir::{Function, FunctionFlags, Param, ParamFlags, Pointee, Signature, Type};

use super::unit::{Lowering, linkage};
use crate::llvm::{Attribute, AttributeSite, Metadata, MetadataKind, Value};
use crate::ssa::struct_results::has_opaque_result;

impl<'m> Lowering<'m> {
    pub(crate) fn declare_function(&mut self, value: Value<'m>) -> Function {
        let ty = value.value_type();
        let signature = Signature {
            params: ty.function_params().into_iter().map(|p| self.lower_type(p)).collect(),
            ret: self.lower_type(ty.function_return()),
            variadic: ty.is_variadic(),
        };
        let params = (0..signature.params.len() as u32)
            .map(|i| Param { name: None, flags: self.param_flags(value, i), pointee: Pointee::default() })
            .collect();
        let symbol_text = value.name();
        let symbol = self.symbol(&symbol_text, self.unit.functions.len());
        let mut function = Function {
            symbol,
            name: demangled(&symbol_text).map(|n| self.intern(&n)),
            linkage: linkage(value),
            signature,
            params,
            ret_pointee: Pointee::default(),
            flags: self.function_flags(value),
            annotations: Vec::new(),
            file: None,
            line: 0,
            body: None,
            is_definition: !value.is_declaration(),
        };
        if let Some(subprogram) = value.subprogram() {
            self.describe_function(subprogram, &mut function);
        }
        if has_opaque_result(function.signature.ret, function.signature.variadic) {
            self.hide_result(&mut function);
        }
        function
    }

    /// A structure result is written through a last parameter, whether it is large or fits into registers.
    fn hide_result(&mut self, function: &mut Function) {
        function.signature.ret = Type::Void;
        function.signature.params.push(Type::Ptr);
        let flags = ParamFlags { no_capture: true, nonnull: true, struct_return: true, ..ParamFlags::default() };
        let ret = std::mem::take(&mut function.ret_pointee);
        let pointee = Pointee { depth: ret.depth + 1, ..ret };
        function.params.push(Param { name: Some(self.intern("result")), flags, pointee });
        function.flags.read_only = false;
        function.flags.no_memory = false;
    }

    fn describe_function(&mut self, subprogram: Metadata<'m>, function: &mut Function) {
        // DISubprogram: file, scope, name, linkage name, type, compile unit.
        let operands = subprogram.operands(self.module);
        if function.name.is_none() {
            function.name = operands.string(2).map(|n| self.intern(&n));
        }
        function.file = operands.node_of(0, MetadataKind::File).map(|f| self.file(f));
        function.line = subprogram.subprogram_line();
        if let Some(compile_unit) = operands.node(5) {
            self.mention_retained_types(compile_unit);
        }
        // DISubroutineType: operand 3 lists the result and then the parameters.
        let Some(types) = operands.node(4).and_then(|t| t.operands(self.module).node(3)) else { return };
        let types = types.operands(self.module);
        if let Some(ret) = types.node(0) {
            function.ret_pointee = self.pointee(ret);
        }
        let hidden = function.params.iter().take_while(|p| p.flags.struct_return).count();
        let declared = types.len().saturating_sub(1);
        let fixed = if function.signature.variadic { function.params.len() - hidden } else { declared };
        // A structure passed in two registers makes two parameters of one; then the lists cannot be matched.
        if fixed != function.params.len() - hidden {
            return;
        }
        for (index, param) in function.params.iter_mut().enumerate().skip(hidden) {
            if let Some(ty) = types.node(index - hidden + 1) {
                param.pointee = self.pointee(ty);
            }
        }
    }

    fn param_flags(&self, value: Value<'m>, index: u32) -> ParamFlags {
        let has = |a| value.attribute(AttributeSite::Param(index), a, &self.attributes).is_some();
        ParamFlags {
            no_capture: has(Attribute::NoCapture),
            read_only: has(Attribute::ReadOnly) || has(Attribute::ReadNone),
            nonnull: has(Attribute::NonNull),
            returned: has(Attribute::Returned),
            by_value: has(Attribute::ByVal),
            struct_return: has(Attribute::StructRet),
        }
    }

    fn function_flags(&self, value: Value<'m>) -> FunctionFlags {
        let of = |site, a| value.attribute(site, a, &self.attributes);
        let memory = of(AttributeSite::Function, Attribute::Memory);
        FunctionFlags {
            no_return: of(AttributeSite::Function, Attribute::NoReturn).is_some(),
            no_unwind: of(AttributeSite::Function, Attribute::NoUnwind).is_some(),
            fresh_result: of(AttributeSite::Return, Attribute::NoAlias).is_some(),
            nonnull_result: of(AttributeSite::Return, Attribute::NonNull).is_some(),
            read_only: memory.is_some_and(|m| !writes(m)),
            no_memory: memory == Some(0),
            // Packed by LLVM: the index of the size in the high half, of the count in the low half.
            alloc_size: of(AttributeSite::Function, Attribute::AllocSize).and_then(|v| u16::try_from(v >> 32).ok()),
            runs_at_start: false,
            runs_at_end: false,
        }
    }
}

/// LLVM's `memory` attribute has two bits for each kind of location: 1 reads, 2 writes.
pub(super) fn writes(memory: u64) -> bool {
    memory & 0xaaaa_aaaa != 0
}

/// Whether a value of this type can hold a pointer.
pub(super) fn may_hold_pointer(ty: Type) -> bool {
    matches!(ty, Type::Ptr | Type::Aggregate(_) | Type::Vector(_) | Type::Int(64..))
}
