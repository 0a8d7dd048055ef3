//! Projects that try to have their own code run. Caulk compiles them, and nothing of them is run.

mod project;

use std::fs;
use std::path::Path;
use std::process::Command;

use project::{GOOD, Project, finished, json, make_executable};

const CANARY: &str = "canary";

/// A shared library that leaves a canary when it is loaded. (clang refuses it as a plugin afterwards, too late.)
const EVIL: &str = "#include <stdio.h>\n__attribute__((constructor)) static void run(void) {\n    \
    FILE *f = fopen(\"@ROOT@/canary\", \"w\");\n    if (f)\n        fclose(f);\n}\n";
const CONFIGURATION: &str = "-fplugin=@ROOT@/evil.so\n";

/// A project with a library that tells when it is loaded, and a configuration that loads it.
fn trap(files: &[(&str, &str)]) -> Project {
    let own = [("evil.c", EVIL), ("x-clang.cfg", CONFIGURATION), ("a.c", GOOD)];
    let project = Project::new(&[&own[..], files].concat());
    clang(&project, &["-shared", "-fPIC", "-o", "evil.so", "evil.c"]);
    assert!(project.path("evil.so").exists());
    project
}

fn clang(project: &Project, arguments: &[&str]) {
    let mut command = Command::new("clang-19");
    command.current_dir(project.root()).args(arguments).output().expect("the tests need clang 19");
}

fn database(flags: &str) -> String {
    format!(r#"[{{"directory": "@ROOT@", "file": "a.c", "command": "cc {flags} -c a.c"}}]"#)
}

fn was_run(project: &Project) -> bool {
    fs::remove_file(project.path(CANARY)).is_ok()
}

/// A program of the project that leaves a canary and then does what `body` says.
fn evil_program(project: &Project, name: &str, body: &str) {
    let path = project.path(name);
    fs::create_dir_all(path.parent().expect("below the root")).expect("writable");
    let text = format!("#!/bin/sh\ntouch {}\n{body}\n", project.path(CANARY).display());
    fs::write(&path, text).expect("writable");
    make_executable(&path);
}

/// The traps of this file work: clang itself walks into them.
#[test]
fn the_trap_is_one() {
    let project = trap(&[]);
    clang(&project, &["--target=./x", "-c", "a.c"]);
    assert!(was_run(&project));
    clang(&project, &["--target=./x", "--no-default-config", "-c", "a.c"]);
    assert!(!was_run(&project));
}

#[test]
fn a_target_of_a_database_names_no_configuration() {
    for flags in [
        "--target=./x",
        "--target ./x",
        "-target ./x",
        "--target=@ROOT@/x",
        "--gcc-triple=./x",
        "--config=x-clang.cfg",
        "--config x-clang.cfg",
        "--config-user-dir=@ROOT@ --target=x",
        "@flags",
        "-Xclang -load -Xclang ./evil.so",
        "-mllvm -load=./evil.so",
        "-Wp,-load,./evil.so",
        "-fplugin=./evil.so",
        "-fpass-plugin=./evil.so",
        "-Xarch_host -fplugin=./evil.so",
    ] {
        let project =
            trap(&[("flags", "--target=./x --config=./x-clang.cfg"), ("compile_commands.json", &database(flags))]);
        let run = project.run(&["check"]);
        assert!(!was_run(&project), "{flags}");
        assert_eq!(run.status, 0, "{flags}: {}", run.stderr);
    }
}

#[test]
fn nor_do_settings_and_the_command_line() {
    let project = trap(&[("caulk.toml", "flags = [\"--target=./x\"]\n")]);
    assert_eq!(project.run(&["check", "a.c"]).status, 0);
    assert!(!was_run(&project));
    assert_eq!(project.run(&["check", "--no-config", "a.c", "--", "-target", "./x"]).status, 0);
    assert!(!was_run(&project));
}

/// Configuration is never read, whatever the target: clang is told so each time it is run.
#[test]
fn every_run_of_clang_reads_no_configuration() {
    let project = trap(&[("b.ll", "define i32 @f() {\n  ret i32 0\n}\n")]);
    let wrapper = "#!/bin/sh\necho \"$*\" >> @LOG@\nexec clang-19 \"$@\"\n";
    let wrapper = wrapper.replace("@LOG@", &project.path("log").display().to_string());
    fs::write(project.path("wrapper"), wrapper).expect("writable");
    make_executable(&project.path("wrapper"));
    assert_eq!(project.run(&["check", "--clang", "./wrapper", "a.c", "b.ll"]).status, 0);
    let log = fs::read_to_string(project.path("log")).expect("it was run");
    assert_eq!(log.lines().count(), 3, "{log}");
    assert!(log.lines().all(|line| line.contains("--no-default-config")), "{log}");
}

/// clang is found once, from where Caulk was started: a file of that name in a folder of the build is another one.
#[test]
fn a_relative_clang_is_the_one_that_was_checked() {
    let folder = r#"[{"directory": "@ROOT@/build", "file": "../a.c", "command": "cc -c ../a.c"}]"#;
    let project = Project::new(&[("a.c", GOOD), ("compile_commands.json", folder)]);
    evil_program(&project, "build/bin/clang", "exit 1");
    fs::create_dir(project.path("bin")).expect("writable");
    fs::write(project.path("bin/clang"), "#!/bin/sh\nexec clang-19 \"$@\"\n").expect("writable");
    make_executable(&project.path("bin/clang"));
    let run = project.run(&["check", "--clang", "bin/clang"]);
    assert_eq!((run.status, was_run(&project)), (0, false), "{}", run.stderr);
}

/// Relative folders in PATH would mean folders of the project.
#[test]
fn a_relative_folder_in_the_path_is_not_searched() {
    let folder = r#"[{"directory": "@ROOT@/build", "file": "../a.c", "command": "cc -c ../a.c"}]"#;
    let project = Project::new(&[("a.c", GOOD), ("compile_commands.json", folder)]);
    for name in ["clang-19", "git", "llvm-symbolizer"] {
        evil_program(&project, name, "echo clang version 19.1.7");
        evil_program(&project, &format!("build/{name}"), "echo clang version 19.1.7");
    }
    let path = format!(".::{}", std::env::var("PATH").expect("there is a PATH"));
    let run = project.command(&["check", "--format", "sarif"]).env("PATH", path).output().expect("caulk can be run");
    let run = finished(run);
    assert_eq!((run.status, was_run(&project)), (0, false), "{}", run.stderr);
}

/// A clang that crashes would print its own stack with the help of a program from PATH.
#[test]
fn a_crash_starts_no_other_program() {
    let project = Project::new(&[("a.c", GOOD), ("crash.c", "#pragma clang __debug crash\n")]);
    evil_program(&project, "bin/llvm-symbolizer", "");
    evil_program(&project, "bin/addr2line", "");
    let path = format!("{}:{}", project.path("bin").display(), std::env::var("PATH").expect("there is a PATH"));
    let mut command = project.command(&["check", "a.c", "crash.c"]);
    command.env("PATH", path).env("LLVM_SYMBOLIZER_PATH", project.path("bin/llvm-symbolizer"));
    let run = finished(command.output().expect("caulk can be run"));
    assert_eq!((run.status, was_run(&project)), (3, false), "{}", run.stderr);
    run.says(&["crash.c was not read"]);
}

/// The user's environment is trusted, but our flags are what Caulk relies on.
#[test]
fn the_environment_adds_no_flags_and_writes_no_files() {
    let project = trap(&[]);
    let mut command = project.command(&["check", "a.c"]);
    command.env("CCC_OVERRIDE_OPTIONS", format!("+-fplugin={}", project.path("evil.so").display()));
    command.env("CC_PRINT_OPTIONS", "1").env("CC_PRINT_OPTIONS_FILE", project.path("options"));
    command.env("CC_LOG_DIAGNOSTICS", "1").env("CC_LOG_DIAGNOSTICS_FILE", project.path("diagnostics"));
    let run = finished(command.output().expect("caulk can be run"));
    assert_eq!((run.status, was_run(&project)), (0, false), "{}", run.stderr);
    assert!(!project.path("options").exists() && !project.path("diagnostics").exists());
}

/// A repository's configuration may name programs, and files that never end: git is not run, and nothing is included.
#[test]
fn the_configuration_of_a_repository_is_not_trusted() {
    let project = Project::new(&[("a.c", GOOD)]);
    let git = |arguments: &[&str]| {
        let mut command = Command::new("git");
        command.current_dir(project.root()).args(["-c", "user.name=x", "-c", "user.email=x@y.z"]).args(arguments);
        assert!(command.output().expect("git can be run").status.success(), "{arguments:?}");
    };
    git(&["init", "-q"]);
    git(&["add", "a.c"]);
    git(&["commit", "-q", "-m", "all"]);
    git(&["remote", "add", "origin", "https://example.org/a.git"]);
    evil_program(&project, "evil", "");
    let evil = project.path("evil").display().to_string();
    for key in ["core.fsmonitor", "core.pager", "core.sshCommand", "core.editor", "diff.external", "pager.config"] {
        git(&["config", key, &evil]);
    }
    was_run(&project);
    let run = project.run(&["check", "a.c", "--format", "sarif"]);
    assert_eq!((run.status, was_run(&project)), (0, false), "{}", run.stderr);
    let provenance = &json(&run.stdout)["runs"][0]["versionControlProvenance"][0]["repositoryUri"];
    assert_eq!(provenance, "https://example.org/a.git");

    make_fifo(&project.path("fifo"));
    git(&["config", "include.path", &project.path("fifo").display().to_string()]);
    let run = project.run(&["check", "a.c", "--format", "sarif"]);
    assert_eq!(run.status, 0, "{}", run.stderr);
    assert_eq!(
        json(&run.stdout)["runs"][0]["versionControlProvenance"][0]["repositoryUri"],
        "https://example.org/a.git"
    );
}

fn make_fifo(path: &Path) {
    assert!(Command::new("mkfifo").arg(path).status().expect("mkfifo can be run").success());
}
