//! Drives every parser and decoder of Caulk with damaged input. Not part of the program.
//!
//! A target is a plain function of bytes that must come back, whatever it is given: an input that is refused is fine, a
//! panic is not. The same functions are run by libFuzzer (`fuzz/`) and by the runner in here, which needs no special
//! compiler: it damages the inputs of the other tests, by a fixed seed, so that a bounded run is an ordinary test.

#![allow(clippy::print_stdout, clippy::print_stderr)]

mod analysis;
mod mutate;
mod run;
mod seeds;
mod targets;

pub use mutate::{Mutator, Random};
pub use run::{Limit, Summary, run};

/// Something that takes any bytes.
#[derive(Clone, Copy)]
pub struct Target {
    pub name: &'static str,
    /// Must return for all bytes.
    pub drive: fn(&[u8]),
    /// Sound inputs to begin with.
    pub seeds: fn() -> Vec<Vec<u8>>,
    /// How many inputs the test tries: as many as take some seconds.
    pub smoke_inputs: usize,
}

/// All targets but the settings, which belong to the command: their target is a test of the crate `caulk`.
pub const TARGETS: &[Target] = &[
    Target { name: "ir_text", drive: targets::ir_text, seeds: seeds::ir_text, smoke_inputs: 3_000 },
    Target { name: "packed_unit", drive: targets::packed_unit, seeds: seeds::packed_unit, smoke_inputs: 20_000 },
    Target { name: "cache_entry", drive: targets::cache_entry, seeds: seeds::cache_entry, smoke_inputs: 20_000 },
    Target { name: "analysis", drive: analysis::analysis, seeds: seeds::analysis, smoke_inputs: 300 },
    Target { name: "models", drive: targets::models, seeds: seeds::models, smoke_inputs: 2_000 },
    Target { name: "baseline", drive: targets::baseline, seeds: seeds::baseline, smoke_inputs: 20_000 },
    Target { name: "suppressions", drive: targets::suppressions, seeds: seeds::sources, smoke_inputs: 20_000 },
    Target { name: "database", drive: targets::database, seeds: seeds::database, smoke_inputs: 10_000 },
    Target { name: "response_file", drive: targets::response_file, seeds: seeds::response_file, smoke_inputs: 20_000 },
    Target { name: "symbol", drive: targets::symbol, seeds: seeds::symbol, smoke_inputs: 20_000 },
];

/// The target of this name.
pub fn target(name: &str) -> Option<&'static Target> {
    TARGETS.iter().find(|target| target.name == name)
}

/// Drives the target of this name.
///
/// # Panics
/// When there is none.
pub fn drive(name: &str, input: &[u8]) {
    let target = target(name).unwrap_or_else(|| panic!("there is no target {name}"));
    (target.drive)(input);
}
