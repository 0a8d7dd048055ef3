//! What may stand on the command line: files, bitcode, folders, databases.

mod common;

use caulk_capture::{Job, collect};
use common::{Project, listing};

#[test]
fn sources_take_the_flags_given() {
    let project = Project::new(&[("a.c", ""), ("b.cpp", ""), ("c.bc", ""), ("d.ll", ""), ("-e.c", "")]);
    let mut request = project.request(&["a.c", "./b.cpp", "c.bc", "d.ll", "a.c", "-e.c"]);
    request.flags = ["-Iinc", "-D", "X", "-O3", "-o", "out"].map(str::to_owned).to_vec();
    let list = collect(&request).expect("jobs");
    assert_eq!(listing(&list), ["a.c: -Iinc -DX -xc", "b.cpp: -Iinc -DX -xc++", "-e.c: -Iinc -DX -xc"]);
    let bitcode: Vec<&str> = list.jobs.iter().filter(|job| matches!(job, Job::Bitcode(_))).map(Job::display).collect();
    assert_eq!(bitcode, ["c.bc", "d.ll"]);
    assert!(list.jobs.iter().all(|job| job.path().is_absolute()));
}

#[test]
fn folders_and_databases() {
    let database = r#"[{"directory": "@ROOT@", "file": "a.c", "command": "cc -c a.c"}]"#;
    let project = Project::new(&[("a.c", ""), ("sub/build/compile_commands.json", database), ("db.json", database)]);
    for input in ["sub", "sub/build", "db.json"] {
        let list = collect(&project.request(&[input])).expect(input);
        assert_eq!(listing(&list), ["a.c: -xc"], "{input}");
    }
    let twice = collect(&project.request(&["sub", "db.json"])).expect("jobs");
    assert_eq!(listing(&twice), ["a.c: -xc"]);
}

#[test]
fn with_a_database_all_is_read_and_named_inputs_are_wanted() {
    let project = Project::new(&[
        ("src/a.c", ""),
        ("src/b.c", ""),
        ("lib/c.c", ""),
        ("lib/c.h", ""),
        ("empty/.keep", ""),
        ("new.c", ""),
        (
            "build/compile_commands.json",
            r#"[{"directory": "@ROOT@", "file": "src/a.c", "command": "cc -DA -c src/a.c"},
                {"directory": "@ROOT@", "file": "src/b.c", "command": "cc -DB -c src/b.c"},
                {"directory": "@ROOT@", "file": "lib/c.c", "command": "cc -DC -c lib/c.c"}]"#,
        ),
    ]);
    let chosen = |inputs: &[&str]| {
        let mut request = project.request(inputs);
        request.database = Some("build".into());
        let list = collect(&request).expect("jobs");
        let below = |path: &std::path::PathBuf| {
            path.strip_prefix(project.root()).expect("below the root").to_str().expect("text").to_owned()
        };
        (listing(&list), list.focus.iter().map(below).collect::<Vec<_>>())
    };
    let all = ["src/a.c: -DA -xc", "src/b.c: -DB -xc", "lib/c.c: -DC -xc"].map(str::to_owned).to_vec();
    let focus = |names: &[&str]| names.iter().map(|name| name.to_string()).collect::<Vec<_>>();
    assert_eq!(chosen(&["src/b.c"]), (all.clone(), focus(&["src/b.c"])));
    assert_eq!(chosen(&["src"]), (all.clone(), focus(&["src"])));
    assert_eq!(chosen(&["lib/c.h"]), (all.clone(), focus(&["lib/c.h"])), "a header has no entry");
    let with_new = [all.clone(), vec!["new.c: -xc".to_owned()]].concat();
    assert_eq!(chosen(&["new.c", "lib/c.c"]), (with_new, focus(&["new.c", "lib/c.c"])));
    assert_eq!(chosen(&[]), (all, Vec::new()));
    let mut request = project.request(&["empty"]);
    request.database = Some("build".into());
    let message = collect(&request).expect_err("nothing is there").to_string();
    assert!(message.contains("empty: the compilation database has no source below this folder"), "{message}");
}

#[test]
fn exclusion() {
    let project = Project::new(&[("a.c", ""), ("tests/b.c", "")]);
    let mut request = project.request(&["a.c", "tests/b.c"]);
    request.skip = vec!["tests".to_owned()];
    assert_eq!(listing(&collect(&request).expect("jobs")), ["a.c: -xc"]);
    request.skip = vec!["*".to_owned()];
    let message = collect(&request).expect_err("all excluded").to_string();
    assert!(message.contains("2 left out by --skip"), "{message}");
}

#[test]
fn inputs_that_cannot_be_read_are_errors() {
    let project = Project::new(&[("notes.txt", ""), ("empty/x", "")]);
    assert!(project.error(&["gone.c"]).contains("gone.c: no such file"));
    assert!(project.error(&["notes.txt"]).contains("not an input Caulk knows"));
    assert!(project.error(&["empty"]).contains("no compilation database found"));
}
