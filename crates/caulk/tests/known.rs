//! What was looked at already: baselines, and suppressions in the source.

mod project;

use std::fs;

use project::{GOOD, LEAK, Project, json, sarif_schema, validate};

/// `leak`, with `more` before it, and its neighbour under another name.
fn edited(more: &str, neighbour: &str) -> String {
    format!(
        "#include <stdlib.h>\n{more}static char *{neighbour}(int n) {{ return malloc(n); }}\nint leak(int n) {{\n    \
         char *p = {neighbour}(n);\n    if (!p)\n        return -1;\n    return 0;\n}}\n"
    )
}

#[test]
fn only_new_findings_fail() {
    let project = Project::new(&[("a.c", &edited("", "make"))]);
    let run = project.run(&["check", "a.c", "--write-baseline", "known"]);
    assert_eq!(run.status, 0, "{}", run.stderr);
    let known = fs::read_to_string(project.path("known")).expect("written");
    assert!(known.starts_with("caulk-baseline 3\n") && known.ends_with("\tforgotten\ta.c\tleak\tp\n"), "{known}");

    // Lines above, and another function renamed: the same leak.
    fs::write(project.path("a.c"), edited("\n/* more */\nint more;\n", "make_one")).expect("writable");
    let run = project.run(&["check", "a.c", "--baseline", "known"]);
    assert_eq!(run.status, 0, "{}", run.stdout);
    run.prints(&["no leaks\ncompared with the baseline: 0 new, 1 known, 0 fixed\n1 more is in the baseline"]);

    fs::write(project.path("b.c"), LEAK.replace("leak", "other")).expect("writable");
    let run = project.run(&["check", "a.c", "b.c", "--baseline", "known"]);
    assert_eq!(run.status, 1, "{}", run.stdout);
    run.prints(&["b.c: 1 leak\n", "1 leak in 1 file", "1 more is in the baseline"]);
    let sarif = project.run(&["check", "a.c", "b.c", "--baseline", "known", "--format", "sarif"]).stdout;
    validate(&sarif_schema(), &sarif);
    let results = json(&sarif)["runs"][0]["results"].clone();
    assert_eq!((&results[0]["baselineState"], &results[1]["baselineState"]), (&"unchanged".into(), &"new".into()));

    fs::write(project.path("a.c"), GOOD).expect("writable");
    let run = project.run(&["check", "a.c", "--baseline", "known"]);
    assert_eq!(run.status, 0, "{}", run.stdout);
    run.prints(&["fixed: a.c: p in leak [forgotten]"]);
    let sarif = project.run(&["check", "a.c", "--baseline", "known", "--format", "sarif"]).stdout;
    validate(&sarif_schema(), &sarif);
    assert_eq!(json(&sarif)["runs"][0]["results"][0]["baselineState"], "absent");
}

/// Forgets `p` where `n` is one of `numbers`; a comment stands above the return of the first.
fn exits(comment: &str, numbers: &[u32]) -> String {
    let exit = |(i, n): (usize, &u32)| {
        let comment = if i == 0 { comment } else { "" };
        format!("    if (n == {n})\n        {comment}\n        return {n};\n")
    };
    let exits: String = numbers.iter().enumerate().map(exit).collect();
    format!("#include <stdlib.h>\nint f(int n) {{\n    char *p = malloc(n);\n{exits}    free(p);\n    return 0;\n}}\n")
}

#[test]
fn another_exit_is_no_new_finding() {
    let project = Project::new(&[("a.c", &exits("", &[5, 7]))]);
    assert_eq!(project.run(&["check", "a.c", "--write-baseline", "known"]).status, 0);
    let known = fs::read_to_string(project.path("known")).expect("written");
    assert_eq!(known.lines().count(), 2, "{known}");
    fs::write(project.path("a.c"), exits("", &[3, 5, 7, 9])).expect("writable");
    let run = project.run(&["check", "a.c", "--baseline", "known"]);
    assert_eq!(run.status, 0, "{}", run.stdout);
    run.prints(&["no leaks\ncompared with the baseline: 0 new, 1 known, 0 fixed\n1 more is in the baseline"]);
    // Nor is it a fixed one when only some exits are fixed.
    fs::write(project.path("a.c"), exits("", &[7])).expect("writable");
    let run = project.run(&["check", "a.c", "--baseline", "known"]);
    assert_eq!((run.status, run.stdout.contains("fixed:")), (0, false), "{}", run.stdout);
}

#[test]
fn a_comment_at_one_exit_leaves_the_others() {
    let comment = "// caulk: ignore \"wanted\"";
    let project = Project::new(&[("a.c", &exits(comment, &[3, 5, 7])), ("one.c", &exits(comment, &[3]))]);
    let run = project.run(&["check", "a.c", "--strict"]);
    assert_eq!(run.status, 1, "{}", run.stdout);
    run.prints(&["a.c: 1 leak\n", "also lost at line 12;", "1 more is suppressed"]);
    assert!(!run.stdout.contains("a.c:6"), "{}", run.stdout);
    assert_eq!(project.run(&["check", "one.c", "--strict"]).status, 0);
}

#[test]
fn a_baseline_that_is_none() {
    let project = Project::new(&[
        ("leak.c", LEAK),
        ("old", "caulk-baseline 0\n"),
        ("odd", "[]"),
        ("raw", "caulk-baseline 3\nx\n"),
    ]);
    let check = |file: &str| project.run(&["check", "leak.c", "--baseline", file]);
    check("gone").fails(&["cannot use gone as the baseline: No such file"]);
    check("old").fails(&["cannot use old as the baseline: a baseline of version 0, and this program reads version 3"]);
    check("odd").fails(&["not a baseline"]);
    check("raw").fails(&["line 2 is broken"]);
    let run = project.run(&["check", "leak.c", "--quiet", "--write-baseline", "gone/known"]);
    assert_eq!(run.status, 2);
    run.says(&["cannot write gone/known"]);
}

#[test]
fn suppressions_in_the_source() {
    let ignored = |comment: &str| LEAK.replace("    return 0;", &format!("    {comment}\n    return 0;"));
    let with_reason = ignored("// caulk: ignore forgotten \"kept by the C library\"");
    let project = Project::new(&[
        ("reason.c", with_reason.as_str()),
        ("wrong.c", &ignored("// caulk: ignore lost \"another rule\"").replace("leak", "wrong")),
        ("bare.c", &ignored("/* caulk: ignore */").replace("leak", "bare")),
        ("idle.c", "// caulk: ignore \"nothing to ignore\"\nint idle;\n"),
    ]);
    let run = project.run(&["check", "reason.c"]);
    assert_eq!(run.status, 0, "{}", run.stdout);
    run.prints(&["no leaks\n1 more is suppressed"]);
    assert_eq!(project.run(&["check", "wrong.c"]).status, 1);
    assert_eq!(project.run(&["check", "bare.c", "idle.c"]).status, 0);
    let run = project.run(&["check", "reason.c", "bare.c", "idle.c", "--strict"]);
    assert_eq!(run.status, 1, "{}", run.stdout);
    run.prints(&[
        "bare.c:7: this suppression gives no reason; write one in quotes\n",
        "idle.c:1: this suppression silences nothing; remove it\n",
    ]);
    assert!(!run.stdout.contains("reason.c:"), "{}", run.stdout);
    let sarif = project.run(&["check", "reason.c", "--format", "sarif"]).stdout;
    validate(&sarif_schema(), &sarif);
    let suppression = &json(&sarif)["runs"][0]["results"][0]["suppressions"][0];
    assert_eq!(
        (&suppression["kind"], &suppression["justification"]),
        (&"inSource".into(), &"kept by the C library".into())
    );
}
