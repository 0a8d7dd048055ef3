//! Sources that were not named, beside the headers of those that were: read for what they define.

mod project;

use project::{LEAK, Project, Run, json};

const HEADER: &str = "extern const int FLAG;\nextern int mode;\nint is_enabled(void);\n";
const SUPPORT: &str =
    "#include \"support.h\"\nconst int FLAG = 0;\nint mode = 0;\nint is_enabled(void) {\n    return 0;\n}\n";

/// Three functions that leak only if the support were another.
const UNIT: &str = "#include <stdlib.h>\n#include \"support.h\"\n\
    void by_constant(void) {\n    char *p = malloc(4);\n    if (!FLAG)\n        free(p);\n}\n\
    void by_variable(void) {\n    char *p = malloc(4);\n    if (!mode)\n        free(p);\n}\n\
    void by_result(void) {\n    char *p = malloc(4);\n    if (!is_enabled())\n        free(p);\n}\n";

const CHECK: [&str; 6] = ["check", "src/unit.c", "--no-cache", "--", "-I", "support"];

fn project(more: &[(&str, &str)]) -> Project {
    let files = [("src/unit.c", UNIT), ("support/support.h", HEADER)];
    Project::new(&[&files, more].concat())
}

/// The functions that are said to leak.
fn leaking(project: &Project, options: &[&str]) -> (Vec<String>, Run) {
    let (before, after) = CHECK.split_at(3);
    let run = project.run(&[before, &["--format", "json"], options, after].concat());
    let report = json(&run.stdout);
    let findings = report["findings"].as_array().expect("a list").iter();
    let mut names: Vec<String> = findings.map(|f| f["loss"]["function"].as_str().expect("a name").to_owned()).collect();
    names.sort();
    (names, run)
}

const ALL: [&str; 3] = ["by_constant", "by_result", "by_variable"];

#[test]
fn what_a_neighbour_defines_is_known() {
    let project = project(&[("support/impl.c", SUPPORT)]);
    let (found, run) = leaking(&project, &[]);
    assert_eq!((found, run.status), (Vec::<String>::new(), 0), "{}", run.stderr);
    run.says(&["caulk: also read support/impl.c for FLAG, mode and is_enabled (--no-neighbours leaves it out)\n"]);
    let quiet = project.run(&["check", "src/unit.c", "--quiet", "--", "-Isupport"]);
    assert_eq!((quiet.status, quiet.stderr.as_str()), (0, ""));
    // From the cache as from clang.
    let warm = project.run(&["candidates", "src/unit.c", "--", "-Isupport"]);
    warm.says(&["also read support/impl.c", "0 candidates"]);
}

#[test]
fn neighbours_can_be_left_out() {
    let project = project(&[("support/impl.c", SUPPORT), ("other.toml", "no-neighbours = true\n")]);
    for options in [&["--no-neighbours"][..], &["--config", "other.toml"], &["--skip", "support"]] {
        let (found, run) = leaking(&project, options);
        assert_eq!((found.as_slice(), run.status), (&ALL.map(String::from)[..], 1), "{}", run.stderr);
        assert!(!run.stderr.contains("also read"), "{}", run.stderr);
    }
    let ir = project.run(&["ir", "src/unit.c", "--", "-Isupport"]);
    assert!(!ir.stdout.contains("impl.c") && ir.stderr.is_empty(), "{}{}", ir.stdout, ir.stderr);
}

/// A neighbour may lack its own headers or be meant for another system: nothing is lost by that.
#[test]
fn a_neighbour_that_does_not_compile() {
    let project = project(&[("support/impl.c", &format!("#include \"gone.h\"\n{SUPPORT}"))]);
    let (found, run) = leaking(&project, &[]);
    assert_eq!((found.as_slice(), run.status), (&ALL.map(String::from)[..], 1), "{}", run.stderr);
    assert!(!run.stderr.contains("gone.h") && !run.stderr.contains("also read"), "{}", run.stderr);
    let clean = project.run(&["candidates", "src/unit.c", "--", "-Isupport"]);
    assert_eq!(clean.status, 0, "{}", clean.stderr);
}

/// With a program's `main`, what was named would pass for a whole program.
#[test]
fn a_neighbour_with_a_main() {
    let project = project(&[("support/impl.c", &format!("{SUPPORT}int main(void) {{\n    return mode;\n}}\n"))]);
    let (found, run) = leaking(&project, &[]);
    assert_eq!(found, ALL, "{}", run.stderr);
    assert!(!run.stderr.contains("also read"), "{}", run.stderr);
}

#[test]
fn a_neighbour_that_defines_something_again() {
    let project = project(&[("support/impl.c", &format!("{SUPPORT}void by_constant(void) {{\n}}\n"))]);
    let (found, run) = leaking(&project, &[]);
    assert_eq!(found, ALL, "{}", run.stderr);
}

/// A variable is taken to keep its value only where no source nearby writes it.
#[test]
fn a_variable_that_others_write() {
    for other in ["support/other.c", "src/other.c"] {
        let writer = "#include \"support.h\"\nvoid set(int m) {\n    mode = m;\n}\n";
        let project = project(&[("support/impl.c", SUPPORT), (other, writer)]);
        let (found, run) = leaking(&project, &[]);
        assert_eq!(found, ["by_variable"], "{other}: {}", run.stderr);
    }
}

/// Texts do not always show who writes: then the code does. A source that is read so is no part of the program.
#[test]
fn a_variable_that_others_only_seem_to_write() {
    let writers = ["(mode) = m;", "int *to = &mode;\n    *to = m;", "SET(m);"];
    let readers = [
        "int copy = mode;\n    (void)(copy + m);",
        "if (mode > m)\n        set(0);",
        "struct { int mode; } s;\n    s.mode = m;\n    (void)s;",
    ];
    for (lines, expected) in writers.map(|w| (w, &["by_variable"][..])).into_iter().chain(readers.map(|r| (r, &[][..])))
    {
        let other = format!(
            "#include \"support.h\"\nvoid set(int m) {{\n    {lines}\n}}\nint main(void) {{\n    return 0;\n}}\n"
        );
        let header = format!("{HEADER}{}", if lines.starts_with("SET") { "#define SET(m) (mode = (m))\n" } else { "" });
        let project =
            project(&[("support/impl.c", SUPPORT), ("support/other.c", &other), ("support/support.h", &header)]);
        let (found, run) = leaking(&project, &[]);
        assert_eq!(found, expected, "{lines}: {}", run.stderr);
        assert!(!run.stderr.contains("other.c"), "{}", run.stderr);
    }
}

/// Code that cannot be looked at may write.
#[test]
fn a_variable_that_a_source_mentions_which_does_not_compile() {
    let other = "#include \"gone.h\"\nint copied(void) {\n    return mode + 1;\n}\n";
    let project = project(&[("support/impl.c", SUPPORT), ("support/other.c", other)]);
    let (found, run) = leaking(&project, &[]);
    assert_eq!(found, ["by_variable"], "{}", run.stderr);
}

/// Leaks of a neighbour were not asked for; what it hands out to others is theirs.
#[test]
fn leaks_of_neighbours() {
    let header = "char *make(int n);\nint leak(int n);\n";
    let maker = format!("{LEAK}char *make(int n) {{\n    return malloc(n);\n}}\n");
    let unit = "#include \"s.h\"\nint use(int n) {\n    char *p = make(n);\n    return leak(n) + (p != 0);\n}\n";
    let project = Project::new(&[("a.c", unit), ("s.h", header), ("s.c", &maker)]);
    let run = project.run(&["check", "a.c", "--quiet"]);
    assert_eq!(run.status, 1, "{}", run.stderr);
    assert_eq!(run.stdout.lines().count(), 1, "{}", run.stdout);
    run.prints(&["a.c:4:5: `p` allocated by make() is not freed"]);
    let candidates = project.run(&["candidates", "a.c"]);
    assert!(candidates.stdout.contains("a.c:4:") && !candidates.stdout.contains("s.c:"), "{}", candidates.stdout);
    let summaries = project.run(&["summaries", "a.c"]);
    assert!(!summaries.stdout.contains("make (s.c"), "{}", summaries.stdout);
    project.run(&["summaries", "a.c", "--function", "make"]).prints(&["make (s.c:9)"]);
    let proof = project.run(&["prove", "a.c"]);
    assert!(proof.stdout.contains("a.c:2: use") && !proof.stdout.contains("s.c:9: make"), "{}", proof.stdout);
    project.run(&["why", "a.c:3", "a.c"]).prints(&["make (s.c:10)"]);
}

/// Who has a database has said what belongs together.
#[test]
fn a_database_says_all() {
    let files = [("unit.c", UNIT), ("support.h", HEADER), ("impl.c", SUPPORT)];
    let project = Project::with_database(&files, &["unit.c"]);
    for arguments in [&["check"][..], &["check", "."], &["check", "-p", ".", "unit.c"]] {
        let run = project.run(arguments);
        assert!(run.status == 1 && !run.stderr.contains("also read"), "{}", run.stderr);
    }
}

/// C++ names are found by their last part and told in full.
#[test]
fn neighbours_in_cxx() {
    let header = "namespace n { bool is_enabled(int); }\n";
    let neighbour = "#include \"s.hpp\"\nnamespace n {\nbool is_enabled(int) {\n    return false;\n}\n}\n";
    let unit =
        "#include \"s.hpp\"\nvoid f() {\n    int *p = new int;\n    if (!n::is_enabled(1))\n        delete p;\n}\n";
    let project = Project::new(&[("a.cpp", unit), ("s.hpp", header), ("s.cpp", neighbour)]);
    let run = project.run(&["check", "a.cpp"]);
    assert_eq!(run.status, 0, "{}", run.stdout);
    run.says(&["also read s.cpp for n::is_enabled ("]);
    assert_eq!(project.run(&["check", "a.cpp", "--no-neighbours"]).status, 1);
}
