//! Chains of comparisons: `i < n` and `n <= m` give `i < m`.

use smallvec::{SmallVec, smallvec};

use super::store::Store;
use super::strip_not;
use crate::node::{Comparison, Node, TermId};
use crate::pool::TermPool;

impl Store {
    /// Whether the facts lead from one term to another that is at least as large, and whether strictly larger.
    pub(crate) fn ordered(&self, pool: &TermPool, op: Comparison, from: TermId, to: TermId) -> Option<bool> {
        let goal = self.root(to);
        let mut reached: SmallVec<[((TermId, u64), bool); 8]> = smallvec![(self.root(from), false)];
        let mut at_least = None;
        let mut next = 0;
        while next < reached.len() && next < pool.config().max_order_terms {
            let (here, strict) = reached[next];
            next += 1;
            for &literal in &self.relations {
                let (atom, less) = strip_not(pool, literal);
                let Node::Compare(found, a, b) = pool.node(atom) else { continue };
                if found != op || self.root(if less { a } else { b }) != here {
                    continue;
                }
                let (there, strict) = (self.root(if less { b } else { a }), strict || less);
                if there == goal && strict {
                    return Some(true);
                }
                if there == goal {
                    at_least = Some(false);
                }
                if !reached.iter().any(|&(term, before)| term == there && (before || !strict)) {
                    reached.push((there, strict));
                }
            }
        }
        at_least
    }
}
