//! What callers give: where all calls of a function are known, it is executed once for each set of constants that they pass.
//!
//! Two parameters that no caller combines ("store the result" and "count only") need not be distinguished by the function itself.

use caulk_ir::{Constant, Inst};

use crate::effect_cache::Given;
use crate::frame::Frame;
use crate::world::World;

/// The constants that calls of a function pass for parameters that it asks about. Empty: some caller may pass anything.
pub(crate) fn given_by_callers(world: &World<'_>, frame: &Frame<'_>) -> Vec<Given> {
    let program = world.program;
    let asked = asked_parameters(frame);
    if asked.is_empty() || program.may_be_called_from_outside(frame.id) {
        return Vec::new();
    }
    let mut found: Vec<Given> = Vec::new();
    for caller in program.callers(frame.id) {
        let Some(body) = program.body(caller) else { return Vec::new() };
        let calls = program.call_sites(caller).iter().filter(|site| program.targets(site).contains(&frame.id));
        for site in calls {
            let Some(call) = body.insts[site.inst].call() else { return Vec::new() };
            let constant = |index: &u32| {
                let argument = body.constant(*call.args.get(*index as usize)?)?;
                Some((*index, number(argument)?))
            };
            let given: Given = asked.iter().filter_map(constant).collect();
            if given.is_empty() {
                return Vec::new();
            }
            if !found.contains(&given) {
                found.push(given);
            }
            if found.len() > world.config.max_givens {
                return Vec::new();
            }
        }
    }
    found
}

/// Parameters that a condition of the function depends on.
fn asked_parameters(frame: &Frame<'_>) -> Vec<u32> {
    let parameters = frame.body.insts.iter().filter_map(|(inst, kind)| match kind {
        Inst::Param { index, .. } => Some((inst, *index)),
        _ => None,
    });
    parameters.filter(|(inst, _)| frame.is_tested[*inst]).map(|(_, index)| index).collect()
}

fn number(constant: Constant) -> Option<u64> {
    match constant {
        Constant::Int { bits, value } if (1..=64).contains(&bits) => Some(value),
        Constant::Null => Some(0),
        _ => None,
    }
}
