//! Branches of a path in the source's words: which condition, and how it came out.

use caulk_ir::{Body, Callee, CompareOp, Constant, Inst, InstId, Operand};
use caulk_program::FuncId;

use crate::finding::{Site, StepKind};
use crate::narrate::Narrator;
use crate::operand_names::OperandNames;
use crate::words::{self, Statement};

impl Narrator<'_> {
    /// A branch, switch or exception of a path; None where neither the source nor the IR has words for it.
    pub(crate) fn branch_words(
        &self,
        (function, inst): (FuncId, InstId),
        successor: usize,
        site: &Site,
    ) -> Option<(StepKind, String)> {
        let body = self.sites.body(function)?;
        match &body.insts[inst] {
            Inst::Branch { cond, .. } => self.condition(function, &body, *cond, successor == 0, site),
            Inst::Switch { cases, .. } => {
                let values: Vec<u64> = cases.iter().map(|c| c.0).collect();
                Some((StepKind::Case, self.case(&values, successor, site)))
            }
            Inst::Invoke { .. } if successor == 1 => {
                let callee = self.sites.callee(function, inst)?;
                Some((StepKind::Branch, format!("{callee} throws an exception")))
            }
            _ => None,
        }
    }

    /// None where neither the source nor the IR has words for it, as in the middle of a macro.
    fn condition(
        &self,
        function: FuncId,
        body: &Body,
        cond: Operand,
        holds: bool,
        site: &Site,
    ) -> Option<(StepKind, String)> {
        let file = self.sources.get(&site.file);
        let quoted = file.and_then(|f| words::condition(&f, site.line, site.column));
        let Some(words::Condition { text, statement, is_part, is_negated }) = quoted else {
            return self.operands(function, body, cond, holds).map(|text| (StepKind::Branch, text));
        };
        let is_so = (holds != self.is_negated_by_operator(body, function, cond)) != is_negated;
        let quoted = self.cut(text.clone());
        if statement == Statement::If && !is_part {
            return Some((StepKind::Branch, format!("`if ({quoted})` {}", if is_so { TAKEN } else { NOT_TAKEN })));
        }
        let outcome = match text.as_str() {
            "" => String::new(),
            text if is_negated => format!("`{quoted}` {}", true_or_false(text, None, is_so)),
            text => format!("`{quoted}` {}", true_or_false(text, null_test(body, cond), is_so)),
        };
        let (kind, start) = match (statement, holds) {
            (Statement::Loop, true) => (StepKind::LoopEntered, "the loop goes on"),
            (Statement::Loop, false) => (StepKind::LoopLeft, "the loop is left"),
            _ => (StepKind::Branch, ""),
        };
        let parts = [start, &outcome].into_iter().filter(|p| !p.is_empty());
        Some((kind, parts.collect::<Vec<_>>().join(": ")))
    }

    /// Whether a condition is the result of a class's own `operator!`: clang branches on that, and not on the operand of `!`.
    fn is_negated_by_operator(&self, body: &Body, function: FuncId, cond: Operand) -> bool {
        let Some(call) = cond.value().and_then(|v| body.insts[v].call()) else { return false };
        let Callee::Direct(callee) = call.callee else { return false };
        let program = self.program;
        program.unit(program.function(function).unit).function_name(callee).ends_with("operator!")
    }

    fn operands(&self, function: FuncId, body: &Body, cond: Operand, holds: bool) -> Option<String> {
        let info = self.program.function(function);
        let unit = self.program.unit(info.unit);
        let params = info.declaration.params.iter().map(|p| p.name.map(|n| unit.str(n))).collect();
        OperandNames { unit, body, params }.condition(cond, holds)
    }

    fn case(&self, values: &[u64], successor: usize, site: &Site) -> String {
        let file = self.sources.get(&site.file);
        let quoted = file.and_then(|f| words::switch(&f, site.line, site.column));
        let (subject, labels) = quoted.unwrap_or_else(|| ("the switch".to_owned(), Vec::new()));
        let subject = self.cut(subject);
        match (values.get(successor), labels.get(successor)) {
            // clang makes several cases of a range: then the labels say nothing about them.
            (Some(_), Some(label)) if labels.len() == values.len() => format!("`{subject}` is `{label}`"),
            (Some(value), _) => format!("`{subject}` is {}", *value as i64),
            (None, _) => format!("`{subject}` is none of the cases"),
        }
    }
}

/// What is said of the condition of an `if` as a whole.
const TAKEN: &str = "is taken";
const NOT_TAKEN: &str = "is not taken";

/// Whether the words about a condition say that it does not hold.
pub(crate) fn is_refusal(text: &str) -> bool {
    [NOT_TAKEN, "is false", "is null"].iter().any(|end| text.ends_with(end))
}

/// The comparison with null that a condition is.
fn null_test(body: &Body, cond: Operand) -> Option<CompareOp> {
    match body.insts[cond.value()?] {
        Inst::Compare { op, rhs, .. } if body.constant(rhs) == Some(Constant::Null) => Some(op),
        _ => None,
    }
}

/// How a condition came out. A bare pointer is null or not; anything else is true or false.
fn true_or_false(text: &str, null_test: Option<CompareOp>, holds: bool) -> &'static str {
    let is_bare = !text.contains("==") && !text.contains("!=");
    match (null_test.filter(|_| is_bare), holds) {
        (Some(CompareOp::Ne), true) | (Some(CompareOp::Eq), false) => "is not null",
        (Some(CompareOp::Ne), false) | (Some(CompareOp::Eq), true) => "is null",
        (_, true) => "is true",
        (_, false) => "is false",
    }
}
