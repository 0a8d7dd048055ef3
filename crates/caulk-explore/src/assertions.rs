//! Soft assertions: `CHECK(n > 0)`, a macro that returns where its condition does not hold, and says so in the condition's own words.
//!
//! The author of one knows that it holds. Such a macro gives the text of the condition to a function that reports it; all of it has
//! one place in the source, that of the macro. A macro that says that its place should not be reached is one too.

use caulk_ir::{BlockId, Body, Constant, Initialiser, Inst, InstId, Operand, Unit};
use rustc_hash::FxHashSet;

/// Sides of branches on which an assertion fails: the branch, and the number of the side.
pub(crate) fn failed_assertions(unit: &Unit, body: &Body) -> FxHashSet<(InstId, u32)> {
    let mut found = FxHashSet::default();
    for (block, range) in body.blocks.iter() {
        let Some(branch) = range.insts().last() else { continue };
        match body.terminator(block) {
            Inst::Branch { then, other, .. } => {
                for (side, target) in [(0, *then), (1, *other)] {
                    if is_failure(unit, body, branch, target) || is_never_reached(unit, body, target) {
                        found.insert((branch, side));
                    }
                }
            }
            // `default: g_return_if_reached();`
            Inst::Switch { cases, default, .. } if is_never_reached(unit, body, *default) => {
                found.insert((branch, cases.len() as u32));
            }
            _ => {}
        }
    }
    found
}

/// Whether a block ends the function, and before that tells the condition of a branch, both at the place of the branch.
fn is_failure(unit: &Unit, body: &Body, branch: InstId, block: BlockId) -> bool {
    let place = |inst: InstId| {
        let place = &body.places[body.inst_places[inst]];
        (place.file, place.line, place.column)
    };
    let is_here = |inst: &InstId| place(*inst) == place(branch) && place(branch).1 > 0;
    let tells = |inst: InstId| {
        let arguments = body.insts[inst].call().map_or(&[][..], |call| &call.args);
        arguments
            .iter()
            .filter_map(|argument| text_of(unit, body, *argument))
            .any(|text| is_condition(unit, body, text))
    };
    matches!(body.terminator(block), Inst::Return { .. })
        && body.blocks[block].insts().last().is_some_and(|last| is_here(&last))
        && body.blocks[block].insts().filter(is_here).any(tells)
}

/// Whether a block ends the function with a report that it should not be reached, both at one place: that of a macro.
fn is_never_reached(unit: &Unit, body: &Body, block: BlockId) -> bool {
    let place = |inst: InstId| {
        let place = &body.places[body.inst_places[inst]];
        (place.file, place.line, place.column)
    };
    let Some(last) = body.blocks[block].insts().last() else { return false };
    let reports = |inst: InstId| {
        let arguments = body.insts[inst].call().map_or(&[][..], |call| &call.args);
        let mut texts = arguments.iter().filter_map(|argument| text_of(unit, body, *argument));
        place(inst) == place(last) && texts.any(|text| text.contains("be reached"))
    };
    let is_report = matches!(body.insts[last], Inst::Return { .. }) && place(last).1 > 0;
    is_report && body.blocks[block].insts().any(reports)
}

/// The string literal that an operand points to.
fn text_of<'u>(unit: &'u Unit, body: &Body, operand: Operand) -> Option<&'u str> {
    let Some(Constant::Global { global, offset: 0 }) = body.constant(operand) else { return None };
    match unit.globals[global].init {
        Initialiser::Text(text) => Some(unit.str(text)),
        _ => None,
    }
}

/// Whether a text reads as a condition on a variable of the function.
fn is_condition(unit: &Unit, body: &Body, text: &str) -> bool {
    const COMPARISONS: [&str; 8] = ["==", "!=", "<=", ">=", " < ", " > ", "&&", "||"];
    let is_variable = |word: &str| body.vars.values().any(|variable| unit.str(variable.name) == word);
    // `buffer_ok (buffer)`, as GNU style has it, is one word as well.
    let is_expression = !text.contains('%') && !text.trim().replace(" (", "(").contains(' ');
    let mut words = text.split(|c: char| !(c.is_alphanumeric() || c == '_')).filter(|word| !word.is_empty());
    (is_expression || COMPARISONS.iter().any(|comparison| text.contains(comparison))) && words.any(is_variable)
}
