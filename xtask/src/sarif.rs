//! Reads the places of results out of a SARIF 2.1.0 file, whichever tool wrote it.

use std::path::Path;

use anyhow::{Context, Result};
use serde_json::Value;

/// A line of a file. The file is what stands in the report, without a scheme.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Place {
    pub file: String,
    pub line: u32,
}

/// One result: where the tool says the leak is, and what else it points at.
#[derive(Clone, Debug, Default)]
pub(crate) struct Finding {
    /// `locations`: where the memory is lost, but those that are in `also`.
    pub main: Vec<Place>,
    /// `relatedLocations`: the allocation first, then the calls on the way to it.
    pub related: Vec<Place>,
    /// Related places that Caulk marks as further ones where the same memory is lost.
    pub also: Vec<Place>,
    /// The places of all code flows, in order.
    pub flow: Vec<Place>,
    /// What Caulk calls the finding, where Caulk wrote the report.
    pub fingerprint: Option<String>,
    /// What held the memory last, likewise.
    pub variable: Option<String>,
    pub message: String,
}

pub(crate) fn read(path: &Path) -> Result<Vec<Finding>> {
    let text = std::fs::read_to_string(path).with_context(|| format!("cannot read {}", path.display()))?;
    parse(&text).with_context(|| format!("{} is no SARIF file", path.display()))
}

/// The results of all runs, but those that are suppressed or no failures.
pub(crate) fn parse(text: &str) -> Result<Vec<Finding>> {
    let report: Value = serde_json::from_str(text.trim_start_matches('\u{feff}'))?;
    let runs = report["runs"].as_array().context("there are no runs")?;
    Ok(runs.iter().flat_map(|run| list(&run["results"])).filter(|r| counts(r)).map(finding).collect())
}

fn counts(result: &Value) -> bool {
    let kind = result["kind"].as_str().unwrap_or("fail");
    let is_suppressed = list(&result["suppressions"]).any(|s| s["status"].as_str().unwrap_or("accepted") == "accepted");
    kind == "fail" && result["level"] != "none" && !is_suppressed
}

fn finding(result: &Value) -> Finding {
    let flows = list(&result["codeFlows"]).flat_map(|flow| list(&flow["threadFlows"]));
    let steps = flows.flat_map(|thread| list(&thread["locations"])).map(|step| &step["location"]);
    let (also, related): (Vec<&Value>, Vec<&Value>) =
        list(&result["relatedLocations"]).partition(|location| location["properties"]["alsoLost"] == true);
    let also: Vec<Place> = also.into_iter().filter_map(place).collect();
    let mut main: Vec<Place> = list(&result["locations"]).filter_map(place).collect();
    let mut is_first = true;
    main.retain(|place| std::mem::take(&mut is_first) || !also.contains(place));
    Finding {
        main,
        related: related.into_iter().filter_map(place).collect(),
        also,
        flow: steps.filter_map(place).collect(),
        fingerprint: fingerprint(&result["partialFingerprints"]),
        variable: result["properties"]["variable"].as_str().map(str::to_owned),
        message: result["message"]["text"].as_str().unwrap_or_default().to_owned(),
    }
}

/// The name ends in the version of the way it is made.
fn fingerprint(all: &Value) -> Option<String> {
    let ours = all.as_object()?.iter().find(|(name, _)| name.starts_with("caulkLeak/"))?;
    ours.1.as_str().map(str::to_owned)
}

fn list(value: &Value) -> impl Iterator<Item = &Value> {
    value.as_array().into_iter().flatten()
}

fn place(location: &Value) -> Option<Place> {
    let physical = &location["physicalLocation"];
    let uri = physical["artifactLocation"]["uri"].as_str()?;
    let file = uri.split_once("://").map_or(uri, |(_, path)| path).to_owned();
    let line = physical["region"]["startLine"].as_u64().and_then(|n| u32::try_from(n).ok()).unwrap_or(0);
    Some(Place { file, line })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_are_read_and_what_is_no_finding_is_left_out() {
        let at = |file: &str, line: u32| {
            format!(
                r#"{{"physicalLocation":{{"artifactLocation":{{"uri":"{file}"}},"region":{{"startLine":{line}}}}}}}"#
            )
        };
        let (a, b, c) = (at("file:///src/a.c", 3), at("b.c", 4), at("c.c", 5));
        let also = c.replacen('{', r#"{"properties":{"alsoLost":true},"#, 1);
        let flow = format!(r#"[{{"threadFlows":[{{"locations":[{{"location":{c}}}]}}]}}]"#);
        let text = format!(
            r#"{{"runs":[{{"results":[
                {{"locations":[{a},{c}],"relatedLocations":[{b},{also}],"codeFlows":{flow},"message":{{"text":"lost"}},
                  "partialFingerprints":{{"caulkLeak/v1":"0a"}},"properties":{{"variable":"p"}}}},
                {{"locations":[{a}],"kind":"pass"}},
                {{"locations":[{a}],"suppressions":[{{"kind":"inSource"}}]}}]}}]}}"#
        );
        let found = parse(&text).expect("it is SARIF");
        let [one] = found.as_slice() else { panic!("{found:?}") };
        assert_eq!(one.main, [Place { file: "/src/a.c".into(), line: 3 }]);
        assert_eq!(one.related, [Place { file: "b.c".into(), line: 4 }]);
        assert_eq!(one.also, [Place { file: "c.c".into(), line: 5 }]);
        assert_eq!(one.flow, [Place { file: "c.c".into(), line: 5 }]);
        assert_eq!((one.fingerprint.as_deref(), one.variable.as_deref()), (Some("0a"), Some("p")));
        assert_eq!(one.message, "lost");
        assert!(parse("[]").is_err());
    }
}
