//! One execution of a function on symbols: what all of it needs. Its parts are other files, which `lib.rs` lists by what they are for: values and memory
//! (`evaluate.rs`, `store.rs`), calls (`call.rs`). Paths are in `search.rs`.

use std::cell::{Cell, RefCell};
use std::collections::BTreeSet;
use std::rc::Rc;

use caulk_ir::{Constant, Inst, InstId, Operand, Type};
use caulk_memory::Class;
use caulk_program::FuncId;
use caulk_solver::{Node, Solver, TermId, TermPool};
use caulk_useflow::CallEffect;
use rustc_hash::{FxHashMap, FxHashSet};
use smallvec::SmallVec;

use crate::effect_cache::Given;
use crate::frame::{Frame, is_pointer, width_of};
use crate::memory::Content;
use crate::state::State;
use crate::symbols::{Key, Origin, Part, ProgramPoint, Symbols};
use crate::world::World;
use crate::written::{Lineage, Writers};

/// A pure call is known by its function, its arguments, and the memory it saw.
pub(crate) type PureCall = (FuncId, SmallVec<[TermId; 4]>, u32);

pub(crate) struct Machine<'a> {
    pub world: &'a World<'a>,
    pub frame: &'a Frame<'a>,
    pub pool: TermPool,
    pub solver: Solver,
    pub symbols: Symbols,
    pub pure_results: FxHashMap<PureCall, TermId>,
    /// Versions of memory are numbered over all paths.
    pub versions: u32,
    pub steps: usize,
    pub known_effects: FxHashMap<InstId, Option<Rc<CallEffect<'a>>>>,
    /// There is no object to follow: every block and every value given matters.
    pub follows_all: bool,
    /// Functions taken by their summaries: what they write is known only by class.
    pub opaque: BTreeSet<FuncId>,
    /// Where callees without a body may have written, in memory that callers can see: the places behind which nothing is known any more.
    pub filled: BTreeSet<Key>,
    /// Places whose contents lead to what they may have written.
    pub filled_inside: BTreeSet<Key>,
    /// Constants in place of parameters.
    pub given: Given,
    /// Whether functions that may call this one back are asked what they do, or taken by their summaries.
    pub asks_in_cycles: bool,
    /// Whether one of them was asked.
    pub has_asked_in_cycle: Cell<bool>,
    /// The roots of terms, once asked for.
    roots: RefCell<Vec<Option<Option<TermId>>>>,
    /// Whether callees make no block with the constants they are given, once asked for.
    pub(crate) sealed: RefCell<FxHashMap<(FuncId, Given), bool>>,
    /// The least and the greatest number that a variable of a loop is set to, once asked for.
    pub(crate) ranges: RefCell<FxHashMap<InstId, Option<(i64, i64)>>>,
    /// What leads to objects, once asked for.
    pub(crate) lineages: RefCell<Vec<Option<Rc<Lineage>>>>,
    /// Objects of which some cell was addressed by an index that is not known.
    pub indexed: RefCell<FxHashSet<TermId>>,
    /// What callees write, once asked for.
    pub(crate) writers: RefCell<FxHashMap<SmallVec<[FuncId; 2]>, Rc<Writers>>>,
}

impl<'a> Machine<'a> {
    pub(crate) fn new(world: &'a World<'a>, frame: &'a Frame<'a>) -> Self {
        Self {
            world,
            frame,
            pool: TermPool::new(world.config.solver.clone()),
            solver: Solver::new(),
            symbols: Symbols::default(),
            pure_results: FxHashMap::default(),
            versions: 0,
            steps: 0,
            known_effects: FxHashMap::default(),
            follows_all: false,
            opaque: BTreeSet::new(),
            filled: BTreeSet::new(),
            filled_inside: BTreeSet::new(),
            given: Given::new(),
            asks_in_cycles: true,
            has_asked_in_cycle: Cell::new(false),
            roots: RefCell::default(),
            sealed: RefCell::default(),
            ranges: RefCell::default(),
            lineages: RefCell::default(),
            indexed: RefCell::default(),
            writers: RefCell::default(),
        }
    }

    /// The same execution up to here, to be gone on with in another way. It has made no step of its own yet, and the solver was not asked
    /// before paths part.
    pub(crate) fn fork(&self) -> Self {
        Self {
            world: self.world,
            frame: self.frame,
            pool: self.pool.fork(),
            solver: Solver::new(),
            symbols: self.symbols.clone(),
            pure_results: self.pure_results.clone(),
            versions: self.versions,
            steps: self.steps,
            known_effects: self.known_effects.clone(),
            follows_all: self.follows_all,
            opaque: self.opaque.clone(),
            filled: self.filled.clone(),
            filled_inside: self.filled_inside.clone(),
            given: self.given.clone(),
            asks_in_cycles: self.asks_in_cycles,
            has_asked_in_cycle: self.has_asked_in_cycle.clone(),
            roots: self.roots.clone(),
            sealed: self.sealed.clone(),
            ranges: self.ranges.clone(),
            lineages: self.lineages.clone(),
            indexed: self.indexed.clone(),
            writers: self.writers.clone(),
        }
    }

    /// Paths kept apart at one block.
    pub(crate) fn max_states(&self) -> usize {
        match self.given.is_empty() {
            true => self.world.config.max_states,
            false => self.world.config.max_special_states,
        }
    }

    pub(crate) fn start(&mut self) -> State {
        let given = self.given.clone();
        self.start_with(&given)
    }

    /// A path at the function's start, with constants for some of its parameters.
    pub(crate) fn start_with(&mut self, given: &Given) -> State {
        let mut state = State::new(self.frame.body.insts.len());
        for (inst, kind) in self.frame.body.insts.iter() {
            let Inst::Param { index, ty } = kind else { break };
            let width = width_of(*ty).unwrap_or(64);
            let term = match given.iter().find(|(given, _)| given == index) {
                Some((_, value)) => self.pool.constant(width, *value),
                None => self.symbols.param(&mut self.pool, *index, width, is_pointer(*ty)),
            };
            if is_pointer(*ty) && self.world.analysis.survey.nonnull.has(self.frame.id, *index) {
                self.dereference(&mut state, term);
            }
            state.set(inst, term);
        }
        state
    }

    pub(crate) fn program_point(&self, state: &State, inst: InstId) -> ProgramPoint {
        let headers = &self.frame.loops[self.frame.homes[inst]];
        (inst, headers.iter().map(|h| state.iteration(*h)).collect())
    }

    /// Any value of a type.
    pub(crate) fn unknown(&mut self, program_point: &ProgramPoint, part: Part, ty: Type) -> TermId {
        let width = width_of(ty).unwrap_or(64);
        self.symbols.at(&mut self.pool, program_point.clone(), part, width, Origin::Unknown, is_pointer(ty))
    }

    /// Any value of a type that may have been made from the object, if one of its parts was.
    pub(crate) fn unknown_from(
        &mut self,
        state: &State,
        program_point: &ProgramPoint,
        ty: Type,
        parts: &[TermId],
    ) -> TermId {
        match state.tracked.filter(|t| parts.iter().any(|p| self.points_to(*p, *t))) {
            Some(object) => self.derived(program_point, Part::Value, object, ty),
            None => self.unknown(program_point, Part::Value, ty),
        }
    }

    /// An unknown of its own in place of a value.
    pub(crate) fn renewed(&mut self, value: TermId) -> TermId {
        let width = self.pool.width(value);
        self.symbols.make(&mut self.pool, width, Origin::Unknown, width == 64)
    }

    pub(crate) fn derived(&mut self, program_point: &ProgramPoint, part: Part, root: TermId, ty: Type) -> TermId {
        let width = width_of(ty).unwrap_or(64);
        self.symbols.at(&mut self.pool, program_point.clone(), part, width, Origin::Derived(root), true)
    }

    pub(crate) fn points_to(&self, value: TermId, object: TermId) -> bool {
        match self.root(value) {
            None => false,
            Some(root) if root == object => true,
            Some(_) => {
                matches!(self.pool.node(value), Node::Ite(..)) && self.symbols.points_to(&self.pool, value, object)
            }
        }
    }

    /// Whether a cell holds a pointer into an object.
    pub(crate) fn cell_points_to(&self, content: &Content, object: TermId) -> bool {
        content.points == Some(object)
            || (content.points.is_some()
                && matches!(self.pool.node(content.value), Node::Ite(..))
                && self.points_to(content.value, object))
    }

    pub(crate) fn content(&self, key: Key, value: TermId, bytes: u64, class: Class) -> Content {
        Content { value, bytes, class, holder: self.root(key.base), points: self.root(value) }
    }

    pub(crate) fn root(&self, value: TermId) -> Option<TermId> {
        let mut roots = self.roots.borrow_mut();
        if let Some(Some(known)) = roots.get(value.index()) {
            return *known;
        }
        let root = self.symbols.root(&self.pool, value);
        if roots.len() <= value.index() {
            roots.resize(value.index() + 1, None);
        }
        roots[value.index()] = Some(root);
        root
    }

    pub(crate) fn origin(&self, root: TermId) -> Origin {
        self.symbols.origin(&self.pool, root).unwrap_or(Origin::Unknown)
    }

    pub(crate) fn operand(&mut self, state: &State, operand: Operand) -> TermId {
        match operand {
            Operand::Value(v) => match state.get(v) {
                Some(term) => term,
                None => {
                    let program_point = self.program_point(state, v);
                    self.unknown(&program_point, Part::Met(state.serial), self.frame.body.insts[v].result_type())
                }
            },
            Operand::Const(c) => self.constant(self.frame.body.consts[c]),
        }
    }

    pub(crate) fn constant(&mut self, constant: Constant) -> TermId {
        match constant {
            Constant::Int { bits, value } if (1..=64).contains(&bits) => self.pool.constant(bits as u8, value),
            Constant::Null | Constant::Zero(_) => self.pool.constant(64, 0),
            Constant::Pointer(value) | Constant::Float { value, .. } => self.pool.constant(64, value),
            Constant::Global { global, offset } => {
                match self.frame.program.resolve_global(self.frame.unit, global).first() {
                    Some(global) => {
                        let base = self.symbols.global(&mut self.pool, *global);
                        self.pool.offset(base, offset, true)
                    }
                    None => self.anything(constant.ty()),
                }
            }
            Constant::Function(function) => {
                match self.frame.program.resolve_function(self.frame.unit, function).first() {
                    Some(function) => self.symbols.function(&mut self.pool, *function),
                    None => self.anything(Type::Ptr),
                }
            }
            other => self.anything(other.ty()),
        }
    }

    /// A pointer that was never set.
    pub(crate) fn undefined(&mut self) -> TermId {
        self.anything(Type::Ptr)
    }

    /// A constant without meaning: the same unknown each time does no harm, since nothing is learnt of it.
    fn anything(&mut self, ty: Type) -> TermId {
        self.unknown(&(InstId(u32::MAX), SmallVec::new()), Part::Value, ty)
    }
}
