//! Machine arithmetic on constants of 1 to 64 bits.

use crate::node::{BinaryOp, Comparison, NoWrap};

/// All ones of a width.
#[inline]
pub const fn mask(width: u8) -> u64 {
    if width >= 64 { u64::MAX } else { (1u64 << width) - 1 }
}

/// The value read as signed.
#[inline]
pub const fn signed(value: u64, width: u8) -> i64 {
    let shift = 64 - width as u32;
    ((value << shift) as i64) >> shift
}

/// The smallest signed value, as bits.
#[inline]
pub const fn signed_min(width: u8) -> u64 {
    1u64 << (width - 1)
}

/// The largest signed value, as bits.
#[inline]
pub const fn signed_max(width: u8) -> u64 {
    signed_min(width) - 1
}

/// The result, or nothing where LLVM gives none: a wrap that was ruled out, a zero divisor, a shift too far.
pub fn binary(op: BinaryOp, no_wrap: NoWrap, a: u64, b: u64, width: u8) -> Option<u64> {
    let m = mask(width);
    let (sa, sb) = (signed(a, width) as i128, signed(b, width) as i128);
    let (ua, ub) = (a as u128, b as u128);
    let arithmetic = |s: i128, u: Option<u128>| {
        let bits = (s as u64) & m;
        let signed_wrap = signed(bits, width) as i128 != s;
        let unsigned_wrap = u != Some(bits as u128);
        let broken = (no_wrap.signed && signed_wrap) || (no_wrap.unsigned && unsigned_wrap);
        (!broken).then_some(bits)
    };
    match op {
        BinaryOp::Add => arithmetic(sa + sb, Some(ua + ub)),
        BinaryOp::Sub => arithmetic(sa - sb, ua.checked_sub(ub)),
        BinaryOp::Mul => arithmetic(sa * sb, Some(ua * ub)),
        BinaryOp::UDiv => (b != 0).then(|| a / b),
        BinaryOp::URem => (b != 0).then(|| a % b),
        BinaryOp::SDiv | BinaryOp::SRem => {
            if b == 0 || (width > 1 && a == signed_min(width) && b == m) {
                return None;
            }
            Some((if op == BinaryOp::SDiv { sa / sb } else { sa % sb }) as u64 & m)
        }
        BinaryOp::Shl | BinaryOp::LShr | BinaryOp::AShr if b >= width as u64 => None,
        BinaryOp::Shl => Some((a << b) & m),
        BinaryOp::LShr => Some(a >> b),
        BinaryOp::AShr => Some((signed(a, width) >> b) as u64 & m),
        BinaryOp::And => Some(a & b),
        BinaryOp::Or => Some(a | b),
        BinaryOp::Xor => Some(a ^ b),
    }
}

pub fn compare(op: Comparison, a: u64, b: u64, width: u8) -> bool {
    match op {
        Comparison::Eq => a == b,
        Comparison::Ult => a < b,
        Comparison::Slt => signed(a, width) < signed(b, width),
    }
}

/// The inverse of an odd number modulo a power of two (Newton's iteration doubles the correct bits).
pub fn odd_inverse(value: u64, width: u8) -> u64 {
    let mut inverse = value;
    for _ in 0..6 {
        inverse = inverse.wrapping_mul(2u64.wrapping_sub(value.wrapping_mul(inverse)));
    }
    inverse & mask(width)
}
