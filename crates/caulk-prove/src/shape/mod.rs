//! What the prover knows of a function before it looks at any probe: its expressions, the classes of its values, and
//! where values are used last.
//!
//! A value holds a reference from its definition on, for as long as [`Holding`] says. What is computed from it by offsets and casts counts
//! as the value itself.

mod addresses;
mod classes;
mod tables;

use std::collections::BTreeSet;
use std::sync::OnceLock;

use caulk_ir::entity::Entity;
use caulk_ir::{
    AddressStep, BlockId, Body, CallData, CastOp, Constant, DominatorTree, EntityVec, Inst, InstId, Operand, Type,
    VarId,
};
use caulk_program::{FuncId, Program, TypeId, UnitId};
use smallvec::SmallVec;

pub(crate) use addresses::Part;

use self::tables::Tables;
use crate::bindings::Bindings;
use crate::config::ProveConfig;
use crate::expr::{Expr, Hop, Root};
use crate::fresh::Fresh;
use crate::liveness::LastUses;
use crate::outside::{self, Outside};
use crate::regions::Regions;
use crate::target::PointsTo;

pub struct Shape {
    pub id: FuncId,
    pub unit: UnitId,
    pub body: Body,
    pub predecessors: EntityVec<BlockId, Vec<BlockId>>,
    pub block_of: EntityVec<InstId, BlockId>,
    tables: Tables,
    by_use: LastUses,
    /// Costs more, and is not always asked for. None where it would cost too much.
    by_scope: OnceLock<Option<LastUses>>,
    max_scope_cells: usize,
    max_scope_iterations: usize,
    dominators: DominatorTree,
    fresh: Fresh,
    /// What each value is declared to point to, by the variables it is bound to and the memory it comes from.
    pub classes: EntityVec<InstId, PointsTo>,
    /// Local variables that something outside of the function may reach.
    pub escaped: BTreeSet<InstId>,
    /// Local variables whose address is stored, passed or returned.
    given_away: BTreeSet<InstId>,
    /// Blocks from which the function surely does not come back: what is lost there is lost with the process.
    pub doomed: EntityVec<BlockId, bool>,
    /// Why nothing is proved of this function.
    pub outside: Option<Outside>,
    /// The tables of what is used where would be too large, and are not there.
    pub is_too_large: bool,
    pub is_recursive: bool,
}

impl Shape {
    pub fn new(
        program: &Program,
        regions: &dyn Regions,
        config: &ProveConfig,
        id: FuncId,
        is_recursive: bool,
    ) -> Option<Self> {
        let body = program.body(id)?;
        let unit = program.function(id).unit;
        let predecessors = body.predecessors();
        let block_of = body.inst_blocks();
        let classes = vec![PointsTo::Any; body.insts.len()].into();
        let mut shape = Self {
            id,
            unit,
            tables: Tables::new(&body),
            by_use: LastUses::default(),
            by_scope: OnceLock::new(),
            max_scope_cells: config.max_scope_cells,
            max_scope_iterations: config.max_scope_iterations,
            dominators: DominatorTree::new(&body),
            fresh: Fresh::default(),
            classes,
            escaped: BTreeSet::new(),
            given_away: BTreeSet::new(),
            doomed: doomed(&body, &predecessors),
            outside: None,
            is_too_large: false,
            is_recursive,
            predecessors,
            block_of,
            body,
        };
        shape.escaped = shape.find_escaped();
        shape.given_away = shape.find_given_away();
        shape.classes = shape.find_classes(program, regions);
        shape.tables.note_touched(&shape.find_touched(program));
        shape.is_too_large = LastUses::words(&shape) > config.max_table_words;
        if !shape.is_too_large {
            shape.by_use = LastUses::new(&shape, &Bindings::default());
        }
        shape.fresh = Fresh::new(&shape);
        shape.outside = outside::find(program, &shape);
        Some(shape)
    }

    /// How long values hold references, under a notion of holding. Where variables are too many, by use.
    pub fn liveness(&self, holding: Holding) -> &LastUses {
        match holding {
            Holding::ByUse => &self.by_use,
            Holding::ByScope => self.by_scope().unwrap_or(&self.by_use),
        }
    }

    fn by_scope(&self) -> Option<&LastUses> {
        let find = || {
            let bindings = Bindings::new(self, self.max_scope_cells, self.max_scope_iterations)?;
            Some(LastUses::new(self, &bindings))
        };
        self.by_scope.get_or_init(find).as_ref()
    }

    /// Whether it is known how long values are held under a notion.
    pub fn knows(&self, holding: Holding) -> bool {
        holding == Holding::ByUse || self.by_scope().is_some()
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
        derived_from(&self.body.insts[value])
    }

    /// What the phi takes on the way from a block.
    pub fn taken(&self, phi: InstId, from: BlockId) -> Option<Operand> {
        self.tables.taken(phi, from)
    }

    /// The one number for which a switch goes to a block, if there is only one.
    pub fn only_case(&self, switch: InstId, to: BlockId) -> Option<u64> {
        self.tables.only_case(switch, to)
    }

    /// Local variables whose scope has no end but that of the function.
    pub fn unended(&self) -> &[InstId] {
        &self.tables.unended
    }

    pub fn locals(&self) -> &[InstId] {
        &self.tables.locals
    }

    /// The variables that a value is bound to first and last.
    pub fn bound_to(&self, value: InstId) -> Option<(VarId, VarId)> {
        self.tables.bound_to.get(&value).copied()
    }

    /// The values that a variable is bound to.
    pub fn bound_values(&self, var: VarId) -> &[Operand] {
        &self.tables.bound_values[var]
    }

    /// The blocks that can follow one, each once.
    pub fn successors(&self, block: BlockId) -> Vec<BlockId> {
        let mut next = self.body.terminator(block).successors().to_vec();
        let mut seen = BTreeSet::new();
        next.retain(|block| seen.insert(*block));
        next
    }

    /// The value that an operand is computed from by offsets.
    pub fn base(&self, operand: Operand) -> Operand {
        match operand {
            Operand::Value(value) => self.tables.bases[value],
            constant => constant,
        }
    }

    /// That value, and the values on the way to it, outermost first.
    fn derivation(&self, operand: Operand) -> (Operand, SmallVec<[InstId; 4]>) {
        let mut chain = SmallVec::new();
        let base = self.base(operand);
        let mut at = operand;
        while let Some((value, from)) = at.value().filter(|_| at != base).and_then(|v| Some((v, self.derived_from(v)?)))
        {
            chain.push(value);
            at = from;
        }
        (base, chain)
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

    fn hop(&self, step: AddressStep) -> Hop {
        match step {
            AddressStep::Field { offset, .. } => Hop::Add(offset as i64),
            AddressStep::Bytes { offset, .. } => Hop::Add(offset),
            AddressStep::Index { index, stride } => match index {
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
    pub fn class(&self, program: &Program, operand: Operand) -> PointsTo {
        match self.base(operand) {
            Operand::Value(value) => match &self.body.insts[value] {
                Inst::Local { .. } => match self.local_type(program, value) {
                    Some(ty) => PointsTo::To { depth: 1, ty },
                    None => PointsTo::Any,
                },
                _ => self.classes[value],
            },
            Operand::Const(_) => PointsTo::Any,
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

    /// Whether a value cannot be the address of a local: it comes out of memory or from elsewhere, and no code was given
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
    /// phis, are as good as the address itself: what is given away is followed back through them.
    fn find_given_away(&self) -> BTreeSet<InstId> {
        let mut given = BTreeSet::new();
        let mut todo = Vec::new();
        for (id, inst) in self.body.insts.iter() {
            match inst {
                Inst::Store { value, .. } => todo.push(*value),
                Inst::Load { .. }
                | Inst::Copy { .. }
                | Inst::Fill { .. }
                | Inst::Compare { .. }
                | Inst::Bind { .. } => {}
                Inst::Phi { .. } | Inst::Select { .. } => {}
                _ if self.derived_from(id).is_some() => {}
                _ => inst.for_each_operand(|operand| todo.push(*operand)),
            }
        }
        while let Some(operand) = todo.pop() {
            let Some(value) = self.base(operand).value().filter(|v| given.insert(*v)) else { continue };
            if let inst @ (Inst::Phi { .. } | Inst::Select { .. }) = &self.body.insts[value] {
                inst.for_each_operand(|operand| todo.push(*operand));
            }
        }
        given.retain(|value| matches!(self.body.insts[*value], Inst::Local { .. }));
        given
    }
}

/// What an instruction only computes an offset from.
fn derived_from(inst: &Inst) -> Option<Operand> {
    match inst {
        Inst::Address { base, .. } => Some(*base),
        Inst::Cast { op: CastOp::Bits, from: Type::Ptr, to: Type::Ptr, value } => Some(*value),
        _ => None,
    }
}

/// How long a variable holds a reference. Each makes a proof for some functions that the other does not, and both are
/// sound: memory that some reference still leads to when a variable is used last is not lost by the variable.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Holding {
    /// Until it is used for the last time.
    ByUse,
    /// Until it is assigned again or goes out of scope, as in the paper.
    ByScope,
}

/// Blocks that only lead to an end of the process.
fn doomed(body: &Body, predecessors: &EntityVec<BlockId, Vec<BlockId>>) -> EntityVec<BlockId, bool> {
    let mut doomed: EntityVec<BlockId, bool> = vec![false; body.blocks.len()].into();
    // Edges out of each block that are not known to be doomed.
    let mut open: EntityVec<BlockId, usize> = vec![0; body.blocks.len()].into();
    for next in predecessors.values() {
        next.iter().for_each(|block| open[*block] += 1);
    }
    let ends = body.blocks.keys().filter(|block| matches!(body.terminator(*block), Inst::Unreachable));
    let mut todo: Vec<BlockId> = ends.collect();
    while let Some(block) = todo.pop() {
        doomed[block] = true;
        for before in &predecessors[block] {
            open[*before] -= 1;
            if open[*before] == 0 {
                todo.push(*before);
            }
        }
    }
    doomed
}
