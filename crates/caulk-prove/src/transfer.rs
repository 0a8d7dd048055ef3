//! The transfer functions of single instructions, backwards (section 4.3 of the paper, on core IR).

use std::cell::Cell;

use caulk_ir::{BinaryOp, CastOp, CompareOp, Inst, InstId, Operand, Type};

use crate::assign::{Location, Rules};
use crate::expr::{Expr, Hop, Root};
use crate::fact::{Contradiction, Fact, Feasible, Tag, Truth};
use crate::outcome::{CellOrigin, Reason};
use crate::prover::World;
use crate::shape::{Part, Shape};
use crate::target::{PointsTo, Region};

/// What lies before an instruction.
pub(crate) enum Flow {
    /// Any of these states; none is a contradiction.
    Before(Vec<Fact>),
    /// The call has to be followed.
    Enter(Fact),
    /// The cell may have been made here: the leak may be real.
    Found(CellOrigin),
    Abandoned(Reason),
}

impl From<Feasible<Fact>> for Flow {
    fn from(fact: Feasible<Fact>) -> Self {
        Flow::Before(fact.into_iter().collect())
    }
}

/// One function, seen from one probe.
#[derive(Clone, Copy)]
pub(crate) struct Walk<'a> {
    pub world: &'a World<'a>,
    pub shape: &'a Shape,
    pub rules: Rules<'a>,
    /// What was spent so far of [`ProveConfig::max_work`](crate::ProveConfig::max_work).
    pub spent: &'a Cell<usize>,
}

impl Walk<'_> {
    /// Work that a transfer costs beyond the size of its fact.
    pub(crate) fn spend(&self, work: usize) {
        self.spent.set(self.spent.get().saturating_add(work));
    }

    pub(crate) fn expr(&self, operand: Operand) -> Expr {
        self.shape.expr(self.world.program, operand)
    }

    /// Values used last by this instruction come alive.
    pub(crate) fn revive(&self, fact: &mut Fact, values: impl Iterator<Item = InstId>) {
        for value in values {
            if self.rules.may_hold(self.shape.classes[value]) {
                fact.revive(Root::Value(value));
            }
        }
    }

    /// The states before an instruction that is no terminator.
    pub(crate) fn step(&self, inst: InstId, fact: Fact) -> Flow {
        let regions = self.rules.regions;
        match &self.shape.body.insts[inst] {
            Inst::Load { ty, address, .. } => {
                let from = self.world.location(self.shape, *address);
                self.load(inst, *ty, *address, &from, &fact).into()
            }
            Inst::Store { ty, value, address, .. } => Flow::Before(self.store(*ty, *value, *address, fact)),
            Inst::Copy { dst, src, len } => self.copy(*dst, *src, *len, fact).into(),
            Inst::Fill { dst, len, .. } => self.fill(*dst, *len, fact).into(),
            Inst::Call(_) => self.call(inst, fact),
            Inst::Compare { op, ty, lhs, rhs } => {
                let cases = self.compare(inst, *op, *ty, [*lhs, *rhs], fact);
                Flow::Before(cases.unwrap_or_default())
            }
            Inst::Select { cond, then, other, .. } => {
                let arm = |value: Operand, truth: u64| -> Feasible<Fact> {
                    let mut before = fact.define(inst, Some(&self.expr(value)), regions)?;
                    before.tell(self.expr(*cond), Truth::Is(truth))?;
                    Ok(before)
                };
                Flow::Before(arm(*then, 1).into_iter().chain(arm(*other, 0)).collect())
            }
            Inst::Cast { op, from, to, value } => self.cast(inst, *op, (*from, *to), *value, &fact).into(),
            Inst::Binary { op: BinaryOp::Xor, lhs, rhs, ty: Type::Int(1), .. } => {
                self.negation(inst, *lhs, *rhs, &fact).into()
            }
            Inst::ScopeEnd { local } => self.end_scope(*local, fact).into(),
            Inst::ScopeStart { local } => self.start_scope(*local, fact).into(),
            // An uninitialised pointer refers to nothing.
            Inst::Unknown { .. } => fact.define(inst, Some(&Expr::root(Root::Undefined)), regions).into(),
            Inst::Local { .. } | Inst::Bind { .. } | Inst::Unbind { .. } | Inst::Address { .. } => {
                Flow::Before(vec![fact])
            }
            _ => {
                let mut fact = fact;
                fact.forget(inst);
                Flow::Before(vec![fact])
            }
        }
    }

    fn load(&self, inst: InstId, ty: Type, address: Operand, from: &Location, fact: &Fact) -> Feasible<Fact> {
        let content = from.content();
        let mut before = if ty == Type::Ptr || fact.truths.contains_key(&Expr::value(inst)) {
            fact.define(inst, Some(&content), self.rules.regions)?
        } else {
            fact.define(inst, None, self.rules.regions)?
        };
        self.not_null(&mut before, address)?;
        before.clean_up(self.rules.regions, self.rules.extensions.region_removal)?;
        Ok(before)
    }

    /// What is dereferenced is not null.
    fn not_null(&self, fact: &mut Fact, address: Operand) -> Feasible {
        match self.expr(self.shape.base(address)) {
            expr if matches!(expr.root, Root::Value(_)) && expr.hops.is_empty() => fact.tell(expr, Truth::Not(0)),
            _ => Ok(()),
        }
    }

    fn store(&self, ty: Type, value: Operand, address: Operand, fact: Fact) -> Vec<Fact> {
        let to = self.world.location(self.shape, address);
        let value = self.expr(value);
        let before = if ty == Type::Ptr {
            self.rules.assign_by_case(&fact, &to, &value)
        } else if self.rules.regions.is_shared_with_numbers(to.target) {
            self.rules.assign(&fact, &to, Some(&Expr::root(Root::Undefined))).into_iter().collect()
        } else {
            self.store_number(fact, &to, &value).into_iter().collect()
        };
        let deref = |mut fact: Fact| self.not_null(&mut fact, address).ok().map(|()| fact);
        before.into_iter().filter_map(deref).collect()
    }

    /// A number changes no reference, but what is known of numbers.
    fn store_number(&self, mut fact: Fact, to: &Location, value: &Expr) -> Feasible<Fact> {
        let content = to.content();
        let told = fact.truths.remove(&content);
        fact.truths.retain(|expr, _| !expr.loads().any(|t| self.rules.regions.may_alias(t, to.target)));
        if let Some(truth) = told {
            fact.tell(value.clone(), truth)?;
        }
        Ok(fact)
    }

    /// A copy assigns pointer by pointer, where it is known which there are.
    fn copy(&self, dst: Operand, src: Operand, len: Operand, fact: Fact) -> Feasible<Fact> {
        let (world, regions) = (self.world, self.rules.regions);
        let len = self.length(len);
        let to = self.shape.parts(world.program, regions, dst, len);
        let from = self.shape.parts(world.program, regions, src, len);
        let (to, from) = match (to, from) {
            (Some(to), Some(from)) => (to, from),
            (Some(to), None) => (to, Vec::new()),
            // What is copied tells what it is copied to.
            (None, Some(from)) if !from.iter().any(|p| matches!(p.target, Region::Local { .. })) => {
                (from.clone(), from)
            }
            (None, _) => return Ok(self.clobber(fact, Region::Wild(PointsTo::Any))),
        };
        let mut fact = fact;
        self.spend(to.len() * (1 + fact.size()));
        if to.len() > world.config.max_regions {
            return Ok(self.clobber(fact, whole(to[0].target)));
        }
        for part in to {
            // The parts are in the order of their offsets.
            let first = from.partition_point(|f| f.offset < part.offset);
            let mut here = from[first..].iter().take_while(|f| f.offset == part.offset);
            let same = here.find(|f| f.exact && part.exact);
            if !part.exact {
                fact = self.clobber(fact, part.target);
                continue;
            }
            let address = |base: Operand| self.expr(base).then(Hop::Add(part.offset));
            let value = same.map(|f| address(src).load(f.target));
            let place = Location { address: address(dst), target: part.target };
            fact = self.rules.assign(&fact, &place, value.as_ref())?;
        }
        fact.truths.retain(|expr, _| expr.loads().next().is_none());
        Ok(fact)
    }

    fn fill(&self, dst: Operand, len: Operand, fact: Fact) -> Feasible<Fact> {
        let (world, regions) = (self.world, self.rules.regions);
        let Some(parts) = self.shape.parts(world.program, regions, dst, self.length(len)) else {
            return Ok(self.clobber(fact, Region::Wild(PointsTo::Any)));
        };
        let mut fact = fact;
        self.spend(parts.len() * (1 + fact.size()));
        if parts.len() > world.config.max_regions {
            return Ok(self.clobber(fact, whole(parts[0].target)));
        }
        for part in parts {
            if part.exact {
                let place = Location { address: self.expr(dst).then(Hop::Add(part.offset)), target: part.target };
                fact = self.rules.assign(&fact, &place, Some(&Expr::root(Expr::NULL)))?;
            } else {
                fact = self.clobber(fact, part.target);
            }
        }
        fact.truths.retain(|expr, _| expr.loads().next().is_none());
        Ok(fact)
    }

    pub(crate) fn length(&self, len: Operand) -> Option<u64> {
        self.shape.body.constant(len).and_then(|c| c.as_signed()).and_then(|n| u64::try_from(n).ok())
    }

    /// Memory is written, it is not known with what: what was read from it is forgotten, and it may have held references.
    pub(crate) fn clobber(&self, mut fact: Fact, target: Region) -> Fact {
        let regions = self.rules.regions;
        let touched = |expr: &Expr| expr.loads().any(|t| regions.may_alias(t, target));
        fact.hits.retain(|e| !touched(e));
        fact.misses.retain(|e| !touched(e));
        fact.truths.retain(|e, _| !touched(e));
        let tagged: Vec<Region> = fact.memory.keys().copied().filter(|t| regions.may_alias(*t, target)).collect();
        for region in tagged {
            fact.memory.insert(region, Tag::Many);
        }
        for tag in fact.memory.values_mut() {
            if tag.places().any(touched) {
                *tag = Tag::Many;
            }
        }
        self.rules.grow(&mut fact, target, None);
        fact
    }

    fn compare(
        &self,
        inst: InstId,
        op: CompareOp,
        ty: Type,
        sides: [Operand; 2],
        mut fact: Fact,
    ) -> Feasible<Vec<Fact>> {
        let told = fact.truths.remove(&Expr::value(inst));
        fact.forget(inst);
        let outcome = match told {
            Some(Truth::Is(n)) => n != 0,
            Some(Truth::Not(0)) => true,
            Some(Truth::Not(_)) => false,
            None => return Ok(vec![fact]),
        };
        let equal = match op {
            CompareOp::Eq => outcome,
            CompareOp::Ne => !outcome,
            _ => return Ok(vec![fact]),
        };
        let sides = sides.map(|side| self.expr(side));
        if let Some(cases) = self.equal_cases(&fact, ty, &sides).filter(|_| equal) {
            return Ok(cases);
        }
        self.equality(&mut fact, ty, sides, equal)?;
        Ok(vec![fact])
    }

    /// Two values of which nothing is known are equal: both refer to the cell, or none does.
    fn equal_cases(&self, fact: &Fact, ty: Type, sides: &[Expr; 2]) -> Option<Vec<Fact>> {
        let regions = self.rules.regions;
        let is_open = |e: &Expr| e.is_value() && !fact.hits.contains(e) && !fact.is_miss(e, regions);
        if ty != Type::Ptr || !sides.iter().all(is_open) {
            return None;
        }
        let case = |refers: bool| -> Feasible<Fact> {
            let mut fact = fact.clone();
            for side in sides {
                let side = side.clone();
                if refers { fact.hit(side, regions)? } else { fact.miss(side, regions)? }
            }
            Ok(fact)
        };
        Some([case(true), case(false)].into_iter().flatten().collect())
    }

    /// The rules for conditions. That two pointers differ says nothing: they may point into one cell.
    fn equality(&self, fact: &mut Fact, ty: Type, [a, b]: [Expr; 2], equal: bool) -> Feasible {
        let number = |expr: &Expr| match expr.root {
            Root::Number(n) if expr.hops.is_empty() => Some(n),
            _ => None,
        };
        let truth = |n: u64| if equal { Truth::Is(n) } else { Truth::Not(n) };
        match (number(&a), number(&b)) {
            (Some(a), Some(b)) => return if (a == b) == equal { Ok(()) } else { Err(Contradiction) },
            (None, Some(n)) => return fact.tell(a, truth(n)),
            (Some(n), None) => return fact.tell(b, truth(n)),
            (None, None) => {}
        }
        if ty != Type::Ptr || !equal {
            return Ok(());
        }
        let regions = self.rules.regions;
        for (this, that) in [(&a, &b), (&b, &a)] {
            let this = this.clone().stripped();
            if fact.hits.contains(&this) {
                fact.hit(that.clone(), regions)?;
            } else if fact.is_miss(&this, regions) {
                fact.miss(that.clone(), regions)?;
            }
        }
        Ok(())
    }

    fn cast(&self, inst: InstId, op: CastOp, types: (Type, Type), value: Operand, fact: &Fact) -> Feasible<Fact> {
        let from = self.expr(value);
        let known = match (op, types) {
            (CastOp::Bits, (Type::Ptr, Type::Ptr)) => return Ok(fact.clone()),
            (CastOp::SignExtend, (Type::Int(1), _)) => None,
            (CastOp::ZeroExtend | CastOp::SignExtend, _) => Some(&from),
            // A truth value in memory is 0 or 1.
            (CastOp::Truncate, (Type::Int(8), Type::Int(1))) => Some(&from),
            (CastOp::Bits, _) => Some(&from),
            _ => None,
        };
        let is_told = matches!(fact.truths.get(&Expr::value(inst)), Some(Truth::Is(0 | 1) | Truth::Not(0)));
        fact.define(inst, known.filter(|_| is_told), self.rules.regions)
    }

    fn negation(&self, inst: InstId, lhs: Operand, rhs: Operand, fact: &Fact) -> Feasible<Fact> {
        let told = fact.truths.get(&Expr::value(inst)).copied();
        let mut before = fact.clone();
        before.forget(inst);
        let (value, constant) = match (lhs, rhs) {
            (value, Operand::Const(c)) | (Operand::Const(c), value) => (value, self.shape.body.consts[c]),
            _ => return Ok(before),
        };
        if let (Some(Truth::Is(n)), Some(_)) = (told, constant.as_signed().filter(|n| *n != 0)) {
            before.tell(self.expr(value), Truth::Is(n ^ 1))?;
        }
        Ok(before)
    }

    /// Backwards over the end of a scope, the local's memory is there again, and may refer to the cell.
    pub(crate) fn end_scope(&self, local: InstId, mut fact: Fact) -> Feasible<Fact> {
        let address = Operand::Value(local);
        let parts = self.shape.parts(self.world.program, self.rules.regions, address, None);
        let content = |part: &Part| Expr::root(Root::Local(local)).then(Hop::Add(part.offset)).load(part.target);
        let parts = parts.into_iter().flatten().map(|part| (part.target, Some(content(&part)).filter(|_| part.exact)));
        self.grow_all(&mut fact, parts);
        let whole = self.world.target(self.shape, address);
        if matches!(whole, Region::Slot { .. }) {
            self.rules.grow(&mut fact, whole, Some(Expr::root(Root::Local(local)).load(whole)));
        }
        Ok(fact)
    }

    /// A local's memory holds nothing when its scope begins.
    pub(crate) fn start_scope(&self, local: InstId, mut fact: Fact) -> Feasible<Fact> {
        let reads = |expr: &Expr| expr.root == Root::Local(local) && !expr.hops.is_empty();
        if fact.hits.iter().any(reads) {
            return Err(Contradiction);
        }
        fact.misses.retain(|e| !reads(e));
        fact.truths.retain(|e, _| !reads(e));
        let function = self.shape.id;
        let is_recursive = self.shape.is_recursive;
        fact.memory.retain(|target, _| match *target {
            Region::Local { local: l, .. } => l != local,
            Region::Slot { function: f, local: l } => f != function || l != local || is_recursive,
            _ => true,
        });
        fact.drop_places(reads);
        fact.check_referenced()?;
        Ok(fact)
    }
}

/// One region in place of the many in a block, one of which is given: all of a local, or all that pointers lead to.
pub(crate) fn whole(part: Region) -> Region {
    match part {
        Region::Local { local, .. } => Region::Local { local, offset: None },
        _ => Region::Wild(PointsTo::Any),
    }
}
