//! What can be done about a finding: the checked fix, a suppression with a reason, the page of its rule, the paths of its memory.

use std::collections::HashMap;

use caulk_report::Finding;
use lsp_types::{CodeAction, CodeActionKind, CodeActionParams, Command, Position, Range, TextEdit, Uri, WorkspaceEdit};
use serde_json::{Value, json};

use crate::diagnostics::SOURCE;
use crate::place;
use crate::{Engine, Replacement};

pub(crate) const EXPLAIN: &str = "caulk.explain";
/// The command that says what happens on each path to the memory of a line: a document and a line from 1.
pub(crate) const WHY: &str = "caulk.why";
/// The command that gives the report of the last analysis as JSON.
pub(crate) const REPORT: &str = "caulk.report";

/// Actions for the diagnostics of ours that the editor names.
pub(crate) fn actions(engine: &dyn Engine, asked: &CodeActionParams) -> Vec<CodeAction> {
    let findings = engine.findings();
    let mut actions = Vec::new();
    for diagnostic in asked.context.diagnostics.iter().filter(|d| d.source.as_deref() == Some(SOURCE)) {
        let fingerprint = diagnostic.data.as_ref().and_then(|data| data["fingerprint"].as_str());
        let Some(finding) = findings.iter().find(|f| Some(f.fingerprint.as_str()) == fingerprint) else { continue };
        let own = |title: String, kind: Option<CodeActionKind>| CodeAction {
            title,
            kind,
            diagnostics: Some(vec![diagnostic.clone()]),
            ..CodeAction::default()
        };
        if let Some(title) = engine.proposed(&finding.fingerprint) {
            actions.push(CodeAction {
                data: Some(json!({ "fingerprint": finding.fingerprint, "uri": asked.text_document.uri })),
                is_preferred: Some(true),
                ..own(format!("Fix, after a check: {title}"), Some(CodeActionKind::QUICKFIX))
            });
        }
        if let Some(edit) = suppression(engine, finding, &asked.text_document.uri) {
            let title = format!("Suppress this `{}` finding with a reason", finding.kind.rule());
            actions.push(CodeAction { edit: Some(edit), ..own(title, Some(CodeActionKind::QUICKFIX)) });
        }
        let title = format!("Explain the rule `{}`", finding.kind.rule());
        let arguments = Some(vec![Value::from(finding.kind.rule())]);
        let command = Command { title: title.clone(), command: EXPLAIN.to_owned(), arguments };
        actions.push(CodeAction { command: Some(command), ..own(title, None) });
        let site = &finding.allocation.site;
        if let Some(allocated) = engine.root().and_then(|root| place::uri(&root.join(&site.file))) {
            let title = format!("Why: the paths of the memory of line {}", site.line);
            let arguments = Some(vec![json!(allocated), json!(site.line)]);
            let command = Command { title: title.clone(), command: WHY.to_owned(), arguments };
            actions.push(CodeAction { command: Some(command), ..own(title, None) });
        }
    }
    actions
}

/// A comment above the line of the loss.
fn suppression(engine: &dyn Engine, finding: &Finding, uri: &Uri) -> Option<WorkspaceEdit> {
    let file = engine.source(&finding.loss.file)?;
    let line = file.line(finding.loss.line)?;
    let blanks: String = line.iter().take_while(|b| matches!(b, b' ' | b'\t')).map(|b| char::from(*b)).collect();
    let at = Position { line: finding.loss.line.saturating_sub(1), character: 0 };
    let text = format!("{blanks}// caulk: ignore {} \"REASON\"\n", finding.kind.rule());
    Some(workspace_edit([(uri.clone(), TextEdit { range: Range { start: at, end: at }, new_text: text })]))
}

/// A checked fix as an edit; None if a file cannot be named.
pub(crate) fn edit(engine: &dyn Engine, replacements: &[Replacement]) -> Option<WorkspaceEdit> {
    let root = engine.root()?;
    let one = |replacement: &Replacement| {
        let file = engine.source(&replacement.file)?;
        let [start, end] = [replacement.start, replacement.end].map(|offset| place::position(&file, offset));
        let edit = TextEdit { range: Range { start, end }, new_text: replacement.text.clone() };
        Some((place::uri(&root.join(&replacement.file))?, edit))
    };
    let edits: Option<Vec<(Uri, TextEdit)>> = replacements.iter().map(one).collect();
    edits.map(workspace_edit)
}

#[expect(clippy::mutable_key_type, reason = "the protocol's type; a URI is never changed here")]
fn workspace_edit(edits: impl IntoIterator<Item = (Uri, TextEdit)>) -> WorkspaceEdit {
    let mut changes: HashMap<Uri, Vec<TextEdit>> = HashMap::new();
    for (uri, edit) in edits {
        changes.entry(uri).or_default().push(edit);
    }
    WorkspaceEdit { changes: Some(changes), ..WorkspaceEdit::default() }
}
