//! Every bound of stage two, in one place.

use caulk_rules::Rules;
use caulk_solver::SolverConfig;

/// Budgets of stage two. All are counts, never times, and each is charged to one function: same input, same answer.
#[derive(Clone, Debug)]
pub struct ExploreConfig {
    /// Instructions executed for one object before states that differ are merged, again as many before loops are left at once, and
    /// again as many before the search ends.
    pub max_steps: usize,
    /// Instructions executed to find one path for a candidate that holds when it is merged with no other.
    pub max_replay_steps: usize,
    /// States kept apart at one block, before those that agree on the object are merged.
    pub max_states: usize,
    /// Iterations of a loop that are executed as they are, before an iteration with everything the loop writes unknown.
    pub concrete_iterations: u32,
    /// Instructions of a callee whose effects are worked out here; for larger ones stage one's summary has to do.
    pub max_callee_size: u32,
    /// Instructions executed to work out the effects of one callee.
    pub max_callee_steps: usize,
    /// Instructions of a callee that is executed for the constants it is given.
    pub max_special_size: u32,
    /// Instructions executed for that.
    pub max_special_steps: usize,
    /// States kept apart at one block of such a callee.
    pub max_special_states: usize,
    /// Sets of constants that callers give a function, each followed on its own.
    pub max_givens: usize,
    /// The longest chain of callees below one that is executed for another of its cycle.
    pub max_callee_depth: u32,
    /// Callees whose effects wait for each other's in a chain, in a cycle or not.
    pub max_waiting: u32,
    /// Parts of a guarded summary.
    pub max_effects: usize,
    /// Callees of a callee that were taken by their summaries, each named in the guarded summary.
    pub max_opaque: usize,
    /// Functions that one call may reach, for their guarded summaries to be used.
    pub max_targets: usize,
    /// Cells of memory in one state. What is written beyond is forgotten, the path counts as merged, and what it points to as held.
    pub max_cells: usize,
    /// Cells that a call looks through count as an instruction for each so many. A function with thousands of them would else take
    /// a thousand times longer for the same budget.
    pub cells_per_step: usize,
    /// Instructions executed to see what one function does wrong with freed memory.
    pub max_misuse_steps: usize,
    /// Whether witnesses say what their paths need of the function's inputs.
    pub wants_inputs: bool,
    pub solver: SolverConfig,
    /// Which heuristics are used.
    pub rules: Rules,
}

impl Default for ExploreConfig {
    fn default() -> Self {
        Self {
            max_steps: 6_000,
            max_replay_steps: 16_000,
            max_states: 8,
            concrete_iterations: 2,
            max_callee_size: 160,
            max_callee_steps: 2_000,
            max_special_size: 1_200,
            max_special_steps: 2_000,
            max_special_states: 48,
            max_givens: 4,
            max_callee_depth: 5,
            max_waiting: 32,
            max_effects: 8,
            max_opaque: 16,
            max_targets: 4,
            max_cells: 512,
            cells_per_step: 4096,
            max_misuse_steps: 40_000,
            wants_inputs: false,
            solver: SolverConfig::default(),
            rules: Rules::default(),
        }
    }
}
