//! Counters: which layer answered how many questions.

use std::ops::AddAssign;

use serde::{Deserialize, Serialize};

/// What the layers did. Addable, so that every thread counts for itself.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct SolverStats {
    /// Conditions assumed.
    pub assumed: u64,
    /// Assumptions that followed from what was known and added nothing.
    pub implied: u64,
    /// Assumptions refuted because they are `false` or the plain opposite of an earlier one.
    pub apparent: u64,
    /// Assumptions refuted by intervals, bits, equalities and exclusions.
    pub domains: u64,
    /// Facts not kept because a path had too many.
    pub dropped: u64,
    /// Terms that grew too large and became opaque.
    pub opaque: u64,
    /// Whole-path questions.
    pub checks: u64,
    /// ... answered because the path was already contradictory.
    pub check_refuted: u64,
    /// ... answered by the example of an earlier question.
    pub check_reused: u64,
    /// ... answered by repairing an example.
    pub check_repaired: u64,
    /// ... answered from the memory of earlier Z3 answers.
    pub check_cached: u64,
    /// Questions put to Z3, by answer.
    pub z3_sat: u64,
    pub z3_unsat: u64,
    pub z3_unknown: u64,
}

impl SolverStats {
    pub fn reset(&mut self) {
        *self = SolverStats::default();
    }

    /// Questions put to Z3.
    pub fn z3(&self) -> u64 {
        self.z3_sat + self.z3_unsat + self.z3_unknown
    }
}

impl AddAssign for SolverStats {
    fn add_assign(&mut self, other: SolverStats) {
        self.assumed += other.assumed;
        self.implied += other.implied;
        self.apparent += other.apparent;
        self.domains += other.domains;
        self.dropped += other.dropped;
        self.opaque += other.opaque;
        self.checks += other.checks;
        self.check_refuted += other.check_refuted;
        self.check_reused += other.check_reused;
        self.check_repaired += other.check_repaired;
        self.check_cached += other.check_cached;
        self.z3_sat += other.z3_sat;
        self.z3_unsat += other.z3_unsat;
        self.z3_unknown += other.z3_unknown;
    }
}
