//! What a call does to the object: the actions of the callee, in the caller's terms.

use std::collections::hash_map::Entry;

use caulk_ir::{InstId, Operand};
use caulk_memory::{AccessPath, Cell, Offset, Relation, ValueId, ValueNode};
use caulk_summary::apply::{self, Paths};
use caulk_summary::{Action, Depth, Destination, Event, Subject, Summary};
use smallvec::SmallVec;

use super::on_call::OnCall;
use super::{Propagation, names};
use crate::alternative::{Alternative, Status};
use crate::fact_list::{keep_shared, learn};
use crate::facts::number_of;
use crate::function::Resolved;

/// Alternatives that a call has split off; they go on after it.
type Split = Paths<Alternative>;

impl Propagation<'_, '_> {
    /// A call. False when it does not return, or when all that is left of the alternative is in `split`.
    pub(super) fn call(&mut self, inst: InstId, current: &mut Alternative, split: &mut Split) -> bool {
        current.remove_name(inst);
        let body = self.view.body;
        let Some(call) = body.insts[inst].call() else { return true };
        if call.flags.no_return {
            return false;
        }
        let is_given = call.args.iter().any(|a| names(current, *a));
        if current.status == Status::Live && is_given && !current.is_held() {
            // A temporary that no variable holds: this is the last that is seen of it.
            current.lost = Some((inst, false));
        }
        if is_given && current.status == Status::Live {
            self.take_back(inst, current);
        }
        let Some(effect) = self.view.calls[inst].clone() else {
            self.view.forget_written(inst, &mut current.facts);
            self.keep_zero(inst, current);
            return true;
        };
        // What one action stores is not what the next one finds.
        let moved = self.moved_by_exchange(inst, &effect.summary, current);
        let mut on_call = OnCall::new(self, inst, &effect.summary, moved, is_given);
        apply::call(&mut on_call, &effect.summary, effect.unknown, current, split)
    }

    /// For a callee that exchanges what two places hold: which of its actions are about the object, as it was held before the call.
    fn moved_by_exchange(&mut self, inst: InstId, summary: &Summary, current: &Alternative) -> Option<Vec<bool>> {
        let exchanges = current.status == Status::Live && !current.cells.is_empty() && summary.exchanges();
        exchanges.then(|| self.about_object(inst, summary, current))
    }

    /// Which actions of a callee are about the object.
    pub(super) fn about_object(&mut self, inst: InstId, summary: &Summary, current: &Alternative) -> Vec<bool> {
        let is_about = |action: &Action| self.subject(inst, action).is_some_and(|s| self.is_object(s, current));
        summary.actions.iter().map(is_about).collect()
    }

    /// Learns what an argument must be for the callee to return. False where it cannot be.
    pub(super) fn learn_argument(
        &mut self,
        inst: InstId,
        index: u32,
        relation: Relation,
        current: &mut Alternative,
    ) -> bool {
        let body = self.view.body;
        let Some(argument) = self.view.argument(inst, index) else { return true };
        if body.constant(argument).and_then(number_of).is_some_and(|number| !relation.holds(number)) {
            return false;
        }
        self.view.keys.here = (self.view.homes[inst], inst);
        let key = self.view.keys.of_operand(body, &self.view.values, argument);
        key.is_none_or(|key| learn(&mut current.facts, (key, relation), self.view.config.max_facts))
    }

    pub(super) fn note_facts(&mut self, inst: InstId, current: &Alternative) {
        match self.flow.facts_at.entry(inst) {
            Entry::Vacant(slot) => drop(slot.insert(current.facts.clone())),
            Entry::Occupied(mut known) => {
                keep_shared(known.get_mut(), &current.facts, &self.view.apart);
            }
        }
    }

    pub(super) fn give_to_unknown(&mut self, inst: InstId, current: &mut Alternative) {
        let Some(call) = self.view.body.insts[inst].call() else { return };
        let given = call.args.iter().any(|a| names(current, *a) || self.is_holder(*a, current));
        if given {
            let is_alone = current.cells.len() == 1 && !call.args.iter().any(|a| names(current, *a));
            self.flow.left_in.extend(current.cells.iter().copied().filter(|_| is_alone));
            self.flow.escaped_by.push(inst);
            let event = self.history.add(current.event, inst, Event::GivenToUnknown);
            current.settle(Status::Unknown, event);
        }
    }

    /// Whether the operand points to memory that holds the object, over any number of steps.
    pub(super) fn is_holder(&self, operand: Operand, current: &Alternative) -> bool {
        let Some(cell) = self.view.values.of_operand(operand) else { return false };
        if matches!(self.view.values.node(cell.base), ValueNode::Nothing) {
            return false;
        }
        let values = &self.view.values;
        current
            .cells
            .iter()
            .any(|held| values.is_reached_from(held.base, cell.base) || self.view.leads_to(cell.base, held.base))
    }

    pub(super) fn subject(&mut self, inst: InstId, action: &Action) -> Option<Resolved> {
        match &action.subject {
            Subject::Value(path) => self.view.resolve(inst, path),
            Subject::Alloc(_) => None,
        }
    }

    /// Whether a cell is one of the object itself: what points to itself is an empty list, or a buffer that is a part of it.
    pub(super) fn is_own_cell(&self, resolved: Resolved, action: &Action, current: &Alternative) -> bool {
        let is_own = matches!(resolved, Resolved::Cell(cell) if Some(cell.base) == current.own);
        is_own && !self.is_header(action, resolved, current)
    }

    fn is_object(&self, resolved: Resolved, current: &Alternative) -> bool {
        match resolved {
            Resolved::Operand(operand) => names(current, operand),
            Resolved::Cell(Cell { base, offset: Offset::Any }) => current.cells.iter().any(|c| c.base == base),
            Resolved::Cell(cell) => current.cells.contains(&cell) || self.is_element_of_local(cell, current),
        }
    }

    /// Whether the subject of an action is the object. A callee that does something to what lies anywhere in a structure it is given
    /// means that structure, not what the structure is a part of.
    pub(super) fn is_subject(&self, inst: InstId, action: &Action, resolved: Resolved, current: &Alternative) -> bool {
        let extent = match (&action.subject, resolved) {
            (Subject::Value(path), Resolved::Cell(Cell { offset: Offset::Any, .. })) => self.view.extent(inst, path),
            _ => None,
        };
        let Some((base, extent)) = extent else {
            return self.is_object(resolved, current) || self.is_header(action, resolved, current);
        };
        let is_inside = |offset: Offset| match offset {
            Offset::Known(offset) => extent.contains(&offset),
            Offset::Any => true,
        };
        current.cells.iter().any(|cell| cell.base == base && is_inside(cell.offset))
    }

    /// Whether a cell is that of an element of a local array which holds the object somewhere: the loop with which a compiler
    /// destroys such an array comes by every element.
    fn is_element_of_local(&self, cell: Cell, current: &Alternative) -> bool {
        let is_local = |choice: &Cell| matches!(self.view.values.node(choice.base), ValueNode::Local(_));
        let arrays = self.view.choices.get(&cell.base).into_iter().flatten().filter(|c| is_local(c));
        arrays.into_iter().any(|array| current.cells.iter().any(|held| held.base == array.base))
    }

    /// What holds the object, as an action is about it.
    pub(super) fn holder(&mut self, inst: InstId, action: &Action) -> Option<Cell> {
        match self.subject(inst, action)? {
            Resolved::Operand(operand) => self.view.values.of_operand(operand),
            Resolved::Cell(cell) => self.view.values.loaded(cell).map(|base| Cell { base, offset: Offset::ZERO }),
        }
    }

    /// Whether something that an action is about holds the object, over any number of steps.
    pub(super) fn holds_object(&self, holder: Cell, action: &Action, current: &Alternative) -> bool {
        let values = &self.view.values;
        let is_given_away = matches!(action.to, Destination::Keep | Destination::Unknown);
        let holds = current.cells.iter().any(|held| {
            values.is_reached_from(held.base, holder.base)
                || (is_given_away && self.view.leads_to(holder.base, held.base))
        });
        holds && !matches!(values.node(holder.base), ValueNode::Nothing)
    }

    /// Whether a callee that frees what holds the object does not get to it. Nodes of a list have one name each only where the code
    /// here made them; of the others it is not known which one the callee freed.
    pub(super) fn is_left_inside(&self, deep: &Depth, holder: Cell, current: &Alternative) -> bool {
        let values = &self.view.values;
        let is_inside = |held: &Cell| match (held.offset, holder.offset) {
            (Offset::Known(held_at), Offset::Known(freed_at)) if held.base == holder.base => {
                !deep.reaches(Offset::Known(held_at.wrapping_sub(freed_at)))
            }
            _ => false,
        };
        let mut inside = current.cells.iter().filter(|held| values.is_reached_from(held.base, holder.base));
        match deep {
            Depth::Shallow => true,
            Depth::Fields(_) => values.is_exact(self.view.body, current.behind(holder.base)) && inside.all(is_inside),
            Depth::Deep => false,
        }
    }

    /// The holder becomes known under another name as well.
    pub(super) fn holder_moved_to(&mut self, inst: InstId, base: ValueId, to: &AccessPath, current: &mut Alternative) {
        let to = self.view.resolve(inst, to);
        // A variable that has the address of another leads to the same holder.
        if let Some(Resolved::Cell(cell)) = to
            && self.view.settled.get(&cell).is_some_and(|known| known.is_some_and(|known| known.base == base))
        {
            return;
        }
        let Some(Resolved::Operand(operand)) = to else {
            self.flow.left_in.extend(current.cells.iter().copied().filter(|_| current.cells.len() == 1));
            let event = self.history.add(current.event, inst, Event::Kept);
            return current.settle(Status::Kept, event);
        };
        let Some(new) = self.view.values.of_operand(operand) else { return };
        let copies: SmallVec<[Cell; 2]> = current
            .cells
            .iter()
            .filter(|held| held.base == base)
            .map(|held| Cell { base: new.base, offset: held.offset })
            .collect();
        copies.into_iter().for_each(|c| current.add_cell(c));
    }

    pub(super) fn moved_to(&mut self, inst: InstId, to: &AccessPath, current: &mut Alternative) {
        match self.view.resolve(inst, to) {
            Some(Resolved::Operand(Operand::Value(value))) => current.add_name(value),
            Some(Resolved::Cell(cell)) if !matches!(self.view.values.node(cell.base), ValueNode::Nothing) => {
                let named = current.last_variable.filter(|var| current.vars.contains(var));
                for place in self.view.choices(cell) {
                    self.hold(place, current);
                }
                // A variable that has it is the better name for it than one that a callee filled.
                current.last_variable = named.or(current.last_variable);
                current.event = self.history.add(current.event, inst, Event::Stored);
            }
            _ => {
                let event = self.history.add(current.event, inst, Event::Kept);
                current.settle(Status::Kept, event);
            }
        }
    }

    /// Whether a callee's path is one place of this function that holds the object: a local variable, or a field of a structure
    /// that is always the same.
    pub(super) fn holds_in_place(&mut self, inst: InstId, path: &AccessPath, current: &Alternative) -> bool {
        if current.status != Status::Live || path.steps.is_empty() {
            return false;
        }
        let Some(Resolved::Cell(cell)) = self.view.resolve(inst, path) else { return false };
        current.cells.contains(&cell) && self.is_one_place(cell) && self.view.values.is_exact(self.view.body, cell.base)
    }

    /// What the callee stores at a path takes the place of what was there.
    pub(super) fn overwrite(&mut self, inst: InstId, path: &AccessPath, moves_object: bool, current: &mut Alternative) {
        if path.steps.is_empty() {
            return;
        }
        let Some(Resolved::Cell(cell)) = self.view.resolve(inst, path) else { return };
        self.forget_loaded(cell, current);
        self.leave_behind(inst, cell, current);
        let behind = Cell { base: current.behind(cell.base), ..cell };
        if !moves_object && self.is_one_place(behind) && current.cells.contains(&cell) {
            current.remove_cell(cell);
            current.event = self.history.add(current.event, inst, Event::Overwritten);
            // What a callee does to memory that others see too is known less well than what is done to a local.
            current.rests_on_opaque |= !matches!(self.view.values.node(cell.base), ValueNode::Local(_));
            current.holder_went(inst, true);
        }
    }
}
