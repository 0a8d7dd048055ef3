//! What one function does, as an analysis reads it.

use serde::{Deserialize, Serialize};

use crate::condition::{Atom, Comparison, Condition, Success};
use crate::family::FamilyId;
use crate::model_path::{ModelPath, ModelRoot, Pointer};

/// The effects of a function without a body.
///
/// What no effect speaks of does not happen: an argument without an effect is only read, neither written, kept nor freed.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Model {
    pub origin: ModelSource,
    /// Number of named parameters, where the model says it.
    pub params: Option<u8>,
    /// The model is the contract of a library under names that are its own, so it also speaks where the program contains the
    /// library's source: what its functions hold on to by tables of functions and templates no analysis sees better.
    pub covers_definitions: bool,
    /// Present if the function takes arguments beyond the named ones.
    pub varargs: Option<Varargs>,
    pub effects: Vec<ModelEffect>,
    pub success: Success,
    /// The call does not return when this holds; `None`: it always returns.
    pub noreturn: Option<Condition>,
    pub purity: Purity,
    /// What is returned is the length of a list whose first node the first argument points to: zero only for null.
    pub counts: bool,
    /// Null says also that there is nothing to give, not only that memory is out.
    pub refuses: bool,
    /// What holds after every call.
    pub ensures: Vec<Comparison>,
    /// Parameters taken to be only read for no better reason than that they are declared pointer to const.
    pub assumed_reads: Vec<u8>,
}

/// Where a model comes from, for messages and confidence.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum ModelSource {
    /// A bundled library file, by its name: `posix`.
    Bundled(String),
    /// A user's file.
    User(String),
    /// Attributes of the declaration.
    #[default]
    Attributes,
}

/// What happens to what variadic arguments point to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Varargs {
    /// `printf`
    Reads,
    /// `scanf`
    Writes,
    /// Ownership may move.
    Keeps,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Purity {
    /// Has side effects, or depends on more than its arguments.
    #[default]
    Impure,
    /// No side effects; the result depends on the arguments and the memory they lead to (`strlen`).
    Memory,
    /// No side effects; the result depends on the argument values only (`isalpha`).
    Values,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ModelEffect {
    pub kind: EffectKind,
    pub when: Condition,
    /// Guessed from a declaration rather than known: findings that rest on it have lower confidence.
    pub assumed: bool,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum EffectKind {
    /// `into` becomes a pointer to a new block.
    Alloc {
        into: ModelPath,
        family: FamilyId,
        /// The block is an array (ended by null or counted) of pointers to new blocks, each freed as `element` says.
        element: Option<FamilyId>,
        /// The block's bytes are all 0.
        zeroed: bool,
    },
    /// The block `what` points to is freed; nothing happens if it is null.
    Free {
        what: ModelPath,
        family: FamilyId,
        /// The blocks its elements point to are freed too.
        element: Option<FamilyId>,
    },
    /// The object `holder` points to (the caller's own, on the stack perhaps) now holds hidden memory: `regcomp`.
    Acquire { holder: ModelPath, at: u32, family: FamilyId },
    /// The hidden memory of the object `holder` points to is freed, the object itself is not: `regfree`.
    Release { holder: ModelPath, at: u32, family: FamilyId },
    /// The block at `from` is moved into `into`, made if `from` was null; on success `from` is gone.
    Resize {
        from: ModelPath,
        into: ModelPath,
        family: FamilyId,
        on_failure: OldBlock,
        /// Called with one of these equal to 0, it may free the block and give back null (glibc's `realloc(p, 0)`).
        zero: Vec<ModelPath>,
    },
    /// `into` becomes (a copy of) an existing pointer; ownership does not move.
    Alias { into: ModelPath, of: Pointer },
    /// Ownership of the block at `what` moves to the library, or to the object `holder` points to.
    Keep { what: ModelPath, holder: Option<ModelPath> },
    /// The memory that `into` points to or leads to now holds a reference to `what`, and does not free it.
    Store { what: ModelPath, into: ModelPath },
    /// The bytes `from` points to, pointers included, are copied to where `to` points.
    Copy { from: ModelPath, to: ModelPath },
    /// The bytes `what` points to are overwritten with values unknown; no pointer to the caller's blocks is among them.
    Write { what: ModelPath },
    /// A function argument is called.
    Call {
        function: ModelPath,
        with: Vec<Pointer>,
        /// After this call has returned: `atexit`. Otherwise before it returns, any number of times: `qsort`.
        later: bool,
    },
}

impl EffectKind {
    /// Every place it names.
    pub fn places(&self) -> Vec<ModelPath> {
        match self {
            EffectKind::Alloc { into, .. } => vec![*into],
            EffectKind::Free { what, .. } | EffectKind::Write { what } => vec![*what],
            EffectKind::Acquire { holder, .. } | EffectKind::Release { holder, .. } => vec![*holder],
            EffectKind::Resize { from, into, zero, .. } => {
                [*from, *into].into_iter().chain(zero.iter().copied()).collect()
            }
            EffectKind::Alias { into, of } => std::iter::once(*into).chain(of.place()).collect(),
            EffectKind::Keep { what, holder } => std::iter::once(*what).chain(*holder).collect(),
            EffectKind::Store { what, into } => vec![*what, *into],
            EffectKind::Copy { from, to } => vec![*from, *to],
            EffectKind::Call { function, with, .. } => {
                std::iter::once(*function).chain(with.iter().filter_map(|pointer| pointer.place())).collect()
            }
        }
    }
}

/// The outcome of the old block when a resize fails.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum OldBlock {
    /// It stays as it was, and the caller's: `realloc`.
    Kept,
    /// It is freed: `reallocf`.
    Freed,
}

impl Model {
    /// True if some effect is a new block, a resize or hidden memory: a caller may become an owner.
    #[must_use]
    pub fn allocates(&self) -> bool {
        self.effects.iter().any(|effect| {
            matches!(effect.kind, EffectKind::Alloc { .. } | EffectKind::Resize { .. } | EffectKind::Acquire { .. })
        })
    }

    /// The family of what is freed whatever happens, if that is what a root points to.
    #[must_use]
    pub fn frees_always(&self, root: ModelRoot) -> Option<FamilyId> {
        self.effects.iter().find_map(|effect| match effect.kind {
            EffectKind::Free { what: ModelPath { root: freed, derefs: 0, .. }, family, .. }
                if freed == root && effect.when.is_always() =>
            {
                Some(family)
            }
            _ => None,
        })
    }

    /// True if some effect frees or takes something of the caller's.
    #[must_use]
    pub fn takes(&self) -> bool {
        self.effects.iter().any(|effect| {
            matches!(
                effect.kind,
                EffectKind::Free { .. }
                    | EffectKind::Release { .. }
                    | EffectKind::Resize { .. }
                    | EffectKind::Keep { .. }
                    | EffectKind::Store { .. }
            )
        }) || self.varargs == Some(Varargs::Keeps)
    }

    /// True if it returns on no path.
    #[must_use]
    pub fn never_returns(&self) -> bool {
        self.noreturn.as_ref().is_some_and(Condition::is_always)
    }

    /// True if the returned pointer is never null.
    #[must_use]
    pub fn returns_nonnull(&self) -> bool {
        self.ensures.contains(&Comparison::RET_NOT_NULL)
    }

    /// The comparison an atom of a condition of this model stands for; `None` if it is always true.
    ///
    /// Never asked for an outcome the model does not describe: loading refuses such models.
    #[must_use]
    pub fn comparison(&self, atom: Atom) -> Option<Comparison> {
        match (atom, self.success) {
            (Atom::Compare(comparison), _) | (Atom::Success, Success::When(comparison)) => Some(comparison),
            (Atom::Failure, Success::When(comparison)) => Some(comparison.negate()),
            (Atom::Success | Atom::Failure, Success::Always | Success::Unstated) => None,
        }
    }
}
