//! Blocks with a header that says where they start: `((void **) aligned)[-1] = block`.

use caulk_ir::Operand;
use caulk_memory::{Cell, Offset, ValueId, ValueNode};
use caulk_rules::Rule;
use caulk_summary::{Action, Subject};

use super::Propagation;
use crate::alternative::Alternative;
use crate::function::Resolved;
use crate::slots::is_header_of_block;

impl Propagation<'_, '_> {
    /// Whether an action is about what stands before the block: there an allocator that aligns blocks keeps where the block really
    /// starts. Before a part of a structure there are fields, which have names.
    pub(super) fn is_header(&self, action: &Action, resolved: Resolved, current: &Alternative) -> bool {
        let Subject::Value(path) = &action.subject else { return false };
        let base = match resolved {
            Resolved::Cell(Cell { base, offset: Offset::Known(..0) }) if is_header_of_block(path) => base,
            // `free(((void **) aligned)[-1])`
            Resolved::Operand(operand) => match self.loaded_before(operand) {
                Some(base) => base,
                None => return false,
            },
            Resolved::Cell(_) => return false,
        };
        let is_held_as = |held: &Cell| self.view.values.known_load(*held) == Some(base);
        let is_block = current.own == Some(base) || current.cells.iter().any(is_held_as);
        self.view.config.rules.applies(Rule::BlockHeaders, is_block)
    }

    /// What a value was loaded from, if that stands before it.
    fn loaded_before(&self, operand: Operand) -> Option<ValueId> {
        let cell = self.view.values.of_operand(operand).filter(|cell| cell.offset == Offset::ZERO)?;
        match self.view.values.node(cell.base) {
            ValueNode::Load(base, offset @ Offset::Known(..0)) => {
                self.view.values.own_field(Cell { base, offset }).is_none().then_some(base)
            }
            _ => None,
        }
    }
}
