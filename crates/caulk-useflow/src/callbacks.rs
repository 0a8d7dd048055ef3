//! Calls through a parameter: `for_each(list, free)`.
//!
//! A summary notes which parameters a function calls, and with what. Where a caller gives a function by name, the callee is
//! summarised once more for just that: what it does there is what that function does, and not what any function does that
//! some code gives it.

use caulk_rules::Rule;
use std::sync::Arc;

use caulk_ir::{Body, CallData, Callee, Constant, Inst, InstId, Operand, Type};
use caulk_memory::PathRoot;
use caulk_program::{CallSite, FuncId, Program, Resolution};
use caulk_summary::{Action, Destination, Guard, ParamCall, Subject, Summary};
use smallvec::SmallVec;

use crate::function::View;
use crate::summarize::{World, summarize};

/// Calls whose effect is known better than from their targets' summaries. Sorted.
pub(crate) type Special = Vec<(InstId, Arc<Summary>)>;

/// Parameters, and the functions they are.
type Bound = SmallVec<[(u32, FuncId); 1]>;

/// The better effect of a call, if there is one.
pub(crate) fn special(known: &Special, call: InstId) -> Option<&Arc<Summary>> {
    known.binary_search_by_key(&call, |(inst, _)| *inst).ok().map(|at| &known[at].1)
}

/// The parameter that a call is made through.
fn called_param(body: &Body, call: &CallData) -> Option<u32> {
    match call.callee {
        Callee::Indirect(Operand::Value(value)) => match body.insts[value] {
            Inst::Param { index, .. } => Some(index),
            _ => None,
        },
        _ => None,
    }
}

/// Whether a body calls any of its parameters.
pub(crate) fn calls_parameters(body: &Body) -> bool {
    body.insts.values().any(|inst| inst.call().is_some_and(|call| called_param(body, call).is_some()))
}

/// Functions with a body that a function gives by name to what it calls.
pub(crate) fn given_by_name(program: &Program, function: FuncId, body: &Body) -> Vec<FuncId> {
    let unit = program.function(function).unit;
    let mut given = Vec::new();
    for call in body.insts.values().filter_map(Inst::call) {
        for argument in &call.args {
            if let Some(Constant::Function(f)) = body.constant(*argument) {
                given.extend(program.resolve_function(unit, f).iter().filter(|f| program.has_body(**f)));
            }
        }
    }
    given.sort();
    given.dedup();
    given
}

/// The calls of a function through its parameters, its own and those of functions it passes them on to.
pub(crate) fn param_calls(view: &mut View<'_>) -> Vec<ParamCall> {
    let mut found = Vec::new();
    for site in view.program.call_sites(view.id) {
        let Some(call) = view.body.insts[site.inst].call() else { continue };
        if let Some(param) = called_param(view.body, call) {
            let path = |arg: &Operand| view.values.of_operand(*arg).and_then(|cell| view.values.path(cell.base));
            let args = call.args.iter().map(path).collect();
            let open = view.program.targets(site).len() != 1 || site.outcome == Resolution::Unresolved;
            found.push(ParamCall { param, args, open });
            continue;
        }
        let Some(effect) = view.calls[site.inst].clone() else { continue };
        for inner in &effect.summary.calls {
            let Some(&Operand::Value(given)) = call.args.get(inner.param as usize) else { continue };
            let Inst::Param { index, .. } = view.body.insts[given] else { continue };
            let mut in_our_terms = |path: &caulk_memory::AccessPath| {
                let value = view.resolve_value(site.inst, path)?;
                view.values.path(value)
            };
            let args = inner.args.iter().map(|arg| arg.as_ref().and_then(&mut in_our_terms)).collect();
            found.push(ParamCall { param: index, args, open: inner.open });
        }
    }
    found.sort();
    found.dedup();
    found
}

/// What the calls of a function do where it gives them functions by name. `summary_of`: what is known of each function.
pub(crate) fn special_calls<'s>(
    world: &World<'_>,
    function: FuncId,
    body: &Body,
    summary_of: &dyn Fn(FuncId) -> Option<&'s Summary>,
) -> Special {
    let specializer = Specializer { world, summary_of };
    let caller = GivingCaller { function, body, bound: &Bound::new(), so_far: None };
    let rules = &world.config.rules;
    if !rules.is_on(Rule::NamedCallbacks) {
        return Special::default();
    }
    let calls = specializer.calls(&caller, world.config.max_callback_depth);
    rules.note(Rule::NamedCallbacks, calls.len());
    calls
}

struct Specializer<'w, 's> {
    world: &'w World<'w>,
    summary_of: &'w dyn Fn(FuncId) -> Option<&'s Summary>,
}

/// A function whose calls are looked at.
struct GivingCaller<'c> {
    function: FuncId,
    body: &'c Body,
    bound: &'c Bound,
    /// What it does itself for what it is given, as far as that is known.
    so_far: Option<&'c Arc<Summary>>,
}

impl Specializer<'_, '_> {
    fn calls(&self, caller: &GivingCaller<'_>, depth: usize) -> Special {
        let mut known = Special::new();
        for site in self.world.program.call_sites(caller.function) {
            let Some(call) = caller.body.insts[site.inst].call() else { continue };
            let effect = match called_param(caller.body, call) {
                Some(param) => self.bound_summary(caller.bound, param),
                None => self.specialized(caller, site, call, depth),
            };
            known.extend(effect.map(|effect| (site.inst, effect)));
        }
        known.sort_by_key(|(inst, _)| *inst);
        known
    }

    fn bound_summary(&self, bound: &Bound, param: u32) -> Option<Arc<Summary>> {
        let (_, function) = bound.iter().find(|(index, _)| *index == param)?;
        (self.summary_of)(*function).map(|summary| Arc::new(summary.clone()))
    }

    /// The effect of a call to a function that calls what it is given here.
    fn specialized(
        &self,
        caller: &GivingCaller<'_>,
        site: &CallSite,
        call: &CallData,
        depth: usize,
    ) -> Option<Arc<Summary>> {
        let &[callee] = self.world.program.targets(site) else { return None };
        let summary = (self.summary_of)(callee)?;
        let mut params: SmallVec<[u32; 2]> = summary.calls.iter().filter(|c| c.open).map(|c| c.param).collect();
        params.dedup();
        let given = |param: u32| Some((param, self.given(caller, *call.args.get(param as usize)?)?));
        let given: Bound = params.into_iter().filter_map(given).collect();
        if given.is_empty() {
            return None;
        }
        match caller.so_far {
            Some(so_far) if caller.function == callee => (*caller.bound == given).then(|| so_far.clone()),
            _ if depth == 0 => None,
            _ => self.summarized(callee, &given, summary, depth - 1),
        }
    }

    /// What a library function does, and what the functions it is given do to what it passes them.
    fn with_callbacks(&self, given: &Bound, generic: &Summary) -> Summary {
        let mut summary = generic.clone();
        for call in &generic.calls {
            let Some((_, function)) = given.iter().find(|(param, _)| *param == call.param) else { continue };
            let Some(callback) = (self.summary_of)(*function) else { continue };
            summary.actions.extend(callback.actions.iter().filter_map(|action| passed_on(call, action)));
        }
        summary.actions.sort();
        summary.actions.dedup();
        summary
    }

    /// The function an argument is.
    fn given(&self, caller: &GivingCaller<'_>, argument: Operand) -> Option<FuncId> {
        let program = self.world.program;
        match argument {
            Operand::Const(c) => match caller.body.consts[c] {
                Constant::Function(f) => match program.resolve_function(program.function(caller.function).unit, f) {
                    &[only] => (self.summary_of)(only).map(|_| only),
                    _ => None,
                },
                _ => None,
            },
            Operand::Value(v) => match caller.body.insts[v] {
                Inst::Param { index, ty: Type::Ptr } => caller.bound.iter().find(|(p, _)| *p == index).map(|(_, f)| *f),
                _ => None,
            },
        }
    }

    /// A function's summary with some parameters known. One that calls itself is summarised twice: first as if the inner call
    /// did nothing.
    fn summarized(&self, callee: FuncId, given: &Bound, generic: &Summary, depth: usize) -> Option<Arc<Summary>> {
        if !self.world.program.has_body(callee) {
            return Some(Arc::new(self.with_callbacks(given, generic)));
        }
        let body = self.world.program.body(callee)?;
        let calls_itself = self.world.program.callees(callee).any(|c| c == callee);
        let mut so_far = Arc::new(Summary::default());
        for _ in 0..if calls_itself { 2 } else { 1 } {
            let caller = GivingCaller { function: callee, body: &body, bound: given, so_far: Some(&so_far) };
            let special = self.calls(&caller, depth);
            let summary_of = |f: FuncId| (self.summary_of)(f);
            let mut summary = summarize(self.world, callee, &body, &summary_of, &special).summary;
            summary.impure = generic.impure;
            so_far = Arc::new(summary);
        }
        Some(so_far)
    }
}

/// What a callback does to its parameter, said of what is passed to it.
fn passed_on(call: &ParamCall, action: &Action) -> Option<Action> {
    let Subject::Value(path) = &action.subject else { return None };
    let PathRoot::Param(index) = path.root else { return None };
    let mut subject = call.args.get(index as usize)?.clone()?;
    subject.steps.extend(path.steps.iter().copied());
    let to = match &action.to {
        // Where it goes has a name in the callback only.
        Destination::Store(_) => Destination::Keep,
        to => to.clone(),
    };
    let guard = if action.guard == Guard::Always { Guard::Always } else { Guard::Opaque };
    Some(Action { subject: Subject::Value(subject), to, guard })
}
