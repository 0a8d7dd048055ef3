//! A pointer that is overwritten by something made from it: the old one is kept until the new one is there.

use caulk_report::Finding;
use caulk_report::source::Sources;

use crate::code::{Code, Statement};
use crate::insert;
use crate::patch::{Edit, Patch};
use crate::propose::Proposal;
use crate::release::{by_family, is_expression};

/// Names for the variable that keeps the old pointer; the first that the file does not use is taken.
const OLD: [&str; 3] = ["old", "previous", "old_block"];
const NEW: [&str; 3] = ["grown", "resized", "new_block"];

/// The left side of an assignment, and the token of its `=`.
pub(crate) fn left_side(code: &Code<'_>, statement: Statement) -> Option<(String, usize)> {
    let equals = (statement.first..statement.last).find(|at| code.word(*at) == b"=")?;
    let left = code.quote(statement.first, equals)?;
    is_expression(&left).then_some((left, equals))
}

/// For `p = f(p, ...);`.
pub(crate) fn proposals(finding: &Finding, sources: &Sources) -> Vec<Proposal> {
    let site = &finding.loss;
    // One place only: with several the old pointer would need several names.
    if finding.family != "free" || !finding.also_lost_at.is_empty() {
        return Vec::new();
    }
    let Some(file) = sources.get(&site.file) else { return Vec::new() };
    let code = Code::new(&file);
    let found = code.token_at(&file, site.line, site.column).and_then(|at| code.statement(at));
    let Some((statement, (left, equals))) = found.and_then(|s| Some((s, left_side(&code, s)?))) else {
        return Vec::new();
    };
    let proposal = |title: String, edits: Option<Vec<Edit>>| {
        let patch = Patch::new(edits?)?;
        Some(Proposal { finding: finding.fingerprint.clone(), title, patch, frees_callers: false })
    };
    let mut all = Vec::new();
    if let Some(edits) = kept_across_realloc(&code, &site.file, statement, &left, equals) {
        all.extend(proposal(format!("keep `{left}` until realloc() has succeeded"), Some(edits)));
    }
    if let Some(edits) = kept_aside(&code, &site.file, statement, &left, &finding.family) {
        all.extend(proposal(format!("free the old `{left}` after line {}", site.line), Some(edits)));
    }
    all
}

/// `p = realloc(p, n);`: where that fails, p is freed.
fn kept_across_realloc(
    code: &Code<'_>,
    file: &str,
    statement: Statement,
    left: &str,
    equals: usize,
) -> Option<Vec<Edit>> {
    let call = (equals + 1..statement.last).find(|at| code.word(*at) == b"realloc")?;
    let close = code.partner(call + 1).filter(|close| close + 1 == statement.last && code.word(call + 1) == b"(")?;
    let cast = if call == equals + 1 { String::new() } else { code.quote(equals + 1, call)? };
    let name = unused(code, &NEW)?;
    let size_from = (call + 2..close).find(|at| code.word(*at) == b",")? + 1;
    let size = code.quote(size_from, close)?;
    let has_effect = |at: usize| matches!(code.word(at), b"(" | b"++" | b"--" | b"=");
    let is_sizeof = |at: usize| code.word(at) == b"(" && code.word(at - 1) == b"sizeof";
    if (size_from..close).any(|at| has_effect(at) && !is_sizeof(at)) {
        return None;
    }
    // With a size of 0 realloc() has freed the block itself.
    let lines = [
        format!("void *{name} = {};", code.quote(call, close + 1)?),
        format!("if ({name} == NULL && ({size}) != 0)"),
        format!("{}free({left});", code.unit()),
    ];
    let mut edits = insert::before_start(code, file, statement.first, &lines)?;
    let (start, end) = (code.tokens[equals + 1].start, code.tokens[statement.last].start);
    edits.push(Edit { file: file.to_owned(), start, end, text: format!("{cast}{name}") });
    Some(edits)
}

/// `p = f(p);`: the old one is freed afterwards.
fn kept_aside(code: &Code<'_>, file: &str, statement: Statement, left: &str, family: &str) -> Option<Vec<Edit>> {
    let name = unused(code, &OLD)?;
    let mut edits = insert::before_start(code, file, statement.first, &[format!("void *{name} = {left};")])?;
    edits.extend(insert::after(code, file, statement, &[by_family(family, name)?])?);
    Some(edits)
}

fn unused(code: &Code<'_>, names: &[&'static str]) -> Option<&'static str> {
    names.iter().find(|name| !code.mentions(0..code.tokens.len(), name)).copied()
}
