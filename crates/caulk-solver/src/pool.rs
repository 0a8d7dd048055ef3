//! The arena of terms of one analysis: equal terms are one term.

use std::sync::Arc;

use rustc_hash::FxHashMap;

use crate::bits::mask;
use crate::config::SolverConfig;
use crate::node::{BinaryOp, Node, SymbolId, TermId};
use crate::stats::SolverStats;

#[derive(Clone, Copy, Debug)]
struct Entry {
    node: Node,
    width: u8,
    /// Nodes of the term as a tree.
    size: u16,
    /// One bit for each symbol inside, by number modulo 64: a quick "surely not in there".
    symbols: u64,
    /// No part of it can be without value.
    total: bool,
}

#[derive(Clone, Copy, Debug)]
struct Symbol {
    term: TermId,
    /// `None`: stands for a term that grew too large.
    tag: Option<u32>,
}

/// Terms, hash-consed and simplified when built. Made for one function's analysis, then [`TermPool::reset`].
///
/// Widths are 1 to 64 bits, and both operands of an operation have the same. Pointers are terms of 64 bits: a symbol for the
/// address of an object, or a symbol plus an offset.
#[derive(Debug)]
pub struct TermPool {
    entries: Vec<Entry>,
    symbols: Vec<Symbol>,
    index: FxHashMap<(Node, u8), TermId>,
    config: SolverConfig,
    /// Tells pools apart, so that a solver notices when it is handed another one.
    identity: Arc<()>,
    pub stats: SolverStats,
}

impl TermPool {
    pub fn new(mut config: SolverConfig) -> Self {
        config.max_term_size = config.max_term_size.clamp(8, SolverConfig::LARGEST_TERM_SIZE);
        let mut pool = TermPool {
            entries: Vec::new(),
            symbols: Vec::new(),
            index: FxHashMap::default(),
            config,
            identity: Arc::new(()),
            stats: SolverStats::default(),
        };
        pool.seed();
        pool
    }

    /// Another pool with the same terms, which counts from zero on. What is added to one is unknown to the other.
    pub fn fork(&self) -> Self {
        TermPool {
            entries: self.entries.clone(),
            symbols: self.symbols.clone(),
            index: self.index.clone(),
            config: self.config.clone(),
            identity: Arc::new(()),
            stats: SolverStats::default(),
        }
    }

    /// Forgets all terms and keeps the memory and the counters. Terms and facts of before mean nothing afterwards.
    pub fn reset(&mut self) {
        self.entries.clear();
        self.symbols.clear();
        self.index.clear();
        self.identity = Arc::new(());
        self.seed();
    }

    fn seed(&mut self) {
        let no = self.intern(Node::Const(0), 1);
        let yes = self.intern(Node::Const(1), 1);
        debug_assert_eq!((no, yes), (Self::FALSE, Self::TRUE));
    }

    pub const FALSE: TermId = TermId::at(0);
    pub const TRUE: TermId = TermId::at(1);

    pub fn config(&self) -> &SolverConfig {
        &self.config
    }

    pub(crate) fn identity(&self) -> &Arc<()> {
        &self.identity
    }

    /// How many terms there are.
    pub fn len(&self) -> usize {
        self.entries.len()
    }

    /// Never: true and false are always there.
    pub fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    #[inline]
    pub fn node(&self, term: TermId) -> Node {
        self.entries[term.index()].node
    }

    #[inline]
    pub fn width(&self, term: TermId) -> u8 {
        self.entries[term.index()].width
    }

    /// Nodes of the term, counted as a tree.
    pub fn size(&self, term: TermId) -> u16 {
        self.entries[term.index()].size
    }

    #[inline]
    pub(crate) fn symbol_bits(&self, term: TermId) -> u64 {
        self.entries[term.index()].symbols
    }

    /// Whether the term has a value whatever its symbols are.
    pub fn is_total(&self, term: TermId) -> bool {
        self.entries[term.index()].total
    }

    /// The value of a constant term.
    #[inline]
    pub fn as_const(&self, term: TermId) -> Option<u64> {
        match self.node(term) {
            Node::Const(value) => Some(value),
            _ => None,
        }
    }

    #[inline]
    pub fn as_symbol(&self, term: TermId) -> Option<SymbolId> {
        match self.node(term) {
            Node::Symbol(symbol) => Some(symbol),
            _ => None,
        }
    }

    /// A constant; bits beyond the width are cut off.
    pub fn constant(&mut self, width: u8, value: u64) -> TermId {
        debug_assert!((1..=64).contains(&width), "width {width}");
        self.intern(Node::Const(value & mask(width)), width)
    }

    pub fn boolean(&self, value: bool) -> TermId {
        if value { Self::TRUE } else { Self::FALSE }
    }

    /// A new unknown. The tag is the client's own number for what it stands for.
    pub fn fresh(&mut self, width: u8, tag: u32) -> TermId {
        debug_assert!((1..=64).contains(&width), "width {width}");
        self.add_symbol(width, Some(tag))
    }

    fn add_symbol(&mut self, width: u8, tag: Option<u32>) -> TermId {
        let symbol = SymbolId(self.symbols.len() as u32);
        let term = TermId::at(self.entries.len());
        self.entries.push(Entry {
            node: Node::Symbol(symbol),
            width,
            size: 1,
            symbols: 1 << (symbol.0 % 64),
            total: true,
        });
        self.symbols.push(Symbol { term, tag });
        term
    }

    pub fn symbol_term(&self, symbol: SymbolId) -> TermId {
        self.symbols[symbol.index()].term
    }

    /// The client's number, or nothing for an opaque symbol.
    #[inline]
    pub fn symbol_tag(&self, symbol: SymbolId) -> Option<u32> {
        self.symbols[symbol.index()].tag
    }

    /// Calls `visit` on every symbol of a term, with repeats.
    pub fn for_each_symbol(&self, term: TermId, visit: &mut impl FnMut(SymbolId)) {
        if self.symbol_bits(term) == 0 {
            return;
        }
        match self.node(term) {
            Node::Symbol(symbol) => visit(symbol),
            Node::Const(_) => {}
            Node::Not(a) | Node::ZExt(a) | Node::SExt(a) | Node::Trunc(a) => self.for_each_symbol(a, visit),
            Node::Binary(_, _, a, b) | Node::Compare(_, a, b) => {
                self.for_each_symbol(a, visit);
                self.for_each_symbol(b, visit);
            }
            Node::Ite(c, a, b) => {
                self.for_each_symbol(c, visit);
                self.for_each_symbol(a, visit);
                self.for_each_symbol(b, visit);
            }
        }
    }

    /// The symbols of a term, ascending.
    pub fn symbols(&self, term: TermId) -> Vec<SymbolId> {
        let mut found = Vec::new();
        self.for_each_symbol(term, &mut |symbol| found.push(symbol));
        found.sort_unstable();
        found.dedup();
        found
    }

    /// Whether an operator gives a value for all values of its operands, as far as a constant operand tells.
    fn is_total_operator(&self, node: Node, width: u8) -> bool {
        let Node::Binary(op, no_wrap, _, b) = node else { return true };
        match op {
            BinaryOp::UDiv | BinaryOp::URem => self.as_const(b).is_some_and(|c| c != 0),
            BinaryOp::SDiv | BinaryOp::SRem => self.as_const(b).is_some_and(|c| c != 0 && c != mask(width)),
            BinaryOp::Shl | BinaryOp::LShr | BinaryOp::AShr => self.as_const(b).is_some_and(|c| c < width as u64),
            _ => !no_wrap.any(),
        }
    }

    /// A term that exists already.
    pub(crate) fn find(&self, node: Node, width: u8) -> Option<TermId> {
        self.index.get(&(node, width)).copied()
    }

    /// The one term of this shape. Too large a term becomes an opaque symbol, the same one each time.
    pub(crate) fn intern(&mut self, node: Node, width: u8) -> TermId {
        if let Some(term) = self.find(node, width) {
            return term;
        }
        let (mut size, mut symbols, mut total) = (1u16, 0u64, self.is_total_operator(node, width));
        for operand in node.operands() {
            let entry = &self.entries[operand.index()];
            size = size.saturating_add(entry.size);
            symbols |= entry.symbols;
            total &= entry.total;
        }
        let term = if size > self.config.max_term_size {
            self.stats.opaque += 1;
            self.add_symbol(width, None)
        } else {
            let term = TermId::at(self.entries.len());
            self.entries.push(Entry { node, width, size, symbols, total });
            term
        };
        self.index.insert((node, width), term);
        term
    }
}
