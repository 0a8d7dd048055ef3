//! The fixed bounds of lowering, in one place: where chains end that only a broken file makes endless, and how much a copy may add.

pub(crate) struct Bounds {
    /// Instructions that are looked back over for the store of the result.
    pub result_look_back: usize,
    /// Instructions that are looked back over for the store that decides the switch of a clean-up.
    pub switch_look_back: usize,
    /// Scopes that are only ever left outwards, between a statement and that switch.
    pub joints: usize,
    /// Copies may make a function this many times as large before the rest stays joined: functions of a thousand early returns in deep scopes would otherwise grow without bound.
    pub growth: usize,
    /// Small functions may always grow by this many instructions.
    pub small_growth: usize,
    /// Blocks with more instructions than this do real work and stay shared.
    pub cleanup_insts: usize,
    /// An alias of an alias is followed this far.
    pub alias_hops: usize,
    /// Scopes nest this deep at most before we stop looking for the function around a static local.
    pub scope_depth: usize,
    /// Constant expressions nest this deep at most before they count as opaque.
    pub expression_depth: usize,
    /// A constant structure of more parts than this is an unknown value when it stands as an operand.
    pub aggregate_parts: usize,
    /// Initialisers nest this deep at most.
    pub initialiser_depth: usize,
    /// So many parts of initialisers are looked at in a unit. Bitcode stores equal parts once, so a small file may describe an array of arrays with more elements than there is memory.
    pub initialiser_parts: usize,
    /// Inlined-at chains are cut here; only bitcode optimised before it reached us has any.
    pub inline_depth: usize,
    /// Typedefs, qualifiers and pointers are followed this far; debug info has no cycles without a structure in between, but a broken file must not hang us.
    pub type_chain: usize,
    /// Scopes around a structure that go into its name.
    pub named_scopes: usize,
    /// Longer names of structures are cut: a few strings in a small file could otherwise make up gigabytes of names.
    pub name_bytes: usize,
    /// So many fields are read in a unit: many structures may share one list of them.
    pub fields_of_unit: usize,
    /// Types nest this deep at most before their layout counts as unknown: LLVM computes layouts by recursion.
    pub type_nesting: usize,
}

pub(crate) const BOUNDS: Bounds = Bounds {
    result_look_back: 16,
    switch_look_back: 16,
    joints: 32,
    growth: 2,
    small_growth: 2_000,
    cleanup_insts: 24,
    alias_hops: 64,
    scope_depth: 64,
    expression_depth: 32,
    aggregate_parts: 32,
    initialiser_depth: 64,
    initialiser_parts: 1 << 21,
    inline_depth: 32,
    type_chain: 64,
    named_scopes: 64,
    name_bytes: 2048,
    fields_of_unit: 1 << 21,
    type_nesting: 512,
};
