//! One look at every body before anything is followed: what whole-program tables need of it.

use caulk_program::{FuncId, GlobalVarId, Program, TypeId};
use caulk_rules::{Rule, Rules};
use rayon::prelude::*;
use rustc_hash::FxHashSet;

use crate::callbacks::given_by_name;
use crate::counters::counted_fields;
use crate::modified::{Modified, of_body, of_declaration};
use crate::popped::popped_globals;
use crate::refcount::released_types;

/// What is known of the program as a whole.
#[derive(Debug, Default)]
pub struct Survey {
    /// Types whose objects count their references.
    pub counted: FxHashSet<TypeId>,
    /// Fields that count something.
    pub counters: FxHashSet<(TypeId, u64)>,
    /// Globals that are the top of a stack.
    pub popped: FxHashSet<GlobalVarId>,
    /// Functions that each function gives away by name: those it gives them to may call them.
    pub given: Vec<Vec<FuncId>>,
    pub modified: Modified,
}

pub(crate) fn survey(program: &Program, rules: &Rules) -> Survey {
    let functions: Vec<FuncId> = program.functions().collect();
    let looks: Vec<_> = functions
        .par_iter()
        .map(|&f| match program.body(f) {
            Some(body) => {
                let written = of_body(program, f, &body);
                let given = given_by_name(program, f, &body);
                let counters = rules.all(Rule::Counters, || counted_fields(program, f, &body));
                let counted = rules.all(Rule::CountedReferences, || released_types(program, f, &body));
                let popped = rules.all(Rule::Popped, || popped_globals(program, f, &body));
                (counted, popped, given, written, counters)
            }
            None => (Vec::new(), Vec::new(), Vec::new(), of_declaration(program, f), Vec::new()),
        })
        .collect();
    let mut survey = Survey::default();
    let mut written = Vec::with_capacity(looks.len());
    for (released, popped, given, writes, counters) in looks {
        survey.counters.extend(counters);
        survey.counted.extend(released);
        survey.popped.extend(popped);
        survey.given.push(given);
        written.push(writes);
    }
    survey.modified = Modified::new(program, &written);
    survey
}
