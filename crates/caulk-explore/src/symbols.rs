//! What the unknowns of an execution stand for.

use caulk_ir::InstId;
use caulk_memory::Class;
use caulk_program::{FuncId, GlobalVarId};
use caulk_solver::{BinaryOp, Node, SymbolId, TermId, TermPool};
use rustc_hash::{FxHashMap, FxHashSet};
use smallvec::SmallVec;

/// Where a symbol comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Origin {
    Param(u32),
    /// What a cell held when the function was entered.
    Initial(Key),
    Local(InstId),
    Global(GlobalVarId),
    Function(FuncId),
    /// The address of a block made by a call of this function.
    Block(InstId),
    /// A pointer into (or made from) what another pointer points to, or null.
    Derived(TermId),
    /// The result of a call.
    Result(InstId),
    /// Anything: an uninitialised value, what a loop or a callee wrote.
    Unknown,
}

/// A place in memory: a pointer without its constant part, and that part.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct Key {
    pub base: TermId,
    pub offset: i64,
}

#[derive(Clone, Copy, Debug)]
struct Symbol {
    origin: Origin,
    is_pointer: bool,
}

/// When an instruction is executed: itself, and the iterations of the loops around it.
pub(crate) type ProgramPoint = (InstId, SmallVec<[u32; 2]>);

/// Which of the unknowns of one program point.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Part {
    /// The value of the instruction itself.
    Value,
    /// What a callee's result tells, whichever way the callee went.
    Told,
    /// A block that a call makes and does not return.
    Block(u32),
    /// Some element of an array.
    Element,
    /// A cell that a call may have written to, by its offset.
    Written(i64),
    /// The n-th cell that is forgotten.
    Forgotten(u32),
    /// The n-th cell that a loop writes.
    Looped(u32),
    /// A value that was not the same on paths that met.
    Met(u32),
    /// A symbol of a callee.
    Callee(u32),
    /// A term of a callee that cannot be told in the caller's words.
    Untold,
}

/// All symbols of one execution. The same thing gets the same symbol on every path, so that paths can meet again.
#[derive(Clone, Debug, Default)]
pub(crate) struct Symbols {
    table: Vec<Symbol>,
    fixed: FxHashMap<FixedKey, TermId>,
    at: FxHashMap<(ProgramPoint, Part), TermId>,
    /// Initial contents in the order they were first asked for.
    initial: Vec<InitialCell>,
    initial_index: FxHashMap<(Key, u8), usize>,
    /// The cells of values that a callee may have changed; noted only for who looks for inputs, like all below.
    forgotten: FxHashMap<TermId, Key>,
    /// What calls were given, by their results.
    given: FxHashMap<TermId, SmallVec<[TermId; 4]>>,
    /// Values that a callee met on its way. They name the call as their origin, and need not be its result.
    inner: FxHashSet<TermId>,
}

/// A cell that was read before anything was written to it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct InitialCell {
    pub key: Key,
    pub value: TermId,
    pub class: Class,
    /// The object the cell lies in.
    pub holder: Option<TermId>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum FixedKey {
    Param(u32),
    Local(InstId),
    Global(GlobalVarId),
    Function(FuncId),
}

impl Symbols {
    /// A new symbol, whatever was asked for before.
    pub(crate) fn make(&mut self, pool: &mut TermPool, width: u8, origin: Origin, is_pointer: bool) -> TermId {
        let tag = self.table.len() as u32;
        self.table.push(Symbol { origin, is_pointer });
        pool.fresh(width, tag)
    }

    fn fixed(&mut self, pool: &mut TermPool, key: FixedKey, width: u8, origin: Origin, is_pointer: bool) -> TermId {
        if let Some(&term) = self.fixed.get(&key) {
            return term;
        }
        let term = self.make(pool, width, origin, is_pointer);
        self.fixed.insert(key, term);
        term
    }

    pub(crate) fn param(&mut self, pool: &mut TermPool, index: u32, width: u8, is_pointer: bool) -> TermId {
        self.fixed(pool, FixedKey::Param(index), width, Origin::Param(index), is_pointer)
    }

    pub(crate) fn local(&mut self, pool: &mut TermPool, inst: InstId) -> TermId {
        self.fixed(pool, FixedKey::Local(inst), 64, Origin::Local(inst), true)
    }

    pub(crate) fn global(&mut self, pool: &mut TermPool, global: GlobalVarId) -> TermId {
        self.fixed(pool, FixedKey::Global(global), 64, Origin::Global(global), true)
    }

    pub(crate) fn function(&mut self, pool: &mut TermPool, function: FuncId) -> TermId {
        self.fixed(pool, FixedKey::Function(function), 64, Origin::Function(function), true)
    }

    /// The symbol for the `part`-th unknown of an instruction at one program point.
    pub(crate) fn at(
        &mut self,
        pool: &mut TermPool,
        program_point: ProgramPoint,
        part: Part,
        width: u8,
        origin: Origin,
        is_pointer: bool,
    ) -> TermId {
        if let Some(&term) = self.at.get(&(program_point.clone(), part))
            && pool.width(term) == width
            && self.origin(pool, term) == Some(origin)
        {
            return term;
        }
        let term = self.make(pool, width, origin, is_pointer);
        self.at.insert((program_point, part), term);
        term
    }

    /// What a cell held at first.
    pub(crate) fn initial(
        &mut self,
        pool: &mut TermPool,
        key: Key,
        width: u8,
        class: Class,
        is_pointer: bool,
    ) -> TermId {
        if let Some(&index) = self.initial_index.get(&(key, width)) {
            return self.initial[index].value;
        }
        let term = self.make(pool, width, Origin::Initial(key), is_pointer);
        self.initial_index.insert((key, width), self.initial.len());
        let holder = self.root(pool, key.base);
        self.initial.push(InitialCell { key, value: term, class, holder });
        term
    }

    pub(crate) fn initial_cells(&self) -> &[InitialCell] {
        &self.initial
    }

    /// A value stands for what a cell holds after a call that may have changed it.
    pub(crate) fn note_forgotten(&mut self, value: TermId, cell: Key) {
        self.forgotten.insert(value, cell);
    }

    /// The cell of a value that a callee may have changed.
    pub(crate) fn forgotten_cell(&self, value: TermId) -> Option<Key> {
        self.forgotten.get(&value).copied()
    }

    pub(crate) fn note_given(&mut self, result: TermId, args: &[TermId]) {
        self.given.insert(result, args.into());
    }

    /// What the call was given that had this result.
    pub(crate) fn given(&self, result: TermId) -> &[TermId] {
        self.given.get(&result).map_or(&[], |args| args.as_slice())
    }

    pub(crate) fn note_inner(&mut self, value: TermId) {
        self.inner.insert(value);
    }

    pub(crate) fn is_inner(&self, value: TermId) -> bool {
        self.inner.contains(&value)
    }

    /// What a cell held at first, if that was asked for.
    pub(crate) fn initial_value(&self, key: Key) -> Option<TermId> {
        let index = [64u8, 32, 16, 8].iter().find_map(|width| self.initial_index.get(&(key, *width)));
        index.map(|at| self.initial[*at].value)
    }

    /// The class by which a cell was first read.
    pub(crate) fn initial_class(&self, key: Key) -> Option<Class> {
        let index = [64u8, 32, 8, 16, 1].iter().find_map(|width| self.initial_index.get(&(key, *width)));
        let cell = index.map(|at| &self.initial[*at]).or_else(|| self.initial.iter().find(|cell| cell.key == key));
        cell.map(|cell| cell.class)
    }

    pub(crate) fn origin(&self, pool: &TermPool, term: TermId) -> Option<Origin> {
        let symbol = pool.as_symbol(term)?;
        Some(self.origin_of(pool, symbol))
    }

    pub(crate) fn origin_of(&self, pool: &TermPool, symbol: SymbolId) -> Origin {
        pool.symbol_tag(symbol).map_or(Origin::Unknown, |tag| self.table[tag as usize].origin)
    }

    fn is_pointer(&self, pool: &TermPool, symbol: SymbolId) -> bool {
        pool.symbol_tag(symbol).is_some_and(|tag| self.table[tag as usize].is_pointer)
    }

    /// The pointer that an address is computed from: the symbol of the object it points into, or of an unknown pointer.
    pub(crate) fn root(&self, pool: &TermPool, term: TermId) -> Option<TermId> {
        match pool.node(term) {
            Node::Symbol(symbol) => match self.origin_of(pool, symbol) {
                Origin::Derived(root) => self.root(pool, root),
                _ => self.is_pointer(pool, symbol).then_some(term),
            },
            // Tags are or'ed into pointers and masked off again.
            Node::Binary(BinaryOp::Add | BinaryOp::Sub | BinaryOp::And | BinaryOp::Or | BinaryOp::Xor, _, a, b) => {
                self.root(pool, a).or_else(|| self.root(pool, b))
            }
            Node::ZExt(a) | Node::SExt(a) | Node::Trunc(a) => self.root(pool, a),
            Node::Ite(_, a, b) => self.root(pool, a).or_else(|| self.root(pool, b)),
            _ => None,
        }
    }

    /// Whether a value may point into an object.
    pub(crate) fn points_to(&self, pool: &TermPool, term: TermId, object: TermId) -> bool {
        match pool.node(term) {
            Node::Ite(_, a, b) => self.points_to(pool, a, object) || self.points_to(pool, b, object),
            Node::Const(_) => false,
            _ => self.root(pool, term) == Some(object),
        }
    }

    /// All objects a value may point into.
    pub(crate) fn roots(&self, pool: &TermPool, term: TermId, found: &mut SmallVec<[TermId; 4]>) {
        match pool.node(term) {
            Node::Ite(_, a, b) => {
                self.roots(pool, a, found);
                self.roots(pool, b, found);
            }
            _ => found.extend(self.root(pool, term)),
        }
    }
}
