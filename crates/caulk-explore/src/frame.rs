//! What stage two knows of a function before it executes it: order, loops, and which values later conditions can still see.

use std::cell::OnceCell;
use std::ops::Deref;

use caulk_ir::{BlockId, Body, EntityVec, Inst, InstId, Operand, Outline, Type};
use caulk_memory::Class;
use caulk_program::{FuncId, Program, UnitId, copied_errnos};
use rustc_hash::FxHashSet;
use smallvec::SmallVec;

use crate::ahead::LoadedAhead;
use crate::assertions::failed_assertions;
use crate::matches::{SoleMatches, sole_matches};

pub(crate) struct Frame<'a> {
    pub program: &'a Program,
    pub id: FuncId,
    pub unit: UnitId,
    pub body: &'a Body,
    pub outline: Outline<'a>,
    /// Whether a condition of the function depends on a value, through memory too.
    pub is_tested: EntityVec<InstId, bool>,
    /// Headers of the loops each block is part of.
    pub loops: EntityVec<BlockId, SmallVec<[BlockId; 2]>>,
    /// Values that are used outside of the block that makes them.
    crossing: Vec<InstId>,
    /// By block, once asked for.
    live_pointers: EntityVec<BlockId, OnceCell<Vec<InstId>>>,
    /// Whether a condition, or what callers and callees are told, depends on a value.
    is_relevant: EntityVec<InstId, bool>,
    /// Paths are distinguished by what variables were set to on them.
    with_choices: bool,
    /// By block, once asked for.
    seen_ahead: EntityVec<BlockId, OnceCell<Vec<InstId>>>,
    pub loaded_ahead: LoadedAhead,
    /// Sides of branches on which a soft assertion fails.
    pub failed_assertions: FxHashSet<(InstId, u32)>,
    /// Sides of branches that at most one iteration of a loop takes.
    pub sole_matches: SoleMatches,
    /// Loads of `errno` that are copied, not compared.
    pub copied_errnos: Vec<InstId>,
}

/// A frame is the outline of the body, and what stage two knows besides.
impl<'a> Deref for Frame<'a> {
    type Target = Outline<'a>;

    fn deref(&self) -> &Outline<'a> {
        &self.outline
    }
}

impl<'a> Frame<'a> {
    /// `decides`: whether the operands of a call or return matter to what happens later.
    pub(crate) fn new(program: &'a Program, id: FuncId, body: &'a Body, decides: &dyn Fn(InstId) -> bool) -> Self {
        let outline = Outline::new(body);
        let loops = natural_loops(body, &outline);
        let mut frame = Self {
            program,
            id,
            unit: program.function(id).unit,
            body,
            is_tested: vec![false; body.insts.len()].into(),
            sole_matches: sole_matches(program.unit(program.function(id).unit), body, &outline.homes, &loops),
            loops,
            crossing: Vec::new(),
            live_pointers: vec![OnceCell::new(); body.blocks.len()].into(),
            is_relevant: EntityVec::default(),
            with_choices: true,
            seen_ahead: vec![OnceCell::new(); body.blocks.len()].into(),
            loaded_ahead: LoadedAhead::new(body, &[], &[]),
            failed_assertions: failed_assertions(program.unit(program.function(id).unit), body),
            copied_errnos: copied_errnos(program.unit(program.function(id).unit), body),
            outline,
        };
        frame.crossing = body.insts.keys().filter(|v| frame.liveness().crosses_blocks(*v)).collect();
        // What is returned is the caller's to ask about.
        frame.is_tested = frame.relevant_values(&|inst| body.insts[inst].is_terminator());
        frame.look_ahead(decides);
        frame
    }

    /// Whether a value may be a pointer.
    fn may_point(&self, value: InstId) -> bool {
        width_of(self.body.insts[value].result_type()).is_none_or(|width| width == 64)
    }

    /// Values that are used in a block or after it. Sorted.
    pub(crate) fn live_in(&self, block: BlockId) -> impl Iterator<Item = InstId> + '_ {
        self.crossing.iter().copied().filter(move |v| self.liveness().is_live_in(block, *v))
    }

    /// Pointers that are used in a block or after it.
    pub(crate) fn live_pointers(&self, block: BlockId) -> &[InstId] {
        self.live_pointers[block].get_or_init(|| {
            let live = self.live_in(block).filter(|v| self.may_point(*v));
            // What was chosen on the way here may be all that names the object. In loops that is too many states.
            let is_loop = !self.loops[block].is_empty();
            live.chain(self.phis(block).filter(|_| !is_loop)).collect()
        })
    }

    /// Without distinguishing paths by what variables were set to on them: there are fewer. None: they are not distinguished by that.
    pub(crate) fn without_choices(mut self) -> Option<Self> {
        let mut blocks = self.outline.blocks_by_order.iter();
        let is_distinguished = blocks.any(|block| {
            let mut phis = self.choices(*block);
            phis.any(|v| self.is_relevant[v] && !self.is_condition(v) && !self.liveness().is_live_in(*block, v))
        });
        self.with_choices = false;
        self.seen_ahead = vec![OnceCell::new(); self.body.blocks.len()].into();
        is_distinguished.then_some(self)
    }

    /// Blocks from which one of `targets` can be reached, themselves included.
    pub(crate) fn leading_to(&self, targets: &[BlockId]) -> EntityVec<BlockId, bool> {
        let predecessors = self.predecessors();
        let mut reached: EntityVec<BlockId, bool> = vec![false; self.body.blocks.len()].into();
        let mut work = targets.to_vec();
        while let Some(block) = work.pop() {
            if !std::mem::replace(&mut reached[block], true) {
                work.extend(predecessors[block].iter().copied());
            }
        }
        reached
    }

    /// The class of the cell at an address.
    pub(crate) fn class_of(&self, address: Operand) -> Class {
        Class::of_address(self.program, self.unit, self.body, address)
    }

    /// Finds what conditions depend on, and where memory that they depend on is still read.
    fn look_ahead(&mut self, decides: &dyn Fn(InstId) -> bool) {
        self.is_relevant = self.relevant_values(decides);
        let loads: Vec<(BlockId, Class)> = (self.body.insts.iter())
            .filter_map(|(inst, kind)| match kind {
                Inst::Load { address, .. } if self.is_relevant[inst] => {
                    Some((self.homes[inst], self.class_of(*address)))
                }
                _ => None,
            })
            .collect();
        self.loaded_ahead = LoadedAhead::new(self.body, &self.blocks_by_order, &loads);
    }

    /// Values that conditions ahead of a block depend on, of those computed before it. Sorted.
    pub(crate) fn seen_ahead(&self, block: BlockId) -> &[InstId] {
        self.seen_ahead[block].get_or_init(|| {
            let own = self.choices(block).filter(|v| self.with_choices || self.is_condition(*v));
            let mut seen: Vec<InstId> = self.live_in(block).chain(own).collect();
            seen.retain(|v| self.is_relevant[*v]);
            seen.sort_unstable();
            seen.dedup();
            seen
        })
    }

    /// What `a && b` came to, or what a variable was set to on each way to a block, has its value when paths meet there. In loops only the
    /// first are distinguished: that is too many states otherwise.
    fn choices(&self, block: BlockId) -> impl Iterator<Item = InstId> + '_ {
        let is_distinguished = self.loops[block].is_empty();
        let is_choice = move |v: &InstId| is_distinguished || self.is_condition(*v);
        self.phis(block).filter(is_choice)
    }

    fn phis(&self, block: BlockId) -> impl Iterator<Item = InstId> + '_ {
        self.body.blocks[block].insts().take_while(|v| matches!(self.body.insts[*v], Inst::Phi { .. }))
    }

    fn is_condition(&self, value: InstId) -> bool {
        matches!(self.body.insts[value], Inst::Phi { ty: Type::Int(1), .. })
    }

    /// Values that a condition is computed from, through memory too: what is stored where a relevant load reads.
    fn relevant_values(&self, decides: &dyn Fn(InstId) -> bool) -> EntityVec<InstId, bool> {
        let body = self.body;
        let mut relevant: EntityVec<InstId, bool> = vec![false; body.insts.len()].into();
        let mut work: Vec<InstId> = Vec::new();
        let mut classes: FxHashSet<Class> = FxHashSet::default();
        let store = |inst: &Inst| match inst {
            Inst::Store { value, address, .. } => value.value().map(|value| (value, self.class_of(*address))),
            _ => None,
        };
        let stores: Vec<(InstId, Class)> = body.insts.values().filter_map(store).collect();
        for (id, inst) in body.insts.iter() {
            match inst {
                Inst::Branch { cond: value, .. } | Inst::Switch { value, .. } => work.extend(value.value()),
                // What a callee does may depend on what it is given.
                Inst::Call(call) | Inst::Invoke { call, .. } if decides(id) => {
                    work.extend(call.args.iter().filter_map(|a| a.value()));
                }
                Inst::Return { value: Some(value) } if decides(id) => work.extend(value.value()),
                _ => {}
            }
        }
        loop {
            while let Some(value) = work.pop() {
                if std::mem::replace(&mut relevant[value], true) {
                    continue;
                }
                if let Inst::Load { address, .. } = &body.insts[value] {
                    classes.insert(self.class_of(*address));
                }
                body.insts[value].for_each_operand(|operand| work.extend(operand.value()));
            }
            let is_read = |class: &Class| match class {
                Class::Other => !classes.is_empty(),
                class => classes.contains(class) || classes.contains(&Class::Other),
            };
            let stored = stores.iter().filter(|(value, class)| !relevant[*value] && is_read(class));
            work.extend(stored.map(|(value, _)| *value));
            if work.is_empty() {
                return relevant;
            }
        }
    }
}

/// For each block the headers of the loops around it: targets of edges that go back, with all that leads to the edge.
fn natural_loops(body: &Body, outline: &Outline<'_>) -> EntityVec<BlockId, SmallVec<[BlockId; 2]>> {
    let (order, predecessors) = (&outline.order, outline.predecessors());
    let mut loops: EntityVec<BlockId, SmallVec<[BlockId; 2]>> = vec![SmallVec::new(); body.blocks.len()].into();
    for block in body.blocks.keys() {
        for header in body.terminator(block).successors() {
            if order[block] == u32::MAX || order[header] > order[block] {
                continue;
            }
            let mut work = vec![block];
            while let Some(inside) = work.pop() {
                if loops[inside].contains(&header) || order[inside] < order[header] {
                    continue;
                }
                loops[inside].push(header);
                if inside != header {
                    work.extend(predecessors[inside].iter().copied());
                }
            }
        }
    }
    for headers in loops.values_mut() {
        headers.sort_unstable();
    }
    loops
}

/// The width of a value as a term; None for what is no number and no pointer.
pub(crate) fn width_of(ty: Type) -> Option<u8> {
    match ty {
        Type::Int(bits) if (1..=64).contains(&bits) => Some(bits as u8),
        Type::Ptr => Some(64),
        _ => None,
    }
}

/// A type whose values are terms of a width, where nothing better is known.
pub(crate) fn type_of(width: u8) -> Type {
    if width == 64 { Type::Ptr } else { Type::Int(u16::from(width)) }
}

/// Bytes a value takes in memory.
pub(crate) fn bytes_of(ty: Type) -> u64 {
    ty.bytes(8)
}

pub(crate) fn is_pointer(ty: Type) -> bool {
    matches!(ty, Type::Ptr | Type::Aggregate(_) | Type::Vector(_))
}
