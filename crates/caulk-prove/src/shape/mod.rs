//! What the prover knows of a function before it looks at any probe: its expressions, the classes of its values, and
//! where values are used last.
//!
//! A value holds a reference from its definition on, for as long as [`Holding`] says. What is computed from it by offsets and casts counts
//! as the value itself.

mod addresses;
mod classes;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::OnceLock;

use caulk_ir::entity::Entity;
use caulk_ir::{
    BlockId, Body, CallData, CastOp, Constant, DominatorTree, EntityVec, Inst, InstId, Operand, Step, Type,
};
use caulk_program::{FuncId, Program, TypeId, UnitId};
use smallvec::SmallVec;

pub use addresses::Part;

use crate::bindings::Bindings;
use crate::expr::{Expr, Hop, Root};
use crate::fresh::Fresh;
use crate::liveness::Liveness;
use crate::outside::{self, Outside};
use crate::regions::Regions;
use crate::target::Class;

pub struct Shape {
    pub id: FuncId,
    pub unit: UnitId,
    pub body: Body,
    pub predecessors: EntityVec<BlockId, Vec<BlockId>>,
    pub block_of: EntityVec<InstId, BlockId>,
    by_use: Liveness,
    /// Costs more, and is not always asked for.
    by_scope: OnceLock<Liveness>,
    dominators: DominatorTree,
    fresh: Fresh,
    /// What each value is declared to point to, by the variables it is bound to and the memory it comes from.
    pub classes: EntityVec<InstId, Class>,
    /// Local variables that something outside of the function may reach.
    pub escaped: BTreeSet<InstId>,
    /// Local variables whose address is stored, passed or returned.
    given_away: BTreeSet<InstId>,
    /// Blocks from which the function surely does not come back: what is lost there is lost with the process.
    pub doomed: EntityVec<BlockId, bool>,
    /// Why nothing is proved of this function.
    pub outside: Option<Outside>,
    pub is_recursive: bool,
}

impl Shape {
    pub fn new(program: &Program, regions: &dyn Regions, id: FuncId, is_recursive: bool) -> Option<Self> {
        let body = program.body(id)?;
        let unit = program.function(id).unit;
        let predecessors = body.predecessors();
        let block_of = body.inst_blocks();
        let classes = vec![Class::Any; body.insts.len()].into();
        let mut shape = Self {
            id,
            unit,
            by_use: Liveness::default(),
            by_scope: OnceLock::new(),
            dominators: DominatorTree::new(&body),
            fresh: Fresh::default(),
            classes,
            escaped: BTreeSet::new(),
            given_away: BTreeSet::new(),
            doomed: doomed(&body),
            outside: None,
            is_recursive,
            predecessors,
            block_of,
            body,
        };
        shape.escaped = shape.find_escaped();
        shape.given_away = shape.find_given_away();
        shape.classes = shape.find_classes(program, regions);
        shape.by_use = Liveness::new(&shape, &Bindings::default());
        shape.fresh = Fresh::new(&shape);
        shape.outside = outside::find(program, &shape);
        Some(shape)
    }

    /// How long values hold references, under a notion of holding.
    pub fn liveness(&self, holding: Holding) -> &Liveness {
        match holding {
            Holding::ByUse => &self.by_use,
            Holding::ByScope => self.by_scope.get_or_init(|| Liveness::new(self, &Bindings::new(self))),
        }
    }

    pub fn params(&self) -> impl Iterator<Item = InstId> + '_ {
        let is_param = |inst: &&Inst| matches!(inst, Inst::Param { .. });
        (0..self.body.insts.values().take_while(is_param).count()).map(InstId::from_index)
    }

    pub fn is_param(&self, value: InstId) -> bool {
        matches!(self.body.insts[value], Inst::Param { .. })
    }

    /// Whether a value can hold a reference of its own: a pointer that is no offset from another.
    pub fn is_holder(&self, value: InstId) -> bool {
        let inst = &self.body.insts[value];
        inst.result_type() == Type::Ptr && self.derived_from(value).is_none() && !matches!(inst, Inst::Local { .. })
    }

    fn derived_from(&self, value: InstId) -> Option<Operand> {
        match &self.body.insts[value] {
            Inst::Address { base, .. } => Some(*base),
            Inst::Cast { op: CastOp::Bits, from: Type::Ptr, to: Type::Ptr, value } => Some(*value),
            _ => None,
        }
    }

    /// The value that an operand is computed from by offsets.
    pub fn base(&self, operand: Operand) -> Operand {
        self.derivation(operand).0
    }

    /// That value, and the values on the way to it, outermost first.
    fn derivation(&self, operand: Operand) -> (Operand, SmallVec<[InstId; 4]>) {
        let mut chain = SmallVec::new();
        let mut at = operand;
        while let Operand::Value(value) = at {
            match self.derived_from(value) {
                Some(base) => {
                    chain.push(value);
                    at = base;
                }
                None => break,
            }
        }
        (at, chain)
    }

    /// The holder behind an operand.
    pub fn holder(&self, operand: Operand) -> Option<InstId> {
        self.base(operand).value().filter(|v| self.is_holder(*v))
    }

    /// The expression an operand stands for. Offsets are spelled out, so that equal addresses look equal.
    pub fn expr(&self, program: &Program, operand: Operand) -> Expr {
        let (at, chain) = self.derivation(operand);
        let mut expr = self.root_expr(program, at);
        for value in chain.into_iter().rev() {
            if let Inst::Address { steps, .. } = &self.body.insts[value] {
                for step in steps {
                    expr = expr.then(self.hop(*step));
                }
            }
        }
        expr
    }

    fn hop(&self, step: Step) -> Hop {
        match step {
            Step::Field { offset, .. } => Hop::Add(offset as i64),
            Step::Bytes { offset, .. } => Hop::Add(offset),
            Step::Index { index, stride } => match index {
                Operand::Value(index) => Hop::Index { index, stride },
                Operand::Const(c) => {
                    let index = self.body.consts[c].as_signed().unwrap_or(0);
                    Hop::Add(index.wrapping_mul(stride as i64))
                }
            },
        }
    }

    fn root_expr(&self, program: &Program, operand: Operand) -> Expr {
        match operand {
            Operand::Value(value) => match &self.body.insts[value] {
                Inst::Local { .. } => Expr::root(Root::Local(value)),
                _ => Expr::value(value),
            },
            Operand::Const(c) => self.constant_expr(program, self.body.consts[c]),
        }
    }

    fn constant_expr(&self, program: &Program, constant: Constant) -> Expr {
        match constant {
            Constant::Global { global, offset } => {
                let global = program.resolve_global(self.unit, global)[0];
                Expr::root(Root::Static(global)).then(Hop::Add(offset))
            }
            Constant::Int { value, .. } | Constant::Pointer(value) => Expr::root(Root::Number(value)),
            Constant::Function(_) => Expr::root(Root::Code),
            Constant::Opaque(_) | Constant::Float { .. } | Constant::Undef(_) => Expr::root(Root::Undefined),
            Constant::Null | Constant::Zero(_) => Expr::root(Expr::NULL),
        }
    }

    /// The structure that a local variable is.
    pub fn local_type(&self, program: &Program, local: InstId) -> Option<TypeId> {
        let Inst::Local { var: Some(var), .. } = self.body.insts[local] else { return None };
        let pointee = self.body.vars[var].pointee;
        pointee.target.filter(|_| pointee.depth == 0).map(|ty| program.resolve_struct(self.unit, ty))
    }

    /// The class of an operand, as far as it is declared.
    pub fn class(&self, program: &Program, operand: Operand) -> Class {
        match self.base(operand) {
            Operand::Value(value) => match &self.body.insts[value] {
                Inst::Local { .. } => match self.local_type(program, value) {
                    Some(ty) => Class::To { depth: 1, ty },
                    None => Class::Any,
                },
                _ => self.classes[value],
            },
            Operand::Const(_) => Class::Any,
        }
    }

    /// Whether two values certainly point to different blocks: one is fresh, and the other was there before.
    pub fn are_distinct(&self, a: InstId, b: InstId) -> bool {
        let is_newer = |fresh: InstId, old: InstId| {
            let is_fresh = self.call(fresh).is_some_and(|call| call.flags.fresh_result);
            is_fresh && fresh != old && self.is_before(old, fresh)
        };
        is_newer(a, b) || is_newer(b, a)
    }

    /// Whether at an instruction only this value leads to the block it points to.
    pub fn is_unshared(&self, value: InstId, at: InstId) -> bool {
        self.fresh.is_unshared(self, value, at)
    }

    /// Whether a value cannot be the address of a local: it comes out of memory or from elsewhere, and nobody was given
    /// the local's address.
    pub fn is_not_local(&self, value: InstId, local: InstId) -> bool {
        let is_foreign = matches!(self.body.insts[value], Inst::Load { .. } | Inst::Param { .. } | Inst::Call(_));
        is_foreign && !self.given_away.contains(&local)
    }

    pub fn is_given_away(&self, local: InstId) -> bool {
        self.given_away.contains(&local)
    }

    fn is_before(&self, first: InstId, second: InstId) -> bool {
        if matches!(self.body.insts[first], Inst::Param { .. }) {
            return true;
        }
        let (a, b) = (self.block_of[first], self.block_of[second]);
        if a == b { first < second } else { self.dominators.dominates(a, b) }
    }

    /// Blocks that may be executed after the block of an instruction is left.
    pub fn blocks_after(&self, inst: InstId) -> BTreeSet<BlockId> {
        let mut seen = BTreeSet::new();
        let mut todo = vec![self.block_of[inst]];
        while let Some(block) = todo.pop() {
            todo.extend(self.body.terminator(block).successors().into_iter().filter(|next| seen.insert(*next)));
        }
        seen
    }

    /// Whether an instruction may be executed again in the same call of its function.
    pub fn is_in_loop(&self, inst: InstId) -> bool {
        self.blocks_after(inst).contains(&self.block_of[inst])
    }

    pub fn call(&self, inst: InstId) -> Option<&CallData> {
        self.body.insts[inst].call()
    }

    /// A local escapes unless every use is an access to it.
    fn find_escaped(&self) -> BTreeSet<InstId> {
        let mut escaped = BTreeSet::new();
        let mut escape = |operand: Operand| {
            if let Some(local) = self.base(operand).value() {
                if matches!(self.body.insts[local], Inst::Local { .. }) {
                    escaped.insert(local);
                }
            }
        };
        for (id, inst) in self.body.insts.iter() {
            match inst {
                Inst::Store { value, .. } => escape(*value),
                Inst::Load { .. }
                | Inst::Copy { .. }
                | Inst::Fill { .. }
                | Inst::Compare { .. }
                | Inst::Bind { .. } => {}
                _ if self.derived_from(id).is_some() => {}
                _ => inst.for_each_operand(|operand| escape(*operand)),
            }
        }
        escaped
    }

    /// Locals that may be pointed to from memory or from other functions. Values that may be a local's address, through
    /// phis, are as good as the address itself.
    fn find_given_away(&self) -> BTreeSet<InstId> {
        let mut names: BTreeMap<InstId, BTreeSet<InstId>> = BTreeMap::new();
        let of = |names: &BTreeMap<InstId, BTreeSet<InstId>>, operand: Operand| -> BTreeSet<InstId> {
            let Some(value) = self.base(operand).value() else { return BTreeSet::new() };
            match self.body.insts[value] {
                Inst::Local { .. } => BTreeSet::from([value]),
                _ => names.get(&value).cloned().unwrap_or_default(),
            }
        };
        let mut changed = true;
        while changed {
            changed = false;
            for (id, inst) in self.body.insts.iter() {
                if matches!(inst, Inst::Phi { .. } | Inst::Select { .. }) {
                    let mut all = BTreeSet::new();
                    inst.for_each_operand(|operand| all.extend(of(&names, *operand)));
                    let known = names.entry(id).or_default();
                    let before = known.len();
                    known.extend(all);
                    changed |= known.len() > before;
                }
            }
        }
        let mut given = BTreeSet::new();
        for (id, inst) in self.body.insts.iter() {
            match inst {
                Inst::Store { value, .. } => given.extend(of(&names, *value)),
                Inst::Load { .. }
                | Inst::Copy { .. }
                | Inst::Fill { .. }
                | Inst::Compare { .. }
                | Inst::Bind { .. } => {}
                Inst::Phi { .. } | Inst::Select { .. } => {}
                _ if self.derived_from(id).is_some() => {}
                _ => inst.for_each_operand(|operand| given.extend(of(&names, *operand))),
            }
        }
        given
    }
}

/// How long a variable holds a reference. Each makes a proof for some functions that the other does not, and both are
/// sound: memory that some reference still leads to when a variable is used last is not lost by the variable.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Holding {
    /// Until it is used for the last time.
    ByUse,
    /// Until it is assigned anew or goes out of scope, as in the paper.
    ByScope,
}

/// Blocks that only lead to an end of the process.
fn doomed(body: &Body) -> EntityVec<BlockId, bool> {
    let mut doomed: EntityVec<BlockId, bool> = vec![false; body.blocks.len()].into();
    let mut changed = true;
    while changed {
        changed = false;
        for (block, _) in body.blocks.iter().rev() {
            let terminator = body.terminator(block);
            let next = terminator.successors();
            let is_doomed =
                matches!(terminator, Inst::Unreachable) || (!next.is_empty() && next.iter().all(|n| doomed[*n]));
            if is_doomed && !doomed[block] {
                doomed[block] = true;
                changed = true;
            }
        }
    }
    doomed
}
