//! The fixed bounds of naming memory, in one place.

pub(crate) struct Bounds {
    /// Loads nest this deep before a value counts as opaque (SPARROW's k).
    pub loads: u8,
    /// Choices nest this deep in macros that allocate.
    pub choices: u32,
}

pub(crate) const BOUNDS: Bounds = Bounds { loads: 8, choices: 4 };
