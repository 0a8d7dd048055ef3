//! The words of the text form. The printer and the parser share these tables, so a word cannot be printed and not read.

use std::fmt;

use crate::inst::{BinaryOp, CallFlags, CastOp, CompareOp, UnknownReason};
use crate::types::{StructKind, Type};
use crate::unit::{FunctionFlags, Linkage, ParamFlags};

/// One word for each variant of an enum.
pub(super) type Words<T> = [(&'static str, T)];

pub(super) fn word<T: Copy + PartialEq>(words: &Words<T>, value: T) -> &'static str {
    words.iter().find(|w| w.1 == value).map_or("?", |w| w.0)
}

pub(super) fn meaning<T: Copy>(words: &Words<T>, word: &str) -> Option<T> {
    words.iter().find(|w| w.0 == word).map(|w| w.1)
}

pub(super) const LINKAGES: &Words<Linkage> = &[
    ("external", Linkage::External),
    ("internal", Linkage::Internal),
    ("weak", Linkage::Weak),
    ("link_once", Linkage::LinkOnce),
    ("common", Linkage::Common),
    ("available_externally", Linkage::AvailableExternally),
];

pub(super) const STRUCT_KINDS: &Words<StructKind> =
    &[("struct", StructKind::Struct), ("union", StructKind::Union), ("class", StructKind::Class)];

pub(super) const BINARY_OPS: &Words<BinaryOp> = &[
    ("add", BinaryOp::Add),
    ("sub", BinaryOp::Sub),
    ("mul", BinaryOp::Mul),
    ("udiv", BinaryOp::UDiv),
    ("sdiv", BinaryOp::SDiv),
    ("urem", BinaryOp::URem),
    ("srem", BinaryOp::SRem),
    ("shl", BinaryOp::Shl),
    ("lshr", BinaryOp::LShr),
    ("ashr", BinaryOp::AShr),
    ("and", BinaryOp::And),
    ("or", BinaryOp::Or),
    ("xor", BinaryOp::Xor),
    ("float_op", BinaryOp::Float),
];

pub(super) const COMPARE_OPS: &Words<CompareOp> = &[
    ("eq", CompareOp::Eq),
    ("ne", CompareOp::Ne),
    ("ult", CompareOp::ULt),
    ("ule", CompareOp::ULe),
    ("ugt", CompareOp::UGt),
    ("uge", CompareOp::UGe),
    ("slt", CompareOp::SLt),
    ("sle", CompareOp::SLe),
    ("sgt", CompareOp::SGt),
    ("sge", CompareOp::SGe),
    ("float_compare", CompareOp::Float),
];

pub(super) const CAST_OPS: &Words<CastOp> = &[
    ("trunc", CastOp::Truncate),
    ("zext", CastOp::ZeroExtend),
    ("sext", CastOp::SignExtend),
    ("ptr_to_int", CastOp::PtrToInt),
    ("int_to_ptr", CastOp::IntToPtr),
    ("bits", CastOp::Bits),
    ("float_cast", CastOp::Float),
];

pub(super) const UNKNOWN_REASONS: &Words<UnknownReason> = &[
    ("vector", UnknownReason::Vector),
    ("var_arg", UnknownReason::VarArg),
    ("intrinsic", UnknownReason::Intrinsic),
    ("overflow", UnknownReason::Overflow),
    ("exception", UnknownReason::Exception),
    ("undefined", UnknownReason::Undefined),
    ("instruction", UnknownReason::Instruction),
];

/// A fact that is said by a word or not at all.
pub(super) struct Flag<T> {
    pub word: &'static str,
    pub get: fn(&T) -> bool,
    pub set: fn(&mut T),
}

macro_rules! flags {
    ($($field:ident),*) => {
        &[$(Flag { word: stringify!($field), get: |f| f.$field, set: |f| f.$field = true }),*]
    };
}

pub(super) const PARAM_FLAGS: &[Flag<ParamFlags>] =
    flags![no_capture, read_only, nonnull, returned, by_value, struct_return];

pub(super) const FUNCTION_FLAGS: &[Flag<FunctionFlags>] =
    flags![no_return, no_unwind, fresh_result, nonnull_result, read_only, no_memory, runs_at_start, runs_at_end];

pub(super) const CALL_FLAGS: &[Flag<CallFlags>] =
    flags![no_return, no_unwind, fresh_result, nonnull_result, read_only, no_memory];

/// The words of the flags that are set, each after a space.
pub(super) fn flag_words<T>(flags: &[Flag<T>], value: &T) -> String {
    flags.iter().filter(|f| (f.get)(value)).map(|f| format!(" {}", f.word)).collect()
}

impl fmt::Display for Type {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Type::Void => f.write_str("void"),
            Type::Int(bits) => write!(f, "i{bits}"),
            Type::Float(bits) => write!(f, "f{bits}"),
            Type::Ptr => f.write_str("ptr"),
            Type::Vector(bytes) => write!(f, "vec{bytes}"),
            Type::Aggregate(bytes) => write!(f, "agg{bytes}"),
        }
    }
}

pub(super) fn type_of_word(word: &str) -> Option<Type> {
    let number = |prefix: &str| {
        let digits = word.strip_prefix(prefix)?;
        let plain = digits.bytes().all(|b| b.is_ascii_digit()) && (digits == "0" || !digits.starts_with('0'));
        if plain { digits.parse::<u32>().ok() } else { None }
    };
    let bits = |prefix: &str| number(prefix).and_then(|n| u16::try_from(n).ok());
    match word {
        "void" => Some(Type::Void),
        "ptr" => Some(Type::Ptr),
        _ => (bits("i").map(Type::Int))
            .or_else(|| bits("f").map(Type::Float))
            .or_else(|| number("vec").map(Type::Vector))
            .or_else(|| number("agg").map(Type::Aggregate)),
    }
}
