//! Which fresh blocks nothing but their first name leads to yet.

use std::collections::BTreeMap;

use caulk_ir::{BlockId, Inst, InstId};

use crate::shape::Shape;

/// For each value that a call made afresh, where the value may have got elsewhere.
#[derive(Debug, Default)]
pub struct Fresh {
    escapes: BTreeMap<InstId, Escape>,
}

#[derive(Debug)]
struct Escape {
    /// Uses after which the block may have other names.
    uses: Vec<InstId>,
    /// Blocks at whose beginning that may have happened.
    after: Vec<bool>,
}

impl Fresh {
    pub fn new(shape: &Shape) -> Self {
        let is_fresh = |inst: &Inst| inst.call().is_some_and(|call| call.flags.fresh_result);
        let made = shape.body.insts.iter().filter(|(id, inst)| is_fresh(inst) && shape.is_holder(*id));
        Self { escapes: made.map(|(id, _)| (id, Escape::new(shape, id))).collect() }
    }

    /// Whether before and after an instruction nothing but `value` (and what is computed from it) leads to the block it points to.
    pub fn is_unshared(&self, shape: &Shape, value: InstId, at: InstId) -> bool {
        let Some(escape) = self.escapes.get(&value) else { return false };
        let block = shape.block_of[at];
        let before = |using: &InstId| shape.block_of[*using] == block && *using <= at;
        !escape.after[block.0 as usize] && !escape.uses.iter().any(before)
    }
}

impl Escape {
    fn new(shape: &Shape, value: InstId) -> Self {
        let uses: Vec<InstId> = shape
            .body
            .insts
            .iter()
            .filter(|(id, inst)| gives_away(shape, *id, inst, value))
            .map(|(id, _)| id)
            .collect();
        let mut after = vec![false; shape.body.blocks.len()];
        let mut todo: Vec<BlockId> = uses.iter().map(|using| shape.block_of[*using]).collect();
        while let Some(block) = todo.pop() {
            for next in shape.body.terminator(block).successors() {
                if !std::mem::replace(&mut after[next.0 as usize], true) {
                    todo.push(next);
                }
            }
        }
        Self { uses, after }
    }
}

/// Whether an instruction may make another name for a value.
fn gives_away(shape: &Shape, id: InstId, inst: &Inst, value: InstId) -> bool {
    let is_it = |operand: &caulk_ir::Operand| shape.holder(*operand) == Some(value);
    match inst {
        Inst::Store { value, .. } => is_it(value),
        Inst::Load { .. } | Inst::Compare { .. } | Inst::Bind { .. } | Inst::Address { .. } | Inst::Fill { .. } => {
            false
        }
        _ if shape.base(id.into()) != id.into() => false,
        _ => {
            let mut gives = false;
            inst.for_each_operand(|operand| gives |= is_it(operand));
            gives
        }
    }
}
