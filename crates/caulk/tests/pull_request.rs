//! How `caulk check` fits a project's work: named files of a database, what changed, baselines, and paths that do not depend on
//! where it is started.

mod project;

use std::fs;
use std::path::Path;
use std::process::Command;

use project::{LEAK, Project, Run, finished, have, json};

/// `take` frees what it is given, in another file than its callers: read alone, each of them says nothing.
const KEEP: &str = "#include <stdlib.h>\nvoid take(char *p) { free(p); }\nchar *give(int n) { return malloc(n); }\n\
    int lose(int n) {\n    char *q = give(n);\n    return q != 0;\n}\n";
const USE: &str = "char *give(int);\nvoid take(char *);\nint forget(int n) {\n    char *p = give(n);\n    return p != 0;\n}\n\
    int fine(int n) {\n    char *p = give(n);\n    take(p);\n    return n;\n}\n";

fn two_files() -> Project {
    Project::with_database(&[("lib/keep.c", KEEP), ("src/use.c", USE)], &["lib/keep.c", "src/use.c"])
}

fn at(project: &Project, folder: &str, arguments: &[&str]) -> Run {
    let mut command = project.command(arguments);
    finished(command.current_dir(project.path(folder)).output().expect("caulk can be run"))
}

/// The files in which something is lost.
fn files(run: &Run) -> Vec<String> {
    let found = json(&run.stdout);
    let findings = found["findings"].as_array().expect("a list").clone();
    let counts = |f: &&serde_json::Value| f["baseline"] != "unchanged" && f["suppression"].is_null();
    findings.iter().filter(counts).map(|f| f["loss"]["file"].as_str().expect("a path").to_owned()).collect()
}

#[test]
fn named_files_of_a_database_are_seen_with_all_others() {
    let project = two_files();
    let check = |more: &[&str]| project.run(&[&["check", "--format", "json", "-p", "."], more].concat());
    assert_eq!(files(&check(&[])), ["lib/keep.c", "src/use.c"]);
    let run = check(&["src/use.c"]);
    assert_eq!((run.status, files(&run)), (1, vec!["src/use.c".to_owned()]));
    assert_eq!(files(&check(&["lib"])), ["lib/keep.c"]);
    let run = check(&["--only", "src/**"]);
    assert_eq!((files(&run), run.stderr.contains("asked for")), (vec!["src/use.c".to_owned()], false));
    let run = check(&["--only", "scr/**"]);
    assert_eq!(files(&run), Vec::<String>::new());
    run.says(&["no function that was read is in the files that were asked for"]);
    let run = project.run(&["check", "-p", ".", "src/use.c"]);
    run.prints(&["1 leak in 1 file", "src/use.c:5"]);
    check(&["src/use.c", "--write-baseline", "b.txt"]).fails(&["a baseline of some files would forget the others"]);
}

#[test]
fn what_is_excluded_is_analysed_and_what_is_skipped_is_not() {
    let project = two_files();
    let check = |more: &[&str]| project.run(&[&["check", "--format", "json"], more].concat());
    let run = check(&["--exclude", "lib/**"]);
    assert_eq!((run.status, files(&run)), (1, vec!["src/use.c".to_owned()]), "the body of give() is known");
    let run = check(&["--skip", "lib/**"]);
    assert_eq!((run.status, files(&run)), (0, vec![]), "nothing is known of give()");
    check(&["--exclude", "a["]).fails(&["bad pattern `a[`"]);
    fs::write(project.path("caulk.toml"), "exclude = [\"lib\"]\n").expect("writable");
    assert_eq!(files(&check(&[])), ["src/use.c"]);
    fs::write(project.path("caulk.toml"), "skip = [\"lib\"]\n").expect("writable");
    assert_eq!(files(&check(&[])), Vec::<String>::new());
}

/// The same report, the same fingerprints, the same cache, from wherever it is asked for.
#[test]
fn the_current_folder_makes_no_difference() {
    let project = two_files();
    for from in ["settings", "database", "git"] {
        match from {
            "settings" => fs::write(project.path("caulk.toml"), "").expect("writable"),
            "database" => fs::remove_file(project.path("caulk.toml")).expect("it is there"),
            _ => fs::create_dir(project.path(".git")).expect("writable"),
        }
        let top = at(&project, ".", &["check", "--format", "json"]);
        let below = at(&project, "src", &["check", "--format", "json"]);
        let root = project.root();
        let outside = Command::new(env!("CARGO_BIN_EXE_caulk"))
            .current_dir("/")
            .args(["check", "--format", "json", "-p"])
            .arg(&root)
            .output();
        let outside = finished(outside.expect("caulk can be run"));
        assert_eq!(files(&top), ["lib/keep.c", "src/use.c"], "{from}");
        assert_eq!(top.stdout, below.stdout, "{from}");
        assert_eq!(top.stdout, outside.stdout, "{from}");
        assert!(!project.path("src/.caulk").exists() && !Path::new("/.caulk").exists(), "one cache, {from}");
        assert_eq!(fs::read_dir(project.path(".caulk/units")).expect("the cache").count(), 2, "{from}");
    }
}

#[test]
fn settings_are_those_of_the_project() {
    let project = two_files();
    fs::write(project.path("caulk.toml"), "[[ignore]]\npath = \"lib/**\"\nreason = \"known\"\n").expect("writable");
    assert_eq!(files(&at(&project, "src", &["check", "--format", "json"])), ["src/use.c"]);
    assert_eq!(files(&at(&project, "src", &["check", "--format", "json", "--no-config"])).len(), 2);
}

#[test]
fn the_folder_that_paths_are_relative_to_can_be_named() {
    let project = two_files();
    assert_eq!(files(&project.run(&["check", "--format", "json", "--root", "src"]))[1], "use.c");
    project.run(&["check", "--root", "nowhere"]).fails(&["nowhere cannot be the project's directory"]);
    let run = at(&project, "src", &["check"]);
    run.says(&["paths are relative to "]);
    assert!(!at(&project, ".", &["check"]).stderr.contains("paths are relative to "));
}

/// A baseline knows a finding again after what people do to code that has nothing to do with it.
#[test]
fn baselines_survive_changes_of_form() {
    let project = Project::new(&[("a.c", LEAK)]);
    assert_eq!(project.run(&["check", "a.c", "--write-baseline", "known.txt"]).status, 0);
    let check = |project: &Project| project.run(&["check", "a.c", "--baseline", "known.txt"]).status;
    assert_eq!(check(&project), 0);
    let forms = [
        ("a renamed function", LEAK.replace("leak(", "lose(")),
        ("a wrapped line", LEAK.replace("char *p = malloc(n);", "char *p =\n        malloc(\n            n);")),
        ("lines before it", LEAK.replace("int leak", "int other(void);\n\nint leak")),
    ];
    for (what, text) in forms {
        assert_ne!(text, LEAK);
        fs::write(project.path("a.c"), text).expect("writable");
        assert_eq!(check(&project), 0, "{what}");
    }
    let second = format!("{LEAK}{}", LEAK.replace("leak(", "lose(").replace("#include <stdlib.h>\n", ""));
    fs::write(project.path("a.c"), second).expect("writable");
    assert_eq!(check(&project), 1, "one more of the same shape is new");
}

fn git(project: &Project, arguments: &[&str]) {
    let mut command = Command::new("git");
    command.current_dir(project.root()).args(["-c", "user.name=n", "-c", "user.email=e", "-c", "commit.gpgsign=false"]);
    let output = command.args(arguments).output().expect("git can be run");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
}

#[test]
fn what_changed_since_a_commit() {
    if !have("git") {
        return;
    }
    let before = "#include <stdlib.h>\nint old(int n) {\n    char *p = malloc(n);\n    return p != 0;\n}\n\
        int frees(int n) {\n    char *p = malloc(n);\n    int is_there = p != 0;\n    free(p);\n    n++;\n    return n + is_there;\n}\n";
    let project = Project::with_database(&[("a.c", before)], &["a.c"]);
    git(&project, &["init", "-q"]);
    git(&project, &["add", "a.c"]);
    git(&project, &["commit", "-qm", "before"]);
    let check = |more: &[&str]| {
        project.run(&[&["check", "--changed-since", "HEAD", "--no-cache", "--format", "json"], more].concat())
    };
    assert_eq!((check(&[]).status, files(&check(&[])).len()), (0, 0), "the old leak is known");
    project
        .run(&["check", "--changed-since", "HEAD"])
        .prints(&["no leaks", "1 more is known: no line of the path changed"]);

    // What was freed is freed no more: no line of the path is new, something is gone from between them.
    fs::write(project.path("a.c"), before.replace("    free(p);\n", "")).expect("writable");
    let run = check(&[]);
    assert_eq!((run.status, files(&run).len()), (1, 1), "{}", run.stdout);
    assert!(run.stdout.contains("\"function\": \"frees\""));

    fs::write(project.path("a.c"), before).expect("writable");
    fs::write(project.path("new.c"), LEAK).expect("writable");
    let run = check(&["-p", ".", "new.c", "a.c"]);
    assert_eq!((run.status, files(&run)), (1, vec!["new.c".to_owned()]), "a file that is not in the commit is new");

    project.run(&["check", "--changed-since", "nothing"]).fails(&["there is no commit \"nothing\""]);
    project.run(&["check", "--changed-since=--output=x"]).fails(&["there is no commit"]);
    let plain = Project::with_database(&[("a.c", before)], &["a.c"]);
    plain.run(&["check", "--changed-since", "HEAD"]).fails(&["--changed-since needs a git repository"]);
}

/// A function that freed or kept the block before: no line of the path changed, but what it is given to did.
#[test]
fn what_a_changed_callee_was_given() {
    if !have("git") {
        return;
    }
    let drop = "#include <stdlib.h>\nvoid drop(char *p) { free(p); }\n";
    let user = "#include <stdlib.h>\nvoid drop(char *p);\nvoid pass(char *p) { drop(p); }\nstruct S { char *p; };\n\
        int direct(void) {\n    char *p = malloc(3);\n    drop(p);\n    return 0;\n}\n\
        int passed(void) {\n    char *p = malloc(3);\n    pass(p);\n    return 0;\n}\n\
        int field(void) {\n    struct S s;\n    s.p = malloc(3);\n    drop(s.p);\n    return 0;\n}\n\
        int other(void) {\n    char *p = malloc(3);\n    return p != 0;\n}\n\
        int early(int n) {\n    char *p = malloc(3);\n    if (n)\n        return -1;\n    drop(p);\n    return 0;\n}\n";
    let project = Project::with_database(&[("drop.c", drop), ("user.c", user)], &["drop.c", "user.c"]);
    git(&project, &["init", "-q"]);
    git(&project, &["add", "drop.c", "user.c"]);
    git(&project, &["commit", "-qm", "before"]);
    let check = || {
        let run = project.run(&["check", "--changed-since", "HEAD", "--no-cache", "-q"]);
        run.stdout.lines().map(|line| line.split_once(": ").expect("a place").0.to_owned()).collect::<Vec<String>>()
    };
    assert_eq!(check(), Vec::<String>::new());
    fs::write(project.path("drop.c"), drop.replace("free(p);", "")).expect("writable");
    assert_eq!(check(), ["user.c:8:5", "user.c:13:5", "user.c:19:5", "user.c:30:5"], "other leaks are as they were");
}

#[test]
fn a_place_for_the_report_is_checked_before_the_work() {
    let project = Project::new(&[("a.c", "this does not compile"), ("folder/x", "")]);
    let fails_at_once = |arguments: &[&str], part: &str| {
        let run = project.run(&[&["check", "a.c"], arguments].concat());
        run.fails(&[part]);
        assert!(!run.stderr.contains("was not read"), "clang was run first:\n{}", run.stderr);
    };
    fails_at_once(&["-o", "/nonexistent/x"], "cannot write /nonexistent/x");
    fails_at_once(&["-o", "folder"], "cannot write folder: it is a folder");
    fails_at_once(&["--write-baseline", "/nonexistent/x"], "cannot write /nonexistent/x");
    fails_at_once(&["--format", "html", "-o", "folder"], "cannot write folder: the folder holds something");
}

#[test]
fn several_databases() {
    let entry = r#"[{"directory": "@ROOT@", "file": "a.c", "command": "cc -c a.c"}]"#;
    let files = [("a.c", LEAK), ("build-a/compile_commands.json", entry), ("build-b/compile_commands.json", entry)];
    let project = Project::new(&files);
    let chosen = "reading build-a/compile_commands.json; there is also build-b/compile_commands.json (-p DIR chooses)";
    project.run(&["check"]).says(&[chosen]);
    project.run(&["check", "-q"]).says(&[chosen]);
    assert!(!project.run(&["check", "-p", "build-b"]).stderr.contains("there is also"));
    let files = [("a.c", LEAK), ("compile_commands.json", entry), ("build/compile_commands.json", entry)];
    let project = Project::new(&files);
    let chosen = "reading compile_commands.json; there is also build/compile_commands.json (-p DIR chooses)";
    project.run(&["check", "-q"]).says(&[chosen]);
    assert!(
        !project.run(&["check", "-p", "."]).stderr.contains("there is also"),
        "who names a folder means its database"
    );
}

#[test]
fn a_misspelt_rule_is_told() {
    let source = LEAK.replace("    return 0;", "    return 0; // caulk: ignore forgoten \"it is fine\"");
    let project = Project::new(&[("a.c", &source)]);
    let run = project.run(&["check", "a.c"]);
    assert_eq!(run.status, 1);
    let told = "a.c:7: this suppression names \"forgoten\", which is no rule; did you mean forgotten?";
    run.prints(&[told]);
    // Formats that have no place for it, too.
    for format in ["text", "github", "csv"] {
        let run = project.run(&["check", "a.c", "-q", "--format", format]);
        assert_eq!(run.stderr, format!("caulk: {told}\n"), "{format}");
    }
    assert_eq!(project.run(&["check", "a.c", "-q", "--format", "sarif"]).stderr, "");
    let source = LEAK.replace("    return 0;", "    return 0; // caulk: ignor forgotten");
    let project = Project::new(&[("a.c", &source)]);
    project
        .run(&["check", "a.c", "-q"])
        .says(&["a.c:7: this comment says \"caulk: ignor\"; a suppression begins with"]);
}

#[test]
fn a_field_and_its_allocator_in_a_line_with_others() {
    let source = "#include <stdlib.h>\nstruct S { char *a, *b; };\nstruct S *make(void) {\n    struct S *s = malloc(sizeof *s);\n    \
        if (!s)\n        return 0;\n    s->a = malloc(1); s->b = calloc(2, 1);\n    return s;\n}\n\
        void end(struct S *s) {\n    free(s->a);\n    free(s);\n}\n\
        void end_all(struct S *s) {\n    free(s->a);\n    free(s->b);\n    free(s);\n}\n";
    let project = Project::new(&[("a.c", source)]);
    project.run(&["check", "a.c"]).prints(&["`S.b` is allocated by calloc()"]);
}

/// A callee that allocates twice in one line: the block that is lost has its own name, and its own allocator.
#[test]
fn two_blocks_of_one_line() {
    let source = "#include <stdlib.h>\n#include <string.h>\nstruct S { char *a, *b; };\n\
        void fill(struct S *s) { s->a = malloc(3); s->b = strdup(\"x\"); }\n\
        void first(void) {\n    struct S s;\n    fill(&s);\n    free(s.b);\n}\n\
        void second(void) {\n    struct S s;\n    fill(&s);\n    free(s.a);\n}\n";
    let project = Project::new(&[("a.c", source)]);
    project.run(&["check", "a.c"]).prints(&[
        "`s.a` allocated by fill() is not freed on return (in first",
        "fill() allocates through malloc() (a.c:4)",
        "`s.b` allocated by fill() is not freed on return (in second",
        "fill() allocates through strdup() (a.c:4)",
    ]);
}

/// A structure that is a variable: the message names the field, and what one return loses of it is one finding.
#[test]
fn fields_of_a_variable() {
    let source = "#include <stdlib.h>\n#include <string.h>\nstruct pair { char *a, *b; };\nint f(const char *x) {\n    struct pair pair;\n    \
        pair.a = strdup(x); pair.b = malloc(3);\n    if (!pair.a || !pair.b)\n        return -1;\n    free(pair.a);\n    return 0;\n}\n";
    let project = Project::new(&[("a.c", source)]);
    let run = project.run(&["check", "--quiet", "a.c"]);
    run.prints(&[
        "a.c:8:9: `pair.a` allocated by strdup()",
        "same cause: `pair.b` from malloc()",
        "a.c:10:5: `pair.b` allocated by malloc()",
    ]);
    assert_eq!(run.stdout.lines().count(), 2, "{}", run.stdout);
}

#[test]
fn a_place_is_enough_to_ask_about_it() {
    let project = Project::new(&[("a.c", &LEAK.replace("malloc(n)", "malloc(N)"))]);
    for flags in [&["--", "-DN=3"][..], &[]] {
        let run = project.run(&[&["why", "a.c:3"], flags].concat());
        assert_eq!(run.status, if flags.is_empty() { 2 } else { 0 }, "{}", run.stderr);
        assert!(!run.stderr.contains("database"), "{}", run.stderr);
    }
    let run = project.run(&["query", "a.c:7", "--", "-DN=3"]);
    assert_ne!(run.status, 2, "{}", run.stderr);
    let project = Project::with_database(&[("a.c", LEAK), ("sub/b.c", LEAK)], &["a.c"]);
    project.run(&["why", "a.c:1"]).fails(&["no function at a.c:1 was read: the line is outside of functions"]);
    let alone =
        "sub/b.c is not among what was read; to read it alone, give flags for clang, such as `caulk why sub/b.c:3";
    project.run(&["why", "sub/b.c:3"]).fails(&[alone]);
    project.run(&["why", "c.c:3"]).fails(&["there is no file c.c, here or among what was read"]);
}

/// Commands besides `check` name files as it does, wherever they are started.
#[test]
fn answers_name_files_as_reports_do() {
    let project = two_files();
    let from_below = |arguments: &[&str]| at(&project, "src", arguments).stdout;
    assert!(from_below(&["why", "use.c:4", "-q"]).starts_with("src/use.c:4: "), "{}", from_below(&["why", "use.c:4"]));
    assert!(from_below(&["candidates"]).contains("src/use.c:5:5: p forgotten"), "{}", from_below(&["candidates"]));
    assert!(from_below(&["summaries"]).contains("give (lib/keep.c:3)"), "{}", from_below(&["summaries"]));
}

/// Answers come while the prover still works on others: the first is there before the last.
#[test]
fn proofs_are_told_one_by_one() {
    use std::io::{BufRead, BufReader};
    let many: String = (0..40).map(|i| format!("void f{i}(int n) {{ char *p = malloc(n); free(p); }}\n")).collect();
    let project = Project::new(&[("a.c", &format!("#include <stdlib.h>\n{many}"))]);
    let mut command = project.command(&["prove", "-q", "a.c", "--jobs", "1"]);
    let mut child = command.stdout(std::process::Stdio::piped()).spawn().expect("caulk can be run");
    let lines: Vec<String> =
        BufReader::new(child.stdout.take().expect("piped")).lines().map(|line| line.expect("text")).collect();
    assert_eq!(child.wait().expect("it ends").code(), Some(0));
    assert!(lines[0].starts_with("a.c:2: f0: proved") && lines[39].starts_with("a.c:41: f39: proved"), "{lines:?}");
    assert_eq!(lines.len(), 44, "forty answers, and a table");
}
