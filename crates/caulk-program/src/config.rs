//! Every bound of this crate, with its default and why.

use caulk_rules::Rules;

/// How far linking and the resolution of indirect calls go.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ProgramConfig {
    /// Symbols where a program begins. Each definition of one makes its unit the root of a program of its own; that
    /// many units define them says nothing about which units belong together.
    pub entry_symbols: Vec<String>,
    /// An indirect call with more targets is flagged as *many*, and makes no edges in the call graph: hundreds of
    /// handlers behind one pointer would tie the whole program into one cycle.
    pub max_targets: usize,
    /// How many definitions a reference keeps when the programs that contain its unit link it differently. A library
    /// that calls `usage()` meets one definition for each tool; a few show all there is to see.
    pub max_definitions: usize,
    /// How many programs are linked one by one. References in units that only later programs contain are resolved as in
    /// a library, by nearness.
    pub max_programs: usize,
    /// A slot that receives more values takes no more and counts as incomplete, and so do the slots it flows into.
    /// Without this, a generic container of `void *` would carry every function to every place.
    pub max_values: usize,
    /// A variable is taken to outlive the functions that set it when more functions than this may read it, directly or
    /// through what they call. What only passes a value down has a handful.
    pub max_carrier_walk: usize,
    /// Symbols of variables that code which was not read does not write, as far as was looked. They count as those
    /// of a whole program do.
    pub settled_variables: Vec<String>,
    /// Which heuristics are used.
    pub rules: Rules,
}

impl Default for ProgramConfig {
    fn default() -> Self {
        Self {
            entry_symbols: vec!["main".into(), "LLVMFuzzerTestOneInput".into()],
            max_targets: 64,
            max_definitions: 16,
            max_programs: 4096,
            max_values: 1024,
            max_carrier_walk: 64,
            settled_variables: Vec::new(),
            rules: Rules::default(),
        }
    }
}
