//! How many functions are generated and how large they get, and which of their features Caulk is known to get wrong.

use crate::shape::{Feature, Function};
use crate::wide::helpers::Form;
use crate::wide::shape::{self as wide, Step};

#[derive(Clone, Debug)]
pub(crate) struct Config {
    /// How many functions are tried.
    pub functions: usize,
    /// How many wide ones are tried.
    pub wide_functions: usize,
    /// How the callees of wide functions are written; answers must not depend on it.
    pub forms: &'static [Form],
    /// So many go into one translation unit: starting clang costs more than compiling them.
    pub functions_per_unit: usize,
    /// Statements in one block, at most.
    pub max_statements: usize,
    /// Blocks within blocks, at most.
    pub max_depth: u32,
    pub seed: u64,
    /// How many wrong answers a failure shows.
    pub shown: usize,
    /// Features that give wrong answers together, and what is wrong. A wrong answer on a function that has them all fails no
    /// test, but is counted.
    pub weaknesses: &'static [(&'static [Feature], &'static str)],
    /// The same for wide functions.
    pub exceptions: &'static [Exception],
    /// Disagreements between the stages.
    pub unlisted: &'static [Unlisted],
}

/// A wrong answer on wide functions that is known, and counted.
#[derive(Debug)]
pub(crate) struct Exception {
    pub name: &'static str,
    /// The function leaks, and it is not reported; otherwise it is reported though it does not leak.
    pub is_missed: bool,
    /// Whether a function, with its callees written so, may be one of these.
    pub covers: fn(&wide::Function, Form) -> bool,
}

/// A disagreement between the stages that is known, and counted.
#[derive(Debug)]
pub(crate) struct Unlisted {
    pub name: &'static str,
    pub covers: fn(&wide::Function, Form) -> bool,
}

const FORMS: &[Form] = &[Form::Plain, Form::Padded(40), Form::Inlined];

/// What Caulk is known to get wrong on wide functions.
const EXCEPTIONS: &[Exception] = &[
    Exception {
        name: "the nodes of a list are freed, and what hangs on them is lost: a callee that links a node counts as the owner",
        is_missed: true,
        covers: |function, _| {
            function.steps().iter().any(|step| matches!(step, Step::FreeNodes | Step::Pop | Step::Each(_)))
        },
    },
    Exception {
        name: "a reference is taken by one callee and dropped by another: summaries do not count",
        is_missed: true,
        covers: |function, form| {
            let counts = |step: &Step| matches!(step, Step::Get | Step::CountedOut(true));
            form != Form::Inlined && function.steps().iter().any(counts)
        },
    },
    Exception {
        name: "a reference count that is lowered in a loop: the general iteration forgets it",
        is_missed: false,
        covers: |function, form| {
            form == Form::Inlined && function.has_loop() && function.kinds().contains(&wide::Kind::Counted)
        },
    },
    Exception {
        name: "a callee compares what it is given with a field to decide whether it allocates: no guard says so",
        is_missed: false,
        covers: |function, form| matches!(form, Form::Padded(_)) && function.kinds().contains(&wide::Kind::Buffer),
    },
    Exception {
        name: "a structure is put into a variable that a callee may set, and freed through it: the name of its fields is lost",
        is_missed: true,
        covers: loses_field_names,
    },
    Exception {
        name: "what fails for a number fails for it again: only the result is known",
        is_missed: false,
        covers: |function, form| {
            let may_fail = |step: &Step| matches!(step, Step::Grab(_) | Step::ParseRecord(_));
            matches!(form, Form::Padded(_)) && function.steps().into_iter().filter(may_fail).count() > 1
        },
    },
    Exception {
        name: "a callee fills a field if it is empty, after another emptied it: the caller does not know that it is",
        is_missed: true,
        covers: |function, form| {
            let steps = function.steps();
            let fills = steps.iter().any(|step| matches!(step, Step::FillRecord(_)));
            let empties = steps.iter().any(|step| matches!(step, Step::ClearRecord | Step::TakeName));
            matches!(form, Form::Padded(_)) && fills && empties
        },
    },
    Exception {
        name: "a callee gives null back because it was given null: the caller takes it for a failed allocation",
        is_missed: true,
        covers: |function, form| {
            let resizes = |step: &Step| matches!(step, Step::Resize(_));
            matches!(form, Form::Padded(_)) && function.steps().iter().any(resizes)
        },
    },
    Exception {
        name: "an iteration of a loop writes over what an earlier one has put into the caller's memory",
        is_missed: true,
        covers: |function, _| {
            let puts = |s: &Step| matches!(s, Step::TextOut | Step::RecordOut | Step::BufferOut | Step::ListOut);
            function.has_loop() && function.steps().iter().any(puts)
        },
    },
    Exception {
        name: "a buffer is put into the caller's memory twice: the second copy of the structure writes over the first",
        is_missed: true,
        covers: |function, _| puts_buffer_out_twice(function),
    },
    Exception {
        name: "many pushes in one function, inlined: over budget",
        is_missed: true,
        covers: |function, form| {
            let pushes = function.steps().into_iter().filter(|s| matches!(s, Step::PushNew | Step::PushText));
            form == Form::Inlined && (function.has_loop() || pushes.count() > 3)
        },
    },
];

/// Where stage two alone finds something left, and stage one lists nothing.
const UNLISTED: &[Unlisted] = &[
    Unlisted {
        name: "a list: stage one has one name for the nodes that a callee links, and what hangs on them is the list's",
        covers: |function, _| function.kinds().contains(&wide::Kind::List),
    },
    Unlisted {
        name: "a reference count: a callee that takes a reference counts as an owner in stage one",
        covers: |function, _| function.kinds().contains(&wide::Kind::Counted),
    },
    Unlisted {
        name: "a structure is put into a variable that a callee may set, and freed through it: stage one loses the name of its fields",
        covers: loses_field_names,
    },
    Unlisted {
        name: "a buffer is put into the caller's memory twice: the second copy of the structure writes over the first",
        covers: |function, _| puts_buffer_out_twice(function),
    },
];

fn loses_field_names(function: &wide::Function, form: Form) -> bool {
    let steps = function.steps();
    let parses = steps.iter().any(|step| matches!(step, Step::ParseRecord(_)));
    parses && (form == Form::Inlined || steps.contains(&Step::FreeRecordOnly))
}

fn puts_buffer_out_twice(function: &wide::Function) -> bool {
    function.steps().into_iter().filter(|step| matches!(step, Step::BufferOut)).count() > 1
}

/// What Caulk is known to get wrong today.
const WEAKNESSES: &[(&[Feature], &str)] = &[(
    &[Feature::HasPointer, Feature::Status, Feature::Told, Feature::Again],
    "an out-parameter overwrites a variable behind several calls that might have taken what it held, and the variable is \
         tested later: one in three thousand functions leaks unseen",
)];

impl Config {
    pub(crate) fn from_environment() -> Self {
        Self {
            functions: number("CAULK_GENERATED").unwrap_or(300) as usize,
            wide_functions: number("CAULK_GENERATED").unwrap_or(300) as usize,
            forms: FORMS,
            functions_per_unit: 150,
            max_statements: 4,
            max_depth: 2,
            seed: number("CAULK_GENERATED_SEED").unwrap_or(0),
            shown: 5,
            weaknesses: WEAKNESSES,
            exceptions: EXCEPTIONS,
            unlisted: UNLISTED,
        }
    }

    pub(crate) fn known_weakness(&self, function: &Function) -> Option<&'static str> {
        let used = function.features();
        let has_all = |features: &[Feature]| features.iter().all(|f| used.contains(f));
        self.weaknesses.iter().find(|(features, _)| has_all(features)).map(|(_, why)| *why)
    }

    pub(crate) fn known_exception(&self, function: &wide::Function, form: Form, leaks: bool) -> Option<&'static str> {
        let covers = |e: &&Exception| e.is_missed == leaks && (e.covers)(function, form);
        self.exceptions.iter().find(covers).map(|e| e.name)
    }
}

fn number(variable: &str) -> Option<u64> {
    std::env::var(variable).ok()?.parse().ok()
}
