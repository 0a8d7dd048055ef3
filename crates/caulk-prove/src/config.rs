//! Bounds and choices of the prover.

/// How far a probe is followed, and which rules are used. What a bound cuts is abandoned, never proved. All bounds are counts,
/// so that the same input has the same answer everywhere.
#[derive(Clone, Debug)]
pub struct ProveConfig {
    /// Transfer functions applied for one probe (the paper's cut-off is 500; ours counts single instructions).
    pub max_transfers: usize,
    /// Entries of facts (regions, values, expressions, truths) that one probe handles. A transfer costs what the fact is
    /// large, so a count of transfers alone bounds nothing.
    pub max_work: usize,
    /// Entries of facts handled for all probes of one function. Where there are so many probes that `max_work` for each
    /// would be more, each gets an equal share.
    pub max_function_work: usize,
    /// Entries of facts that one probe keeps or has waiting at a time: what bounds its memory.
    pub max_stored: usize,
    /// Probes of one function. A function with more is abandoned; those asked first are answered all the same.
    pub max_probes: usize,
    /// Words (64 bits) of a table that says for each block of a function which values are used later. A function that
    /// needs a larger one is not followed.
    pub max_table_words: usize,
    /// Blocks times variables of a function for which it is worked out how long variables hold values; for a
    /// larger one values are only held until their last use.
    pub max_scope_cells: usize,
    /// Iterations over the blocks of a function to find that out.
    pub max_scope_iterations: usize,
    /// Regions in one fact.
    pub max_regions: usize,
    /// Values in one fact that may refer to the cell.
    pub max_values: usize,
    /// Pointers in one structure, with those in structures that it embeds. One with more is one region
    /// that may be the same memory as any other.
    pub max_pointer_fields: usize,
    /// Structures that lie in one structure. One with more may hold any other.
    pub max_embedded: usize,
    /// Loads in one expression; longer ones are forgotten.
    pub max_loads: usize,
    /// Offsets, indices and loads in one expression; longer ones are forgotten.
    pub max_hops: usize,
    /// Expressions in one set of a fact; what does not fit is forgotten.
    pub max_expressions: usize,
    /// Facts kept apart at one point; further ones are joined to the last.
    pub max_facts_at_point: usize,
    /// Pairs of a function and a fact at its end that one probe looks into.
    pub max_contexts: usize,
    /// Calls that one probe follows, one inside the other; deeper ones are known by what they may write. Not counted are
    /// those that the cell may come out of, and functions around `free`.
    pub max_call_depth: usize,
    /// Follow functions that keep pointers in unions without structures. All arms are one region then, so nothing is lost but
    /// the certainty that a number is no reference in disguise; a proof asks for more.
    pub plain_unions: bool,
    /// Values of callers that a fact in a callee can name.
    pub max_ghosts: usize,
    /// Arguments of a call for which it is distinguished whether they refer to the cell.
    pub max_split_arguments: usize,
    /// Functions looked at to find what a call may write; beyond it, the call may write anything.
    pub max_written_functions: usize,
    /// Regions that a call may write; one that may write more may write anything.
    pub max_written_regions: usize,
    /// Functions around `free` that hand a parameter on, one inside the other.
    pub max_free_wrappers: usize,
    /// Targets of one call that are followed; a call with more is unknown.
    pub max_targets: usize,
    /// Steps kept of the way from where the cell may come from to where it may be lost; of a longer one the two ends.
    pub max_trace: usize,
    /// The caller of a function holds what it passes until the call is over, so a parameter that goes out of scope
    /// loses nothing. Without it a parameter may be the last reference, as for functions without callers in the paper.
    pub arguments_are_held: bool,
    pub extensions: Extensions,
}

/// The extensions of section 4.8 of the paper.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Extensions {
    /// Memory and values that by their type cannot point to the cell do not join the regions that may.
    pub typed_growth: bool,
    /// A region with one known reference at most leaves the set when that reference is known to miss.
    pub region_removal: bool,
    /// Facts with hits in different regions are not joined.
    pub separated: bool,
}

impl Default for Extensions {
    fn default() -> Self {
        Self { typed_growth: true, region_removal: true, separated: true }
    }
}

impl Default for ProveConfig {
    fn default() -> Self {
        Self {
            max_transfers: 5_000,
            max_work: 1_000_000,
            max_function_work: 50_000_000,
            max_stored: 200_000,
            max_probes: 5_000,
            max_table_words: 1_000_000,
            max_scope_cells: 1_000_000,
            max_scope_iterations: 50,
            max_regions: 50,
            max_values: 500,
            max_pointer_fields: 1_000,
            max_embedded: 1_000,
            max_loads: 4,
            max_hops: 16,
            max_expressions: 40,
            max_facts_at_point: 12,
            max_contexts: 400,
            max_call_depth: 400,
            plain_unions: false,
            max_ghosts: 2,
            max_split_arguments: 2,
            max_written_functions: 200,
            max_written_regions: 500,
            max_free_wrappers: 3,
            max_targets: 4,
            max_trace: 200,
            arguments_are_held: true,
            extensions: Extensions::default(),
        }
    }
}
