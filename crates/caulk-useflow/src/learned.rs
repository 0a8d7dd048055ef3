//! Library functions without a model whose result the program frees: the result is the caller's.
//!
//! No code gives to `free()` what it does not own. Where several functions of a program free what a library function gave them, the
//! others that call it have to free it as well (as in Engler et al., "Bugs as deviant behavior"). Where most callers free nothing, it hands out
//! what a container holds, and few take that out.

use caulk_ir::{Body, CallData, Callee, Constant, Inst, InstId, Operand, Type};
use caulk_models::{FamilyId, ModelRoot, Models};
use caulk_program::{FuncId, Program};
use rustc_hash::{FxHashMap, FxHashSet};

use crate::bounds::BOUNDS;

/// What one body tells.
#[derive(Debug, Default)]
pub(crate) struct Look {
    /// Library functions without a model, and the functions that their result is given to as the first argument.
    given: Vec<(FuncId, FuncId)>,
    /// Library functions without a model that give back a pointer.
    called: Vec<FuncId>,
    /// The family of the library's deallocator that this function, which is short, gives its first parameter.
    frees: Option<FamilyId>,
}

impl Look {
    pub(crate) fn new(program: &Program, models: &Models, function: FuncId, body: &Body) -> Self {
        let mut look = Self::default();
        let is_short = program.body_size(function).1 <= BOUNDS.deallocator_insts;
        for (inst, kind) in body.insts.iter() {
            let Some(call) = kind.call() else { continue };
            look.called.extend(library_maker(program, models, function, inst, call));
            let Some(argument) = call.args.first() else { continue };
            let Some(target) = only_target(program, function, inst, call) else { continue };
            for maker in made_by(program, models, function, body, *argument) {
                look.given.push((maker, target));
            }
            if is_short && is_first_parameter(body, *argument) {
                look.frees = look.frees.or_else(|| freed_family(program, models, target));
            }
        }
        look.given.sort_unstable();
        look.given.dedup();
        look.called.sort_unstable();
        look.called.dedup();
        look
    }
}

/// The functions whose result is the caller's, with the family of what frees it.
pub(crate) fn learned<'a>(
    program: &Program,
    models: &Models,
    looks: impl Iterator<Item = (FuncId, &'a Look)> + Clone,
) -> FxHashMap<FuncId, FamilyId> {
    let wrappers: FxHashMap<FuncId, FamilyId> =
        looks.clone().filter_map(|(function, look)| Some((function, look.frees?))).collect();
    let family = |f: FuncId| wrappers.get(&f).copied().or_else(|| freed_family(program, models, f));
    let mut freeing: FxHashMap<(FuncId, FamilyId), FxHashSet<FuncId>> = FxHashMap::default();
    let mut callers: FxHashMap<FuncId, usize> = FxHashMap::default();
    for (function, look) in looks {
        look.called.iter().for_each(|maker| *callers.entry(*maker).or_default() += 1);
        for (maker, by) in &look.given {
            if let Some(family) = family(*by) {
                freeing.entry((*maker, family)).or_default().insert(function);
            }
        }
    }
    let is_usual =
        |maker: FuncId, by: usize| by * BOUNDS.callers_for_each_freeing >= callers.get(&maker).copied().unwrap_or(0);
    let mut found: Vec<(FuncId, FamilyId)> = freeing
        .into_iter()
        .filter(|((maker, _), by)| by.len() >= BOUNDS.freeing_functions && is_usual(*maker, by.len()))
        .map(|(found, _)| found)
        .collect();
    // Of several families the first is as good as any.
    found.sort_unstable_by_key(|(function, family)| (*function, *family));
    found.dedup_by_key(|(function, _)| *function);
    found.into_iter().collect()
}

/// The library functions without a model that a value is the result of, on some way. Empty where it may be something else.
fn made_by(program: &Program, models: &Models, function: FuncId, body: &Body, value: Operand) -> Vec<FuncId> {
    let mut found = Vec::new();
    let mut work = vec![value];
    let mut seen: Vec<InstId> = Vec::new();
    while let Some(operand) = work.pop() {
        let Operand::Value(value) = operand else {
            match body.constant(operand) {
                Some(Constant::Null) => continue,
                _ => return Vec::new(),
            }
        };
        if seen.contains(&value) {
            continue;
        }
        seen.push(value);
        match &body.insts[value] {
            Inst::Cast { value, .. } => work.push(*value),
            Inst::Phi { incoming, .. } => work.extend(incoming.iter().map(|(_, from)| *from)),
            inst => {
                let maker = inst.call().and_then(|call| library_maker(program, models, function, value, call));
                match maker {
                    Some(maker) => found.push(maker),
                    None => return Vec::new(),
                }
            }
        }
    }
    found
}

fn library_maker(
    program: &Program,
    models: &Models,
    function: FuncId,
    inst: InstId,
    call: &CallData,
) -> Option<FuncId> {
    let target = only_target(program, function, inst, call)?;
    let is_unknown = !program.has_body(target) && models.get(program.function(target).symbol).is_none();
    (call.ret == Type::Ptr && is_unknown).then_some(target)
}

fn only_target(program: &Program, function: FuncId, inst: InstId, call: &CallData) -> Option<FuncId> {
    if !matches!(call.callee, Callee::Direct(_)) {
        return None;
    }
    match program.targets(program.call_site(function, inst)?) {
        [only] => Some(*only),
        _ => None,
    }
}

/// The family of a library function that frees its first argument whatever happens.
fn freed_family(program: &Program, models: &Models, function: FuncId) -> Option<FamilyId> {
    if program.has_body(function) {
        return None;
    }
    models.get(program.function(function).symbol)?.frees_always(ModelRoot::Param(0))
}

fn is_first_parameter(body: &Body, operand: Operand) -> bool {
    operand.value().is_some_and(|value| matches!(body.insts[value], Inst::Param { index: 0, .. }))
}
