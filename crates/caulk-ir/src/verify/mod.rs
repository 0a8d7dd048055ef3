//! Checks that a unit is what every later part takes it for: a unit that passes never makes one of them panic.
//!
//! A body is checked in two passes. The first asks whether every id exists and the blocks have their shape; only then is
//! there a control flow that the second can walk.

mod flow;
mod shape;
mod tables;
mod types;

use crate::body::Body;
use crate::entity::{BlockId, FunctionId, InstId};
use crate::text;
use crate::unit::{Function, Unit};

/// One thing that is wrong, and where.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{subject}: {problem}")]
pub struct VerifyError {
    pub function: Option<FunctionId>,
    pub block: Option<BlockId>,
    pub inst: Option<InstId>,
    /// Where it is, in the text form: ``@parse, block1, `%4 = ne ptr %2, null` ``.
    pub subject: String,
    pub problem: String,
}

/// Checks the tables of a unit and all bodies in it.
pub fn verify_unit(unit: &Unit) -> Result<(), Vec<VerifyError>> {
    let mut errors = tables::check(unit);
    for (id, function) in unit.functions.iter() {
        if let Some(body) = &function.body {
            errors.extend(verify_body(unit, id, body).err().into_iter().flatten());
        }
    }
    if errors.is_empty() { Ok(()) } else { Err(errors) }
}

/// Checks one body, which may be kept apart from its unit. The tables of the unit are taken to be right.
pub fn verify_body(unit: &Unit, function: FunctionId, body: &Body) -> Result<(), Vec<VerifyError>> {
    let Some(f) = unit.functions.get(function) else {
        let problem = "the unit has no such function".to_owned();
        return Err(vec![VerifyError {
            function: None,
            block: None,
            inst: None,
            subject: function.to_string(),
            problem,
        }]);
    };
    let mut check = BodyCheck { unit, function: f, body, problems: Vec::new() };
    shape::check(&mut check);
    if check.problems.is_empty() {
        flow::check(&mut check);
        types::check(&mut check);
    }
    if check.problems.is_empty() { Ok(()) } else { Err(render(unit, function, body, check.problems)) }
}

/// A body, and what was found wrong in it so far.
struct BodyCheck<'a> {
    unit: &'a Unit,
    function: &'a Function,
    body: &'a Body,
    problems: Vec<Problem>,
}

struct Problem {
    block: Option<BlockId>,
    inst: Option<InstId>,
    text: String,
}

impl BodyCheck<'_> {
    fn report(&mut self, text: impl Into<String>) {
        self.problems.push(Problem { block: None, inst: None, text: text.into() });
    }

    fn report_block(&mut self, block: BlockId, text: impl Into<String>) {
        self.problems.push(Problem { block: Some(block), inst: None, text: text.into() });
    }

    fn report_inst(&mut self, block: BlockId, inst: InstId, text: impl Into<String>) {
        self.problems.push(Problem { block: Some(block), inst: Some(inst), text: text.into() });
    }
}

/// Names are looked up only here, so that a sound body costs no text.
fn render(unit: &Unit, function: FunctionId, body: &Body, problems: Vec<Problem>) -> Vec<VerifyError> {
    let printer = text::Printer::new(unit);
    let body = printer.body(function, body);
    let render = |p: Problem| {
        let mut subject = printer.function_label(function);
        if let Some(block) = p.block {
            subject += &format!(", {block}");
        }
        if let Some(inst) = p.inst {
            subject += &format!(", `{}`", body.inst(inst));
        }
        VerifyError { function: Some(function), block: p.block, inst: p.inst, subject, problem: p.text }
    };
    problems.into_iter().map(render).collect()
}
