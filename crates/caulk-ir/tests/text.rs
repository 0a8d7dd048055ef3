//! The text form: what is printed can be read back, and what is short can be written by hand.

use caulk_ir::text::{parse_unit, print_function, print_unit};
use caulk_ir::{Callee, Inst, InstId, Type, Unit};

const EVERYTHING: &str = include_str!("units/everything.ir");

fn parse(text: &str) -> Unit {
    parse_unit(text).unwrap_or_else(|error| panic!("{error}\n{text}"))
}

/// `short` means the same as the canonical `long`.
fn check(short: &str, long: &str) {
    let unit = parse(short);
    let printed = print_unit(&unit);
    assert_eq!(printed.trim(), long.trim());
    assert_eq!(parse(&printed), parse(&print_unit(&parse(&printed))));
}

fn check_error(text: &str, expected: &str) {
    let error = parse_unit(text).expect_err(text);
    assert_eq!(error.to_string(), expected, "{text}");
}

#[test]
fn everything_goes_round() {
    let unit = parse(EVERYTHING);
    assert_eq!(print_unit(&unit), EVERYTHING);
    assert_eq!(parse(&print_unit(&unit)), unit);
}

#[test]
fn a_packed_unit_goes_round_without_bodies() {
    let packed = caulk_ir::PackedUnit::pack(parse(EVERYTHING));
    let text = print_unit(&packed.unit);
    let again = parse(&text);
    assert!(again.functions.values().all(|f| f.body.is_none()));
    assert_eq!(print_unit(&again), text);
    let parse_id = packed.unit.function_by_symbol("parse").unwrap();
    let function = print_function(&packed.unit, parse_id, &packed.body(parse_id).unwrap());
    assert!(EVERYTHING.ends_with(&function), "{function}");
}

#[test]
fn short_text_means_what_it_seems_to() {
    check(
        r#"
define @f(p: ptr -> *list, n: i64) -> i32 {        ; no unit, no file, no var, no declaration
  %node = call ptr @malloc(i64 16)
  bind p, %node
  %next = address %node, list+8
  store ptr null, %next
  %c = ugt i64 %n, 4
  branch %c, big, done
big:
  switch i64 %n {
    5 -> done,
    else -> done,
  }
done: return 0 }
"#,
        r#"
unit "" pointer 8
struct list size 0

define @f(p: ptr -> *list, n: i64) -> i32 {
  var p param 0 -> *list
block0:
  %2 = call ptr @malloc(i64 16)
  bind p, %2
  %4 = address %2, list+8
  store ptr null, %4
  %6 = ugt i64 %1, 4
  branch %6, block1, block2
block1:
  switch i64 %1 { 5 -> block2, else -> block2 }
block2:
  return 0
}
declare @malloc(i64) -> ptr
"#,
    );
}

#[test]
fn layout_has_defaults() {
    check(
        "unit \"a.c\"\nstruct s {\n a: 0 -> *s\n b: 8 size 4\n}\nstruct t\nglobal @g\nglobal @h = zero\ndefine @f() at 4",
        "unit \"a.c\" pointer 8\nstruct s size 12 {\n  a: 0 size 8 -> *s\n  b: 8 size 4\n}\nstruct t size 0\n\
         global @g size 8\nglobal @h size 8\ndefine @f() at 0:4",
    );
}

#[test]
fn a_unit_without_files_says_so() {
    check("no files\ndeclare @f()", "unit \"\" pointer 8\nno files\ndeclare @f()");
    assert!(parse("no files").files.is_empty());
    assert_eq!(parse("unit \"a.c\"").files.len(), 1);
}

#[test]
fn things_of_one_name_are_numbered() {
    check(
        "define @f() { var n\n var n#7\n bind n#7, null\n bind n, null\n unreachable }",
        "unit \"\" pointer 8\n\ndefine @f() {\n  var n\n  var n#2\nblock0:\n  bind n#2, null\n  bind n, null\n  unreachable\n}",
    );
}

#[test]
fn calls_declare_what_they_call() {
    let unit = parse("define @f() { call i32 @g(ptr null, i8 -1, ...)\n call void @g()\n return }");
    let g = unit.function_by_symbol("g").unwrap();
    assert!(!unit.functions[g].is_definition && unit.functions[g].signature.variadic);
    assert_eq!(unit.functions[g].signature.params, [Type::Ptr, Type::Int(8)]);
    let body = unit.functions.values().next().unwrap().body.as_ref().unwrap();
    assert_eq!(body.insts[InstId(1)].call().unwrap().callee, Callee::Direct(g));
    assert_eq!(body.insts[InstId(2)], Inst::Return { value: None });
}

#[test]
fn errors_say_where_and_what() {
    check_error("define @f() {\n  %1 = lod ptr %0\n}", "line 2, column 8: expected an instruction, found `lod`");
    check_error("define @f() {\n  jump b\n}", "line 2, column 8: block b is not defined");
    check_error("define @f() {\n  return %x\n}", "line 2, column 10: value %x is not defined");
    check_error("define @f() {\n", "line 1, column 14: expected a `}` that closes this");
    check_error("define @f() {\n %x = return\n}", "line 2, column 2: %x has no value: the instruction makes none");
    check_error("define @f(ptr) {\n %0 = local 1\n}", "line 2, column 2: %0 is defined twice");
    check_error("define @f() {\nb:\nb: return\n}", "line 3, column 1: block b is defined twice");
    check_error("define @f() { var n\n var n\n }", "line 2, column 6: variable n is declared twice");
    check_error("define @f() { unbind n#2\n }", "line 1, column 22: there is no variable n#2");
    check_error(
        "define @f() { bind n, 3\n}",
        "line 1, column 24: expected the type of the constant, such as `:i32`, found the end of the line",
    );
    check_error("define @f() { store i8 256, null\n}", "line 1, column 24: 256 does not fit into i8");
    check_error("define @f() { store ptr 3, null\n}", "line 1, column 25: a number cannot be of type ptr");
    check_error(
        "define @f() { store ptr @f, null\n}",
        "line 1, column 25: @f is a function: write `&@f` for its address",
    );
    check_error("define @f() { store ptr @g, null\n}", "line 1, column 25: there is no global @g");
    check_error("define @f() { store ptr &@g, null\n}", "line 1, column 26: there is no function @g");
    check_error(
        "define @f() { address null, s.x\n}",
        "line 1, column 29: there is no field s.x: declare it, or give its offset",
    );
    check_error("define @f() { jump a b\n}", "line 1, column 22: expected the end of the line, found `b`");
    check_error(
        "define @f() { switch i8 0 { 1 -> a }\na: return\n}",
        "line 1, column 37: expected an `else` in the switch, found the end of the line",
    );
    check_error("define @f() { call void @g(i8 1 i8 2)\n}", "line 1, column 33: expected `,` or `)`, found `i8`");
    check_error("define @f()\ndeclare @f()", "line 2, column 1: @f is declared twice");
    check_error("struct s\nunion s", "line 2, column 1: structure s is declared twice");
    check_error(
        "declare @f(ptr @ 1:2)",
        "line 1, column 22: expected a body, since the parameters have places, found the end of the text",
    );
    check_error("alias @a = @b", "line 1, column 12: @b is not declared");
    check_error("file 1 \"x\"", "line 1, column 6: expected file 0: files are numbered in order");
    check_error("global odd @g", "line 1, column 8: expected a linkage such as `internal`, or a symbol, found `odd`");
    check_error("ünit", "line 1, column 1: 'ü' means nothing here");
    check_error("unit \"a", "line 1, column 8: expected `\"` before the end of the line");
    check_error("unit \"\\q\"", "line 1, column 8: expected one of n, t, r, \", \\ and u{...} after `\\`");
    check_error("unit \"\\u{d800}\"", "line 1, column 8: expected a character such as u{1f}");
    check_error(
        "function",
        "line 1, column 1: expected `unit`, `file`, `unknown`, `struct`, `global`, `alias`, `declare` or `define`, found `function`",
    );
}

/// The example of the module's documentation.
#[test]
fn the_documentation_parses() {
    let source = include_str!("../src/text/mod.rs");
    let example = source.split("//! ```").nth(1).expect("an example").trim_start_matches("text");
    let example: Vec<&str> = example.lines().map(|line| line.trim_start_matches("//!")).collect();
    let unit = parse(&example.join("\n"));
    assert_eq!(caulk_ir::verify::verify_unit(&unit), Ok(()));
    assert_eq!((unit.globals.len(), unit.functions.len(), unit.aliases.len()), (3, 2, 1));
}
