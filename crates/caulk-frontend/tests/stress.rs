//! Sizes and depths that no one writes by hand but generators do: nothing overflows, and what is made stays in
//! proportion to what was read.

mod common;

use std::collections::BTreeSet;

use caulk_ir::{Body, Inst, Unit};
use common::{Project, config};

const PROLOGUE: &str = "void *malloc(unsigned long);\nvoid free(void *);\nint use(void *);\nint fill(void **);\n";

fn lower(text: &str) -> Unit {
    let project = Project::new(&[("big.c", text)]);
    let unit = project.read(&["big.c"], &["-fbracket-depth=1024"], &config()).pop().expect("one job, one result");
    unit.unwrap_or_else(|lost| panic!("{}: {}", lost.source, lost.reason)).unit.unpack()
}

/// The body of `int f(int n)` with `count` times `piece`, in which `@` stands for a number that counts up.
fn repeated(start: &str, piece: &str, count: usize, end: &str) -> Body {
    let pieces: String = (0..count).map(|i| piece.replace('@', &i.to_string()) + "\n").collect();
    let unit = lower(&format!("{PROLOGUE}int f(int n) {{\n{start}\n{pieces}{end}\n}}\n"));
    let f = unit.function_by_symbol("f").expect("f is defined");
    unit.functions[f].body.clone().expect("f has a body")
}

/// How many instructions satisfy `wanted`.
fn count(body: &Body, wanted: impl Fn(&Inst) -> bool) -> usize {
    body.insts.values().filter(|i| wanted(i)).count()
}

/// The different lines at which the function returns.
fn return_lines(body: &Body) -> BTreeSet<u32> {
    let returns = body.insts.iter().filter(|(_, i)| matches!(i, Inst::Return { .. }));
    returns.map(|(id, _)| body.place(id).line).collect()
}

fn check_size(body: &Body, pieces: usize, most_each: usize) {
    let size = body.insts.len();
    assert!(size <= pieces * most_each + 100, "{size} instructions for {pieces} pieces");
}

#[test]
fn nothing_at_all() {
    let unit = lower("");
    assert!(unit.functions.is_empty() && unit.globals.is_empty());
}

#[test]
fn only_declarations() {
    let unit = lower("struct s;\nextern int x;\nint f(struct s *);\ntypedef int t;\nenum { A };\nint f(struct s *);\n");
    assert!(unit.functions.values().all(|f| f.body.is_none()));
}

#[test]
fn many_statements() {
    let body = repeated("int a = 0; void *p = 0;", "a += use(p) * @; p = malloc(a);", 20_000, "return a;");
    assert_eq!(count(&body, |i| matches!(i, Inst::Call(_))), 40_000);
    check_size(&body, 20_000, 8);
}

#[test]
fn a_switch_of_many_cases() {
    let case = "case @: { void *q; if (fill(&q)) return @; break; }";
    let body = repeated("switch (n) {", case, 5_000, "} return -1;");
    assert_eq!(count(&body, |i| matches!(i, Inst::Switch { cases, .. } if cases.len() == 5_000)), 1);
    assert_eq!(return_lines(&body).len(), 5_001);
    check_size(&body, 5_000, 16);
}

#[test]
fn many_returns() {
    let start = "void *p = malloc(n), *q = malloc(n);";
    let body = repeated(start, "if (use(p) == @) return @;", 3_000, "free(q); return -1;");
    assert_eq!(return_lines(&body).len(), 3_001);
    check_size(&body, 3_000, 9);
}

#[test]
fn many_scopes() {
    let scope = "for (;;) { void *p; if (fill(&p)) return @; if (use(p)) continue; break; }";
    let body = repeated("", scope, 5_000, "return -1;");
    assert_eq!(return_lines(&body).len(), 5_001);
    check_size(&body, 5_000, 24);
}

/// Each return needs copies of all the scopes around it; far beyond what people write, they stay joined.
#[test]
fn returns_from_deep_scopes() {
    let nested = |depth: usize| {
        repeated("", "{ void *p@; if (fill(&p@)) return @;", depth, &format!("{} return -1;", "}".repeat(depth)))
    };
    assert_eq!(return_lines(&nested(30)).len(), 31);
    check_size(&nested(300), 300, 40);
}

#[test]
fn a_long_chain_of_conditions() {
    let body = repeated("void *p = 0; if (n < 0) ;", "else if (n == @) p = malloc(@);", 1_500, "free(p); return 0;");
    assert_eq!(count(&body, |i| matches!(i, Inst::Branch { .. })), 1_501);
    check_size(&body, 1_500, 9);
}

/// Many variables live over many joins: one phi where a variable changes, none where it only passes through.
#[test]
fn many_variables() {
    let declared = "int v@ = use(0); if (n > @) v@ = use(0);";
    let used: String = (0..2_000).map(|i| format!("v{i} += v{};\n", (i + 1) % 2_000)).collect();
    let body = repeated("", declared, 2_000, &format!("while (use(0)) {{ {used} }} return v0;"));
    assert_eq!(count(&body, |i| matches!(i, Inst::Phi { .. })), 4_000);
}

#[test]
fn deep_expressions_and_blocks() {
    let text = format!(
        "int deep(int n) {{ return {}n{}; }}\nint blocks(int n) {}{{ int k = n; n = k; }}{}\n",
        "(1 + ".repeat(300),
        ")".repeat(300),
        "{".repeat(300),
        " return n; }".repeat(300)
    );
    let unit = lower(&text);
    assert_eq!(unit.functions.values().filter(|f| f.body.is_some()).count(), 2);
}

#[test]
fn deep_and_circular_types() {
    let nested: String = (1..80).map(|i| format!("struct n{i} {{ struct n{} in; void *p; }};\n", i - 1)).collect();
    let text = format!(
        "struct a; struct b {{ struct a *a; struct b *self[4]; }}; struct a {{ struct b b; struct a (*make)(struct a *); }};\n\
         typedef int **********************************************************************************t;\n\
         struct n0 {{ void *p; }};\n{nested}\
         void *f(struct a *x, struct n79 *deep, t far) {{ return x->b.a->make ? deep->in.in.in.p : far; }}\n"
    );
    let unit = lower(&text);
    let deepest = unit.structs.values().filter(|s| unit.str(s.name).starts_with('n')).map(|s| s.size).max();
    assert_eq!(deepest, Some(640));
}
