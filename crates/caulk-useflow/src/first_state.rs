//! Functions that give a structure its first state: what its fields held before, they held for no one.

use caulk_ir::{Inst, InstId, Operand, Type};
use caulk_memory::{Cell, Offset};

use crate::function::View;

/// Whether a function writes all fields of a structure, of which it reads none.
pub(crate) fn initialises(view: &View<'_>, cell: Cell) -> bool {
    let Some(ty) = view.values.structure(cell.base) else { return false };
    let at = |address: Operand| view.values.of_operand(address).filter(|at| at.base == cell.base);
    let is_at = |address: Operand, offset: u64| at(address).is_some_and(|at| at.offset == Offset::Known(offset as i64));
    let insts = || view.body.insts.values();
    let is_written =
        |offset: u64| insts().any(|inst| matches!(inst, Inst::Store { address, .. } if is_at(*address, offset)));
    let fields = &view.program.type_info(ty).fields;
    let is_read = insts().any(|inst| matches!(inst, Inst::Load { address, .. } if at(*address).is_some()));
    fields.len() > 1 && !is_read && fields.iter().all(|field| is_written(field.offset))
}

/// Whether a function clears the structure, or sets other pointers in it to null: it is giving it its first state. What it frees and
/// then sets to null says the contrary.
pub(crate) fn sets_up(view: &View<'_>, cell: Cell, store: InstId, freed: &[Offset]) -> bool {
    let of_base = |address: &Operand| view.values.of_operand(*address).filter(|c| c.base == cell.base);
    view.body.insts.iter().filter(|(inst, _)| *inst != store).any(|(_, inst)| match inst {
        Inst::Fill { dst, .. } | Inst::Copy { dst, .. } => of_base(dst).is_some(),
        Inst::Store { value, address, ty: Type::Ptr, .. } => {
            of_base(address).is_some_and(|c| c.offset != cell.offset && !freed.contains(&c.offset))
                && view.body.constant(*value).is_some()
        }
        _ => false,
    })
}
