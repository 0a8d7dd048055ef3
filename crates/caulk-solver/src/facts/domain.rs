//! Learning about values: intervals, bits, exclusions, equal terms; and what each says of the operands.

use smallvec::SmallVec;

use super::propagate::{Contradiction, Propagation, Step};
use super::store::Member;
use crate::bits::{mask, signed};
use crate::known::Known;
use crate::node::{BinaryOp, NoWrap, Node, TermId};

impl Propagation<'_> {
    pub(super) fn learn_domain(&mut self, term: TermId, news: &Known) -> Result<(), Contradiction> {
        let before = self.store.known(self.pool, term, self.depth());
        let after = self.without_exclusions(term, before.meet(news));
        if after.is_empty() {
            return Err(Contradiction);
        }
        if after == before || self.pool.as_const(term).is_some() {
            return Ok(());
        }
        self.store.set_domain(term, after);
        self.touch(term);
        self.imply_operands(term, &after);
        let (root, offset) = self.store.root(term);
        if root != term || self.store.classes().iter().any(|member| member.root == term) {
            let members: SmallVec<[Member; 8]> =
                self.store.members(root).filter(|member| member.term != term).collect();
            for member in members {
                let distance = member.offset.wrapping_sub(offset) & mask(after.width);
                self.queue.push(Step::Domain(member.term, after.shifted(distance)));
            }
        }
        Ok(())
    }

    pub(super) fn learn_exclusion(&mut self, term: TermId, value: u64) -> Result<(), Contradiction> {
        let known = self.store.known(self.pool, term, self.depth());
        if !known.contains(value) || self.store.is_excluded(term, value) {
            return Ok(());
        }
        if known.single() == Some(value) {
            return Err(Contradiction);
        }
        if self.store.excluded_count() >= self.pool.config().max_excluded {
            return Ok(());
        }
        self.store.exclude(term, value);
        self.touch(term);
        let narrowed = self.without_exclusions(term, known);
        if narrowed != known {
            self.queue.push(Step::Domain(term, narrowed));
        }
        let (root, offset) = self.store.root(term);
        let others: SmallVec<[Member; 8]> = self.store.members(root).filter(|member| member.term != term).collect();
        for member in others {
            let distance = member.offset.wrapping_sub(offset);
            self.queue.push(Step::Exclude(member.term, value.wrapping_add(distance) & mask(known.width)));
        }
        Ok(())
    }

    /// Ends of the intervals that are excluded move inwards.
    fn without_exclusions(&self, term: TermId, mut known: Known) -> Known {
        let excluded = self.store.exclusions(term);
        if excluded.is_empty() {
            return known;
        }
        let width = known.width;
        let gone = |value: u64| excluded.binary_search(&(term, value)).is_ok();
        let gone_signed = |value: i64| gone(value as u64 & mask(width));
        // Every round but the last uses up an exclusion.
        for _ in 0..=excluded.len() {
            let before = known;
            if known.single().is_some_and(gone) {
                return nothing(width);
            }
            if known.is_empty() {
                break;
            }
            known.low += gone(known.low) as u64;
            known.high -= gone(known.high) as u64;
            known.signed_low += gone_signed(known.signed_low) as i64;
            known.signed_high -= gone_signed(known.signed_high) as i64;
            known = known.meet(&before);
            if known == before {
                break;
            }
        }
        known
    }

    pub(super) fn learn_equality(&mut self, a: TermId, b: TermId, offset: u64) -> Result<(), Contradiction> {
        let width = self.pool.width(a);
        let ((root_a, more_a), (root_b, more_b)) = (self.store.root(a), self.store.root(b));
        // root_a + more_a = root_b + more_b + offset
        let distance = more_b.wrapping_add(offset).wrapping_sub(more_a) & mask(width);
        if root_a == root_b {
            return if distance == 0 { Ok(()) } else { Err(Contradiction) };
        }
        if self.pool.as_const(root_a).is_some() || self.pool.as_const(root_b).is_some() {
            return Ok(());
        }
        let (known_a, known_b) =
            (self.store.known(self.pool, root_a, self.depth()), self.store.known(self.pool, root_b, self.depth()));
        let carried: SmallVec<[Step; 8]> = self
            .store
            .exclusions(root_a)
            .iter()
            .map(|&(_, value)| Step::Exclude(root_b, value.wrapping_sub(distance) & mask(width)))
            .chain(
                self.store
                    .exclusions(root_b)
                    .iter()
                    .map(|&(_, value)| Step::Exclude(root_a, value.wrapping_add(distance) & mask(width))),
            )
            .collect();
        self.store.unite(root_a, root_b, distance, width);
        let members: SmallVec<[Member; 8]> = self.store.members(root_a.min(root_b)).collect();
        members.iter().for_each(|member| self.touch(member.term));
        self.queue.push(Step::Domain(root_a, known_b.shifted(distance)));
        self.queue.push(Step::Domain(root_b, known_a.shifted(distance.wrapping_neg() & mask(width))));
        self.queue.extend(carried);
        Ok(())
    }

    /// What the values of a term say of its operands.
    fn imply_operands(&mut self, term: TermId, known: &Known) {
        match self.pool.node(term) {
            Node::ZExt(x) | Node::SExt(x) if self.pool.width(x) == 1 => match known.single() {
                Some(value) => self.queue.push(Step::Truth(x, value != 0)),
                None if !known.contains(0) => self.queue.push(Step::Truth(x, true)),
                None => {}
            },
            Node::ZExt(x) | Node::SExt(x) => self.queue.push(Step::Domain(x, known.trunc(self.pool.width(x)))),
            Node::Trunc(x) => {
                self.queue.push(Step::Domain(x, Known::with_bits(self.pool.width(x), known.zeros, known.ones)));
            }
            Node::Ite(c, a, b) => {
                let chosen = match self.store.truth(self.pool, c, self.depth()) {
                    Some(chosen) => chosen,
                    None if self.store.known(self.pool, a, self.depth()).disjoint(known) => false,
                    None if self.store.known(self.pool, b, self.depth()).disjoint(known) => true,
                    None => return,
                };
                self.queue.push(Step::Truth(c, chosen));
                self.queue.push(Step::Domain(if chosen { a } else { b }, *known));
            }
            Node::Binary(op, no_wrap, a, b) => self.imply_binary(op, no_wrap, a, b, known),
            _ => {}
        }
    }

    fn imply_binary(&mut self, op: BinaryOp, no_wrap: NoWrap, a: TermId, b: TermId, known: &Known) {
        let width = known.width;
        let (x, y) = (self.store.known(self.pool, a, self.depth()), self.store.known(self.pool, b, self.depth()));
        match op {
            BinaryOp::Add => {
                self.queue.push(Step::Domain(a, Known::binary(BinaryOp::Sub, no_wrap, known, &y)));
                self.queue.push(Step::Domain(b, Known::binary(BinaryOp::Sub, no_wrap, known, &x)));
            }
            BinaryOp::Sub => {
                self.queue.push(Step::Domain(a, Known::binary(BinaryOp::Add, no_wrap, known, &y)));
                self.queue.push(Step::Domain(b, Known::binary(BinaryOp::Sub, no_wrap, &x, known)));
            }
            BinaryOp::Mul => {
                if let Some(factor) = y.single().filter(|&factor| factor != 0) {
                    self.imply_factor(no_wrap, a, factor, known);
                }
            }
            BinaryOp::And => {
                // A bit of the result is that of `a` wherever `b` is surely one.
                let from = |other: &Known| {
                    Known::with_bits(width, known.zeros & other.ones, known.ones).meet(&Known::between(
                        width,
                        known.low,
                        mask(width),
                    ))
                };
                let (for_a, for_b) = (from(&y), from(&x));
                self.queue.push(Step::Domain(a, for_a));
                self.queue.push(Step::Domain(b, for_b));
            }
            BinaryOp::Or => {
                let from = |other: &Known| {
                    Known::with_bits(width, known.zeros, known.ones & other.zeros)
                        .meet(&Known::between(width, 0, known.high))
                };
                let (for_a, for_b) = (from(&y), from(&x));
                self.queue.push(Step::Domain(a, for_a));
                self.queue.push(Step::Domain(b, for_b));
            }
            BinaryOp::Xor => {
                self.queue.push(Step::Domain(a, Known::binary(BinaryOp::Xor, NoWrap::NONE, known, &y)));
                self.queue.push(Step::Domain(b, Known::binary(BinaryOp::Xor, NoWrap::NONE, known, &x)));
            }
            BinaryOp::LShr => {
                if let Some(shift) = y.single().filter(|&shift| shift < width as u64) {
                    let low = known.low << shift & mask(width);
                    let high = (known.high << shift | ((1 << shift) - 1)) & mask(width);
                    if known.high <= mask(width) >> shift {
                        self.queue.push(Step::Domain(a, Known::between(width, low, high)));
                    }
                }
            }
            _ => {}
        }
    }

    /// `a * factor` lies in `known` and does not wrap.
    fn imply_factor(&mut self, no_wrap: NoWrap, a: TermId, factor: u64, known: &Known) {
        let width = known.width;
        if no_wrap.unsigned {
            let (low, high) = (known.low.div_ceil(factor), known.high / factor);
            self.queue.push(Step::Domain(a, interval(width, low, high)));
        }
        let factor = signed(factor, width) as i128;
        if no_wrap.signed && factor > 0 {
            let low = -((-(known.signed_low as i128)).div_euclid(factor));
            let high = (known.signed_high as i128).div_euclid(factor);
            let known = if low > high { nothing(width) } else { Known::between_signed(width, low as i64, high as i64) };
            self.queue.push(Step::Domain(a, known));
        }
    }
}

fn interval(width: u8, low: u64, high: u64) -> Known {
    if low > high { nothing(width) } else { Known::between(width, low, high) }
}

fn nothing(width: u8) -> Known {
    Known { low: 1, high: 0, ..Known::anything(width) }
}
