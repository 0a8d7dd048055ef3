//! Control flow: the entry has no way in, every block can be reached, phis match the ways in, and every value is
//! computed before it is used.

use crate::dominators::DominatorTree;
use crate::entity::{BlockId, EntityVec, InstId};
use crate::inst::{Inst, Operand};

use super::BodyCheck;

pub(super) fn check(check: &mut BodyCheck<'_>) {
    let body = check.body;
    let preds = body.predecessors();
    for block in body.blocks.keys() {
        // Phis come first in a block, as its shape was checked.
        for inst in body.blocks[block].insts() {
            let Inst::Phi { incoming, .. } = &body.insts[inst] else { break };
            phi(check, block, inst, incoming, &preds[block]);
        }
    }
    if let Some(from) = preds[crate::Body::ENTRY].first() {
        check.report_block(crate::Body::ENTRY, format!("the entry can be reached from {from}"));
    }
    dominance(check);
}

fn phi(check: &mut BodyCheck<'_>, block: BlockId, id: InstId, incoming: &[(BlockId, Operand)], preds: &[BlockId]) {
    let mut from: Vec<BlockId> = incoming.iter().map(|i| i.0).collect();
    from.sort_unstable();
    for pair in from.windows(2).filter(|pair| pair[0] == pair[1]) {
        check.report_inst(block, id, format!("two values come from {}", pair[0]));
    }
    for pred in preds.iter().filter(|p| from.binary_search(p).is_err()) {
        check.report_inst(block, id, format!("no value comes from {pred}"));
    }
    // Predecessors are in rising order.
    for other in from.iter().filter(|f| preds.binary_search(f).is_err()) {
        check.report_inst(block, id, format!("a value comes from {other}, which does not lead here"));
    }
}

fn dominance(check: &mut BodyCheck<'_>) {
    let body = check.body;
    let tree = DominatorTree::new(body);
    let home = body.inst_blocks();
    for block in body.blocks.keys() {
        if !tree.is_reachable(block) {
            check.report_block(block, "no way leads here from the entry");
            continue;
        }
        for inst in body.blocks[block].insts() {
            for value in undefined_uses(check, &tree, &home, block, inst) {
                check.report_inst(block, inst, format!("{value} is not computed on every way to this use"));
            }
        }
    }
}

fn undefined_uses(
    check: &BodyCheck<'_>,
    tree: &DominatorTree,
    home: &EntityVec<InstId, BlockId>,
    block: BlockId,
    id: InstId,
) -> Vec<InstId> {
    let mut undefined = Vec::new();
    let inst = &check.body.insts[id];
    if let Inst::Phi { incoming, .. } = inst {
        // The use is at the end of the block the value comes from. One that does not lead here was reported already.
        let uses = incoming.iter().filter_map(|(from, operand)| Some((*from, operand.value()?)));
        undefined
            .extend(uses.filter(|(from, v)| tree.is_reachable(*from) && !tree.dominates(home[*v], *from)).map(|u| u.1));
        return undefined;
    }
    let mut visit = |value: InstId| {
        // Numbers rise within a block; parameters stand before the entry block, and count to it.
        let defined = if home[value] == block { value < id } else { tree.dominates(home[value], block) };
        if !defined {
            undefined.push(value);
        }
    };
    inst.for_each_operand(|operand| operand.value().into_iter().for_each(&mut visit));
    if let Inst::ScopeStart { local } | Inst::ScopeEnd { local } = inst {
        visit(*local);
    }
    undefined
}
