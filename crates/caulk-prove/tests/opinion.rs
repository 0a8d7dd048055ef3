//! Second opinions: which findings of others cannot be real, and which may be.

mod support;

use caulk_ir::{Inst, InstId};
use caulk_models::Models;
use caulk_program::Program;
use caulk_prove::{Claim, ProveConfig, TypedRegions, World, contradicts};

const PRELUDE: &str = "#include <stdlib.h>\n\
    struct node { struct node *next, *other; int n; };\n\
    static struct node *all;\n\
    struct node *make(void) {\n    struct node *p = malloc(sizeof *p);\n    if (p) { p->next = all; all = p; }\n    return p;\n}\n";

/// Whether it is contradicted that what `maker` gave to `f` is lost at the last return of `f`.
fn is_contradicted(maker: &str, code: &str) -> bool {
    let program = support::compile_text(&format!("{PRELUDE}{code}"));
    let models = Models::bundled();
    let regions = TypedRegions::new(&program);
    let world = World::new(&program, &models, &regions, ProveConfig::default());
    let function = support::function(&program, "f");
    let (allocation, loss) = ends(&program, maker);
    contradicts(&world, Claim { function, allocation, loss })
}

fn ends(program: &Program, maker: &str) -> (InstId, InstId) {
    let function = support::function(program, "f");
    let is_maker = |f: &caulk_program::FuncId| program.function(*f).name == maker;
    let sites = program.call_sites(function).iter();
    let made = sites.filter(|s| program.targets(s).iter().any(is_maker)).map(|s| s.inst).next();
    let body = program.body(function).expect("the function has a body");
    let returns = body.insts.iter().filter(|(_, inst)| matches!(inst, Inst::Return { .. })).map(|(id, _)| id);
    let last = returns.max_by_key(|id| (body.place(*id).line, *id));
    (made.expect("the function calls its maker"), last.expect("the function returns"))
}

#[test]
fn a_leak_is_not_contradicted() {
    assert!(!is_contradicted(
        "malloc",
        "int f(void) {\n    struct node *p = malloc(sizeof *p);\n    return p != 0;\n}\n"
    ));
}

#[test]
fn what_a_global_list_holds_is_not_lost() {
    assert!(is_contradicted("make", "int f(void) {\n    struct node *p = make();\n    return p != 0;\n}\n"));
    // Unless it was taken out again.
    let taken = "int f(void) {\n    struct node *p = make();\n    if (p) all = p->next;\n    return p != 0;\n}\n";
    assert!(!is_contradicted("make", taken));
}

#[test]
fn what_is_freed_on_every_way_is_not_lost() {
    let freed = "int f(int n) {\n    struct node *p = malloc(sizeof *p);\n    if (n) { free(p); return 0; }\n    free(p);\n    return 1;\n}\n";
    assert!(is_contradicted("malloc", freed));
    let kept = "int f(int n) {\n    struct node *p = malloc(sizeof *p);\n    if (n) free(p);\n    return 1;\n}\n";
    assert!(!is_contradicted("malloc", kept));
}

#[test]
fn a_block_that_only_refers_to_itself_may_be_lost() {
    let own =
        "int f(void) {\n    struct node *p = malloc(sizeof *p);\n    if (p) p->next = p;\n    return p != 0;\n}\n";
    assert!(!is_contradicted("malloc", own));
    let ring = "int f(void) {\n    struct node *p = malloc(sizeof *p);\n    struct node *q = malloc(sizeof *q);\n    \
        if (!p || !q) abort();\n    p->next = q;\n    q->next = p;\n    return 0;\n}\n";
    assert!(!is_contradicted("malloc", ring));
}

#[test]
fn a_fresh_block_is_none_that_was_there_before() {
    let same = "int f(struct node *old) {\n    struct node *p = malloc(sizeof *p);\n    if (p != old) free(p);\n    return 0;\n}\n";
    assert!(is_contradicted("malloc", same));
}

/// In a loop the name of the result means the newest block: there is no opinion.
#[test]
fn nothing_is_said_of_loops() {
    let many = "int f(int n) {\n    struct node *p = 0;\n    while (n--) p = make();\n    return p != 0;\n}\n";
    assert!(!is_contradicted("make", many));
}
