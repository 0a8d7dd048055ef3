//! Licences and sources of all dependencies, by `cargo metadata` alone: the part of `make deny` that needs neither network nor
//! cargo-deny. The lists are those of `deny.toml`.

use std::collections::BTreeMap;
use std::path::Path;
use std::process::Command;

use serde::Deserialize;
use spdx::{Expression, ParseMode};

#[derive(Deserialize)]
struct Deny {
    licenses: Licences,
}

#[derive(Deserialize)]
struct Licences {
    allow: Vec<String>,
    #[serde(default)]
    exceptions: Vec<Exception>,
}

/// A crate that may have other licences.
#[derive(Deserialize)]
struct Exception {
    #[serde(rename = "name", alias = "crate")]
    package: String,
    allow: Vec<String>,
}

#[derive(Deserialize)]
struct Metadata {
    packages: Vec<Package>,
}

#[derive(Deserialize)]
struct Package {
    name: String,
    license: Option<String>,
    /// None for those of this repository.
    source: Option<String>,
}

fn root() -> &'static Path {
    Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/.."))
}

fn deny() -> Licences {
    let text = std::fs::read_to_string(root().join("deny.toml")).expect("it is in the repository");
    toml::from_str::<Deny>(&text).expect("it is TOML with a list of licences").licenses
}

fn output(command: &mut Command) -> String {
    let output = command.current_dir(root()).output().expect("it can be run");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).expect("text")
}

/// The packages for this machine: those for others need not have been downloaded.
fn packages() -> Vec<Package> {
    let rustc = std::env::var_os("RUSTC").unwrap_or_else(|| "rustc".into());
    let version = output(Command::new(rustc).arg("-vV"));
    let host = version.lines().find_map(|line| line.strip_prefix("host: ")).expect("rustc says what it runs on");
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let mut metadata = Command::new(cargo);
    metadata.args(["metadata", "--offline", "--locked", "--format-version", "1", "--filter-platform", host]);
    serde_json::from_str::<Metadata>(&output(&mut metadata)).expect("the format is stable").packages
}

/// Whether the licences that are allowed are enough for an expression.
fn suffices(expression: &str, allowed: &[String]) -> bool {
    let Ok(expression) = Expression::parse_mode(expression, ParseMode::LAX) else { return false };
    expression.evaluate(|requirement| allowed.iter().any(|licence| *licence == requirement.to_string()))
}

#[test]
fn licences_are_among_those_allowed() {
    let licences = deny();
    let exceptions: BTreeMap<&str, &[String]> =
        licences.exceptions.iter().map(|e| (e.package.as_str(), e.allow.as_slice())).collect();
    let packages = packages();
    assert!(packages.len() > 50, "only {} packages", packages.len());
    let is_wrong = |package: &&Package| match (&package.license, exceptions.get(package.name.as_str())) {
        (Some(expression), None) => !suffices(expression, &licences.allow),
        (Some(expression), Some(own)) => !suffices(expression, own),
        // One that has its licence in a file only must be named.
        (None, own) => own.is_none(),
    };
    let wrong: Vec<String> = packages.iter().filter(is_wrong).map(|p| format!("{}: {:?}", p.name, p.license)).collect();
    assert!(wrong.is_empty(), "not allowed by deny.toml: {wrong:#?}");
}

#[test]
fn sources_are_registries() {
    let is_foreign =
        |package: &&Package| package.source.as_ref().is_some_and(|source| !source.starts_with("registry+"));
    let foreign: Vec<String> =
        packages().iter().filter(is_foreign).map(|p| format!("{}: {:?}", p.name, p.source)).collect();
    assert!(foreign.is_empty(), "not from a registry: {foreign:#?}");
}

/// The test can fail.
#[test]
fn other_licences_are_not_enough() {
    let allowed = deny().allow;
    for expression in ["MIT", "GPL-3.0-only OR MIT", "MIT/Apache-2.0", "(MIT OR Apache-2.0) AND Unicode-3.0"] {
        assert!(suffices(expression, &allowed), "{expression}");
    }
    for expression in ["GPL-3.0-only", "MIT AND GPL-3.0-only", "AGPL-3.0-or-later", "Proprietary", ""] {
        assert!(!suffices(expression, &allowed), "{expression}");
    }
}
