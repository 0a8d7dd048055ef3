//! Projects in temporary folders, and what `caulk` says when it is run in them. Each test file uses a part of it.
#![allow(dead_code, clippy::print_stderr)]

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::sync::mpsc;
use std::time::Duration;

use serde_json::Value;

/// A project in a temporary folder, in which the commands run.
pub(crate) struct Project(tempfile::TempDir);

/// What a command left.
pub(crate) struct Run {
    pub status: i32,
    pub stdout: String,
    pub stderr: String,
}

pub(crate) const GOOD: &str = "void *malloc(unsigned long);\nvoid *good(int n) { return malloc(n); }\n";

impl Project {
    /// Writes `files`; `@ROOT@` in their text stands for the project's absolute path.
    pub(crate) fn new(files: &[(&str, &str)]) -> Self {
        let project = Self(tempfile::tempdir().expect("a temporary folder can be made"));
        for (name, text) in files {
            let path = project.path(name);
            fs::create_dir_all(path.parent().expect("below the root")).expect("writable");
            fs::write(path, text.replace("@ROOT@", &project.root().display().to_string())).expect("writable");
        }
        project
    }

    /// A project whose database lists `sources`.
    pub(crate) fn with_database(files: &[(&str, &str)], sources: &[&str]) -> Self {
        let project = Self::new(files);
        let entry = |file: &&str| format!(r#"{{"directory": "@ROOT@", "file": "{file}", "command": "cc -c {file}"}}"#);
        let entries: Vec<String> = sources.iter().map(entry).collect();
        let text = format!("[{}]", entries.join(",")).replace("@ROOT@", &project.root().display().to_string());
        fs::write(project.path("compile_commands.json"), text).expect("writable");
        project
    }

    pub(crate) fn root(&self) -> PathBuf {
        self.0.path().canonicalize().expect("the temporary folder exists")
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.root().join(name)
    }

    pub(crate) fn command(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_caulk"));
        // The key of the cache is not the developer's own.
        command.current_dir(self.root()).args(arguments).env("XDG_STATE_HOME", env!("CARGO_TARGET_TMPDIR"));
        command
    }

    pub(crate) fn run(&self, arguments: &[&str]) -> Run {
        finished(self.command(arguments).output().expect("caulk can be run"))
    }
}

/// A hang is noticed after this long; nothing that works takes a tenth of it.
const WATCHDOG: Duration = Duration::from_secs(120);

/// Runs a command that must come to an end, whatever it reads.
pub(crate) fn in_time(mut command: Command) -> Output {
    use std::os::unix::process::CommandExt;
    command.process_group(0);
    let child = command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn();
    wait_in_time(child.expect("caulk can be run")).unwrap_or_else(|| panic!("{command:?} did not end"))
}

/// None if it did not end, and was killed with all of its process group, which it leads.
pub(crate) fn wait_in_time(child: Child) -> Option<Output> {
    let id = rustix::process::Pid::from_child(&child);
    let (done, is_done) = mpsc::channel::<()>();
    let watch = std::thread::spawn(move || {
        let has_hung = is_done.recv_timeout(WATCHDOG) == Err(mpsc::RecvTimeoutError::Timeout);
        if has_hung {
            let _ = rustix::process::kill_process_group(id, rustix::process::Signal::KILL);
        }
        has_hung
    });
    let output = child.wait_with_output().expect("its output can be read");
    drop(done);
    let has_hung = watch.join().expect("the watchdog does not panic");
    (!has_hung).then_some(output)
}

pub(crate) fn make_pipe(path: &Path) {
    let mode = rustix::fs::Mode::from_raw_mode(0o600);
    rustix::fs::mknodat(rustix::fs::CWD, path, rustix::fs::FileType::Fifo, mode, 0).expect("writable");
}

/// A file larger than any memory, which takes no room on the disk.
pub(crate) fn make_huge(path: &Path) {
    fs::File::create(path).and_then(|file| file.set_len(1 << 40)).expect("writable");
}

pub(crate) fn finished(output: Output) -> Run {
    Run {
        status: output.status.code().expect("caulk is not killed"),
        stdout: String::from_utf8(output.stdout).expect("text"),
        stderr: String::from_utf8(output.stderr).expect("text"),
    }
}

impl Run {
    /// The command failed, printed no result, and said all of `parts`.
    pub(crate) fn fails(&self, parts: &[&str]) {
        assert_eq!((self.status, self.stdout.as_str()), (2, ""), "{}", self.stderr);
        self.says(parts);
    }

    pub(crate) fn says(&self, parts: &[&str]) {
        assert!(!self.stderr.contains("panicked"), "{}", self.stderr);
        for part in parts {
            assert!(self.stderr.contains(part), "{part:?} is missing in:\n{}", self.stderr);
        }
    }

    pub(crate) fn prints(&self, parts: &[&str]) {
        for part in parts {
            assert!(self.stdout.contains(part), "{part:?} is missing in:\n{}\n{}", self.stdout, self.stderr);
        }
    }
}

/// Where a program is, by PATH.
pub(crate) fn find(program: &str) -> Option<PathBuf> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let found = std::env::split_paths(&path).map(|folder| folder.join(program)).find(|file| file.is_file());
    if found.is_none() {
        eprintln!("skipped: {program} is not installed");
    }
    found
}

pub(crate) fn have(program: &str) -> bool {
    find(program).is_some()
}

pub(crate) fn make_executable(path: &Path) {
    use std::os::unix::fs::PermissionsExt;
    fs::set_permissions(path, fs::Permissions::from_mode(0o755)).expect("our own file");
}

/// The bundled example, read with a cache of its own. Its sources are named: a fresh clone has no database of it.
pub(crate) fn in_example(project: &Project, arguments: &[&str]) -> Run {
    let example = std::path::Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../../examples/logsum"));
    let entries = std::fs::read_dir(example).expect("the example is in the repository");
    let mut sources: Vec<_> = entries.map(|e| e.expect("the folder can be read").path()).collect();
    sources.retain(|path| path.extension().is_some_and(|e| e == "c"));
    sources.sort();
    let mut command = project.command(arguments);
    finished(command.args(sources).args(["--", "-std=gnu11"]).output().expect("caulk can be run"))
}

/// A function that leaks at its second return.
pub(crate) const LEAK: &str = "#include <stdlib.h>\nint leak(int n) {\n    char *p = malloc(n);\n    if (!p)\n        return -1;\n    \
    p[0] = 1;\n    return 0;\n}\n";

pub(crate) fn json(text: &str) -> Value {
    serde_json::from_str(text).expect("the report is JSON")
}

/// The official schema, with a pattern fixed that has a bracket too many and is no regular expression to strict readers.
pub(crate) fn sarif_schema() -> String {
    include_str!("../schema/sarif-2.1.0.json").replace("[a-zA-Z]{2}]?$", "[a-zA-Z]{2}?$")
}

pub(crate) fn validate(schema: &str, document: &str) {
    let validator = jsonschema::validator_for(&json(schema)).expect("a schema");
    let document = json(document);
    let errors: Vec<String> = validator.iter_errors(&document).map(|e| format!("{}: {e}", e.instance_path())).collect();
    assert!(errors.is_empty(), "{}", errors.join("\n"));
}
