//! Parameters that are never null, because every call that there is gives something that is not.
//!
//! Much code asks whether a parameter is null though no caller passes one. The way on which it is null is none.

use caulk_ir::{AddressStep, BlockId, Body, CompareOp, Constant, EntityVec, Inst, InstId, Operand, Outline};
use caulk_program::reads::{Read, note};
use caulk_program::{FuncId, Program};
use rustc_hash::FxHashMap;

use crate::bounds::BOUNDS;

/// What one call gives for one parameter.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Gift {
    NeverNull,
    /// What the caller itself was given.
    Param(u32),
    Anything,
}

/// What one function gives to those it calls, where their calls are all known: callee, parameter, and what it is.
pub(crate) type Gifts = Vec<(FuncId, u32, Gift)>;

/// Parameters of functions, one bit each.
#[derive(Debug, Default)]
pub struct NonnullParams(EntityVec<FuncId, u64>);

impl NonnullParams {
    /// The largest set that agrees with every call: what a function hands on is what it is given.
    pub(crate) fn new(program: &Program, gifts: &EntityVec<FuncId, Gifts>) -> Self {
        let is_open = |f: FuncId| !program.has_body(f) || program.may_be_called_from_outside(f);
        let at_first = program.functions().map(|f| if is_open(f) { 0 } else { u64::MAX });
        let mut params: EntityVec<FuncId, u64> = at_first.collect::<Vec<_>>().into();
        loop {
            let before = params.clone();
            for (caller, gifts) in gifts.iter() {
                for (callee, param, gift) in gifts {
                    let is_null_never = match gift {
                        Gift::NeverNull => true,
                        Gift::Param(own) => params[caller] & (1 << own) != 0,
                        Gift::Anything => false,
                    };
                    if !is_null_never {
                        params[*callee] &= !(1 << param);
                    }
                }
            }
            if params == before {
                return Self(params);
            }
        }
    }

    /// All parameters of a function that are never null.
    pub(crate) fn mark(&self, function: FuncId) -> u64 {
        self.0.get(function).copied().unwrap_or(0)
    }

    /// Whether a parameter of a function is never null.
    pub fn has(&self, function: FuncId, param: u32) -> bool {
        note(Read::Nonnull(function));
        param < BOUNDS.nonnull_params && self.0.get(function).is_some_and(|params| params & (1 << param) != 0)
    }
}

/// What a function gives to those it calls.
pub(crate) fn gifts(program: &Program, function: FuncId, body: &Body) -> Gifts {
    let mut look = Look { body, signs: None };
    let mut gifts = Gifts::new();
    for site in program.call_sites(function) {
        let Some(call) = body.insts[site.inst].call() else { continue };
        for target in program.targets(site).iter().filter(|f| !program.may_be_called_from_outside(**f)) {
            for (index, argument) in (0..BOUNDS.nonnull_params).zip(&call.args) {
                gifts.push((*target, index, look.gift(site.inst, *argument)));
            }
            // What is not given at all may be anything.
            let missing = call.args.len() as u32..program.function(*target).declaration.signature.params.len() as u32;
            gifts.extend(missing.filter(|i| *i < BOUNDS.nonnull_params).map(|i| (*target, i, Gift::Anything)));
        }
    }
    gifts
}

/// One look at a body. What shows that values are not null is gathered where it is asked for.
struct Look<'b> {
    body: &'b Body,
    signs: Option<Signs<'b>>,
}

/// What shows that a value is not null.
enum Sign {
    /// It is read from or written to.
    Access(InstId),
    /// A block that is reached only where it was found not to be null.
    Way(BlockId),
}

struct Signs<'b> {
    outline: Outline<'b>,
    of: FxHashMap<InstId, Vec<Sign>>,
}

impl<'b> Signs<'b> {
    fn new(body: &'b Body) -> Self {
        let mut of: FxHashMap<InstId, Vec<Sign>> = FxHashMap::default();
        let outline = Outline::new(body);
        for (inst, kind) in body.insts.iter() {
            match kind {
                Inst::Load { address: Operand::Value(at), .. } | Inst::Store { address: Operand::Value(at), .. } => {
                    of.entry(*at).or_default().push(Sign::Access(inst));
                    if let Inst::Address { base: Operand::Value(base), .. } = body.insts[*at] {
                        of.entry(base).or_default().push(Sign::Access(inst));
                    }
                }
                Inst::Branch { cond: Operand::Value(cond), then, other } => {
                    let Some((value, is_null)) = compared_with_null(body, *cond) else { continue };
                    let way = if is_null { *other } else { *then };
                    if then != other && outline.predecessors()[way].len() == 1 {
                        of.entry(value).or_default().push(Sign::Way(way));
                    }
                }
                _ => {}
            }
        }
        Self { outline, of }
    }

    /// Whether every way to a call reads or writes through a value, or has found it not to be null.
    fn show(&self, call: InstId, value: InstId) -> bool {
        self.of.get(&value).into_iter().flatten().any(|sign| match *sign {
            Sign::Access(inst) => self.outline.comes_before(inst, call),
            Sign::Way(block) => self.outline.dominators().dominates(block, self.outline.homes[call]),
        })
    }
}

impl Look<'_> {
    fn gift(&mut self, call: InstId, argument: Operand) -> Gift {
        let value = match argument {
            Operand::Value(value) => value,
            Operand::Const(constant) => {
                return match self.body.consts[constant] {
                    Constant::Global { .. } | Constant::Function(_) => Gift::NeverNull,
                    _ => Gift::Anything,
                };
            }
        };
        match &self.body.insts[value] {
            Inst::Local { .. } => Gift::NeverNull,
            Inst::Address { steps, .. } if matches!(steps.as_slice(), [AddressStep::Field { .. }, ..]) => {
                Gift::NeverNull
            }
            Inst::Address { base: Operand::Value(base), .. }
                if matches!(self.body.insts[*base], Inst::Local { .. }) =>
            {
                Gift::NeverNull
            }
            Inst::Call(made) if made.flags.nonnull_result => Gift::NeverNull,
            Inst::Param { index, .. } if *index < BOUNDS.nonnull_params => match self.is_shown(call, value) {
                true => Gift::NeverNull,
                false => Gift::Param(*index),
            },
            _ if self.is_shown(call, value) => Gift::NeverNull,
            _ => Gift::Anything,
        }
    }

    fn is_shown(&mut self, call: InstId, value: InstId) -> bool {
        let body = self.body;
        self.signs.get_or_insert_with(|| Signs::new(body)).show(call, value)
    }
}

/// The value that a condition compares with null, and whether it says that it is.
fn compared_with_null(body: &Body, cond: InstId) -> Option<(InstId, bool)> {
    let Inst::Compare { op, lhs, rhs, .. } = &body.insts[cond] else { return None };
    let is_null = |operand: &Operand| body.constant(*operand).is_some_and(|c| c == Constant::Null);
    let value = match (*lhs, *rhs) {
        (Operand::Value(value), _) if is_null(rhs) => value,
        (_, Operand::Value(value)) if is_null(lhs) => value,
        _ => return None,
    };
    match op {
        CompareOp::Eq => Some((value, true)),
        CompareOp::Ne => Some((value, false)),
        _ => None,
    }
}
