//! Virtual calls.

use crate::support::{check, program};

/// `B` derives from `A`; `C` from `A` and, at offset 16, `I`. `Z` is a stranger with a function at the same slot.
const CLASSES: &str = "\
class A size 8 identity \"_ZTS1A\" {\n \"_vptr$A\": 0 -> ** fn\n}\n\
class B size 8 identity \"_ZTS1B\" {\n _: 0 size 8 base -> A\n}\n\
class I size 8 identity \"_ZTS1I\" {\n \"_vptr$I\": 0 -> ** fn\n}\n\
class C size 24 identity \"_ZTS1C\" {\n _: 0 size 8 base -> A\n _: 16 size 8 base -> I\n}\n\
class Z size 8 identity \"_ZTS1Z\" {\n \"_vptr$Z\": 0 -> ** fn\n}\n\
global link_once @_ZTI1A size 16 const\n\
global link_once @_ZTI1B size 24 const = { +16 @_ZTI1A }\n\
global link_once @_ZTI1I size 16 const\n\
global link_once @_ZTI1C size 56 const = { +20 2:i32, +24 @_ZTI1A, +32 2:i64, +40 @_ZTI1I, +48 4098:i64 }\n\
global link_once @_ZTI1Z size 16 const\n\
global link_once @_ZTV1A size 32 const = { +8 @_ZTI1A, +16 &@A_run, +24 &@A_stop }\n\
global link_once @_ZTV1B size 32 const = { +8 @_ZTI1B, +16 &@B_run, +24 &@A_stop }\n\
global link_once @_ZTV1I size 24 const = { +8 @_ZTI1I, +16 &@__cxa_pure_virtual }\n\
global link_once @_ZTV1C size 56 const = { +8 @_ZTI1C, +16 &@C_run, +24 &@A_stop, +32 ptr(-16), +40 @_ZTI1C, +48 &@C_ping }\n\
global link_once @_ZTV1Z size 24 const = { +8 @_ZTI1Z, +16 &@Z_other }\n\
declare @__cxa_pure_virtual()\n\
define @A_run(ptr) {\n return\n}\ndefine @A_stop(ptr) {\n return\n}\ndefine @B_run(ptr) {\n return\n}\n\
define @C_run(ptr) {\n return\n}\ndefine @C_ping(ptr) {\n return\n}\ndefine @Z_other(ptr) {\n return\n}\n";

#[track_caller]
fn case(text: &str, expected: &str) {
    check(&program(&[&format!("{CLASSES}{text}")]), "f", expected);
}

const CALL_SLOT_0: &str =
    "%v = load ptr %o\n %e = address %v, [0 * 8]\n %g = load ptr %e\n call void %g(ptr %o)\n return\n}";

#[test]
fn the_class_and_its_children() {
    case(&format!("define @f(o: ptr -> *A) {{\n {CALL_SLOT_0}"), "A_run /0.c, B_run /0.c, C_run /0.c");
    case(&format!("define @f(o: ptr -> *B) {{\n {CALL_SLOT_0}"), "B_run /0.c");
}

#[test]
fn the_slot_counts() {
    case(
        "define @f(o: ptr -> *A) {\n %v = load ptr %o\n %e = address %v, [1 * 8]\n %g = load ptr %e\n call void %g(ptr %o)\n return\n}",
        "A_stop /0.c",
    );
}

#[test]
fn the_first_slot_needs_no_step() {
    case(
        "define @f(o: ptr -> *B) {\n %v = load ptr %o\n %g = load ptr %v\n call void %g(ptr %o)\n return\n}",
        "B_run /0.c",
    );
}

#[test]
fn a_second_base_has_its_own_table() {
    case(&format!("define @f(o: ptr -> *I) {{\n {CALL_SLOT_0}"), "C_ping /0.c");
}

#[test]
fn a_cast_to_the_second_base() {
    case(
        "define @f(c: ptr -> *C) {\n %o = address %c, +16\n %v = load ptr %o\n %g = load ptr %v\n call void %g(ptr %o)\n return\n}",
        "C_ping /0.c",
    );
}

#[test]
fn an_object_in_a_field() {
    case(
        "struct holder size 16 {\n x: 0\n a: 8 -> *B\n}\n\
         define @f(h: ptr -> *holder) {\n %p = address %h, holder.a\n %o = load ptr %p\n %v = load ptr %o\n %g = load ptr %v\n\
         call void %g(ptr %o)\n return\n}",
        "B_run /0.c",
    );
}

#[test]
fn the_variable_tells_the_class() {
    case(
        "declare @make() -> ptr\ndefine @f() {\n var b -> *B\n %o = call ptr @make()\n bind b, %o\n %v = load ptr %o\n\
         %g = load ptr %v\n call void %g(ptr %o)\n return\n}",
        "make; B_run /0.c",
    );
}

#[test]
fn an_unknown_class_leaves_methods_of_one_name() {
    // The same slot of unrelated classes: what is called may be none of them.
    case("define @f(o: ptr) {\n %v = load ptr %o\n %g = load ptr %v\n call void %g(ptr %o)\n return\n}", "?");
    case("define @f(o: ptr) {\n %v = load ptr %o\n %g = load ptr %v\n call void %g(ptr %o, i32 1)\n return\n}", "?");
}

#[test]
fn an_unknown_class_leaves_slot_and_signature() {
    let p =
        program(&["global @_ZTV1A size 24 const = { +16 &@A_run }\nglobal @_ZTV1Z size 24 const = { +16 &@Z_run }\n\
         define @A_run(ptr) name \"A::run\" {\n return\n}\ndefine @Z_run(ptr) name \"Z::run\" {\n return\n}\n\
         define @f(o: ptr) {\n %v = load ptr %o\n %g = load ptr %v\n call void %g(ptr %o)\n return\n}"]);
    check(&p, "f", "A_run /0.c, Z_run /0.c");
}

#[test]
fn a_method_knows_the_class_of_this() {
    let p = program(&[&format!(
        "{CLASSES}define @_ZN1B3runEv(this: ptr) {{\n %v = load ptr %this\n %g = load ptr %v\n call void %g(ptr %this)\n return\n}}"
    )]);
    check(&p, "_ZN1B3runEv", "B_run /0.c");
}

#[test]
fn a_table_of_functions_in_a_field_is_not_virtual() {
    case(
        "struct jobs size 8 {\n table: 0 -> ** fn\n}\n\
         define @f(j: ptr -> *jobs) {\n %a = address %j, jobs.table\n %t = load ptr %a\n %e = address %t, [0 * 8]\n %g = load ptr %e\n\
         call void %g(ptr null)\n return\n}",
        "?",
    );
}

#[test]
fn without_type_information_debug_info_tells_the_bases() {
    let p = program(&["class A size 8 identity \"_ZTS1A\" {\n \"_vptr$A\": 0 -> ** fn\n}\n\
         class I size 8 identity \"_ZTS1I\" {\n \"_vptr$I\": 0 -> ** fn\n}\n\
         class C size 24 identity \"_ZTS1C\" {\n _: 0 size 8 base -> A\n _: 16 size 8 base -> I\n}\n\
         global @_ZTV1C size 48 const = { +16 &@C_run, +24 -16:i64, +40 &@C_ping }\n\
         define @C_run(ptr) {\n return\n}\ndefine @C_ping(ptr) {\n return\n}\n\
         define @f(a: ptr -> *A, i: ptr -> *I) {\n %v = load ptr %a\n %g = load ptr %v\n call void %g(ptr %a)\n\
         %w = load ptr %i\n %h = load ptr %w\n call void %h(ptr %i)\n return\n}"]);
    check(&p, "f", "C_run /0.c; C_ping /0.c");
}

#[test]
fn functions_travel_through_virtual_calls() {
    let p = program(&[
        "class A size 8 identity \"_ZTS1A\" {\n \"_vptr$A\": 0 -> ** fn\n}\nglobal @_ZTI1A size 16 const\n\
         global @_ZTV1A size 24 const = { +8 @_ZTI1A, +16 &@A_each }\n\
         define @A_each(this: ptr, cb: ptr -> * fn) {\n call void %cb()\n return\n}\ndefine @hello() {\n return\n}\n\
         define @f(o: ptr -> *A) {\n %v = load ptr %o\n %g = load ptr %v\n call void %g(ptr %o, ptr &@hello)\n return\n}",
    ]);
    check(&p, "f", "A_each /0.c");
    check(&p, "A_each", "hello /0.c");
}

#[test]
fn an_object_made_here_is_what_it_was_made_as() {
    let constructor =
        "define @_ZN1BC2Ev(this: ptr -> *B) {\n return\n}\ndefine @_ZN1CC2Ev(this: ptr -> *C) {\n return\n}\n";
    let made = |calls: &str| {
        format!(
            "{constructor}declare @_Znwm(i64) -> ptr\ndefine @f() {{\n %o = call ptr @_Znwm(i64 24)\n {calls} {CALL_SLOT_0}"
        )
    };
    case(&made("call void @_ZN1BC2Ev(ptr %o)\n"), "_Znwm; _ZN1BC2Ev /0.c; B_run /0.c");
    // Which of two constructors came last is not asked.
    case(
        &made("call void @_ZN1BC2Ev(ptr %o)\n call void @_ZN1CC2Ev(ptr %o)\n"),
        "_Znwm; _ZN1BC2Ev /0.c; _ZN1CC2Ev /0.c; ?",
    );
}
