//! Whether a function can matter to anything that owns memory, and whether it has effects besides.

use caulk_ir::{Body, Inst, InstId, Operand, Type};
use caulk_program::{FuncId, Program};
use caulk_summary::Summary;

use crate::summarize::{copies_pointer, is_kept_size};

/// Whether a function can matter at all: it calls something with an effect, or moves pointers it was given.
pub(crate) fn is_relevant(body: &Body, calls_matter: bool) -> bool {
    calls_matter
        || body.insts.values().any(|inst| match inst {
            Inst::Store { ty: Type::Ptr | Type::Aggregate(_), value: Operand::Value(_), .. } => true,
            // A method that only empties a field.
            Inst::Store { ty: Type::Ptr, address: Operand::Value(address), .. } => {
                matches!(root_of(body, *address), Inst::Param { .. })
            }
            Inst::Return { value: Some(Operand::Value(v)) } => {
                matches!(body.insts[*v].result_type(), Type::Ptr | Type::Aggregate(_))
            }
            // A smart pointer that is moved, or an element of a size that a field says.
            Inst::Copy { dst: Operand::Value(to), src: Operand::Value(from), len } => {
                let is_given = |address: InstId| matches!(root_of(body, address), Inst::Param { .. });
                let is_moved = copies_pointer(body, *len) && is_given(*to);
                is_given(*from) && (is_moved || is_kept_size(body, *len))
            }
            // A structure that is cleared as a whole.
            Inst::Fill { dst: Operand::Value(to), .. } => matches!(root_of(body, *to), Inst::Param { .. }),
            Inst::Unknown { .. } => true,
            _ => false,
        })
}

/// Whether a body writes memory others can see, or calls something that does.
pub(crate) fn is_impure<'a>(
    program: &Program,
    id: FuncId,
    body: &Body,
    summary_of: &dyn Fn(FuncId) -> Option<&'a Summary>,
) -> bool {
    let is_local = |address: &Operand| address.value().is_some_and(|v| matches!(root_of(body, v), Inst::Local { .. }));
    let writes = body.insts.values().any(|inst| match inst {
        Inst::Store { address, .. } => !is_local(address),
        Inst::Copy { dst, .. } | Inst::Fill { dst, .. } => !is_local(dst),
        Inst::Load { volatile, .. } => *volatile,
        Inst::Unknown { .. } => true,
        _ => false,
    });
    writes
        || program.call_sites(id).iter().any(|site| {
            let targets = program.targets(site);
            targets.is_empty() || targets.iter().any(|t| summary_of(*t).is_none_or(|s| s.impure))
        })
}

/// What an address is computed from.
fn root_of(body: &Body, mut value: InstId) -> &Inst {
    loop {
        match &body.insts[value] {
            Inst::Address { base: Operand::Value(next), .. } | Inst::Cast { value: Operand::Value(next), .. } => {
                value = *next;
            }
            root => return root,
        }
    }
}
