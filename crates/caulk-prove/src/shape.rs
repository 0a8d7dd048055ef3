//! What the prover knows of a function before it looks at any probe: its expressions, the classes of its values, and
//! where values are used last.
//!
//! A value holds a reference from its definition on, for as long as [`Holding`] says. What is computed from it by offsets and casts counts
//! as the value itself.

use std::collections::{BTreeMap, BTreeSet};

use caulk_ir::entity::Entity;
use caulk_ir::{
    BlockId, Body, CallData, CastOp, Constant, DominatorTree, EntityVec, Inst, InstId, Operand, Step, Type,
};
use caulk_program::{FuncId, Program, TypeId, UnitId};

use crate::bindings::Bindings;
use crate::expr::{Expr, Hop, Root};
use crate::fresh::Fresh;
use crate::liveness::Liveness;
use crate::outside::{self, Outside};
use crate::regions::{Regions, class_of, field_target};
use crate::target::{Class, Target};

pub struct Shape {
    pub id: FuncId,
    pub unit: UnitId,
    pub body: Body,
    pub predecessors: EntityVec<BlockId, Vec<BlockId>>,
    pub block_of: EntityVec<InstId, BlockId>,
    bindings: Bindings,
    by_use: Liveness,
    by_scope: Liveness,
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
            bindings: Bindings::default(),
            by_use: Liveness::default(),
            by_scope: Liveness::default(),
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
        shape.bindings = Bindings::new(&shape);
        shape.by_use = Liveness::new(&shape, &Bindings::default());
        shape.by_scope = Liveness::new(&shape, &shape.bindings);
        shape.fresh = Fresh::new(&shape);
        shape.outside = outside::find(program, &shape);
        Some(shape)
    }

    /// How long values hold references, under a notion of holding.
    pub fn liveness(&self, holding: Holding) -> &Liveness {
        match holding {
            Holding::ByUse => &self.by_use,
            Holding::ByScope => &self.by_scope,
        }
    }

    pub fn params(&self) -> impl Iterator<Item = InstId> + '_ {
        let is_param = |inst: &&Inst| matches!(inst, Inst::Param { .. });
        (0..self.body.insts.values().take_while(is_param).count()).map(InstId::from_index)
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
    pub fn base(&self, mut operand: Operand) -> Operand {
        while let Operand::Value(value) = operand {
            match self.derived_from(value) {
                Some(base) => operand = base,
                None => break,
            }
        }
        operand
    }

    /// The holder behind an operand.
    pub fn holder(&self, operand: Operand) -> Option<InstId> {
        self.base(operand).value().filter(|v| self.is_holder(*v))
    }

    /// The expression an operand stands for. Offsets are spelled out, so that equal addresses look equal.
    pub fn expr(&self, program: &Program, operand: Operand) -> Expr {
        let mut chain = Vec::new();
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

    /// The memory that an address leads to.
    pub fn target(&self, program: &Program, address: Operand) -> Target {
        let (base, way) = self.way(program, address);
        self.target_from(program, base, way)
    }

    fn way(&self, program: &Program, address: Operand) -> (Operand, Way) {
        let mut chain = Vec::new();
        let mut at = address;
        while let Operand::Value(value) = at {
            match self.derived_from(value) {
                Some(base) => {
                    chain.push(value);
                    at = base;
                }
                None => break,
            }
        }
        let mut way = Way { field: None, offset: Some(0) };
        for value in chain.into_iter().rev() {
            if let Inst::Address { steps, .. } = &self.body.insts[value] {
                steps.iter().for_each(|step| way.step(self, program, *step));
            }
        }
        (at, way)
    }

    /// The pointers in `len` bytes from an address on, by their offset from it. None when nobody knows.
    pub fn parts(
        &self,
        program: &Program,
        regions: &dyn Regions,
        address: Operand,
        len: Option<u64>,
    ) -> Option<Vec<Part>> {
        let (base, way) = self.way(program, address);
        let local = base.value().filter(|v| matches!(self.body.insts[*v], Inst::Local { .. }));
        let own = local.filter(|l| !self.escaped.contains(l));
        let of_class = || match self.class(program, base) {
            Class::To { depth: 1, ty } => Some((ty, way.offset.and_then(|o| u64::try_from(o).ok())?)),
            _ => None,
        };
        let Some((ty, start)) = way.field.or_else(of_class) else {
            return match (own, self.class(program, base)) {
                (Some(local), _) => Some(self.touched_parts(program, local, way.offset)),
                (None, Class::To { depth, ty }) if depth > 1 => {
                    let target = Target::Wild(Class::To { depth: depth - 1, ty });
                    Some(vec![Part { offset: 0, target, exact: false }])
                }
                _ => None,
            };
        };
        let size = program.type_info(ty).size;
        let end = len.map_or(size, |len| start.saturating_add(len));
        let fields = regions.pointer_fields(ty).into_iter().filter(|f| start <= f.offset && f.offset < end);
        let part = |f: crate::regions::PointerField| {
            let offset = (f.offset - start) as i64;
            let target = match own {
                Some(local) => Target::Local { local, offset: way.offset.map(|o| o.wrapping_add(offset)) },
                None => f.target,
            };
            Part { offset, target, exact: !f.is_array && end <= size }
        };
        Some(fields.map(part).collect())
    }

    /// The parts of a local of unknown type that the function reads or writes as pointers.
    fn touched_parts(&self, program: &Program, local: InstId, start: Option<i64>) -> Vec<Part> {
        let mut parts = BTreeSet::new();
        for inst in self.body.insts.values() {
            let (Inst::Load { ty: Type::Ptr, address, .. } | Inst::Store { ty: Type::Ptr, address, .. }) = inst else {
                continue;
            };
            let (base, way) = self.way(program, *address);
            if base == Operand::Value(local) {
                parts.insert(way.offset);
            }
        }
        let part = |offset: Option<i64>| {
            let from_start = offset.zip(start).map(|(o, s)| o.wrapping_sub(s));
            Part {
                offset: from_start.unwrap_or(0),
                target: Target::Local { local, offset },
                exact: from_start.is_some(),
            }
        };
        parts.into_iter().map(part).collect()
    }

    fn target_from(&self, program: &Program, base: Operand, way: Way) -> Target {
        let by_field = way.field.map(|(ty, offset)| field_target(program, ty, offset));
        match base {
            Operand::Value(value) if matches!(self.body.insts[value], Inst::Local { .. }) => {
                if !self.escaped.contains(&value) {
                    return Target::Local { local: value, offset: way.offset };
                }
                let whole = || self.local_type(program, value).map(|ty| way.inside(program, ty));
                by_field.or_else(whole).unwrap_or(Target::Slot { function: self.id, local: value })
            }
            Operand::Value(value) => {
                by_field.unwrap_or_else(|| self.target_of_class(program, self.classes[value], way))
            }
            Operand::Const(c) => match self.body.consts[c] {
                Constant::Global { global, offset } => {
                    let id = program.resolve_global(self.unit, global)[0];
                    let info = program.global(id);
                    let pointee = info.declaration.pointee;
                    let ty = pointee.target.filter(|_| pointee.depth == 0);
                    let way = Way { offset: way.offset.map(|o| o.wrapping_add(offset)), ..way };
                    let whole = || ty.map(|ty| way.inside(program, program.resolve_struct(info.unit, ty)));
                    by_field.or_else(whole).unwrap_or(Target::Global(id))
                }
                _ => by_field.unwrap_or(Target::Wild(Class::Any)),
            },
        }
    }

    fn target_of_class(&self, program: &Program, class: Class, way: Way) -> Target {
        match class {
            Class::To { depth: 1, ty } => way.inside(program, ty),
            Class::To { depth, ty } => Target::Wild(Class::To { depth: depth - 1, ty }),
            Class::Any | Class::Code => Target::Wild(Class::Any),
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

    fn find_classes(&mut self, program: &Program, regions: &dyn Regions) -> EntityVec<InstId, Class> {
        let declaration = program.function(self.id).declaration;
        for param in self.params().collect::<Vec<_>>() {
            if let Some(p) = declaration.params.get(param.index()).filter(|p| !p.flags.by_value) {
                self.classes[param] = class_of(program, self.unit, p.pointee);
            }
        }
        let order = self.body.reverse_post_order();
        // The second round sees what the first found out of values that come round a loop.
        for _ in 0..2 {
            for block in &order {
                for inst in self.body.blocks[*block].insts() {
                    self.note_class(program, regions, inst);
                }
            }
        }
        std::mem::take(&mut self.classes)
    }

    fn note_class(&mut self, program: &Program, regions: &dyn Regions, inst: InstId) {
        let (value, class) = match &self.body.insts[inst] {
            Inst::Bind { var, value } => {
                let Operand::Value(value) = *value else { return };
                (value, class_of(program, self.unit, self.body.vars[*var].pointee))
            }
            Inst::Load { ty: Type::Ptr, address, .. } => (inst, self.class_of_content(program, regions, *address)),
            // Whose fields are used is a structure, whatever it is declared as.
            Inst::Address { base: Operand::Value(base), steps } => match (steps.first(), self.classes[*base]) {
                (Some(Step::Field { ty, .. }), Class::Any) => {
                    (*base, Class::To { depth: 1, ty: program.resolve_struct(self.unit, *ty) })
                }
                _ => return,
            },
            Inst::Call(_) | Inst::Invoke { .. } => (inst, self.class_of_result(program, inst)),
            Inst::Phi { ty: Type::Ptr, incoming } => {
                let values = incoming.iter().filter_map(|(_, operand)| operand.value());
                (inst, values.fold(Class::Any, |class, value| class.meet(self.classes[value])))
            }
            _ => return,
        };
        self.classes[value] = self.classes[value].meet(class);
    }

    /// What the pointer at an address points to, by the declaration of the field or variable it is.
    fn class_of_content(&self, program: &Program, regions: &dyn Regions, address: Operand) -> Class {
        let (base, way) = self.way(program, address);
        let local = base.value().map(|v| &self.body.insts[v]);
        if let (Some(Inst::Local { var: Some(var), .. }), None) = (local, way.field) {
            let pointee = self.body.vars[*var].pointee;
            if pointee.depth > 0 {
                return class_of(program, self.unit, pointee);
            }
        }
        let in_structure = |ty: TypeId| regions.content(way.inside(program, ty));
        match (way.field, base.value().and_then(|v| self.local_type(program, v))) {
            (Some((ty, offset)), _) => regions.content(field_target(program, ty, offset)),
            (None, Some(ty)) => in_structure(ty),
            (None, None) => regions.content(self.target(program, address)),
        }
    }

    fn class_of_result(&self, program: &Program, inst: InstId) -> Class {
        let targets = program.call_site(self.id, inst).map_or(&[][..], |site| program.targets(site));
        let Some(target) = targets.first() else { return Class::Any };
        let info = program.function(*target);
        class_of(program, info.unit, info.declaration.ret_pointee)
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

/// A pointer in a block.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Part {
    /// From the address that was asked for.
    pub offset: i64,
    pub target: Target,
    /// It is this one pointer, not one of several.
    pub exact: bool,
}

/// Steps from a base address.
#[derive(Clone, Copy)]
struct Way {
    /// The structure last stepped into, and the offset in it.
    field: Option<(TypeId, u64)>,
    /// From the base, unless an index is on the way.
    offset: Option<i64>,
}

impl Way {
    fn step(&mut self, shape: &Shape, program: &Program, step: Step) {
        match step {
            Step::Field { ty, offset } => self.field = Some((program.resolve_struct(shape.unit, ty), offset)),
            Step::Bytes { offset: more, .. } => {
                let inside = |(ty, offset): (TypeId, u64)| {
                    let offset = offset.checked_add_signed(more)?;
                    (offset < program.type_info(ty).size).then_some((ty, offset))
                };
                self.field = self.field.and_then(inside);
            }
            // Elements of an array are one region.
            Step::Index { .. } => {}
        }
        self.offset = match (self.offset, shape.hop(step)) {
            (Some(offset), Hop::Add(more)) => Some(offset.wrapping_add(more)),
            _ => None,
        };
    }

    /// The region in a structure that the base is.
    fn inside(self, program: &Program, ty: TypeId) -> Target {
        match self.offset.and_then(|o| u64::try_from(o).ok()) {
            Some(offset) if offset < program.type_info(ty).size => field_target(program, ty, offset),
            _ => Target::Wild(Class::Any),
        }
    }
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
