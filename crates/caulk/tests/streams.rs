//! Standard output and standard error: when they cannot be written, and when what is written is hostile to a terminal.

mod project;

use std::fs::{self, File};
use std::process::{Command, Stdio};

use project::{GOOD, LEAK, Project, Run, finished, in_time};

/// Every command, on `leak.c`, with the exit status it has.
const COMMANDS: [(&[&str], i32); 16] = [
    (&["check", "leak.c"], 1),
    (&["check", "leak.c", "--quiet"], 1),
    (&["check", "leak.c", "--format", "json"], 1),
    (&["check", "leak.c", "--format", "sarif"], 1),
    (&["check", "leak.c", "--format", "github"], 1),
    (&["candidates", "leak.c"], 0),
    (&["summaries", "leak.c"], 0),
    (&["summaries", "leak.c", "--format", "json"], 0),
    (&["why", "leak.c:3", "leak.c"], 0),
    (&["query", "leak.c:7", "leak.c"], 0),
    (&["prove", "leak.c"], 1),
    (&["prove", "leak.c", "--format", "json"], 1),
    (&["program", "leak.c"], 0),
    (&["ir", "leak.c"], 0),
    (&["graph", "leak.c", "--kind", "calls"], 0),
    (&["graph", "leak.c", "--kind", "useflow", "--function", "leak"], 0),
];

/// Those that read nothing.
const OTHERS: [&[&str]; 6] =
    [&["--help"], &["check", "--help"], &["--version"], &["explain"], &["man"], &["completions", "bash"]];

/// A leak, and a function that has something to say in each command.
fn source() -> String {
    format!("{LEAK}char *make(int n) {{ return malloc(n); }}\n")
}

fn full() -> Stdio {
    File::options().write(true).open("/dev/full").expect("every Linux has it").into()
}

/// The writing end of a pipe without a reader.
fn gone() -> Stdio {
    let mut reader = Command::new("true").stdin(Stdio::piped()).spawn().expect("every Unix has it");
    let writer = reader.stdin.take().expect("it is a pipe");
    reader.wait().expect("it ends");
    writer.into()
}

fn status(command: &mut Command) -> i32 {
    command.stdin(Stdio::null()).status().expect("caulk can be run").code().expect("no signal")
}

#[test]
fn messages_that_cannot_be_written_change_nothing() {
    let bad = "int f(void) { return x; }\n";
    let project = Project::new(&[("leak.c", &source()), ("bad.c", bad)]);
    for stderr in [full, gone] {
        for (arguments, expected) in COMMANDS {
            let mut command = project.command(arguments);
            assert_eq!(status(command.stdout(Stdio::null()).stderr(stderr())), expected, "{arguments:?}");
        }
        let failing: [(&[&str], i32); 5] = [
            (&["check", "bad.c"], 2),
            (&["ir", "bad.c", "leak.c"], 3),
            (&["check", "nowhere.c"], 2),
            (&["no-such-command"], 2),
            (&["check", "leak.c", "--no-such-option"], 2),
        ];
        for (arguments, expected) in failing {
            let mut command = project.command(arguments);
            assert_eq!(status(command.stdout(Stdio::null()).stderr(stderr())), expected, "{arguments:?}");
        }
    }
}

#[test]
fn results_that_cannot_be_written_are_an_error() {
    let project = Project::new(&[("leak.c", &source())]);
    for arguments in COMMANDS.iter().map(|(arguments, _)| *arguments).chain(OTHERS) {
        let mut command = project.command(arguments);
        let output = command.stdout(full()).stderr(Stdio::piped()).output().expect("caulk can be run");
        let message = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(2), "{arguments:?}: {message}");
        assert!(message.contains("cannot write the result: No space left"), "{arguments:?}: {message}");
    }
}

/// Who has seen enough need not hear of it; what was found was found all the same.
#[test]
fn a_reader_that_goes_away_hides_no_leak() {
    let project = Project::new(&[("leak.c", &source())]);
    let others = OTHERS.iter().map(|arguments| (*arguments, 0));
    for (arguments, expected) in COMMANDS.into_iter().chain(others) {
        let mut command = project.command(arguments);
        let output = command.stdout(gone()).stderr(Stdio::piped()).output().expect("caulk can be run");
        let message = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(expected), "{arguments:?}: {message}");
        assert!(!message.contains("annot write") && !message.contains("panicked"), "{message}");
        let both = status(project.command(arguments).stdout(gone()).stderr(gone()));
        assert_eq!(both, expected, "{arguments:?}");
    }
}

fn is_harmless(run: &Run, what: &dyn std::fmt::Debug) {
    for text in [&run.stdout, &run.stderr] {
        let bad = text.chars().find(|c| caulk_report::terminal::is_harmful(*c) && *c != '\n' && *c != '\t');
        assert!(bad.is_none(), "{what:?} writes {bad:?}:\n{text:?}");
        for line in text.lines() {
            assert!(!line.trim_start().starts_with("::error") && !line.contains("##["), "{what:?} obeys {line:?}");
        }
    }
}

/// Escape sequences, one in a single C1 character, a mark that turns text around, and a line of its own with a command.
const HOSTILE: &str = "\u{1b}[31m\u{9b}2J\u{202e}\u{2066}\u{7f}\r\n::error::owned ##[error]owned";

/// Names of functions and variables, by bitcode in text form: there a name may be anything.
#[test]
fn hostile_names() {
    let escaped: String = HOSTILE.bytes().map(|b| format!("\\{b:02X}")).collect();
    let module = include_str!("hostile.ll").replace("NAME", &escaped);
    let project = Project::new(&[("a.ll", &module)]);
    let function = format!("f {HOSTILE}");
    let commands: [&[&str]; 13] = [
        &["check", "a.ll"],
        &["check", "a.ll", "--quiet"],
        &["check", "a.ll", "--format", "github"],
        &["candidates", "a.ll", "--hidden"],
        &["summaries", "a.ll"],
        &["prove", "a.ll"],
        &["program", "a.ll"],
        &["ir", "a.ll"],
        &["graph", "a.ll", "--kind", "calls"],
        &["graph", "a.ll", "--kind", "cfg", "--function", &function],
        &["graph", "a.ll", "--kind", "useflow", "--function", &function],
        &["graph", "a.ll", "--kind", "mstg", "--function", &function],
        &["ir", "a.ll", "--function", "missing\u{1b}[31m"],
    ];
    for arguments in commands {
        let run = finished(in_time(project.command(arguments)));
        is_harmless(&run, &arguments);
        assert!(run.stdout.contains("owned") || run.stderr.contains("missing"), "{arguments:?}: {}", run.stdout);
    }
}

/// Names of files, and lines of the source.
#[test]
fn hostile_files_and_sources() {
    let name = "\u{1b}[31m\u{9b}2J\u{202e}\n::error::owned ##[error].c";
    let comment = HOSTILE.replace(['\r', '\n'], "");
    let escaped = name.replace('\n', "\\n").replace('\u{1b}', "\\033");
    let source = format!(
        "#include <stdlib.h>\nint leak(int n /* {comment} */) {{\n    /* {comment} */ char *p = malloc(n); /* {comment} */\n    \
         if (!p /* {comment} */)\n        return -1;\n    return 0; /* {comment} */\n}}\n#line 1 \"{escaped}\"\n\
         int other(int n) {{ char *p = malloc(n); return p != 0; }}\n"
    );
    let project =
        Project::new(&[(name, &source), ("bad.c", &format!("int f(void) {{ return x; /* {comment} */ }}\n"))]);
    let bad = format!("bad{name}");
    fs::rename(project.path("bad.c"), project.path(&bad)).expect("writable");
    let (line, other) = (format!("{name}:3"), format!("{name}:1"));
    let commands: [&[&str]; 14] = [
        &["check", name],
        &["check", name, "--color", "never", "--full-path"],
        &["check", name, "--quiet"],
        &["check", name, "--format", "github"],
        &["check", name, "--strict"],
        &["check", name, &bad],
        &["candidates", name],
        &["summaries", name],
        &["prove", name],
        &["query", &line, name],
        &["why", &line, name],
        &["why", &other, name],
        &["why", "nothing\u{1b}:9", name],
        &["program", name, &bad],
    ];
    for arguments in commands {
        is_harmless(&finished(in_time(project.command(arguments))), &arguments);
    }
    // The settings and their mistakes come from the project too.
    fs::write(project.path("caulk.toml"), "\"x\\u001b[31m\\n::error::owned\" = 1\n").expect("writable");
    is_harmless(&finished(in_time(project.command(&["check", name]))), &"settings");
    fs::write(project.path("caulk.toml"), "baseline = \"k\\u001b[31m\\n::error::owned\"\n").expect("writable");
    is_harmless(&finished(in_time(project.command(&["check", name]))), &"baseline");
}

/// Colours are ours alone.
#[test]
fn colours_are_those_of_the_report() {
    let source = LEAK.replace("malloc(n);", "malloc(n); /* \u{1b}[8m \u{9b}8m */");
    let project = Project::new(&[("leak.c", &source), ("good.c", GOOD)]);
    let run = project.run(&["check", "leak.c", "--color", "always"]);
    assert!(run.stdout.contains("\u{1b}[") && !run.stdout.contains("\u{1b}[8m") && !run.stdout.contains('\u{9b}'));
}
