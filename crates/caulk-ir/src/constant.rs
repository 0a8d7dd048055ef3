//! Constants that stand as operands and in initialisers.

use serde::{Deserialize, Serialize};

use crate::entity::{FunctionId, GlobalId};
use crate::types::Type;

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Constant {
    /// An integer of at most 64 bits, zero-extended.
    Int { bits: u16, value: u64 },
    /// The null pointer.
    Null,
    /// A pointer made from a number, such as `(void *)-1`.
    Pointer(u64),
    /// The address of a global variable, plus a byte offset.
    Global { global: GlobalId, offset: i64 },
    /// The address of a function.
    Function(FunctionId),
    /// A floating-point number, by its bits as a double.
    Float { bits: u16, value: u64 },
    /// All bytes zero, of an aggregate or vector type.
    Zero(Type),
    /// Undefined or poison.
    Undef(Type),
    /// A constant with no meaning for the analysis (wide integers, vectors, addresses of labels).
    Opaque(Type),
}

impl Constant {
    pub fn int(bits: u16, value: i64) -> Self {
        Constant::Int { bits, value: truncate(value as u64, bits) }
    }

    pub fn ty(self) -> Type {
        match self {
            Constant::Int { bits, .. } => Type::Int(bits),
            Constant::Null | Constant::Pointer(_) | Constant::Global { .. } | Constant::Function(_) => Type::Ptr,
            Constant::Float { bits, .. } => Type::Float(bits),
            Constant::Zero(ty) | Constant::Undef(ty) | Constant::Opaque(ty) => ty,
        }
    }

    /// The value of an integer, sign-extended.
    pub fn as_signed(self) -> Option<i64> {
        match self {
            Constant::Int { bits, value } => Some(sign_extend(value, bits)),
            _ => None,
        }
    }

    /// Null, zero, or all bytes zero.
    pub fn is_zero(self) -> bool {
        matches!(self, Constant::Null | Constant::Pointer(0) | Constant::Int { value: 0, .. } | Constant::Zero(_))
    }
}

/// Keeps the low `bits` bits.
pub fn truncate(value: u64, bits: u16) -> u64 {
    if bits >= 64 { value } else { value & ((1u64 << bits) - 1) }
}

/// Reads the low `bits` bits as a signed number.
pub fn sign_extend(value: u64, bits: u16) -> i64 {
    match bits {
        0 => 0,
        64.. => value as i64,
        _ => ((value << (64 - bits)) as i64) >> (64 - bits),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn integers_keep_their_sign_and_width() {
        assert_eq!(Constant::int(32, -1), Constant::Int { bits: 32, value: 0xffff_ffff });
        assert_eq!(Constant::int(32, -1).as_signed(), Some(-1));
        assert_eq!(Constant::int(1, 1).as_signed(), Some(-1));
        assert_eq!(Constant::int(64, i64::MIN).as_signed(), Some(i64::MIN));
    }
}
