//! The fixed bounds of stage two, in one place: how far the small questions look that are asked on the way, and how much evidence a rule
//! wants. Budgets that a run may choose are in `config.rs`.

pub(crate) struct Bounds {
    // How far values are followed.
    /// How far a condition is followed to where its value was set.
    pub condition_depth: u32,
    /// Changes that are looked through from a value to what it was before.
    pub bit_changes: usize,
    /// Loads between a parameter or variable and a value that is named.
    pub named_loads: u32,
    /// Choices within a loop that are looked through.
    pub loop_choices: usize,
    /// The same, for flags that a loop sets, of which each case of a switch may set one.
    pub flag_choices: usize,
    /// Paths that a call commonly goes.
    pub ways_of_call: usize,
    /// Objects that are followed to find what a call can reach.
    pub written_objects: usize,
    /// Loads followed upwards for that.
    pub written_loads: usize,
    // What memory is taken to be.
    /// No cell is longer than this.
    pub cell_bytes: i64,
    /// Structures with more fields are not read field by field.
    pub read_fields: usize,
    /// A table with more entries is not looked at.
    pub table_entries: usize,
    /// Larger tables are not copied number by number.
    pub constant_cells: usize,
}

pub(crate) const BOUNDS: Bounds = Bounds {
    condition_depth: 4,
    bit_changes: 16,
    named_loads: 8,
    loop_choices: 16,
    flag_choices: 128,
    ways_of_call: 3,
    written_objects: 16,
    written_loads: 8,
    cell_bytes: 64,
    read_fields: 8,
    table_entries: 1024,
    constant_cells: 32,
};
