//! Children that take too long, too much, or say too much, and what is left of them.

use std::os::unix::process::ExitStatusExt;
use std::path::Path;
use std::process::Command;
use std::time::{Duration, Instant};

use caulk_process::{Finished, Lifeline, Limits, Runner};
use rustix::process::Signal;

const SHORT: Duration = Duration::from_millis(300);

fn shell(script: &str, limits: Limits) -> Finished {
    let mut command = Command::new("/bin/sh");
    command.args(["-c", script]);
    Runner { limits, lifeline: Lifeline::default() }.run(command).expect("there is a shell")
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).trim().to_owned()
}

/// Whether a process runs; a zombie does not.
fn is_running(pid: &str) -> bool {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
    stat.rsplit(')').next().is_some_and(|rest| !rest.trim().is_empty() && !rest.trim_start().starts_with('Z'))
}

fn ends_soon(pid: &str) -> bool {
    let deadline = Instant::now() + Duration::from_secs(10);
    while is_running(pid) && Instant::now() < deadline {
        std::thread::sleep(Duration::from_millis(10));
    }
    !is_running(pid)
}

#[test]
fn what_a_child_says_and_how_it_ends() {
    let finished = shell("echo out; echo err >&2; exit 3", Limits::DEFAULT);
    assert_eq!((text(&finished.stdout).as_str(), text(&finished.stderr).as_str()), ("out", "err"));
    assert_eq!((finished.status.code(), finished.is_overdue), (Some(3), false));
    assert_eq!(shell("cat; echo end", Limits::DEFAULT).stdout, b"end\n", "standard input is empty");
}

#[test]
fn a_program_that_is_not_there() {
    let error = Runner::default().run(Command::new("/no/such/program")).expect_err("it is not there");
    assert_eq!(error.kind(), std::io::ErrorKind::NotFound);
}

/// A child that is overdue ends, and so does what it started.
#[test]
fn an_overdue_child_ends_with_all_it_started() {
    let started = Instant::now();
    let finished = shell("sleep 1000 & echo $!; wait", Limits { time: SHORT, ..Limits::DEFAULT });
    assert!(finished.is_overdue && started.elapsed() < Duration::from_secs(30));
    assert_eq!(finished.status.signal(), Some(Signal::KILL.as_raw()));
    let sleeper = text(&finished.stdout);
    assert!(sleeper.parse::<u32>().is_ok() && ends_soon(&sleeper), "{sleeper}");
}

/// One that leaves something behind, with its pipes open, does not make us wait for it.
#[test]
fn what_a_child_leaves_behind_ends() {
    let finished = shell("sleep 1000 & echo $!", Limits::DEFAULT);
    assert!(finished.status.success() && !finished.is_overdue);
    assert!(ends_soon(&text(&finished.stdout)));
}

/// Silent or talking, a child has the same time.
#[test]
fn a_child_that_never_stops_talking_is_overdue() {
    let limits = Limits { time: SHORT, kept_output_bytes: 1000, ..Limits::DEFAULT };
    let finished = shell("while :; do echo talk; echo more >&2; done", limits);
    assert!(finished.is_overdue);
    assert_eq!((finished.stdout.len(), finished.stderr.len()), (1000, 1000));
}

#[test]
fn only_the_beginning_of_long_output_is_kept() {
    let limits = Limits { kept_output_bytes: 5000, ..Limits::DEFAULT };
    let finished = shell("head -c 300000000 /dev/zero >&2", limits);
    assert!(finished.status.success());
    assert_eq!((finished.stderr.len(), finished.stderr.capacity() < 1 << 20), (5000, true));
}

/// `tail` keeps its last line, and that one never ends.
#[test]
fn memory_is_bounded() {
    let finished = shell("exec tail /dev/zero", Limits { memory_bytes: 256 << 20, ..Limits::DEFAULT });
    assert!(!finished.status.success() && !finished.is_overdue);
    assert!(text(&finished.stderr).contains("memory"), "{}", text(&finished.stderr));
}

#[test]
fn files_are_bounded_and_a_crash_leaves_no_core() {
    let folder = tempfile::tempdir().expect("a temporary folder can be made");
    let mut command = Command::new("/bin/sh");
    command.current_dir(folder.path()).args(["-c", "ulimit -c; exec head -c 100000000 /dev/zero > file"]);
    let limits = Limits { file_bytes: 1 << 20, ..Limits::DEFAULT };
    let finished = Runner { limits, lifeline: Lifeline::default() }.run(command).expect("there is a shell");
    assert_eq!(text(&finished.stdout), "0");
    assert_eq!(finished.status.signal(), Some(Signal::XFSZ.as_raw()));
    assert_eq!(std::fs::metadata(folder.path().join("file")).expect("begun").len(), 1 << 20);
}

#[test]
fn temporary_folders_go() {
    let lifeline = Lifeline::default();
    let folder = lifeline.temp_folder().expect("a temporary folder can be made");
    let path = folder.path().to_owned();
    assert!(path.is_absolute() && path.is_dir());
    std::fs::write(path.join("file"), "x").expect("writable");
    drop(folder);
    assert!(!path.exists() && Path::new("/").exists());
}

#[test]
fn a_child_that_computes_too_long_gets_its_own_signal() {
    const SIGXCPU: i32 = 24;
    let limits = Limits { processor_time: Some(Duration::from_secs(1)), ..Limits::DEFAULT };
    let finished = shell("while :; do :; done", limits);
    assert!(!finished.is_overdue);
    assert_eq!(finished.status.signal(), Some(SIGXCPU));
}

/// Whether this system lets an ordinary user have namespaces.
fn has_namespaces() -> bool {
    Command::new("unshare").args(["-rmn", "true"]).status().is_ok_and(|status| status.success())
}

#[test]
fn code_of_the_project_writes_to_its_scratch_folder_only() {
    let folder = tempfile::tempdir().expect("a temporary folder can be made");
    let (scratch, other) = (folder.path().join("scratch"), folder.path().join("other"));
    std::fs::create_dir(&scratch).expect("writable");
    let mut command = Command::new("/bin/sh");
    command.args(["-c", "echo kept > here && cat here; echo x > \"$1\"", "sh"]).arg(&other);
    let runner = Runner { limits: Limits::default(), lifeline: Lifeline::default() };
    let finished = runner.run_isolated(command, &scratch).expect("there is a shell");
    assert_eq!(text(&finished.stdout), "kept", "{}", text(&finished.stderr));
    assert_eq!(other.exists(), !has_namespaces());
    assert_eq!(scratch.join("here").exists(), !has_namespaces(), "what it writes goes with it");
}
