//! What every SARIF document of ours has: the frame of a run, places, and paths as URIs.

use std::path::Path;

use serde_json::{Value, json};

use crate::finding::{Kind, Site};
use crate::git;
use crate::rules;
use crate::source::Sources;

const SCHEMA: &str = "https://json.schemastore.org/sarif-2.1.0.json";
/// The name of the folder that relative paths start from.
const ROOT: &str = "SRCROOT";

pub(crate) fn document(run: Value) -> String {
    let document = json!({ "$schema": SCHEMA, "version": "2.1.0", "runs": [run] });
    let mut text = serde_json::to_string_pretty(&document).expect("strings and numbers always serialise");
    text.push('\n');
    text
}

/// A run over the sources below `root`.
pub(crate) fn run(root: &str, rules: &[Value], notifications: Vec<Value>, results: Vec<Value>) -> Value {
    let mut run = json!({
        "tool": { "driver": {
            "name": "caulk",
            "version": env!("CARGO_PKG_VERSION"),
            "semanticVersion": env!("CARGO_PKG_VERSION"),
            "informationUri": home(),
            "rules": rules,
        }},
        "columnKind": "utf16CodeUnits",
        "originalUriBaseIds": { ROOT: { "uri": folder_uri(root) } },
        "invocations": [{
            "executionSuccessful": true,
            "toolExecutionNotifications": notifications,
        }],
        "results": results,
    });
    if let Some(version) = git::version(Path::new(root)) {
        run["versionControlProvenance"] = json!([provenance(&version)]);
    }
    run
}

/// Where a build has a home, its packager says so in Cargo.toml; without one readers are told what is looked for.
fn home() -> String {
    match env!("CARGO_PKG_HOMEPAGE") {
        "" => rules::of(Kind::Lost).cwe_page(),
        home => home.to_owned(),
    }
}

/// A place in the source, with words about it.
pub(crate) fn location(sources: &Sources, site: &Site, message: Option<&str>) -> Value {
    let mut physical = json!({ "artifactLocation": artifact(&site.file) });
    if site.line > 0 {
        physical["region"] = json!({ "startLine": site.line });
    }
    if site.line > 0 && site.column > 0 {
        physical["region"]["startColumn"] = json!(column(sources, site));
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
fn column(sources: &Sources, site: &Site) -> usize {
    let bytes = site.column as usize;
    let source = sources.get(&site.file);
    let line = source.as_ref().and_then(|s| s.line(site.line));
    match line.and_then(|l| l.get(..bytes - 1)) {
        Some(before) => String::from_utf8_lossy(before).encode_utf16().count() + 1,
        None => bytes,
    }
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

pub(crate) fn artifact(file: &str) -> Value {
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
