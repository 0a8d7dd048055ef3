//! Programs made to cost much: work and memory stay within their bounds, and what is cut is abandoned. What once took time of the
//! fourth power or memory of the third would not come to an end here.

mod support;

use std::fmt::Write as _;

use caulk_models::Models;
use caulk_program::{FuncId, Program};
use caulk_prove::{Judged, Judgement, Outcome, ProveConfig, Reason, TypedRegions, World, judge, judge_all};

/// Judges all functions of a program, and checks what every answer has to keep to.
fn judged(code: &str, config: &ProveConfig) -> (Program, Vec<Judged>) {
    let program = support::compile_text(&format!("#include <stdlib.h>\n#include <string.h>\n{code}"));
    let models = Models::bundled();
    let regions = TypedRegions::with_bounds(&program, config);
    let world = World::new(&program, &models, &regions, config.clone());
    let functions: Vec<FuncId> = program.functions().filter(|f| program.has_body(*f)).collect();
    let all = judge_all(&world, &functions);
    for judged in &all {
        assert!(judged.probes.len() <= config.max_probes);
        // The step that goes beyond a bound is the last one.
        let share = config.max_work.min(config.max_function_work / judged.probes.len().max(1));
        for (_, answer) in &judged.probes {
            let is_cut = matches!(answer.outcome, Outcome::Abandoned(Reason::Work));
            assert!(answer.work <= share || is_cut, "{} for a share of {share}", answer.work);
            assert!(answer.facts <= config.max_stored, "{} facts are kept", answer.facts);
        }
    }
    (program, all)
}

fn verdict(code: &str, function: &str) -> Judgement {
    let (program, all) = judged(code, &ProveConfig::default());
    let function = support::function(&program, function);
    all.iter().find(|j| j.function == function).expect("it has a body").verdict()
}

/// `0, 1, 2, ...` in a text, with something between them.
fn repeat(count: usize, between: &str, text: impl Fn(usize) -> String) -> String {
    (0..count).map(text).collect::<Vec<_>>().join(between)
}

#[test]
fn freeing_very_many_parameters_is_proved() {
    const COUNT: usize = 1_000;
    let params = repeat(COUNT, ", ", |i| format!("char *p{i}"));
    let frees = repeat(COUNT, "\n", |i| format!("free(p{i});"));
    assert_eq!(verdict(&format!("void f({params}) {{\n{frees}\n}}"), "f"), Judgement::Proved);
}

#[test]
fn wrappers_around_wrappers_are_looked_at_once() {
    const COUNT: usize = 300;
    let params = repeat(COUNT, ", ", |i| format!("void *p{i}"));
    let names = repeat(COUNT, ", ", |i| format!("p{i}"));
    let mut code = format!("void f0({params}) {{ {} }}\n", repeat(COUNT, " ", |i| format!("free(p{i});")));
    for level in 1..4 {
        writeln!(code, "void f{level}({params}) {{ f{}({names}); }}", level - 1).expect("a string");
    }
    assert_eq!(verdict(&code, "f3"), Judgement::Proved);
}

#[test]
fn very_many_fields_and_allocations_are_abandoned() {
    let fields = repeat(2_000, " ", |i| format!("char *f{i};"));
    let made = repeat(200, "\n", |i| format!("s->f{i} = malloc({});", i + 1));
    let code = format!(
        "struct s {{ {fields} }};\nvoid f(struct s *s) {{\n{made}\n}}\nvoid g(struct s *s) {{ f(s); free(s); }}"
    );
    assert_ne!(verdict(&code, "f"), Judgement::Proved);
    assert_ne!(verdict(&code, "g"), Judgement::Proved);
}

#[test]
fn a_structure_with_exponentially_many_pointers_is_one_region() {
    let mut code = String::from("struct s0 { char *p; };\n");
    for level in 1..30 {
        writeln!(code, "struct s{level} {{ struct s{} a, b; }};", level - 1).expect("a string");
    }
    // Only structures that are looked into have fields.
    let first = format!("s->{}.p", ["a"; 29].join("."));
    writeln!(code, "void f(struct s29 *s) {{ {first} = 0; free(s); }}").expect("a string");
    writeln!(code, "void g(struct s29 *s, struct s29 *t) {{ {first} = 0; memcpy(s, t, sizeof *s); }}")
        .expect("a string");
    assert_ne!(verdict(&code, "f"), Judgement::Proved);
    assert_ne!(verdict(&code, "g"), Judgement::Proved);
}

#[test]
fn a_switch_with_very_many_cases_is_followed() {
    let cases = repeat(1_500, "\n", |i| format!("case {i}: p = malloc({}); break;", i + 1));
    let code = format!("void f(int x) {{ char *p = 0; switch (x) {{\n{cases}\n}} free(p); }}");
    assert_eq!(verdict(&code, "f"), Judgement::Proved);
}

#[test]
fn a_function_with_more_probes_than_are_asked_is_abandoned() {
    let code = "void f(char **a) { a[0] = 0; a[1] = 0; a[2] = 0; } void g(char *a) { free(a); }";
    let (program, all) = judged(code, &ProveConfig { max_probes: 2, ..ProveConfig::default() });
    let of = |name: &str| {
        let function = support::function(&program, name);
        all.iter().find(|j| j.function == function).expect("it has a body")
    };
    assert_eq!(of("f").cut, Some(Reason::Probes));
    assert_eq!(of("f").probes.len(), 2);
    assert_eq!(of("g").cut, None);
}

#[test]
fn a_function_that_is_too_large_is_abandoned() {
    let code = "char *f(int x) { char *p = malloc(x); if (x) { free(p); p = 0; } return p; }";
    let config = ProveConfig { max_table_words: 1, ..ProveConfig::default() };
    let (program, all) = judged(code, &config);
    let function = support::function(&program, "f");
    assert_eq!(all[0].cut, Some(Reason::Size { function }));
    assert_eq!(all[0].verdict(), Judgement::Abandoned);
    assert_eq!(verdict(code, "f"), Judgement::Proved);
}

/// What `caulk query` asks is answered although the rest of the function is too much.
#[test]
fn the_bound_on_probes_counts_only_those_that_are_asked() {
    let program = support::compile_text("void f(char **a) { a[0] = 0; a[1] = 0; a[2] = 0; }");
    let models = Models::bundled();
    let config = ProveConfig { max_probes: 1, ..ProveConfig::default() };
    let regions = TypedRegions::with_bounds(&program, &config);
    let world = World::new(&program, &models, &regions, config);
    let function = support::function(&program, "f");
    let all = judge(&world, function, |_| true).expect("f has a body");
    assert_eq!(all.cut, Some(Reason::Probes));
    let last = program.body(function).expect("f has a body").insts.iter().last().expect("it returns").0;
    let some = judge(&world, function, |probe| probe.place == last).expect("f has a body");
    assert_eq!(some.cut, None);
}
