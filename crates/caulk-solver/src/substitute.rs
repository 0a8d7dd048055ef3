//! Putting terms in place of symbols, within a pool and across pools.

use rustc_hash::FxHashMap;

use crate::node::{Node, SymbolId, TermId};
use crate::pool::TermPool;

impl TermPool {
    /// The term with symbols replaced, simplified again. Symbols not in the map stay. `memo` may be shared by calls with the
    /// same map.
    pub fn substitute(
        &mut self,
        term: TermId,
        map: &FxHashMap<SymbolId, TermId>,
        memo: &mut FxHashMap<TermId, TermId>,
    ) -> TermId {
        if let Some(&done) = memo.get(&term) {
            return done;
        }
        let node = self.node(term);
        let result = match node {
            Node::Const(_) => term,
            Node::Symbol(symbol) => map.get(&symbol).copied().unwrap_or(term),
            _ => {
                let mut operands = node.operands();
                let mut changed = false;
                for operand in &mut operands {
                    let new = self.substitute(*operand, map, memo);
                    changed |= new != *operand;
                    *operand = new;
                }
                if changed { self.rebuild(node, self.width(term), &operands) } else { term }
            }
        };
        memo.insert(term, result);
        result
    }

    /// The same term in this pool; `symbol` says what stands for the symbols of the other. `None` from it gives up.
    pub fn copy_term(
        &mut self,
        from: &TermPool,
        term: TermId,
        symbol: &mut impl FnMut(&mut TermPool, SymbolId) -> Option<TermId>,
        memo: &mut FxHashMap<TermId, TermId>,
    ) -> Option<TermId> {
        if let Some(&done) = memo.get(&term) {
            return Some(done);
        }
        let node = from.node(term);
        let result = match node {
            Node::Const(value) => self.constant(from.width(term), value),
            Node::Symbol(id) => symbol(self, id)?,
            _ => {
                let mut operands = node.operands();
                for operand in &mut operands {
                    *operand = self.copy_term(from, *operand, symbol, memo)?;
                }
                self.rebuild(node, from.width(term), &operands)
            }
        };
        memo.insert(term, result);
        Some(result)
    }

    /// The operator of a node on other operands. `node` is neither a constant nor a symbol.
    pub(crate) fn rebuild(&mut self, node: Node, width: u8, operands: &[TermId]) -> TermId {
        match (node, operands) {
            (Node::Not(_), &[a]) => self.not(a),
            (Node::Binary(op, no_wrap, ..), &[a, b]) => self.binary(op, no_wrap, a, b),
            (Node::Compare(op, ..), &[a, b]) => self.compare(op, a, b),
            (Node::ZExt(_), &[a]) => self.zext(a, width),
            (Node::SExt(_), &[a]) => self.sext(a, width),
            (Node::Trunc(_), &[a]) => self.trunc(a, width),
            (Node::Ite(..), &[c, a, b]) => self.ite(c, a, b),
            _ => unreachable!("a node has its own number of operands, and leaves are not rebuilt"),
        }
    }
}
