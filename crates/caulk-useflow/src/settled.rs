//! Pointers whose target is known without following paths: addresses that are kept in a local variable, and addresses that are
//! chosen between.

use std::rc::Rc;

use caulk_ir::entity::EntityVec;
use caulk_ir::{Body, Inst, InstId, Operand, Type};
use caulk_memory::{AccessPath, Cell, Offset, PathRoot, ValueId, ValueNode, ValueTable};
use caulk_rules::Rule;
use caulk_summary::{Action, Destination, Guard, Subject};
use rustc_hash::FxHashMap;
use smallvec::{SmallVec, smallvec};

use crate::bounds::BOUNDS;
use crate::call_effect::CallEffect;
use crate::function::View;

/// Cells of local variables to which one address is stored and, but for null, nothing else: `info.content = &buffer`. None: several
/// are.
pub(crate) fn settled_pointers(
    body: &Body,
    values: &ValueTable,
    calls: &EntityVec<InstId, Option<Rc<CallEffect<'_>>>>,
) -> FxHashMap<Cell, Option<Cell>> {
    let mut settled: FxHashMap<Cell, Option<Cell>> = FxHashMap::default();
    for inst in body.insts.values() {
        let Inst::Store { ty: Type::Ptr, value, address, .. } = inst else { continue };
        let Some(to) = values.of_operand(*address).filter(|cell| is_local(values, cell)) else { continue };
        let stored = values.of_operand(*value);
        if stored.is_some_and(|cell| values.node(cell.base) == ValueNode::Nothing) {
            continue;
        }
        let target = stored.filter(|cell| is_address(values, cell));
        let known = settled.entry(to).or_insert(target);
        if *known != target {
            *known = None;
        }
    }
    for (to, target) in stored_by_calls(body, values, calls) {
        let known = settled.entry(to).or_insert(target);
        if *known != target {
            *known = None;
        }
    }
    if settled.values().any(Option::is_some) {
        unsettle(body, values, calls, &mut settled);
    }
    settled
}

/// Addresses of variables that callees store in others: `Parser parser(&file);`.
fn stored_by_calls(
    body: &Body,
    values: &ValueTable,
    calls: &EntityVec<InstId, Option<Rc<CallEffect<'_>>>>,
) -> Vec<(Cell, Option<Cell>)> {
    let mut stored = Vec::new();
    for (inst, effect) in calls.iter() {
        let (Some(effect), Some(call)) = (effect, body.insts[inst].call()) else { continue };
        for action in &effect.summary.actions {
            let Destination::Store(to) = &action.to else { continue };
            let to = cell_of(values, &call.args, to).filter(|cell| is_local(values, cell));
            stored.extend(to.zip(stored_address(values, &call.args, action)).map(|(to, from)| (to, Some(from))));
        }
    }
    stored
}

/// The address of a variable that a callee always stores, if an action is that.
fn stored_address(values: &ValueTable, args: &[Operand], action: &Action) -> Option<Cell> {
    let Subject::Value(path) = &action.subject else { return None };
    let PathRoot::Param(index) = path.root else { return None };
    let is_argument = path.steps.is_empty() && action.guard == Guard::Always;
    let cell = values.of_operand(*args.get(index as usize).filter(|_| is_argument)?)?;
    is_local(values, &cell).then_some(cell)
}

fn is_local(values: &ValueTable, cell: &Cell) -> bool {
    matches!(values.node(cell.base), ValueNode::Local(_)) && matches!(cell.offset, Offset::Known(_))
}

/// Whether a value is the address of a variable, or one that the function was given.
fn is_address(values: &ValueTable, cell: &Cell) -> bool {
    matches!(values.node(cell.base), ValueNode::Local(_) | ValueNode::Param(_))
        && matches!(cell.offset, Offset::Known(_))
}

impl View<'_> {
    /// Whether a variable has the address of another, or of one that has it: `next = &one; state = &next`.
    pub(crate) fn leads_to(&self, from: ValueId, to: ValueId) -> bool {
        let mut reached: SmallVec<[ValueId; BOUNDS.settled_addresses]> = smallvec![from];
        for _ in 0..BOUNDS.settled_addresses {
            let is_next = |cell: &Cell, target: &Cell| reached.contains(&cell.base) && !reached.contains(&target.base);
            let targets = self.settled.iter().filter_map(|(cell, target)| Some((cell, target.as_ref()?)));
            let next: SmallVec<[ValueId; BOUNDS.settled_addresses]> =
                targets.filter(|(cell, target)| is_next(cell, target)).map(|(_, target)| target.base).collect();
            if next.is_empty() {
                return false;
            }
            if next.contains(&to) {
                return true;
            }
            reached.extend(next);
        }
        false
    }
}

/// What callees set to something else is not settled: the tail of a list that they append to.
fn unsettle(
    body: &Body,
    values: &ValueTable,
    calls: &EntityVec<InstId, Option<Rc<CallEffect<'_>>>>,
    settled: &mut FxHashMap<Cell, Option<Cell>>,
) {
    for (inst, effect) in calls.iter() {
        let (Some(effect), Some(call)) = (effect, body.insts[inst].call()) else { continue };
        let stored = effect.summary.actions.iter().filter_map(|action| match &action.to {
            Destination::Store(to) => Some((to, stored_address(values, &call.args, action))),
            _ => None,
        });
        for (path, address) in effect.summary.overwritten.iter().map(|path| (path, None)).chain(stored) {
            let cell = cell_of(values, &call.args, path);
            // What is stored there is what is known to be there.
            let is_known = |cell: &Cell| address.is_some() && settled.get(cell) == Some(&address);
            if let Some(cell) = cell.filter(|cell| !is_known(cell)) {
                settled.insert(cell, None);
            }
        }
    }
}

/// The cell of a variable of the caller that a callee's path of one step is.
fn cell_of(values: &ValueTable, args: &[Operand], path: &AccessPath) -> Option<Cell> {
    let (PathRoot::Param(index), [step]) = (path.root, path.steps.as_slice()) else { return None };
    let at = values.of_operand(*args.get(index as usize)?)?;
    Some(Cell { base: at.base, offset: at.offset.plus(step.offset) })
}

impl View<'_> {
    /// The places that a cell may be, where its address was chosen between some that are known: `to = flag ? &s->a : &s->b`.
    pub(crate) fn choices(&self, cell: Cell) -> SmallVec<[Cell; 2]> {
        let chosen = match self.values.node(cell.base) {
            ValueNode::Opaque(inst) if cell.offset == Offset::ZERO => self.chosen_between(inst),
            _ => None,
        };
        let chosen = chosen.filter(|_| self.config.rules.applies(Rule::ChosenAddresses, true));
        chosen.unwrap_or_else(|| smallvec![cell])
    }

    fn chosen_between(&self, inst: InstId) -> Option<SmallVec<[Cell; 2]>> {
        let operands: SmallVec<[Operand; 2]> = match &self.body.insts[inst] {
            Inst::Select { then, other, .. } => smallvec![*then, *other],
            Inst::Phi { incoming, .. } if incoming.len() == 2 => incoming.iter().map(|(_, value)| *value).collect(),
            _ => return None,
        };
        let is_known = |cell: &Cell| !matches!(self.values.node(cell.base), ValueNode::Opaque(_) | ValueNode::Nothing);
        operands.into_iter().map(|operand| self.values.of_operand(operand).filter(is_known)).collect()
    }
}
