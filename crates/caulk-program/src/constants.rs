//! Variables that always hold the same number and functions that always return the same one, put in place of the loads
//! and calls of a body when it is decoded.
//!
//! A hook for another allocator, to which no function of the program is ever assigned, is taken to be what it was at first.
//! A debug level that is never set, a feature that is compiled out, `is_enabled()` that returns 0: branches on these go one
//! way in the whole program, and no later part has to find out.

use caulk_ir::entity::Entity;
use caulk_ir::{
    Body, CallData, Callee, CastOp, CompareOp, Constant, EntityVec, FunctionId, GlobalId, Inst, InstId, Linkage,
    Operand, Type,
};
use caulk_rules::{Rule, Rules};
use rustc_hash::{FxHashMap, FxHashSet};

use crate::facts::{Facts, World};
use crate::formulas::Formulas;
use crate::ids::{FuncId, GlobalVarId};
use crate::link::UnitMap;
use crate::variables::Variables;

#[derive(Debug, Default)]
pub(crate) struct Constants {
    variables: FxHashMap<GlobalVarId, Constant>,
    /// Pointers to functions that are taken to hold what they held first, in terms of their own unit.
    hooks: FxHashMap<GlobalVarId, Constant>,
    results: EntityVec<FuncId, Option<Constant>>,
    formulas: Formulas,
}

impl Constants {
    /// `is_closed` tells of which variables all writers were read.
    pub(crate) fn new(
        world: &World<'_>,
        facts: &[Facts],
        variables: &Variables,
        rules: &Rules,
        is_closed: &dyn Fn(GlobalVarId) -> bool,
    ) -> Self {
        let plain = || world.globals.iter().filter(|(_, shape)| shape.is_plain);
        let constant = |id| variables.constant(world, id, is_closed(id)).map(|c| (id, c));
        let hook = |id| Some((id, variables.hook(world, id)?));
        let hooks = rules.all(Rule::Hooks, || plain().filter_map(|(id, _)| hook(id)).collect());
        let held = rules.all(Rule::Constants, || plain().filter_map(|(id, _)| constant(id)).collect());
        let told = facts.iter().flat_map(|f| f.bodies.iter().map(|b| b.result));
        let results = world.linked.functions.keys().zip(told).map(|(id, result)| {
            // Another definition may take the place of a weak one.
            let is_final = world.function(id).linkage != Linkage::Weak;
            result.filter(|_| rules.applies(Rule::Constants, is_final))
        });
        let results: Vec<Option<Constant>> = results.collect();
        let formulas = rules.all(Rule::Formulas, || facts.iter().flat_map(|f| f.formulas.iter().cloned()).collect());
        let formulas = Formulas::new(formulas.into_iter());
        let (variables, hooks) = (held.into_iter().collect(), hooks.into_iter().collect());
        Self { variables, hooks, results: results.into(), formulas }
    }

    /// Puts constants in place of the values they are known to be.
    pub(crate) fn fold(&self, map: &UnitMap, body: &mut Body) {
        let mut known: Vec<(InstId, Constant)> = Vec::new();
        for (id, inst) in body.insts.iter() {
            let found = match inst {
                Inst::Load { address, volatile: false, .. } => self.held(map, body, *address),
                Inst::Call(call) | Inst::Invoke { call, .. } => {
                    self.returned(map, call.callee).or_else(|| self.computed(map, body, call))
                }
                _ => None,
            };
            known.extend(found.filter(|c| c.ty() == inst.result_type()).map(|c| (id, c)));
        }
        if known.is_empty() {
            return;
        }
        put(body, known);
        put_casts(body);
        let hooks = compared_hooks(body);
        if !hooks.is_empty() {
            put(body, hooks);
        }
    }

    /// The number that a unit's variable always holds, in terms of its unit.
    pub(crate) fn of_global(&self, map: &UnitMap, global: GlobalId) -> Option<Constant> {
        let of = |g| self.variables.get(g).or_else(|| self.hooks.get(g)).copied();
        agreed(map.globals.get(global).iter().map(of))
    }

    /// The number that a unit's function always returns.
    pub(crate) fn of_function(&self, map: &UnitMap, function: FunctionId) -> Option<Constant> {
        agreed(map.functions.get(function).iter().map(|f| self.results[*f]))
    }

    /// What a function computes from the constants that it is given.
    fn computed(&self, map: &UnitMap, body: &Body, call: &CallData) -> Option<Constant> {
        let (Callee::Direct(name), Type::Int(bits)) = (call.callee, call.ret) else { return None };
        let [function] = map.functions.get(name) else { return None };
        self.formulas.get(*function)?;
        let number = |arg: &Operand| match body.constant(*arg) {
            Some(Constant::Int { value, .. }) => Some(value),
            _ => None,
        };
        let args: Vec<Option<u64>> = call.args.iter().map(number).collect();
        let value = self.formulas.value(*function, &args)?;
        Some(Constant::Int { bits, value })
    }

    pub(crate) fn formulas(&self) -> &Formulas {
        &self.formulas
    }

    /// The number that a function always returns.
    pub(crate) fn result_of(&self, function: FuncId) -> Option<Constant> {
        self.results[function]
    }

    fn held(&self, map: &UnitMap, body: &Body, address: Operand) -> Option<Constant> {
        let Some(Constant::Global { global, offset: 0 }) = body.constant(address) else { return None };
        self.of_global(map, global)
    }

    fn returned(&self, map: &UnitMap, callee: Callee) -> Option<Constant> {
        let Callee::Direct(function) = callee else { return None };
        self.of_function(map, function)
    }
}

/// Puts constants in place of values.
fn put(body: &mut Body, known: Vec<(InstId, Constant)>) {
    let mut constants: EntityVec<InstId, Option<Operand>> = vec![None; body.insts.len()].into();
    for (id, constant) in known {
        constants[id] = Some(Operand::Const(body.consts.push(constant)));
    }
    for index in 0..body.insts.len() {
        body.insts[InstId::from_index(index)].for_each_operand_mut(|operand| {
            if let Operand::Value(value) = *operand
                && let Some(constant) = constants[value]
            {
                *operand = constant;
            }
        });
    }
}

/// Puts numbers in place of casts of numbers: `return fail(e);` in a function that returns another type than `fail()`. Only what was put in
/// place of a value before is cast so: clang itself folds the rest.
fn put_casts(body: &mut Body) {
    let mut folded: FxHashSet<InstId> = FxHashSet::default();
    loop {
        let casts = body.insts.iter().filter(|(id, _)| !folded.contains(id));
        let known: Vec<(InstId, Constant)> =
            casts.filter_map(|(id, inst)| Some((id, cast_number(body, inst)?))).collect();
        if known.is_empty() {
            return;
        }
        folded.extend(known.iter().map(|(id, _)| *id));
        put(body, known);
    }
}

/// The number that a cast of a number makes.
fn cast_number(body: &Body, inst: &Inst) -> Option<Constant> {
    let Inst::Cast { op, to: Type::Int(bits @ 1..=64), value, .. } = inst else { return None };
    let Constant::Int { value: unsigned, .. } = body.constant(*value)? else { return None };
    let wide = match op {
        CastOp::SignExtend => body.constant(*value)?.as_signed()? as u64,
        CastOp::ZeroExtend | CastOp::Truncate => unsigned,
        _ => return None,
    };
    Some(Constant::Int { bits: *bits, value: wide & (u64::MAX >> (64 - *bits)) })
}

/// `if (hook != default_function)`: whether two functions known by name are the same.
fn compared_hooks(body: &Body) -> Vec<(InstId, Constant)> {
    let decided = |(id, inst): (InstId, &Inst)| {
        let Inst::Compare { op, lhs, rhs, .. } = inst else { return None };
        let (Some(Constant::Function(a)), Some(Constant::Function(b))) = (body.constant(*lhs), body.constant(*rhs))
        else {
            return None;
        };
        let holds = match op {
            CompareOp::Eq => a == b,
            CompareOp::Ne => a != b,
            _ => return None,
        };
        Some((id, Constant::int(1, i64::from(holds))))
    };
    body.insts.iter().filter_map(decided).collect()
}

/// What all meanings of a symbol agree on, where several programs share a unit.
fn agreed(mut all: impl Iterator<Item = Option<Constant>>) -> Option<Constant> {
    let first = all.next()??;
    all.all(|c| c == Some(first)).then_some(first)
}
