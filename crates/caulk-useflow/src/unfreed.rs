//! Functions that free what a structure holds and leave the structure itself: nothing in the program frees such structures, or others
//! that free these fields free the structure with them.

use caulk_ir::{Body, Constant, Inst, Operand, VarId};
use caulk_program::{FuncId, TypeId};
use caulk_rules::Rule;
use rustc_hash::{FxHashMap, FxHashSet};

use crate::bounds::BOUNDS;
use crate::candidate::{Candidate, Loss};
use crate::classes::with_destructors;
use crate::destructors::fills;
use crate::ground::Ground;
use crate::released::Released;
use crate::schedule::Analysis;
use crate::slots::AllocationLine;
use crate::summarize::World;

/// Structures whose fields are freed, and that are left.
pub(crate) fn unfreed_structures(world: &World<'_>, analysis: &Analysis) -> Vec<Candidate> {
    let types = StructureTypes::new(world, analysis);
    let rules = &world.config.rules;
    let mut candidates = Vec::new();
    for (function, report) in analysis.reports.iter() {
        for released in &report.slots.released {
            let Some(origin) = types.made.get(&released.ty) else { continue };
            // Who gives the structure on to another that frees its fields is not the one that ends it.
            let goes_on = !released.is_own || released.is_used_on;
            if rules.applies(Rule::UsedOn, goes_on) {
                continue;
            }
            let is_end = is_at_its_end(world, function, released) && !fills(analysis, function, released.ty);
            if !is_end || types.destructed.contains(&released.ty) || types.may_be_part(world, function, released) {
                continue;
            }
            let is_never_freed =
                !types.maybe_ended.contains(&released.ty) && !is_ended_by_caller(world, analysis, function, released);
            let is_left = || is_left_by_callers(world, analysis, function, released);
            if (is_never_freed && rules.applies(Rule::NeverFreed, true))
                || (!is_never_freed && rules.applies(Rule::LeftStructures, is_left()))
            {
                let variable = parameter_variable(world, function, released.param);
                // Who works on other structures too may end one of those, and what this one holds of it.
                let is_doubtful = is_never_freed && is_given_others(world, function, released.param);
                let ground = if is_never_freed { Ground::NeverFreed } else { Ground::LeftStructure };
                let ground = (!is_doubtful).then_some(ground);
                let found =
                    Candidate::of_structure(function, released.last, Loss::NeverFreed(released.ty), *origin, ground);
                candidates.push(Candidate { variable, ..found });
            }
        }
    }
    candidates
}

/// What is known of types over the whole program.
struct StructureTypes {
    made: FxHashMap<TypeId, AllocationLine>,
    maybe_ended: FxHashSet<TypeId>,
    /// Of which there are variables, or that lie in other structures.
    parts: FxHashSet<TypeId>,
    /// Classes with a destructor: that ends an object, and what deletes it frees the memory, by whatever name it has it.
    destructed: FxHashSet<TypeId>,
}

impl StructureTypes {
    fn new(world: &World<'_>, analysis: &Analysis) -> Self {
        let parts = world.program.types().embedded().collect();
        let destructed = with_destructors(world.program);
        let mut found = Self { made: FxHashMap::default(), maybe_ended: FxHashSet::default(), parts, destructed };
        for (function, report) in analysis.reports.iter() {
            for (ty, line) in &report.slots.made {
                found.made.entry(*ty).or_insert((function, *line));
            }
            found.parts.extend(&report.slots.by_value);
            // Who makes such structures frees those that it could not complete.
            let is_made = |ty: &&TypeId| report.slots.made.iter().any(|(made, _)| made == *ty);
            found.maybe_ended.extend(report.slots.maybe_ended.iter().filter(|ty| !is_made(ty)));
        }
        found
    }

    /// Whether what a function is given may be no block of its own. Where nothing calls it, the type tells.
    fn may_be_part(&self, world: &World<'_>, function: FuncId, released: &Released) -> bool {
        match world.program.callers(function).next() {
            Some(_) => {
                givers(world, function, released.param).into_iter().any(|(f, param)| is_given_part(world, f, param))
            }
            None => self.parts.contains(&released.ty),
        }
    }
}

/// Whether a function is given other structures as well.
fn is_given_others(world: &World<'_>, function: FuncId, param: u32) -> bool {
    let params = world.program.function(function).declaration.params.iter().enumerate();
    let mut others = params.filter(|(index, _)| *index != param as usize);
    others.any(|(_, param)| param.pointee.depth > 0 && param.pointee.target.is_some())
}

/// A function with its parameter, and all that only pass a parameter of their own on to it: `void drop(struct spec *s) { reset(s); }`. What
/// `drop()` is given `reset()` is given.
fn givers(world: &World<'_>, function: FuncId, param: u32) -> Vec<(FuncId, u32)> {
    let program = world.program;
    let mut found = vec![(function, param)];
    let mut next = 0;
    while let Some(&(callee, given)) = found.get(next)
        && next < BOUNDS.passed_on
    {
        next += 1;
        for caller in program.callers(callee) {
            let Some(body) = program.body(caller) else { continue };
            let sites = program.call_sites(caller).iter().filter(|site| program.targets(site).contains(&callee));
            let arguments = sites.filter_map(|site| body.insts[site.inst].call()?.args.get(given as usize)?.value());
            let own = arguments.filter_map(|argument| match body.insts[argument] {
                Inst::Param { index, .. } => Some((caller, index)),
                _ => None,
            });
            let new: Vec<(FuncId, u32)> = own.filter(|giver| !found.contains(giver)).collect();
            found.extend(new);
        }
    }
    found
}

/// Whether some caller gives a variable or a part of another structure.
fn is_given_part(world: &World<'_>, function: FuncId, param: u32) -> bool {
    let program = world.program;
    program.callers(function).any(|caller| {
        let Some(body) = program.body(caller) else { return true };
        let sites = program.call_sites(caller).iter().filter(|site| program.targets(site).contains(&function));
        let mut arguments = sites.filter_map(|site| body.insts[site.inst].call()?.args.get(param as usize).copied());
        arguments.any(|argument| is_part(&body, argument))
    })
}

/// Whether a pointer is the address of a variable, or of something inside of a structure.
fn is_part(body: &Body, argument: Operand) -> bool {
    let Operand::Value(value) = argument else { return body.constant(argument) != Some(Constant::Null) };
    match &body.insts[value] {
        Inst::Address { .. } | Inst::Local { .. } => true,
        Inst::Cast { value, .. } => is_part(body, *value),
        _ => false,
    }
}

/// Whether other functions free the structure together with these fields, and no caller of this one frees it.
fn is_left_by_callers(world: &World<'_>, analysis: &Analysis, function: FuncId, released: &Released) -> bool {
    let program = world.program;
    let slots = |f: FuncId| &analysis.reports[f].slots;
    if !released.is_left_dangling {
        return false;
    }
    // Who frees one of many fields renews or empties it, and does not end the structure.
    let frees_as_much = |f: FuncId| {
        let freed: Vec<u64> = slots(f).freed_here.iter().filter(|s| s.0 == released.ty).map(|s| s.1).collect();
        let common = freed.iter().filter(|field| released.fields.contains(field)).count();
        f != function && slots(f).ended.contains(&released.ty) && common > 0 && 2 * common >= freed.len()
    };
    program.callers(function).next().is_some()
        && !is_ended_by_caller(world, analysis, function, released)
        && program.functions().any(frees_as_much)
}

/// Whether a caller, or who gives the caller what it passes on, may free a structure of this type: it may well be the one that it gave, made
/// by the caller itself.
fn is_ended_by_caller(world: &World<'_>, analysis: &Analysis, function: FuncId, released: &Released) -> bool {
    let may_end = |caller: FuncId| analysis.reports[caller].slots.maybe_ended.contains(&released.ty);
    givers(world, function, released.param).into_iter().any(|(f, _)| world.program.callers(f).any(may_end))
}

/// Whether a function that frees fields of a structure leaves it unusable.
fn is_at_its_end(world: &World<'_>, function: FuncId, released: &Released) -> bool {
    // What is given as `void *` is freed as that, by code that knows nothing of the type.
    let info = world.program.function(function);
    let pointee = info.declaration.params.get(released.param as usize).map(|param| param.pointee);
    let declared = pointee.and_then(|pointee| pointee.target).map(|ty| world.program.resolve_struct(info.unit, ty));
    // What is given as another structure, which it starts with, is freed as that one.
    if declared != Some(released.ty) {
        return false;
    }
    released.fields.len() >= BOUNDS.fields_of_ended
        || world.config.rules.applies(Rule::DanglingFields, released.is_left_dangling)
}

fn parameter_variable(world: &World<'_>, function: FuncId, param: u32) -> Option<VarId> {
    let body = world.program.body(function)?;
    body.vars.iter().find(|(_, var)| var.param == Some(param)).map(|(id, _)| id)
}
