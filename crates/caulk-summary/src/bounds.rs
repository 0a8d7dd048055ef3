//! How far from an argument a summary tells of something, in one place. The bounds of the engines are theirs.

pub(crate) struct Bounds {
    /// Steps of a link between two values of the caller, both sides together.
    pub link_steps: usize,
    /// Steps to a place of a caller that is filled or linked only sometimes.
    pub unsure_steps: usize,
    /// Steps from a global variable to what is done something to; what is done only sometimes is the global's to see to.
    pub global_steps: usize,
}

pub(crate) const BOUNDS: Bounds = Bounds { link_steps: 3, unsure_steps: 2, global_steps: 1 };
