//! What a bound cuts is never a finding: with every bound of the engines as small as can be, one at a time and all at once, the
//! programs of `tests/cases` have no finding that they do not have with the default bounds.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::LazyLock;

use caulk_capture::jobs_from_sources;
use caulk_explore::{Exploration, ExploreConfig, Verdict, explore};
use caulk_frontend::{Clang, Config, read_units};
use caulk_ir::InstId;
use caulk_models::Models;
use caulk_program::{FuncId, Program, ProgramConfig, UnitInput};
use caulk_useflow::{Analysis, UseflowConfig, analyse};
use rayon::prelude::*;

static MODELS: LazyLock<Models> = LazyLock::new(Models::bundled);

/// The bounds of all engines.
#[derive(Clone, Default)]
struct Bounds {
    program: ProgramConfig,
    useflow: UseflowConfig,
    explore: ExploreConfig,
}

/// Makes one bound small.
type Shrink = (&'static str, fn(&mut Bounds));

const SHRINKS: &[Shrink] = &[
    ("program.max_targets", |b| b.program.max_targets = 1),
    ("program.max_definitions", |b| b.program.max_definitions = 1),
    ("program.max_programs", |b| b.program.max_programs = 1),
    ("program.max_values", |b| b.program.max_values = 1),
    ("program.max_carrier_walk", |b| b.program.max_carrier_walk = 1),
    ("useflow.max_alternatives", |b| b.useflow.max_alternatives = 1),
    ("useflow.max_facts", |b| b.useflow.max_facts = 1),
    ("useflow.max_visits", |b| b.useflow.max_visits = 1),
    ("useflow.max_block_runs", |b| b.useflow.max_block_runs = 1),
    ("useflow.max_objects", |b| b.useflow.max_objects = 1),
    ("useflow.max_actions", |b| b.useflow.max_actions = 1),
    ("useflow.max_rounds", |b| b.useflow.max_iterations = 1),
    ("useflow.max_chain", |b| b.useflow.max_chain = 1),
    ("useflow.max_opaque_chain", |b| b.useflow.max_opaque_chain = 1),
    ("useflow.max_callback_depth", |b| b.useflow.max_callback_depth = 1),
    ("useflow.max_targets", |b| b.useflow.max_targets = 1),
    ("useflow.max_question_size", |b| b.useflow.max_question_size = 1),
    ("explore.max_steps", |b| b.explore.max_steps = 1),
    ("explore.max_states", |b| b.explore.max_states = 1),
    ("explore.concrete_iterations", |b| b.explore.concrete_iterations = 0),
    ("explore.max_callee_size", |b| b.explore.max_callee_size = 1),
    ("explore.max_callee_steps", |b| b.explore.max_callee_steps = 1),
    ("explore.max_special_size", |b| b.explore.max_special_size = 1),
    ("explore.max_special_steps", |b| b.explore.max_special_steps = 1),
    ("explore.max_special_states", |b| b.explore.max_special_states = 1),
    ("explore.max_givens", |b| b.explore.max_givens = 1),
    ("explore.max_callee_depth", |b| b.explore.max_callee_depth = 1),
    ("explore.max_waiting", |b| b.explore.max_waiting = 1),
    ("explore.max_effects", |b| b.explore.max_effects = 1),
    ("explore.max_opaque", |b| b.explore.max_opaque = 1),
    ("explore.max_targets", |b| b.explore.max_targets = 1),
    ("explore.max_cells", |b| b.explore.max_cells = 1),
    ("explore.cells_per_step", |b| b.explore.cells_per_step = 1),
];

/// A callee that stage two does not execute is known by stage one's summary, which says less of numbers, of globals and of what is
/// freed for which constants. A condition that only its execution refutes is so taken for one that may hold.
const NOT_EXECUTED: &[&str] = &[
    "explore.max_callee_size: guards / Given: a flag that stays while others come and go: counted",
    "explore.max_callee_size: guards / Given: a flag that stays while others come and go: counted_in_a_loop",
    "explore.max_callee_steps: guards / Given: a flag that stays while others come and go: counted",
    "explore.max_callee_steps: guards / Given: a flag that stays while others come and go: counted_in_a_loop",
    "explore.max_callee_size: growable / A count that a loop only adds to: expand",
    "explore.max_callee_size: guards / One of two arguments: show",
    "explore.max_callee_size: ownership / No list, no element: taken",
    "explore.max_callee_steps: growable / A count that a loop only adds to: expand",
    "explore.max_callee_steps: guards / One of two arguments: show",
    "explore.max_callee_steps: ownership / No list, no element: taken",
    "explore.max_effects: growable / A count that a loop only adds to: expand",
    "explore.max_effects: growable / A variable of the caller's that is large enough: enough",
    "explore.max_effects: guards / One of two arguments: show",
    "explore.max_waiting: growable / A variable of the caller's that is large enough: enough",
    "explore.max_waiting: guards / One of two arguments: show",
    "explore.max_callee_size: cxx / Constants that a constructor fills: listen_sound",
    "explore.max_callee_size: cxx / Getters that return a small structure by value: right",
    "explore.max_callee_steps: cxx / Constants that a constructor fills: listen_sound",
    "explore.max_callee_steps: cxx / Getters that return a small structure by value: right",
    "explore.max_effects: cxx / Constants that a constructor fills: listen_sound",
    "explore.max_waiting: cxx / Constants that a constructor fills: listen_sound",
    "explore.max_callee_size: guards / Given: a mode that is kept in a global for a while: first_shared",
    "explore.max_callee_steps: guards / Given: a mode that is kept in a global for a while: first_shared",
    "explore.max_effects: guards / Given: a mode that is kept in a global for a while: first_shared",
    "explore.max_waiting: guards / Given: a mode that is kept in a global for a while: first_shared",
    "explore.max_callee_size: deallocators / Freed unless there is nothing: right_list",
    "explore.max_callee_size: growable / A result that the table holds too: right",
    "explore.max_callee_steps: deallocators / Freed unless there is nothing: right_list",
    "explore.max_callee_steps: growable / A result that the table holds too: right",
    "explore.max_cells: growable / A result that the table holds too: right",
    "explore.max_effects: deallocators / Freed unless there is nothing: right_list",
    "explore.max_effects: growable / A result that the table holds too: right",
    "explore.max_callee_size: guards / What a callee writes is known no longer: field",
    "explore.max_callee_size: guards / What a callee writes is known no longer: global",
    "explore.max_callee_size: lent-and-copied / A length that is no length: load_ok",
    "explore.max_callee_size: melton / A global goes to a global: moves",
    "explore.max_callee_size: melton / A global is freed: uses",
    "explore.max_callee_size: structures / A callee compares with a variable's address: right",
    "explore.max_callee_size: structures / A tag that is one bit of a flag, asked for by a function: right",
    "explore.max_callee_size: structures / A tag that says there is no block: right",
    "explore.max_callee_size: structures / Memory that is cleared: right",
    "explore.max_callee_size: structures / Written through an address that lies in memory: right",
    "explore.max_callee_steps: guards / What a callee writes is known no longer: field",
    "explore.max_callee_steps: guards / What a callee writes is known no longer: global",
    "explore.max_callee_steps: lent-and-copied / A length that is no length: load_ok",
    "explore.max_callee_steps: melton / A global goes to a global: moves",
    "explore.max_callee_steps: melton / A global is freed: uses",
    "explore.max_callee_steps: structures / A callee compares with a variable's address: right",
    "explore.max_callee_steps: structures / A tag that is one bit of a flag, asked for by a function: right",
    "explore.max_callee_steps: structures / A tag that says there is no block: right",
    "explore.max_callee_steps: structures / Written through an address that lies in memory: right",
    "explore.max_effects: guards / Given: how many bytes to read: right",
    "explore.max_effects: lent-and-copied / A length that is no length: load_ok",
    "explore.max_effects: melton / A global is freed: uses",
    "explore.max_effects: structures / A tag that says there is no block: right",
    "explore.max_givens: guards / Given: two parameters that no caller combines: collect",
    "explore.max_special_size: guards / Given: how many bytes to read: right",
    "explore.max_special_states: guards / Given: how many bytes to read: right",
    "explore.max_special_steps: guards / Given: how many bytes to read: right",
    "explore.max_waiting: guards / What a callee writes is known no longer: field",
    "explore.max_waiting: guards / What a callee writes is known no longer: global",
    "explore.max_callee_size: function-pointers / Tables that all set a function: right",
    "explore.max_callee_size: lent-and-copied / A structure that a list copies by its size: right",
    "explore.max_callee_size: lent-and-copied / A structure that a list copies by its size: right_on_heap",
    "explore.max_callee_steps: function-pointers / Tables that all set a function: right",
    "explore.max_callee_steps: lent-and-copied / A structure that a list copies by its size: right",
    "explore.max_callee_steps: lent-and-copied / A structure that a list copies by its size: right_on_heap",
    "explore.max_effects: lent-and-copied / A structure that a list copies by its size: right",
    "explore.max_effects: lent-and-copied / A structure that a list copies by its size: right_on_heap",
    "explore.max_callee_size: handed-out / A status that is zero where the loop goes on: right",
    "explore.max_callee_steps: handed-out / A status that is zero where the loop goes on: right",
    "explore.max_effects: handed-out / A status that is zero where the loop goes on: right",
    "explore.max_effects: collections / Appended at the end that a loop has found: right",
    "explore.max_effects: growable / A count that a callee finds at zero: right",
];

/// What was written and is forgotten is taken for what was there on entry, so that a later condition may hold that cannot. The finding
/// is marked as doubtful.
const FORGOTTEN: &[&str] = &[
    "explore.max_cells: guards / Given: a flag that stays while others come and go: counted",
    "explore.max_cells: guards / Given: a flag that stays while others come and go: counted_in_a_loop",
    "explore.max_cells: growable / A count that a loop only adds to: expand",
    "explore.max_cells: growable / A variable of the caller's that is large enough: enough",
    "explore.max_cells: ownership / No list, no element: taken",
    "explore.max_cells: cxx / Constants that a constructor fills: listen_sound",
    "explore.max_cells: cxx / Getters that return a small structure by value: right",
    "explore.max_cells: guards / What a callee writes is known no longer: field",
    "explore.max_cells: guards / What a callee writes is known no longer: global",
    "explore.max_cells: lent-and-copied / A length that is no length: load_ok",
    "explore.max_cells: structures / A tag that is one bit of a flag, asked for by a function: right",
    "explore.max_cells: collections / Appended at the end that a loop has found: right",
    // One fact is not enough to know that a function without side effects gives the same answer twice, and stage two does not
    // know it either.
    "useflow.max_facts: papers / The same answer twice (SMOKE's and LeakGuard's false report): wrong",
    // Nor that a resize failed, once it is also known not to be one to nothing.
    "useflow.max_facts: library / Found in a block, or not: read_line",
    "useflow.max_facts: guards / What a callee takes out, gives back or fills, executed or not: nothing_resized_ok",
    // Nor that the program ends where a resize failed.
    "useflow.max_facts: growable / A count that a loop only adds to: grow",
    "useflow.max_facts: growable / A result that the table holds too: position",
    "useflow.max_facts: setters / Static pointers that grow, or are looked at before: add",
    "all: growable / A count that a loop only adds to: grow",
    "all: growable / A result that the table holds too: position",
    "all: setters / Static pointers that grow, or are looked at before: add",
    // Nor what an element that was looked for was compared with.
    "useflow.max_facts: choices / Fields of the elements of an array: add",
    "useflow.max_facts: containers / Containers and connections of Qt: freed",
    // Nor that a buffer is given.
    // Nor which of several modes allocate.
    // Nor that there is a string to point into.
    "useflow.max_facts: guards / A result inside a string is not null: right",
    "useflow.max_facts: handed-out / A buffer that is allocated where none is given: right",
    // Nor what a status holds that is given back.
    "useflow.max_facts: cxx / Status objects: use",
    "explore.max_cells: lent-and-copied / A structure that a list copies by its size: right",
    "useflow.max_facts: classes / Objects that nothing deletes: show",
];

/// Paths that become one forget which values went together, and a table of functions that is not followed hides who makes a structure.
const MERGED: &[&str] = &[
    "explore.max_states: collections / A counter that says that an array is not empty: fill",
    "explore.max_states: growable / A count that a loop only adds to: expand",
    "explore.max_states: guards / One of two arguments: show",
    "explore.max_states: growable / A count that a callee finds at zero: right",
    "explore.max_states: handed-out / A status that is zero where the loop goes on: right",
    "program.max_targets: setters / New, whatever a function of the same table does: flex_init",
    "explore.max_targets: function-pointers / Tables that all set a function: right",
    "program.max_targets: function-pointers / Tables that all set a function: right",
    "program.max_values: function-pointers / Tables that all set a function: right",
];

/// A leak that is reported of the function which loses the object is reported of its class too, where the calls to the allocation are
/// not all known any more: by these one sees that both are one.
const TWICE: &[&str] = &[
    "all: cxx / A local array of objects: Careless::~Careless",
    "useflow.max_chain: cxx / A local array of objects: Careless::~Careless",
];

/// A summary that is cut says less of what a callee surely takes out of a place, or fills where it was empty.
const CUT_SUMMARIES: &[&str] = &[
    "useflow.max_actions: guards / What a callee takes out, gives back or fills, executed or not: nothing_resized_ok",
    "useflow.max_actions: guards / What a callee takes out, gives back or fills, executed or not: pushed_ok",
    "useflow.max_block_runs: guards / What a callee takes out, gives back or fills, executed or not: nothing_resized_ok",
    "useflow.max_block_runs: guards / What a callee takes out, gives back or fills, executed or not: pushed_ok",
];

/// A program of the documents: its files' names and texts.
struct Case {
    name: String,
    files: Vec<(String, String)>,
}

/// The code blocks of each section of a document.
fn cases_of(path: &Path) -> Vec<Case> {
    let text = std::fs::read_to_string(path).expect("a document can be read");
    let stem = path.file_stem().unwrap_or_default().to_string_lossy().into_owned();
    let mut cases: Vec<Case> = Vec::new();
    let mut block: Option<(String, String)> = None;
    for line in text.lines() {
        match (&mut block, line.strip_prefix("```")) {
            (Some(_), Some(_)) => {
                let done = block.take().expect("a block is open");
                if let (Some(case), false) = (cases.last_mut(), done.0.is_empty()) {
                    case.files.push(done);
                }
            }
            (Some((_, text)), None) => *text += &format!("{line}\n"),
            (None, Some(fence)) => block = Some((file_name(fence), String::new())),
            (None, None) if line.starts_with('#') => {
                cases.push(Case {
                    name: format!("{stem} / {}", line.trim_start_matches(['#', ' '])),
                    files: Vec::new(),
                });
            }
            (None, None) => {}
        }
    }
    cases.retain(|case| !case.files.is_empty());
    cases
}

/// The name of the file that a block of C is; empty for other blocks.
fn file_name(fence: &str) -> String {
    let mut words = fence.split_whitespace();
    let language = words.next().unwrap_or_default();
    let named = words.find_map(|word| word.strip_prefix("name="));
    match (language, named) {
        ("c" | "cpp", Some(name)) => name.to_owned(),
        ("c" | "cpp", None) => format!("case.{language}"),
        _ => String::new(),
    }
}

fn all_cases() -> Vec<Case> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/cases");
    let entries = std::fs::read_dir(folder).expect("the repository has tests/cases");
    let mut paths: Vec<PathBuf> = entries.map(|entry| entry.expect("readable").path()).collect();
    paths.retain(|path| path.extension().is_some_and(|e| e == "md") && path.file_name() != Some("README.md".as_ref()));
    paths.sort();
    paths.iter().flat_map(|path| cases_of(path)).collect()
}

/// Compiled once, and linked for each set of bounds.
fn compile(case: &Case) -> Vec<UnitInput> {
    let folder = tempfile::tempdir().expect("a temporary directory can be made");
    let mut sources = Vec::new();
    for (name, text) in &case.files {
        let path = folder.path().join(name);
        std::fs::write(&path, text).expect("the source can be written");
        if !name.ends_with(".h") {
            sources.push(path);
        }
    }
    let config =
        Config { clang: Clang::find(None).expect("clang is installed"), cache: None, isolated: None, threads: 1 };
    let units = read_units(&jobs_from_sources(&sources, &[], folder.path()).jobs, &config, &|_| {});
    units.expect("clang runs").into_iter().map(|u| UnitInput::new(u.expect("the case compiles").unit)).collect()
}

fn link(units: &[UnitInput], config: ProgramConfig) -> Program {
    Program::link(units.to_vec(), config)
}

/// A finding: what is lost of which allocation. Where and on which path is left out: with less effort it may be found elsewhere.
type Leak = (FuncId, InstId);

/// What `caulk check` shows unless told otherwise, and whether it is sure of it.
fn findings(analysis: &Analysis, exploration: &Exploration) -> BTreeSet<Leak> {
    let shown = exploration.judged(analysis).filter(|(_, candidate, verdict)| match verdict {
        Verdict::Confirmed(witness) => !witness.needs_alloc_failure || witness.failure_tested,
        Verdict::Unexamined => !candidate.hidden,
        Verdict::Refuted(_) | Verdict::Cut => false,
    });
    shown.map(|(_, candidate, _)| (candidate.function, candidate.allocation)).collect()
}

fn run(program: &Program, bounds: &Bounds) -> BTreeSet<Leak> {
    let analysis = analyse(program, &MODELS, &bounds.useflow);
    findings(&analysis, &explore(program, &bounds.useflow, &analysis, &bounds.explore))
}

/// Findings of a case that only small bounds make, each with the bound.
fn additional(case: &Case) -> Vec<String> {
    let units = compile(case);
    let program = link(&units, ProgramConfig::default());
    let expected = run(&program, &Bounds::default());
    let mut found = Vec::new();
    let all: Vec<Shrink> = vec![("all", |b| SHRINKS.iter().for_each(|(_, shrink)| shrink(b)))];
    for (name, shrink) in SHRINKS.iter().chain(&all) {
        let mut bounds = Bounds::default();
        shrink(&mut bounds);
        let linked = (bounds.program != ProgramConfig::default()).then(|| link(&units, bounds.program.clone()));
        let program = linked.as_ref().unwrap_or(&program);
        for (function, _) in run(program, &bounds).difference(&expected) {
            found.push(format!("{name}: {}: {}", case.name, program.function(*function).name));
        }
    }
    found
}

fn compile_text(text: String) -> Program {
    let text = format!("#include <stdlib.h>\n#include <string.h>\n{text}");
    let case = Case { name: String::new(), files: vec![("case.c".to_owned(), text)] };
    link(&compile(&case), ProgramConfig::default())
}

/// `0, 1, 2, ...` in a text, with something between them.
fn repeat(count: usize, between: &str, text: impl Fn(usize) -> String) -> String {
    (0..count).map(text).collect::<Vec<_>>().join(between)
}

/// A program without leaks, of a size below a bound and of sizes above it.
#[track_caller]
fn never_leaks(sizes: &[usize], program: impl Fn(usize) -> String) {
    for size in sizes {
        let leaks = run(&compile_text(program(*size)), &Bounds::default());
        assert!(leaks.is_empty(), "{} leaks in a program of size {size} that has none", leaks.len());
    }
}

/// `max_actions` and `max_objects` of stage one: a function that frees each of its parameters.
#[test]
fn parameters_that_are_freed() {
    never_leaks(&[50, 100, 300], |n| {
        let params = repeat(n, ", ", |i| format!("char *p{i}"));
        let frees = repeat(n, "\n", |i| format!("free(p{i});"));
        let made = repeat(n, "\n", |i| format!("char *a{i} = malloc({});", i + 1));
        let given = repeat(n, ", ", |i| format!("a{i}"));
        format!("static void f({params}) {{\n{frees}\n}}\nint g(void) {{\n{made}\nf({given});\nreturn 0;\n}}")
    });
}

/// The same bounds, for parameters that are stored where the caller can see them.
#[test]
fn parameters_that_are_kept() {
    never_leaks(&[50, 100, 300], |n| {
        let fields = repeat(n, " ", |i| format!("char *f{i};"));
        let params = repeat(n, ", ", |i| format!("char *p{i}"));
        let stores = repeat(n, "\n", |i| format!("s->f{i} = p{i};"));
        let made = repeat(n, "\n", |i| format!("char *a{i} = malloc({});", i + 1));
        let given = repeat(n, ", ", |i| format!("a{i}"));
        format!(
            "struct s {{ {fields} }};\nvoid f(struct s *s, {params}) {{\n{stores}\n}}\n\
             void g(struct s *s) {{\n{made}\nf(s, {given});\n}}"
        )
    });
}

/// `max_actions` for what is reached from one parameter, and `max_cells` of stage two.
#[test]
fn fields_that_are_filled_and_freed() {
    never_leaks(&[30, 100, 300, 600], |n| {
        let fields = repeat(n, " ", |i| format!("char *f{i};"));
        let fills = repeat(n, "\n", |i| format!("p->f{i} = malloc({});", i + 1));
        let frees = repeat(n, "\n", |i| format!("free(p->f{i});"));
        format!(
            "struct s {{ {fields} }};\nstatic struct s *make(void) {{\nstruct s *p = calloc(1, sizeof *p);\n\
             if (!p) return 0;\n{fills}\nreturn p;\n}}\nstatic void destroy(struct s *p) {{\n{frees}\nfree(p);\n}}\n\
             int use(void) {{ struct s *p = make(); if (!p) return 1; destroy(p); return 0; }}"
        )
    });
}

/// `max_targets` of both stages and of the program, and `max_values`: only some of the functions behind a pointer free.
#[test]
fn handlers_of_which_some_free() {
    never_leaks(&[3, 10, 30, 100, 1_100], |n| {
        let handlers = repeat(n, "\n", |i| match i % 2 {
            0 => format!("static void h{i}(char *p) {{ free(p); }}"),
            _ => format!("static void h{i}(char *p) {{ p[0] = {}; }}", i % 100),
        });
        let table = repeat(n, ", ", |i| format!("h{i}"));
        format!(
            "{handlers}\nstatic void (*table[])(char *) = {{ {table} }};\n\
             void f(int i) {{ char *p = malloc(4); if (p) table[i](p); }}"
        )
    });
}

/// `max_iterations`: what is freed at the end of a cycle of calls reaches its beginning late.
#[test]
fn cycles_of_calls_that_free() {
    never_leaks(&[2, 10, 40], |n| {
        let declared = repeat(n, "\n", |i| format!("void f{i}(char *p, char *q, int x);"));
        let defined = repeat(n, "\n", |i| {
            let (next, other) = ((i + 1) % n, (i * 7 + n - 1) % n);
            format!(
                "void f{i}(char *p, char *q, int x) {{ if (x == {i}) {{ free(p); free(q); return; }} \
                 if (x & 1) f{next}(q, p, x - 1); else f{other}(p, q, x - 2); }}"
            )
        });
        format!("{declared}\n{defined}\nvoid g(int x) {{ char *a = malloc(1), *b = malloc(2); f0(a, b, x); }}")
    });
}

/// `max_visits` and `max_block_runs`: loops in loops, and a parameter that is freed in the innermost.
#[test]
fn loops_that_free_a_parameter() {
    never_leaks(&[2, 6, 30], |n| {
        let loops = repeat(n, "\n", |i| format!("for (int i{i} = 0; i{i} < x; i{i}++) {{ if (i{i} == y) q = p;"));
        format!(
            "static void f(char *p, int x, int y) {{ char *q = 0;\n{loops}\nif (q) {{ free(q); return; }}\n{}\nfree(p); }}\n\
             void g(int x, int y) {{ f(malloc(1), x, y); }}",
            "}".repeat(n)
        )
    });
}

#[test]
fn what_is_cut_is_no_finding() {
    let found: BTreeSet<String> = all_cases().par_iter().flat_map(additional).collect();
    let known: BTreeSet<String> = NOT_EXECUTED
        .iter()
        .chain(FORGOTTEN)
        .chain(MERGED)
        .chain(TWICE)
        .chain(CUT_SUMMARIES)
        .map(|s| (*s).to_owned())
        .collect();
    let more: Vec<&str> = found.difference(&known).map(String::as_str).collect();
    assert!(more.is_empty(), "findings that the default bounds do not have:\n{}", more.join("\n"));
    let fixed: Vec<&str> = known.difference(&found).map(String::as_str).collect();
    assert!(fixed.is_empty(), "known findings of cut runs that are gone; delete them:\n{}", fixed.join("\n"));
}
