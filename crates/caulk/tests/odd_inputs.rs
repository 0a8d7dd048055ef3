//! What a new user has on the disk: empty files, names with spaces or in no encoding, folders that may not be read or written.

mod project;

use std::ffi::OsStr;
use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::PermissionsExt;
use std::os::unix::process::CommandExt;

use project::{LEAK, Project, Run, finished, json};

/// The user `nobody`, for tests that run as root: root may read and write everything.
const NOBODY: u32 = 65534;

fn set_mode(project: &Project, name: &str, mode: u32) {
    fs::set_permissions(project.path(name), fs::Permissions::from_mode(mode)).expect("our own file");
}

/// Runs Caulk as a user who owns nothing of the project. None where that user may not even run it.
fn as_stranger(project: &Project, arguments: &[&str]) -> Option<Run> {
    let mut command = project.command(arguments);
    if rustix::process::getuid().is_root() {
        command.uid(NOBODY).gid(NOBODY);
    }
    command.output().ok().map(finished)
}

#[test]
fn an_empty_file_has_no_leaks() {
    let project = Project::new(&[("empty.c", "")]);
    let run = project.run(&["check", "empty.c"]);
    assert_eq!((run.status, run.stdout.as_str()), (0, "no leaks\n"), "{}", run.stderr);
}

#[test]
fn names_with_spaces() {
    let database = r#"[{"directory": "@ROOT@/my project", "file": "a b.c", "arguments": ["cc", "-c", "a b.c"]}]"#;
    let project = Project::new(&[("my project/a b.c", LEAK), ("my project/compile_commands.json", database)]);
    for arguments in [["-p", "my project"].as_slice(), &["my project/a b.c"], &["-p", "my project", "my project/a b.c"]]
    {
        let run = project.run(&[&["check", "--quiet"], arguments].concat());
        assert_eq!(run.status, 1, "{arguments:?}: {}", run.stderr);
        run.prints(&["a b.c:7:5: `p` allocated by malloc()"]);
    }
}

#[test]
fn names_that_are_no_text() {
    let project = Project::new(&[]);
    let name = OsStr::from_bytes(b"b\xff\xe9.c");
    fs::write(project.root().join(name), LEAK).expect("Linux takes any bytes");
    for format in ["text", "json", "sarif", "github", "codeclimate", "junit", "csv"] {
        let output = project.command(&["check", "--format", format]).arg(name).output().expect("caulk can be run");
        let run = finished(output);
        assert_eq!(run.status, 1, "{format}: {}", run.stderr);
        run.says(&["1 leak"]);
        run.prints(&["malloc"]);
        if matches!(format, "json" | "sarif" | "codeclimate") {
            json(&run.stdout);
        }
    }
}

#[test]
fn a_folder_that_is_not_ours_to_write() {
    let project = Project::with_database(&[("a.c", LEAK)], &["a.c"]);
    set_mode(&project, "", 0o555);
    let Some(run) = as_stranger(&project, &["check", "--quiet"]) else { return };
    assert_eq!(run.status, 1, "{}", run.stderr);
    run.prints(&["a.c:7:5: `p` allocated by malloc()"]);
    run.says(&["cannot be the cache", "the result is the same"]);
    // A cache that was asked for is another matter.
    let Some(run) = as_stranger(&project, &["check", "--quiet", "--cache", "kept"]) else { return };
    run.fails(&["cannot use kept as the cache", "--no-cache"]);
    set_mode(&project, "", 0o755);
}

#[test]
fn what_may_not_be_read() {
    let files = [("closed/a.c", LEAK), ("b.c", LEAK), ("closed/compile_commands.json", "[]")];
    let project = Project::new(&files);
    set_mode(&project, "", 0o755);
    set_mode(&project, "closed", 0o000);
    set_mode(&project, "b.c", 0o000);
    let Some(run) = as_stranger(&project, &["check", "-p", "closed"]) else { return };
    set_mode(&project, "closed", 0o755);
    run.fails(&["cannot read ", "closed/compile_commands.json: Permission denied"]);
    let Some(run) = as_stranger(&project, &["check", "--no-cache", "b.c"]) else { return };
    run.fails(&["b.c was not read: ", "Permission denied"]);
}

#[test]
fn a_file_where_a_command_should_be() {
    let project = Project::new(&[("a.c", LEAK)]);
    project.run(&["a.c"]).fails(&["unrecognized subcommand 'a.c'", "caulk check a.c"]);
    let run = project.run(&["nothing.c"]);
    assert!(!run.stderr.contains("caulk check"), "{}", run.stderr);
}

#[test]
fn one_unit_that_is_missing_is_one() {
    let project = Project::with_database(&[("a.c", LEAK)], &["a.c", "gone.c"]);
    project
        .run(&["check"])
        .prints(&["1 unit was not read, so what it leaks, frees or keeps is not known:\n    gone.c: "]);
}
