//! Facts of two paths that meet, and facts after something is forgotten.

use super::store::Store;
use super::{Consistency, Facts, strip_not};
use crate::bits::mask;
use crate::known::Known;
use crate::node::{SymbolId, TermId};
use crate::pool::TermPool;

impl Facts {
    /// What holds on both paths: conditions of one that the other implies, and the interval around the values of both.
    pub fn join(&self, other: &Facts, pool: &mut TermPool) -> Facts {
        if self.same_store(other) || other.store.contradiction {
            return self.clone();
        }
        if self.store.contradiction {
            return other.clone();
        }
        // What was known where the paths parted is known on both, and need not be learnt again.
        let common = Store::common(&self.store, &other.store);
        let mut both = Facts { store: common.cloned().unwrap_or_default(), ..Facts::default() };
        let known = both.literals().len();
        for (one, another) in [(self, other), (other, self)] {
            for &literal in &one.literals()[known..] {
                if another.surely(pool, literal) {
                    both.assume(pool, literal);
                }
            }
        }
        for equation in self.equations(pool, |_| true) {
            if other.surely(pool, equation) {
                both.assume(pool, equation);
            }
        }
        for (term, known) in self.store.domains() {
            let is_new = common.is_none_or(|store| store.domain(*term) != Some(known));
            if is_new && (pool.is_total(*term) || other.store.domain(*term).is_some()) {
                let hull = known.hull(&other.known(pool, *term));
                both.assume_known(pool, *term, &hull);
            }
        }
        // An example of either path is one of both.
        both.model = self.model.clone();
        both
    }

    /// Whether a condition holds here, and also has a value here: another path may promise that a sum does not wrap which this
    /// one never computed.
    fn surely(&self, pool: &TermPool, condition: TermId) -> bool {
        let (atom, value) = strip_not(pool, condition);
        match self.store.stored_truth(pool, atom) {
            Some(stored) => stored == value,
            None => pool.is_total(condition) && self.implied(pool, condition) == Some(true),
        }
    }

    /// What the facts say without the forgotten symbols: conditions that do not mention them, and the intervals and equalities that
    /// were derived through them.
    pub fn retain_symbols(&self, pool: &mut TermPool, keep: impl Fn(SymbolId) -> bool) -> Facts {
        if self.store.contradiction {
            return Facts::contradiction();
        }
        let stays = |pool: &TermPool, term| pool.symbols(term).into_iter().all(&keep);
        if self.literals().iter().all(|&literal| stays(pool, literal)) {
            return self.clone();
        }
        let mut rest = Facts::new();
        for &literal in self.literals() {
            if stays(pool, literal) {
                rest.assume(pool, literal);
            }
        }
        let kept: Vec<bool> = self.store.classes().iter().map(|member| stays(pool, member.term)).collect();
        let mut at = 0;
        let equations = self.equations(pool, |_| {
            at += 1;
            kept[at - 1]
        });
        for equation in equations {
            rest.assume(pool, equation);
        }
        for (term, known) in self.store.domains() {
            if stays(pool, *term) {
                rest.assume_known(pool, *term, known);
            }
        }
        rest.model = self.model.clone();
        rest
    }

    /// The equalities among the terms chosen, each with the first of its class. `choose` is asked once for each member, in order.
    fn equations(&self, pool: &mut TermPool, mut choose: impl FnMut(TermId) -> bool) -> Vec<TermId> {
        let mut firsts: Vec<(TermId, TermId, u64)> = Vec::new();
        let mut equations = Vec::new();
        for member in self.store.classes() {
            if !choose(member.term) {
                continue;
            }
            match firsts.iter().find(|first| first.0 == member.root) {
                None => firsts.push((member.root, member.term, member.offset)),
                Some(&(_, first, offset)) => {
                    let width = pool.width(first);
                    let distance = pool.constant(width, member.offset.wrapping_sub(offset) & mask(width));
                    let moved = pool.add(first, distance);
                    equations.push(pool.eq(member.term, moved));
                }
            }
        }
        equations
    }

    /// Assumes that a term lies within known values, in the fewest conditions.
    pub fn assume_known(&mut self, pool: &mut TermPool, term: TermId, known: &Known) -> Consistency {
        let width = pool.width(term);
        let whole = Known::anything(width);
        let mut conditions = Vec::new();
        if let Some(value) = known.single() {
            let value = pool.constant(width, value);
            conditions.push(pool.eq(term, value));
        } else {
            if known.signed_low > whole.signed_low {
                let low = pool.constant(width, known.signed_low as u64);
                conditions.push(pool.sge(term, low));
            }
            if known.signed_high < whole.signed_high {
                let high = pool.constant(width, known.signed_high as u64);
                conditions.push(pool.sle(term, high));
            }
            if known.low > 0 {
                let low = pool.constant(width, known.low);
                conditions.push(pool.uge(term, low));
            }
            if known.high < whole.high {
                let high = pool.constant(width, known.high);
                conditions.push(pool.ule(term, high));
            }
            if known.zeros | known.ones != 0 {
                let tested = pool.constant(width, known.zeros | known.ones);
                let found = pool.constant(width, known.ones);
                let bits = pool.and(term, tested);
                conditions.push(pool.eq(bits, found));
            }
        }
        for condition in conditions {
            // What the others imply adds nothing.
            if self.implied(pool, condition) != Some(true) && self.assume(pool, condition) == Consistency::Contradiction
            {
                return Consistency::Contradiction;
            }
        }
        Consistency::Consistent
    }
}
