//! What a harness is made of: the function as it is called, the units it needs, and what stands for functions that are not there.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use caulk_explore::{InputPlace, InputValue, Inputs};
use caulk_harness::{Kind, PROGRAM_MAIN, Stub, StubKind, StubResult, Target, Undefined, may_be_scripted};
use caulk_ir::entity::Entity;
use caulk_ir::{Constant, Initialiser, InstId, Linkage, Type};
use caulk_program::{FuncId, GlobalVarId, Program};
use caulk_summary::{Action, Subject, Summary};
use caulk_useflow::Analysis;

use super::tries::Constants;

/// Units that are linked because a function in them may be called. The nearest come first.
const MAX_UNITS: usize = 40;
/// Units that are linked because a variable in them is used.
const MAX_UNITS_OF_VARIABLES: usize = 16;
/// Variables that a harness can fill.
const MAX_VARIABLES: usize = 400;
/// A wrapper passes on so many arguments.
pub(crate) const MAX_WRAPPED_ARGUMENTS: usize = 6;
/// Constants of a function that become inputs, of each kind.
const MAX_CONSTANTS: usize = 6;
const MAX_NAME: usize = 24;

/// How a function is called, as its compiled form wants it; None with the reason where that is not possible.
pub(crate) fn target(program: &Program, function: FuncId) -> Result<Target, String> {
    let info = program.function(function);
    let unit = program.unit(info.unit);
    if unit.pointer_bytes != 8 {
        return Err("it is compiled for a machine with other pointers".to_owned());
    }
    let signature = &info.declaration.signature;
    let mut parameters = Vec::new();
    for (index, ty) in signature.params.iter().enumerate() {
        let param = info.declaration.params.get(index);
        let by_value = param.filter(|param| param.flags.by_value);
        parameters.push(match (by_value, ty) {
            (Some(param), _) => {
                let size = param.pointee.target.map(|target| unit.structs[target].size).filter(|size| *size > 0);
                Kind::Bytes(size.ok_or("a structure of unknown size is passed by value")?)
            }
            (None, ty) => kind(*ty)?,
        });
    }
    let symbol = if info.symbol == "main" { PROGRAM_MAIN } else { info.symbol };
    let result = if signature.ret == Type::Void { Kind::Void } else { kind(signature.ret).unwrap_or(Kind::Word) };
    Ok(Target { symbol: symbol.to_owned(), parameters, result })
}

fn kind(ty: Type) -> Result<Kind, String> {
    match ty {
        Type::Int(bits) if bits <= 64 => Ok(Kind::Word),
        Type::Ptr => Ok(Kind::Word),
        Type::Float(64) => Ok(Kind::Double),
        Type::Float(32) => Ok(Kind::Float),
        _ => Err("a parameter has a type that is not supported".to_owned()),
    }
}

/// The units of the functions that a function may call, the nearest first.
pub(crate) fn units(program: &Program, function: FuncId) -> Vec<usize> {
    let mut units: Vec<usize> = Vec::new();
    let mut seen: BTreeSet<FuncId> = BTreeSet::from([function]);
    let mut waiting: VecDeque<FuncId> = VecDeque::from([function]);
    while let Some(next) = waiting.pop_front() {
        let unit = program.function(next).unit.index();
        if !units.contains(&unit) {
            if units.len() >= MAX_UNITS {
                break;
            }
            units.push(unit);
        }
        waiting.extend(program.callees(next).filter(|callee| program.has_body(*callee) && seen.insert(*callee)));
    }
    units
}

/// Variables that a plan may set: those that the path speaks of, and those of the units that are zero at first.
pub(crate) fn variables(program: &Program, home: usize, units: &[usize], inputs: &Inputs) -> Vec<GlobalVarId> {
    let mut chosen: Vec<GlobalVarId> = inputs.values.iter().filter_map(|(place, _)| root(place)).collect();
    chosen.sort_unstable();
    chosen.dedup();
    for global in program.globals() {
        let info = program.global(global);
        let unit = info.unit.index();
        let is_private = info.declaration.linkage == Linkage::Internal;
        let is_there = info.is_defined && units.contains(&unit) && (!is_private || unit == home);
        let leads_on = info.declaration.pointee.depth > 0 || info.declaration.pointee.target.is_some();
        let is_empty = matches!(info.declaration.init, Initialiser::Zero) && !info.declaration.is_const;
        if is_there && leads_on && is_empty && !chosen.contains(&global) && chosen.len() < MAX_VARIABLES {
            chosen.push(global);
        }
    }
    // The linker cannot tell private variables of other units by name.
    chosen.retain(|global| {
        let info = program.global(*global);
        // One of a thread that a library defines has no stub to stand for it.
        let is_nameable = !info.declaration.thread_local || info.is_defined;
        is_nameable && (info.declaration.linkage != Linkage::Internal || info.unit.index() == home)
    });
    chosen
}

fn root(place: &InputPlace) -> Option<GlobalVarId> {
    match place {
        InputPlace::Global(global) => Some(*global),
        InputPlace::Cell { holder, .. } => root(holder),
        InputPlace::Param(_) | InputPlace::Local(_) | InputPlace::Result { .. } => None,
    }
}

/// Functions whose results the path decides.
#[derive(Clone)]
pub(crate) struct Scripted {
    pub stubs: Vec<Stub>,
    /// The calls of each, in the order in which they are made: by the iteration of a loop, then in the order of the source.
    pub calls: Vec<Vec<(u32, InstId)>>,
}

pub(crate) fn scripted(program: &Program, analysis: &Analysis, function: FuncId, inputs: &Inputs) -> Scripted {
    let home = program.function(function).unit;
    let mut by_callee: BTreeMap<FuncId, BTreeSet<(u32, InstId)>> = BTreeMap::new();
    for (place, _) in &inputs.values {
        let InputPlace::Result { nth, call } = place else { continue };
        let Some(callee) = callee(program, function, *call) else { continue };
        // The linker cannot come between two functions of one unit.
        let is_reachable = !program.has_body(callee) || program.function(callee).unit != home;
        if is_reachable && can_be_wrapped(program, callee) {
            by_callee.entry(callee).or_default().insert((*nth, *call));
        }
    }
    let mut scripted = Scripted { stubs: Vec::new(), calls: Vec::new() };
    for (callee, calls) in by_callee {
        let is_known = leaves_arguments(analysis.summary(callee));
        let info = program.function(callee);
        let kind = StubKind::Wrapped { kind: returned(program, analysis, callee) };
        scripted.stubs.push(Stub {
            symbol: info.symbol.to_owned(),
            kind,
            is_known,
            is_replaced: info.has_body,
            is_trusted: false,
        });
        scripted.calls.push(calls.into_iter().collect());
    }
    scripted
}

/// The one function that a call can reach.
pub(crate) fn callee(program: &Program, function: FuncId, call: InstId) -> Option<FuncId> {
    match program.targets(program.call_site(function, call)?) {
        [callee] => Some(*callee),
        _ => None,
    }
}

/// What the path needs `errno` to be.
pub(crate) fn errno(program: &Program, function: FuncId, inputs: &Inputs) -> Option<u64> {
    inputs.values.iter().find_map(|(place, value)| {
        let (InputPlace::Cell { holder, offset: 0 }, InputValue::Number(_, number)) = (place, value) else {
            return None;
        };
        let InputPlace::Result { call, .. } = **holder else { return None };
        let symbol = program.function(callee(program, function, call)?).symbol;
        (symbol == "__errno_location" && *number != 0).then_some(*number)
    })
}

/// Numbers and texts that the code of a function compares with, or gives to functions.
pub(crate) fn constants(program: &Program, function: FuncId) -> Constants {
    let mut constants = Constants::default();
    let Some(body) = program.body(function) else { return constants };
    let unit = program.unit(program.function(function).unit);
    for constant in body.consts.values() {
        match constant {
            Constant::Int { value, .. } => {
                let value = *value;
                if value > 1 && !constants.numbers.contains(&value) && constants.numbers.len() < MAX_CONSTANTS {
                    constants.numbers.push(value);
                }
            }
            Constant::Global { global, offset: 0 } => {
                let Initialiser::Text(text) = unit.globals[*global].init else { continue };
                let text = unit.str(text);
                // Messages are longer than names of options and commands.
                let is_name = !text.is_empty() && text.len() < MAX_NAME && !text.contains(['%', ' ', '\n']);
                if is_name && constants.texts.len() < MAX_CONSTANTS && !constants.texts.iter().any(|own| own == text) {
                    constants.texts.push(text.to_owned());
                }
            }
            _ => {}
        }
    }
    constants
}

/// Whether more than its arguments and memory decides what a function returns.
pub(crate) fn can_be_scripted(program: &Program, callee: FuncId) -> bool {
    let info = program.function(callee);
    may_be_scripted(info.symbol) && !info.declaration.flags.read_only && !info.declaration.flags.no_memory
}

fn can_be_wrapped(program: &Program, callee: FuncId) -> bool {
    let info = program.function(callee);
    let signature = &info.declaration.signature;
    let is_word = |ty: &Type| matches!(ty, Type::Ptr | Type::Int(_));
    can_be_scripted(program, callee)
        && signature.params.len() <= MAX_WRAPPED_ARGUMENTS
        && signature.params.iter().chain([&signature.ret]).all(is_word)
}

/// What a stub for a function returns.
pub(crate) fn returned(program: &Program, analysis: &Analysis, function: FuncId) -> StubResult {
    let is_fresh = |action: &Action| matches!(action.subject, Subject::Alloc(_)) && action.is_returned();
    match program.function(function).declaration.signature.ret {
        Type::Ptr if analysis.summary(function).actions.iter().any(is_fresh) => StubResult::Fresh,
        Type::Ptr => StubResult::Pointer,
        _ => StubResult::Number,
    }
}

/// Whether a function leaves what it is given to its caller.
pub(crate) fn leaves_arguments(summary: &Summary) -> bool {
    // A stub does not store or return what it is given either, so a function that does is one that takes it.
    !summary.actions.iter().any(|action| matches!(action.subject, Subject::Value(_)))
}

/// What the project knows of symbols that the linker does not find.
pub(crate) struct Symbols<'a> {
    program: &'a Program,
    analysis: &'a Analysis,
    functions: BTreeMap<&'a str, FuncId>,
    variables: BTreeMap<&'a str, GlobalVarId>,
}

impl<'a> Symbols<'a> {
    pub(crate) fn new(program: &'a Program, analysis: &'a Analysis) -> Self {
        let mut functions = BTreeMap::new();
        // Definitions come first, and a linker never sees private ones.
        for function in program.functions() {
            let info = program.function(function);
            if !(info.has_body && info.declaration.linkage == Linkage::Internal) {
                functions.entry(info.symbol).or_insert(function);
            }
        }
        let mut variables = BTreeMap::new();
        for global in program.globals() {
            let info = program.global(global);
            if info.declaration.linkage != Linkage::Internal {
                let known = variables.entry(info.symbol).or_insert(global);
                if info.is_defined && !program.global(*known).is_defined {
                    *known = global;
                }
            }
        }
        Self { program, analysis, functions, variables }
    }

    pub(crate) fn undefined(&self, symbol: &str, units_added: &mut BTreeSet<usize>) -> Undefined {
        if let Some(&global) = self.variables.get(symbol) {
            let info = self.program.global(global);
            let unit = info.is_defined.then(|| info.unit.index());
            let is_room = |unit: &usize| units_added.contains(unit) || units_added.len() < MAX_UNITS_OF_VARIABLES;
            let unit = unit.filter(is_room);
            units_added.extend(unit);
            let is_thread_local = info.declaration.thread_local;
            let kind = StubKind::Variable { is_thread_local };
            return Undefined { kind, is_known: true, is_replaced: false, unit };
        }
        let Some(&function) = self.functions.get(symbol) else {
            return Undefined {
                kind: StubKind::Returns(StubResult::Number),
                is_known: false,
                is_replaced: false,
                unit: None,
            };
        };
        let info = self.program.function(function);
        let kind = match info.declaration.signature.ret {
            Type::Float(_) => StubKind::Float,
            _ => StubKind::Returns(returned(self.program, self.analysis, function)),
        };
        let summary = self.analysis.summary(function);
        Undefined { kind, is_known: leaves_arguments(summary), is_replaced: info.has_body, unit: None }
    }
}
