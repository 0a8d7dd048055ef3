//! What is known of one value: an interval in either order, and single bits.

use crate::bits::{mask, signed, signed_max, signed_min};
use crate::node::{BinaryOp, NoWrap};

/// A set of values of one width that contains the true one. All parts hold at once.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Known {
    pub width: u8,
    pub low: u64,
    pub high: u64,
    pub signed_low: i64,
    pub signed_high: i64,
    /// Bits that are surely zero.
    pub zeros: u64,
    /// Bits that are surely one.
    pub ones: u64,
}

impl Known {
    pub fn anything(width: u8) -> Known {
        Known {
            width,
            low: 0,
            high: mask(width),
            signed_low: signed(signed_min(width), width),
            signed_high: signed_max(width) as i64,
            zeros: 0,
            ones: 0,
        }
    }

    pub fn exactly(width: u8, value: u64) -> Known {
        let value = value & mask(width);
        let s = signed(value, width);
        Known {
            width,
            low: value,
            high: value,
            signed_low: s,
            signed_high: s,
            zeros: !value & mask(width),
            ones: value,
        }
    }

    pub fn between(width: u8, low: u64, high: u64) -> Known {
        Known { low, high, ..Known::anything(width) }.settled()
    }

    pub fn between_signed(width: u8, low: i64, high: i64) -> Known {
        Known { signed_low: low, signed_high: high, ..Known::anything(width) }.settled()
    }

    pub fn with_bits(width: u8, zeros: u64, ones: u64) -> Known {
        Known { zeros: zeros & mask(width), ones: ones & mask(width), ..Known::anything(width) }.settled()
    }

    pub fn is_empty(&self) -> bool {
        self.low > self.high || self.signed_low > self.signed_high || self.zeros & self.ones != 0
    }

    pub fn single(&self) -> Option<u64> {
        (self.low == self.high && !self.is_empty()).then_some(self.low)
    }

    pub fn contains(&self, value: u64) -> bool {
        let s = signed(value, self.width);
        (self.low..=self.high).contains(&value)
            && (self.signed_low..=self.signed_high).contains(&s)
            && value & self.zeros == 0
            && value & self.ones == self.ones
    }

    pub fn meet(&self, other: &Known) -> Known {
        self.meet_raw(other).settled()
    }

    fn meet_raw(&self, other: &Known) -> Known {
        Known {
            width: self.width,
            low: self.low.max(other.low),
            high: self.high.min(other.high),
            signed_low: self.signed_low.max(other.signed_low),
            signed_high: self.signed_high.min(other.signed_high),
            zeros: self.zeros | other.zeros,
            ones: self.ones | other.ones,
        }
    }

    pub fn hull(&self, other: &Known) -> Known {
        if self.is_empty() {
            return *other;
        }
        if other.is_empty() {
            return *self;
        }
        Known {
            width: self.width,
            low: self.low.min(other.low),
            high: self.high.max(other.high),
            signed_low: self.signed_low.min(other.signed_low),
            signed_high: self.signed_high.max(other.signed_high),
            zeros: self.zeros & other.zeros,
            ones: self.ones & other.ones,
        }
    }

    pub fn disjoint(&self, other: &Known) -> bool {
        self.meet(other).is_empty()
    }

    /// Each part sharpened by the others. Twice is enough in practice; it need not be complete.
    fn settled(mut self) -> Known {
        for _ in 0..2 {
            let before = self;
            self.settle_orders();
            self.settle_bits();
            if self == before || self.is_empty() {
                break;
            }
        }
        self
    }

    fn settle_orders(&mut self) {
        let middle = signed_min(self.width);
        // On one side of the sign both orders agree.
        if self.high < middle || self.low >= middle {
            self.signed_low = self.signed_low.max(signed(self.low, self.width));
            self.signed_high = self.signed_high.min(signed(self.high, self.width));
        }
        if self.signed_low >= 0 || self.signed_high < 0 {
            self.low = self.low.max(self.signed_low as u64 & mask(self.width));
            self.high = self.high.min(self.signed_high as u64 & mask(self.width));
        }
    }

    fn settle_bits(&mut self) {
        if self.is_empty() {
            return;
        }
        // The bits both ends share from the top are known.
        let differ = self.low ^ self.high;
        let shared =
            if differ == 0 { mask(self.width) } else { !(u64::MAX >> differ.leading_zeros()) & mask(self.width) };
        self.ones |= self.low & shared;
        self.zeros |= !self.low & shared;
        if self.zeros & self.ones != 0 {
            return;
        }
        let loose = mask(self.width) & !(self.zeros | self.ones);
        if self.zeros | self.ones != shared {
            let m = mask(self.width);
            // Counted from the other end, zeros and ones swap their parts.
            match (next_matching(self.low, self.ones, loose), next_matching(!self.high & m, self.zeros, loose)) {
                (Some(up), Some(down)) => (self.low, self.high) = (up, !down & m),
                _ => (self.low, self.high) = (1, 0),
            }
        }
    }
}

/// The smallest value not below `at_least` that has `ones` set and otherwise only `loose` bits set.
fn next_matching(at_least: u64, ones: u64, loose: u64) -> Option<u64> {
    let allowed = ones | loose;
    if at_least & !allowed == 0 && at_least & ones == ones {
        return Some(at_least);
    }
    // Below the highest offending bit everything is free; either that bit goes up (it was a missing one), or a loose zero
    // above it does.
    let wrong = (at_least & !allowed) | (ones & !at_least);
    let top = 63 - wrong.leading_zeros();
    let below = if top == 63 { u64::MAX } else { (1 << (top + 1)) - 1 };
    if ones >> top & 1 == 1 {
        return Some((at_least & !below) | (ones & below));
    }
    let raise = loose & !at_least & !below;
    if raise == 0 {
        return None;
    }
    let bit = raise & raise.wrapping_neg();
    Some((at_least & !(bit | (bit - 1))) | bit | (ones & (bit - 1)))
}

/// What is known of a result from what is known of its operands.
impl Known {
    pub fn binary(op: BinaryOp, no_wrap: NoWrap, a: &Known, b: &Known) -> Known {
        if let (Some(x), Some(y)) = (a.single(), b.single()) {
            return match crate::bits::binary(op, no_wrap, x, y, a.width) {
                Some(value) => Known::exactly(a.width, value),
                None => Known::anything(a.width),
            };
        }
        match op {
            BinaryOp::Add => a.plus(b, no_wrap),
            BinaryOp::Sub => a.minus(b, no_wrap),
            BinaryOp::Mul => a.times(b, no_wrap),
            BinaryOp::UDiv => Known::between(a.width, a.low / b.high.max(1), a.high / b.low.max(1)),
            BinaryOp::URem if a.high < b.low => *a,
            BinaryOp::URem => Known::between(a.width, 0, a.high.min(b.high.saturating_sub(1))),
            BinaryOp::SDiv => a.signed_quotient(b),
            BinaryOp::SRem => a.signed_remainder(b),
            BinaryOp::Shl => Known::anything(a.width),
            BinaryOp::LShr => a.shifted_right(b),
            BinaryOp::AShr => match b.single() {
                Some(shift) if shift < a.width as u64 => {
                    Known::between_signed(a.width, a.signed_low >> shift, a.signed_high >> shift)
                }
                _ => Known::anything(a.width),
            },
            BinaryOp::And => Known::between(a.width, 0, a.high.min(b.high)).meet(&Known::with_bits(
                a.width,
                a.zeros | b.zeros,
                a.ones & b.ones,
            )),
            BinaryOp::Or => Known::between(a.width, a.low.max(b.low), mask(a.width)).meet(&Known::with_bits(
                a.width,
                a.zeros & b.zeros,
                a.ones | b.ones,
            )),
            BinaryOp::Xor => Known::with_bits(
                a.width,
                (a.zeros & b.zeros) | (a.ones & b.ones),
                (a.zeros & b.ones) | (a.ones & b.zeros),
            ),
        }
    }

    fn plus(&self, b: &Known, no_wrap: NoWrap) -> Known {
        let unsigned = (self.low as i128 + b.low as i128, self.high as i128 + b.high as i128);
        let signed = (self.signed_low as i128 + b.signed_low as i128, self.signed_high as i128 + b.signed_high as i128);
        Known::from_exact(self.width, unsigned, signed, no_wrap).meet(&self.low_zeros(b))
    }

    fn minus(&self, b: &Known, no_wrap: NoWrap) -> Known {
        let unsigned = (self.low as i128 - b.high as i128, self.high as i128 - b.low as i128);
        let signed = (self.signed_low as i128 - b.signed_high as i128, self.signed_high as i128 - b.signed_low as i128);
        Known::from_exact(self.width, unsigned, signed, no_wrap).meet(&self.low_zeros(b))
    }

    fn times(&self, b: &Known, no_wrap: NoWrap) -> Known {
        let unsigned =
            ((self.low as i128).saturating_mul(b.low as i128), (self.high as i128).saturating_mul(b.high as i128));
        let corners = [
            self.signed_low as i128 * b.signed_low as i128,
            self.signed_low as i128 * b.signed_high as i128,
            self.signed_high as i128 * b.signed_low as i128,
            self.signed_high as i128 * b.signed_high as i128,
        ];
        let signed = corners.into_iter().fold((i128::MAX, i128::MIN), |(l, h), c| (l.min(c), h.max(c)));
        let zeros = (self.zeros.trailing_ones() + b.zeros.trailing_ones()).min(self.width as u32);
        Known::from_exact(self.width, unsigned, signed, no_wrap).meet(&Known::with_bits(self.width, low_bits(zeros), 0))
    }

    /// From the exact ends of a sum, difference or product.
    fn from_exact(width: u8, unsigned: (i128, i128), signed: (i128, i128), no_wrap: NoWrap) -> Known {
        let mut known = Known::anything(width);
        if let Some((low, high)) = wrapped(unsigned, 0, mask(width) as i128, no_wrap.unsigned) {
            (known.low, known.high) = (low as u64, high as u64);
        }
        let (smallest, largest) = (known.signed_low as i128, known.signed_high as i128);
        if let Some((low, high)) = wrapped(signed, smallest, largest, no_wrap.signed) {
            (known.signed_low, known.signed_high) = (low as i64, high as i64);
        }
        known.settled()
    }

    /// Low bits that are zero in both operands of a sum or difference.
    fn low_zeros(&self, b: &Known) -> Known {
        Known::with_bits(self.width, low_bits(self.zeros.trailing_ones().min(b.zeros.trailing_ones())), 0)
    }

    fn signed_quotient(&self, b: &Known) -> Known {
        match b.single().map(|value| signed(value, b.width)) {
            Some(divisor) if divisor > 0 => {
                Known::between_signed(self.width, self.signed_low / divisor, self.signed_high / divisor)
            }
            _ => Known::anything(self.width),
        }
    }

    fn signed_remainder(&self, b: &Known) -> Known {
        match b.single().map(|value| signed(value, b.width)) {
            Some(divisor) if divisor != 0 && divisor != i64::MIN => {
                let most = divisor.abs() - 1;
                let low = if self.signed_low >= 0 { 0 } else { (-most).max(self.signed_low) };
                let high = if self.signed_high <= 0 { 0 } else { most.min(self.signed_high) };
                Known::between_signed(self.width, low, high)
            }
            _ => Known::anything(self.width),
        }
    }

    fn shifted_right(&self, b: &Known) -> Known {
        match b.single() {
            Some(shift) if shift < self.width as u64 => {
                let top = mask(self.width) & !(mask(self.width) >> shift);
                Known::between(self.width, self.low >> shift, self.high >> shift).meet(&Known::with_bits(
                    self.width,
                    (self.zeros >> shift) | top,
                    self.ones >> shift,
                ))
            }
            _ => Known::between(self.width, 0, self.high),
        }
    }

    pub fn zext(&self, width: u8) -> Known {
        Known::between(width, self.low, self.high).meet(&Known::with_bits(
            width,
            self.zeros | !mask(self.width),
            self.ones,
        ))
    }

    pub fn sext(&self, width: u8) -> Known {
        let sign = signed_min(self.width);
        let high = !mask(self.width);
        let zeros = self.zeros | if self.zeros & sign != 0 { high } else { 0 };
        let ones = self.ones | if self.ones & sign != 0 { high } else { 0 };
        Known::between_signed(width, self.signed_low, self.signed_high).meet(&Known::with_bits(width, zeros, ones))
    }

    pub fn trunc(&self, width: u8) -> Known {
        let mut known = Known::with_bits(width, self.zeros, self.ones);
        if self.high <= mask(width) {
            known = known.meet(&Known::between(width, self.low, self.high));
        }
        let whole = Known::anything(width);
        if whole.signed_low <= self.signed_low && self.signed_high <= whole.signed_high {
            known = known.meet(&Known::between_signed(width, self.signed_low, self.signed_high));
        }
        known
    }

    /// The values moved by a constant, wrapping.
    pub fn shifted(&self, offset: u64) -> Known {
        if offset == 0 {
            return *self;
        }
        self.plus(&Known::exactly(self.width, offset), NoWrap::NONE)
    }
}

fn low_bits(count: u32) -> u64 {
    if count >= 64 { u64::MAX } else { (1 << count) - 1 }
}

/// Exact ends brought into a range: as they are; cut off where wrapping is ruled out; moved where all wrap the same way.
fn wrapped((low, high): (i128, i128), smallest: i128, largest: i128, no_wrap: bool) -> Option<(i128, i128)> {
    let period = largest - smallest + 1;
    if smallest <= low && high <= largest {
        return Some((low, high));
    }
    if no_wrap {
        let outside = low > largest || high < smallest;
        // No value at all, which an empty set says.
        return Some(if outside { (largest, smallest) } else { (low.max(smallest), high.min(largest)) });
    }
    if low > largest && high <= largest + period {
        return Some((low - period, high - period));
    }
    if high < smallest && low >= smallest - period {
        return Some((low + period, high + period));
    }
    None
}
