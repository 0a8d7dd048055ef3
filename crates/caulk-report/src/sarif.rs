//! The report as SARIF 2.1.0, for code scanning services and editors.

use std::collections::BTreeSet;

use serde_json::{Value, json};

use crate::baseline::Known;
use crate::finding::{BaselineState, Call, Confidence, Finding, Site, Step, StepKind};
use crate::fingerprint;
use crate::report::Report;
use crate::rules::{self, Rule};
use crate::sarif_fixes::{self, Fixes};
use crate::sarif_parts::{self, artifact};
use crate::source::Sources;
use crate::suppress::{Suppression, SuppressionSource};

/// `fixes`: those that are offered with the findings.
pub fn render(report: &Report, sources: &Sources, fixes: &Fixes) -> String {
    sarif_parts::document(Writer { report, sources, fixes }.run())
}

struct Writer<'a> {
    report: &'a Report,
    sources: &'a Sources,
    fixes: &'a Fixes,
}

impl Writer<'_> {
    fn run(&self) -> Value {
        let report = self.report;
        let fixed = report.fixed.iter().map(absent);
        let results = report.findings.iter().map(|f| self.result(f)).chain(fixed).collect();
        let mut run = sarif_parts::run(&report.root, &rules::ALL.map(rule), notifications(report), results);
        run["artifacts"] = json!(artifacts(report));
        run
    }

    fn result(&self, finding: &Finding) -> Value {
        let steps: Vec<Value> = finding.steps.iter().map(|s| self.step(s)).collect();
        let mut result = json!({
            "ruleId": finding.kind.rule(),
            "ruleIndex": rules::ALL.iter().position(|r| r.id == finding.kind.rule()),
            "level": level(finding),
            "rank": rank(finding.confidence),
            "message": { "text": finding.message_with_advice() },
            "locations": self.lost_at(finding),
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
                "confidenceReason": finding.confidence_reason,
                "advice": finding.advice,
                "needsAllocFailure": finding.needs_alloc_failure,
            },
        });
        if let Some(state) = finding.baseline {
            result["baselineState"] = json!(if state == BaselineState::New { "new" } else { "unchanged" });
        }
        if let Some(fix) = self.fixes.get(&finding.fingerprint) {
            result["fixes"] = json!([sarif_fixes::value(fix, self.sources)]);
        }
        if let Some(suppression) = &finding.suppression {
            result["suppressions"] = json!([suppressed(suppression)]);
        }
        result
    }

    /// The main place of loss first, which is the only one that some services read; then the others: a change is needed at each, which
    /// is what SARIF (3.27.12) wants of a result with several locations. Leaks of the same cause are not here, as one change fixes all.
    fn lost_at(&self, finding: &Finding) -> Vec<Value> {
        let mut sites = vec![&finding.loss];
        for other in &finding.also_lost_at {
            if !sites.contains(&&other.site) {
                sites.push(&other.site);
            }
        }
        sites.into_iter().map(|site| self.location(site, None)).collect()
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
        for other in &finding.same_cause {
            let what = other.variable.as_ref().map_or_else(|| finding.noun.clone(), |name| format!("`{name}`"));
            let made = format!("{what} is allocated here, by {}, and lost for the same cause", other.allocation.callee);
            all.push(self.location(&other.allocation.site, Some(&made)));
            let lost = format!("{what} is leaked here: {}", other.reason);
            let mut value = self.location(&other.loss, Some(&lost));
            value["properties"] = json!({ "alsoLost": true, "sameCause": other.fingerprint });
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
        sarif_parts::location(self.sources, site, message)
    }
}

fn level(finding: &Finding) -> &'static str {
    match finding.confidence {
        _ if finding.is_note() => "note",
        Confidence::High => "error",
        Confidence::Medium => "warning",
        Confidence::Low => "note",
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

/// How sure a finding is, from 0 to 100, as viewers sort by it.
fn rank(confidence: Confidence) -> u32 {
    match confidence {
        Confidence::High => 90,
        Confidence::Medium => 60,
        Confidence::Low => 20,
    }
}

fn rule(rule: &Rule) -> Value {
    json!({
        "id": rule.id,
        "name": rule.name,
        "shortDescription": { "text": rule.short },
        "fullDescription": { "text": rule.full },
        "help": { "text": rule.full, "markdown": rule.page },
        "helpUri": rule.cwe_page(),
        "defaultConfiguration": { "level": if rule.is_note() { "note" } else { "warning" } },
        "properties": {
            "tags": ["security", "memory", "leak", format!("external/cwe/{}", rule.cwe.to_lowercase())],
            "precision": "high",
            "problem.severity": if rule.is_note() { "recommendation" } else { "warning" },
            "security-severity": rule.severity,
        },
    })
}

/// What was not read, sources that changed, and suppressions that are of no use.
fn notifications(report: &Report) -> Vec<Value> {
    let lost = report.units_not_read.iter().map(|unit| format!("{} was not read: {}", unit.source, unit.reason));
    let useless = report
        .complaints
        .iter()
        .chain(&report.warnings)
        .map(|complaint| format!("{}: {}", complaint.place, complaint.text));
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
        StepKind::NotTaken => (vec!["call"], "important"),
        StepKind::Stored | StepKind::Overwritten => (vec!["value", "memory"], "important"),
        StepKind::FreedWithHolder => (vec!["release", "memory"], "important"),
        StepKind::OutOfScope => (vec!["scope"], "important"),
    }
}
