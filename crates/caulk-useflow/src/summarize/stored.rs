//! Fields that a fresh block is stored in, as the stores themselves tell.
//!
//! What a structure holds that is in a list when the function is left counts as held by the list. Yet it is the field's, if it was stored
//! there alone.

use caulk_ir::{Constant, Inst, InstId, Operand, Type};
use caulk_memory::{AccessPath, Cell, Offset, PathRoot, ValueNode};
use caulk_summary::{Action, Destination, Guard, Subject};

use super::{Exit, Summarizer};
use crate::function::View;
use crate::indexed::field_of_address;
use crate::objects::Fresh;
use crate::slots::Slot;

impl Summarizer<'_> {
    /// The field of a structure in memory that a block is stored in, if it is stored once and goes nowhere else.
    pub(super) fn stored_once(&self, object: &Fresh) -> Option<Slot> {
        let view = &self.view;
        let result = view.values.of_inst(object.call)?.base;
        let [address] = self.stores_of(object.call)[..] else { return None };
        // What the callee keeps itself is not the field's.
        let is_kept = !object.first.cells.is_empty();
        if object.first.own != Some(result) || is_kept || self.goes_elsewhere(object.call) {
            return None;
        }
        let cell = view.values.of_operand(address)?;
        if self.is_lent(object.call, cell) {
            return None;
        }
        let is_local = matches!(view.values.node(cell.base), ValueNode::Local(_));
        let slot =
            self.field_of(object.call, cell).filter(|_| !is_local && view.values.is_exact(view.body, cell.base))?;
        let field = view.program.type_info(slot.0).fields.iter().find(|field| field.offset == slot.1)?;
        (field.pointee.depth > 0 && field.target != Some(slot.0)).then_some(slot)
    }

    /// Whether a cell has the result of a call only for a while: the function frees it by its own name, and clears the cell.
    pub(super) fn is_lent(&self, call: InstId, cell: Cell) -> bool {
        let insts = || self.view.body.insts.iter();
        let is_freed = insts().any(|(id, inst)| {
            let mut arguments = inst.call().into_iter().flat_map(|data| data.args.iter().enumerate());
            arguments.any(|(index, argument)| self.is_result(call, *argument) && self.is_freed_by(id, index))
        });
        let is_null = |value: Operand| self.view.body.constant(value) == Some(Constant::Null);
        let clears = |inst: &Inst| match inst {
            Inst::Store { value, address, .. } => {
                is_null(*value) && self.view.values.of_operand(*address) == Some(cell)
            }
            _ => false,
        };
        is_freed && insts().any(|(_, inst)| clears(inst))
    }

    fn is_freed_by(&self, call: InstId, index: usize) -> bool {
        let argument = Subject::Value(AccessPath::root(PathRoot::Param(index as u32)));
        let actions = self.view.calls[call].iter().flat_map(|effect| &effect.summary.actions);
        let frees = |action: &Action| action.subject == argument && matches!(action.to, Destination::Free { .. });
        actions.into_iter().any(frees)
    }

    /// The field that a cell is. All fields of the elements of an array share one cell: there the store must say the same.
    pub(super) fn field_of(&self, call: InstId, cell: Cell) -> Option<Slot> {
        let stores = self.stores_of(call);
        let mut here = stores.iter().filter(|address| self.view.values.of_operand(**address) == Some(cell));
        let slot = self.view.values.own_field(cell);
        match (cell.offset, here.next()) {
            (Offset::Any, Some(address)) => slot.filter(|slot| field_of_address(&self.view, *address) == Some(*slot)),
            _ => slot,
        }
    }

    /// Where the result of a call is stored.
    fn stores_of(&self, call: InstId) -> Vec<Operand> {
        let stores = self.view.body.insts.values().filter_map(|inst| match inst {
            Inst::Store { value, address, .. } if self.is_result(call, *value) => Some(*address),
            _ => None,
        });
        stores.collect()
    }

    fn is_result(&self, call: InstId, value: Operand) -> bool {
        let values = &self.view.values;
        values.of_operand(value).is_some_and(|cell| values.node(cell.base) == ValueNode::Opaque(call))
    }

    /// Whether the result of a call is returned, mixed with other values, or given to what may keep it.
    fn goes_elsewhere(&self, call: InstId) -> bool {
        let is_result = |value: &Operand| self.is_result(call, *value);
        self.view.body.insts.iter().any(|(id, inst)| match inst {
            Inst::Return { value: Some(value) } => is_result(value),
            Inst::Phi { incoming, .. } => incoming.iter().any(|(_, value)| is_result(value)),
            Inst::Select { then, other, .. } => is_result(then) || is_result(other),
            _ => inst.call().is_some_and(|data| {
                let mut given = data.args.iter().enumerate().filter(|(_, argument)| is_result(argument));
                given.any(|(index, _)| self.is_taken(id, index))
            }),
        })
    }

    /// Whether the function itself frees the object by the pointer it was given, on every way to its returns: what a field has of it
    /// meanwhile is a second pointer.
    pub(super) fn is_freed_before_all(&self, object: &Fresh, exits: &[Exit]) -> bool {
        let is_object = |call: InstId, action: &Action| match (&action.subject, &action.to) {
            (Subject::Value(AccessPath { root: PathRoot::Param(index), steps }), Destination::Free { .. }) => {
                let argument = self.view.argument(call, *index);
                let base = argument.and_then(|argument| self.view.values.of_operand(argument)).map(|cell| cell.base);
                steps.is_empty() && action.guard == Guard::Always && base.is_some() && base == object.first.own
            }
            _ => false,
        };
        let frees = |call: InstId| {
            let effect = self.view.calls[call].as_ref();
            effect.is_some_and(|effect| effect.summary.actions.iter().any(|action| is_object(call, action)))
        };
        let homes = &self.view.homes;
        let is_before_all =
            |call: InstId| exits.iter().all(|(exit, _)| self.view.dominators().dominates(homes[call], homes[*exit]));
        !exits.is_empty() && self.view.body.insts.keys().any(|call| frees(call) && is_before_all(call))
    }

    fn is_taken(&self, call: InstId, index: usize) -> bool {
        let Some(effect) = self.view.calls[call].as_ref() else { return false };
        let root = PathRoot::Param(index as u32);
        let takes = effect.summary.actions.iter().any(|action| {
            let is_argument =
                matches!(&action.subject, Subject::Value(path) if path.root == root && path.steps.is_empty());
            let lasts = match &action.to {
                Destination::Free { .. } | Destination::Renew => false,
                Destination::Store(to) => to.root != PathRoot::Return,
                Destination::Keep | Destination::Unknown => true,
            };
            is_argument && lasts
        });
        takes || effect.unknown
    }
}

/// Out-pointers that the function does nothing with but store through them, or give them to a callee that does no more.
pub(super) fn written_blindly(view: &View<'_>) -> Vec<u32> {
    let body = view.body;
    let params = body.insts.iter().map_while(|(inst, kind)| match kind {
        Inst::Param { index, ty: Type::Ptr } => Some((inst, *index)),
        Inst::Param { .. } => Some((inst, u32::MAX)),
        _ => None,
    });
    let is_blind = |param: InstId| {
        let is_param = |operand: &Operand| *operand == Operand::Value(param);
        body.insts.iter().all(|(id, kind)| match kind {
            Inst::Store { value, .. } => !is_param(value),
            Inst::Bind { .. } | Inst::Unbind { .. } => true,
            kind => match kind.call() {
                Some(call) => (0..).zip(&call.args).filter(|(_, arg)| is_param(arg)).all(|(index, _)| {
                    view.calls[id].as_ref().is_some_and(|e| !e.unknown && e.summary.written_blindly.contains(&index))
                }),
                None => {
                    let mut is_used = false;
                    kind.for_each_operand(|operand| is_used |= is_param(operand));
                    !is_used
                }
            },
        })
    };
    params.filter(|(inst, index)| *index != u32::MAX && is_blind(*inst)).map(|(_, index)| index).collect()
}
