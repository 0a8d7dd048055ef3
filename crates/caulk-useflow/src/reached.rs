//! Which calls of a function can be reached where it is given constants, by what branches say of values: nothing is executed.
//!
//! The same few constants are asked about again and again, at every call of an allocator and for everyone who looks at its caller. The answer
//! rests on one body alone, so it is kept.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use caulk_ir::constant::{sign_extend, truncate};
use caulk_ir::{BinaryOp, BlockId, Body, Callee, CastOp, CompareOp, Constant, EntityVec, Inst, InstId, Operand, Type};
use caulk_program::reads::{Read, note};
use caulk_program::{FuncId, Program, compute_binary, compute_comparison};
use rustc_hash::FxHashMap;
use smallvec::SmallVec;

use crate::bounds::BOUNDS;

/// Constants given for parameters, by number.
pub(crate) type Given = Box<[(u32, u64)]>;

/// A call that can be reached.
#[derive(Debug)]
pub(crate) struct ReachedCall {
    pub inst: InstId,
    /// What a callback does is its giver's to say.
    pub is_named: bool,
    /// The constants that it gives.
    pub given: Given,
}

type Answers = FxHashMap<Given, Arc<[ReachedCall]>>;

/// The calls that can be reached in functions that are given constants, as far as was asked.
#[derive(Debug, Default)]
pub struct ReachedCalls {
    by_function: Mutex<FxHashMap<FuncId, Answers>>,
}

impl ReachedCalls {
    /// The calls of a function that can be reached with these constants. None: it has no body.
    pub(crate) fn of(&self, program: &Program, function: FuncId, given: &[(u32, u64)]) -> Option<Arc<[ReachedCall]>> {
        let known = self.lock().get(&function).and_then(|answers| answers.get(given)).cloned();
        if known.is_some() {
            note(Read::Body(function));
            return known;
        }
        let calls: Arc<[ReachedCall]> = Look { body: &program.body(function)?, given }.calls().into();
        let mut all = self.lock();
        let answers = all.entry(function).or_default();
        // What is not kept is found out again.
        if answers.len() < BOUNDS.sealed_answers {
            answers.insert(given.into(), calls.clone());
        }
        Some(calls)
    }

    fn lock(&self) -> MutexGuard<'_, FxHashMap<FuncId, Answers>> {
        self.by_function.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// What is known of a number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Known {
    Is(u64),
    IsNot(u64),
}

/// What is known of values, in their order: copied at every branch, so it is one piece of memory.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct Facts(SmallVec<[(InstId, Known); 4]>);

impl Facts {
    fn place(&self, value: InstId) -> Result<usize, usize> {
        self.0.binary_search_by_key(&value, |(of, _)| *of)
    }

    fn get(&self, value: InstId) -> Option<Known> {
        self.place(value).ok().map(|at| self.0[at].1)
    }

    fn insert(&mut self, value: InstId, known: Known) {
        match self.place(value) {
            Ok(at) => self.0[at].1 = known,
            Err(at) => self.0.insert(at, (value, known)),
        }
    }

    fn remove(&mut self, value: InstId) {
        if let Ok(at) = self.place(value) {
            self.0.remove(at);
        }
    }

    /// What holds on two paths.
    fn common(&self, other: &Self) -> Self {
        Self(self.0.iter().filter(|(value, known)| other.get(*value) == Some(*known)).copied().collect())
    }
}

/// A body that is given constants.
struct Look<'b> {
    body: &'b Body,
    given: &'b [(u32, u64)],
}

impl Look<'_> {
    /// The calls that can be reached, block by block.
    fn calls(&self) -> Vec<ReachedCall> {
        let reached = self.reached();
        let mut calls = Vec::new();
        for (block, range) in self.body.blocks.iter() {
            let Some(facts) = &reached[block] else { continue };
            for inst in range.insts() {
                let Some(call) = self.body.insts[inst].call() else { continue };
                let constant = |(index, arg): (usize, &Operand)| Some((index as u32, self.number(facts, *arg, 0)?));
                let given = call.args.iter().enumerate().filter_map(constant).collect();
                calls.push(ReachedCall { inst, is_named: matches!(call.callee, Callee::Direct(_)), given });
            }
        }
        calls
    }

    /// What is known at the start of each block. None: no path leads there.
    fn reached(&self) -> EntityVec<BlockId, Option<Facts>> {
        let mut reached: EntityVec<BlockId, Option<Facts>> = vec![None; self.body.blocks.len()].into();
        reached[Body::ENTRY] = Some(Facts::default());
        let mut work = vec![Body::ENTRY];
        while let Some(block) = work.pop() {
            let Some(facts) = reached[block].clone() else { continue };
            for (to, facts) in self.leave(block, facts) {
                let joined = match &reached[to] {
                    None => facts,
                    Some(known) => known.common(&facts),
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
        // What was known of the value of an earlier iteration is over.
        let own = self.body.blocks[block];
        facts.0.retain(|(inst, _)| {
            let is_own = own.first <= *inst && *inst <= own.terminator();
            !is_own || matches!(self.body.insts[*inst], Inst::Phi { .. })
        });
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
            entered.remove(inst);
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
        is.or_else(|| facts.get(operand.value()?))
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
        if let Some(Known::Is(number)) = facts.get(value) {
            return Some(number);
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
        operand.value().is_some_and(|value| facts.get(value) == Some(Known::IsNot(number)))
    }

    fn width(&self, operand: Operand) -> Option<u8> {
        width_of(self.body.operand_type(operand))
    }
}

pub(crate) fn number_of(constant: Constant) -> Option<u64> {
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

#[cfg(test)]
mod tests {
    use caulk_ir::PackedUnit;
    use caulk_ir::text::parse_unit;
    use caulk_program::reads::recorded;
    use caulk_program::{ProgramConfig, UnitInput};

    use super::*;

    const RESIZE: &str = "unit \"resize.c\" pointer 8
file 0 \"resize.c\"

declare @malloc(i64) -> ptr no_unwind fresh_result alloc_size 0 name malloc at 0:1 -> *

define @resize(n: i32) -> ptr no_unwind name resize at 0:3 {
block0:
  %1 = ne i32 %0, 0 @ 3:1
  branch %1, block1, block2 @ 3:1
block1:
  %3 = call ptr @malloc(i64 8) @ 3:2
  return %3 @ 3:2
block2:
  return null @ 3:3
}
";

    #[test]
    fn constants_seal_off_calls_and_the_answer_is_kept() {
        let unit = parse_unit(RESIZE).expect("a unit");
        let program = Program::link(vec![UnitInput::new(PackedUnit::pack(unit))], ProgramConfig::default());
        let resize = program.functions().find(|f| program.function(*f).name == "resize").expect("it is there");
        let reached = ReachedCalls::default();
        let of = |number: u64| recorded(|| reached.of(&program, resize, &[(0, number)]).expect("it has a body"));
        let ((none, first), (again, second)) = (of(0), of(0));
        assert!(none.is_empty() && Arc::ptr_eq(&none, &again));
        // Who is given what is kept rests on the body all the same.
        assert_eq!((first.as_slice(), second.as_slice()), (&[Read::Body(resize)][..], &[Read::Body(resize)][..]));
        let (some, _) = of(1);
        assert_eq!(some.iter().map(|call| (call.is_named, &*call.given)).collect::<Vec<_>>(), [(true, &[(0, 8)][..])]);
        (2..100).for_each(|number| assert_eq!(of(number).0.len(), 1));
        assert_eq!(reached.lock()[&resize].len(), BOUNDS.sealed_answers);
    }

    #[test]
    fn what_two_paths_share_is_known_where_they_meet() {
        let [a, b] = [InstId(4), InstId(2)];
        let (mut one, mut other) = (Facts::default(), Facts::default());
        for facts in [&mut one, &mut other] {
            facts.insert(a, Known::Is(1));
            facts.insert(b, Known::IsNot(0));
        }
        other.insert(b, Known::Is(7));
        assert_eq!(one.common(&other), other.common(&one));
        assert_eq!((one.common(&other).get(a), one.common(&other).get(b)), (Some(Known::Is(1)), None));
        other.remove(b);
        assert_eq!(other, one.common(&other));
    }
}
