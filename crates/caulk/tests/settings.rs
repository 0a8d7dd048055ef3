//! `caulk.toml`, and `caulk init` that writes one.

mod project;

use std::fs;

use project::{GOOD, LEAK, Project, json};

#[test]
fn settings_stand_in_for_options() {
    let settings = "inputs = [\"leak.c\"]\nformat = \"json\"\nno-cache = true\nquiet = true\n";
    let project = Project::new(&[("leak.c", LEAK), ("caulk.toml", settings)]);
    let run = project.run(&["check"]);
    assert_eq!((run.status, run.stderr.as_str()), (1, ""));
    assert_eq!(json(&run.stdout)["findings"][0]["variable"], "p");
    assert!(!project.path(".caulk").exists());
    project.run(&["check", "--format", "text"]).prints(&["leak.c:7:5: `p` allocated by malloc() is not freed"]);
    project.run(&["check", "--no-config"]).fails(&["no compilation database found"]);
    project.run(&["ir"]).prints(&["define @leak"]);
}

/// Paths are relative to the file, and so are those of the report.
#[test]
fn settings_of_another_folder() {
    let settings = "inputs = [\"leak.c\"]\nbaseline = \"known\"\noutput = \"out.json\"\nformat = \"json\"\n";
    let project =
        Project::new(&[("sub/leak.c", LEAK), ("sub/caulk.toml", settings), ("sub/known", "caulk-baseline 3\n")]);
    let run = project.run(&["check", "--config", "sub/caulk.toml"]);
    assert_eq!(run.status, 1, "{}", run.stderr);
    let report = json(&fs::read_to_string(project.path("sub/out.json")).expect("written"));
    assert_eq!(report["findings"][0]["loss"]["file"], "leak.c");
    assert_eq!(report["findings"][0]["baseline"], "new");
    project.run(&["check", "--config", "gone.toml"]).fails(&["cannot read gone.toml"]);
}

#[test]
fn wrong_settings() {
    let project = Project::new(&[("caulk.toml", "reprot-level = 1\n"), ("a.c", GOOD)]);
    project
        .run(&["check", "a.c"])
        .fails(&["caulk.toml:1:1: there is no key `reprot-level`; did you mean `report-level`?"]);
    fs::write(project.path("caulk.toml"), "[[ignore]]\nreason = \"all\"\n").expect("writable");
    project.run(&["check", "a.c"]).fails(&["caulk.toml: ignore 1 would silence everything"]);
    fs::write(project.path("caulk.toml"), "[[ignore]]\nrule = \"leak\"\n").expect("writable");
    project
        .run(&["check", "a.c"])
        .fails(&["there is no rule \"leak\"; rules are lost, forgotten, held-at-exit, resource"]);
}

/// A project that was just fetched must not be able to run what it likes.
#[test]
fn settings_load_no_code() {
    let project = Project::new(&[("caulk.toml", "flags = [\"-fplugin=./evil.so\", \"-DGOOD\"]\n"), ("a.c", GOOD)]);
    let run = project.run(&["check", "a.c"]);
    assert!(run.status == 0 || run.stderr.contains("-fplugin"), "{}", run.stderr);
    assert!(!run.stderr.contains("evil.so: cannot open"), "{}", run.stderr);
}

#[test]
fn suppressions_in_the_settings() {
    let ignore = |keys: &str| format!("[[ignore]]\n{keys}\n");
    let project = Project::new(&[("lib/leak.c", LEAK), ("a.c", GOOD)]);
    let check = |keys: &str, more: &[&str]| {
        fs::write(project.path("caulk.toml"), ignore(keys)).expect("writable");
        project.run(&[&["check", "lib/leak.c"], more].concat())
    };
    for keys in
        ["path = \"lib/**\"", "function = \"leak\"", "rule = \"forgotten\"", "path = \"lib/*.c\"\nrule = \"forgotten\""]
    {
        let run = check(&format!("{keys}\nreason = \"x\""), &["--strict"]);
        assert_eq!(run.status, 0, "{keys}: {}", run.stdout);
        run.prints(&["1 more is suppressed"]);
    }
    for keys in ["path = \"*.c\"", "function = \"lea\"", "rule = \"lost\"", "path = \"lib/**\"\nrule = \"lost\""] {
        assert_eq!(check(keys, &[]).status, 1, "{keys}");
    }
    let run = check("rule = \"lost\"", &["--strict"]);
    run.prints(&["caulk.toml: ignore 1: this suppression silences nothing; remove it"]);
    let run = check("rule = \"forgotten\"", &["--strict"]);
    run.prints(&["caulk.toml: ignore 1: this suppression gives no reason"]);
}

/// What happens in a header that is not the user's is shown at the user's own call.
#[test]
fn headers_of_others() {
    let header = "#include <stdlib.h>\nstatic inline int probe(int n) { char *q = malloc(n); return q != 0; }\n\
        static inline char *make(int n) { return malloc(n); }\n";
    let source = "#include \"sys/probe.h\"\nint use(int n) {\n    return probe(n);\n}\nint drop(int n) {\n    char *p = make(n);\n    \
        return p != 0;\n}\n";
    let settings = "system-folders = [\"@ROOT@/sys/\"]\n";
    let project = Project::new(&[("sys/probe.h", header), ("a.c", source), ("caulk.toml", settings)]);
    let run = project.run(&["check", "a.c", "--format", "json"]);
    let report = json(&run.stdout);
    let findings = report["findings"].as_array().expect("a list");
    assert_eq!(findings.len(), 2, "{}", run.stdout);
    let lines = findings.iter().map(|f| (f["loss"]["file"].as_str(), f["loss"]["line"].as_u64())).collect::<Vec<_>>();
    assert_eq!(lines, [(Some("a.c"), Some(3)), (Some("a.c"), Some(7))]);
    assert!(findings.iter().all(|f| f["chain"].as_array().is_some_and(Vec::is_empty)), "{}", run.stdout);
    fs::remove_file(project.path("caulk.toml")).expect("it is there");
    project.run(&["check", "a.c", "--quiet"]).prints(&["sys/probe.h:2:"]);
}

#[test]
fn init_writes_what_works_and_keeps_what_is_there() {
    let project = Project::new(&[("a.c", GOOD)]);
    assert_eq!(project.run(&["init"]).status, 0);
    assert_eq!(project.run(&["check", "a.c"]).status, 0);
    fs::write(project.path("caulk.toml"), "jobs = 1\n").expect("writable");
    project.run(&["init"]).fails(&["there is a caulk.toml already"]);
    assert_eq!(fs::read_to_string(project.path("caulk.toml")).expect("there"), "jobs = 1\n");
}
