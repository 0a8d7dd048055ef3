//! The meaning of a term: its value under given values of its symbols.

use crate::bits;
use crate::node::{BinaryOp, Node, SymbolId, TermId};
use crate::pool::TermPool;

impl TermPool {
    /// The value, or nothing where the program would have no meaning (see the crate's page).
    pub fn evaluate(&self, term: TermId, values: &impl Fn(SymbolId) -> u64) -> Option<u64> {
        let width = self.width(term);
        match self.node(term) {
            Node::Const(value) => Some(value),
            Node::Symbol(symbol) => Some(values(symbol) & bits::mask(width)),
            Node::Not(a) => Some(self.evaluate(a, values)? ^ 1),
            Node::Binary(BinaryOp::And, _, a, b) if width == 1 => {
                match (self.evaluate(a, values), self.evaluate(b, values)) {
                    (Some(0), _) | (_, Some(0)) => Some(0),
                    (Some(_), Some(_)) => Some(1),
                    _ => None,
                }
            }
            Node::Binary(op, no_wrap, a, b) => {
                bits::binary(op, no_wrap, self.evaluate(a, values)?, self.evaluate(b, values)?, width)
            }
            Node::Compare(op, a, b) => {
                let (x, y) = (self.evaluate(a, values)?, self.evaluate(b, values)?);
                Some(bits::compare(op, x, y, self.width(a)) as u64)
            }
            Node::ZExt(a) => self.evaluate(a, values),
            Node::SExt(a) => Some(bits::signed(self.evaluate(a, values)?, self.width(a)) as u64 & bits::mask(width)),
            Node::Trunc(a) => Some(self.evaluate(a, values)? & bits::mask(width)),
            Node::Ite(c, a, b) => {
                let chosen = if self.evaluate(c, values)? != 0 { a } else { b };
                self.evaluate(chosen, values)
            }
        }
    }
}
