//! Several programs in one database.

use crate::support::{check_in, link, unit, unit_with_object};

const MAIN: &str = "define @main() {\n call void @helper()\n return\n}";
const HELPER: &str = "define @helper() {\n return\n}";

fn source(path: &str, text: &str) -> String {
    format!("unit \"{path}\" pointer 8\n{text}")
}

#[test]
fn each_main_links_the_helper_of_its_directory() {
    let p = link(vec![
        unit(&source("/a/main.c", MAIN)),
        unit(&source("/b/main.c", MAIN)),
        unit(&source("/b/util.c", HELPER)),
        unit(&source("/a/util.c", HELPER)),
    ]);
    check_in(&p, "main", "/a/main.c", "helper /a/util.c");
    check_in(&p, "main", "/b/main.c", "helper /b/util.c");
}

#[test]
fn the_link_target_decides_before_the_directory() {
    let p = link(vec![
        unit_with_object("CMakeFiles/a.dir/main_a.c.o", &source("/src/main_a.c", MAIN)),
        unit_with_object("CMakeFiles/b.dir/main_b.c.o", &source("/src/main_b.c", MAIN)),
        unit_with_object("CMakeFiles/b.dir/one.c.o", &source("/src/one.c", HELPER)),
        unit_with_object("CMakeFiles/a.dir/far/two.c.o", &source("/src/far/two.c", HELPER)),
    ]);
    check_in(&p, "main", "/src/main_a.c", "helper /src/far/two.c");
    check_in(&p, "main", "/src/main_b.c", "helper /src/one.c");
}

#[test]
fn a_shared_library_calls_back_into_each_program() {
    let main = "define @main() {\n call void @run()\n return\n}\ndefine @callback() {\n return\n}";
    let p = link(vec![
        unit(&source("/a/main.c", main)),
        unit(&source("/b/main.c", main)),
        unit(&source("/lib/run.c", "define @run() {\n call void @callback()\n return\n}")),
    ]);
    check_in(&p, "run", "/lib/run.c", "callback /a/main.c, callback /b/main.c");
}

#[test]
fn what_certain_needs_bring_in_decides_choices() {
    // The program of /a takes /x/impl.c for `needed`; that unit's `helper` then counts although another is nearer.
    let main = "define @main() {\n call void @needed()\n call void @helper()\n return\n}";
    let p = link(vec![
        unit(&source("/a/main.c", main)),
        unit(&source("/a/helper.c", HELPER)),
        unit(&source("/x/impl.c", &format!("{HELPER}\ndefine @needed() {{\n return\n}}"))),
    ]);
    check_in(&p, "main", "/a/main.c", "needed /x/impl.c; helper /x/impl.c");
}

#[test]
fn a_unit_in_no_program_takes_the_nearest_definition() {
    let user = "define @use() {\n call void @helper()\n return\n}";
    let p = link(vec![
        unit(&source("/one/helper.c", HELPER)),
        unit(&source("/two/helper.c", HELPER)),
        unit(&source("/two/sub/use.c", user)),
    ]);
    check_in(&p, "use", "/two/sub/use.c", "helper /two/helper.c");
}

#[test]
fn a_test_that_overrides_a_weak_hook_does_not_change_the_others() {
    let p = link(vec![
        unit(&source("/t1/main.c", "define @main() {\n call void @run()\n return\n}")),
        unit(&source("/t2/main.c", "define @main() {\n call void @run()\n return\n}\ndefine @hook() {\n return\n}")),
        unit(&source(
            "/lib/run.c",
            "define weak @hook() {\n return\n}\ndefine @run() {\n call void @hook()\n return\n}",
        )),
    ]);
    check_in(&p, "run", "/lib/run.c", "hook /t2/main.c, hook /lib/run.c");
}

#[test]
fn a_unit_always_means_its_own_definition() {
    let both = "define @main() {\n call void @helper()\n return\n}\ndefine @helper() {\n return\n}";
    let p = link(vec![unit(&source("/t/1.c", both)), unit(&source("/t/2.c", both))]);
    check_in(&p, "main", "/t/1.c", "helper /t/1.c");
    check_in(&p, "main", "/t/2.c", "helper /t/2.c");
}
