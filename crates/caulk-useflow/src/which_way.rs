//! What a comparison of a choice tells about the way on which the choice was made.
//!
//! ```c
//! if (!buffer)
//!     buffer = own;
//! ...
//! if (buffer == own)      // so the parameter was null
//!     return strdup(buffer);
//! ```
//!
//! Where paths meet, what each of them had learnt is forgotten. A choice (a phi) remembers which way was taken: if all but one of its
//! values are known to differ from what it is compared with, equality leaves one way, and the conditions of that way hold again.

use caulk_ir::{BlockId, Body, CompareOp, Constant, EntityVec, Inst, InstId, Operand, Outline};
use rustc_hash::FxHashMap;
use smallvec::SmallVec;

use crate::bounds::BOUNDS;
use crate::facts::number_of;

type Conditions = SmallVec<[(Operand, bool); 2]>;

/// Conditions that hold, or do not, on one side of a comparison.
#[derive(Debug, Default)]
pub(crate) struct Ways(FxHashMap<(InstId, bool), Conditions>);

impl Ways {
    pub(crate) fn new(body: &Body, outline: &Outline<'_>) -> Self {
        let mut ways = Self::default();
        for (inst, kind) in body.insts.iter() {
            let Inst::Compare { op: op @ (CompareOp::Eq | CompareOp::Ne), lhs, rhs, .. } = kind else { continue };
            let is_eq = *op == CompareOp::Eq;
            let Some((phi, with)) = choice(body, *lhs, *rhs).or_else(|| choice(body, *rhs, *lhs)) else { continue };
            let Some(edges) = edges_of(body, phi, with) else { continue };
            for (holds, left) in [(is_eq, edges.same), (!is_eq, edges.others)] {
                if let [from] = left.as_slice() {
                    ways.0
                        .insert((inst, holds), conditions_of(body, outline.predecessors(), *from, outline.homes[phi]));
                }
            }
        }
        ways
    }

    /// The conditions that hold where a comparison does, or does not.
    pub(crate) fn implied(&self, comparison: InstId, holds: bool) -> Conditions {
        self.0.get(&(comparison, holds)).cloned().unwrap_or_default()
    }
}

/// A choice that is compared with something that every value of it can be told from, or is.
fn choice(body: &Body, one: Operand, with: Operand) -> Option<(InstId, Operand)> {
    let phi = one.value()?;
    let Inst::Phi { incoming, .. } = &body.insts[phi] else { return None };
    let is_plain = is_local(body, with) || body.constant(with).and_then(number_of).is_some();
    (is_plain && incoming.len() <= BOUNDS.way_values).then_some((phi, with))
}

/// The edges over which a choice is what it is compared with, and those over which it is not.
#[derive(Default)]
struct Edges {
    same: SmallVec<[BlockId; 2]>,
    others: SmallVec<[BlockId; 2]>,
}

/// None: for some edge it is not known.
fn edges_of(body: &Body, phi: InstId, with: Operand) -> Option<Edges> {
    let Inst::Phi { incoming, .. } = &body.insts[phi] else { return None };
    let mut edges = Edges::default();
    for (from, value) in incoming {
        match is_same(body, *value, with)? {
            true => edges.same.push(*from),
            false => edges.others.push(*from),
        }
    }
    Some(edges)
}

/// Whether two values are equal, where that is evident.
fn is_same(body: &Body, value: Operand, with: Operand) -> Option<bool> {
    if value == with {
        return Some(true);
    }
    if let Some(variable) = local(body, with) {
        if let Some(other) = local(body, value) {
            return Some(variable == other);
        }
        // What a caller gives is never a variable of this call.
        let is_elsewhere = match body.constant(value) {
            Some(Constant::Null | Constant::Global { .. }) => true,
            Some(_) => false,
            None => is_parameter(body, value),
        };
        return is_elsewhere.then_some(false);
    }
    let number = |operand: Operand| body.constant(operand).and_then(number_of);
    Some(number(value)? == number(with)?)
}

fn is_local(body: &Body, operand: Operand) -> bool {
    local(body, operand).is_some()
}

/// The variable whose address an operand is.
fn local(body: &Body, operand: Operand) -> Option<InstId> {
    let value = operand.value()?;
    match &body.insts[value] {
        Inst::Local { .. } => Some(value),
        Inst::Address { base, steps } if steps.is_empty() => local(body, *base),
        _ => None,
    }
}

fn is_parameter(body: &Body, operand: Operand) -> bool {
    operand.value().is_some_and(|value| matches!(body.insts[value], Inst::Param { .. }))
}

/// The conditions on the way over an edge, as far up as there is only one way.
fn conditions_of(
    body: &Body,
    predecessors: &EntityVec<BlockId, Vec<BlockId>>,
    mut from: BlockId,
    mut to: BlockId,
) -> Conditions {
    let mut found = Conditions::new();
    for _ in 0..BOUNDS.way_conditions {
        if let Inst::Branch { cond, then, other } = body.terminator(from)
            && then != other
        {
            found.push((*cond, *then == to));
        }
        let [only] = predecessors[from].as_slice() else { break };
        (from, to) = (*only, from);
    }
    found
}
