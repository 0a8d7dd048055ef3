//! Every bound of stage one, and what it lists, in one place.

use caulk_models::Resource;

use caulk_rules::Rules;

/// Bounds of stage one. Reaching one never loses a function: states are merged, and the run says how often.
#[derive(Clone, Debug)]
pub struct UseflowConfig {
    /// Alternatives of one object at one block, before those with equal status are merged. Eight keeps apart what two or
    /// three independent conditions do.
    pub max_alternatives: usize,
    /// Facts kept for one alternative; the oldest go first.
    pub max_facts: usize,
    /// How often a block is visited for one object before its state counts as stable.
    pub max_visits: u32,
    /// Blocks run in one function, over all its objects, before those still to come are followed coarsely: with
    /// `over_budget_alternatives` and `over_budget_visits` in place of the two above. Few functions come near it; the loop of an interpreter, where
    /// every object goes round through every instruction, would else cost as much as all the rest.
    pub max_block_runs: u32,
    pub over_budget_alternatives: usize,
    pub over_budget_visits: u32,
    /// Objects followed in one function: what calls make, and again as many that it was given. What is made beyond it is not
    /// followed; an argument beyond it counts as given to unknown code.
    pub max_objects: usize,
    /// Actions of one summary. Of an argument of which more would have to be said it says only that unknown code has it.
    pub max_actions: usize,
    /// Iterations over a component of the call graph; summaries that still change then count as cut, and say of arguments that are not
    /// freed or kept for certain only that unknown code has them.
    pub max_iterations: usize,
    /// Calls shown on the way to an allocation.
    pub max_chain: usize,
    /// Calls on the way to what surely allocates whose conditions nothing tells, for the block to count as one that may be there.
    pub max_opaque_chain: usize,
    /// Functions given by name are followed this many calls down to where they are called.
    pub max_callback_depth: usize,
    /// A call with more targets than this has the effects they share; what only some take counts as given to unknown code.
    pub max_targets: usize,
    /// Also list what `main` alone still holds when it returns ([`crate::Kind::AtExit`]).
    pub at_exit: bool,
    /// Resources that are listed though they are no memory of the heap.
    pub resources: &'static [Resource],
    /// Instructions of a callee whose paths stage two can distinguish where a summary cannot.
    pub max_question_size: u32,
    /// Which heuristics are used.
    pub rules: Rules,
}

impl Default for UseflowConfig {
    fn default() -> Self {
        Self {
            max_alternatives: 8,
            max_facts: 16,
            max_visits: 12,
            max_block_runs: 10_000,
            over_budget_alternatives: 2,
            over_budget_visits: 2,
            max_objects: 256,
            max_actions: 64,
            max_iterations: 8,
            max_chain: 8,
            max_opaque_chain: 7,
            max_callback_depth: 2,
            max_targets: 16,
            at_exit: false,
            resources: &[],
            max_question_size: 160,
            rules: Rules::default(),
        }
    }
}
