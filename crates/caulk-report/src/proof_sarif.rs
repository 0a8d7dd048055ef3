//! Proofs as SARIF 2.1.0: one rule, and a result for each function that keeps it and each probe that may not.
//!
//! A probe that may leak is a result with the way back as its code flow. What could not be answered is `open`, a function
//! outside of the provable language `notApplicable`, a proved one a `pass`; none of these is an alert to a code scanning service.

use serde_json::{Value, json};

use crate::finding::Site;
use crate::overview::count;
use crate::proof::{Proof, ProofTrace, ProofVerdict, ProvedFunction};
use crate::sarif_parts;
use crate::source::Sources;

const RULE: &str = "may-leak";

pub fn render(proof: &Proof, assumptions: &str, sources: &Sources) -> String {
    let results = proof.functions.iter().flat_map(|f| of_function(f, sources)).collect();
    let lost = proof.units_not_read.iter().map(|u| format!("{} was not read: {}", u.source, u.reason));
    let notes = lost.map(|text| json!({ "level": "warning", "message": { "text": text } })).collect();
    let mut run = sarif_parts::run(&proof.root, &[rule()], notes, results);
    run["properties"] = json!({
        "assumptions": assumptions,
        "functions": proof.count_functions(),
        "probes": proof.count_probes(),
    });
    sarif_parts::document(run)
}

fn rule() -> Value {
    json!({
        "id": RULE,
        "name": "MayLeak",
        "shortDescription": { "text": "The last reference to a block may be lost" },
        "fullDescription": { "text": "Some way back from here is not contradicted, on which the reference that goes is the \
            last one to its block. A function is proved if there is no such way, whatever it is called with." },
        "help": {
            "text": "See docs/prove.md for what a proof rests on.",
            "markdown": include_str!("../../../docs/prove.md"),
        },
        "defaultConfiguration": { "level": "warning" },
        "properties": { "tags": ["memory", "leak", "external/cwe/cwe-401"], "precision": "low", "problem.severity": "warning" },
    })
}

fn of_function(function: &ProvedFunction, sources: &Sources) -> Vec<Value> {
    let whole = |kind: &str, text: String| {
        vec![result(kind, text, sarif_parts::location(sources, &function.site(), None), function)]
    };
    match function.verdict {
        ProofVerdict::Proved => {
            let probes = count(function.probes, "probe", "probes");
            whole("pass", format!("{} loses no memory ({probes} proved).", function.name))
        }
        ProofVerdict::Outside => {
            let why = function.traces.first().map_or("", |t| t.because.as_str());
            whole("notApplicable", format!("Nothing is proved of {}: it {why}.", function.name))
        }
        ProofVerdict::MayLeak | ProofVerdict::Abandoned => {
            function.traces.iter().map(|trace| of_trace(function, trace, sources)).collect()
        }
    }
}

fn of_trace(function: &ProvedFunction, trace: &ProofTrace, sources: &Sources) -> Value {
    let site = trace.site(&function.name);
    let location = sarif_parts::location(sources, &site, None);
    if trace.outcome != ProofVerdict::MayLeak {
        let text =
            format!("{}; not decided whether it is the last reference: {}.", capital(&trace.message), trace.because);
        return result("open", text, location, function);
    }
    let text = format!("{}; it may be the last reference to {}.", capital(&trace.message), trace.because);
    let mut value = result("fail", text, location, function);
    value["codeFlows"] = json!([{ "threadFlows": [{ "locations": flow(trace, &site, sources) }] }]);
    value["properties"]["transfers"] = json!(trace.transfers);
    value
}

fn capital(text: &str) -> String {
    let mut chars = text.chars();
    chars.next().map_or_else(String::new, |first| first.to_uppercase().chain(chars).collect())
}

fn result(kind: &str, text: String, location: Value, function: &ProvedFunction) -> Value {
    json!({
        "ruleId": RULE,
        "ruleIndex": 0,
        "kind": kind,
        "level": if kind == "fail" { "warning" } else { "none" },
        "message": { "text": text },
        "locations": [location],
        "properties": { "function": function.name, "verdict": function.verdict },
    })
}

/// The way from where the block comes from to where it may be lost. Steps between are told by their lines.
fn flow(trace: &ProofTrace, loss: &Site, sources: &Sources) -> Vec<Value> {
    let step = |site: &Site, kinds: &[&str], importance: &str, text: &str| {
        let location = sarif_parts::location(sources, site, Some(text));
        json!({ "kinds": kinds, "importance": importance, "location": location })
    };
    let from = trace.steps.first().map(|site| step(site, &["acquire", "memory"], "essential", &trace.because));
    let between = trace.steps.iter().skip(1).map(|site| step(site, &["value"], "important", &words(site, sources)));
    let to = step(loss, &["exit", "memory"], "essential", &trace.message);
    from.into_iter().chain(between).chain([to]).collect()
}

fn words(site: &Site, sources: &Sources) -> String {
    let source = sources.get(&site.file);
    let line = source.as_ref().and_then(|s| s.line(site.line)).map(String::from_utf8_lossy);
    let words = line.map(|l| l.trim().to_owned()).filter(|l| !l.is_empty());
    words.unwrap_or_else(|| format!("line {}", site.line))
}
