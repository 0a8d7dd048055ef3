//! The last step: a draft becomes a body with dense, ordered instruction numbers.

use caulk_ir::{Block, Body, ConstId, EntityVec, Inst, InstId, Operand};

use super::draft::Draft;

pub(crate) fn run(draft: Draft) -> Body {
    let Draft { mut insts, inst_places, blocks, consts, vars, places, params, .. } = draft;
    let mut renumber: EntityVec<InstId, Option<InstId>> = vec![None; insts.len()].into();
    let in_order: Vec<InstId> = (0..params).map(InstId).chain(blocks.values().flatten().copied()).collect();
    for (new, old) in in_order.iter().enumerate() {
        renumber[*old] = Some(InstId(new as u32));
    }
    let mut body = Body {
        insts: EntityVec::with_capacity(in_order.len()),
        inst_places: EntityVec::with_capacity(in_order.len()),
        blocks: EntityVec::with_capacity(blocks.len()),
        consts: EntityVec::with_capacity(consts.len()),
        vars,
        places,
    };
    let mut used_consts: EntityVec<ConstId, Option<ConstId>> = vec![None; consts.len()].into();
    for old in in_order {
        let mut inst = std::mem::replace(&mut insts[old], Inst::Unreachable);
        inst.for_each_operand_mut(|operand| match operand {
            Operand::Value(v) => *v = renumber[*v].expect("an operand is defined in a reachable block"),
            Operand::Const(c) => *c = *used_consts[*c].get_or_insert_with(|| body.consts.push(consts[*c])),
        });
        if let Inst::ScopeStart { local } | Inst::ScopeEnd { local } = &mut inst {
            *local = renumber[*local].expect("a scope mark of a dropped local is dropped with it");
        }
        body.insts.push(inst);
        body.inst_places.push(inst_places[old]);
    }
    let mut next = params;
    for block in blocks.values() {
        let end = next + block.len() as u32;
        body.blocks.push(Block { first: InstId(next), end: InstId(end) });
        next = end;
    }
    body
}
