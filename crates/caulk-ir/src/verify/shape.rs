//! The shape of a body: every id exists, parameters come first, then the blocks one after the other, phis at the head
//! and one terminator at the end of each.

use crate::body::Body;
use crate::entity::{BlockId, Entity, InstId, PlaceId, VarId};
use crate::inst::{AddressStep, CallData, Callee, Inst, Operand};

use super::BodyCheck;
use super::tables::{constant_problem, exists, pointee_problem};

pub(super) fn check(check: &mut BodyCheck<'_>) {
    constants(check);
    variables(check);
    places(check);
    params(check);
    if blocks(check) {
        for block in check.body.blocks.keys() {
            instructions(check, block);
        }
    }
}

fn constants(check: &mut BodyCheck<'_>) {
    for constant in check.body.consts.values() {
        if let Some(problem) = constant_problem(check.unit, *constant) {
            check.report(problem);
        }
    }
}

fn variables(check: &mut BodyCheck<'_>) {
    for (id, var) in check.body.vars.iter() {
        if !check.unit.strings.contains(var.name) {
            check.report(format!("the name of {id}, {}, does not exist", var.name));
        }
        if var.param.is_some_and(|p| p as usize >= check.function.params.len()) {
            check.report(format!("{id} is a parameter that the function does not have"));
        }
        if let Some(problem) = pointee_problem(check.unit, var.pointee) {
            check.report(problem);
        }
    }
}

fn places(check: &mut BodyCheck<'_>) {
    let body = check.body;
    let before = check.problems.len();
    for (id, place) in body.places.iter() {
        if !exists(&check.unit.files, place.file) {
            check.report(format!("{id} lies in {}, which does not exist", place.file));
        }
        if let Some(inlined) = place.inlined {
            if !check.unit.strings.contains(inlined.function) {
                check.report(format!("the function of {id}, {}, does not exist", inlined.function));
            }
            if !exists(&body.places, inlined.at) {
                check.report(format!("{id} is inlined at {}, which does not exist", inlined.at));
            }
        }
    }
    if check.problems.len() == before && inlined_in_circle(body) {
        check.report("a place is inlined into itself");
    }
    if body.inst_places.len() != body.insts.len() {
        check.report(format!("{} places for {} instructions", body.inst_places.len(), body.insts.len()));
    }
    for (inst, place) in body.inst_places.iter() {
        if !exists(&body.places, *place) {
            check.report(format!("the place of {inst}, {place}, does not exist"));
        }
    }
}

/// Follows each chain until it ends or meets one that was followed before; each place is visited once.
fn inlined_in_circle(body: &Body) -> bool {
    // 0: not visited; else the number of the walk that visited it.
    let mut visited = vec![0usize; body.places.len()];
    for start in body.places.keys() {
        let walk = start.index() + 1;
        let mut next: Option<PlaceId> = Some(start);
        while let Some(place) = next {
            match visited[place.index()] {
                0 => visited[place.index()] = walk,
                earlier if earlier == walk => return true,
                _ => break,
            }
            next = body.places[place].inlined.map(|i| i.at);
        }
    }
    false
}

fn params(check: &mut BodyCheck<'_>) {
    for (index, ty) in check.function.signature.params.iter().enumerate() {
        match check.body.insts.as_slice().get(index) {
            Some(Inst::Param { index: i, ty: t }) if *i as usize == index && t == ty => {}
            _ => check.report(format!("instruction {index} is not `param {index} {ty}`, as the signature asks")),
        }
    }
}

/// Whether the blocks divide the instructions among them.
fn blocks(check: &mut BodyCheck<'_>) -> bool {
    let body = check.body;
    if body.blocks.is_empty() {
        check.report("the body has no blocks");
        return false;
    }
    let mut next = InstId::from_index(check.function.signature.params.len());
    for (id, block) in body.blocks.iter() {
        if block.first != next {
            check.report_block(id, format!("it begins at {}, but the block before it ends at {next}", block.first));
            return false;
        }
        if block.end <= block.first {
            check.report_block(id, "it is empty");
            return false;
        }
        if block.end.index() > body.insts.len() {
            check.report_block(id, format!("it ends at {}, beyond the last instruction", block.end));
            return false;
        }
        next = block.end;
    }
    if next.index() != body.insts.len() {
        check.report(format!("{next} and what follows stand in no block"));
        return false;
    }
    true
}

fn instructions(check: &mut BodyCheck<'_>, block: BlockId) {
    let body = check.body;
    let last = body.blocks[block].terminator();
    let mut head = true;
    for id in body.blocks[block].insts() {
        let inst = &body.insts[id];
        if id == last && !inst.is_terminator() {
            check.report_inst(block, id, "the block does not end in a terminator");
        }
        if id != last && inst.is_terminator() {
            check.report_inst(block, id, "a terminator stands before the end of the block");
        }
        match inst {
            Inst::Param { .. } => check.report_inst(block, id, "a parameter stands in a block"),
            Inst::Phi { .. } if !head => check.report_inst(block, id, "a phi stands after other instructions"),
            Inst::Phi { .. } => {}
            _ => head = false,
        }
        references(check, block, id, inst);
    }
}

/// Everything an instruction names exists.
fn references(check: &mut BodyCheck<'_>, block: BlockId, id: InstId, inst: &Inst) {
    let body = check.body;
    let mut missing = Vec::new();
    inst.for_each_operand(|operand| match *operand {
        Operand::Value(v) if !exists(&body.insts, v) => missing.push(v.to_string()),
        Operand::Const(c) if !exists(&body.consts, c) => missing.push(c.to_string()),
        _ => {}
    });
    let absent = |target: BlockId| (!exists(&body.blocks, target)).then(|| target.to_string());
    missing.extend(inst.successors().into_iter().filter_map(absent));
    if let Inst::Phi { incoming, .. } = inst {
        missing.extend(incoming.iter().filter_map(|(from, _)| absent(*from)));
    }
    if let Some(var) = variable(inst).filter(|v| !exists(&body.vars, *v)) {
        missing.push(var.to_string());
    }
    if let Inst::Address { steps, .. } = inst {
        for step in steps {
            if let AddressStep::Field { ty, .. } = step {
                missing.extend((!exists(&check.unit.structs, *ty)).then(|| ty.to_string()));
            }
        }
    }
    if let Some(call) = inst.call() {
        callee(check, call, &mut missing);
        arguments(check, block, id, call);
    }
    for what in missing {
        check.report_inst(block, id, format!("{what} does not exist"));
    }
    if let Inst::ScopeStart { local } | Inst::ScopeEnd { local } = inst {
        if !matches!(body.insts.get(*local), Some(Inst::Local { .. })) {
            check.report_inst(block, id, format!("{local} is not a local"));
        }
    }
}

fn variable(inst: &Inst) -> Option<VarId> {
    match inst {
        Inst::Local { var, .. } => *var,
        Inst::Bind { var, .. } | Inst::Unbind { var } => Some(*var),
        _ => None,
    }
}

fn callee(check: &BodyCheck<'_>, call: &CallData, missing: &mut Vec<String>) {
    match call.callee {
        Callee::Direct(f) if !exists(&check.unit.functions, f) => missing.push(f.to_string()),
        Callee::Assembly(text) if !check.unit.strings.contains(text) => missing.push(text.to_string()),
        _ => {}
    }
}

fn arguments(check: &mut BodyCheck<'_>, block: BlockId, id: InstId, call: &CallData) {
    if call.args.len() != call.arg_types.len() {
        let problem = format!("{} arguments, but {} types of arguments", call.args.len(), call.arg_types.len());
        check.report_inst(block, id, problem);
    }
    if !call.by_value.is_sorted_by(|a, b| a < b) || call.by_value.iter().any(|b| usize::from(*b) >= call.args.len()) {
        check.report_inst(block, id, "the arguments passed by value are not a rising list of arguments");
    }
}
