//! The command line as a user meets it: exit statuses, and the messages that say what to do.

mod project;

use std::fs;

use project::{GOOD, Project, Run, finished, have, in_example, make_executable};

#[test]
fn everything_read_is_status_0_and_silent() {
    let project = Project::with_database(&[("a.c", GOOD)], &["a.c"]);
    let run = project.run(&["ir"]);
    assert_eq!((run.status, run.stderr.as_str()), (0, ""));
    run.prints(&["unit \"a.c\"", "define @good(n: i32) -> ptr", "@ 2:21"]);
}

#[test]
fn no_database() {
    let project = Project::new(&[("a.c", GOOD)]);
    for command in ["ir", "program"] {
        let run = project.run(&[command]);
        run.fails(&[
            "caulk: no compilation database found",
            "compile_commands.json",
            "caulk capture -- make",
            "-p DIR",
        ]);
    }
    project.run(&["ir", "-p", "nowhere"]).fails(&["nowhere: no such file or directory"]);
}

#[test]
fn a_broken_database() {
    let project = Project::new(&[("compile_commands.json", "[\n  {\"directory\": \"/\",\n}")]);
    project.run(&["program"]).fails(&["compile_commands.json:3:1: not a compilation database"]);
    let project = Project::new(&[("compile_commands.json", "[]")]);
    project.run(&["program"]).fails(&["compile_commands.json has no entries", "caulk capture -- make"]);
}

#[test]
fn an_entry_whose_folder_is_gone() {
    let gone = r#"{"directory": "@ROOT@/gone", "file": "b.c", "command": "cc -c b.c"}"#;
    let here = r#"{"directory": "@ROOT@", "file": "a.c", "command": "cc -c a.c"}"#;
    let project = Project::new(&[("a.c", GOOD), ("compile_commands.json", &format!("[{gone}, {here}]"))]);
    let run = project.run(&["ir"]);
    assert_eq!(run.status, 3, "{}", run.stderr);
    run.says(&["caulk: gone/b.c was not read: its build directory is gone", "caulk: 1 of 2 units were read"]);
    run.prints(&["define @good"]);

    let project = Project::new(&[("compile_commands.json", &format!("[{gone}]"))]);
    project.run(&["ir"]).fails(&["nothing to analyse: ", "1 whose directory is gone"]);
}

#[test]
fn a_source_that_is_missing() {
    let project = Project::with_database(&[("a.c", GOOD)], &["a.c", "gone.c"]);
    let run = project.run(&["program"]);
    assert_eq!(run.status, 3, "{}", run.stderr);
    run.says(&["caulk: gone.c was not read: the source file is gone", "1 of 2 units were read"]);
    run.prints(&["1 of 2 (1 lost)"]);
    project.run(&["ir", "never.c"]).fails(&["never.c: no such file or directory"]);
}

#[test]
fn a_unit_that_does_not_compile() {
    let project = Project::with_database(&[("a.c", GOOD), ("bad.c", "int f(void) { return x; }\n")], &["bad.c", "a.c"]);
    let run = project.run(&["ir"]);
    assert_eq!(run.status, 3, "{}", run.stderr);
    run.says(&["caulk: bad.c was not read: ", "bad.c:1:22: error: use of undeclared identifier 'x'", "1 of 2 units"]);
    run.prints(&["define @good"]);
    project.run(&["ir", "bad.c"]).fails(&["undeclared identifier 'x'", "the only unit could not be read"]);
}

#[test]
fn what_is_no_bitcode() {
    let project = Project::new(&[("a.bc", "this is text"), ("a.c", GOOD)]);
    project.run(&["ir", "a.bc"]).fails(&["caulk: a.bc was not read: not bitcode that clang 19 can read"]);
    let run = project.run(&["ir", "a.bc", "a.c"]);
    assert_eq!(run.status, 3, "{}", run.stderr);
    run.prints(&["define @good"]);
}

#[test]
fn an_input_of_another_kind() {
    let project = Project::new(&[("a.rs", "fn main() {}"), ("empty/.keep", "")]);
    project.run(&["ir", "a.rs"]).fails(&["a.rs"]);
    project.run(&["ir", "empty"]).fails(&["no compilation database found"]);
}

#[test]
fn clang_is_missing_or_of_another_version() {
    let project = Project::new(&[("a.c", GOOD), ("clang-14", "#!/bin/sh\necho clang version 14.0.0\n")]);
    let run = project.run(&["ir", "a.c", "--clang", "/nowhere/clang"]);
    run.fails(&["clang 19 was not found", "apt-get install clang-19", "--clang PATH"]);
    let without = project.command(&["ir", "a.c"]).env("PATH", project.root()).output().expect("caulk can be run");
    finished(without).fails(&["clang 19 was not found (looked for clang-19 and clang in PATH)"]);

    make_executable(&project.path("clang-14"));
    let run = project.run(&["ir", "a.c", "--clang", "./clang-14"]);
    run.fails(&["./clang-14 is clang 14, but Caulk reads what clang 19 writes", "--clang PATH"]);
    fs::write(project.path("gcc"), "#!/bin/sh\necho 'gcc (Debian 12.2.0) 12.2.0'\n").expect("writable");
    make_executable(&project.path("gcc"));
    let run = project.run(&["ir", "a.c", "--clang", "./gcc"]);
    run.fails(&["./gcc is not clang: its --version says \"gcc (Debian 12.2.0) 12.2.0\"", "--clang PATH"]);
}

#[test]
fn one_function_by_name_or_symbol() {
    let source = "namespace n { int f(int x) { return x; } }\nint g(int x) { return n::f(x); }\n";
    let project = Project::new(&[("a.cpp", source)]);
    for name in ["n::f", "_ZN1n1fEi"] {
        let run = project.run(&["ir", "a.cpp", "--function", name]);
        assert_eq!(run.status, 0, "{}", run.stderr);
        run.prints(&["define @_ZN1n1fEi(x: i32)"]);
        assert!(!run.stdout.contains("define @_Z1gi"), "{}", run.stdout);
    }
    let run = project.run(&["ir", "a.cpp", "--function", "missing"]);
    run.fails(&["caulk: there is no function \"missing\" in what was read"]);
    project.run(&["graph", "a.cpp", "--kind", "cfg"]).fails(&["needs --function NAME"]);
}

#[test]
fn the_number_of_jobs_makes_no_difference() {
    let names: Vec<String> = (0..7).map(|i| format!("{i}.c")).collect();
    let texts: Vec<String> = (0..7)
        .map(|i| match i {
            4 => "broken\n".to_owned(),
            _ => {
                format!("int f{}(int);\nint f{i}(int n) {{ return n ? f{}(n - 1) : {i}; }}\n", (i + 1) % 7, (i + 1) % 7)
            }
        })
        .collect();
    let files: Vec<(&str, &str)> = names.iter().zip(&texts).map(|(n, t)| (n.as_str(), t.as_str())).collect();
    let project = Project::with_database(&files, &names.iter().map(String::as_str).collect::<Vec<_>>());
    for command in [&["ir"][..], &["program", "--format", "json"], &["graph", "--kind", "calls"]] {
        let with = |jobs: &str| project.run(&[command, &["--no-cache", "--jobs", jobs]].concat());
        let (one, four) = (with("1"), with("4"));
        assert_eq!(one.status, 3, "{}", one.stderr);
        assert_eq!((one.stdout, one.stderr), (four.stdout, four.stderr));
    }
    assert!(!project.path(".caulk").exists());
}

#[test]
fn a_warm_run_prints_the_same_and_two_at_once_do_no_harm() {
    let project =
        Project::with_database(&[("a.c", GOOD), ("b.c", "int b;\nint *get(void) { return &b; }\n")], &["a.c", "b.c"]);
    let both: Vec<_> = (0..3)
        .map(|_| project.command(&["ir"]).stdout(std::process::Stdio::piped()).spawn().expect("caulk can be run"))
        .collect();
    let cold: Vec<Run> = both.into_iter().map(|child| finished(child.wait_with_output().expect("ends"))).collect();
    let warm = project.run(&["ir"]);
    for run in &cold {
        assert_eq!((run.status, &run.stdout), (0, &warm.stdout));
    }
    let left = fs::read_dir(project.path(".caulk/units")).expect("the cache was made");
    assert_eq!(left.count(), 2);

    // Warm means without clang's help: this one could compile nothing.
    let version = "#!/bin/sh\n[ \"$1\" = --version ] && exec clang-19 --version\nexit 1\n";
    fs::write(project.path("only-version"), version).expect("writable");
    make_executable(&project.path("only-version"));
    let run = project.run(&["ir", "--clang", "./only-version"]);
    assert_eq!((run.status, run.stdout), (0, warm.stdout));
}

#[test]
fn a_cache_that_cannot_be_made() {
    let project = Project::new(&[("a.c", GOOD)]);
    project.run(&["ir", "a.c", "--cache", "a.c/cache"]).fails(&["cannot use a.c/cache as the cache", "--no-cache"]);
    assert_eq!(project.run(&["ir", "a.c", "--no-cache"]).status, 0);
}

#[test]
fn capture_records_a_build_that_then_is_read() {
    if !have("bear") || !have("make") || !have("cc") {
        return;
    }
    let makefile = "all: main.o b.o\n%.o: %.c\n\tcc -O2 -Wall -DN=3 -c $< -o $@\n";
    let main = "int half(int);\nint main(void) { return half(N); }\n";
    let files = [("Makefile", makefile), ("main.c", main), ("b.c", "int half(int n) { return n / 2; }\n")];
    let project = Project::new(&files);
    let run = project.run(&["capture", "--", "make"]);
    assert_eq!(run.status, 0, "{}", run.stderr);
    run.says(&["caulk: 2 compilations written to compile_commands.json"]);
    let run = project.run(&["program"]);
    assert_eq!((run.status, run.stderr.as_str()), (0, ""));
    run.prints(&["units             2\n", "functions         2 "]);

    let again = project.run(&["capture", "--", "make"]);
    assert_eq!(again.status, 2);
    again.says(&["no compilation was recorded", "clean the build first"]);
    assert_eq!(project.run(&["program"]).status, 0, "the database of the first build stays");
}

/// A build may take an hour: that its database cannot be written is said before.
#[test]
fn capture_says_first_that_it_cannot_write() {
    if !have("bear") {
        return;
    }
    let project = Project::new(&[("folder/.keep", "")]);
    for (place, reason) in [("missing/db.json", "No such file or directory"), ("folder", "directory")] {
        let run = project.run(&["capture", "-o", place, "--", "touch", "built"]);
        run.fails(&["cannot write ", place, reason]);
        assert!(!project.path("built").exists(), "the build has run");
        let own = run.stderr.replace(&*project.path("").to_string_lossy(), "");
        assert!(!own.contains(".tmp"), "{}", run.stderr);
    }
}

#[test]
fn a_wrong_argument_is_explained() {
    let project = Project::new(&[]);
    project.run(&["ir", "--jobs", "0"]).fails(&["--jobs"]);
    project.run(&["no-such-command"]).fails(&["no-such-command", "--help"]);
    let help = project.run(&["--help"]);
    assert_eq!(help.status, 0);
    help.prints(&["ir", "program", "graph", "capture"]);
}

/// `caulk ir | head`: the rest is not wanted, and no message is printed.
#[test]
fn a_reader_that_goes_away() {
    let many: String = (0..1_000).map(|i| format!("int f{i}(int n) {{ return n + {i}; }}\n")).collect();
    let project = Project::new(&[("a.c", &many)]);
    let piped = std::process::Stdio::piped;
    let mut command = project.command(&["ir", "a.c", "--no-cache"]);
    let mut child = command.stdout(piped()).stderr(piped()).spawn().expect("caulk can be run");
    drop(child.stdout.take());
    let run = finished(child.wait_with_output().expect("it ends"));
    assert_eq!((run.status, run.stderr.as_str()), (0, ""));
}

#[test]
fn why_tells_the_outcome_of_an_object() {
    let project = Project::new(&[]);
    let run = in_example(&project, &["why", "config.c:103"]);
    assert_eq!((run.status, run.stderr.as_str()), (0, ""));
    run.prints(&[
        "config.c:103: value = next_word(&cursor);\n",
        "value allocated by next_word > xstrndup > xmalloc",
        "returns at 107: forgotten at 107 - candidate",
        "returns at 112: kept by config->title (stored at 111)\n",
        "returns at 129: freed at 128 by free()\n",
        "104 branch not taken, 106 branch taken",
        "confirmed: 100 `if (*cursor != '=')` is not taken, 104 `if (value == NULL)` is not taken, 106 ",
    ]);
    let loss = in_example(&project, &["why", "config.c:107"]);
    loss.prints(&["config.c:107: nothing is allocated here, in parse_setting", "returns at 107: forgotten"]);
    let call = in_example(&project, &["why", "config.c:99"]);
    call.prints(&["calls skip_blanks(), which allocates nothing", "lines of parse_setting that allocate: 103\n"]);
    in_example(&project, &["why", "nowhere.c:1"]).fails(&["there is no file nowhere.c"]);
    in_example(&project, &["why", "config.c"]).fails(&["\"config.c\" is no place in the source", "FILE:LINE"]);
}

/// What the cheap stage suspects and the precise one knows better.
#[test]
fn why_tells_what_the_second_stage_decided() {
    let source = "#include <stdlib.h>\nint f(int n, int m) {\n    char *p = 0;\n    if (n * 2 > m + 8)\n        p = malloc(3);\n    \
        if (n * 2 > m + 4)\n        free(p);\n    return n;\n}\n";
    let project = Project::new(&[("a.c", source)]);
    let refuted = "refuted: conditions on the way there exclude each other, as the solver shows";
    project.run(&["why", "a.c:5", "a.c"]).prints(&["- candidate", refuted]);
    let leaks = source.replace("m + 4", "m + 12");
    fs::write(project.path("a.c"), leaks).expect("writable");
    project.run(&["why", "a.c:5", "a.c"]).prints(&["- candidate", "confirmed: "]);

    let source = "#include <stdlib.h>\nint g(int n) {\n    char *p = malloc(3);\n    if (!p)\n        return 1;\n    \
        int is_six = n * 2 == 6;\n    if (!is_six)\n        free(p);\n    if (is_six && n != 3)\n        return 2;\n    \
        if (is_six)\n        free(p);\n    return 0;\n}\n";
    fs::write(project.path("a.c"), source).expect("writable");
    let condition = "exclude each other; once it is allocated, this cannot be: 9 `n != 3` is true\n";
    project.run(&["why", "a.c:3", "a.c"]).prints(&["- candidate", condition]);
}

/// Where a structure is freed: which fields own memory, and why the rules report what is left of it, or do not.
#[test]
fn why_tells_what_a_destructor_does() {
    let source = "#include <stdlib.h>\n#include <string.h>\nstruct S { char *name, *path; };\n\
        struct S *make(const char *n) {\n    struct S *s = calloc(1, sizeof *s);\n    if (!s)\n        return NULL;\n    \
        s->name = strdup(n);\n    s->path = strdup(n);\n    return s;\n}\n\
        void some(struct S *s) {\n    free(s->name);\n    free(s);\n}\n\
        void all(struct S *s) {\n    free(s->name);\n    free(s->path);\n    free(s);\n}\n\
        char *moved(struct S *s) {\n    char *path = s->path;\n    free(s->name);\n    free(s);\n    return path;\n}\n";
    let project = Project::new(&[("a.c", source)]);
    let name = "S.name, filled in make (a.c:8): freed by this function\n";
    let some = "S is freed at 14; its fields that own memory, in some:\n";
    project.run(&["why", "a.c:14"]).prints(&[some, name, "S.path, filled in make (a.c:9): not freed: reported\n"]);
    project.run(&["why", "a.c:13"]).prints(&["a.c:13: free(s->name);\n", some, name]);
    let all = "S is freed at 19; its fields that own memory, in all:\n";
    project.run(&["why", "a.c:19"]).prints(&[all, name, "S.path, filled in make (a.c:9): freed by this function\n"]);
    let moved =
        "S.path, filled in make (a.c:9): not freed, and not reported: on some path this function uses what it holds";
    project.run(&["why", "a.c:24"]).prints(&["in moved:\n", name, moved]);
}

#[test]
fn the_use_flow_graph() {
    let project = Project::new(&[]);
    let run = in_example(&project, &["graph", "--kind", "useflow", "--function", "parse_setting"]);
    assert_eq!((run.status, run.stderr.as_str()), (0, ""));
    run.prints(&[
        "digraph \"parse_setting\" {",
        "label=\"value: fresh from next_word()\"",
        "128: freed by free()",
        "107: returns\\nwithout an owner\", color=red",
        " -> ",
    ]);
    in_example(&project, &["graph", "--kind", "useflow"])
        .fails(&["a graph of how objects are used needs --function NAME"]);
}

#[test]
fn the_memory_state_transition_graph() {
    let project = Project::new(&[]);
    let run = in_example(&project, &["graph", "--kind", "mstg", "--function", "parse_setting"]);
    assert_eq!((run.status, run.stderr.as_str()), (0, ""));
    run.prints(&[
        "digraph \"parse_setting\" {",
        "s0 [label=\"config->title: accessed\\nconfig->format: accessed\"]",
        "next_word() of line 103: allocated\\nconfig->title: freed",
        "if (value == NULL) is not taken\\nif (*skip_blanks(cursor) != '\\\\0') is taken\\n107: return\", color=red",
    ]);
    let one = in_example(&project, &["graph", "--kind", "mstg", "--function", "parse_setting", "--object", "103"]);
    one.prints(&["s0 [label=\"entry\"]", "s1 [label=\"next_word() of line 103: allocated\"]"]);
    in_example(&project, &["graph", "--kind", "mstg", "--function", "parse_setting", "--object", "1"])
        .fails(&["parse_setting allocates nothing in line 1: leave --object out to see all objects"]);
}

#[test]
fn candidates_name_the_models_that_are_missing() {
    let source = "void *malloc(unsigned long);\nvoid mystery(void *);\nstatic void pass(void *p) { mystery(p); }\n\
        void one(void) { mystery(malloc(1)); }\nvoid two(void) { void *p = malloc(2); pass(p); }\n\
        void three(void (*f)(void *)) { f(malloc(3)); }\n\
        int lose(void) { char *p = malloc(4); return p != 0; }\n";
    let project = Project::new(&[("a.c", source)]);
    let run = project.run(&["candidates", "a.c"]);
    assert_eq!(run.status, 0);
    run.says(&[
        "3 objects escaped to functions without a model: mystery (2), a function pointer in three (1); write a model",
    ]);
    assert!(run.stdout.starts_with("a.c:7:"), "paths below the current directory are relative:\n{}", run.stdout);
    assert!(!project.run(&["candidates", "a.c", "--quiet"]).stderr.contains("without a model"));
}

#[test]
fn rules_are_explained() {
    let project = Project::new(&[]);
    project.run(&["explain"]).prints(&["lost         Memory leak", "forgotten    Memory leak", "(CWE-401)"]);
    project.run(&["explain", "forgotten"]).prints(&["# forgotten", "## How to fix it", "## When it is wrong"]);
    project.run(&["explain", "cwe-401"]).prints(&["lost ", "forgotten ", "`caulk explain RULE` has the page of each"]);
    for number in ["401", "CWE401", "cwe 401"] {
        project.run(&["explain", number]).prints(&["lost ", "forgotten "]);
    }
    project.run(&["explain", "999"]).fails(&["there is no rule \"999\""]);
    project.run(&["explain", "forgoten"]).fails(&["there is no rule \"forgoten\"; did you mean forgotten?"]);
}

#[test]
fn completions_and_manual_pages() {
    let project = Project::new(&[("man/.keep", "")]);
    for shell in ["bash", "zsh", "fish"] {
        project.run(&["completions", shell]).prints(&["caulk", "alloc-failure"]);
    }
    project.run(&["man"]).prints(&[".TH caulk 1", "capture"]);
    assert_eq!(project.run(&["man", "-o", "man"]).status, 0);
    let page = fs::read_to_string(project.path("man/caulk-check.1")).expect("written");
    assert!(page.contains("min\\-confidence"), "{page}");
    assert_eq!(project.run(&["man", "-o", "new/folder"]).status, 0, "the folder is made");
    assert!(project.path("new/folder/caulk-check.1").exists());
    project.run(&["man", "-o", "man/caulk-check.1/x"]).fails(&["cannot write man/caulk-check.1/x"]);
}
