//! Every bound of this crate, in one place.

/// Budgets of terms, facts and solver. All are counts, never times: same input, same answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SolverConfig {
    /// Nodes of a term, counted as a tree. A larger one becomes an opaque symbol: conditions of that size are nearly always a
    /// hash or a parser at work, and no branch turns on them. It also bounds every recursion over a term. Default 400.
    pub max_term_size: u16,
    /// How deep a term is followed to find what is known about it from what is known of its parts. Default 8.
    pub max_eval_depth: u8,
    /// How many terms may learn something from one assumption. Default 128.
    pub max_propagations: u32,
    /// How many earlier facts are looked at again after one assumption. Default 32.
    pub max_rechecks: u32,
    /// How many terms a chain of comparisons may pass to decide another. Default 8.
    pub max_order_terms: usize,
    /// How many constants a path may exclude in all (`x != 1`, `x != 2`, the default of a switch). Default 256.
    pub max_excluded: usize,
    /// How many facts a path keeps. Later ones are dropped, which makes the path weaker, never wrong. Default 2048.
    pub max_literals: usize,
    /// How often an example is repaired before Z3 is asked. Default 24.
    pub max_repairs: u32,
    /// Resource units Z3 may use on one question. Default 400,000, some tens of milliseconds.
    pub z3_rlimit: u32,
    /// Questions one pool may put to Z3; further ones are unknown. Default 4,000.
    pub max_z3_queries: u32,
}

impl SolverConfig {
    /// Above this, recursion over a term could exhaust the stack of a worker thread.
    pub(crate) const LARGEST_TERM_SIZE: u16 = 4000;
}

impl Default for SolverConfig {
    fn default() -> Self {
        SolverConfig {
            max_term_size: 400,
            max_eval_depth: 8,
            max_propagations: 128,
            max_rechecks: 32,
            max_order_terms: 8,
            max_excluded: 256,
            max_literals: 2048,
            max_repairs: 24,
            z3_rlimit: 400_000,
            max_z3_queries: 4_000,
        }
    }
}
