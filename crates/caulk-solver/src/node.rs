//! The shape of a term.

use std::num::NonZeroU32;

/// A term of one [`crate::TermPool`]. Operands have smaller numbers than what is made of them.
///
/// One more than its place in the pool: tables of `Option<TermId>` are copied and compared by the thousand.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct TermId(NonZeroU32);

/// An unknown of one [`crate::TermPool`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct SymbolId(pub(crate) u32);

impl TermId {
    pub(crate) const fn at(index: usize) -> Self {
        match NonZeroU32::new(index as u32 + 1) {
            Some(number) => TermId(number),
            None => TermId(NonZeroU32::MAX),
        }
    }

    #[inline]
    pub fn index(self) -> usize {
        self.0.get() as usize - 1
    }

    /// Another number for each term, and never 0.
    #[inline]
    pub fn number(self) -> u32 {
        self.0.get()
    }
}

impl std::fmt::Debug for TermId {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "TermId({})", self.index())
    }
}

impl SymbolId {
    #[inline]
    pub fn index(self) -> usize {
        self.0 as usize
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum BinaryOp {
    Add,
    Sub,
    Mul,
    UDiv,
    SDiv,
    URem,
    SRem,
    Shl,
    LShr,
    AShr,
    And,
    Or,
    Xor,
}

/// The comparisons that terms are kept in. The others are their negations, operands swapped where needed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Comparison {
    Eq,
    Ult,
    Slt,
}

/// Wrapping that the program rules out. Only for addition, subtraction, multiplication and shift left.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct NoWrap {
    pub signed: bool,
    pub unsigned: bool,
}

impl NoWrap {
    pub const NONE: NoWrap = NoWrap { signed: false, unsigned: false };
    pub const SIGNED: NoWrap = NoWrap { signed: true, unsigned: false };
    pub const UNSIGNED: NoWrap = NoWrap { signed: false, unsigned: true };
    pub const BOTH: NoWrap = NoWrap { signed: true, unsigned: true };

    pub(crate) fn any(self) -> bool {
        self.signed || self.unsigned
    }

    pub(crate) fn both(self, other: NoWrap) -> NoWrap {
        NoWrap { signed: self.signed && other.signed, unsigned: self.unsigned && other.unsigned }
    }
}

/// One term: an operator over earlier terms. A boolean is a term of width 1, and at width 1 only `Const`, `Symbol`, `Not`,
/// `And`, `Xor`, `Compare` and `Ite` occur; `Not` occurs only there.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Node {
    Const(u64),
    Symbol(SymbolId),
    Not(TermId),
    Binary(BinaryOp, NoWrap, TermId, TermId),
    Compare(Comparison, TermId, TermId),
    ZExt(TermId),
    SExt(TermId),
    Trunc(TermId),
    Ite(TermId, TermId, TermId),
}

impl Node {
    /// The operands, in order.
    pub fn operands(self) -> smallvec::SmallVec<[TermId; 3]> {
        match self {
            Node::Const(_) | Node::Symbol(_) => smallvec::smallvec![],
            Node::Not(a) | Node::ZExt(a) | Node::SExt(a) | Node::Trunc(a) => smallvec::smallvec![a],
            Node::Binary(_, _, a, b) | Node::Compare(_, a, b) => smallvec::smallvec![a, b],
            Node::Ite(c, a, b) => smallvec::smallvec![c, a, b],
        }
    }
}
