//! Where a body copies `errno`: `rc = -errno`.
//!
//! What is copied is the number of an error. Code that is not sure that there was one compares `errno` where it reads it.

use caulk_ir::{Body, Callee, Inst, InstId, Operand, Unit};

/// The functions behind the macro, on the systems there are.
const LOCATIONS: [&str; 5] = ["__errno_location", "__error", "__errno", "_errno", "___errno"];

/// Loads of `errno` whose value is not compared where it is read. Sorted.
#[must_use]
pub fn copied_errnos(unit: &Unit, body: &Body) -> Vec<InstId> {
    let is_location = |address: Operand| {
        let call = address.value().and_then(|value| body.insts[value].call());
        let Some(Callee::Direct(function)) = call.map(|call| call.callee) else { return false };
        LOCATIONS.contains(&unit.str(unit.functions[function].symbol))
    };
    let read = |(id, inst): (InstId, &Inst)| match inst {
        Inst::Load { address, .. } if is_location(*address) => Some(id),
        _ => None,
    };
    let mut copied: Vec<InstId> = body.insts.iter().filter_map(read).collect();
    if copied.is_empty() {
        return copied;
    }
    for inst in body.insts.values() {
        match inst {
            Inst::Compare { lhs, rhs, .. } => {
                copied.retain(|id| lhs.value() != Some(*id) && rhs.value() != Some(*id));
            }
            Inst::Switch { value, .. } => copied.retain(|id| value.value() != Some(*id)),
            _ => {}
        }
    }
    copied
}
