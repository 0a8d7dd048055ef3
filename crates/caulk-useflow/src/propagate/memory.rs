//! Instructions that name, hold or move the object.

use caulk_ir::{BinaryOp, Constant, Initialiser, Inst, InstId, Operand, Type, VarId};
use caulk_memory::{Cell, Offset, Relation, ValueId, ValueNode};
use caulk_summary::Event;
use smallvec::SmallVec;

use super::{Propagation, names};
use crate::alternative::{Alternative, Status};
use crate::fact_list::learn;
use crate::facts::{FactList, Key, KeyId, number_of};
use crate::function::View;
use crate::indexed::array_of_address;

impl Propagation<'_, '_> {
    pub(super) fn load(&mut self, inst: InstId, address: Operand, ty: Type, current: &mut Alternative) {
        current.remove_name(inst);
        let Some(cell) = self.view.values.of_operand(address) else { return };
        let size = ty.bytes(8) as i64;
        let mut held = current.cells.iter().filter(|held| held.base == cell.base);
        let holds = match cell.offset {
            Offset::Any if current.cells.iter().any(|held| held.base == cell.base) => {
                let array = array_of_address(self.view, address);
                let may_be_there = |at: Offset| match (&array, at) {
                    (Some(array), Offset::Known(at)) => array.contains(&at),
                    _ => true,
                };
                held.any(|held| may_be_there(held.offset))
            }
            _ => held.any(|held| covers(cell.offset, size, held.offset)),
        };
        if holds {
            current.add_name(inst);
        }
    }

    pub(super) fn store(&mut self, inst: InstId, value: Operand, address: Operand, current: &mut Alternative) {
        let Some(cell) = self.view.values.of_operand(address) else {
            return self.stored_somewhere(inst, value, current);
        };
        // What is stored may be computed from what was there: `++n`.
        let stored = self.stored_facts(value, cell, current);
        self.forget_loaded(cell, current);
        let others: SmallVec<[Cell; 2]> = self.view.also_written(cell).collect();
        others.into_iter().for_each(|other| self.forget_loaded(other, current));
        self.leave_behind(inst, cell, current);
        if names(current, value) {
            if matches!(self.view.values.node(cell.base), ValueNode::Nothing) {
                return self.stored_somewhere(inst, value, current);
            }
            for place in self.view.choices(cell) {
                self.hold(place, current);
            }
            current.event = self.history.add(current.event, inst, Event::Stored);
            return;
        }
        let behind = Cell { base: current.behind(cell.base), ..cell };
        if self.is_one_place(behind) && current.cells.contains(&cell) {
            current.remove_cell(cell);
            current.event = self.history.add(current.event, inst, Event::Overwritten);
            current.holder_went(inst, true);
        }
        self.store_holder(value, cell, current);
        for fact in stored {
            learn(&mut current.facts, fact, self.view.config.max_facts);
        }
    }

    /// A pointer is about to be moved on: what it led to has no name any more, and goes on holding what it holds. The tail of a
    /// list that is appended to, say.
    pub(super) fn leave_behind(&mut self, inst: InstId, cell: Cell, current: &mut Alternative) {
        if current.status != Status::Live || current.cells.is_empty() || !self.is_one_place(cell) {
            return;
        }
        let values = &self.view.values;
        let Some(old) = values.known_load(cell) else { return };
        let is_own = |at: ValueId| current.own.is_some_and(|own| values.is_reached_from(at, own));
        let is_left = |held: &Cell| values.is_reached_from(held.base, old) && !is_own(held.base);
        if current.cells.iter().any(is_left) {
            let event = self.history.add(current.event, inst, Event::Kept);
            current.settle(Status::Kept, event);
        }
    }

    /// The object is held by a cell from here on; a local's cell is that variable.
    pub(super) fn hold(&mut self, cell: Cell, current: &mut Alternative) {
        current.add_cell(cell);
        current.last_variable = variable_at(self.view, cell).or(current.last_variable);
    }

    /// Whether a cell is one place in memory, so that writing to it loses what it held (a strong update).
    pub(super) fn is_one_place(&self, cell: Cell) -> bool {
        matches!(cell.offset, Offset::Known(_)) && self.view.values.is_exact(self.view.body, cell.base)
    }

    /// A pointer to what holds the object is stored: the object can be reached through there too.
    pub(super) fn store_holder(&mut self, value: Operand, cell: Cell, current: &mut Alternative) {
        let Some(holder) = self.view.values.of_operand(value) else { return };
        if current.cells.iter().all(|held| held.base != holder.base) {
            return;
        }
        let Some(base) = self.view.values.loaded(cell) else { return };
        let reached: SmallVec<[Cell; 2]> = current
            .cells
            .iter()
            .filter(|held| held.base == holder.base)
            .map(|held| Cell { base, offset: held.offset })
            .collect();
        reached.into_iter().for_each(|c| current.add_cell(c));
    }

    /// What is stored is what a later load will find.
    pub(super) fn stored_facts(&mut self, value: Operand, cell: Cell, current: &Alternative) -> FactList {
        if cell.offset == Offset::Any {
            return FactList::new();
        }
        let key = self.view.keys.of_cell(cell);
        self.facts_of(value, key, current)
    }

    pub(super) fn stored_somewhere(&mut self, inst: InstId, value: Operand, current: &mut Alternative) {
        if names(current, value) {
            let event = self.history.add(current.event, inst, Event::GivenToUnknown);
            current.settle(Status::Unknown, event);
        }
    }

    /// Facts about a place that is being written no longer hold.
    pub(super) fn forget_loaded(&mut self, cell: Cell, current: &mut Alternative) {
        if current.facts.is_empty() {
            return;
        }
        let mut carried = FactList::new();
        for &(key, relation) in &current.facts {
            if self.view.keys.get(key) == Key::Loaded(cell) {
                carried.extend(self.view.carry_over(cell, relation));
            }
        }
        let keys = &self.view.keys;
        current.facts.retain(|(key, _)| {
            let mut stale = false;
            keys.depends_on(*key, &mut |k| {
                if let Key::Loaded(known) = k {
                    stale |= known.base == cell.base && known.offset.meets(cell.offset);
                }
            });
            !stale
        });
        for fact in carried {
            learn(&mut current.facts, fact, self.view.config.max_facts);
        }
    }

    /// A value made from others points to the object if one of them does: addresses into it, casts, tags. The distance
    /// between two pointers, or a share of one, does not.
    pub(super) fn derive(&mut self, inst: InstId, current: &mut Alternative) {
        let mut derived = false;
        if self.view.is_pointer_like(inst) {
            let body = self.view.body;
            match &body.insts[inst] {
                Inst::Binary { op: BinaryOp::Sub, lhs, rhs, .. } => {
                    derived = names(current, *lhs) && !names(current, *rhs);
                }
                Inst::Binary { op: BinaryOp::Add | BinaryOp::Or | BinaryOp::And | BinaryOp::Xor, lhs, rhs, .. } => {
                    derived = names(current, *lhs) || names(current, *rhs);
                }
                Inst::Binary { .. } => {}
                other => other.for_each_operand(|o| derived |= names(current, *o)),
            }
        }
        if derived { current.add_name(inst) } else { current.remove_name(inst) }
    }

    pub(super) fn copy(&mut self, inst: InstId, dst: Operand, src: Operand, len: Operand, current: &mut Alternative) {
        let (Some(to), Some(from)) = (self.view.values.of_operand(dst), self.view.values.of_operand(src)) else {
            return;
        };
        let known = self.view.body.constant(len).and_then(number_of);
        let length = known.unwrap_or(i64::MAX);
        let carried: SmallVec<[(Cell, Cell); 2]> = current
            .cells
            .iter()
            .filter(|held| held.base == from.base && covers(from.offset, length, held.offset))
            .map(|held| (*held, Cell { base: to.base, offset: moved(held.offset, from.offset, to.offset) }))
            .collect();
        if let Some(length) = known {
            self.overwrite_bytes(inst, to, length, current);
        }
        for (held, cell) in carried {
            if let Some(field) = self.view.values.field(held) {
                self.view.values.name_field(cell, field);
            }
            current.add_cell(cell);
        }
        self.learn_copied_constants(from, to, length, current);
        self.learn_copied_facts(from, to, length, current);
    }

    /// What is known of a structure is known of its copy.
    fn learn_copied_facts(&mut self, from: Cell, to: Cell, length: i64, current: &mut Alternative) {
        let keys = &self.view.keys;
        let copied = |(key, relation): &(KeyId, Relation)| match keys.get(*key) {
            Key::Loaded(cell) if cell.base == from.base && covers(from.offset, length, cell.offset) => {
                Some((moved(cell.offset, from.offset, to.offset), *relation))
            }
            _ => None,
        };
        let known: SmallVec<[(Offset, Relation); 4]> = current.facts.iter().filter_map(copied).collect();
        if known.is_empty() || from.base == to.base {
            return;
        }
        let max = self.view.config.max_facts;
        for (key, cell) in self.view.keys.cells_of(to.base) {
            for (_, relation) in known.iter().filter(|(offset, _)| *offset == cell.offset && *offset != Offset::Any) {
                self.forget_loaded(cell, current);
                learn(&mut current.facts, (key, *relation), max);
            }
        }
    }

    pub(super) fn fill(&mut self, inst: InstId, dst: Operand, byte: Operand, len: Operand, current: &mut Alternative) {
        let Some(to) = self.view.values.of_operand(dst) else { return };
        let Some(length) = self.view.body.constant(len).and_then(number_of) else { return };
        self.overwrite_bytes(inst, to, length, current);
        if self.view.body.constant(byte).and_then(number_of) == Some(0) {
            self.learn_bytes(to, length, current, |_| Some(Relation::ZERO));
        }
    }

    /// Something else is written over some bytes: what was held there is not held there any more.
    fn overwrite_bytes(&mut self, inst: InstId, to: Cell, length: i64, current: &mut Alternative) {
        let before = current.cells.len();
        if self.view.values.is_exact(self.view.body, current.behind(to.base)) {
            let is_written = |c: &Cell| {
                let known = matches!((c.offset, to.offset), (Offset::Known(_), Offset::Known(_)));
                c.base == to.base && known && covers(to.offset, length, c.offset)
            };
            let written: SmallVec<[Cell; 2]> = current.cells.iter().copied().filter(is_written).collect();
            written.into_iter().for_each(|cell| current.remove_cell(cell));
        }
        if current.cells.len() != before {
            current.event = self.history.add(current.event, inst, Event::Overwritten);
            current.holder_went(inst, true);
        }
    }

    /// What a variable is initialised with, copied from a constant.
    fn learn_copied_constants(&mut self, from: Cell, to: Cell, length: i64, current: &mut Alternative) {
        let (ValueNode::Global(global), Offset::Known(start)) = (self.view.values.node(from.base), from.offset) else {
            return;
        };
        let program = self.view.program;
        let declaration = program.global(global).declaration;
        if declaration.is_const {
            self.learn_bytes(to, length, current, |offset| constant_at(&declaration.init, start + offset));
        }
    }

    /// Learns what bytes hold that are asked for anywhere. `content`: what is at an offset from the first of them.
    fn learn_bytes(
        &mut self,
        to: Cell,
        length: i64,
        current: &mut Alternative,
        content: impl Fn(i64) -> Option<Relation>,
    ) {
        let Offset::Known(start) = to.offset else { return };
        let max = self.view.config.max_facts;
        for (key, cell) in self.view.keys.cells_of(to.base) {
            let Offset::Known(at) = cell.offset else { continue };
            if covers(to.offset, length, cell.offset)
                && let Some(relation) = content(at - start)
            {
                self.forget_loaded(cell, current);
                learn(&mut current.facts, (key, relation), max);
            }
        }
    }

    pub(super) fn bind(&mut self, inst: InstId, var: VarId, value: Operand, current: &mut Alternative) {
        if names(current, value) {
            if !current.vars.contains(&var) {
                current.vars.push(var);
            }
            current.lost = None;
            current.last_variable = Some(var);
        } else if let Some(at) = current.vars.iter().position(|v| *v == var) {
            current.vars.remove(at);
            current.event = self.history.add(current.event, inst, Event::Overwritten);
            current.holder_went(inst, true);
        }
    }

    pub(super) fn unbind(&mut self, inst: InstId, var: VarId, current: &mut Alternative) {
        if let Some(at) = current.vars.iter().position(|v| *v == var) {
            current.vars.remove(at);
            current.event = self.history.add(current.event, inst, Event::OutOfScope);
            current.holder_went(inst, false);
        }
    }

    pub(super) fn scope_end(&mut self, inst: InstId, local: InstId, current: &mut Alternative) {
        let values = &self.view.values;
        let before = current.cells.len();
        current.cells.retain(|c| values.node(c.base) != ValueNode::Local(local));
        if current.cells.len() != before {
            current.event = self.history.add(current.event, inst, Event::OutOfScope);
            current.holder_went(inst, false);
        }
    }
}

/// The variable a cell is, when it is a whole local variable.
pub(crate) fn variable_at(view: &View<'_>, cell: Cell) -> Option<VarId> {
    let ValueNode::Local(local) = view.values.node(cell.base) else { return None };
    match view.body.insts[local] {
        Inst::Local { var, .. } => var,
        _ => None,
    }
}

/// What a constant initialiser has at an offset.
fn constant_at(init: &Initialiser, offset: i64) -> Option<Relation> {
    match init {
        Initialiser::Zero => Some(Relation::ZERO),
        Initialiser::Items { items, complete } => {
            let item = items.iter().find(|item| i64::try_from(item.offset) == Ok(offset)).map(|item| item.value);
            match item {
                Some(Constant::Global { .. } | Constant::Function(_)) => Some(Relation::NONZERO),
                Some(constant) => number_of(constant).map(Relation::Eq),
                None => complete.then_some(Relation::ZERO),
            }
        }
        _ => None,
    }
}

/// Whether `[start, start + length)` may hold `at`.
fn covers(start: Offset, length: i64, at: Offset) -> bool {
    match (start, at) {
        (Offset::Known(start), Offset::Known(at)) => start <= at && at < start.saturating_add(length.max(1)),
        _ => true,
    }
}

fn moved(at: Offset, from: Offset, to: Offset) -> Offset {
    match (at, from, to) {
        (Offset::Known(at), Offset::Known(from), Offset::Known(to)) => Offset::Known(at - from + to),
        _ => Offset::Any,
    }
}
