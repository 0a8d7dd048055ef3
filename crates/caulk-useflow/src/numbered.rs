//! What is done only for one number of the input: `switch (message->type) { case NAME: client->name = strdup(message->text); }`.
//!
//! As with words ([`crate::keywords`]), input may say the same twice: a message of the same type, an option with the same letter.

use caulk_ir::{BlockId, Body, EntitySet, Inst, InstId, Operand};
use caulk_memory::{Cell, ValueNode};

use crate::bounds::BOUNDS;
use crate::function::View;

/// Whether an instruction is reached only by cases of a switch over a number that comes from outside. `cell`: what the instruction
/// writes; a number in the same structure is its state, and says nothing of the input.
pub(crate) fn follows_number(view: &View<'_>, at: InstId, cell: Cell) -> bool {
    let body = view.body;
    let mut switches = body.blocks.keys().filter(|block| match body.terminator(*block) {
        Inst::Switch { value, cases, .. } => cases.len() >= BOUNDS.setting_cases && is_input(view, *value, cell),
        _ => false,
    });
    switches.any(|switch| !is_reached_past(body, switch, view.homes[at]))
}

/// Whether a block is reached without a case of a switch, the default one left out.
fn is_reached_past(body: &Body, switch: BlockId, home: BlockId) -> bool {
    let mut seen: EntitySet<BlockId> = EntitySet::default();
    let mut work = vec![Body::ENTRY];
    while let Some(block) = work.pop() {
        if !seen.insert(block) {
            continue;
        }
        match body.terminator(block) {
            Inst::Switch { default, .. } if block == switch => work.push(*default),
            terminator => work.extend(terminator.successors()),
        }
    }
    seen.contains(home)
}

/// Whether a number was given to the function, read from memory that it does not write, or is the result of a call.
fn is_input(view: &View<'_>, value: Operand, cell: Cell) -> bool {
    let Operand::Value(value) = value else { return false };
    match &view.body.insts[value] {
        Inst::Cast { value, .. } => is_input(view, *value, cell),
        Inst::Param { .. } | Inst::Call(_) | Inst::Invoke { .. } => true,
        Inst::Load { address, .. } => {
            let Some(from) = view.values.of_operand(*address) else { return false };
            from.base != cell.base && !is_static(view, from) && !is_written(view, from)
        }
        _ => false,
    }
}

/// A static variable holds a state of the program.
fn is_static(view: &View<'_>, from: Cell) -> bool {
    matches!(view.values.root(from.base), ValueNode::Global(_))
}

fn is_written(view: &View<'_>, from: Cell) -> bool {
    view.body.insts.values().any(|inst| match inst {
        Inst::Store { address, .. } => view.values.of_operand(*address) == Some(from),
        _ => false,
    })
}
