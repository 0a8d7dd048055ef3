//! The questions: where a function may lose the last reference to a cell (section 4.5 of the paper).

use std::cell::Cell;

use caulk_ir::entity::Entity;
use caulk_ir::{BlockId, Inst, InstId, Operand, Type, VarId};
use caulk_models::{EffectKind, ModelPath};
use caulk_program::FuncId;

use crate::assign::Rules;
use crate::expr::{Expr, Hop, Root};
use crate::fact::{Fact, Tag};
use crate::prover::World;
use crate::regions::PointerField;
use crate::shape::{Holding, Part, Shape};
use crate::target::{PointsTo, Region};
use crate::transfer::Walk;

/// How a reference may be lost.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Kind {
    /// Memory that held it is overwritten.
    Overwritten,
    /// A block that held it is freed.
    Freed,
    /// The variable or value that held it is not used any more.
    Forgotten,
    /// The result of a call is not used.
    Dropped,
    /// A local variable in memory goes out of scope.
    OutOfScope,
}

/// Where to start walking back.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Start {
    /// Right before an instruction.
    Before(InstId),
    /// Right after an instruction.
    After(InstId),
    /// On the way from one block to another.
    Edge { from: BlockId, to: BlockId },
}

/// One question: can this be the last reference to a cell?
#[derive(Clone, Debug)]
pub struct Probe {
    pub function: FuncId,
    pub kind: Kind,
    /// The instruction that a reader is shown.
    pub place: InstId,
    pub start: Start,
    pub fact: Fact,
    /// What the reference is declared to point to.
    pub cell: PointsTo,
    /// The variable that held it.
    pub variable: Option<VarId>,
    /// The region that held it.
    pub region: Option<Region>,
    /// The notion under which it was asked.
    pub holding: Holding,
    /// The call that made the cell, where only that one is asked about.
    pub made_by: Option<InstId>,
}

/// The probes of a function that `wanted` lets through, under a notion of how long its variables hold references; and whether there
/// are more than are asked.
pub fn probes(
    world: &World<'_>,
    shape: &Shape,
    holding: Holding,
    wanted: &dyn Fn(&Probe) -> bool,
) -> (Vec<Probe>, bool) {
    let spent = Cell::new(0);
    let mut list = Probes { world, shape, holding, wanted, spent: &spent, found: Vec::new(), are_too_many: false };
    for (block, range) in shape.body.blocks.iter().filter(|(b, _)| !shape.doomed[*b]) {
        if list.are_too_many {
            break;
        }
        for inst in range.insts() {
            list.of_inst(inst);
        }
        for next in shape.successors(block) {
            if !shape.doomed[next] {
                list.of_edge(block, next);
            }
        }
    }
    list.of_unused_params();
    (list.found, list.are_too_many)
}

/// A place in memory that goes.
struct Lost {
    content: Expr,
    target: Region,
    /// It is this one pointer, not one of several.
    exact: bool,
    /// What does not refer to the cell if this is the last reference.
    others: Vec<Expr>,
}

struct Probes<'a> {
    world: &'a World<'a>,
    shape: &'a Shape,
    holding: Holding,
    wanted: &'a dyn Fn(&Probe) -> bool,
    spent: &'a Cell<usize>,
    found: Vec<Probe>,
    are_too_many: bool,
}

impl Probes<'_> {
    fn push(&mut self, probe: Probe) {
        if !(self.wanted)(&probe) {
            return;
        }
        if self.found.len() < self.world.config.max_probes {
            self.found.push(probe);
        } else {
            self.are_too_many = true;
        }
    }

    fn walk(&self) -> Walk<'_> {
        let (regions, extensions) = (self.world.regions, self.world.config.extensions);
        let rules = Rules { regions, extensions, cell: PointsTo::Any, shape: Some(self.shape), at: None };
        Walk { world: self.world, shape: self.shape, rules, spent: self.spent }
    }

    fn expr(&self, operand: Operand) -> Expr {
        self.shape.expr(self.world.program, operand)
    }

    fn of_inst(&mut self, inst: InstId) {
        match &self.shape.body.insts[inst] {
            Inst::Store { ty: Type::Ptr, value, address, .. } => {
                let to = self.world.location(self.shape, *address);
                let written = self.expr(*value);
                let place = Lost { content: to.content(), target: to.target, exact: true, others: vec![written] };
                self.of_places(Kind::Overwritten, inst, &[place]);
            }
            Inst::Copy { dst, src, len } => self.of_block(inst, *dst, Some(*src), *len),
            Inst::Fill { dst, len, .. } => self.of_block(inst, *dst, None, *len),
            Inst::ScopeEnd { local } => {
                let places = self.places_in_local(*local, None);
                self.of_places(Kind::OutOfScope, inst, &places);
            }
            Inst::Return { value } => {
                // All of them go at once.
                let locals = self.shape.unended().iter();
                let places = locals.flat_map(|local| self.places_in_local(*local, *value));
                let places: Vec<Lost> = places.collect();
                self.of_places(Kind::OutOfScope, inst, &places);
            }
            Inst::Call(_) | Inst::Invoke { .. } => self.of_frees(inst),
            _ => {}
        }
        self.of_deaths(inst);
    }

    /// References in memory go, one after the other (4.5, second kind): those that went before may have been references
    /// too, those that go later are not.
    fn of_places(&mut self, kind: Kind, inst: InstId, places: &[Lost]) {
        let regions = self.world.regions;
        let mut gone = Fact::new();
        for place in places {
            if self.are_too_many {
                break;
            }
            // A fact with more regions than this is given up, whatever else is in it.
            if gone.memory.len() <= self.world.config.max_regions {
                let keeps_tag = place.exact && self.world.config.extensions.region_removal;
                gone.add_region(place.target, keeps_tag.then(|| Tag::only(place.content.clone())), regions);
            }
            self.of_memory(kind, inst, place, gone.clone());
        }
    }

    /// A reference in memory goes, and nothing but what is in `fact` may have held one; what is left at this point does not
    /// refer to the cell.
    fn of_memory(&mut self, kind: Kind, inst: InstId, place: &Lost, mut fact: Fact) {
        let regions = self.world.regions;
        let cell = regions.content(place.target);
        if cell == PointsTo::Code {
            return;
        }
        let is_given_up = fact.memory.len() > self.world.config.max_regions;
        let dying = self.shape.liveness(self.holding).deaths(inst).iter().map(|v| Expr::value(*v));
        let missed = dying.chain(place.others.clone()).try_for_each(|other| fact.miss(other, regions));
        // Without a hit, some reference in the region is meant.
        let hit = if place.exact { fact.hit(place.content.clone(), regions) } else { Ok(()) };
        if missed.and(hit).is_err() && !is_given_up {
            return; // Overwritten with what it holds.
        }
        let start = Start::Before(inst);
        let (function, region, holding) = (self.shape.id, Some(place.target), self.holding);
        self.push(Probe {
            function,
            kind,
            place: inst,
            start,
            fact,
            cell,
            variable: None,
            region,
            holding,
            made_by: None,
        });
    }

    fn of_block(&mut self, inst: InstId, dst: Operand, src: Option<Operand>, len: Operand) {
        let walk = self.walk();
        let len = walk.length(len);
        let parts = |at: Operand| self.shape.parts(self.world.program, self.world.regions, at, len).unwrap_or_default();
        let copied = src.map(|src| (self.expr(src), parts(src)));
        let from = |offset: i64| {
            let (base, parts) = copied.as_ref()?;
            // In the order of their offsets.
            let first = parts.partition_point(|p| p.offset < offset);
            let part = parts[first..].iter().take_while(|p| p.offset == offset).find(|p| p.exact)?;
            Some(base.clone().then(Hop::Add(offset)).load(part.target))
        };
        let base = self.expr(dst);
        let place = |part: Part| Lost {
            content: base.clone().then(Hop::Add(part.offset)).load(part.target),
            target: part.target,
            exact: part.exact,
            others: from(part.offset).into_iter().collect(),
        };
        let places: Vec<Lost> = parts(dst).into_iter().map(place).collect();
        self.of_places(Kind::Overwritten, inst, &places);
    }

    /// The pointers in a local variable.
    fn places_in_local(&self, local: InstId, returned: Option<Operand>) -> Vec<Lost> {
        let (program, regions) = (self.world.program, self.world.regions);
        let address = Operand::Value(local);
        let base = Expr::root(Root::Local(local));
        let mut places: Vec<(i64, Region, bool)> = self
            .shape
            .parts(program, regions, address, None)
            .unwrap_or_default()
            .into_iter()
            .map(|p| (p.offset, p.target, p.exact))
            .collect();
        let whole = self.world.target(self.shape, address);
        if matches!(whole, Region::Slot { .. }) && self.is_pointer_slot(local) {
            places.push((0, whole, true));
        }
        let others: Vec<Expr> = returned.map(|r| self.expr(r)).into_iter().collect();
        let place = |(offset, target, exact): (i64, Region, bool)| {
            let content = base.clone().then(Hop::Add(offset)).load(target);
            Lost { content, target, exact, others: others.clone() }
        };
        places.into_iter().map(place).collect()
    }

    /// Whether a local whose address goes elsewhere can hold a pointer.
    fn is_pointer_slot(&self, local: InstId) -> bool {
        let Inst::Local { size, var, .. } = self.shape.body.insts[local] else { return false };
        let declared = var.is_some_and(|v| self.shape.body.vars[v].pointee.depth > 0);
        size >= 8 && (declared || self.shape.is_touched(local))
    }

    /// The fields of what a call frees.
    fn of_frees(&mut self, inst: InstId) {
        let mut places = Vec::new();
        for freed in self.freed_arguments(inst) {
            let base = self.expr(freed);
            let others = vec![base.clone()];
            match self.shape.class(self.world.program, freed) {
                PointsTo::To { depth: 1, ty } if base.hops.is_empty() => {
                    let Some(fields) = self.world.regions.pointer_fields(ty) else {
                        let target = Region::Wild(PointsTo::Any);
                        places.push(Lost { content: base.load(target), target, exact: false, others });
                        continue;
                    };
                    let place = |field: &PointerField| Lost {
                        content: base.clone().then(Hop::Add(field.offset as i64)).load(field.target),
                        target: field.target,
                        exact: !field.is_array,
                        others: others.clone(),
                    };
                    places.extend(fields.iter().map(place));
                }
                PointsTo::To { depth, ty } if depth > 1 => {
                    let target = Region::Wild(PointsTo::To { depth: depth - 1, ty });
                    places.push(Lost { content: base.load(target), target, exact: false, others });
                }
                _ => {}
            }
        }
        self.of_places(Kind::Freed, inst, &places);
    }

    /// The arguments of a call whose blocks are freed by it: by the library, or by a function around it that does not
    /// know their type.
    fn freed_arguments(&self, inst: InstId) -> Vec<Operand> {
        let walk = self.walk();
        let Some(call) = self.shape.call(inst) else { return Vec::new() };
        let mut freed = Vec::new();
        for target in walk.call_targets(inst) {
            if self.world.program.has_body(target) {
                freed.extend(self.world.freed_params(target).iter().filter_map(|i| call.args.get(*i)));
                continue;
            }
            for effect in self.world.model(target).iter().flat_map(|m| &m.effects) {
                if let EffectKind::Free { what: what @ ModelPath { derefs: 0, .. }, element: None, .. } = &effect.kind {
                    freed.extend(walk.argument(call, what));
                }
            }
        }
        freed
    }

    /// Values that are used for the last time.
    fn of_deaths(&mut self, inst: InstId) {
        let terminator = &self.shape.body.insts[inst];
        if matches!(terminator, Inst::Phi { .. }) {
            return; // On the way into the block.
        }
        let returned = match terminator {
            Inst::Return { value: Some(value) } => self.shape.holder(*value),
            _ => None,
        };
        let freed = self.freed_for_sure(inst);
        for value in self.shape.liveness(self.holding).deaths(inst).to_vec() {
            if Some(value) == returned || freed.contains(&value) {
                continue;
            }
            let kind = match self.shape.body.insts[inst] {
                Inst::Call(_) | Inst::Invoke { .. } if value == inst => Kind::Dropped,
                _ => Kind::Forgotten,
            };
            self.of_value(kind, value, inst, Start::After(inst));
        }
    }

    /// Values that the instruction frees whatever happens: no question.
    fn freed_for_sure(&self, inst: InstId) -> Vec<InstId> {
        let walk = self.walk();
        let Some(call) = self.shape.call(inst) else { return Vec::new() };
        let [target] = walk.call_targets(inst)[..] else { return Vec::new() };
        let effects = self.world.model(target).filter(|_| !self.world.program.has_body(target));
        let effects = effects.map_or(&[][..], |m| m.effects.as_slice()).iter();
        let freed = effects.filter(|e| e.when.is_always()).filter_map(|e| match &e.kind {
            EffectKind::Free { what: what @ ModelPath { derefs: 0, .. }, .. } => walk.argument(call, what),
            _ => None,
        });
        freed.filter_map(|operand| self.shape.holder(operand)).collect()
    }

    fn of_edge(&mut self, from: BlockId, to: BlockId) {
        let mut taken: Vec<InstId> = self.taken_by_phis(from, to);
        taken.sort_unstable();
        let dying: Vec<InstId> = self.shape.liveness(self.holding).edge_deaths(from, to).collect();
        let place = self.shape.body.blocks[from].terminator();
        let start = Start::Edge { from, to };
        for value in dying.into_iter().filter(|v| taken.binary_search(v).is_err()) {
            self.of_root(Kind::Forgotten, value, Root::Leaving(value), place, start);
        }
        let range = self.shape.body.blocks[to];
        let is_phi = |i: &InstId| matches!(self.shape.body.insts[*i], Inst::Phi { .. });
        for phi in range.insts().take_while(is_phi).collect::<Vec<_>>() {
            if self.shape.liveness(self.holding).deaths(phi).contains(&phi) {
                self.of_value(Kind::Forgotten, phi, place, start);
            }
        }
    }

    fn taken_by_phis(&self, from: BlockId, to: BlockId) -> Vec<InstId> {
        let mut taken = Vec::new();
        for inst in self.shape.body.blocks[to].insts() {
            let Inst::Phi { .. } = &self.shape.body.insts[inst] else { break };
            taken.extend(self.shape.taken(inst, from).and_then(|operand| self.shape.holder(operand)));
        }
        taken
    }

    fn of_value(&mut self, kind: Kind, value: InstId, place: InstId, start: Start) {
        self.of_root(kind, value, Root::Value(value), place, start);
    }

    /// As [`Probes::of_value`], by the name that the value has at the start.
    fn of_root(&mut self, kind: Kind, value: InstId, root: Root, place: InstId, start: Start) {
        let is_param = matches!(self.shape.body.insts[value], Inst::Param { .. });
        let cell = self.shape.classes[value];
        if cell == PointsTo::Code || (is_param && self.world.config.arguments_are_held) {
            return;
        }
        let mut fact = Fact::new();
        fact.may.insert(root);
        fact.hits.insert(Expr::root(root));
        let variable = self.variable(value);
        let (function, holding) = (self.shape.id, self.holding);
        self.push(Probe { function, kind, place, start, fact, cell, variable, region: None, holding, made_by: None });
    }

    /// The variable of the source that holds a value.
    fn variable(&self, value: InstId) -> Option<VarId> {
        let param = match self.shape.body.insts[value] {
            Inst::Param { index, .. } => self.shape.body.vars.iter().find(|(_, v)| v.param == Some(index)).map(|v| v.0),
            _ => None,
        };
        let bound = || self.shape.bound_to(value).map(|(first, _)| first);
        // A phi is the variable that its values were bound to.
        let merged = || match &self.shape.body.insts[value] {
            Inst::Phi { incoming, .. } => {
                incoming.iter().find_map(|(_, operand)| self.shape.bound_to(operand.value()?).map(|(_, last)| last))
            }
            _ => None,
        };
        param.or_else(bound).or_else(merged)
    }

    /// Parameters that nothing uses, where arguments may be last references.
    fn of_unused_params(&mut self) {
        let first = self.shape.body.blocks[caulk_ir::Body::ENTRY].first;
        let entry = BlockId::from_index(0);
        for param in self.shape.params().collect::<Vec<_>>() {
            if self.shape.is_holder(param) && !self.shape.liveness(self.holding).is_live_at(entry, param) {
                self.of_value(Kind::Forgotten, param, first, Start::Before(first));
            }
        }
    }
}
