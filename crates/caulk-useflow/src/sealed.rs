//! Code of a callee that the constants it is given seal off, found without executing it.
//!
//! A parser with many loops costs more to execute than a budget allows. What a flag decides is seen all the same:
//!
//! ```c
//! if (found && (flags & TEST)) return start;
//! ...
//! if (found) value = strdup(e);
//! ```
//!
//! With `TEST` nothing is found behind the first line, so nothing is allocated there.

use caulk_ir::{Body, InstId, Operand};
use caulk_program::{FuncId, Program, Resolution};
use caulk_summary::Summary;

use crate::bounds::BOUNDS;
use crate::call_effect::CallEffect;
use crate::reached::{ReachedCall, ReachedCalls, number_of};

/// What is asked of functions and calls below.
pub struct Callees<'c, 'a> {
    pub program: &'c Program,
    /// Larger functions are not looked at.
    pub max_size: u32,
    /// What was found out before.
    pub reached: &'c ReachedCalls,
    pub summary: &'c dyn Fn(FuncId) -> Option<&'a Summary>,
    pub effect: &'c dyn Fn(FuncId, InstId) -> Option<CallEffect<'a>>,
}

impl Callees<'_, '_> {
    /// Whether no code that makes a block for a caller can be reached in a function that is given these constants (number of the parameter, value).
    pub fn makes_no_block(&self, function: FuncId, given: &[(u32, u64)]) -> bool {
        self.is_sealed(function, given, 0)
    }

    fn is_sealed(&self, function: FuncId, given: &[(u32, u64)], depth: u32) -> bool {
        let is_small = self.program.has_body(function) && self.program.body_size(function).1 <= self.max_size;
        if !is_small || depth > BOUNDS.sealed_callees || (self.summary)(function).is_none_or(|s| s.is_model) {
            return false;
        }
        let Some(calls) = self.reached.of(self.program, function, given) else { return false };
        calls.iter().all(|call| {
            let effect = (self.effect)(function, call.inst);
            let makes_none = effect.is_none_or(|effect| !effect.unknown && effect.summary.blocks.is_empty());
            makes_none || (call.is_named && self.is_sealed_call(function, call, depth))
        })
    }

    /// Whether all functions that a call may reach make nothing, with the constants that it gives them.
    fn is_sealed_call(&self, function: FuncId, call: &ReachedCall, depth: u32) -> bool {
        let Some(site) = self.program.call_site(function, call.inst) else { return false };
        let targets = self.program.targets(site);
        let is_known = site.outcome == Resolution::Resolved && !targets.is_empty();
        is_known && targets.iter().all(|target| self.is_sealed(*target, &call.given, depth + 1))
    }
}

/// The arguments of a call that are constants.
pub(crate) fn constant_arguments(body: &Body, args: &[Operand]) -> Vec<(u32, u64)> {
    let number = |arg: &Operand| number_of(body.constant(*arg)?);
    args.iter().enumerate().filter_map(|(index, arg)| Some((index as u32, number(arg)?))).collect()
}
