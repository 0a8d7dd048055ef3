//! The whole command on inputs that were changed at random: databases, settings, models, baselines, entries of the cache,
//! bitcode as text and as bytes, sources. Whatever it reads, `caulk` ends by itself with an exit status from 0 to 3, within
//! its memory, starts nothing but clang, and writes nothing but the cache and the output.
//!
//! Seeds are fixed. `CAULK_MUTATIONS` says how many inputs of each kind are tried, `CAULK_MUTATION_SEED` where to start.

#![allow(clippy::print_stderr)]

#[path = "../project/mod.rs"]
mod project;

mod inputs;
mod mutate;
mod sandbox;

use std::collections::BTreeMap;

use inputs::{Input, Kind};
use mutate::{Random, mutate};
use sandbox::Sandbox;

/// Inputs of each kind in an ordinary run: some ten seconds a kind.
const DEFAULT_COUNT: u64 = 40;

fn number(variable: &str, default: u64) -> u64 {
    std::env::var(variable).map_or(default, |text| text.parse().expect("a number"))
}

/// Runs `caulk` on changed inputs of one kind.
fn try_all(kind: Kind) {
    let Some(sandbox) = Sandbox::new() else { return };
    let input = Input::new(kind, &sandbox);
    let first = number("CAULK_MUTATION_SEED", 0);
    let count = number("CAULK_MUTATIONS", DEFAULT_COUNT);
    let mut statuses: BTreeMap<i32, u64> = BTreeMap::new();
    for seed in first..first + count {
        match try_one(&sandbox, &input, seed) {
            Ok(status) => *statuses.entry(status).or_default() += 1,
            Err(reason) => {
                let folder = sandbox.keep();
                panic!("{kind:?}, seed {seed}: {reason}\nthe input is in {}", folder.join("project").display());
            }
        }
    }
    eprintln!("{kind:?}: {count} inputs, exit statuses {statuses:?}");
    // Were nothing ever accepted, the inputs would test the first check alone.
    assert!(count < DEFAULT_COUNT || statuses.keys().any(|status| *status != 2), "{kind:?}: every input was refused");
}

fn try_one(sandbox: &Sandbox, input: &Input, seed: u64) -> Result<i32, String> {
    let mut random = Random::new(seed ^ input.kind.salt());
    let changed = input.sealed(mutate(&mut random, &input.original, input.kind.words()));
    let mut files = input.files.clone();
    files.push((input.name.as_str(), &changed));
    sandbox.prepare(&files);
    input.place(sandbox, &changed);
    let command = input.command(random.pick(input.kind.commands()));
    let arguments: Vec<&str> = command.split(' ').collect();
    sandbox.run(&arguments, input.kind == Kind::Settings).map_err(|reason| format!("caulk {command}: {reason}"))
}

#[test]
fn databases() {
    try_all(Kind::Database);
}

#[test]
fn response_files() {
    try_all(Kind::Response);
}

#[test]
fn settings() {
    try_all(Kind::Settings);
}

#[test]
fn models() {
    try_all(Kind::Models);
}

#[test]
fn baselines() {
    try_all(Kind::Baseline);
}

#[test]
fn cache_entries() {
    try_all(Kind::CacheEntry);
}

#[test]
fn bitcode_as_text() {
    try_all(Kind::Text);
}

#[test]
fn bitcode() {
    try_all(Kind::Bitcode);
}

#[test]
fn sources_in_c() {
    try_all(Kind::C);
}

#[test]
fn sources_in_cxx() {
    try_all(Kind::Cxx);
}

#[test]
fn sources_without_end() {
    try_all(Kind::Endless);
}

/// What was not changed is read: else the test would test nothing.
#[test]
fn unchanged_inputs_are_read() {
    let Some(sandbox) = Sandbox::new() else { return };
    for kind in Kind::ALL {
        let input = Input::new(kind, &sandbox);
        for command in kind.commands() {
            let mut files = input.files.clone();
            files.push((input.name.as_str(), &input.original));
            sandbox.prepare(&files);
            input.place(&sandbox, &input.original);
            let command = input.command(command);
            let arguments: Vec<&str> = command.split(' ').collect();
            let status = sandbox.run(&arguments, kind == Kind::Settings);
            assert!(matches!(status, Ok(0 | 1)), "{kind:?}: caulk {command}: {status:?}");
        }
    }
}
