//! Objects that a constructor fills before `main` begins and nothing changes afterwards: `static const Status normal(0, "ok")`.
//!
//! Their contents stand in no initialiser, because clang calls the constructor in a function of the unit's own. Where the constructor does no
//! more than store constants and its arguments, they are known all the same.

use caulk_ir::entity::Entity;
use caulk_ir::{Body, CallData, Callee, CastOp, Constant, Inst, Linkage, Operand};
use caulk_rules::{Rule, Rules};
use rustc_hash::{FxHashMap, FxHashSet};

use crate::bounds::BOUNDS;
use crate::facts::{Facts, World};
use crate::ids::{FuncId, GlobalVarId};
use crate::link::UnitMap;
use crate::locate::{Reader, Root};
use crate::variables::is_number;
use crate::virtual_calls::is_constructor;

/// Numbers at offsets of an object; None where a value is not known.
type Contents = FxHashMap<u64, Option<Constant>>;

/// A constructor is called for a variable before `main` begins.
#[derive(Clone, Debug)]
pub(crate) struct Build {
    variable: GlobalVarId,
    constructor: FuncId,
    args: Box<[Option<Constant>]>,
}

/// What built variables hold: offsets and numbers, sorted.
pub(crate) type Built = FxHashMap<GlobalVarId, Vec<(u64, Constant)>>;

/// Notes which structures one body builds, and which of them it may change.
pub(crate) fn note_builds(world: &World<'_>, map: &UnitMap, id: FuncId, body: &Body, facts: &mut Facts) {
    if !body.consts.values().any(|c| matches!(c, Constant::Global { .. })) {
        return;
    }
    let is_start = is_start(world, id);
    let structures = |operand: &Operand| {
        let global = match body.constant(*operand) {
            Some(Constant::Global { global, .. }) => Some(global),
            _ => None,
        };
        let meant = global.map_or(&[][..], |global| map.globals.get(global));
        meant.iter().copied().filter(|g| world.globals[*g].ty.is_some() && !world.globals[*g].is_const)
    };
    let mut changed: Vec<GlobalVarId> = Vec::new();
    for inst in body.insts.values() {
        match inst {
            Inst::Load { .. } | Inst::Compare { .. } => {}
            Inst::Copy { dst, .. } => changed.extend(structures(dst)),
            Inst::Call(call) | Inst::Invoke { call, .. } => {
                let target = constructed_by(world, map, call).filter(|_| is_start);
                for (index, arg) in call.args.iter().enumerate() {
                    match target.filter(|_| index == 0 && is_whole(body, *arg)) {
                        Some(constructor) => facts.builds.extend(structures(arg).map(|variable| Build {
                            variable,
                            constructor,
                            args: call.args.iter().map(|arg| body.constant(*arg).filter(|c| is_number(*c))).collect(),
                        })),
                        None if is_only_read(world, map, call, index) => {}
                        None => changed.extend(structures(arg)),
                    }
                }
            }
            other => other.for_each_operand(|operand| changed.extend(structures(operand))),
        }
    }
    facts.changed.extend(changed);
}

/// Clang's name for the function that builds one variable.
fn is_start(world: &World<'_>, id: FuncId) -> bool {
    let home = world.linked.functions[id];
    let unit = &world.units[home.unit.index()].unit;
    unit.symbol(home.local).starts_with("__cxx_global_var_init") && world.function(id).linkage == Linkage::Internal
}

fn is_whole(body: &Body, operand: Operand) -> bool {
    matches!(body.constant(operand), Some(Constant::Global { offset: 0, .. }))
}

fn callee(map: &UnitMap, call: &CallData) -> Option<FuncId> {
    let Callee::Direct(function) = call.callee else { return None };
    match map.functions.get(function) {
        [only] => Some(*only),
        _ => None,
    }
}

fn symbol<'a>(world: &World<'a>, id: FuncId) -> &'a str {
    let home = world.linked.functions[id];
    world.units[home.unit.index()].unit.symbol(home.local)
}

fn constructed_by(world: &World<'_>, map: &UnitMap, call: &CallData) -> Option<FuncId> {
    callee(map, call).filter(|f| is_constructor(symbol(world, *f)))
}

/// Whether a callee only reads what an argument points to: it is declared so, or ends the object with the program.
fn is_only_read(world: &World<'_>, map: &UnitMap, call: &CallData, index: usize) -> bool {
    let Some(callee) = callee(map, call) else { return false };
    let name = symbol(world, callee);
    let declared = world.function(callee).params.get(index);
    // A structure that is returned by value comes before `this`.
    let is_this = index == usize::from(declared.is_some_and(|_| returns_structure(world, callee)));
    name == "__cxa_atexit"
        || (is_this && name.starts_with("_ZNK"))
        || declared.is_some_and(|param| param.pointee.is_const && param.pointee.depth == 1)
}

fn returns_structure(world: &World<'_>, id: FuncId) -> bool {
    world.function(id).params.first().is_some_and(|param| param.flags.struct_return)
}

/// What the variables hold that constructors build and nothing changes.
pub(crate) fn built(world: &World<'_>, facts: &[Facts], rules: &Rules) -> Built {
    if !rules.is_on(Rule::BuiltConstants) {
        return Built::default();
    }
    let changed: FxHashSet<GlobalVarId> = facts.iter().flat_map(|f| f.changed.iter().copied()).collect();
    let builds = || facts.iter().flat_map(|f| &f.builds);
    let mut times: FxHashMap<GlobalVarId, u32> = FxHashMap::default();
    builds().for_each(|build| *times.entry(build.variable).or_default() += 1);
    let mut found = Built::default();
    for build in builds().filter(|b| times[&b.variable] == 1 && !changed.contains(&b.variable)) {
        let mut contents = Contents::default();
        if construct(world, build.constructor, &build.args, 0, BOUNDS.constructors, &mut contents).is_none() {
            continue;
        }
        let mut known: Vec<(u64, Constant)> = contents.into_iter().filter_map(|(at, c)| Some((at, c?))).collect();
        known.sort_unstable_by_key(|(at, _)| *at);
        if !known.is_empty() {
            rules.note(Rule::BuiltConstants, 1);
            found.insert(build.variable, known);
        }
    }
    found
}

/// Notes what a constructor without branches stores to its object, which begins at an offset of the variable. None: that is not known.
fn construct(
    world: &World<'_>,
    id: FuncId,
    args: &[Option<Constant>],
    start: u64,
    depth: u32,
    contents: &mut Contents,
) -> Option<()> {
    let home = world.linked.functions[id];
    let packed = &world.units[home.unit.index()];
    let body = packed.body(home.local).filter(|body| home.is_defined && body.blocks.len() == 1)?;
    let map = world.map(home.unit);
    let reader = Reader::new(world, &packed.unit, map, &packed.unit.functions[home.local], &body);
    // Where an address lies in the object.
    let place = |address: Operand| {
        let location = reader.locate(address);
        let is_this = matches!(location.root, Root::Value(v) if matches!(body.insts[v], Inst::Param { index: 0, .. }));
        is_this.then(|| u64::try_from(location.offset).ok()).flatten()
    };
    for inst in body.blocks[Body::ENTRY].insts().map(|inst| &body.insts[inst]) {
        match inst {
            Inst::Store { value, address, .. } => {
                let at = start.checked_add(place(*address)?)?;
                contents.insert(at, number(&body, args, *value));
            }
            Inst::Call(call) => {
                let given = call.args.iter().position(|arg| place(*arg).is_some());
                let constructor = constructed_by(world, map, call);
                match (given, constructor) {
                    (None, _) => {}
                    (Some(0), Some(constructor)) if depth > 0 => {
                        let at = start.checked_add(place(*call.args.first()?)?)?;
                        let args: Vec<Option<Constant>> = call.args.iter().map(|a| number(&body, args, *a)).collect();
                        construct(world, constructor, &args, at, depth - 1, contents)?;
                    }
                    _ => return None,
                }
            }
            Inst::Copy { .. } | Inst::Fill { .. } | Inst::Unknown { .. } => return None,
            _ => {}
        }
    }
    Some(())
}

/// The number that an operand of a constructor is, where its arguments are known.
fn number(body: &Body, args: &[Option<Constant>], operand: Operand) -> Option<Constant> {
    let Operand::Value(value) = operand else { return body.constant(operand).filter(|c| is_number(*c)) };
    match &body.insts[value] {
        Inst::Param { index, .. } => args.get(*index as usize).copied().flatten(),
        Inst::Cast {
            op: CastOp::ZeroExtend | CastOp::Truncate, to: caulk_ir::Type::Int(bits @ 1..=64), value, ..
        } => {
            let Constant::Int { value, .. } = number(body, args, *value)? else { return None };
            let mask = u64::MAX >> (64 - *bits);
            Some(Constant::Int { bits: *bits, value: value & mask })
        }
        _ => None,
    }
}
