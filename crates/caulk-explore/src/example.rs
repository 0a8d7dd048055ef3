//! A call of a function that frees the object a candidate is about, on another path: what a reader can do as well.

use caulk_ir::{EntityVec, Inst, InstId, Operand, Type};
use caulk_memory::PathRoot;
use caulk_summary::{Destination, Guard, Subject};

use crate::frame::Frame;
use crate::machine::Machine;

/// The first call after the allocation that frees the object and does nothing else, in the order of the source.
pub(crate) fn freed_at(machine: &mut Machine<'_>, allocation: InstId) -> Option<InstId> {
    let frame = machine.frame;
    let is_object = addresses(frame, allocation, machine.names_block(allocation));
    // In the line of the allocation it is the compiler that frees: after a constructor that throws.
    let line = |inst: InstId| frame.body.place(inst).line;
    let later = frame.body.insts.keys().filter(|inst| *inst > allocation && line(*inst) != line(allocation));
    later.into_iter().find(|inst| frees(machine, &is_object, *inst))
}

fn frees(machine: &mut Machine<'_>, is_object: &EntityVec<InstId, bool>, inst: InstId) -> bool {
    let Some(call) = machine.frame.body.insts[inst].call() else { return false };
    let is_given = |index: u32| match call.args.get(index as usize) {
        Some(Operand::Value(v)) => is_object[*v],
        _ => false,
    };
    if !(0..call.args.len() as u32).any(is_given) {
        return false;
    }
    let Some(effect) = machine.effect(inst) else { return false };
    let actions = &effect.summary.actions;
    // What makes a block of its own in its place (realloc()) is no example.
    let makes_none = actions.iter().all(|action| matches!(action.subject, Subject::Value(_)));
    makes_none
        && actions.iter().any(|action| {
            let Subject::Value(path) = &action.subject else { return false };
            let is_whole = matches!(path.root, PathRoot::Param(index) if path.steps.is_empty() && is_given(index));
            is_whole && action.guard == Guard::Always && matches!(action.to, Destination::Free { .. })
        })
}

/// Values that are the object's address: the result of the call that makes it, or what is read from where the call put it.
fn addresses(frame: &Frame<'_>, allocation: InstId, is_result: bool) -> EntityVec<InstId, bool> {
    let body = frame.body;
    let mut is_object: EntityVec<InstId, bool> = vec![false; body.insts.len()].into();
    // Where it was put, and by which instruction: what was there before is another object.
    let mut holders: Vec<(Operand, InstId)> = Vec::new();
    match body.insts[allocation].call() {
        Some(call) if !is_result => {
            let places = call.args.iter().filter(|arg| body.operand_type(**arg) == Type::Ptr);
            holders.extend(places.map(|place| (*place, allocation)));
        }
        _ => is_object[allocation] = true,
    }
    loop {
        let mut is_changed = false;
        for (id, inst) in body.insts.iter() {
            let is_address = |operand: &Operand| operand.value().is_some_and(|v| is_object[v]);
            match inst {
                Inst::Store { value, address, .. }
                    if is_address(value)
                        && !holders.iter().any(|(holder, _)| is_same_place(frame, *holder, *address)) =>
                {
                    holders.push((*address, id));
                    is_changed = true;
                }
                _ if is_object[id] => {}
                Inst::Load { address, ty: Type::Ptr, .. } => {
                    is_object[id] =
                        holders.iter().any(|(holder, by)| *by < id && is_same_place(frame, *holder, *address));
                    is_changed |= is_object[id];
                }
                Inst::Cast { value, .. } if is_address(value) => {
                    is_object[id] = true;
                    is_changed = true;
                }
                Inst::Phi { incoming, .. } if incoming.iter().any(|(_, operand)| is_address(operand)) => {
                    is_object[id] = true;
                    is_changed = true;
                }
                _ => {}
            }
        }
        if !is_changed {
            return is_object;
        }
    }
}

/// Whether two addresses are computed alike.
fn is_same_place(frame: &Frame<'_>, one: Operand, other: Operand) -> bool {
    if one == other {
        return true;
    }
    let (Operand::Value(a), Operand::Value(b)) = (one, other) else { return false };
    match (&frame.body.insts[a], &frame.body.insts[b]) {
        (Inst::Address { base: x, steps: s }, Inst::Address { base: y, steps: t }) => {
            s == t && is_same_place(frame, *x, *y)
        }
        (Inst::Load { address: x, .. }, Inst::Load { address: y, .. }) => is_same_place(frame, *x, *y),
        _ => false,
    }
}
