//! Variables and results that never change, and variables that only pass values down.

use caulk_program::Program;

use crate::support::{function, program};

/// Whether `@f` still looks at what it branches on.
fn decides(program: &Program) -> bool {
    let id = function(program, "f");
    let body = program.body(id).expect("f has a body");
    let branches = body.insts.values().filter_map(|inst| match inst {
        caulk_ir::Inst::Branch { cond, .. } => Some(*cond),
        _ => None,
    });
    let mut compared = branches.filter_map(|cond| match &body.insts[cond.value()?] {
        caulk_ir::Inst::Compare { lhs, .. } => Some(*lhs),
        _ => None,
    });
    compared.next().expect("f compares and branches").value().is_some()
}

/// `@f` branches on the variable `flag`; `others` is what else is in the unit.
#[track_caller]
fn case(global: &str, others: &str, expected: bool) {
    let text = format!(
        "{global}\ndefine @f() {{\n %v = load i32 @flag\n %c = ne i32 %v, 0:i32\n branch %c, then, other\n\
         then:\n return\nother:\n return\n}}\n{others}"
    );
    assert_eq!(decides(&program(&[&text])), expected, "{text}");
}

const MAIN: &str = "define @main() -> i32 {\n call void @f()\n return 0:i32\n}\n";

#[test]
fn what_no_code_writes_is_a_constant() {
    case("global internal @flag size 4 = { +0 1:i32 }", "", false);
    case("global internal @flag size 4 = zero", "", false);
    case("global internal @flag size 4 = zero", "define @g() {\n store i32 1:i32, @flag\n return\n}", true);
    case("global internal @flag size 4 = zero", "define @g() -> ptr {\n return @flag\n}", true);
    case("global internal @flag size 4 = zero", "global @table size 8 = { +0 @flag }", true);
}

#[test]
fn what_others_may_write_is_none() {
    case("global @flag size 4 = zero", "", true);
    case("global @flag size 4 const = { +0 1:i32 }", "", false);
    case("global @flag size 4 = zero", MAIN, false);
    case("global @flag size 4 = external", MAIN, true);
}

#[test]
fn a_function_that_always_returns_the_same_is_one() {
    let on = |callee: &str| {
        let text = format!(
            "{callee}define @f() {{\n %v = call i32 @on()\n %c = ne i32 %v, 0:i32\n branch %c, then, other\n\
             then:\n return\nother:\n return\n}}\n"
        );
        decides(&program(&[&text]))
    };
    assert!(!on("define @on() -> i32 {\n return 1:i32\n}\n"));
    assert!(on("define weak @on() -> i32 {\n return 1:i32\n}\n"));
    assert!(on("declare @on() -> i32\n"));
    assert!(on("define @on(n: i32) -> i32 {\n return %n\n}\n"));
}

/// Whether `buffer` only passes a value down.
fn passes_down(text: &str) -> bool {
    let program = program(&[&format!("global internal @buffer size 8 -> * = zero\n{text}")]);
    let buffer = program.globals().find(|g| program.global(*g).symbol == "buffer").expect("it is there");
    program.only_passes_down(buffer)
}

const SINK: &str =
    "define internal @sink() {\n %p = load ptr @buffer\n call void @use(ptr %p)\n return\n}\ndeclare @use(ptr)\n";

#[test]
fn a_variable_that_is_set_before_every_read() {
    let source = "define @source(p: ptr) {\n store ptr %p, @buffer\n call void @sink()\n return\n}\n";
    assert!(passes_down(&format!("{SINK}{source}")));
    // A function for others may be called by others, unless the program is there.
    let public = SINK.replace("internal ", "");
    assert!(!passes_down(&format!("{public}{source}")));
    let main = "define @main() -> i32 {\n call void @source(ptr null)\n return 0:i32\n}\n";
    assert!(passes_down(&format!("{public}{source}{main}")));
    // A second reader that anyone may call keeps it alive.
    assert!(!passes_down(&format!("{SINK}{source}define @other() {{\n call void @sink()\n return\n}}\n")));
    // So does a pointer to the reader, ...
    assert!(!passes_down(&format!("{SINK}{source}global @table size 8 = {{ +0 &@sink }}\n")));
    // ... and a way to it that does not set the variable.
    let sometimes = "define @source(p: ptr, c: i1) {\n branch %c, then, other\nthen:\n store ptr %p, @buffer\n jump other\n\
                     other:\n call void @sink()\n return\n}\n";
    assert!(!passes_down(&format!("{SINK}{sometimes}")));
}

#[test]
fn a_variable_that_is_read_first_or_never() {
    let cache = "define @get(p: ptr) -> ptr {\n %old = load ptr @buffer\n store ptr %p, @buffer\n return %old\n}\n";
    assert!(!passes_down(cache));
    assert!(!passes_down("define @keep(p: ptr) {\n store ptr %p, @buffer\n return\n}\n"));
    assert!(!passes_down(
        "define @keep(p: ptr) {\n store ptr %p, @buffer\n call void @take(ptr @buffer)\n return\n}\ndeclare @take(ptr)\n"
    ));
}
