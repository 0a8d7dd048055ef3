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

use std::collections::BTreeMap;

use caulk_ir::constant::{sign_extend, truncate};
use caulk_ir::{BinaryOp, BlockId, Body, Callee, CastOp, CompareOp, Constant, EntityVec, Inst, InstId, Operand, Type};
use caulk_program::{FuncId, Program, Resolution, compute_binary, compute_comparison};
use caulk_summary::Summary;

use crate::bounds::BOUNDS;
use crate::call_effect::CallEffect;

/// What is known of a number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Known {
    Is(u64),
    IsNot(u64),
}

type Facts = BTreeMap<InstId, Known>;

/// What is asked of functions and calls below.
pub struct Callees<'c, 'a> {
    pub program: &'c Program,
    /// Larger functions are not looked at.
    pub max_size: u32,
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
        let Some(body) = self.program.body(function) else { return false };
        let look = Look { body: &body, given };
        let reached = look.reached();
        body.blocks.iter().all(|(block, range)| {
            let Some(facts) = &reached[block] else { return true };
            let mut calls = range.insts().filter_map(|inst| Some((inst, body.insts[inst].call()?)));
            calls.all(|(inst, call)| {
                // What a callback makes is its giver's to say.
                let is_named = matches!(call.callee, Callee::Direct(_));
                let effect = (self.effect)(function, inst);
                let makes_none = effect.is_none_or(|effect| !effect.unknown && effect.summary.blocks.is_empty());
                let may_make = |this: &Self| !(is_named && this.is_sealed_call(function, &look, facts, inst, depth));
                makes_none || !may_make(self)
            })
        })
    }

    /// Whether all functions that a call may reach make nothing, with the constants that it gives them.
    fn is_sealed_call(&self, function: FuncId, look: &Look<'_>, facts: &Facts, inst: InstId, depth: u32) -> bool {
        let (Some(call), Some(site)) = (look.body.insts[inst].call(), self.program.call_site(function, inst)) else {
            return false;
        };
        let constant = |(index, arg): (usize, &Operand)| Some((index as u32, look.number(facts, *arg, 0)?));
        let given: Vec<(u32, u64)> = call.args.iter().enumerate().filter_map(constant).collect();
        let targets = self.program.targets(site);
        let is_known = site.outcome == Resolution::Resolved && !targets.is_empty();
        is_known && targets.iter().all(|target| self.is_sealed(*target, &given, depth + 1))
    }
}

/// The arguments of a call that are constants.
pub(crate) fn constant_arguments(body: &Body, args: &[Operand]) -> Vec<(u32, u64)> {
    let number = |arg: &Operand| number_of(body.constant(*arg)?);
    args.iter().enumerate().filter_map(|(index, arg)| Some((index as u32, number(arg)?))).collect()
}

/// A body that is given constants.
struct Look<'b> {
    body: &'b Body,
    given: &'b [(u32, u64)],
}

impl Look<'_> {
    /// What is known at the start of each block. None: no path leads there.
    fn reached(&self) -> EntityVec<BlockId, Option<Facts>> {
        let mut reached: EntityVec<BlockId, Option<Facts>> = vec![None; self.body.blocks.len()].into();
        reached[Body::ENTRY] = Some(Facts::new());
        let mut work = vec![Body::ENTRY];
        while let Some(block) = work.pop() {
            let Some(facts) = reached[block].clone() else { continue };
            for (to, facts) in self.leave(block, facts) {
                let joined = match &reached[to] {
                    None => facts,
                    Some(known) => {
                        known.iter().filter(|(v, k)| facts.get(v) == Some(k)).map(|(v, k)| (*v, *k)).collect()
                    }
                };
                if reached[to].as_ref() != Some(&joined) {
                    reached[to] = Some(joined);
                    work.push(to);
                }
            }
        }
        reached
    }

    /// Where a block leads to, and what is known there.
    fn leave(&self, block: BlockId, mut facts: Facts) -> Vec<(BlockId, Facts)> {
        for inst in self.body.blocks[block].insts() {
            // What was known of the value of an earlier iteration is over.
            if !matches!(self.body.insts[inst], Inst::Phi { .. }) {
                facts.remove(&inst);
            }
        }
        let go = |to: BlockId, facts: &Facts| (to, self.enter(block, to, facts));
        match self.body.terminator(block) {
            Inst::Branch { cond, then, other } => {
                let sides = [(*then, 1), (*other, 0)];
                let is_open = |side: &(BlockId, u64)| self.number(&facts, *cond, 0).is_none_or(|n| n == side.1);
                let taken = |(to, number): (BlockId, u64)| {
                    let mut facts = facts.clone();
                    self.learn(&mut facts, *cond, Known::Is(number), 0);
                    go(to, &facts)
                };
                sides.into_iter().filter(is_open).map(taken).collect()
            }
            Inst::Switch { value, cases, default, .. } => match self.number(&facts, *value, 0) {
                Some(number) => {
                    let case = cases.iter().find(|(case, _)| *case == number);
                    vec![go(case.map_or(*default, |(_, to)| *to), &facts)]
                }
                None => cases.iter().map(|(_, to)| *to).chain([*default]).map(|to| go(to, &facts)).collect(),
            },
            other => other.successors().into_iter().map(|to| go(to, &facts)).collect(),
        }
    }

    /// What the phis of a block are, coming from another.
    fn enter(&self, from: BlockId, to: BlockId, facts: &Facts) -> Facts {
        let mut entered = facts.clone();
        for inst in self.body.blocks[to].insts() {
            let Inst::Phi { incoming, .. } = &self.body.insts[inst] else { break };
            entered.remove(&inst);
            let operand = incoming.iter().find(|(block, _)| *block == from).map(|(_, operand)| *operand);
            let known = operand.and_then(|operand| self.known(facts, operand));
            if let Some(known) = known {
                entered.insert(inst, known);
            }
        }
        entered
    }

    fn known(&self, facts: &Facts, operand: Operand) -> Option<Known> {
        let is = self.number(facts, operand, 0).map(Known::Is);
        is.or_else(|| facts.get(&operand.value()?).copied())
    }

    fn learn(&self, facts: &mut Facts, operand: Operand, known: Known, depth: u32) {
        let Some(value) = operand.value().filter(|_| depth < BOUNDS.sealed_operations) else { return };
        let known = match known {
            Known::IsNot(number) if self.width(operand) == Some(1) => Known::Is(number ^ 1),
            known => known,
        };
        facts.insert(value, known);
        match (&self.body.insts[value], known) {
            (Inst::Compare { op: op @ (CompareOp::Eq | CompareOp::Ne), lhs, rhs, .. }, Known::Is(truth)) => {
                let Some(number) = self.number(facts, *rhs, 0) else { return };
                let is_equal = (truth == 1) == (*op == CompareOp::Eq);
                self.learn(facts, *lhs, if is_equal { Known::Is(number) } else { Known::IsNot(number) }, depth + 1);
            }
            (Inst::Cast { op: CastOp::ZeroExtend, value, .. }, known) => self.learn(facts, *value, known, depth + 1),
            (Inst::Binary { op: BinaryOp::Xor, ty: Type::Int(1), lhs, rhs, .. }, Known::Is(number)) => {
                let Some(other) = self.number(facts, *rhs, 0) else { return };
                self.learn(facts, *lhs, Known::Is(number ^ other), depth + 1);
            }
            _ => {}
        }
    }

    /// The number that a value is, as far as that is known.
    fn number(&self, facts: &Facts, operand: Operand, depth: u32) -> Option<u64> {
        let value = match operand {
            Operand::Const(_) => return number_of(self.body.constant(operand)?),
            Operand::Value(value) if depth < BOUNDS.sealed_operations => value,
            Operand::Value(_) => return None,
        };
        if let Some(Known::Is(number)) = facts.get(&value) {
            return Some(*number);
        }
        let of = |operand: Operand| self.number(facts, operand, depth + 1);
        match &self.body.insts[value] {
            Inst::Param { index, .. } => self.given.iter().find(|(given, _)| given == index).map(|(_, number)| *number),
            Inst::Binary { op, ty: Type::Int(bits), lhs, rhs, .. } if *bits <= 64 => {
                compute_binary(*op, *bits, of(*lhs), of(*rhs)).map(|number| truncate(number, *bits))
            }
            Inst::Compare { op, ty, lhs, rhs } => {
                let number = of(*rhs)?;
                if !matches!(op, CompareOp::Eq | CompareOp::Ne) {
                    let Type::Int(bits) = ty else { return None };
                    return compute_comparison(*op, *bits, of(*lhs)?, number).map(u64::from);
                }
                let is_equal = match of(*lhs) {
                    Some(other) => other == number,
                    None if self.excludes(facts, *lhs, number) => false,
                    None => return None,
                };
                match op {
                    CompareOp::Eq => Some(u64::from(is_equal)),
                    CompareOp::Ne => Some(u64::from(!is_equal)),
                    _ => None,
                }
            }
            Inst::Cast { op: CastOp::ZeroExtend, value, .. } => of(*value),
            Inst::Cast { op: CastOp::SignExtend, value, from: Type::Int(from), to: Type::Int(to) } => {
                Some(truncate(sign_extend(of(*value)?, *from) as u64, *to))
            }
            Inst::Cast { op: CastOp::Truncate, value, to, .. } => {
                let width = u32::from(width_of(*to)?);
                Some(of(*value)? & (u64::MAX >> 64u32.checked_sub(width)?))
            }
            Inst::Select { cond, then, other, .. } => of(if of(*cond)? == 1 { *then } else { *other }),
            _ => None,
        }
    }

    fn excludes(&self, facts: &Facts, operand: Operand, number: u64) -> bool {
        operand.value().is_some_and(|value| facts.get(&value) == Some(&Known::IsNot(number)))
    }

    fn width(&self, operand: Operand) -> Option<u8> {
        width_of(self.body.operand_type(operand))
    }
}

fn number_of(constant: Constant) -> Option<u64> {
    match constant {
        Constant::Int { bits, value } if (1..=64).contains(&bits) => Some(value & (u64::MAX >> (64 - bits))),
        Constant::Null | Constant::Zero(_) => Some(0),
        _ => None,
    }
}

fn width_of(ty: Type) -> Option<u8> {
    match ty {
        Type::Int(bits) if (1..=64).contains(&bits) => Some(bits as u8),
        Type::Ptr => Some(64),
        _ => None,
    }
}
