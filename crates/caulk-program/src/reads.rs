//! What a piece of work has asked about a program, so that its result can be kept until one of the answers is another.
//!
//! While a piece of work is *recorded*, every question that it puts to the program (and to the tables of the engines, which note theirs
//! here as well) is written down. The list belongs to the thread and to the piece of work: pieces that begin inside others have lists
//! of their own. Outside of a recording nothing is noted.

use std::cell::RefCell;

use rustc_hash::FxHashSet;
use serde::{Deserialize, Serialize};

use crate::ids::{FuncId, GlobalVarId, TypeId};

/// A question whose answer a result may rest on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub enum Read {
    /// What is known of a function without its body.
    Function(FuncId),
    /// A body, its calls and their targets.
    Body(FuncId),
    Callers(FuncId),
    Global(GlobalVarId),
    Type(TypeId),
    /// Stage one's summary of a function, as far as there is one.
    Summary(FuncId),
    /// What calls of a function do that are given functions by name.
    Special(FuncId),
    /// What a function may write.
    Writes(FuncId),
    /// The parameters of a function that no call gives null.
    Nonnull(FuncId),
    /// Whether a function is an allocator of the program's own, or its release.
    OwnArena(FuncId),
    /// How a type counts its references.
    Counted(TypeId),
    /// Which fields count something.
    Counters,
    /// The guarded summary of a function, for one set of constants by number; 0 for any.
    Effects(FuncId, u32),
    /// Whether the guarded summary of a function is made at all; and the same for callees that are executed for constants.
    Executed(FuncId, bool),
    /// Whether the guarded summary of one function may be made with that of another, with or without cycles; and the same for constants.
    MayAsk(FuncId, FuncId, bool, bool),
    /// Whether two functions may call each other.
    Cycle(FuncId, FuncId),
}

thread_local! {
    /// The recordings of this thread, the innermost last.
    static OPEN: RefCell<Vec<FxHashSet<Read>>> = const { RefCell::new(Vec::new()) };
}

/// Notes a question, if anything is being recorded.
#[inline]
pub fn note(read: Read) {
    OPEN.with_borrow_mut(|open| {
        if let Some(reads) = open.last_mut() {
            reads.insert(read);
        }
    });
}

/// Does a piece of work and gives what it has asked, sorted. All of it must happen on this thread.
pub fn recorded<T>(work: impl FnOnce() -> T) -> (T, Vec<Read>) {
    let recording = Recording::start();
    let result = work();
    (result, recording.end())
}

/// Does a piece of work that is not written down: its caller sees to that.
pub fn unrecorded<T>(work: impl FnOnce() -> T) -> T {
    let open = OPEN.with_borrow(|open| !open.is_empty());
    if open { recorded(work).0 } else { work() }
}

/// An open list, which is closed when the work panics too.
struct Recording {
    depth: usize,
}

impl Recording {
    fn start() -> Self {
        OPEN.with_borrow_mut(|open| {
            open.push(FxHashSet::default());
            Self { depth: open.len() }
        })
    }

    fn end(self) -> Vec<Read> {
        let reads = OPEN.with_borrow_mut(|open| open.pop()).unwrap_or_default();
        std::mem::forget(self);
        let mut reads: Vec<Read> = reads.into_iter().collect();
        reads.sort_unstable();
        reads
    }
}

impl Drop for Recording {
    fn drop(&mut self) {
        OPEN.with_borrow_mut(|open| open.truncate(self.depth - 1));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn inner_work_has_a_list_of_its_own() {
        note(Read::Counters);
        let ((inner, ()), outer) = recorded(|| {
            note(Read::Body(FuncId(2)));
            note(Read::Body(FuncId(1)));
            note(Read::Body(FuncId(1)));
            let inner = recorded(|| note(Read::Callers(FuncId(7)))).1;
            (inner, unrecorded(|| note(Read::Counters)))
        });
        assert_eq!(inner, [Read::Callers(FuncId(7))]);
        assert_eq!(outer, [Read::Body(FuncId(1)), Read::Body(FuncId(2))]);
    }

    #[test]
    fn a_panic_leaves_no_open_list() {
        let broken = std::panic::catch_unwind(|| recorded(|| panic!("on purpose")));
        assert!(broken.is_err());
        assert!(OPEN.with_borrow(Vec::is_empty));
    }
}
