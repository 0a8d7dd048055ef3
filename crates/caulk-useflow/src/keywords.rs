//! What is done only where a text equals a constant: `if (!strcmp(args[0], "log-file")) server->log = strdup(args[1]);`.
//!
//! Such code carries out what its input says, a line of a configuration or an option, and input may say the same thing twice.

use caulk_ir::{
    BlockId, Body, CallData, Callee, CompareOp, Constant, EntitySet, Initialiser, Inst, InstId, Operand, Unit,
};

use caulk_memory::ValueNode;

use crate::bounds::BOUNDS;
use crate::function::View;

/// Functions of the standard libraries that tell by 0 that two texts are equal.
const COMPARISONS: [&str; 8] =
    ["strcmp", "strcasecmp", "strncmp", "strncasecmp", "wcscmp", "strcoll", "g_strcmp0", "g_ascii_strcasecmp"];

/// Whether a function of the standard libraries tells by 0 that two texts are equal.
pub fn compares_texts(symbol: &str) -> bool {
    COMPARISONS.contains(&symbol)
}

/// Whether an instruction is reached only by paths on which some text has equalled a constant.
pub(crate) fn follows_keyword(view: &View<'_>, at: InstId) -> bool {
    follows_equal(view, at, false)
}

/// Whether an instruction is reached only by paths on which an entry of a table has equalled a constant: that is so for one entry.
pub(crate) fn follows_entry(view: &View<'_>, at: InstId) -> bool {
    follows_equal(view, at, true)
}

fn follows_equal(view: &View<'_>, at: InstId, of_table: bool) -> bool {
    let body = view.body;
    let mut seen: EntitySet<BlockId> = EntitySet::default();
    let mut work = vec![Body::ENTRY];
    while let Some(block) = work.pop() {
        if !seen.insert(block) {
            continue;
        }
        let terminator = body.terminator(block);
        match (terminator, equal_side(view, terminator, of_table)) {
            (Inst::Branch { other, .. }, Some(true)) => work.push(*other),
            (Inst::Branch { then, .. }, Some(false)) => work.push(*then),
            (terminator, _) => work.extend(terminator.successors()),
        }
    }
    !seen.contains(view.homes[at])
}

/// Whether a branch is taken, or not taken, where a text equals a constant. None: it asks something else.
fn equal_side(view: &View<'_>, terminator: &Inst, of_table: bool) -> Option<bool> {
    let Inst::Branch { cond, .. } = terminator else { return None };
    let (call, on_other) = asked_call(view.body, *cond, true)?;
    let data = view.body.insts[call].call()?;
    let unit = view.program.unit(view.program.function(view.id).unit);
    let is_constant = |argument: &Operand| view.body.constant(*argument).is_some_and(|c| is_text(unit, c));
    let is_entry = data.args.iter().any(|argument| is_of_table(view, *argument));
    if !data.args.iter().any(is_constant) || is_entry != of_table {
        return None;
    }
    let is_zero_equal = tells_by_zero(unit, data).or_else(|| wrapper_tells_by_zero(view, call))?;
    Some(on_other != is_zero_equal)
}

/// The call whose result decides a condition, and whether the condition holds where the result is not 0.
fn asked_call(body: &Body, condition: Operand, holds: bool) -> Option<(InstId, bool)> {
    let value = condition.value()?;
    match &body.insts[value] {
        Inst::Call(_) => Some((value, holds)),
        Inst::Cast { value, .. } => asked_call(body, *value, holds),
        Inst::Compare { op: op @ (CompareOp::Eq | CompareOp::Ne), lhs, rhs, .. } => {
            let is_zero = body.constant(*rhs).and_then(Constant::as_signed) == Some(0);
            is_zero.then(|| asked_call(body, *lhs, holds == (*op == CompareOp::Ne)))?
        }
        _ => None,
    }
}

/// Whether a call of a comparison gives 0 where the texts are equal; None where it is no comparison.
fn tells_by_zero(unit: &Unit, call: &CallData) -> Option<bool> {
    let Callee::Direct(function) = call.callee else { return None };
    compares_texts(unit.symbol(function)).then_some(true)
}

/// The same for a short function that gives back what a comparison tells.
fn wrapper_tells_by_zero(view: &View<'_>, call: InstId) -> Option<bool> {
    let site = view.program.call_site(view.id, call)?;
    let [target] = view.program.targets(site) else { return None };
    let body = view.program.body(*target).filter(|body| body.insts.len() <= BOUNDS.comparison_insts)?;
    let unit = view.program.unit(view.program.function(*target).unit);
    let mut returned = body.insts.values().filter_map(|inst| match inst {
        Inst::Return { value } => *value,
        _ => None,
    });
    let (inner, holds) = asked_call(&body, returned.next()?, true)?;
    tells_by_zero(unit, body.insts[inner].call()?).map(|is_zero| is_zero == holds)
}

/// Whether a text is an entry of a static table: no input, and there is one of each.
fn is_of_table(view: &View<'_>, operand: Operand) -> bool {
    let Some(value) = operand.value() else { return false };
    let Inst::Load { address, .. } = view.body.insts[value] else { return false };
    let base = view.values.of_operand(address).map(|cell| view.values.root(cell.base));
    matches!(base, Some(ValueNode::Global(_)))
}

/// Whether a constant is the address of a literal.
pub(crate) fn is_text(unit: &Unit, constant: Constant) -> bool {
    match constant {
        Constant::Global { global, .. } => matches!(unit.globals[global].init, Initialiser::Text(_)),
        _ => false,
    }
}
