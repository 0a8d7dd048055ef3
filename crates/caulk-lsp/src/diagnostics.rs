//! Findings as diagnostics: the loss with the path to it as related information.

use std::collections::BTreeMap;
use std::path::Path;

use caulk_report::{Confidence, Finding, Site};
use lsp_types::{Diagnostic, DiagnosticRelatedInformation, DiagnosticSeverity, Location, NumberOrString, Range, Uri};
use serde_json::json;

use crate::Engine;
use crate::place;

pub(crate) const SOURCE: &str = "caulk";

/// By file, in the order of the findings.
pub(crate) fn diagnostics(engine: &dyn Engine) -> BTreeMap<String, (Uri, Vec<Diagnostic>)> {
    let mut files: BTreeMap<String, (Uri, Vec<Diagnostic>)> = BTreeMap::new();
    let Some(root) = engine.root() else { return files };
    for finding in engine.findings() {
        let Some(location) = location(engine, &root, &finding.loss) else { continue };
        let diagnostic = diagnostic(engine, &root, &finding, location.range);
        let entry = files.entry(location.uri.as_str().to_owned());
        entry.or_insert_with(|| (location.uri, Vec::new())).1.push(diagnostic);
    }
    files
}

fn diagnostic(engine: &dyn Engine, root: &Path, finding: &Finding, range: Range) -> Diagnostic {
    let related = finding.essential().filter_map(|step| {
        let location = location(engine, root, &step.site)?;
        Some(DiagnosticRelatedInformation { location, message: step.text.clone() })
    });
    Diagnostic {
        range,
        severity: Some(match finding.confidence {
            _ if finding.is_note() => DiagnosticSeverity::INFORMATION,
            Confidence::High | Confidence::Medium => DiagnosticSeverity::WARNING,
            Confidence::Low => DiagnosticSeverity::HINT,
        }),
        code: Some(NumberOrString::String(finding.kind.rule().to_owned())),
        source: Some(SOURCE.to_owned()),
        message: finding.message_with_advice(),
        related_information: Some(related.collect()),
        data: Some(json!({ "fingerprint": finding.fingerprint })),
        ..Diagnostic::default()
    }
}

fn location(engine: &dyn Engine, root: &Path, site: &Site) -> Option<Location> {
    let uri = place::uri(&root.join(&site.file))?;
    let source = engine.source(&site.file);
    Some(Location { uri, range: place::range(source.as_deref(), site.line, site.column) })
}
