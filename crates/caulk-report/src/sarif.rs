//! The report as SARIF 2.1.0, for code scanning services and editors.

use std::collections::BTreeSet;

use serde_json::{Map, Value, json};

use crate::finding::{Confidence, Finding, Kind, Site, Step, StepKind};
use crate::fingerprint;
use crate::report::Report;

const SCHEMA: &str = "https://json.schemastore.org/sarif-2.1.0.json";
/// The name of the folder that relative paths start from.
const ROOT: &str = "SRCROOT";

pub fn render(report: &Report) -> String {
    let document = json!({ "$schema": SCHEMA, "version": "2.1.0", "runs": [run(report)] });
    let mut text = serde_json::to_string_pretty(&document).expect("strings and numbers always serialise");
    text.push('\n');
    text
}

fn run(report: &Report) -> Value {
    let notifications: Vec<Value> = report.units_not_read.iter().map(notification).collect();
    json!({
        "tool": { "driver": {
            "name": "caulk",
            "version": env!("CARGO_PKG_VERSION"),
            "semanticVersion": env!("CARGO_PKG_VERSION"),
            "rules": Kind::ALL.map(rule),
        }},
        "columnKind": "utf16CodeUnits",
        "originalUriBaseIds": { ROOT: { "uri": folder_uri(&report.root) } },
        "artifacts": artifacts(report),
        "invocations": [{
            "executionSuccessful": true,
            "toolExecutionNotifications": notifications,
        }],
        "results": report.findings.iter().map(result).collect::<Vec<_>>(),
    })
}

fn rule(kind: Kind) -> Value {
    let (name, short, full) = match kind {
        Kind::Lost => (
            "LostMemory",
            "Memory leak: the last reference is lost",
            "The last pointer to allocated memory is overwritten, or freed with the structure that holds it, before the \
             memory is freed. Nothing can free it any more.",
        ),
        Kind::Forgotten => (
            "ForgottenMemory",
            "Memory leak: never freed on this path",
            "Allocated memory is still held by a local variable when that goes out of scope or its function returns. \
             Nothing has freed it, and nothing else keeps it.",
        ),
    };
    json!({
        "id": kind.rule(),
        "name": name,
        "shortDescription": { "text": short },
        "fullDescription": { "text": full },
        "help": { "text": format!("{full} Follow the path of the finding from the allocation to the place of loss.") },
        "defaultConfiguration": { "level": "warning" },
        "properties": { "tags": ["memory", "leak", "external/cwe/cwe-401"], "precision": "high" },
    })
}

fn notification(lost: &crate::report::LostUnit) -> Value {
    json!({ "level": "warning", "message": { "text": format!("{} was not read: {}", lost.source, lost.reason) } })
}

fn artifacts(report: &Report) -> Vec<Value> {
    let mut files: BTreeSet<&str> = BTreeSet::new();
    for finding in &report.findings {
        let calls = finding.chain.iter().chain([&finding.allocation]).map(|c| &c.site);
        let sites = calls.chain(finding.steps.iter().map(|s| &s.site)).chain([&finding.loss]);
        files.extend(sites.map(|site| site.file.as_str()));
    }
    files.into_iter().map(|file| json!({ "location": artifact(file) })).collect()
}

fn result(finding: &Finding) -> Value {
    json!({
        "ruleId": finding.kind.rule(),
        "ruleIndex": Kind::ALL.iter().position(|k| *k == finding.kind),
        "level": if finding.confidence == Confidence::Low { "note" } else { "warning" },
        "message": { "text": finding.message() },
        "locations": [location(&finding.loss, None)],
        "relatedLocations": related(finding),
        "codeFlows": [{ "threadFlows": [{
            "locations": finding.steps.iter().map(step).collect::<Vec<_>>(),
        }]}],
        "partialFingerprints": { format!("caulkLeak/v{}", fingerprint::VERSION): finding.fingerprint },
        "properties": {
            "kind": finding.kind.rule(),
            "leakFunction": finding.loss.function,
            "allocFunction": finding.allocation.site.function,
            "variable": finding.variable,
            "family": finding.family,
            "confidence": finding.confidence.to_string(),
            "needsAllocFailure": finding.needs_alloc_failure,
        },
    })
}

/// The allocation first, then each call on the way down.
fn related(finding: &Finding) -> Vec<Value> {
    let made = format!("{} is allocated here, by {}", finding.subject(), finding.allocation.callee);
    let below = finding.chain.iter().map(|c| (&c.site, format!("{} calls {}", c.site.function, c.callee)));
    let all = std::iter::once((&finding.allocation.site, made)).chain(below);
    let numbered = all.enumerate().map(|(id, (site, text))| {
        let mut value = location(site, Some(&text));
        value["id"] = json!(id);
        value
    });
    numbered.collect()
}

fn step(step: &Step) -> Value {
    let (kinds, importance) = match step.kind {
        StepKind::Allocated => (vec!["acquire", "memory"], "essential"),
        StepKind::Leaked => (vec!["exit", "memory"], "essential"),
        StepKind::Branch | StepKind::LoopEntered | StepKind::LoopLeft | StepKind::Case => (vec!["branch"], "important"),
        StepKind::NotTaken | StepKind::Call => (vec!["call"], "important"),
        StepKind::Returned => (vec!["return"], "unimportant"),
        StepKind::Stored | StepKind::Overwritten => (vec!["value", "memory"], "important"),
        StepKind::FreedWithHolder => (vec!["release", "memory"], "important"),
        StepKind::OutOfScope => (vec!["scope"], "important"),
    };
    json!({ "kinds": kinds, "importance": importance, "location": location(&step.site, Some(&step.text)) })
}

fn location(site: &Site, message: Option<&str>) -> Value {
    let mut physical = Map::new();
    physical.insert("artifactLocation".to_owned(), artifact(&site.file));
    if site.line > 0 {
        let mut region = json!({ "startLine": site.line });
        if site.column > 0 {
            region["startColumn"] = json!(site.column);
        }
        physical.insert("region".to_owned(), region);
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
