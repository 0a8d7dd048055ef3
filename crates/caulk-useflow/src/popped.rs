//! Globals that are the top of a stack.
//!
//! `top = fresh; ... gone = top; top = gone->below; release(gone);`: whoever pushed an object has handed it to the stack, even
//! where it counts its references. A registry is not popped: its objects leave it from wherever they are.

use caulk_ir::{Body, Constant, Inst, InstId, Operand, Step};
use caulk_program::{FuncId, GlobalVarId, Program};

/// Globals from which this function takes the first object, to give it to somebody.
pub(crate) fn popped_globals(program: &Program, function: FuncId, body: &Body) -> Vec<GlobalVarId> {
    let unit = program.function(function).unit;
    let mut found = Vec::new();
    for inst in body.insts.values() {
        let Inst::Store { value: Operand::Value(below), address, .. } = inst else { continue };
        let Some(Constant::Global { global, offset: 0 }) = body.constant(*address) else { continue };
        let is_taken = |top: &InstId| loads_global(body, *top, *address) && is_given_away(body, *top);
        if link_of(body, *below).is_some_and(|top| is_taken(&top)) {
            found.extend(program.resolve_global(unit, global).first());
        }
    }
    found
}

/// The object that a value is a field of.
fn link_of(body: &Body, value: InstId) -> Option<InstId> {
    let Inst::Load { address: Operand::Value(address), .. } = body.insts[value] else { return None };
    match &body.insts[address] {
        Inst::Address { base: Operand::Value(base), steps } => {
            matches!(steps.as_slice(), [Step::Field { .. }]).then_some(*base)
        }
        // The first field has the address of the whole.
        Inst::Load { .. } => Some(address),
        _ => None,
    }
}

fn loads_global(body: &Body, value: InstId, from: Operand) -> bool {
    let Inst::Load { address, .. } = body.insts[value] else { return false };
    body.constant(address).is_some() && body.constant(address) == body.constant(from)
}

fn is_given_away(body: &Body, value: InstId) -> bool {
    body.insts.values().any(|inst| match inst {
        Inst::Return { value: Some(returned) } => *returned == Operand::Value(value),
        _ => inst.call().is_some_and(|call| call.args.contains(&Operand::Value(value))),
    })
}
