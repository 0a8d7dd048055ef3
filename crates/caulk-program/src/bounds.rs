//! The fixed bounds of linking, in one place: where chains end that may go round in a circle, and what is small enough to be evaluated.

pub(crate) struct Bounds {
    // Chains that end.
    /// Longer chains of casts occur only in unreachable code that goes round in a circle.
    pub casts: usize,
    /// Longer chains of address arithmetic occur only in unreachable code that goes round in a circle.
    pub addresses: usize,
    /// How far the type of a pointer is followed through loads that say nothing of it themselves.
    pub type_loads: u32,
    /// Virtual calls of a chain `a->b()->c()->d()` that are looked at for the class of an object.
    pub chained_calls: u32,
    /// Aliases of aliases: a longer chain goes round in a circle.
    pub aliases: usize,
    /// A type nested deeper is damaged.
    pub nesting: usize,
    // What is evaluated.
    /// How far constructors are followed into those of their bases and parts.
    pub constructors: u32,
    /// Words of an aggregate that are distinguished when it is loaded, stored or copied as a whole.
    pub words: u64,
    /// Instructions of a function that only computes; larger ones are not packing anything.
    pub formula_insts: usize,
    /// Blocks of such a function.
    pub formula_blocks: usize,
    /// Instructions that one evaluation executes.
    pub formula_steps: usize,
    /// Formulas that call each other.
    pub formula_calls: usize,
    /// As deep as formulas are evaluated.
    pub marked_calls: usize,
}

pub(crate) const BOUNDS: Bounds = Bounds {
    casts: 64,
    addresses: 64,
    type_loads: 4,
    chained_calls: 4,
    aliases: 16,
    nesting: 64,
    constructors: 3,
    words: 32,
    formula_insts: 40,
    formula_blocks: 10,
    formula_steps: 200,
    formula_calls: 4,
    marked_calls: 4,
};
