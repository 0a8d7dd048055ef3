//! One look at every body before anything is followed: what whole-program tables need of it.

use caulk_program::{FuncId, Program, TypeId};
use rayon::prelude::*;
use rustc_hash::FxHashSet;

use crate::modified::{Modified, of_body, of_declaration};
use crate::refcount::released_types;

/// What is known of the program as a whole.
#[derive(Debug, Default)]
pub struct Survey {
    /// Types whose objects count their references.
    pub counted: FxHashSet<TypeId>,
    pub modified: Modified,
}

pub fn survey(program: &Program) -> Survey {
    let functions: Vec<FuncId> = program.functions().collect();
    let (released, written): (Vec<_>, Vec<_>) = functions
        .par_iter()
        .map(|&f| match program.body(f) {
            Some(body) => (released_types(program, f, &body), of_body(program, f, &body)),
            None => (Vec::new(), of_declaration(program, f)),
        })
        .unzip();
    Survey { counted: released.into_iter().flatten().collect(), modified: Modified::new(program, &written) }
}
