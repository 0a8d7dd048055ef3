//! Calls through pointers.

use caulk_program::{Program, ProgramConfig, Resolution};

use crate::support::{check, function, program, unit};

const FUNCTIONS: &str = "define @one(p: ptr) {\n return\n}\ndefine @two(p: ptr) {\n return\n}\n\
                         define @three(p: ptr, n: i32) {\n return\n}\n";

/// One unit with the functions `one(ptr)`, `two(ptr)` and `three(ptr, i32)`; `@f` makes the calls.
#[track_caller]
fn case(text: &str, expected: &str) {
    check(&program(&[&format!("{FUNCTIONS}{text}")]), "f", expected);
}

#[test]
fn a_field_holds_what_is_stored_into_it() {
    case(
        "struct ops size 16 {\n open: 0 -> * fn\n close: 8 -> * fn\n}\n\
         define @init(o: ptr -> *ops) {\n %a = address %o, ops.open\n store ptr &@one, %a\n\
         %b = address %o, ops.close\n store ptr &@two, %b\n return\n}\n\
         define @f(o: ptr -> *ops) {\n %a = address %o, ops.open\n %g = load ptr %a\n call void %g(ptr null)\n return\n}",
        "one /0.c",
    );
}

#[test]
fn the_first_field_needs_no_step() {
    case(
        "struct ops size 8 {\n open: 0 -> * fn\n}\n\
         define @init(o: ptr -> *ops) {\n store ptr &@one, %o\n return\n}\n\
         define @f(o: ptr -> *ops) {\n %a = address %o, ops.open\n %g = load ptr %a\n call void %g(ptr null)\n return\n}",
        "one /0.c",
    );
}

#[test]
fn a_constant_structure_seen_through_pointers() {
    case(
        "struct ops size 16 {\n open: 0 -> * fn\n close: 8 -> * fn\n}\n\
         global @impl size 16 const -> ops = { +0 &@one, +8 &@two }\n\
         define @get() -> ptr -> *ops {\n return @impl\n}\n\
         define @f() {\n %o = call ptr @get()\n %a = address %o, ops.close\n %g = load ptr %a\n call void %g(ptr null)\n return\n}",
        "get /0.c; two /0.c",
    );
}

#[test]
fn a_variable_not_shared_keeps_to_itself() {
    // Both are `ops`, but only `shared` can be reached through pointers.
    case(
        "struct ops size 8 {\n open: 0 -> * fn\n}\n\
         global @own size 8 -> ops = { +0 &@one }\nglobal @shared size 8 -> ops = { +0 &@two }\n\
         define @set(o: ptr -> *ops) {\n %a = address %o, ops.open\n store ptr &@two, %a\n return\n}\n\
         define @f() {\n call void @set(ptr @shared)\n %a = address @own, ops.open\n %g = load ptr %a\n call void %g(ptr null)\n return\n}",
        "set /0.c; one /0.c",
    );
}

#[test]
fn a_table_of_structures() {
    case(
        "struct cmd size 16 {\n name: 0 -> *\n run: 8 -> * fn\n}\n\
         global @cmds size 32 const -> cmd = { +8 &@one, +24 &@two }\n\
         define @f(i: i64) {\n %a = address @cmds, [%i * 16], cmd.run\n %g = load ptr %a\n call void %g(ptr null)\n return\n}",
        "one /0.c, two /0.c",
    );
}

#[test]
fn a_table_walked_by_a_pointer() {
    case(
        "struct cmd size 16 {\n name: 0 -> *\n run: 8 -> * fn\n}\n\
         global @cmds size 32 const -> cmd = { +8 &@one, +24 &@two }\n\
         define @f() {\na: jump b\nb: %c = phi ptr [a: @cmds, b: %n]\n %a = address %c, cmd.run\n %g = load ptr %a\n\
         call void %g(ptr null)\n %n = address %c, [1 * 16]\n %d = eq ptr %n, null\n branch %d, b, e\ne: return\n}",
        "one /0.c, two /0.c",
    );
}

#[test]
fn an_array_of_functions() {
    case(
        "global @table size 16 const -> * fn = { +0 &@one, +8 &@two }\n\
         define @f(i: i64) {\n %a = address @table, [%i * 8]\n %g = load ptr %a\n call void %g(ptr null)\n return\n}",
        "one /0.c, two /0.c",
    );
}

#[test]
fn an_array_of_functions_passed_on() {
    case(
        "global @table size 16 const -> * fn = { +0 &@one, +8 &@two }\n\
         define @start() {\n call void @f(ptr @table)\n return\n}\n\
         define @f(t: ptr -> ** fn) {\n %a = address %t, [1 * 8]\n %g = load ptr %a\n call void %g(ptr null)\n return\n}",
        "one /0.c, two /0.c",
    );
}

#[test]
fn an_array_on_the_stack() {
    case(
        "define @f(i: i64) {\n var t -> * fn\n %t = local 16 var t\n store ptr &@one, %t\n %b = address %t, [1 * 8]\n\
         store ptr &@two, %b\n %a = address %t, [%i * 8]\n %g = load ptr %a\n call void %g(ptr null)\n return\n}",
        "one /0.c, two /0.c",
    );
}

#[test]
fn a_callback_passed_as_a_parameter() {
    case(
        "define @start() {\n call void @f(ptr null, ptr &@one)\n return\n}\n\
         define @f(p: ptr, cb: ptr -> * fn) {\n call void %cb(ptr %p)\n return\n}",
        "one /0.c",
    );
}

#[test]
fn a_callback_passed_through_another_callback() {
    case(
        "define @start() {\n call void @apply(ptr &@f)\n return\n}\n\
         define @apply(g: ptr -> * fn) {\n call void %g(ptr &@one)\n return\n}\n\
         define @f(cb: ptr -> * fn) {\n call void %cb(ptr null)\n return\n}",
        "one /0.c",
    );
}

#[test]
fn a_returned_function() {
    case(
        "define @pick(n: i1) -> ptr -> * fn {\n %s = select ptr %n, &@one, &@two\n return %s\n}\n\
         define @f() {\n %g = call ptr @pick(i1 true)\n call void %g(ptr null)\n return\n}",
        "pick /0.c; one /0.c, two /0.c",
    );
}

#[test]
fn a_global_pointer() {
    case(
        "global @hook size 8 -> * fn = { +0 &@one }\n\
         define @set() {\n store ptr &@two, @hook\n return\n}\n\
         define @f() {\n %g = load ptr @hook\n call void %g(ptr null)\n return\n}",
        "one /0.c, two /0.c",
    );
}

#[test]
fn a_pointer_set_in_another_unit() {
    let p = program(&[
        "global @hook size 8 -> * fn\ndefine @f() {\n %g = load ptr @hook\n call void %g(ptr null)\n return\n}",
        "global @hook size 8 -> * fn = external\ndeclare @free(ptr)\ndefine @set() {\n store ptr &@free, @hook\n return\n}",
    ]);
    check(&p, "f", "free");
    assert!(p.function(function(&p, "free")).address_taken);
}

#[test]
fn an_out_parameter() {
    case(
        "define @choose(out: ptr -> ** fn) {\n store ptr &@two, %out\n return\n}\n\
         define @f() {\n var g -> * fn\n %l = local 8 var g\n call void @choose(ptr %l)\n %g = load ptr %l\n\
         call void %g(ptr null)\n return\n}",
        "choose /0.c; two /0.c",
    );
}

#[test]
fn the_address_of_a_field_is_followed() {
    case(
        "struct ops size 16 {\n open: 0 -> * fn\n close: 8 -> * fn\n}\n\
         define @put(out: ptr -> ** fn) {\n store ptr &@two, %out\n return\n}\n\
         define @start(o: ptr -> *ops) {\n %a = address %o, ops.close\n call void @put(ptr %a)\n return\n}\n\
         define @f(o: ptr -> *ops) {\n %a = address %o, ops.close\n %g = load ptr %a\n call void %g(ptr null)\n return\n}",
        "two /0.c",
    );
}

#[test]
fn a_copied_structure_brings_its_functions() {
    case(
        "struct ops size 8 {\n open: 0 -> * fn\n}\nglobal @proto size 8 const -> ops = { +0 &@one }\n\
         define @f(o: ptr -> *ops) {\n copy %o, @proto, 8\n %a = address %o, ops.open\n %g = load ptr %a\n\
         call void %g(ptr null)\n return\n}",
        "one /0.c",
    );
}

#[test]
fn a_copy_between_different_structures() {
    case(
        "struct a size 16 {\n x: 0\n run: 8 -> * fn\n}\nstruct b size 16 {\n y: 0\n go: 8 -> * fn\n}\n\
         define @set(p: ptr -> *a) {\n %s = address %p, a.run\n store ptr &@one, %s\n return\n}\n\
         define @f(p: ptr -> *a, q: ptr -> *b) {\n copy %q, %p, 16\n %s = address %q, b.go\n %g = load ptr %s\n\
         call void %g(ptr null)\n return\n}",
        "one /0.c",
    );
}

#[test]
fn an_embedded_structure_is_the_same_wherever_it_lies() {
    case(
        "struct ops size 8 {\n open: 0 -> * fn\n}\nstruct dev size 16 {\n id: 0\n ops: 8 size 8 -> ops\n}\n\
         global @dev0 size 16 -> dev = { +8 &@one }\n\
         define @start() {\n call void @use(ptr @dev0)\n return\n}\ndefine @use(d: ptr -> *dev) {\n return\n}\n\
         define @f(o: ptr -> *ops) {\n %a = address %o, ops.open\n %g = load ptr %a\n call void %g(ptr null)\n return\n}",
        "one /0.c",
    );
}

#[test]
fn an_initialised_union_is_read_through_its_arms() {
    case(
        "struct num size 16 {\n min: 0\n check: 8 -> * fn\n}\nstruct text size 16 {\n max: 0\n other: 8 -> * fn\n}\n\
         union data size 16 {\n num: 0 size 16 -> num\n text: 0 size 16 -> text\n}\n\
         struct option size 24 {\n name: 0 -> *\n data: 8 size 16 -> data\n}\n\
         global @options size 48 -> option = { +16 &@one, +40 &@two }\n\
         define @start() {\n call void @f(ptr @options)\n return\n}\n\
         define @f(o: ptr -> *option) {\n %a = address %o, option.data, data.num, num.check\n %g = load ptr %a\n\
         call void %g(ptr null)\n return\n}",
        "one /0.c, two /0.c",
    );
}

#[test]
fn an_array_on_the_heap() {
    case(
        "declare @malloc(i64) -> ptr -> *\n\
         define @f(i: i64) {\n var t -> ** fn\n %t = call ptr @malloc(i64 16)\n bind t, %t\n %b = address %t, [1 * 8]\n\
         store ptr &@two, %b\n %a = address %t, [%i * 8]\n %g = load ptr %a\n call void %g(ptr null)\n return\n}",
        "malloc; two /0.c",
    );
}

#[test]
fn casts_to_integers_and_back() {
    case(
        "global @slot size 8\ndefine @set() {\n %n = ptr_to_int ptr &@one to i64\n store i64 %n, @slot\n return\n}\n\
         define @f() {\n %n = load i64 @slot\n %g = int_to_ptr i64 %n to ptr\n call void %g(ptr null)\n return\n}",
        "one /0.c",
    );
}

#[test]
fn a_structure_returned_in_a_register() {
    case(
        "define @make() -> agg16 {\n %a = insert agg16 zero, &@one at 0\n %b = insert agg16 %a, 1:i64 at 8\n return %b\n}\n\
         define @f() {\n %a = call agg16 @make()\n %g = extract ptr %a at 0\n call void %g(ptr null)\n return\n}",
        "make /0.c; one /0.c",
    );
}

#[test]
fn the_signature_narrows() {
    let mixed = "global @table size 24 const -> * fn = { +0 &@one, +8 &@three, +16 &@number }\n\
                 define @number(n: i64) {\n return\n}\n";
    let call = |args: &str| {
        format!(
            "{mixed}define @f(i: i64) {{\n %a = address @table, [%i * 8]\n %g = load ptr %a\n call void %g({args})\n return\n}}"
        )
    };
    case(&call("ptr null"), "one /0.c");
    case(&call("ptr null, i32 1"), "three /0.c");
    case(&call("i64 1"), "number /0.c");
    case(&call("f64 1.0"), "?");
}

#[test]
fn a_function_with_fewer_parameters_counts_when_nothing_fits_better() {
    case(
        "define @start() {\n call void @f(ptr &@one)\n return\n}\n\
         define @f(cb: ptr -> * fn) {\n call void %cb(ptr null, ptr null)\n return\n}",
        "one /0.c",
    );
}

#[test]
fn nothing_known_is_unresolved() {
    case("define @f(cb: ptr -> * fn) {\n call void %cb(ptr null)\n return\n}", "?");
}

#[test]
fn a_call_that_may_throw_counts_too() {
    case(
        "define @f() {\n invoke void &@one(ptr null) to a unwind b\na: return\nb: %e = landing_pad agg16\n resume %e\n}",
        "one /0.c",
    );
}

#[test]
fn too_many_targets_are_kept_but_make_no_edges() {
    let text = format!(
        "unit \"/0.c\" pointer 8\n{FUNCTIONS}global @table size 16 const -> * fn = {{ +0 &@one, +8 &@two }}\n\
         define @f(i: i64) {{\n %a = address @table, [%i * 8]\n %g = load ptr %a\n call void %g(ptr null)\n return\n}}"
    );
    let p = Program::link(vec![unit(&text)], ProgramConfig { max_targets: 1, ..ProgramConfig::default() });
    let f = function(&p, "f");
    let site = p.call_sites(f)[0];
    assert_eq!(site.outcome, Resolution::Many);
    assert_eq!(p.targets(&site).len(), 2);
    assert_eq!(p.callees(f).len(), 0);
    assert_eq!(p.totals().indirect_many, 1);
    let p = Program::link(vec![unit(&text)], ProgramConfig { max_values: 1, ..ProgramConfig::default() });
    assert_eq!(p.call_sites(function(&p, "f"))[0].outcome, Resolution::Many);
}
