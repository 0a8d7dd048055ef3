//! What a terminal shows: lines that fit, and findings that fit on a screen.

mod project;

use std::process::Command;

use project::{Project, finished, have};

/// A finding with long names, long conditions, many steps and a long chain of calls.
fn source() -> String {
    let mut text = String::from(
        "#include <stdlib.h>\n#include <string.h>\n\
         int is_the_request_that_was_read_complete(const char *text_of_the_request, unsigned long number_of_bytes);\n\
         char *duplicate_what_was_read_from_the_connection(const char *text) { return strdup(text); }\n\
         int handle_what_was_read_from_the_connection(const char *text_of_the_request, int kind) {\n    \
         char *copy_of_the_request = duplicate_what_was_read_from_the_connection(text_of_the_request);\n    \
         if (copy_of_the_request == NULL)\n        return -1;\n",
    );
    for step in 0..20 {
        text += &format!(
            "    if (is_the_request_that_was_read_complete(copy_of_the_request, {step}) == kind && kind != {step} + kind) {{\n        \
             free(copy_of_the_request);\n        return {step};\n    }}\n\n\n"
        );
    }
    text + "    return kind; /* a comment that is there to make this line longer than any terminal is wide, more or less */\n}\n"
}

/// What is printed to a terminal of some size, without colours.
fn shown(project: &Project, columns: usize, rows: usize, arguments: &str) -> String {
    let caulk = env!("CARGO_BIN_EXE_caulk");
    let inner = format!("stty cols {columns} rows {rows}; {caulk} {arguments} 2> messages");
    let mut script = Command::new("script");
    script.args(["-qec", &inner, "/dev/null"]).current_dir(project.root()).env("NO_COLOR", "1");
    finished(script.output().expect("it can be run")).stdout.replace("\r\n", "\n")
}

#[test]
fn eighty_columns_and_one_screen() {
    const COLUMNS: usize = 80;
    const ROWS: usize = 24;
    if !have("script") || !have("stty") {
        return;
    }
    let project = Project::new(&[("a.c", &source())]);
    let text = shown(&project, COLUMNS, ROWS, "check --min-confidence low a.c");
    assert!(text.contains("leak[forgotten, CWE-401]: `copy_of_the_request`"), "{text}");
    for line in text.lines() {
        assert!(line.chars().count() <= COLUMNS, "{line}\n{text}");
    }
    let finding: Vec<&str> = text.split("\n\n").nth(1).expect("after the name of the file").lines().collect();
    assert!(finding.len() < ROWS, "{} lines\n{text}", finding.len());
    let wide = shown(&project, 200, ROWS, "check --min-confidence low a.c");
    assert!(wide.lines().any(|line| line.chars().count() > COLUMNS), "{wide}");
    let quiet = shown(&project, COLUMNS, ROWS, "check --quiet a.c");
    assert_eq!(quiet.lines().count(), 1, "{quiet}");
    // Programs read lines, and want each sentence on one.
    let piped = project.run(&["check", "a.c"]).stdout;
    assert!(piped.lines().any(|line| line.starts_with("leak[") && line.ends_with(')')), "{piped}");
}
