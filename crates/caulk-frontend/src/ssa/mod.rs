//! From the memory form that clang writes to SSA, on core IR alone.
//!
//! LLVM's own mem2reg is not used: it forgets which assignment overwrote what, where a scope ended, and merges all
//! return statements into one. Those are exactly the places a leak report must name.

mod copies;
mod draft;
mod finish;
mod frontiers;
mod merge_chains;
mod place_returns;
mod promote;
pub(crate) mod struct_results;
mod thread_cleanups;
mod thread_returns;

pub(crate) use draft::Draft;

use caulk_ir::{Body, InstId};

/// Turns a draft, as lowered instruction by instruction, into a body in SSA form. `result` is the hidden parameter that says
/// where the caller wants a structure.
pub(crate) fn finish(mut draft: Draft, result: Option<InstId>) -> Body {
    draft.remove_unreachable();
    thread_cleanups::run(&mut draft);
    thread_returns::run(&mut draft);
    draft.remove_unreachable();
    merge_chains::run(&mut draft);
    draft.remove_unreachable();
    place_returns::run(&mut draft);
    struct_results::run(&mut draft, result);
    promote::run(&mut draft);
    finish::run(draft)
}
