//! Transfer functions on the text of core IR: what a function must come to.

mod support;

use caulk_models::Models;
use caulk_prove::{Outcome, ProveConfig, TypedRegions, World, judge};

const TYPES: &str = "\
file 0 \"/t.c\"
struct list size 16 {
  data: 0 size 4
  next: 8 size 8 -> *list
}
global @head size 8 name head at 0:1 -> *list
declare @malloc(i64) -> ptr no_unwind fresh_result name malloc
declare @realloc(ptr, i64) -> ptr name realloc
declare @free(ptr no_capture) no_unwind name free
declare @strange(ptr) -> ptr name strange
declare @abort() no_return name abort
";

/// Judges the function `f`; gives `proved`, or the open probes as kind and outcome.
fn verdict(code: &str) -> String {
    let program = support::parse(&format!("{TYPES}{code}"));
    let models = Models::bundled();
    let regions = TypedRegions::new(&program);
    let world = World::new(&program, &models, &regions, ProveConfig::default());
    let judged = judge(&world, support::function(&program, "f"), |_| true).expect("f has a body");
    if let Some(outside) = judged.outside {
        return format!("outside: it {outside}");
    }
    let open = judged.probes.iter().filter_map(|(probe, answer)| match &answer.outcome {
        Outcome::Proved => None,
        Outcome::MayLeak { .. } => Some(format!("{:?} may leak", probe.kind)),
        Outcome::Abandoned(reason) => Some(format!("{:?} abandoned: {reason}", probe.kind)),
    });
    let open: Vec<String> = open.collect();
    if open.is_empty() { "proved".to_owned() } else { open.join("; ") }
}

#[track_caller]
fn check(code: &str, expected: &str) {
    assert_eq!(verdict(code), expected, "{code}");
}

#[test]
fn a_block_that_is_dropped_leaks() {
    check("define @f() {\nblock0:\n  %0 = call ptr @malloc(i64 16)\n  return\n}", "Dropped may leak");
}

#[test]
fn a_block_that_is_freed_or_returned_does_not() {
    check("define @f() {\nblock0:\n  %0 = call ptr @malloc(i64 16)\n  call void @free(ptr %0)\n  return\n}", "proved");
    check("define @f() -> ptr {\nblock0:\n  %0 = call ptr @malloc(i64 16)\n  return %0\n}", "proved");
}

#[test]
fn a_block_in_a_global_is_held_until_the_global_is_overwritten() {
    check("define @f() {\nblock0:\n  store ptr null, @head\n  return\n}", "Overwritten may leak");
    check("define @f() -> ptr {\nblock0:\n  %0 = load ptr @head\n  store ptr null, @head\n  return %0\n}", "proved");
}

#[test]
fn conditions_contradict() {
    // if (head == NULL) head = malloc(16);
    check(
        "define @f() {
block0:
  %0 = load ptr @head
  %1 = eq ptr %0, null
  branch %1, block1, block2
block1:
  %3 = call ptr @malloc(i64 16)
  store ptr %3, @head
  jump block2
block2:
  return
}",
        "proved",
    );
}

#[test]
fn a_freed_holder_loses_what_it_holds() {
    let code = |rest: &str| format!("define @f(n: ptr -> *list) -> ptr {{\n{rest}\n}}");
    check(&code("block0:\n  call void @free(ptr %0)\n  return null"), "Freed may leak");
    check(
        &code("block0:\n  %1 = address %0, list.next\n  %2 = load ptr %1\n  call void @free(ptr %0)\n  return %2"),
        "proved",
    );
    // Taken out of the block, and then forgotten all the same: the paper's rule for free would miss this one.
    check(
        &code(
            "block0:\n  %1 = address %0, list.next\n  %2 = load ptr %1\n  call void @free(ptr %0)\n  %4 = eq ptr %2, null\n  return null",
        ),
        "Forgotten may leak",
    );
}

#[test]
fn fields_that_go_at_once_do_not_hold_for_each_other() {
    let code = |second: &str| {
        format!(
            "struct pair size 16 {{\n  a: 0 size 8 -> *list\n  b: 8 size 8 -> *list\n}}
define @f(p: ptr -> *pair) {{
block0:
  %1 = call ptr @malloc(i64 16) fresh_result
  %2 = address %0, pair.a
  store ptr %1, %2
  %4 = address %0, pair.b
  store ptr {second}, %4
  call void @free(ptr %0)
  return
}}"
        )
    };
    let overwritten = "Overwritten may leak; Overwritten may leak; ";
    check(&code("%1"), &format!("{overwritten}Freed may leak"));
    check(&code("null"), &format!("{overwritten}Freed may leak"));
}

#[test]
fn selects_and_phis_hand_on() {
    check(
        "define @f(c: i1) -> ptr {
block0:
  %1 = call ptr @malloc(i64 16)
  %2 = select ptr %0, %1, null
  return %2
}",
        "Forgotten may leak",
    );
    check(
        "define @f(c: i1) -> ptr {
block0:
  branch %0, block1, block2
block1:
  %2 = call ptr @malloc(i64 16)
  jump block2
block2:
  %4 = phi ptr [block0: null, block1: %2]
  return %4
}",
        "proved",
    );
}

#[test]
fn a_failing_realloc_leaves_the_old_block() {
    let code = |rest: &str| {
        format!(
            "define @f() -> ptr {{\nblock0:\n  %0 = call ptr @malloc(i64 8)\n  %1 = call ptr @realloc(ptr %0, i64 16)\n{rest}\n}}"
        )
    };
    check(&code("  return %1"), "Forgotten may leak");
    check(
        &code(
            "  %2 = eq ptr %1, null\n  branch %2, block1, block2\nblock1:\n  call void @free(ptr %0)\n  return null\nblock2:\n  return %1",
        ),
        "proved",
    );
}

#[test]
fn copies_move_references_and_fills_lose_them() {
    let code = |rest: &str| format!("define @f(a: ptr -> *list, b: ptr -> *list) {{\nblock0:\n{rest}\n  return\n}}");
    check(&code("  fill %0, 0, 16"), "Overwritten may leak");
    check(&code("  copy %0, %1, 16"), "Overwritten may leak");
    check(
        &code(
            "  %2 = call ptr @malloc(i64 16) fresh_result\n  copy %2, %0, 16\n  fill %0, 0, 16\n  store ptr %2, @head",
        ),
        "Overwritten may leak", // of head alone: what was in *a is in the copy
    );
}

#[test]
fn unknown_code_is_no_proof() {
    check(
        "define @f() {\nblock0:\n  %0 = call ptr @malloc(i64 16)\n  %1 = call ptr @strange(ptr %0)\n  return\n}",
        "Dropped abandoned: a function without body and model is on the way; Forgotten may leak",
    );
}

#[test]
fn a_way_that_ends_the_process_loses_nothing() {
    check(
        "define @f() {\nblock0:\n  %0 = call ptr @malloc(i64 16)\n  call void @abort() no_return\n  unreachable\n}",
        "proved",
    );
}

#[test]
fn callees_are_followed() {
    let keep = "define internal @keep(p: ptr -> *list) {
block0:
  %1 = load ptr @head
  %2 = address %0, list.next
  store ptr %1, %2
  store ptr %0, @head
  return
}
";
    let drop = "define internal @keep(p: ptr -> *list) {\nblock0:\n  return\n}\n";
    let caller = "define @f() {\nblock0:\n  %0 = call ptr @malloc(i64 16)\n  call void @keep(ptr %0)\n  return\n}";
    check(&format!("{keep}{caller}"), "proved");
    check(&format!("{drop}{caller}"), "Forgotten may leak");
}

#[test]
fn numbers_made_to_pointers_are_outside() {
    check(
        "define @f(n: i64) -> ptr {\nblock0:\n  %1 = int_to_ptr i64 %0 to ptr\n  return %1\n}",
        "outside: it makes a pointer from a number",
    );
}
