//! How many functions are generated and how large they get, and which of their features Caulk is known to get wrong.

use crate::shape::{Feature, Function};

#[derive(Clone, Debug)]
pub(crate) struct Config {
    /// How many functions are tried.
    pub functions: usize,
    /// So many go into one translation unit: starting clang costs more than compiling them.
    pub functions_per_unit: usize,
    /// Statements in one block, at most.
    pub max_statements: usize,
    /// Blocks within blocks, at most.
    pub max_depth: u32,
    pub seed: u64,
    /// How many wrong answers a failure shows.
    pub shown: usize,
    /// Features that give wrong answers together, and what is wrong. A wrong answer on a function that has them all fails no
    /// test, but is counted.
    pub weaknesses: &'static [(&'static [Feature], &'static str)],
}

/// What Caulk is known to get wrong today.
const WEAKNESSES: &[(&[Feature], &str)] = &[(
    &[Feature::HasPointer, Feature::Status, Feature::Told, Feature::Again],
    "an out-parameter overwrites a variable behind several calls that might have taken what it held, and the variable is \
     tested later: one in three thousand functions leaks unseen",
)];

impl Config {
    pub(crate) fn from_environment() -> Self {
        Self {
            functions: number("CAULK_GENERATED").unwrap_or(300) as usize,
            functions_per_unit: 150,
            max_statements: 4,
            max_depth: 2,
            seed: number("CAULK_GENERATED_SEED").unwrap_or(0),
            shown: 5,
            weaknesses: WEAKNESSES,
        }
    }

    pub(crate) fn known_weakness(&self, function: &Function) -> Option<&'static str> {
        let used = function.features();
        let has_all = |features: &[Feature]| features.iter().all(|f| used.contains(f));
        self.weaknesses.iter().find(|(features, _)| has_all(features)).map(|(_, why)| *why)
    }
}

fn number(variable: &str) -> Option<u64> {
    std::env::var(variable).ok()?.parse().ok()
}
