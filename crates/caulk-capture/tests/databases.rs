//! From a database on disk to jobs.

mod common;

use caulk_capture::{Duplicates, Language, SkipReason, collect};
use common::{Project, compile_jobs, listing};

#[test]
fn both_forms_relative_paths_and_quoting() {
    let project = Project::new(&[
        ("src/a.c", ""),
        ("src/b.cpp", ""),
        (
            "build/compile_commands.json",
            r#"[
  {"directory": ".", "file": "../src/a.c", "output": "a.o",
   "command": "gcc -DVERSION=\\\"1.0\\\" '-DNAME=a b' -I ../inc -O2 -Wall -c ../src/a.c -o a.o"},
  {"directory": "@ROOT@/build", "file": "@ROOT@/src/b.cpp",
   "arguments": ["ccache", "g++", "-std=c++17", "-DV=\"x\"", "-c", "../src/b.cpp", "-o", "b.o"]}
]"#,
        ),
    ]);
    let list = project.jobs();
    assert_eq!(
        listing(&list),
        ["src/a.c: -DVERSION=\"1.0\" -DNAME=a b -I../inc -xc", "src/b.cpp: -std=c++17 -DV=\"x\" -xc++"]
    );
    let jobs = compile_jobs(&list);
    assert_eq!(jobs[0].directory, project.root().join("build"));
    assert_eq!(jobs[0].source, project.root().join("src/a.c"));
    assert_eq!(jobs[0].output_hint.as_deref(), Some("a.o"));
    assert_eq!(jobs[1].output_hint.as_deref(), Some("b.o"));
    assert_eq!((jobs[1].original_compiler.as_str(), jobs[1].language), ("g++", Language::Cxx));
    assert_eq!(list.databases, [project.root().join("build/compile_commands.json")]);
    assert!(list.skipped.units.is_empty());
}

#[test]
fn other_languages_and_lost_units_are_listed() {
    let project = Project::new(&[
        ("a.c", ""),
        ("b.S", ""),
        (
            "compile_commands.json",
            r#"[
  {"directory": "@ROOT@", "file": "a.c", "command": "cc -c a.c"},
  {"directory": "@ROOT@", "file": "b.S", "command": "cc -c b.S"},
  {"directory": "@ROOT@", "file": "k.cu", "command": "nvcc -c k.cu"},
  {"directory": "@ROOT@", "file": "w.rc", "command": "windres w.rc"},
  {"directory": "@ROOT@", "file": "f.f90", "command": "gfortran -c f.f90"},
  {"directory": "@ROOT@", "file": "gone.c", "command": "cc -c gone.c"},
  {"directory": "@ROOT@/gone", "file": "x.c", "command": "cc -c x.c"},
  {"directory": "@ROOT@", "file": "a.c", "command": "cc -c 'a.c"},
  {"directory": "@ROOT@", "file": "a.c", "arguments": []},
  {"directory": "@ROOT@", "file": "build/install", "command": ""},
  {"directory": "@ROOT@", "file": "a.c", "command": "clang -cc1 -emit-obj a.c"},
  {"directory": "@ROOT@", "file": "a.c", "command": "cl.exe /c a.c"}
]"#,
        ),
    ]);
    let list = project.jobs();
    assert_eq!(listing(&list), ["a.c: -xc"]);
    assert_eq!(
        list.skipped.summary(),
        "1 assembler, 4 in another language, 1 with an inner command of clang, 1 with a Microsoft command line, \
         1 whose directory is gone, 1 whose source is gone, 2 whose command cannot be understood"
    );
    let lost: Vec<String> = list.skipped.losses().map(|unit| format!("{}: {}", unit.file, unit.reason)).collect();
    assert_eq!(lost[..2], ["gone.c: the source file is gone", "gone/x.c: its build directory is gone"]);
    assert_eq!(lost.len(), 5);
}

const THREE_TIMES: &str = r#"[
  {"directory": "@ROOT@", "file": "a.c", "command": "cc -DONE -O2 -c a.c -o one.o"},
  {"directory": "@ROOT@", "file": "./a.c", "command": "cc -DTWO -c a.c -o two.o"},
  {"directory": "@ROOT@", "file": "a.c", "command": "cc -DONE -O3 -c a.c -o three.o"}
]"#;

#[test]
fn a_file_compiled_several_times_is_kept_once() {
    let project = Project::new(&[("a.c", ""), ("compile_commands.json", THREE_TIMES)]);
    let list = project.jobs();
    assert_eq!(listing(&list), ["a.c: -DONE -xc"]);
    assert_eq!(list.skipped.count(|reason| *reason == SkipReason::Duplicate), 1);
    assert_eq!(list.skipped.count(|reason| *reason == SkipReason::OtherFlags), 1);
    assert_eq!(list.skipped.losses().count(), 0);
}

#[test]
fn different_flags_are_kept_when_asked() {
    let project = Project::new(&[("a.c", ""), ("compile_commands.json", THREE_TIMES)]);
    let mut request = project.request(&[]);
    request.duplicates = Duplicates::KeepDifferent;
    let list = collect(&request).expect("jobs");
    assert_eq!(listing(&list), ["a.c: -DONE -xc", "a.c: -DTWO -xc"]);
    assert_eq!(list.skipped.count(|reason| *reason == SkipReason::Duplicate), 1);
}

#[test]
fn response_files_pass_the_table_too() {
    let project = Project::new(&[
        ("a.c", ""),
        ("flags.rsp", "-DX @more.rsp\r\n-fplugin=evil.so"),
        ("more.rsp", "'-DY=a b' -Iinc"),
        (
            "compile_commands.json",
            r#"[{"directory": "@ROOT@", "file": "a.c",
                 "command": "cc @flags.rsp -D @absent.rsp -c a.c @absent.rsp"}]"#,
        ),
    ]);
    let list = project.jobs();
    assert_eq!(listing(&list), ["a.c: -DX -DY=a b -Iinc -D@absent.rsp -xc"]);
    let dropped: Vec<&str> = compile_jobs(&list)[0].dropped.iter().map(|d| d.text.as_str()).collect();
    assert!(dropped.contains(&"-fplugin=evil.so") && dropped.contains(&"@absent.rsp"), "{dropped:?}");
}

#[test]
fn broken_and_empty_databases_have_clear_messages() {
    let check = |text: &str, expected: &str| {
        let message = Project::new(&[("compile_commands.json", text)]).error(&[]);
        assert!(message.contains(expected), "{message}");
    };
    check("[]", "has no entries");
    check("[\n{]", "compile_commands.json:2:2: not a compilation database");
    check("[{}]", "entry 0 lacks");
    check(
        r#"[{"directory": "@ROOT@", "file": "gone.c", "command": "cc -c gone.c"}]"#,
        "nothing to analyse: every unit was left out (1 whose source is gone)",
    );
    assert!(Project::new(&[]).error(&[]).contains("no compilation database found"));
}

#[test]
fn extra_flags_follow_the_builds_own() {
    let project = Project::new(&[
        ("a.c", ""),
        ("compile_commands.json", r#"[{"directory": ".", "file": "a.c", "command": "cc -DX -c a.c -I"}]"#),
    ]);
    let mut request = project.request(&[]);
    request.flags = vec!["-UX".to_owned(), "-fplugin=x.so".to_owned()];
    assert_eq!(listing(&collect(&request).expect("jobs")), ["a.c: -DX -UX -xc"]);
}
