//! `caulk check` as a user meets it: its report in every format, its options and exit statuses.

mod project;

use std::fs;
use std::path::{Path, PathBuf};

use project::{GOOD, LEAK, Project, Run, finished, json, sarif_schema, validate};
use serde_json::Value;

/// The bundled example, with paths relative to it.
fn in_folder_of_example(arguments: &[&str]) -> Run {
    let cache = tempfile::tempdir().expect("a temporary folder can be made");
    let mut command = std::process::Command::new(env!("CARGO_BIN_EXE_caulk"));
    command.current_dir(example()).arg("check").args(arguments).arg("--cache").arg(cache.path());
    let sources = ["alerts.c", "config.c", "main.c", "record.c", "report.c", "scan.c", "table.c", "util.c"];
    finished(command.args(sources).args(["--", "-std=gnu11"]).output().expect("caulk can be run"))
}

fn example() -> PathBuf {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/logsum");
    folder.canonicalize().expect("the example is in the repository")
}

/// What differs from one clone to another, and from one release to another.
fn settled(text: &str) -> String {
    let root = example().display().to_string();
    text.replace(&root, "/EXAMPLE")
        .replace(concat!("\"", env!("CARGO_PKG_VERSION"), "\""), "\"VERSION\"")
        .replace(concat!("caulk ", env!("CARGO_PKG_VERSION")), "caulk VERSION")
}

/// What differs from one run to the next: commit, date, options.
fn without_run(page: &str) -> String {
    let (before, rest) = page.split_once("<dl class=\"about\">").expect("the page says how it came to be");
    let (_, after) = rest.split_once("</dl>").expect("a list has an end");
    format!("{before}{after}")
}

/// A report that is kept says what it is about, and the pages of its findings keep their names.
#[test]
fn what_a_kept_report_says_of_itself() {
    let project = Project::new(&[("a.c", LEAK), (".git/HEAD", "0123456789012345678901234567890123456789\n")]);
    let page = |arguments: &[&str]| {
        let mut command = project.command(&["check", "a.c", "--format", "html", "-o", "report"]);
        let output = command.args(arguments).env("SOURCE_DATE_EPOCH", "951782400").output().expect("caulk can be run");
        assert_eq!(finished(output).status, 1);
        let names = fs::read_dir(project.path("report/finding")).expect("pages");
        let names: Vec<String> = names.map(|e| e.expect("readable").file_name().into_string().expect("text")).collect();
        (fs::read_to_string(project.path("report/index.html")).expect("written"), names)
    };
    let (index, names) = page(&[]);
    for part in ["<dd>012345678901</dd>", "<dd>2000-02-29 00:00 UTC</dd>", "check a.c --format html", "<dd>caulk "] {
        assert!(index.contains(part), "{part} is missing in {index}");
    }
    fs::write(project.path("a.c"), format!("\n\n{LEAK}")).expect("writable");
    assert_eq!(page(&["--min-confidence", "low"]).1, names);
    let finding = fs::read_to_string(project.path("report/finding").join(&names[0])).expect("written");
    assert!(finding.contains("<title>p from malloc() in leak - a.c</title>"), "{finding}");
}

/// A clone may or may not have a remote.
fn without_version_control(text: &str) -> String {
    let mut document = json(text);
    if let Some(run) = document.pointer_mut("/runs/0").and_then(Value::as_object_mut) {
        run.remove("versionControlProvenance");
    }
    serde_json::to_string_pretty(&document).expect("JSON")
}

#[test]
fn the_example_as_text() {
    let run = in_folder_of_example(&[]);
    assert_eq!(run.status, 1, "{}", run.stderr);
    insta::assert_snapshot!(run.stdout);
    run.says(&["caulk: 7 leaks; 8 units, 59 functions, 7 candidates: ", " refuted", " functions cut; ", " s\n"]);
}

#[test]
fn the_example_in_short() {
    let run = in_folder_of_example(&["--quiet"]);
    assert_eq!((run.status, run.stderr.as_str()), (1, ""));
    insta::assert_snapshot!(run.stdout);
}

#[test]
fn the_example_as_json() {
    insta::assert_snapshot!(settled(&in_folder_of_example(&["--format", "json"]).stdout));
}

#[test]
fn the_example_as_sarif() {
    let sarif = in_folder_of_example(&["--format", "sarif"]).stdout;
    insta::assert_snapshot!(settled(&without_version_control(&sarif)));
}

#[test]
fn the_example_for_github() {
    insta::assert_snapshot!(in_folder_of_example(&["--format", "github"]).stdout);
}

#[test]
fn the_example_as_html() {
    let folder = tempfile::tempdir().expect("a temporary folder can be made");
    let report = folder.path().join("report");
    let run = in_folder_of_example(&["--format", "html", "-o", report.to_str().expect("text")]);
    assert_eq!(run.status, 1, "{}", run.stderr);
    run.says(&["caulk: the report is ", "report/index.html"]);
    let read = |path: &Path| settled(&fs::read_to_string(path).expect("written"));
    insta::assert_snapshot!("html_index", without_run(&read(&report.join("index.html"))));
    insta::assert_snapshot!("html_findings", read(&report.join("findings.js")));
    let rows = read(&report.join("findings.js"));
    let second = rows.split("\"p\":\"").nth(2).and_then(|rest| rest.split('"').next()).expect("seven findings");
    insta::assert_snapshot!("html_finding", read(&report.join(second)));
}

#[test]
fn a_folder_for_the_pages() {
    let project = Project::new(&[("leak.c", LEAK), ("taken/thesis.txt", "x")]);
    let html = |more: &[&str]| project.run(&[&["check", "leak.c", "--format", "html"], more].concat());
    html(&[]).fails(&["a report in HTML is a folder: name one with -o DIR"]);
    html(&["-o", "taken"]).fails(&["cannot write taken: the folder holds something that is not a report"]);
    html(&["-o", "leak.c"]).fails(&["cannot write leak.c: "]);
    html(&["-o", "gone/report"]).fails(&["cannot write gone/report: "]);
    assert_eq!((html(&["-o", "report"]).status, html(&["-o", "report"]).status), (1, 1));
}

#[test]
fn reports_follow_their_schemas() {
    let sarif = in_folder_of_example(&["--format", "sarif"]).stdout;
    validate(&sarif_schema(), &sarif);
    let report = in_folder_of_example(&["--format", "json"]).stdout;
    validate(include_str!("../../../docs/schema/report.json"), &report);
    let wrong = report.replacen("\"forgotten\"", "\"mislaid\"", 1);
    let validator =
        jsonschema::validator_for(&json(include_str!("../../../docs/schema/report.json"))).expect("a schema");
    assert!(!validator.is_valid(&json(&wrong)), "the schema says something");
}

#[test]
fn the_number_of_threads_changes_nothing() {
    let one = in_folder_of_example(&["--format", "json", "--jobs", "1"]);
    let many = in_folder_of_example(&["--format", "json", "--jobs", "7"]);
    assert_eq!(one.stdout, many.stdout);
}

#[test]
fn colours() {
    let escape = "\u{1b}[";
    let coloured = |run: Run| run.stdout.contains(escape);
    assert!(!coloured(in_folder_of_example(&[])), "no terminal, no colours");
    assert!(coloured(in_folder_of_example(&["--color", "always"])));
    assert!(!coloured(in_folder_of_example(&["--color", "never"])));
}

/// Long paths lose conditions far from the loss, unless all is asked for.
#[test]
fn long_paths() {
    let test = |i: u32| format!("    if (n == {i})\n        note({i});\n");
    let tests: String = (0..40).map(test).collect();
    let source = format!(
        "#include <stdlib.h>\nvoid note(int);\nint f(int n) {{\n    char *p = malloc(3);\n    if (!p)\n        return 1;\n{tests}    return 0;\n}}\n"
    );
    let project = Project::new(&[("a.c", &source)]);
    let run = project.run(&["check", "a.c"]);
    run.prints(&["1. `p` is allocated by malloc()", " steps are left out; --full-path shows all", "leaked here"]);
    assert!(!run.stdout.contains("(n == 20)"), "{}", run.stdout);
    project.run(&["check", "a.c", "--full-path"]).prints(&["`if (n == 20)` is "]);
}

/// Lines of a megabyte and names that would command a terminal are shown without harm.
#[test]
fn sources_that_are_hard_to_show() {
    let long = format!("{}if (!p) return 1; return 0; }}{}\n", " ".repeat(1 << 15), " ".repeat(1 << 20));
    let source = format!("#include <stdlib.h>\nint f(void) {{ char *p = malloc(3);\n{long}");
    let project = Project::new(&[("a\u{1b}[31m.c", &source)]);
    let run = project.run(&["check", "a\u{1b}[31m.c"]);
    assert_eq!(run.status, 1, "{}", run.stderr);
    assert!(!run.stdout.contains('\u{1b}') && run.stdout.len() < 2_000, "{}", run.stdout.len());
    run.prints(&["1. `p` is allocated by malloc()", "leaked here, at a"]);
}

#[test]
fn exit_statuses() {
    let broken = "int f(void) { return x; }\n";
    let project = Project::new(&[("good.c", GOOD), ("leak.c", LEAK), ("broken.c", broken)]);
    assert_eq!(project.run(&["check", "good.c"]).status, 0);
    assert_eq!(project.run(&["check", "leak.c"]).status, 1);
    assert_eq!(project.run(&["check", "broken.c"]).status, 2);
    assert_eq!(project.run(&["check", "good.c", "broken.c"]).status, 3);
    assert_eq!(project.run(&["check", "leak.c", "broken.c"]).status, 1);
    assert_eq!(project.run(&["check"]).status, 2);
}

#[test]
fn what_was_not_read_is_in_the_report() {
    let project = Project::new(&[("leak.c", LEAK), ("broken.c", "int f(void) { return x; }\n")]);
    let report = json(&project.run(&["check", "leak.c", "broken.c", "--format", "json"]).stdout);
    assert_eq!(report["unitsNotRead"][0]["source"], "broken.c");
    assert!(report["unitsNotRead"][0]["reason"].as_str().is_some_and(|r| r.contains("undeclared identifier")));
    let sarif = json(&project.run(&["check", "leak.c", "broken.c", "--format", "sarif"]).stdout);
    let note = &sarif["runs"][0]["invocations"][0]["toolExecutionNotifications"][0]["message"]["text"];
    assert!(note.as_str().is_some_and(|t| t.starts_with("broken.c was not read")), "{sarif}");
}

#[test]
fn a_file_for_the_report() {
    let project = Project::new(&[("leak.c", LEAK)]);
    let run = project.run(&["check", "leak.c", "--format", "sarif", "-o", "out.sarif"]);
    assert_eq!((run.status, run.stdout.as_str()), (1, ""), "{}", run.stderr);
    assert_eq!(json(&fs::read_to_string(project.path("out.sarif")).expect("written"))["version"], "2.1.0");
    let run = project.run(&["check", "leak.c", "-o", "gone/out.txt"]);
    run.fails(&["cannot write gone/out.txt: "]);
}

/// `(variable, confidence)` of each finding.
fn found(project: &Project, arguments: &[&str]) -> Vec<(String, String)> {
    let run = project.run(&[&["check", "--format", "json"], arguments].concat());
    let report = json(&run.stdout);
    let findings = report["findings"].as_array().expect("a list").iter();
    let text = |v: &Value| v.as_str().unwrap_or_default().to_owned();
    findings.map(|f| (text(&f["variable"]), text(&f["confidence"]))).collect()
}

#[test]
fn confidence() {
    // Whether `drop` frees is decided by something that no caller sees.
    let source = "#include <stdlib.h>\nextern int keep;\nstatic void drop(char *p) { if (keep == 7) free(p); }\n\
        int f(int n) {\n    char *sure = malloc(n);\n    char *unsure = malloc(n);\n    drop(unsure);\n    return sure == unsure;\n}\n";
    let project = Project::new(&[("a.c", source)]);
    let sure = [("sure".to_owned(), "high".to_owned())];
    assert_eq!(found(&project, &["a.c"]), sure);
    assert_eq!(found(&project, &["a.c", "--min-confidence", "high"]), sure);
}

#[test]
fn failures_of_other_allocations() {
    let source = "#include <stdlib.h>\nint f(int n, char **out) {\n    char *first = malloc(n);\n    if (!first)\n        return -1;\n    \
        char *second = malloc(n);\n    if (!second)\n        return -1;\n    out[0] = first;\n    out[1] = second;\n    return 0;\n}\n";
    let project = Project::new(&[("a.c", source)]);
    let names = |which: &str| found(&project, &["a.c", "--alloc-failure", which]).len();
    assert_eq!(["tested", "show", "hide", "only"].map(names), [1, 1, 0, 1]);
    let run = project.run(&["check", "a.c", "--quiet"]);
    run.prints(&[
        "a.c:8:9: `first` allocated by malloc() is not freed on return (in f); ",
        "; allocated at line 3 (only when an allocation fails) [forgotten, CWE-401]; high confidence: the path was executed alone, and its conditions hold together\n",
    ]);
}

#[test]
fn a_file_that_cannot_be_opened_is_no_failed_allocation() {
    let source = "#include <stdio.h>\n#include <stdlib.h>\nint f(int n, const char *name) {\n    char *text = malloc(n);\n    if (!text)\n        \
        return -1;\n    FILE *file = fopen(name, \"r\");\n    if (!file)\n        return -1;\n    fgets(text, n, file);\n    fclose(file);\n    \
        free(text);\n    return 0;\n}\n";
    let project = Project::new(&[("a.c", source)]);
    let names = |which: &str| found(&project, &["a.c", "--alloc-failure", which]).len();
    assert_eq!(["tested", "show", "hide", "only"].map(names), [1, 1, 1, 0]);
}

/// `make` refuses small sizes, and is too large to be executed.
fn refuses() -> String {
    let steps: String = (1..40).map(|i| format!("    if (n > {i}) sum += weigh(n * {i}, sum);\n")).collect();
    format!(
        "#include <stdlib.h>\nint weigh(int, int);\nchar *make(int n) {{\n    int sum = 0;\n    if (n < 9)\n        return NULL;\n{steps}    \
        char *p = malloc(sum);\n    if (!p)\n        abort();\n    return p;\n}}\n\
        int f(int n) {{\n    char *keep = malloc(8);\n    if (!keep)\n        return -1;\n    char *p = make(n);\n    if (!p)\n        \
        return -1;\n    free(p);\n    free(keep);\n    return 0;\n}}\n"
    )
}

#[test]
fn a_function_that_refuses_is_no_failed_allocation() {
    let project = Project::new(&[("a.c", &refuses())]);
    let names = |which: &str| found(&project, &["a.c", "--alloc-failure", which]).len();
    assert_eq!(["tested", "show", "hide", "only"].map(names), [1, 1, 1, 0]);
}

#[test]
fn levels() {
    let source = "#include <stdlib.h>\nint f(int n) {\n    char *p = malloc(n);\n    if (n == 1)\n        return 1;\n    \
        if (n == 2)\n        return 2;\n    free(p);\n    return 0;\n}\n";
    let project = Project::new(&[("a.c", source)]);
    let count = |level: &str| found(&project, &["a.c", "--report-level", level]).len();
    assert_eq!(["0", "1", "2"].map(count), [2, 1, 1]);
    project.run(&["check", "a.c", "--report-level", "3"]).fails(&["--report-level"]);
}

/// `p` is forgotten at three exits of one function that say so, and `q` at one.
const EXITS: &str = "#include <stdlib.h>\nint f(int n) {\n    char *p = malloc(n);\n    if (n == 1)\n        return 1;\n    \
    if (n == 2)\n        return 2;\n    char *q = malloc(n);\n    if (n == 3)\n        return 3;\n    free(p);\n    free(q);\n    return 0;\n}\n";

#[test]
fn exits_of_one_function_are_one_finding() {
    let project = Project::new(&[("a.c", EXITS)]);
    let run = project.run(&["check", "a.c"]);
    run.prints(&["a.c: 2 leaks\n", "note: also lost at lines 7 and 10; --report-level 0 shows the path to each\n"]);
    run.says(&["caulk: 2 leaks; "]);
    let quiet = project.run(&["check", "a.c", "--quiet"]).stdout;
    assert!(
        quiet.starts_with("a.c:5:") && quiet.contains("; allocated at line 3; also lost at lines 7 and 10 ["),
        "{quiet}"
    );
    let github = project.run(&["check", "a.c", "--format", "github"]).stdout;
    assert_eq!(github.lines().count(), 2, "{github}");

    let report = project.run(&["check", "a.c", "--format", "json"]).stdout;
    validate(include_str!("../../../docs/schema/report.json"), &report);
    let also = json(&report)["findings"][0]["alsoLostAt"].clone();
    assert_eq!((&also[0]["line"], &also[1]["line"], &also[2]), (&7.into(), &10.into(), &Value::Null));
    assert_eq!((&also[0]["kind"], &also[0]["function"]), (&"forgotten".into(), &"f".into()));

    assert_eq!(project.run(&["check", "a.c", "--format", "html", "-o", "report"]).status, 1);
    let pages = fs::read_dir(project.path("report/finding")).expect("pages").map(|e| e.expect("readable").path());
    let texts: Vec<String> = pages.map(|page| fs::read_to_string(page).expect("written")).collect();
    let lists = |text: &&String| text.contains("<a href=\"#also-2\">a.c:10</a>") && text.contains("id=\"also-2\"");
    assert_eq!((texts.len(), texts.iter().filter(lists).count()), (2, 1), "{texts:?}");

    let sarif = project.run(&["check", "a.c", "--format", "sarif"]).stdout;
    validate(&sarif_schema(), &sarif);
    let result = json(&sarif)["runs"][0]["results"][0].clone();
    let line = |place: &Value| place["physicalLocation"]["region"]["startLine"].as_u64();
    let lines = |list: &Value| list.as_array().expect("a list").iter().filter_map(line).collect::<Vec<_>>();
    assert_eq!(lines(&result["locations"]), [5, 7, 10]);
    assert_eq!(lines(&result["relatedLocations"]), [3, 7, 10]);
    assert_eq!(result["relatedLocations"][2]["properties"]["alsoLost"], true);
}

/// What is forgotten on the way to success does not hide among the exits of errors.
#[test]
fn exits_that_return_zero_stand_apart() {
    let project = Project::new(&[("a.c", &EXITS.replace("return 2;", "return 0;"))]);
    let quiet = project.run(&["check", "a.c", "--quiet"]).stdout;
    let lines: Vec<&str> = quiet.lines().collect();
    assert_eq!(lines.len(), 3, "{quiet}");
    assert!(lines[0].starts_with("a.c:5:") && lines[0].contains("; also lost at line 10 ["), "{quiet}");
    assert!(lines[1].starts_with("a.c:7:") && !lines[1].contains("also"), "{quiet}");
}

/// Where the failure is inside of a callee, the path shows it there.
#[test]
fn what_fails_inside_of_a_callee() {
    let source = "#include <stdlib.h>\nstruct pair { char *a, *b; };\nstatic int init(struct pair *x) {\n    x->b = malloc(3);\n    \
        if (x->b == NULL)\n        return 0;\n    return 1;\n}\nint f(int n) {\n    struct pair x;\n    x.a = malloc(n);\n    \
        if (!x.a)\n        return 1;\n    if (!init(&x))\n        return 2;\n    free(x.a);\n    free(x.b);\n    return 0;\n}\n";
    let project = Project::new(&[("a.c", source)]);
    let report = json(&project.run(&["check", "a.c", "--format", "json"]).stdout);
    let steps = report["findings"][0]["steps"].as_array().expect("a path").clone();
    let inside: Vec<&Value> = steps.iter().filter(|step| step["function"] == "init").collect();
    let [step] = inside.as_slice() else { panic!("{report:#}") };
    assert_eq!((&step["line"], &step["text"]), (&5.into(), &"`if (x->b == NULL)` is taken".into()));
}

/// What a header of the system does is shown where the user called it.
#[test]
fn names_of_cpp_and_its_headers() {
    let source = "#include <memory>\nnamespace shop {\nstruct Item { int n; };\nint count(int n) {\n    \
        auto item = std::make_unique<Item>(Item{n});\n    Item *kept = item.release();\n    return kept->n;\n}\n}\n";
    let project = Project::new(&[("a.cpp", source)]);
    let run = project.run(&["check", "a.cpp", "--format", "json", "--min-confidence", "low"]);
    let report = json(&run.stdout);
    for finding in report["findings"].as_array().expect("a list") {
        assert_eq!(finding["loss"]["file"], "a.cpp", "{finding}");
        assert_eq!(finding["loss"]["function"], "shop::count", "{finding}");
        assert_eq!(finding["allocation"]["file"], "a.cpp", "{finding}");
    }
    let plain = "struct Item { int n; };\nnamespace shop {\nint count(int n) {\n    Item *kept = new Item{n};\n    return kept->n;\n}\n}\n";
    let project = Project::new(&[("a.cpp", plain)]);
    project.run(&["check", "a.cpp"]).prints(&["a.cpp:5:", "`kept` allocated by operator new() is not freed"]);
}

/// Sources that are gone, or no text: the report has fewer words.
#[test]
fn sources_that_cannot_be_quoted() {
    let project = Project::new(&[("leak.c", LEAK)]);
    let bitcode = ["-g", "-O1", "-Xclang", "-disable-llvm-passes", "-emit-llvm", "-c", "leak.c", "-o", "leak.bc"];
    let made = std::process::Command::new("clang-19").current_dir(project.root()).args(bitcode).status();
    assert!(made.expect("clang-19 can be run").success());
    fs::remove_file(project.path("leak.c")).expect("it is there");
    let run = project.run(&["check", "leak.bc"]);
    assert_eq!(run.status, 1, "{}", run.stderr);
    run.prints(&["`p` allocated by malloc() is not freed on return (in leak, leak.c:7)", "leaked here, at leak.c:7:"]);
    project.run(&["check", "leak.bc", "--full-path"]).prints(&["note: 2. p != NULL, at leak.c:4:"]);
    run.prints(&["leak.c: gone, or changed since it was compiled"]);
    fs::write(project.path("leak.c"), [0xff, 0xfe, b'\n', 0x80].repeat(9)).expect("writable");
    assert_eq!(project.run(&["check", "leak.bc"]).status, 1);
}

/// A source that was edited after it was compiled, though all places are still in it.
#[test]
fn sources_that_are_newer_than_the_bitcode() {
    let project = Project::new(&[("leak.c", LEAK)]);
    let bitcode = ["-g", "-O1", "-Xclang", "-disable-llvm-passes", "-emit-llvm", "-c", "leak.c", "-o", "leak.bc"];
    let made = std::process::Command::new("clang-19").current_dir(project.root()).args(bitcode).status();
    assert!(made.expect("clang-19 can be run").success());
    let says = "leak.c: gone, or changed since it was compiled; what is quoted from there may be wrong";
    let report = || project.run(&["check", "leak.bc"]).stdout;
    assert!(!report().contains(says), "{}", report());
    let bitcode = fs::File::options().append(true).open(project.path("leak.bc")).expect("writable");
    let before = std::time::SystemTime::now() - std::time::Duration::from_secs(60);
    bitcode.set_modified(before).expect("it is our own");
    assert_eq!(report().matches(says).count(), 1, "{}", report());
    let sarif = project.run(&["check", "leak.bc", "--format", "sarif"]).stdout;
    assert!(sarif.contains("leak.c is gone, or has changed since it was compiled"), "{sarif}");
}

#[test]
fn sarif_names_the_version_of_the_repository() {
    let project = Project::new(&[("leak.c", LEAK)]);
    let git = |arguments: &[&str]| {
        let identity = ["-c", "user.name=x", "-c", "user.email=x@example.org", "-c", "init.defaultBranch=trunk"];
        let mut command = std::process::Command::new("git");
        let done = command.current_dir(project.root()).args(identity).args(arguments).output();
        assert!(done.expect("git can be run").status.success(), "{arguments:?}");
    };
    let provenance = || {
        let run = project.run(&["check", "leak.c", "--format", "sarif"]);
        validate(&sarif_schema(), &run.stdout);
        json(&run.stdout)["runs"][0]["versionControlProvenance"].clone()
    };
    assert_eq!(provenance(), Value::Null);
    git(&["init", "-q"]);
    git(&["add", "leak.c"]);
    git(&["commit", "-qm", "x"]);
    git(&["remote", "add", "origin", "https://me:secret@example.org/leak.git"]);
    let version = &provenance()[0];
    assert_eq!(version["repositoryUri"], "https://example.org/leak.git");
    assert_eq!(version["branch"], "trunk");
    assert_eq!(version["revisionId"].as_str().map(str::len), Some(40));
}

/// SARIF counts columns in code units of UTF-16, compilers in bytes.
#[test]
fn columns_of_sarif() {
    let source = "#include <stdlib.h>\nint f(void) { char *p = malloc(3); /* \u{e4}\u{1f600} */ return p != 0; }\n";
    let project = Project::new(&[("a.c", source)]);
    let column = |format: &str, path: &str| {
        let report = json(&project.run(&["check", "a.c", "--format", format]).stdout);
        report.pointer(path).and_then(Value::as_u64)
    };
    let bytes = column("json", "/findings/0/loss/column").expect("a place");
    let region = "/runs/0/results/0/locations/0/physicalLocation/region/startColumn";
    assert_eq!(column("sarif", region), Some(bytes - 3));
}

/// What the prover contradicts is told in `crates/caulk-prove/tests/opinion.rs`; a leak it does not, asked or not.
#[test]
fn a_leak_stands_with_a_second_opinion_and_without() {
    let project = Project::new(&[("leak.c", LEAK)]);
    for choice in ["--second-opinion", "--second-opinion=true", "--second-opinion=false"] {
        assert_eq!(found(&project, &["leak.c", choice]).len(), 1, "{choice}");
    }
    project.run(&["check", "leak.c", "--second-opinion=perhaps"]).fails(&["--second-opinion"]);
}

/// Each function of the chain is followed with what the next one tells, and there is only so much stack.
#[test]
fn calls_of_any_depth() {
    const CALLS: usize = 3_000;
    let mut source = format!("#include <stdlib.h>\nchar *f{CALLS}(int n) {{ return n == 2 ? NULL : malloc(n); }}\n");
    for f in (0..CALLS).rev() {
        source += &format!("char *f{f}(int n) {{ if (n == 7) return NULL; return f{}(n); }}\n", f + 1);
    }
    source +=
        "int top(int n)\n{\n    char *p = f0(n);\n    if (!p)\n        return 0;\n    if (n > 4)\n        return 1;\n";
    source += "    free(p);\n    return 2;\n}\n";
    let project = Project::new(&[("deep.c", &source)]);
    let run = project.run(&["check", "deep.c", "--no-cache", "--quiet"]);
    assert_eq!(run.status, 1, "{}", run.stderr);
    assert!(run.stdout.contains("`p` allocated by f0() is not freed on return (in top)"), "{}", run.stdout);
}

/// clang branches on the result of a class's own `operator!`, and on the operand of any other `!`.
/// Names of C++ without what is the library's, and advice that is no `delete` of the compiler's.
#[test]
fn names_and_advice_of_cpp() {
    let source = "#include <string>\n#include <vector>\nstruct P { std::string name; char *raw; P() : raw(new char[10]) {} ~P() {} };\n\
        struct Q { P *p; Q() : p(new P) {} ~Q() { delete p; } };\n\
        int held() {\n    Q q;\n    return q.p->name.size() > 3;\n}\n\
        int f(int n) {\n    std::string *s = new std::string(\"x\");\n    if (n > 1)\n        return 1;\n    delete s;\n    return 0;\n}\n\
        std::vector<P *> *all(int n) {\n    return new std::vector<P *>(n);\n}\n\
        unsigned long g() {\n    std::vector<P *> *v = all(3);\n    return v->size();\n}\n";
    let project = Project::new(&[("a.cpp", source)]);
    let run = project.run(&["check", "--no-cache", "a.cpp"]);
    run.prints(&["`q.p->raw` allocated by Q::Q()", "= help: delete `s` before line 12, as line 13 does"]);
    let why = project.run(&["why", "--no-cache", "a.cpp:7"]);
    assert!(!format!("{}{}", run.stdout, why.stdout).contains("std::allocator"), "{}{}", run.stdout, why.stdout);
}

#[test]
fn the_operator_not_of_a_class_is_told_as_it_is() {
    let source = "struct Q { int n; bool operator!() const { return n == 0; } };\n\
        int f(const Q &q)\n{\n    int *p = new int(1);\n    if (!q)\n        return 1;\n    delete p;\n    return 0;\n}\n";
    let project = Project::new(&[("a.cpp", source)]);
    let run = project.run(&["check", "--no-cache", "a.cpp"]);
    assert_eq!(run.status, 1, "{}", run.stderr);
    assert!(run.stdout.contains("`if (!q)` is taken"), "{}", run.stdout);
}
