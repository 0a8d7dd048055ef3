//! The fixed bounds of stage one, in one place: how far the small questions look that are asked on the way, and how much evidence a rule
//! wants. Budgets that a run may choose are in `config.rs`.

pub(crate) struct Bounds {
    // How far values are followed.
    /// Callees of callees that are looked into for code that constants seal off.
    pub sealed_callees: u32,
    /// Calls inside of the standard library between an algorithm and the function of the program that it calls for each element.
    pub algorithm_calls: u32,
    /// Operations that a value is followed through there.
    pub sealed_operations: u32,
    /// Instructions of a callee that is looked into for that in stage one.
    pub sealed_insts: u32,
    /// Conditions, and computations of values, are taken apart this deep.
    pub condition_depth: usize,
    /// Parts of `a | b | c` that are looked through for one that is not zero.
    pub alternations: usize,
    /// Loads from a parameter to a value that is followed for callers. What is done further away callers are not told.
    pub given_loads: u8,
    /// Addresses in variables that are followed from one to the next.
    pub settled_addresses: usize,
    /// Casts between a load and the value that is used.
    pub casts: usize,
    /// Values of one switch that are kept apart; more would push better facts out.
    pub apart: usize,
    /// Values that a choice is taken apart into.
    pub choices: usize,
    /// Values that a switch excludes and that are remembered.
    pub excluded_values: usize,
    /// Cells of one alternative beyond which no further names are added.
    pub cells_with_new_names: usize,
    /// Conditions of one way that are looked up.
    pub way_conditions: usize,
    /// A choice of more values is not looked at.
    pub way_values: usize,
    /// Other names of a block that are looked through.
    pub names_of_block: usize,
    /// Places that are watched in one function, one bit each.
    pub watched_places: usize,
    /// Operations that are looked through between a load and the store of its changed value.
    pub bit_operations: usize,
    /// Blocks that are looked through, up from a branch, for the flag that was set before it.
    pub flag_blocks: usize,
    /// Blocks that are looked through, up from a store, for the test that found its place null.
    pub first_fill_blocks: usize,
    /// Branches that are looked back over from a throw.
    pub throw_branches: usize,
    /// Functions that a call with several targets is named after.
    pub named_callees: usize,
    // What summaries say.
    /// Conditions of one case that are kept.
    pub case_conditions: usize,
    /// Cases of one block that are kept separate.
    pub cases: usize,
    /// Conditions of a throw that are kept.
    pub throw_needs: usize,
    /// Instructions of a method that sets or asks for a number of its object.
    pub number_method_insts: usize,
    /// Numbers that one function is said to leave in its caller's memory.
    pub assigned_numbers: usize,
    /// Instructions of a method that only asks for a number.
    pub asking_method_insts: usize,
    /// Assignments that are followed back from one place to the next.
    pub number_assignments: usize,
    /// Pointers of one structure that are told one by one.
    pub reset_pointers: usize,
    /// Steps to what a callee resets.
    pub reset_steps: usize,
    /// Results of one function that are kept apart.
    pub results: usize,
    /// Further arguments of a variadic library function that are looked at. A structure that is passed by value may be two.
    pub variadic_arguments: u32,
    /// Chains of functions that are given by name to one another are put in order this far.
    pub given_functions: usize,
    // What functions write.
    /// Fields of one structure that a copy of all of it is taken to write, nested ones included.
    pub copied_fields: usize,
    /// Longer chains of address arithmetic occur only in unreachable code that goes round in a circle.
    pub address_chain: usize,
    /// Through a cycle of calls writes are followed so many calls deep. In large programs nearly everything can report an error, and reporting an error can do nearly everything: without an end, every call would count as writing all there is.
    pub writes_in_cycle: usize,
    /// Parameters that are asked whether any call gives null for them, one bit each.
    pub nonnull_params: u32,
    // What callers are asked.
    /// Callers that only pass a parameter on are asked in turn, this far up.
    pub callers_up: u32,
    /// Calls between a method and the constructors above it that are looked through.
    pub set_up_calls: u32,
    /// Calls between a function that gives up a reference and the one that counts: `data->deref()` counts in a part of its own.
    pub counting_calls: u32,
    /// How many steps up what leads to a function is looked for.
    pub steps_up: usize,
    /// Structures nest this deep.
    pub nesting: usize,
    // How much evidence a rule wants.
    /// A function that frees this many fields of a structure, and leaves them dangling, ends it.
    pub fields_of_ended: usize,
    /// A function that frees this many owning fields of a structure releases it ...
    pub fields_of_released: usize,
    /// ... if it frees this many for each that it leaves.
    pub share_of_released: usize,
    /// A function that frees this many fields of a structure should free the others too.
    pub fields_of_owner: usize,
    /// What this many functions free with the structure, one more should free as well.
    pub agreeing_releases: usize,
    /// Where this many functions free a field before they set it, one more should.
    pub agreeing_setters: usize,
    /// Where this many functions free a field before they fill it, one more should.
    pub careful_setters: usize,
    /// Fewer fields are alike in structures that have nothing to do with each other.
    pub twin_fields: usize,
    /// Functions that are registered in one place; where they are fewer, it is no table of keywords.
    pub handlers: usize,
    /// A function with more instructions than this is no other name for a comparison.
    pub comparison_insts: usize,
    /// Where fewer functions free a result, it may be a special case of theirs.
    pub freeing_functions: usize,
    /// Cases of a switch over a number of the input; one with fewer tells states apart.
    pub setting_cases: usize,
    /// One of so many functions that call a library function has to free its result at least.
    pub callers_for_each_freeing: usize,
    /// A longer function is no other name for a deallocator.
    pub deallocator_insts: u32,
    /// A longer method does more than to delete its object.
    pub deleting_method_insts: u32,
    /// Where fewer functions release a block, the two may belong together for another reason.
    pub releasing_functions: usize,
    /// Of so many functions that ask for a block one releases it itself. Where hardly any does, something else frees all blocks at once.
    pub asking_functions: usize,
    /// More functions than this are no table of allocators.
    pub table_of_allocators: usize,
    /// The longest header before a block.
    pub header_bytes: i64,
}

pub(crate) const BOUNDS: Bounds = Bounds {
    algorithm_calls: 4,
    sealed_callees: 2,
    sealed_operations: 8,
    sealed_insts: 1_200,
    condition_depth: 8,
    alternations: 8,
    given_loads: 4,
    settled_addresses: 4,
    casts: 4,
    apart: 3,
    choices: 24,
    excluded_values: 3,
    cells_with_new_names: 12,
    way_conditions: 4,
    way_values: 8,
    names_of_block: 4,
    watched_places: 64,
    bit_operations: 8,
    flag_blocks: 6,
    first_fill_blocks: 8,
    throw_branches: 8,
    named_callees: 2,
    case_conditions: 6,
    cases: 4,
    throw_needs: 4,
    number_method_insts: 120,
    assigned_numbers: 4,
    asking_method_insts: 16,
    number_assignments: 3,
    reset_pointers: 32,
    reset_steps: 2,
    results: 8,
    variadic_arguments: 24,
    given_functions: 4,
    copied_fields: 512,
    address_chain: 64,
    writes_in_cycle: 3,
    nonnull_params: 64,
    callers_up: 3,
    set_up_calls: 3,
    counting_calls: 2,
    steps_up: 3,
    nesting: 4,
    fields_of_ended: 2,
    fields_of_released: 2,
    share_of_released: 3,
    fields_of_owner: 2,
    agreeing_releases: 2,
    agreeing_setters: 2,
    careful_setters: 3,
    twin_fields: 3,
    handlers: 3,
    comparison_insts: 16,
    freeing_functions: 2,
    setting_cases: 3,
    callers_for_each_freeing: 4,
    deallocator_insts: 24,
    deleting_method_insts: 16,
    releasing_functions: 5,
    asking_functions: 8,
    table_of_allocators: 6,
    header_bytes: 1024,
};
