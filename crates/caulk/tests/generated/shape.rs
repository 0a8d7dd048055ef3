//! What a generated function is made of: one pointer `p`, two numbers it is given, a flag, and a box of the caller.

use std::collections::BTreeSet;

/// A number of the function.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Number {
    A,
    B,
    /// Computed at the start of the function.
    Flag,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Compare {
    Equal,
    Unequal,
    Less,
    Greater,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Condition {
    /// Compared with a small constant.
    Is(Number, Compare, i32),
    /// `a` and `b` compared.
    Pair(Compare),
    /// `p != NULL`.
    HasPointer,
}

/// Where `p` comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Source {
    /// malloc, tested.
    Plain,
    /// Wrappers around wrappers, so many of them.
    Wrapper(u8),
    /// An out-parameter and a status; fails for some numbers.
    Status(Number),
}

/// What is done with `p`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Sink {
    Free,
    /// Wrappers around free, so many of them.
    Wrapper(u8),
    /// Frees if the number is not 0: the caller has given it.
    Given(Number),
    /// Into the caller's box.
    Box,
    /// Onto a list that a global holds.
    Global,
    /// `p = NULL`.
    Nowhere,
}

/// A call that takes `p` only sometimes, and says so.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Told {
    /// Frees it and returns 0.
    Frees(Number),
    /// Puts it into the box and returns 0.
    Stores(Number),
}

/// A loop with a block of its own in each iteration.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Iteration {
    /// Frees it.
    Frees,
    /// Does not.
    Forgets,
    /// Frees it under a condition on the function's numbers.
    FreesIf(Condition),
    /// Leaves the loop early, under a condition, before it frees it.
    Leaves(Condition),
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Statement {
    Obtain(Source),
    Give(Sink),
    /// Offers `p`; the block is what happens if it is not taken.
    Offer(Told, Vec<Statement>),
    If(Condition, Vec<Statement>, Vec<Statement>),
    /// So many iterations.
    Loop(u8, Iteration),
    /// Something that has nothing to do with memory.
    Noise,
    Return,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Function {
    /// What the flag is.
    pub flag: Condition,
    pub body: Vec<Statement>,
}

/// What a function has in it that may be hard.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Feature {
    Pair,
    HasPointer,
    Wrapper,
    Status,
    Given,
    Told,
    Box,
    Global,
    Nowhere,
    Loop,
    /// `p` is obtained more than once.
    Again,
}

impl Function {
    pub(crate) fn features(&self) -> BTreeSet<Feature> {
        let mut found = BTreeSet::new();
        let mut obtained = 0;
        condition_features(self.flag, &mut found);
        block_features(&self.body, &mut found, &mut obtained);
        if obtained > 1 {
            found.insert(Feature::Again);
        }
        found
    }
}

fn condition_features(condition: Condition, found: &mut BTreeSet<Feature>) {
    match condition {
        Condition::Is(..) => {}
        Condition::Pair(_) => drop(found.insert(Feature::Pair)),
        Condition::HasPointer => drop(found.insert(Feature::HasPointer)),
    }
}

fn block_features(block: &[Statement], found: &mut BTreeSet<Feature>, obtained: &mut usize) {
    for statement in block {
        let feature = match statement {
            Statement::Obtain(source) => {
                *obtained += 1;
                match source {
                    Source::Plain => None,
                    Source::Wrapper(_) => Some(Feature::Wrapper),
                    Source::Status(_) => Some(Feature::Status),
                }
            }
            Statement::Give(sink) => match sink {
                Sink::Free => None,
                Sink::Wrapper(_) => Some(Feature::Wrapper),
                Sink::Given(_) => Some(Feature::Given),
                Sink::Box => Some(Feature::Box),
                Sink::Global => Some(Feature::Global),
                Sink::Nowhere => Some(Feature::Nowhere),
            },
            Statement::Offer(_, refused) => {
                block_features(refused, found, obtained);
                Some(Feature::Told)
            }
            Statement::If(condition, then, other) => {
                condition_features(*condition, found);
                block_features(then, found, obtained);
                block_features(other, found, obtained);
                None
            }
            Statement::Loop(..) => Some(Feature::Loop),
            Statement::Noise | Statement::Return => None,
        };
        found.extend(feature);
    }
}
