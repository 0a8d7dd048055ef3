//! Which fresh blocks nothing but their first name leads to yet.

use std::collections::BTreeMap;
use std::sync::OnceLock;

use caulk_ir::{BlockId, EntitySet, Inst, InstId};

use crate::shape::Shape;

/// For each value that a call made afresh, where the value may have got elsewhere.
#[derive(Debug, Default)]
pub(crate) struct Fresh {
    escapes: BTreeMap<InstId, Escape>,
}

#[derive(Debug, Default)]
struct Escape {
    /// Uses after which the block may have other names.
    uses: Vec<InstId>,
    /// Blocks at whose beginning that may have happened. Worked out when it is first asked for.
    after: OnceLock<EntitySet<BlockId>>,
}

impl Fresh {
    pub(crate) fn new(shape: &Shape) -> Self {
        let is_fresh = |inst: &Inst| inst.call().is_some_and(|call| call.flags.fresh_result);
        let made = shape.body.insts.iter().filter(|(id, inst)| is_fresh(inst) && shape.is_holder(*id));
        let mut escapes: BTreeMap<InstId, Escape> = made.map(|(id, _)| (id, Escape::default())).collect();
        for (id, inst) in shape.body.insts.iter() {
            given_away(shape, id, inst, |value| {
                if let Some(escape) = escapes.get_mut(&value) {
                    escape.uses.push(id);
                }
            });
        }
        Self { escapes }
    }

    /// Whether before and after an instruction nothing but `value` (and what is computed from it) leads to the block it points to.
    pub(crate) fn is_unshared(&self, shape: &Shape, value: InstId, at: InstId) -> bool {
        let Some(escape) = self.escapes.get(&value) else { return false };
        let block = shape.block_of[at];
        let is_after = escape.after.get_or_init(|| escape.find_after(shape)).contains(block);
        // The uses are in the order of the instructions, so that those of one block stand together.
        let first = escape.uses.partition_point(|using| *using < shape.body.blocks[block].first);
        !is_after && escape.uses.get(first).is_none_or(|using| *using > at)
    }
}

impl Escape {
    fn find_after(&self, shape: &Shape) -> EntitySet<BlockId> {
        let mut after = EntitySet::with_capacity(shape.body.blocks.len());
        let mut todo: Vec<BlockId> = self.uses.iter().map(|using| shape.block_of[*using]).collect();
        todo.dedup();
        while let Some(block) = todo.pop() {
            for next in shape.body.terminator(block).successors() {
                if after.insert(next) {
                    todo.push(next);
                }
            }
        }
        after
    }
}

/// Values that an instruction may make other names for.
fn given_away(shape: &Shape, id: InstId, inst: &Inst, mut give: impl FnMut(InstId)) {
    match inst {
        Inst::Store { value, .. } => shape.holder(*value).into_iter().for_each(give),
        Inst::Load { .. } | Inst::Compare { .. } | Inst::Bind { .. } | Inst::Address { .. } | Inst::Fill { .. } => {}
        _ if shape.base(id.into()) != id.into() => {}
        _ => inst.for_each_operand(|operand| shape.holder(*operand).into_iter().for_each(&mut give)),
    }
}
