//! The fixed bounds of the prover, in one place. Budgets that a run may choose are in `config.rs`.

pub(crate) struct Bounds {
    /// More than so many places are not distinguished.
    pub places: usize,
    /// Functions that are judged for each thread before their answers are told. A slow one holds up those after it.
    pub functions_at_once: usize,
}

pub(crate) const BOUNDS: Bounds = Bounds { places: 4, functions_at_once: 4 };
