//! One symbol, several units: who gets called.

use crate::support::{check, check_in, function, program};

#[test]
fn static_functions_of_one_name_stay_apart() {
    let p = program(&[
        "define @a() {\n call void @helper()\n return\n}\ndefine internal @helper() {\n return\n}",
        "define @b() {\n call void @helper()\n return\n}\ndefine internal @helper() {\n return\n}",
    ]);
    check(&p, "a", "helper /0.c");
    check(&p, "b", "helper /1.c");
    assert_eq!(p.functions_named("helper").len(), 2);
}

#[test]
fn a_static_function_is_not_seen_elsewhere() {
    let p = program(&[
        "define @a() {\n call void @helper()\n return\n}",
        "define internal @helper() {\n return\n}\ndefine @b() {\n call void @helper()\n return\n}",
    ]);
    check(&p, "a", "helper");
    check(&p, "b", "helper /1.c");
    let missing: Vec<_> = p.missing_bodies().iter().map(|m| (p.function(m.0).symbol, m.1)).collect();
    assert_eq!(missing, [("helper", 1)]);
}

#[test]
fn a_strong_definition_beats_weak_ones() {
    let p = program(&[
        "define weak @hook() {\n return\n}\ndefine @a() {\n call void @hook()\n return\n}",
        "define @hook() {\n return\n}",
        "define weak @hook() {\n return\n}\ndefine @b() {\n call void @hook()\n return\n}",
    ]);
    check(&p, "a", "hook /1.c");
    check(&p, "b", "hook /1.c");
}

#[test]
fn of_weak_definitions_the_first_counts() {
    let weak = "define weak @hook() {\n return\n}";
    let p = program(&["define @a() {\n call void @hook()\n return\n}", weak, weak]);
    check(&p, "a", "hook /1.c");
}

#[test]
fn copies_of_an_inline_function_are_one() {
    let copy = "define link_once @_Z3minii() at 0:3 {\n return\n}";
    let header = "file 0 \"/h.h\"\n";
    let a = format!("{header}{copy}\ndefine @a() {{\n call void @_Z3minii()\n return\n}}");
    let b = format!("{header}{copy}\ndefine @b() {{\n call void @_Z3minii()\n return\n}}");
    let p = program(&[&a, &b]);
    check(&p, "a", "_Z3minii /0.c");
    check(&p, "b", "_Z3minii /0.c");
    assert_eq!(p.functions_named("_Z3minii").len(), 1);
}

#[test]
fn inline_functions_from_different_places_stay_apart() {
    let p = program(&[
        "define link_once @_ZN4Test3runEv() at 0:3 {\n return\n}\ndefine @a() {\n call void @_ZN4Test3runEv()\n return\n}",
        "define link_once @_ZN4Test3runEv() at 0:9 {\n return\n}\ndefine @b() {\n call void @_ZN4Test3runEv()\n return\n}",
    ]);
    check(&p, "a", "_ZN4Test3runEv /0.c");
    check(&p, "b", "_ZN4Test3runEv /1.c");
}

#[test]
fn tentative_definitions_are_one_variable() {
    let use_it = |name: &str| format!("global common @count size 4\ndefine @{name}() {{\n return\n}}");
    let p = program(&[&use_it("a"), &use_it("b"), "global @count size 4 = external"]);
    assert_eq!(p.globals().len(), 1);
    let p = program(&[&use_it("a"), "global @count size 4 = { +0 7:i32 }"]);
    let strong = p.resolve_global(caulk_program::UnitId(0), caulk_ir::GlobalId(0));
    assert_eq!(p.global(strong[0]).unit.0, 1);
}

#[test]
fn aliases_are_followed() {
    let p = program(&[
        "define internal @impl() {\n return\n}\nalias @open = @impl\nalias weak @old_open = @impl",
        "define @a() {\n call void @open()\n call void @old_open()\n return\n}",
    ]);
    check(&p, "a", "impl /0.c; impl /0.c");
}

#[test]
fn chains_of_aliases_are_followed() {
    let p = program(&[
        "define @impl() {\n return\n}\ndeclare @second()\nalias @second = @impl\nalias @first = @second",
        "define @a() {\n call void @first()\n return\n}",
    ]);
    check(&p, "a", "impl /0.c");
}

#[test]
fn aliases_in_a_circle_end() {
    let p = program(&[
        "declare @x()\ndeclare @y()\nalias @x = @y\nalias @y = @x\ndefine @a() {\n call void @x()\n return\n}",
    ]);
    check(&p, "a", "x");
}

#[test]
fn a_strong_definition_beats_a_weak_alias() {
    let p = program(&[
        "define internal @impl() {\n return\n}\nalias weak @open = @impl",
        "define @open() {\n return\n}",
        "define @a() {\n call void @open()\n return\n}",
    ]);
    check(&p, "a", "open /1.c");
}

#[test]
fn an_alias_means_the_definition_of_its_own_unit() {
    let p = program(&[
        "define weak @impl() {\n return\n}\nalias @open = @impl",
        "define @impl() {\n return\n}",
        "define @a() {\n call void @open()\n call void @impl()\n return\n}",
    ]);
    check(&p, "a", "impl /0.c; impl /1.c");
}

#[test]
fn aliases_of_variables_are_followed() {
    let p = program(&["global @real size 4\nalias @other = @real", "global @other size 4 = external"]);
    assert_eq!(p.globals().len(), 1);
}

#[test]
fn a_body_for_the_optimiser_gives_way_to_the_real_one() {
    let hint = "define available_externally @f() {\n return\n}\ndefine @a() {\n call void @f()\n return\n}";
    let p = program(&[hint, "define @f() {\n return\n}"]);
    check(&p, "a", "f /1.c");
    let p = program(&[hint]);
    check(&p, "a", "f /0.c");
}

#[test]
fn functions_are_found_by_name_and_place() {
    let p = program(&[
        "define @_ZN1A3runEv() name \"A::run\" at 10 {\n %x = local 8 @ 11:1\n call void @puts() @ 14:2\n return @ 15:1\n}",
    ]);
    let run = function(&p, "A::run");
    assert_eq!(run, function(&p, "_ZN1A3runEv"));
    assert_eq!(p.functions_at("0.c", 12), [run]);
    assert_eq!(p.functions_at("/0.c", 15), [run]);
    assert!(p.functions_at("0.c", 16).is_empty());
    assert!(p.functions_at("0.c", 9).is_empty());
    assert_eq!(p.function(run).last_line, 15);
    check_in(&p, "A::run", "/0.c", "puts");
}
