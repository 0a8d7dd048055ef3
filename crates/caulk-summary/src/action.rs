//! Actions: what a function does with one value.

use caulk_ir::entity;
use caulk_memory::{AccessPath, Offset, PathRoot, PathStep};
use caulk_models::FamilyId;
use caulk_program::FuncId;
use serde::{Deserialize, Serialize};

use crate::bounds::BOUNDS;
use crate::case::Case;
use crate::guard::Guard;

entity!(
    /// A fresh block of a summary, so that one block seen by two paths stays one block.
    AllocId, "block");

/// A block that a function allocates and hands out.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Alloc {
    pub family: FamilyId,
    /// Where it is allocated: the call in the function that calls the allocator, and the calls on the way to it, outermost
    /// first. Each is a function and a line, as the distance from the function's own (`Program::line_of`).
    pub chain: Vec<(FuncId, u32)>,
    /// Calls on the way to the allocator whose conditions nothing tells: how doubtful it is that the block is there.
    pub doubt: u8,
    /// All its bytes are zero when it is made.
    pub is_zeroed: bool,
    /// The cases in which it is handed out, at least one. What the actions' guards say holds besides.
    pub cases: Vec<Case>,
}

/// What an action is about.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub enum Subject {
    /// A fresh block.
    Alloc(AllocId),
    /// A value the caller had before the call.
    Value(AccessPath),
}

/// Where the subject goes.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub enum Destination {
    /// Freed, and what it points to perhaps freed or moved with it.
    Free { deep: Depth },
    /// The returned value, or a value reached from it or from an argument or a global, becomes the subject.
    Store(AccessPath),
    /// Sometimes freed, and then another block takes its place: who owned it owns a block there still. A buffer that grows.
    Renew,
    /// Kept where the caller cannot see it.
    Keep,
    /// Given to unknown code.
    Unknown,
}

/// Which of the pointers in a block a function may have followed before it freed the block. What it followed it may have freed or
/// moved; what it did not follow is lost with the block, unless something else holds it.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub enum Depth {
    /// None.
    Shallow,
    /// Only those at these offsets from the freed pointer, sorted: a loop that frees the nodes of a list reads `next`.
    Fields(Vec<i64>),
    /// Any.
    Deep,
}

impl Depth {
    /// Whether the pointer at an offset from the freed one may have been followed.
    pub fn reaches(&self, offset: Offset) -> bool {
        match (self, offset) {
            (Depth::Shallow, _) => false,
            (Depth::Fields(fields), Offset::Known(offset)) => fields.binary_search(&offset).is_ok(),
            (Depth::Fields(_), Offset::Any) | (Depth::Deep, _) => true,
        }
    }

    /// What either may have followed.
    #[must_use]
    pub fn with(self, other: &Depth) -> Depth {
        match (self, other) {
            (Depth::Deep, _) | (_, Depth::Deep) => Depth::Deep,
            (depth, Depth::Shallow) => depth,
            (Depth::Shallow, other) => other.clone(),
            (Depth::Fields(mut fields), Depth::Fields(others)) => {
                fields.extend(others);
                fields.sort_unstable();
                fields.dedup();
                Depth::Fields(fields)
            }
        }
    }
}

#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Action {
    pub subject: Subject,
    pub to: Destination,
    pub guard: Guard,
}

impl Action {
    /// Whether the returned value, or something that it leads to, becomes the subject.
    pub fn gives_back(&self) -> bool {
        matches!(&self.to, Destination::Store(to) if to.root == PathRoot::Return)
    }

    /// Whether the subject is the returned value itself.
    pub fn is_returned(&self) -> bool {
        matches!(&self.to, Destination::Store(to) if to.root == PathRoot::Return && to.steps.is_empty())
    }

    /// Whether a caller can do anything with it. What ends up in a global is the global's (SPARROW has no Alloc2Glob
    /// either); what may happen far away, sometimes, changes no decision.
    pub fn matters(&self) -> bool {
        let unsure = self.guard.is_hidden();
        let far = |path: &AccessPath| {
            let is_global = matches!(path.root, PathRoot::Global(_));
            (unsure && (is_global || path.steps.len() > BOUNDS.unsure_steps))
                || (is_global && path.steps.len() > BOUNDS.global_steps)
        };
        match (&self.subject, &self.to) {
            (Subject::Alloc(_), Destination::Store(to)) => match to.root {
                PathRoot::Return => !far(to),
                PathRoot::Param(_) => !far(to) && (!unsure || is_near(to)),
                PathRoot::Global(_) => false,
            },
            (Subject::Alloc(_), _) => false,
            (Subject::Value(path), Destination::Store(to)) => {
                !far(path) && !far(to) && path.steps.len() + to.steps.len() <= BOUNDS.link_steps
            }
            // What is done to the caller's own, however far away, is never left out: a caller would take it for untouched.
            (Subject::Value(path), _) => !matches!(path.root, PathRoot::Global(_)) || !far(path),
        }
    }
}

/// Whether a place is a field of what the caller gives, or an element of it or of an array that such a field points to. Another offset without a
/// name is most likely a field of something else that was mistaken for it.
fn is_near(path: &AccessPath) -> bool {
    let is_named = |step: &PathStep| step.field.is_some() || step.offset == Offset::ZERO;
    match path.steps.as_slice() {
        [] => true,
        [only] => is_named(only) || only.offset == Offset::Any,
        [field, element] => is_named(field) && element.offset == Offset::Any,
        _ => false,
    }
}

/// A call through a parameter.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct ParamCall {
    pub param: u32,
    /// What is passed, where the caller has a name for it.
    pub args: Vec<Option<AccessPath>>,
    /// Several functions may be called there, as far as the program tells: code that knows better should say so.
    pub open: bool,
}

/// How much is known of an exception that may leave a function or a call. Ordered by that.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub enum Throws {
    /// None, or one for lack of memory.
    #[default]
    No,
    /// Code that was not read may throw.
    Perhaps,
    /// A check of arguments fails, such as that of `at()`.
    Check,
    /// A `throw` stands in the program, of a type whose name says that the caller made a mistake: a hint for the rank, and no more.
    Misuse,
    /// A `throw` stands in the program, or a library function tells so that what came from outside is not as expected.
    Named,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_free_reaches_the_pointers_that_were_followed() {
        let fields = |offsets: &[i64]| Depth::Fields(offsets.to_vec());
        let table = [
            (Depth::Shallow, Depth::Shallow, Depth::Shallow, [false, false, false]),
            (Depth::Shallow, fields(&[8]), fields(&[8]), [false, true, true]),
            (fields(&[8]), Depth::Shallow, fields(&[8]), [false, true, true]),
            (fields(&[8]), fields(&[0, 8]), fields(&[0, 8]), [true, true, true]),
            (fields(&[0]), Depth::Deep, Depth::Deep, [true, true, true]),
            (Depth::Deep, Depth::Shallow, Depth::Deep, [true, true, true]),
        ];
        for (one, other, both, reached) in table {
            assert_eq!(one.clone().with(&other), both, "{one:?} with {other:?}");
            let offsets = [Offset::Known(0), Offset::Known(8), Offset::Any];
            assert_eq!(offsets.map(|offset| both.reaches(offset)), reached, "{both:?}");
        }
    }
}
