//! The report as SARIF 2.1.0, for code scanning services and editors.

use std::collections::BTreeSet;
use std::path::Path;

use serde_json::{Value, json};

use crate::baseline::Known;
use crate::finding::{BaselineState, Call, Confidence, Finding, Site, Step, StepKind};
use crate::fingerprint;
use crate::git;
use crate::report::Report;
use crate::rules::{self, Rule};
use crate::source::Sources;
use crate::suppress::{Suppression, SuppressionSource};

const SCHEMA: &str = "https://json.schemastore.org/sarif-2.1.0.json";
/// The name of the folder that relative paths start from.
const ROOT: &str = "SRCROOT";

pub fn render(report: &Report, sources: &Sources) -> String {
    let run = Writer { report, sources }.run();
    let document = json!({ "$schema": SCHEMA, "version": "2.1.0", "runs": [run] });
    let mut text = serde_json::to_string_pretty(&document).expect("strings and numbers always serialise");
    text.push('\n');
    text
}

struct Writer<'a> {
    report: &'a Report,
    sources: &'a Sources,
}

impl Writer<'_> {
    fn run(&self) -> Value {
        let report = self.report;
        let fixed = report.fixed.iter().map(absent);
        let mut run = json!({
            "tool": { "driver": {
                "name": "caulk",
                "version": env!("CARGO_PKG_VERSION"),
                "semanticVersion": env!("CARGO_PKG_VERSION"),
                "rules": rules::ALL.map(rule),
            }},
            "columnKind": "utf16CodeUnits",
            "originalUriBaseIds": { ROOT: { "uri": folder_uri(&report.root) } },
            "artifacts": artifacts(report),
            "invocations": [{
                "executionSuccessful": true,
                "toolExecutionNotifications": notifications(report),
            }],
            "results": report.findings.iter().map(|f| self.result(f)).chain(fixed).collect::<Vec<_>>(),
        });
        if let Some(version) = git::version(Path::new(&report.root)) {
            run["versionControlProvenance"] = json!([provenance(&version)]);
        }
        run
    }

    fn result(&self, finding: &Finding) -> Value {
        let steps: Vec<Value> = finding.steps.iter().map(|s| self.step(s)).collect();
        let mut result = json!({
            "ruleId": finding.kind.rule(),
            "ruleIndex": rules::ALL.iter().position(|r| r.id == finding.kind.rule()),
            "level": if finding.confidence == Confidence::Low { "note" } else { "warning" },
            "message": { "text": finding.message() },
            "locations": [self.location(&finding.loss, None)],
            "relatedLocations": self.related(finding),
            "codeFlows": [{ "threadFlows": [{ "locations": steps }] }],
            "partialFingerprints": fingerprints(&finding.fingerprint),
            "properties": {
                "kind": finding.kind.rule(),
                "leakFunction": finding.loss.function,
                "allocFunction": finding.allocation.site.function,
                "variable": finding.variable,
                "family": finding.family,
                "confidence": finding.confidence.to_string(),
                "needsAllocFailure": finding.needs_alloc_failure,
            },
        });
        if let Some(state) = finding.baseline {
            result["baselineState"] = json!(if state == BaselineState::New { "new" } else { "unchanged" });
        }
        if let Some(suppression) = &finding.suppression {
            result["suppressions"] = json!([suppressed(suppression)]);
        }
        result
    }

    /// The allocation first, then each call on the way down, then the further places of loss, marked as such.
    fn related(&self, finding: &Finding) -> Vec<Value> {
        let made = format!("{} is allocated here, by {}", finding.subject(), finding.allocation.callee);
        let mut all = vec![self.location(&finding.allocation.site, Some(&made))];
        for Call { site, callee } in &finding.chain {
            all.push(self.location(site, Some(&format!("{} calls {callee}", site.function))));
        }
        for other in &finding.also_lost_at {
            let text = format!("{} is leaked here too: {}", finding.subject(), other.reason);
            let mut value = self.location(&other.site, Some(&text));
            value["properties"] = json!({ "alsoLost": true });
            all.push(value);
        }
        for (id, value) in all.iter_mut().enumerate() {
            value["id"] = json!(id);
        }
        all
    }

    fn step(&self, step: &Step) -> Value {
        let (kinds, importance) = kinds(step.kind);
        json!({ "kinds": kinds, "importance": importance, "location": self.location(&step.site, Some(&step.text)) })
    }

    fn location(&self, site: &Site, message: Option<&str>) -> Value {
        let mut physical = json!({ "artifactLocation": artifact(&site.file) });
        if site.line > 0 {
            physical["region"] = json!({ "startLine": site.line });
        }
        if site.line > 0 && site.column > 0 {
            physical["region"]["startColumn"] = json!(self.column(site));
        }
        let mut value = json!({ "physicalLocation": physical });
        if !site.function.is_empty() {
            value["logicalLocations"] = json!([{ "fullyQualifiedName": site.function, "kind": "function" }]);
        }
        if let Some(text) = message {
            value["message"] = json!({ "text": text });
        }
        value
    }

    /// Compilers count columns in bytes, SARIF in code units of UTF-16.
    fn column(&self, site: &Site) -> usize {
        let bytes = site.column as usize;
        let source = self.sources.get(&site.file);
        let line = source.as_ref().and_then(|s| s.line(site.line));
        match line.and_then(|l| l.get(..bytes - 1)) {
            Some(before) => String::from_utf8_lossy(before).encode_utf16().count() + 1,
            None => bytes,
        }
    }
}

fn fingerprints(fingerprint: &str) -> Value {
    json!({ format!("caulkLeak/v{}", fingerprint::VERSION): fingerprint })
}

fn suppressed(suppression: &Suppression) -> Value {
    let kind = match suppression.source {
        SuppressionSource::Comment => "inSource",
        SuppressionSource::Configuration => "external",
    };
    let mut value = json!({ "kind": kind, "status": "accepted" });
    if let Some(reason) = &suppression.reason {
        value["justification"] = json!(reason);
    }
    value
}

/// A known finding that is found no more.
fn absent(known: &Known) -> Value {
    json!({
        "ruleId": known.rule,
        "level": "none",
        "kind": "pass",
        "baselineState": "absent",
        "message": { "text": format!("The leak of `{}` in {} is fixed.", known.variable, known.function) },
        "locations": [{ "physicalLocation": { "artifactLocation": artifact(&known.file) } }],
        "partialFingerprints": fingerprints(&known.fingerprint),
    })
}

fn rule(rule: &Rule) -> Value {
    json!({
        "id": rule.id,
        "name": rule.name,
        "shortDescription": { "text": rule.short },
        "fullDescription": { "text": rule.full },
        "help": { "text": rule.full, "markdown": rule.page },
        "defaultConfiguration": { "level": "warning" },
        "properties": {
            "tags": ["memory", "leak", "external/cwe/cwe-401"],
            "precision": "high",
            "problem.severity": "warning",
        },
    })
}

fn provenance(version: &git::Version) -> Value {
    let mut details = json!({
        "repositoryUri": version.repository,
        "revisionId": version.revision,
        "mappedTo": { "uriBaseId": ROOT },
    });
    if let Some(branch) = &version.branch {
        details["branch"] = json!(branch);
    }
    details
}

/// What was not read, sources that changed, and suppressions that are of no use.
fn notifications(report: &Report) -> Vec<Value> {
    let lost = report.units_not_read.iter().map(|unit| format!("{} was not read: {}", unit.source, unit.reason));
    let useless = report.complaints.iter().map(|complaint| format!("{}: {}", complaint.place, complaint.text));
    let changed =
        report.files_changed.iter().map(|file| format!("{file} is gone, or has changed since it was compiled"));
    lost.chain(changed).chain(useless).map(|text| json!({ "level": "warning", "message": { "text": text } })).collect()
}

fn artifacts(report: &Report) -> Vec<Value> {
    let files: BTreeSet<&str> = report.findings.iter().flat_map(Finding::places).map(|p| p.file.as_str()).collect();
    files.into_iter().map(|file| json!({ "location": artifact(file) })).collect()
}

/// SARIF's words for a step, and how much it matters.
fn kinds(kind: StepKind) -> (Vec<&'static str>, &'static str) {
    match kind {
        StepKind::Allocated => (vec!["acquire", "memory"], "essential"),
        StepKind::Leaked => (vec!["exit", "memory"], "essential"),
        StepKind::Branch | StepKind::LoopEntered | StepKind::LoopLeft | StepKind::Case => (vec!["branch"], "important"),
        StepKind::NotTaken | StepKind::Call => (vec!["call"], "important"),
        StepKind::Returned => (vec!["return"], "unimportant"),
        StepKind::Stored | StepKind::Overwritten => (vec!["value", "memory"], "important"),
        StepKind::FreedWithHolder => (vec!["release", "memory"], "important"),
        StepKind::OutOfScope => (vec!["scope"], "important"),
    }
}

fn artifact(file: &str) -> Value {
    if file.starts_with('/') {
        json!({ "uri": format!("file://{}", uri_path(file)) })
    } else {
        json!({ "uri": uri_path(file), "uriBaseId": ROOT })
    }
}

fn folder_uri(folder: &str) -> String {
    let slash = if folder.ends_with('/') { "" } else { "/" };
    format!("file://{}{slash}", uri_path(folder))
}

/// Percent-encodes what may not stand in the path of a URI.
fn uri_path(path: &str) -> String {
    let mut uri = String::with_capacity(path.len());
    for byte in path.bytes() {
        match byte {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'/' | b'-' | b'.' | b'_' | b'~' | b'+' | b'@' | b',' | b'=' => {
                uri.push(byte as char);
            }
            _ => uri.push_str(&format!("%{byte:02X}")),
        }
    }
    uri
}

#[cfg(test)]
mod tests {
    #[test]
    fn odd_file_names() {
        assert_eq!(super::uri_path("a b/<img>.c"), "a%20b/%3Cimg%3E.c");
        assert_eq!(super::folder_uri("/p/x"), "file:///p/x/");
    }
}
